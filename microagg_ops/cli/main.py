"""Arguments in, exit code out: 0 published, 1 a check failed, 2 bad release or data, 3 fault."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from microagg_ops.cli import attack, check, compare, conformance, init, report, series
from microagg_ops.cli.output import Output
from microagg_ops.cli.parser import Run, described
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
from microagg_ops.staging.store import local

PUBLISHED, CHECK_FAILED, BAD_INPUT, FAULT = range(4)


def entry() -> None:
    """Run the command line, and leave with its exit code.

    At once: a thread of a native library that outlives the interpreter would abort the process
    after all is done, and its exit code would say so instead of what happened.
    """
    # What libraries will change one day is nothing to whoever runs a command.
    warnings.simplefilter("ignore", FutureWarning)
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
    output = Output(as_json=arguments.json, quiet=arguments.quiet)
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
    return described(RUNS)


def _init(arguments: argparse.Namespace, output: Output) -> int:
    init.init(arguments, output, _connections(arguments))
    return 0


def _profile(arguments: argparse.Namespace, output: Output) -> int:
    init.profile(arguments, output, _connections(arguments))
    return 0


def _check(arguments: argparse.Namespace, output: Output) -> int:
    return BAD_INPUT if check.check(arguments, output, _source(arguments)) else 0


def _run(arguments: argparse.Namespace, output: Output) -> int:
    from dataclasses import asdict

    from microagg_ops.pipeline import run_release

    if arguments.pdf:
        from microagg_ops.report.pdf import find_browser

        find_browser()  # or an error, before anything is published
    given = _given(arguments) | {"staging": arguments.staging}
    done = run_release(arguments.file, progress=output.progress, **given)
    uris = [*done.reports.values(), *(_printed(done.reports, output) if arguments.pdf else [])]
    output.result(
        asdict(done),
        [
            f"Published {done.rows:,} rows to {done.table}.",
            f"{done.anonymity}, information loss {done.information_loss:.2f} %.",
            *(
                f"{'passed' if passed else 'FAILED'}  {name}"
                for name, passed in done.checks.items()
            ),
            *(f"Report: {uri}" for uri in uris),
        ],
    )
    return PUBLISHED


def _printed(reports: Mapping[str, str], output: Output) -> list[str]:
    """Print the pages of a run; that one cannot be printed changes nothing about the table."""
    pages = [local(uri) for name, uri in reports.items() if name in ("html", "external_html")]
    try:
        return [path.as_uri() for path in report.pdfs([p for p in pages if isinstance(p, Path)])]
    except MicroaggError as error:
        output.say(f"microagg: published, but {error}")
        return []


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


def _report(arguments: argparse.Namespace, output: Output) -> int:
    if arguments.staging:
        return _stage(arguments, output)
    report.show(arguments, output)
    return 0


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


def _conformance(arguments: argparse.Namespace, output: Output) -> int:
    return 0 if conformance.conformance(arguments, output) else CHECK_FAILED


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
    from microagg_ops.cli.methods import listed, told

    output.result(*(told(arguments.name) if arguments.name else listed()))
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


def _completion(arguments: argparse.Namespace, output: Output) -> int:
    from microagg_ops.cli.completion import completion

    output.result(*completion(parser(), arguments.shell))
    return 0


RUNS: dict[str, Run] = {
    "init": _init, "profile": _profile, "check": _check, "run": _run,
    **dict.fromkeys(STAGES, _stage), "report": _report,
    "verify": _verify, "cleanup": _cleanup, "sweep": _sweep, "compare": _compare,
    "attack": _attack, "series": _series, "methods": _methods, "warmup": _warmup,
    "conformance": _conformance, "seed": _seed, "demo": _demo, "completion": _completion,
}  # fmt: skip


if __name__ == "__main__":
    entry()
