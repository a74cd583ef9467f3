"""The message of a notifier: what became of a release, and nothing of its rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG, BaseNotifier

from microagg_ops.errors import DataError, DisclosureError
from microagg_ops.notifications import MicroaggNotifier, Told
from microagg_ops.operators import MicroaggApproveOperator, MicroaggPublishOperator
from microagg_ops.operators.base import MicroaggOperator, translated

PUBLISHED = {"rows": 1234, "table": "pub.people", "k": 5, "information_loss": 3.5}


def called_back(task: Any, state: str, **context: Any) -> Any:
    ti = SimpleNamespace(state=state, task=task, log_url="http://air/log?a=1&b=2")
    return {"task": task, "ti": ti, "run_id": "r1", "dag": DAG("d", schedule=None), **context}


def told_of(task: Any, state: str, **context: Any) -> list[Told]:
    sent: list[Told] = []
    MicroaggNotifier(sent.append)(called_back(task, state, **context))
    return sent


@pytest.fixture
def publish() -> MicroaggOperator:
    return MicroaggPublishOperator(task_id="publish", release="/dags/people.yaml")


def test_published(publish: MicroaggOperator) -> None:
    publish.outcome = PUBLISHED
    publish.reports = {"html": "s3://bucket/people/report.html"}
    (told,) = told_of(publish, "success")
    assert (told.state, told.subject) == (
        "published",
        "people: published 1,234 rows to pub.people",
    )
    assert told.text.splitlines()[1:] == [
        "k = 5, information loss 3.5 %.",
        "DAG d, run r1.",
        "Report: s3://bucket/people/report.html",
        "Log: http://air/log?a=1&b=2",
    ]
    assert told.link == "s3://bucket/people/report.html"
    assert "a=1&amp;b=2" in told.html


def test_loss_that_may_not_be_told_is_not(publish: MicroaggOperator) -> None:
    publish.outcome = {"rows": 12, "table": "t", "k": 5}
    (told,) = told_of(publish, "success")
    assert "k = 5." in told.text
    assert "loss" not in told.text


def test_failed_says_why(publish: MicroaggOperator) -> None:
    error = DisclosureError("1 of 5 checks failed: FAILED k_anonymous.")
    with pytest.raises(Exception, match="checks failed"), publish.remembering(), translated():
        raise error
    (told,) = told_of(publish, "failed", exception=error)
    assert told.state == "failed"
    assert "1 of 5 checks failed" in told.text


def test_what_another_error_says_is_not_told(publish: MicroaggOperator) -> None:
    (told,) = told_of(publish, "failed", exception=ValueError("canaryitis"))
    assert told.subject == "people: publish failed"
    assert "canaryitis" not in told.text + told.html


def test_a_task_that_was_killed_is_told_of_by_another_process() -> None:
    """That one has no operator, only its serialized form."""
    (told,) = told_of(SimpleNamespace(task_id="release.aggregate"), "failed")
    assert told.subject == "release.aggregate: release.aggregate failed, and nothing was published"


def test_held_back_says_why(publish: MicroaggOperator) -> None:
    with pytest.raises(Exception, match="no rows"), publish.remembering(), translated():
        raise DataError("The interval has no rows.", code="empty_interval")
    (told,) = told_of(publish, "skipped")
    assert told.subject == "people: held back, and the target is as it was"
    assert "The interval has no rows." in told.text


@pytest.mark.parametrize("approved", [True, False])
def test_a_rejection_is_told_and_an_approval_is_not(approved: bool) -> None:
    approve = MicroaggApproveOperator(task_id="approve", release="people.yaml")
    approve.outcome = {"approved": approved, "by": "Ada"}
    told = told_of(approve, "success")
    assert [one.subject for one in told] == (
        [] if approved else ["people: rejected by Ada, and the target is as it was"]
    )


class Mail(BaseNotifier):
    """Like the notifier of SMTP: what it is not given is None."""

    template_fields = ("subject", "html_content", "note")

    def __init__(self, sent: list[Any], **given: str | None) -> None:
        super().__init__()
        self.sent = sent
        for name in self.template_fields:
            setattr(self, name, given.get(name))

    def notify(self, context: Any) -> None:
        self.sent.append((self.subject, self.html_content, self.note))


def test_any_notifier_carries_it_again_and_again(publish: MicroaggOperator) -> None:
    sent: list[Any] = []
    notifier = MicroaggNotifier(Mail(sent, note="{{ told.state }}: {{ told.text }}"))
    for rows in (10, 20):
        publish.outcome = PUBLISHED | {"rows": rows}
        notifier(called_back(publish, "success"))
    assert [subject for subject, *_ in sent] == [
        f"people: published {rows} rows to pub.people" for rows in (10, 20)
    ]
    assert "<p>k = 5, information loss 3.5 %.</p>" in sent[1][1]
    assert sent[1][2].startswith("published: people: published 20 rows")


def test_a_subject_of_ones_own_is_kept(publish: MicroaggOperator) -> None:
    sent: list[Any] = []
    publish.outcome = PUBLISHED
    MicroaggNotifier(Mail(sent, subject="[{{ told.state }}]"))(called_back(publish, "success"))
    assert sent[0][0] == "[published]"


def test_names_in_a_message_are_no_templates(publish: MicroaggOperator) -> None:
    sent: list[Any] = []
    publish.why = "The source has no column '{{ 6 * 7 }}'."
    MicroaggNotifier(Mail(sent))(called_back(publish, "failed"))
    assert "{{ 6 * 7 }}" in sent[0][1]
