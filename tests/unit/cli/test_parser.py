"""What the command line takes: examples that parse, errors that help, completion that completes."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from microagg_ops.cli.completion import SHELLS
from microagg_ops.cli.main import parser
from microagg_ops.cli.parser import EXAMPLES, verbs_of
from microagg_ops.methods.papers import PAPERS
from microagg_ops.methods.registry import METHODS
from tests.unit.cli.test_main import Microagg, microagg

__all__ = ["microagg"]
VERBS = list(verbs_of(parser()))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_examples_that_parse(verb: str) -> None:
    shown = verbs_of(parser())[verb].format_help()
    assert "examples:" in shown
    for example in EXAMPLES[verb]:
        assert f"microagg {verb} {example}".rstrip() in shown
        words = shlex.split(example.partition(">")[0])
        found = parser().parse_args([verb, *words])
        assert found.verb == verb and callable(found.run)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["chek", "x"], "Did you mean 'check'?"),
        (["run", "x", "--stagin", "/tmp", "--approvedby", "me"], "Did you mean '--approved-by'?"),
        (["run"], "required: FILE"),
        (["run", "x", "--start", "yesterday"], "microagg run --help"),
        (["completion", "tcsh"], "bash"),
    ],
)
def test_what_is_not_taken_is_said_with_what_was_meant(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(argv)
    assert caught.value.code == 2
    assert says in capsys.readouterr().err


def test_a_method_is_told_with_parameters_and_paper(microagg: Microagg) -> None:
    done = microagg("methods", "ilsmc", "--json").result
    assert done["params"]["perturb"]["default"] == "uniform"
    assert "Bierman" in done["paper"]
    assert "aggregate: {method: ilsmc, k: 5, budget: 60s}" in microagg("methods", "ilsmc").out
    wrong = microagg("methods", "mdaw")
    assert wrong.code == 2 and "Did you mean 'mdav'?" in wrong.err


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_its_parameters_are(microagg: Microagg, name: str) -> None:
    told = microagg("methods", name, "--json").result
    assert all(one["about"] for one in told["params"].values())
    assert told["paper"] or name == "best"


def test_papers_are_of_methods() -> None:
    assert set(PAPERS) - set(METHODS) == {"gomm", "dgomm"}


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_every_verb_and_is_of_the_shell(
    microagg: Microagg, tmp_path: Path, shell: str
) -> None:
    script = microagg("completion", shell).out
    assert [verb for verb in VERBS if verb not in script] == []
    assert "approved-by" in script
    if shutil.which(shell) is None:
        pytest.skip(f"There is no {shell} here to read the script.")
    path = tmp_path / "script"
    path.write_text(script)
    subprocess.run([shell, "-n", str(path)], check=True, timeout=30)


def completed(script: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    listed = " ".join(shlex.quote(word) for word in words)
    done = subprocess.run(
        ["bash", "-c", f"source {script}; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; "
         '_microagg; printf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True, text=True, check=True, timeout=30, cwd=script.parent,
    )  # fmt: skip
    return done.stdout.split()


def test_bash_completes_verbs_options_methods_and_files(microagg: Microagg, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(microagg("completion", "bash").out)
    (tmp_path / "release.yaml").touch()
    assert completed(script, "microagg", "ch") == ["check"]
    assert completed(script, "microagg", "run", "--app") == ["--approved-by"]
    assert completed(script, "microagg", "methods", "ils") == ["ilsm", "ilsmc"]
    assert completed(script, "microagg", "run", "rel") == ["release.yaml"]
    assert completed(script, "microagg", "completion", "z") == ["zsh"]
