"""Config files of somebody else: too deep, too large, too many times the same, and what YAML can do besides."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from sifu.config.yaml_file import read_yaml
from sifu.errors import SifuError
from tests.memory import bounded_memory


def laughs(first: str, line: str) -> str:
    """Nine lines, each of ten times the one before."""
    lines = [line.format(n=n, before=", ".join([f"*a{n - 1}"] * 10)) for n in range(1, 10)]
    return "\n".join([f"a0: &a0 {first}", *lines])


BAD = {
    "deep lists end no process": ("a: " + "[" * 100_000, "lists or mappings inside of more than 50"),
    "deep mappings": ("a: " + "{a: " * 100_000, "inside of more than 50"),
    "deep blocks": ("\n".join(" " * n + "a:" for n in range(400)), "inside of more than 50"),
    "a list that holds itself": ("a: &a [1, *a]", "a contains itself"),
    "billions of values": (laughs("[x]", "a{n}: &a{n} [{before}]"), "more than 100000 values, aliases written out"),
    "billions of merges": (laughs("{x: 1}", "a{n}: &a{n} {{<<: [{before}]}}"), "more than 100000 values"),
    "keys that are lists": ("? [1, 2]\n: 3", "a key must be a name"),
    "20,000 long keys": (
        f"b: &b [{'1,' * 3000}]\nm:\n" + "".join(f"  ? [*b, {n}]\n  : 1\n" for n in range(20_000)),
        "more than 100000 values",  # comparing them took 72 seconds
    ),
    "large": ("a: 1\n" + "#" * 2**20, "more than 1048576 bytes"),
    "many": (f"a: [{'1,' * 200_000}]", "more than 100000 values"),
    "a long text": (f"a: {'x' * 2000}", "a text of more than 1000 characters"),
    "a long number": (f"a: {'1' * 5000}", "a text of more than 1000 characters"),
    "a date": ("a: 2001-01-02", "2001-01-02 is a date; put it in quotes"),
    "a date that is none": ("a: 2001-13-45", "is a date"),
    "an object": ("a: !!python/object/apply:os.system [ls]", "the tag tag:yaml.org,2002:python/object/apply:os.system"),
    **{
        f"the tag {text}": (f"a: {text}", "has no place in a config|not valid YAML")
        for text in (
            "!foo x",
            "!!binary x",
            "!!set {b: 1}",
            "!!int ''",
            "!!int '-'",
            "!!float ''",
            "!!bool x",
            "!!map [1]",
        )
    },
    "hexadecimal nothing": ("a: 0x_", "invalid literal"),
    "twice": ("a: 1\nb: 2\na: 3", "the key a is given twice, in lines 1 and 3"),
    "twice as a number": ("a: {1: x, 1.0: y}", "the key 1.0 is given twice"),
    "twice in two ways": ("a: {0: x, 00: y}", "the key 00 is given twice"),
    **{f"the number {text}": (f"a: {text}", "is another number in YAML") for text in ("010", "-0_7", "1:30", "9:59.5")},
    "no text": ("a: \0", "is not valid YAML"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_sentence(tmp_path: Path, name: str) -> None:
    text, message = BAD[name]
    path = tmp_path / "config.yaml"
    path.write_text(text)
    begin = time.process_time()
    with bounded_memory(150), pytest.raises(SifuError, match=message) as refused:
        read_yaml(path)
    assert time.process_time() - begin < 3
    assert len(str(refused.value)) < 600 + len(str(path))


def test_many_keys_are_read_in_a_moment(tmp_path: Path) -> None:
    """A config may have 20,000 of them."""
    path = tmp_path / "config.yaml"
    path.write_text("".join(f"key_{n}: {n}\n" for n in range(20_000)))
    begin = time.process_time()
    assert len(read_yaml(path)) == 20_000
    assert time.process_time() - begin < 5


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.yaml")
    with pytest.raises(SifuError, match="it is a pipe, which may never end"):
        read_yaml(tmp_path / "config.yaml")


def test_ordinary_aliases_and_merges_are_read(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("a: &a {x: 1, when: '2001-01-02'}\nb: {<<: *a, y: 2}\nc: [*a, *a]\n")
    assert read_yaml(path)["b"] == {"x": 1, "when": "2001-01-02", "y": 2}
    path.write_text("b: &b {x: 1}\np:\n  q: &a {<<: *b, x: 2}\nc: {<<: *a, y: 3}\n")  # a merge of a merge
    assert read_yaml(path) == {"b": {"x": 1}, "p": {"q": {"x": 2}}, "c": {"x": 2, "y": 3}}
