"""YAML files, read strictly: whatever is wrong with one is a sentence that names the file and the line."""

from __future__ import annotations

import re
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from sifu.config.shipped import SUITE
from sifu.errors import SifuError, did_you_mean

try:  # in C, ten times as fast: every job of a cluster reads the configs
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML was built without it
    from yaml import SafeLoader  # type: ignore[assignment]


_MAX_BYTES = 2**20  # the longest config of the suite has 40 kB
_MAX_DEPTH = 50
_MAX_TEXT = 1000  # characters
_MAX_NODES = 100_000  # with every alias written out
_MERGE = "tag:yaml.org,2002:merge"  # of the key <<


class _Refused(Exception):
    """What YAML allows and a config may not have."""


class _StrictLoader(SafeLoader):
    """YAML that refuses a key written twice instead of keeping the last one."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._looked_at: set[int] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Look at a mapping before others are merged into it (`<<`), whose keys it may have as well."""
        if id(node) not in self._looked_at:
            self._looked_at.add(id(node))
            self._refuse_twice(node)
        super().flatten_mapping(node)

    def _refuse_twice(self, node: yaml.MappingNode) -> None:
        lines: dict[object, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise _Refused(f"line {line}: a key must be a name, not a list or a mapping")
            value = key.value if key.tag == _MERGE else self.construct_object(key)
            same = {value, key.value}  # 1 and 1.0 are the same key, and 1 and '1' look alike
            for known in same & lines.keys():
                name, first = _cut(key.value), lines[known]
                raise _Refused(f"the key {name} is given twice, in lines {first} and {line}: keep one of them")
            lines |= dict.fromkeys(same, line)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file as a mapping, or one sentence that says what is wrong with it."""
    text = ""
    try:
        text = _text(path)
        data = deepcopy(_parsed(text))  # callers may change what they get
    except (OSError, UnicodeDecodeError) as error:
        raise SifuError(f"cannot read {path}: {_reason(path, error)}") from None
    except yaml.MarkedYAMLError as error:
        raise SifuError(f"{path} is not valid YAML: {_mistake(error, text.splitlines())}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # ValueError: a number of thousands of digits
        raise SifuError(f"{path} is not valid YAML: {' '.join(str(error).split())[:300]}") from None
    except _Refused as error:
        raise SifuError(f"{path} is not valid YAML for a config: {error}") from None
    if not isinstance(data, dict):
        found = "it is empty" if data is None else f"not {_PLAIN.get(type(data), 'a single value')}"
        raise SifuError(f"{path} must hold a mapping of keys to values, such as `num_seeds: 4`; {found}")
    return data


def read_value(text: str) -> Any:
    """A value of YAML, read as strictly as a file; ValueError where it is none, or none that a config may have."""
    try:
        return deepcopy(_parsed(text))
    except (yaml.YAMLError, OverflowError, _Refused) as error:
        raise ValueError(" ".join(str(error).split())[:300]) from None


@lru_cache(maxsize=32)  # a plan asks for the same few files many times
def _parsed(text: str) -> Any:
    _refuse_bombs(text)
    return yaml.load(text, _StrictLoader)


def _text(path: Path) -> str:
    if path.is_fifo():
        raise OSError("it is a pipe, which may never end; name a file")
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise _Refused(f"it has more than {_MAX_BYTES} bytes")
    return data.decode("utf-8")


def _refuse_bombs(text: str) -> None:
    """Refuse what is too deep or too much before it is built: a deep list ends the process, and few lines of aliases
    stand for billions of nodes.
    """
    sizes: list[int] = [0]  # nodes so far in each open list or mapping, outermost first
    names: list[str | None] = []  # its anchor
    anchors: dict[str, int] = {}  # nodes that an alias stands for
    for event in yaml.parse(text, SafeLoader):
        line = 1 + (event.start_mark.line if event.start_mark else 0)
        _refuse_odd(event, line)
        if isinstance(event, yaml.CollectionStartEvent):
            sizes.append(1)
            names.append(event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            size, name = sizes.pop(), names.pop()
            anchors |= {} if name is None else {name: size}
            sizes[-1] += size
        elif isinstance(event, yaml.ScalarEvent):
            anchors |= {} if event.anchor is None else {event.anchor: 1}
            sizes[-1] += 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in names:
                raise _Refused(f"line {line}: {_cut(str(event.anchor))} contains itself")
            sizes[-1] += anchors.get(str(event.anchor), 1)
        if len(sizes) > _MAX_DEPTH:
            raise _Refused(f"line {line}: lists or mappings inside of more than {_MAX_DEPTH}")
        if sizes[-1] > _MAX_NODES:
            raise _Refused(f"line {line}: more than {_MAX_NODES} values, aliases written out")


def _refuse_odd(event: yaml.Event, line: int) -> None:
    """Refuse tags, dates and endless texts, of which a config needs none."""
    tag, text = getattr(event, "tag", None), getattr(event, "value", "")
    if tag not in (None, "!"):  # written out: YAML's own tags make odd things as well
        raise _Refused(f"line {line}: the tag {_cut(tag)} has no place in a config")
    if len(text) > _MAX_TEXT:
        raise _Refused(f"line {line}: a text of more than {_MAX_TEXT} characters")
    if isinstance(event, yaml.ScalarEvent) and event.implicit[0] and _resolved(text) == _DATE:
        raise _Refused(f"line {line}: {text} is a date; put it in quotes if it is a name")
    if isinstance(event, yaml.ScalarEvent) and event.implicit[0] and _OTHER_BASE.fullmatch(text):
        raise _Refused(f"line {line}: {text} is another number in YAML, to base 8 or 60; write it as a decimal")


_DATE = "tag:yaml.org,2002:timestamp"
_OTHER_BASE = re.compile(r"[-+]?(0[0-7_]*[1-7][0-7_]*|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)")  # 010 is 8, 1:30 is 90
_RESOLVER = yaml.resolver.Resolver()


def _resolved(text: str) -> str:
    """What YAML takes a text without quotes for."""
    return str(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)))


def _cut(word: str) -> str:
    """A word of the file in an error message."""
    return word if len(word) <= 60 else f"{word[:60]}..."


_PLAIN: dict[type, str] = {list: "a list", str: "a text"}


def _reason(path: Path, error: OSError | UnicodeDecodeError) -> str:
    """Why a file cannot be read, and which one may have been meant."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not text in UTF-8 ({error})"
    if isinstance(error, NotADirectoryError):
        return f"{path.parent} is a file, not the folder of {path.name}"
    if isinstance(error, IsADirectoryError):
        return f"it is a folder (Is a directory); name a file in it{_files(path)}"
    if not isinstance(error, FileNotFoundError):
        return error.strerror or str(error)
    looked = "No such file or directory" + ("" if path.is_absolute() else f", looked for {path.absolute()}")
    if (SUITE / path).is_file():
        return f"{looked} (did you mean {SUITE / path}?)"
    return looked + did_you_mean(path.name, [file.name for file in _yaml_files(path.parent)])


def _files(folder: Path) -> str:
    names = [file.name for file in _yaml_files(folder)]
    return f": {', '.join(names)}" if names else ""


def _yaml_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.yaml"))


def _mistake(error: yaml.MarkedYAMLError, lines: list[str]) -> str:
    """What is wrong, in which line; a tab, which YAML calls a character that cannot start a token, by its name."""
    mark, problem = error.problem_mark or error.context_mark, str(error.problem or error.context)
    if mark is None:
        return problem
    if mark.line < len(lines) and lines[mark.line].lstrip(" ").startswith("\t"):
        problem = "it is indented with a tab; YAML wants spaces"
    return f"line {mark.line + 1}: {' '.join(problem.split())}"
