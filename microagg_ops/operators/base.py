"""What all operators share: how they find their run, and how our errors become Airflow's."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperator

from microagg_ops.errors import MicroaggError, ReleaseError, StagingError, scrubbed
from microagg_ops.hooks.connections import airflow_warehouse
from microagg_ops.operators.lineage import Lineage, facets, of_alone, of_run, wanted
from microagg_ops.operators.places import place_of, reports_folder, setting, temporary
from microagg_ops.outside import told_outside

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.options import Options, Place
    from microagg_ops.single_stage import Alone
    from microagg_ops.stages import Run


class MicroaggOperator(BaseOperator):
    """One stage of a release, or the same stage by itself.

    With ``release`` the stage takes its part in the release's run, on what earlier stages left in
    staging. Without it the stage works on ``source`` alone, with plain keyword arguments.

    Parameters
    ----------
    release
        The path of a release file.
    staging
        The folder or URI below which runs are staged; by default the ``staging`` option of the
        ``[microagg]`` section.
    staging_conn_id
        The connection of an object store.
    source
        Alone: the table to work on, or the path or URI of a Parquet file, or what an operator
        before returned: it names its target.
    conn_id
        Alone: the connection of the source, and of the target.
    target
        Alone: the table to write, or the path or URI of a Parquet file.
    target_conn_id
        Alone: the connection of the target, if it is another one or an object store.
    """

    stage: ClassVar[str]
    __signature__: ClassVar[inspect.Signature]
    #: Attributes that are options of the stage when it runs alone.
    option_names: ClassVar[tuple[str, ...]] = ()
    template_fields: Sequence[str] = (
        "release",
        "staging",
        "source",
        "conn_id",
        "target",
        "target_conn_id",
    )
    ui_color = "#dbe9f4"
    #: Format to URI of the run's report, once there is one.
    reports: Mapping[str, str] = {}
    #: What this task returned, once it has; why it did not, once it has failed or was skipped.
    outcome: Mapping[str, Any] = {}
    why: str = ""
    #: What was read and written, for OpenLineage.
    lineage: Lineage | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let every option be a template, an XCom of an earlier task, or mapped."""
        super().__init_subclass__(**kwargs)
        cls.template_fields = tuple(dict.fromkeys([*cls.template_fields, *cls.option_names]))
        cls.__signature__ = whole_signature(cls)

    def __init__(
        self,
        *,
        release: Any = None,
        staging: str | None = None,
        staging_conn_id: str | None = None,
        source: Any = None,
        conn_id: str | None = None,
        target: Any = None,
        target_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.release = release
        self.staging = staging
        self.staging_conn_id = staging_conn_id
        self.source = source
        self.conn_id = conn_id
        self.target = target
        self.target_conn_id = target_conn_id

    def execute(self, context: Context) -> Any:
        """Run the stage; give counts, digests and URIs."""
        from microagg_ops.operators.metrics import measure

        began = time.monotonic()
        with self.remembering(), translated():
            if self.release is None:
                name, outcome = self.task_id, self.perform_alone(context)
            else:
                run = self.run_of(context)
                name, outcome = run.release.release, self.perform(run)
            # What a task returns is kept in clear text, and events and metrics are made of it.
            outcome = told_outside(self.stage, outcome) | self.written()
        measure(name, self.stage, outcome, time.monotonic() - began)
        self.outcome = outcome
        return outcome

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Keep what an error says, for whoever is called back; Airflow forgets that of a skip."""
        from airflow.sdk.exceptions import AirflowException

        try:
            yield
        except AirflowException as error:
            self.why = str(error)
            raise

    def perform(self, run: Run) -> dict[str, Any]:
        """Take part in the run of a release."""
        from microagg_ops.pipeline import run_stage

        try:
            return run_stage(self.stage, run)
        except StagingError as error:
            raise self.healed_by(error, run) from None
        finally:
            self.reports = reports_of(run)
            if self.reports:
                self.note_run(run)
            self.note_lineage(lambda: of_run(self.stage, run))

    def note_run(self, run: Run) -> None:
        """Leave beside the reports which DAG run they are of: the page Releases leads there."""
        import json

        from microagg_ops.staging.private import write_private

        told = {"dag_id": self.dag_id, "run_id": run.run_id}
        with suppress(Exception):
            write_private(run.report_folder / "airflow.json", json.dumps(told).encode())

    def healed_by(self, error: StagingError, run: Run) -> StagingError:
        """Say which task to clear, where a retry cannot bring back what was staged.

        Clean-up removes it when a run fails, and clearing failed tasks alone does not make it anew.
        """
        if error.code != "staging_missing" or not run.staging.is_gone():
            return error
        first = f"{self.task_id.rpartition('.')[0]}.extract".lstrip(".")
        return StagingError(
            "The staging of this run is gone, as it should be after a run that failed.",
            code="staging_gone",
            retryable=False,
            hint=f"Clear the task {first!r} with all that is downstream of it. If {first!r} has "
            "just run, workers do not share staging: set the option staging of [microagg].",
        )

    def perform_alone(self, context: Context) -> dict[str, Any]:
        """Run the stage by itself."""
        from microagg_ops.single_stage import Alone

        self.follow()
        outcome: dict[str, Any] = self.alone(Alone(airflow_warehouse, airflow_key), context)
        self.reports = outcome.get("uris", {})
        self.note_lineage(lambda: of_alone(self, outcome, airflow_warehouse))
        return outcome

    def follow(self) -> None:
        """Take what the task before wrote for the source, where its XCom was given for one."""
        if isinstance(self.source, Mapping):
            before = self.source
            if not isinstance(before.get("target"), str):
                raise ReleaseError(
                    "The 'source' parameter is an XCom that names no target.",
                    hint="Give the output of an operator that wrote a table or a file.",
                )
            self.source, conn_id = before["target"], before.get("conn_id")
            # A table that is written goes where it is told to; without a word, beside its source.
            self.target_conn_id = self.target_conn_id or self.conn_id
            self.conn_id = conn_id or self.conn_id

    def written(self) -> dict[str, Any]:
        """Name the place that this task leaves for the next one; it stands in the DAG's file."""
        if self.release is not None or self.target is None:
            return {}
        place = self.target_place()
        return {"target": str(self.target), "conn_id": place.conn_id or self.target_conn_id}

    def note_lineage(self, collect: Callable[[], Lineage]) -> None:
        """Collect lineage if anybody wants it; that it cannot be had is no fault of the task."""
        if wanted():
            with suppress(Exception):
                self.lineage = collect()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """Tell OpenLineage what the task read and wrote; it asks after a failure too."""
        return None if self.lineage is None else facets(self.lineage)

    def alone(self, alone: Alone, context: Context) -> Any:
        """Run the stage by itself."""
        raise NotImplementedError

    def run_of(self, context: Context) -> Run:
        """Find the run that this task is part of."""
        from microagg_ops.pipeline import make_run
        from microagg_ops.release.document import load_release

        start, end = interval_of(context) or (None, None)
        return make_run(
            load_release(str(self.release)),
            self.staged(context),
            warehouse=airflow_warehouse,
            start=start,
            end=end,
            reports=reports_folder(),
            run_id=run_id_of(context),
            secret=airflow_password,
            installation=airflow_key,
        )

    def staged(self, context: Context) -> Any:
        """Find the folder of this run: one for all its tasks and retries, and for no other run."""
        import hashlib
        import json
        from pathlib import Path

        from microagg_ops.staging.store import safe_name

        inside = self.task_id.rpartition(".")[0] or str(self.release)
        mapped = getattr(context.get("ti"), "map_index", -1)
        key = json.dumps([self.dag_id, run_id_of(context), inside, mapped])
        # Readable in front, and behind it what tells apart names that look the same on a disk.
        readable = safe_name(f"{self.dag_id}.{Path(inside).stem}")[:80]
        name = f"{readable}.{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        return (
            place_of(self.staging or setting("staging") or temporary(), self.staging_conn_id) / name
        )

    def source_place(self) -> Place:
        """Return what a stage that runs alone works on."""
        return self._place(self.source, "source", self.conn_id)

    def target_place(self) -> Place:
        """Return what a stage that runs alone writes."""
        return self._place(self.target, "target", self.target_conn_id)

    def _place(self, at: Any, word: str, conn_id: str | None) -> Place:
        from microagg_ops.columns.frames import kind_of_frame
        from microagg_ops.options import Place

        if at is None:
            raise ReleaseError(
                f"{type(self).__name__} has neither a 'release' nor a {word!r}.",
                hint="Give the path of a release file, or say what to work on.",
            )
        if kind_of_frame(at):  # as a text it would show its cells
            raise ReleaseError(
                f"The {word!r} of {type(self).__name__} is a frame.",
                hint="Give a table or a file, or protect what a function returns: @task.microagg.",
            )
        place = Place(str(at), conn_id or self.conn_id)
        # The connection of a table is no key to an object store: a target there has its own.
        return Place(place_of(place.at, conn_id)) if place.is_file else place

    def options_of(self, context: Context) -> Options:
        """Return the options of a stage that runs alone."""
        from microagg_ops.options import Options

        given = {name: as_number(name, getattr(self, name)) for name in self.option_names}
        return Options(
            **given,
            name=self.task_id,
            reports=reports_folder(),
            run_id=run_id_of(context),
            interval=interval_of(context),
        )


def whole_signature(cls: type) -> inspect.Signature:
    """Return all that an operator takes: what it hands on by ``**kwargs`` is its own too."""
    keyword, rest = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD
    found = {"task_id": inspect.Parameter("task_id", keyword, annotation="str")}
    for base in cls.__mro__:
        init = base.__dict__.get("__init__")
        if init is not None and base.__module__.startswith("microagg_ops."):
            named = inspect.signature(init).parameters
            found |= {n: p for n, p in named.items() if p.kind is keyword and n not in found}
    return inspect.Signature([*found.values(), inspect.Parameter("kwargs", rest)])


def as_number(name: str, value: Any) -> Any:
    """Read a number that a template made a text; what is none is refused like any other text."""
    from dataclasses import fields

    from microagg_ops.options import Options

    kinds = {one.name: str(one.type) for one in fields(Options)}
    for kind in (int, float):
        if isinstance(value, str) and kinds[name].startswith(kind.__name__):
            with suppress(ValueError):
                return kind(value)
    return value


@contextmanager
def translated() -> Iterator[None]:
    """Turn our errors into Airflow's: the one place where it is decided what is retried.

    ``from None``: what a library said may hold data, and would be logged as the cause.
    """
    from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

    try:
        yield
    except (AirflowFailException, AirflowSkipException):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, its text may hold data
        known = scrubbed(error)
        # Nothing went wrong: there was nothing to do, or a person said no. Where tasks are mapped,
        # Airflow does not skip publish after a rejection, so it does so itself.
        if known.code in ("empty_interval", "held_back", "rejected"):
            raise AirflowSkipException(str(known)) from None
        # A fault that nobody foresaw may be a passing one; a foreseen one says what it is.
        if known.retryable or not isinstance(error, MicroaggError):
            raise AirflowException(str(known)) from None
        raise AirflowFailException(str(known)) from None


def airflow_password(conn_id: str) -> str:
    """Return the password of an Airflow connection: the key that manifests are signed with."""
    from airflow.sdk import BaseHook
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        found = BaseHook.get_connection(conn_id).password
    except AirflowNotFoundException:
        found = None
    if not found:
        raise ReleaseError(
            f"There is no Airflow connection {conn_id!r} with a password to sign with.",
            code="no_connection",
            hint="Add it in Airflow, or correct report.sign_conn_id.",
        )
    return found


def airflow_key() -> bytes:
    """Return the key of this Airflow: the option ``key``, or one derived from its Fernet key.

    All workers of an Airflow share both, so that one task can check what another one wrote.
    """
    from airflow.sdk.configuration import conf

    from microagg_ops.staging.keys import derived, installation_key

    given = setting("key")
    if given:
        return given.encode()
    fernet = str(conf.get("core", "fernet_key", fallback="") or "")
    return derived(fernet.encode(), "airflow") if fernet else installation_key()


def reports_of(run: Run) -> dict[str, str]:
    """Return the URIs of the run's report, if it has been written."""
    from microagg_ops.errors import StagingError

    try:
        return dict(run.staging.summary("report")["uris"])
    except StagingError:
        return {}


def interval_of(context: Context) -> tuple[datetime, datetime] | None:
    """Return the data interval; without a logical date it is the moment that the run was due.

    A run that an asset or a person started has no logical date. That moment stays the same in
    every try, and a release that names only ``:end`` takes what there is by then.
    """
    start, end = context.get("data_interval_start"), context.get("data_interval_end")
    if start is not None and end is not None:
        return start, end
    due = getattr(context.get("dag_run"), "run_after", None)
    return (due, due) if due is not None else None


def run_id_of(context: Context) -> str:
    """Return the id of the DAG run."""
    return str(context.get("run_id") or "no_run")
