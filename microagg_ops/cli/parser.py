"""What the command line takes, with examples, and what it says to what it does not take."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

from microagg_ops import __version__
from microagg_ops.cli import attack, check, compare, conformance, init, series
from microagg_ops.cli.completion import SHELLS
from microagg_ops.cli.output import Output
from microagg_ops.release.model import STAGES

Run = Callable[[argparse.Namespace, Output], int]
CODES = "Exit codes: 0 published, 1 a check failed, 2 bad release or data, 3 fault."
WAREHOUSE = "--connection warehouse=duckdb:///data/warehouse.duckdb"
EXAMPLES: Mapping[str, Sequence[str]] = {
    "init": ("people.csv", f"clinic.patients {WAREHOUSE} -o patients.yaml"),
    "profile": ("people.csv", "'visits/*.parquet' --html page.html"),
    "check": ("release.yaml", f"releases/a.yaml releases/b.yaml {WAREHOUSE}"),
    "run": ("release.yaml", f"release.yaml --start 2026-01-01 --end 2026-02-01 {WAREHOUSE}"),
    **dict.fromkeys(STAGES, ("release.yaml --staging /var/tmp/run1",)),
    "report": ("release.yaml", "release.yaml --pdf", "release.yaml --staging /var/tmp/run1"),
    "verify": ("reports/people/RUN/manifest.json --release release.yaml",),
    "cleanup": ("--staging /var/tmp/run1",),
    "sweep": ("", "--staging /var/tmp"),
    "compare": ("release.yaml --methods mdav,best --budget 10s --sample 5000 --plot map.svg",),
    "attack": ("release.yaml", "release.yaml --external reports/people/RUN/external.json"),
    "series": ("release.yaml list", "release.yaml show"),
    "conformance": (WAREHOUSE, "--connection warehouse --schema scratch"),
    "methods": ("", "best"),
    "warmup": ("",),
    "seed": (WAREHOUSE,),
    "demo": ("--home .demo",),
    "completion": ("bash > ~/.local/share/bash-completion/completions/microagg",),
}


class Parser(argparse.ArgumentParser):
    """A parser that says what was meant perhaps, and where to read on."""

    def error(self, message: str) -> NoReturn:
        """Say in a line what is wrong, and leave."""
        meant = self._meant(message)
        more = f"`{self.prog} --help` shows what it takes, with examples."
        self.exit(2, f"{self.format_usage()}microagg: {message}.{meant} {more}\n")

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse; what a verb does not know, the verb says."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            of = verbs_of(self).get(found.verb, self)
            of.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found

    def _meant(self, message: str) -> str:
        known = [*self._option_string_actions, *verbs_of(self)]
        for word in message.replace("'", " ").replace("=", " ").split():
            close = difflib.get_close_matches(word, known, 1, 0.7)
            if close and word not in known:
                return f" Did you mean {close[0]!r}?"
        return ""


def verbs_of(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Return the verbs of a parser."""
    actions = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return next((action.choices for action in actions), {})


def described(runs: Mapping[str, Run]) -> Parser:
    """Describe the command line; each verb leads to what it runs."""
    top = Parser(
        prog="microagg",
        description="k-anonymous tables that flow out of a data warehouse.",
        epilog=f"Begin with `microagg init people.csv`. {CODES}",
    )
    top.add_argument("--version", action="version", version=f"microagg {__version__}")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    common, file = _common(), _file_arguments()

    def verb(name: str, about: str, *parents: Any) -> Any:
        lines = [f"  microagg {name} {example}".rstrip() for example in EXAMPLES[name]]
        added = verbs.add_parser(
            name,
            help=about,
            description=about,
            epilog="\n".join(["examples:", *lines]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[*parents, common],
        )
        added.set_defaults(run=runs[name])
        return added

    begun = verb("init", "look at a table or file, and write a release file")
    init.add_init_arguments(begun)
    looked = verb("profile", "look at a table or file: columns, roles, risk, loss")
    init.add_profile_arguments(looked)
    checked = verb("check", "list every fault of release files and of their sources")
    check.add_arguments(checked)
    _stage_verbs(verb, file)
    verify = verb("verify", "recompute what the manifest of a run says, and tell what holds")
    _verify_arguments(verify)
    compared = verb("compare", "compare methods on a release's data; publish nothing", file)
    compare.add_arguments(compared)
    attacked = verb("attack", "attack a release as an outsider would; publish nothing", file)
    attack.add_arguments(attacked)
    kept = verb("series", series.ABOUT, file)
    series.add_arguments(kept)
    conformance.add_arguments(verb("conformance", conformance.ABOUT))
    methods = verb("methods", "list the methods of microaggregation, or tell about one")
    methods.add_argument("name", metavar="NAME", nargs="?", help="a method")
    verb("warmup", "compile every kernel into the cache, so that no task waits for it")
    seed = verb("seed", "fill the source of the example DAGs into a warehouse")
    seed.add_argument("--conn-id", default="warehouse", help="which connection (%(default)s)")
    seed.add_argument("--rows", type=int, default=50_000, help="how many rows (%(default)s)")
    demo = verb("demo", "seed a warehouse, run the example DAG in Airflow, show the result")
    demo.add_argument("--home", default=".demo", help="the folder for everything (%(default)s)")
    completion = verb("completion", "print what completes commands in a shell")
    completion.add_argument("shell", choices=SHELLS, help="which shell")
    for one in (begun, looked, verify, seed):
        _connection_argument(one)
    for one in (checked, compared, attacked, kept):
        _source_arguments(one)
    return top


def _stage_verbs(verb: Any, file: argparse.ArgumentParser) -> None:
    connected = _run_arguments()
    staged = argparse.ArgumentParser(add_help=False)
    staged.add_argument(
        "--staging", required=True, help="the folder that the stages of a run share"
    )
    printed = argparse.ArgumentParser(add_help=False)
    printed.add_argument("--pdf", action="store_true", help="print the reports, by a browser")
    whole = verb(
        "run", "run a release: every stage, or nothing published", file, connected, printed
    )
    whole.add_argument(
        "--staging", help="the folder for raw rows during the run (default: a temporary one)"
    )
    for stage in STAGES:
        if stage != "report":
            verb(stage, f"run only the stage {stage}", file, connected, staged)
    told = "show the report of the last run; with --staging run only the stage report"
    told = verb("report", told, file, connected, printed)
    told.add_argument("--staging", help="the folder that the stages of a run share")
    verb("cleanup", "remove what the stages of a run left in staging", staged)
    swept = verb("sweep", "remove the staging of runs that were killed, and no other")
    swept.add_argument("--staging", help="where runs are staged (default: the temporary folder)")


def _common() -> Any:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print JSON for machines")
    common.add_argument(
        "-q", "--quiet", action="store_true", help="print the result and errors, no progress"
    )
    return common


def _file_arguments() -> argparse.ArgumentParser:
    file = argparse.ArgumentParser(add_help=False)
    file.add_argument("file", metavar="FILE", help="a release file")
    return file


def _run_arguments() -> argparse.ArgumentParser:
    run = argparse.ArgumentParser(add_help=False)
    _source_arguments(run)
    run.add_argument("--reports", default="reports", help="folder for reports (%(default)s)")
    run.add_argument("--run-id", help="a name for the run")
    run.add_argument(
        "--approved-by", metavar="NAME", help="who approves a release that has approve: true"
    )
    return run


def _source_arguments(verb: argparse.ArgumentParser) -> None:
    _connection_argument(verb)
    verb.add_argument(
        "--start", type=datetime.fromisoformat, help="start of the data interval (ISO)"
    )
    verb.add_argument("--end", type=datetime.fromisoformat, help="end of the data interval (ISO)")


def _connection_argument(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--connection",
        action="append",
        default=[],
        metavar="ID=URL",
        help="where a connection id leads; others are looked up in AIRFLOW_CONN_<ID>",
    )


def _verify_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("manifest", metavar="MANIFEST", help="manifest.json beside the reports")
    verb.add_argument("--release", metavar="FILE", help="the release file of the run")
    verb.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="NAME",
        help="leave something out, such as input where the source lives on",
    )
