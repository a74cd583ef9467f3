"""``microagg completion``: what completes verbs, options and files in bash, zsh and fish.

It is written from the parser, and asks nothing while keys are pressed.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping

SHELLS = ("bash", "zsh", "fish")
BASH = """\
_microagg() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} verb=${{COMP_WORDS[1]}} options= words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{verbs} --help --version" -- "$word"))
        return
    fi
    case "$verb" in
{cases}
    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
        *) COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word")) ;;
    esac
}}
complete -o filenames -F _microagg microagg"""
ZSH = """\
#compdef microagg
_microagg() {{
    local -a verbs options values
    verbs=(
{verbs}
    )
    if (( CURRENT == 2 )); then
        _describe verb verbs
        return
    fi
    case "$words[2]" in
{cases}
    esac
    if [[ "$PREFIX" == -* ]]; then
        _describe option options
    else
        (( $#values )) && _describe value values
        _files
    fi
}}
compdef _microagg microagg"""


def completion(parser: argparse.ArgumentParser, shell: str) -> tuple[dict[str, str], list[str]]:
    """Return the script of a shell, as a document and as lines."""
    from microagg_ops.cli.parser import verbs_of

    lines = list({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](verbs_of(parser)))
    return {"shell": shell, "script": "\n".join(lines)}, lines


def options(verb: argparse.ArgumentParser) -> dict[str, str]:
    """Return the long options of a verb with what they are."""
    formatter = verb._get_formatter()
    return {
        action.option_strings[-1]: formatter._expand_help(action)
        for action in verb._actions
        if action.option_strings
    }


def words(name: str, verb: argparse.ArgumentParser) -> list[str]:
    """Return what may stand in the place of a verb's own argument, where that is known."""
    if name == "methods":
        from microagg_ops.methods.registry import METHODS

        return list(METHODS)
    listed = (a.choices for a in verb._actions if not a.option_strings and a.choices)
    return [str(choice) for choice in next(listed, ())]


def _bash(verbs: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    cases = "\n".join(
        f'        {name}) options="{" ".join(options(verb))}" words="{" ".join(words(name, verb))}"'
        " ;;"
        for name, verb in verbs.items()
    )
    yield from BASH.format(verbs=" ".join(verbs), cases=cases).splitlines()


def _zsh(verbs: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    def listed(given: Mapping[str, str]) -> str:
        told = (f"{key}:{about.replace(':', ',')}".rstrip(":") for key, about in given.items())
        return " ".join(map(shlex.quote, told))

    about = "\n".join(
        f"        {listed({name: verb.description or ''})}" for name, verb in verbs.items()
    )
    cases = "\n".join(
        f"        {name}) options=({listed(options(verb))}); "
        f"values=({' '.join(words(name, verb))}) ;;"
        for name, verb in verbs.items()
    )
    yield from ZSH.format(verbs=about, cases=cases).splitlines()


def _fish(verbs: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    for name, verb in verbs.items():
        about = shlex.quote(verb.description or "")
        yield f"complete -c microagg -f -n __fish_use_subcommand -a {name} -d {about}"
        here = shlex.quote(f"__fish_seen_subcommand_from {name}")
        for option, help_ in options(verb).items():
            long = option.removeprefix("--")
            yield f"complete -c microagg -n {here} -l {long} -d {shlex.quote(help_)}"
        if listed := words(name, verb):
            yield f"complete -c microagg -f -n {here} -a {shlex.quote(' '.join(listed))}"
