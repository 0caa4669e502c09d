"""Pages that can be followed: their blocks as steps, and a checkout to take them in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.conftest import REPO

PARTS = ("sifu", "config", "workflow", "profiles", "tests", "docs")
FILES = ("Snakefile", "pyproject.toml", "README.md", "CONTRIBUTING.md", "CITATION.cff")
_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
_PLACE = re.compile(r"`(?P<path>[^`]+)`, (?:(?P<how>new|at the end)|below `(?P<line>.+)`):")


class Step(NamedTuple):
    """One block of a page: what to do with its text."""

    how: str  # new | at the end | below | run | see
    body: str
    path: str = ""
    line: str = ""  # the one that the block goes below


def sections(page: str) -> dict[str, list[Step]]:
    """The steps under each heading of a page of docs."""
    text = (REPO / "docs" / page).read_text()
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return {title: steps(body) for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def steps(text: str) -> list[Step]:
    return [_step(block, text[: block.start()].rstrip().splitlines()[-1]) for block in _BLOCK.finditer(text)]


def _step(block: re.Match[str], above: str) -> Step:
    if block["language"] in ("sh", "text"):
        return Step({"sh": "run", "text": "see"}[block["language"]], block["body"])
    place = _PLACE.fullmatch(above)
    assert place is not None, f"say above the block where it goes, not: {above}"
    return Step(place["how"] or "below", block["body"], place["path"], place["line"] or "")


@dataclass
class Reader:
    """Somebody who does what a page says, in a copy of the checkout."""

    root: Path
    output: str = ""  # of the last block of commands
    path: str = ""  # where Python finds modules; empty: in the copy

    @staticmethod
    def at(root: Path) -> Reader:
        for part in PARTS:
            shutil.copytree(REPO / part, root / part)
        for file in FILES:
            shutil.copy(REPO / file, root)
        (root / ".venv").symlink_to(sys.prefix)
        return Reader(root)

    def follow(self, step: Step) -> None:
        path = self.root / step.path
        if step.how == "run":
            self.output = "".join(self.run(line) for line in step.body.splitlines())
        elif step.how == "see":
            for line in step.body.splitlines():
                assert line in self.output, f"the page promises {line!r}, this came:\n{self.output}"
        elif step.how == "new":
            assert not path.exists(), f"{step.path} is there already"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.body)
        elif step.how == "at the end":
            path.write_text(path.read_text() + "\n" + step.body)
        else:
            path.write_text(_below(path.read_text(), step))

    def run(self, command: str) -> str:
        """What a command prints; it must end well."""
        environment = os.environ | {
            "PYTHONPATH": self.path or str(self.root),
            "PYTHONDONTWRITEBYTECODE": "",
        }  # as the Makefile has it
        result = subprocess.run(
            command, shell=True, cwd=self.root, env=environment, capture_output=True, text=True, timeout=300
        )
        assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
        return result.stdout + result.stderr


def _below(text: str, step: Step) -> str:
    lines = text.splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if line.strip() == step.line]
    assert len(places) == 1, f"{step.path} has {len(places)} lines {step.line!r}, the page needs one"
    return "".join([*lines[: places[0] + 1], step.body, *lines[places[0] + 1 :]])
