"""YAML files, read strictly: whatever is wrong with one is a sentence that names the file and the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from sifu.config.shipped import SUITE
from sifu.errors import SifuError, did_you_mean

try:  # in C, ten times as fast: every job of a cluster reads the configs
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML was built without it
    from yaml import SafeLoader  # type: ignore[assignment]


class _KeyTwice(Exception):
    """A mapping has a key twice."""


class _StrictLoader(SafeLoader):
    """YAML that refuses a key written twice instead of keeping the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in lines:
                raise _KeyTwice(f"the key {name} is given twice, in lines {lines[name]} and {line}: keep one of them")
            lines[name] = line
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file as a mapping, or one sentence that says what is wrong with it."""
    text = ""
    try:
        text = path.read_text()
        data = yaml.load(text, _StrictLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise SifuError(f"cannot read {path}: {_reason(path, error)}") from None
    except yaml.MarkedYAMLError as error:
        raise SifuError(f"{path} is not valid YAML: {_mistake(error, text.splitlines())}") from None
    except yaml.YAMLError as error:
        raise SifuError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise SifuError(f"{path} is not valid YAML: its lists or mappings are too deep") from None
    except _KeyTwice as error:
        raise SifuError(f"{path}: {error}") from None
    if not isinstance(data, dict):
        found = "it is empty" if data is None else f"not {_PLAIN.get(type(data), 'a single value')}"
        raise SifuError(f"{path} must hold a mapping of keys to values, such as `num_seeds: 4`; {found}")
    return data


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
