"""Arguments in, exit code out: 0 published, 1 a check failed, 2 bad release or data, 3 fault."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from microagg_ops import __version__
from microagg_ops.cli import attack, compare, series
from microagg_ops.cli.output import Output
from microagg_ops.compiling import COMPILING
from microagg_ops.errors import (
    DataError,
    DisclosureError,
    MicroaggError,
    ReleaseError,
    scrubbed,
)
from microagg_ops.interrupts import listening
from microagg_ops.release.model import STAGES

PUBLISHED, CHECK_FAILED, BAD_INPUT, FAULT = range(4)


def entry() -> None:
    """Run the command line, and leave with its exit code.

    At once: a thread of a native library that outlives the interpreter would abort the process
    after all is done, and its exit code would say so instead of what happened.
    """
    try:
        code = main()
    except SystemExit as leaving:  # argparse says what is wrong, and leaves
        code = leaving.code if isinstance(leaving.code, int) else FAULT
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    arguments = parser().parse_args(argv)
    output = Output(as_json=arguments.json)
    COMPILING.tell = output.say
    # Without handlers these signals end the process at once and leave raw data in staging.
    with listening() as heard:
        code = _run_verb(arguments, output)
        if heard.came and code == PUBLISHED:
            names = ", ".join(sorted({signal.Signals(number).name for number in heard.came}))
            output.say(f"microagg: {names} came too late: what was asked for is done.")
        return code


def _run_verb(arguments: argparse.Namespace, output: Output) -> int:
    try:
        code: int = arguments.run(arguments, output)
        return code
    except KeyboardInterrupt:
        output.error(MicroaggError("Interrupted; the target is as it was.", code="interrupted"))
        return FAULT
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAULT
    except Exception as error:  # noqa: BLE001 - whatever it is, its text may hold data
        known = scrubbed(error)
        output.error(known)
        return exit_code(known)


def exit_code(error: MicroaggError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, DisclosureError):
        return CHECK_FAILED
    return BAD_INPUT if isinstance(error, ReleaseError | DataError) else FAULT


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(
        prog="microagg",
        description="k-anonymous tables that flow out of a data warehouse.",
        epilog="Exit codes: 0 published, 1 a check failed, 2 bad release or data, 3 fault.",
    )
    top.add_argument("--version", action="version", version=f"microagg {__version__}")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print JSON for machines")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, about: str, run: Any, *parents: argparse.ArgumentParser) -> Any:
        added = verbs.add_parser(name, help=about, description=about, parents=[common, *parents])
        added.set_defaults(run=run)
        return added

    file, connected = _file_arguments(), _run_arguments()
    staged = argparse.ArgumentParser(add_help=False)
    staged.add_argument(
        "--staging", required=True, help="the folder that the stages of a run share"
    )
    verb("check", "list every fault of a release file", _check, file)
    whole = verb("run", "run a release: every stage, or nothing published", _run, file, connected)
    whole.add_argument(
        "--staging", help="the folder for raw rows during the run (default: a temporary one)"
    )
    for stage in STAGES:
        verb(stage, f"run only the stage {stage}", _stage, file, connected, staged)
    verify = verb(
        "verify", "recompute what the manifest of a run says, and tell what holds", _verify
    )
    _verify_arguments(verify)
    verb("cleanup", "remove what the stages of a run left in staging", _cleanup, staged)
    swept = verb("sweep", "remove the staging of runs that were killed, and no other", _sweep)
    swept.add_argument("--staging", help="where runs are staged (default: the temporary folder)")
    for name, about, run, module in (
        ("compare", "compare methods on a release's data; publish nothing", _compare, compare),
        ("attack", "attack a release as an outsider would; publish nothing", _attack, attack),
    ):
        added = verb(name, about, run, file)
        _source_arguments(added)
        module.add_arguments(added)
    kept = verb("series", series.ABOUT, _series, file)
    _source_arguments(kept)
    series.add_arguments(kept)
    verb("methods", "list the methods of microaggregation", _methods)
    verb("warmup", "compile every kernel into the cache, so that no task waits for it", _warmup)
    seed = verb("seed", "fill the source of the example DAGs into a warehouse", _seed)
    _connection_argument(seed)
    seed.add_argument("--conn-id", default="warehouse", help="which connection (%(default)s)")
    seed.add_argument("--rows", type=int, default=50_000, help="how many rows (%(default)s)")
    demo = verb("demo", "seed a warehouse, run the example DAG in Airflow, show the result", _demo)
    demo.add_argument("--home", default=".demo", help="the folder for everything (%(default)s)")
    return top


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
    _connection_argument(verb)


def _check(arguments: argparse.Namespace, output: Output) -> int:
    from dataclasses import asdict

    from microagg_ops.release.document import check_release, load_release
    from microagg_ops.release.series_faults import series_warnings

    faults = check_release(arguments.file)
    warned = [] if faults else list(series_warnings(load_release(arguments.file)))
    output.result(
        {
            "file": arguments.file,
            "faults": [asdict(fault) for fault in faults],
            "warnings": warned,
        },
        [str(fault) for fault in faults]
        or [f"{arguments.file} is a release.", *(f"Warning: {words}" for words in warned)],
    )
    return BAD_INPUT if faults else 0


def _run(arguments: argparse.Namespace, output: Output) -> int:
    from dataclasses import asdict

    from microagg_ops.pipeline import run_release

    given = _given(arguments) | {"staging": arguments.staging}
    done = run_release(arguments.file, progress=output.progress, **given)
    output.result(
        asdict(done),
        [
            f"Published {done.rows:,} rows to {done.table}.",
            f"{done.anonymity}, information loss {done.information_loss:.2f} %.",
            *(
                f"{'passed' if passed else 'FAILED'}  {name}"
                for name, passed in done.checks.items()
            ),
            *(f"Report: {uri}" for uri in done.reports.values()),
        ],
    )
    return PUBLISHED


def _verify(arguments: argparse.Namespace, output: Output) -> int:
    from dataclasses import asdict

    from microagg_ops.verify import verify

    findings = verify(
        arguments.manifest,
        release=arguments.release,
        connections=_connections(arguments),
        skip=arguments.skip,
    )
    wrong = [finding for finding in findings if finding.holds is False]
    output.result(
        {"manifest": arguments.manifest, "findings": [asdict(finding) for finding in findings]},
        [str(finding) for finding in findings],
    )
    return CHECK_FAILED if wrong else 0


def _stage(arguments: argparse.Namespace, output: Output) -> int:
    from microagg_ops.pipeline import make_run, run_stage, told
    from microagg_ops.release.document import load_release

    run = make_run(load_release(arguments.file), arguments.staging, **_given(arguments))
    summary = run_stage(arguments.verb, run, output.progress)
    output.result(summary, [f"{arguments.verb}: {told(arguments.verb, summary)}"])
    return 0


def _compare(arguments: argparse.Namespace, output: Output) -> int:
    compare.compare_methods(arguments, output, _source(arguments))
    return 0


def _attack(arguments: argparse.Namespace, output: Output) -> int:
    attack.attack_release(arguments, output, _source(arguments))
    return 0


def _series(arguments: argparse.Namespace, output: Output) -> int:
    series.series(arguments, output, _source(arguments))
    return 0


def _source(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "connections": _connections(arguments),
        "start": arguments.start,
        "end": arguments.end,
    }


def _connections(arguments: argparse.Namespace) -> dict[str, str]:
    connections = {}
    for pair in arguments.connection:
        conn_id, equals, url = pair.partition("=")
        if not equals:
            raise ReleaseError("--connection must be ID=URL.", code="no_connection")
        connections[conn_id] = url
    return connections


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    return _source(arguments) | {
        "reports": arguments.reports,
        "run_id": arguments.run_id,
        "approved_by": arguments.approved_by,
    }


def _cleanup(arguments: argparse.Namespace, output: Output) -> int:
    from microagg_ops.staging.store import Staging

    removed = Staging(arguments.staging).remove()
    words = "Removed" if removed else "There was nothing in"
    output.result({"removed": removed}, [f"{words} {arguments.staging}."])
    return 0


def _sweep(arguments: argparse.Namespace, output: Output) -> int:
    from pathlib import Path

    from microagg_ops.staging.owner import sweep
    from microagg_ops.staging.temporary import temporary_folder

    folder = Path(arguments.staging) if arguments.staging else temporary_folder()
    fates = sweep(folder)
    words = {
        "removed": "removed: its process is gone",
        "alive": "left alone: its process lives, or is on another host",
        "unknown": "left alone: nobody knows whose it is; if you do, use microagg cleanup",
    }
    lines = [f"{name}  {words[fate]}" for name, fate in fates.items()]
    output.result({"folder": str(folder), "runs": fates}, lines or [f"No staging in {folder}."])
    return 0


def _methods(arguments: argparse.Namespace, output: Output) -> int:
    from microagg_ops.methods.registry import METHODS

    output.result(
        {"methods": {method.name: method.about for method in METHODS.values()}},
        [f"{method.name:<12} {method.about}" for method in METHODS.values()],
    )
    return 0


def _warmup(arguments: argparse.Namespace, output: Output) -> int:
    from microagg_ops.cli.warmup import warmup

    output.result(*warmup(output))
    return 0


def _seed(arguments: argparse.Namespace, output: Output) -> int:
    from microagg_ops.cli.seed import seed

    output.result(*seed(arguments.conn_id, arguments.rows, _connections(arguments), output))
    return 0


def _demo(arguments: argparse.Namespace, output: Output) -> int:
    from microagg_ops.cli.demo import demo

    outcome, lines = demo(arguments.home, output)
    output.result(outcome, lines)
    return PUBLISHED


if __name__ == "__main__":
    entry()
