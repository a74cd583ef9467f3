"""A ready message: published, held back or failed, why, and where the report is.

It is read by many, so it holds what a task returns and what its errors say, and no more.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.sdk import BaseNotifier

if TYPE_CHECKING:
    from airflow.sdk import Context

# What notifiers of mail say, where they are not told. Templates, for the words themselves would be
# rendered as one, and hold names that others chose.
READY = {"subject": "{{ told.subject }}", "html_content": "{{ told.html }}"}


@dataclass(frozen=True)
class Told:
    """What is told of a task.

    Parameters
    ----------
    state
        ``published``, ``held back``, ``failed``, or ``done`` for a stage that publishes nothing.
    subject
        One line.
    text
        The lines of the message, the last of them the links.
    html
        The same as HTML.
    link
        The address of the report; empty if there is none.
    """

    state: str
    subject: str
    text: str
    html: str
    link: str


class MicroaggNotifier(BaseNotifier):
    """Tell what became of a release, by another notifier or a function.

    Parameters
    ----------
    by
        The notifier that carries the message, such as ``SmtpNotifier(to="data@example.org")`` or
        ``SlackNotifier(text="{{ told.text }}")``: in its templates ``told`` is a `Told`, and a
        subject or an HTML body that it was not given are ours. Or a function that takes a `Told`.
    **kwargs
        As for Airflow's ``BaseNotifier``.
    """

    def __init__(self, by: BaseNotifier | Callable[[Told], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.by = by

    def notify(self, context: Context) -> None:
        """Send the message; of a stage that merely went well there is nothing to tell."""
        message = told(context)
        if message.state == "done":
            return
        if not isinstance(self.by, BaseNotifier):
            self.by(message)
            return
        # Its templates are rendered once and for all, and the next message is another one.
        carrier = copy.copy(self.by)
        for name, template in READY.items():
            if getattr(carrier, name, "") is None:
                setattr(carrier, name, template)
        carrier({**context, "told": message})


def told(context: Context) -> Told:
    """Say what became of the task that Airflow calls back for."""
    task: Any = context.get("task") or getattr(context.get("ti"), "task", None)
    state, what = state_of(task, context)
    outcome: Mapping[str, Any] = getattr(task, "outcome", {})
    subject = f"{name_of(task)}: {what}"
    link = link_to_report(task)
    lines = [
        # What another error than ours says may hold data.
        *([why] if (why := str(getattr(task, "why", ""))) else []),
        *figures(outcome if state == "published" else {}),
    ]
    run = f"DAG {getattr(context.get('dag'), 'dag_id', '?')}, run {context.get('run_id', '?')}"
    log = str(getattr(context.get("ti"), "log_url", "") or "")
    links = {"Report": link, "Log": log}
    text = [*lines, f"{run}.", *(f"{word}: {url}" for word, url in links.items() if url)]
    anchors = [f'<a href="{escape(url)}">{word}</a>' for word, url in links.items() if url]
    html = "".join(f"<p>{escape(line)}</p>" for line in [f"{subject}.", *lines, f"{run}."])
    anchored = f"<p>{' · '.join(anchors)}</p>" if anchors else ""
    return Told(state, subject, "\n".join([f"{subject}.", *text]), html + anchored, link)


def state_of(task: Any, context: Context) -> tuple[str, str]:
    """Say in a word, and in some more, how the task ended."""
    stage = getattr(task, "stage", "") or getattr(task, "task_id", "a task")
    state = str(getattr(context.get("ti"), "state", "") or "")
    if context.get("exception") is not None or state == "failed":
        known = {
            "publish": "publish failed",
            "cleanup": "clean-up failed, and raw rows may be left in staging",
        }
        return "failed", known.get(stage, f"{stage} failed, and nothing was published")
    outcome: Mapping[str, Any] = getattr(task, "outcome", {})
    if outcome.get("approved") is False:
        return "held back", f"rejected by {outcome.get('by', '?')}, and the target is as it was"
    if state == "skipped" or getattr(task, "why", None):
        return "held back", "held back, and the target is as it was"
    if stage == "publish" and "rows" in outcome:
        return "published", f"published {outcome['rows']:,} rows to {outcome.get('table', '?')}"
    return "done", f"{stage} is done"


def figures(outcome: Mapping[str, Any]) -> list[str]:
    """Tell k and the loss, as far as they may be told."""
    parts = []
    if outcome.get("k") is not None:
        parts.append(f"k = {outcome['k']}")
    if outcome.get("information_loss") is not None:
        parts.append(f"information loss {outcome['information_loss']:g} %")
    return [", ".join(parts) + "."] if parts else []


def name_of(task: Any) -> str:
    """Name the release, or the task that runs alone."""
    release = getattr(task, "release", None)
    return Path(str(release)).stem if release else str(getattr(task, "task_id", "a release"))


def link_to_report(task: Any) -> str:
    """Return the address of the report, as a mail needs it: with the name of the host."""
    from airflow.sdk.configuration import conf

    from microagg_ops.operators.links import MicroaggReportLink

    link = MicroaggReportLink().get_link(task, ti_key=None)
    if not link.startswith("/"):
        return link
    base = urlsplit(str(conf.get("api", "base_url", fallback="") or "http://localhost:8080"))
    return f"{base.scheme}://{base.netloc}{link}"
