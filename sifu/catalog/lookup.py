"""Registries hold "module:name" strings, so that listing what exists imports nothing.

It keeps parsing the Snakefile cheap, and lets a rule depend on the one model or method that it uses
(see `code_hash`) instead of on all of them.
"""

from __future__ import annotations

import importlib
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from sifu.errors import SifuError


def resolve(target: str) -> Any:
    """The object that "module:name" stands for; what is wrong with it is one sentence."""
    module, name = split(target)
    found = import_module(module, target)
    if not hasattr(found, name):
        raise SifuError(f'{place(target)}: "{target}" does not exist, as {module} has nothing called {name}')
    return getattr(found, name)


def module_of(target: str) -> str:
    return split(target)[0]


def split(target: str) -> tuple[str, str]:
    """The module and the name in it of "module:name"."""
    module, colon, name = target.partition(":")
    if not (module and colon and name.isidentifier()):
        close = ":".join(target.replace(":", ".").rsplit(".", 1))
        raise SifuError(f'{place(target)}: "{target}" must be "module:name", such as "{close}"')
    return module, name


def import_module(module: str, target: str) -> ModuleType:
    """A module that the catalog names; an error in it is named with its line."""
    try:
        return importlib.import_module(module)
    except SifuError as error:
        raise SifuError(f"importing {module}: {error}") from error
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise SifuError(f'{place(target)}: "{target}" does not exist, as there is no module {error.name}') from None
        raise SifuError(f"importing {module} failed with {_words(error)}") from error


def place(target: str) -> str:
    """Where the catalog has an entry: `sifu/catalog/methods.py, line 8`."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if f'"{target}"' in line:
                return f"sifu/catalog/{path.name}, line {number}"
    return "sifu/catalog"


def _words(error: Exception) -> str:
    """The error and the line that it comes from."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({error.filename}, line {error.lineno})"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
