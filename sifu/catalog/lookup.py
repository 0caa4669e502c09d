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

from sifu.catalog.entry_points import KINDS, brought
from sifu.catalog.source import OWN, definition, may_have_more, module_spec, search_here, top_of
from sifu.errors import SifuError

_PACKAGE = Path(__file__).parents[1]
_SCRIPT = 'put what runs a script under `if __name__ == "__main__":`'  # advice where importing ends Python
_NO_EXIT = "do not call sys.exit in it"  # and where calling does


def resolve(target: str) -> Any:
    """The object that "module:name" stands for; what is wrong with it is one sentence."""
    module, name = split(target)
    found = import_module(module, target)
    if not hasattr(found, name):
        raise SifuError(f"{_does_not_exist(target)}, as {module} has nothing called {name}")
    return getattr(found, name)


def module_of(target: str) -> str:
    return split(target)[0]


def split(target: str) -> tuple[str, str]:
    """The module and the name in it of "module:name"."""
    module, _, name = target.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        close = ":".join(target.replace(":", ".").rsplit(".", 1))
        raise SifuError(f'{place(target)}: "{target}" must be "module:name", such as "{close}"')
    return module, name


def refuse_missing(target: str) -> None:
    """Refuse a "module:name" that does not exist; its module is read, not imported, wherever that can tell."""
    module, name = split(target)
    if module_spec(module) is None:
        raise SifuError(f"{_does_not_exist(target)}, as there is no module {_first_missing(module)}{_hidden(module)}")
    try:
        if definition(module, name) is None and not may_have_more(module):
            raise SifuError(f"{_does_not_exist(target)}, as {module} has nothing called {name}")
    except ModuleNotFoundError:  # a package without an __init__.py
        raise SifuError(f"{_does_not_exist(target)}, as {module} is a folder, not a module") from None


def import_module(module: str, target: str) -> ModuleType:
    """A module that a catalog or a config names; an error in it is named with its line."""
    if top_of(module) != OWN:
        search_here()
    try:
        return importlib.import_module(module)
    except SifuError as error:
        raise SifuError(f"importing {module}: {error}") from error
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise SifuError(f"{_does_not_exist(target)}, as there is no module {error.name}") from None
        raise SifuError(f"importing {module} failed with {error_words(error, ends=_SCRIPT)}") from error


def place(target: str) -> str:
    """Where an entry is named: `sifu/catalog/methods.py, line 8`, an entry point of a package, or else the config."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if f'"{target}"' in line:
                return f"sifu/catalog/{path.name}, line {number}"
    for kind in KINDS:
        for one in brought(kind):
            if one.target == target:
                return f"the entry point {one.name} (sifu.{kind}) of the package {one.package}"
    return "sifu/catalog" if top_of(target) == OWN else "the config"


def error_words(error: BaseException, ends: str = _NO_EXIT) -> str:
    """An error and the line that it comes from, in the user's own code where some of it is.

    `ends`: advice where it would end Python.
    """
    said = " ".join(str(error).split())
    said += f", which would end Python: {ends}" if isinstance(error, SystemExit) else ""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({error.filename}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not _is_installed(frame.filename)]
    last = (own or frames)[-1]
    return f"{type(error).__name__}: {said} ({last.filename}, line {last.lineno})"


def _is_installed(file: str) -> bool:
    """Whether code belongs to this package, to an installed one or to Python's importing itself."""
    path = Path(file)
    return "site-packages" in path.parts or path.is_relative_to(_PACKAGE) or file.startswith("<")


def _does_not_exist(target: str) -> str:
    return f'{place(target)}: "{target}" does not exist'


def _hidden(module: str) -> str:
    """Where a folder without an `__init__.py`, such as that of a project, is taken for the package of a module."""
    spec = module_spec(top_of(module))
    if spec is None or spec.has_location or not spec.submodule_search_locations:
        return ""
    return f" (Python takes the folder {next(iter(spec.submodule_search_locations))} for the package {top_of(module)})"


def _first_missing(module: str) -> str:
    """The outermost package of a module that does not exist."""
    parts = module.split(".")
    names = [".".join(parts[:i]) for i in range(1, len(parts) + 1)]
    return next((name for name in names if module_spec(name) is None), module)
