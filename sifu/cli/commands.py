"""Sub-commands in groups, so that --help shows the everyday ones first."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any, NoReturn

from sifu.errors import did_you_mean

EVERYDAY, REPORTS, STAGE, PLUGINS, CERTIFICATES, REPLICATION, LEADERBOARD, UPKEEP = (
    "everyday",
    "reports of a run",
    "single stages (Snakemake runs them for you)",
    "methods, models and metrics of your own",
    "certificates",
    "the replication of the paper",
    "the leaderboard",
    "upkeep of the suite",
)
Command = Callable[[argparse.Namespace], int | None]


class Parser(argparse.ArgumentParser):
    """A parser that refuses in one sentence, and knows what a misspelt command or option may have meant."""

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if wrong:
            names = re.findall(r"[\w-]+", wrong[2])
            message = (
                message.partition(" (choose")[0] + did_you_mean(wrong[1], names) + f"; allowed: {', '.join(names)}"
            )
        self.exit(2, f"error: {message}; see `{self.prog} --help`\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As before, but a sub-command refuses what it does not know by itself, as it knows its own options."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = re.findall(r"--[a-z-]+", self.format_help())
            self.error(f"unrecognized arguments: {' '.join(unknown)}{did_you_mean(unknown[0], options)}")
        return parsed, unknown


class Commands:
    """The sub-commands of a parser, each in a group."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parsers = parser.add_subparsers(
            prog="python -m sifu", required=True, metavar="COMMAND", help=argparse.SUPPRESS
        )
        self._groups: dict[str, list[tuple[str, str]]] = {}

    def add(self, group: str, name: str, text: str, command: Command, **keywords: Any) -> argparse.ArgumentParser:
        """A sub-command; `command` is called with its parsed options, and gives back an exit code or None."""
        parser = self._parsers.add_parser(name, description=text, **keywords)
        parser.set_defaults(command=command)
        self._groups.setdefault(group, []).append((name, text))
        return parser

    def overview(self) -> str:
        """Every group with a line for each of its commands."""
        lines = []
        for group in (EVERYDAY, REPORTS, STAGE, PLUGINS, CERTIFICATES, REPLICATION, LEADERBOARD, UPKEEP):
            lines += [f"{group}:", *(f"  {name:<17} {text}" for name, text in self._groups[group]), ""]
        return "\n".join([*lines, "`python -m sifu COMMAND --help` has the options of a command."])
