"""Where the source of a module lies and what it defines, found without importing it."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from functools import cache
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path
from typing import Any

from sifu.errors import SifuError

OWN = "sifu"
_PACKAGE = Path(__file__).parents[1]
_LOADERS: tuple[tuple[Any, list[str]], ...] = (  # of Python itself, in its order
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (SourceFileLoader, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)


def top_of(module: str) -> str:
    """The top-level package of a module: `mypkg` of `mypkg.nets.small`."""
    return module.partition(".")[0]


def search_here() -> None:
    """Let Python find modules of the current folder, as `python -m sifu` does; Snakemake and `sifu` would not."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def module_spec(module: str) -> ModuleSpec | None:
    """Where Python would find a module; None: nowhere. Its packages are not imported either."""
    search_here()
    parts = module.split(".")
    try:
        spec = importlib.util.find_spec(parts[0])
    except (ImportError, ValueError):  # a module without a place, such as the one of an interactive session
        return None
    for end in range(2, len(parts) + 1):
        spec = _inside(_places(spec), ".".join(parts[:end]))
    return spec


def _inside(places: list[str], module: str) -> ModuleSpec | None:
    """A module in one of some folders. Python itself would ask its package, which is not imported yet."""
    found = [spec for place in places if (spec := FileFinder(place, *_LOADERS).find_spec(module)) is not None]
    return next((spec for spec in found if spec.has_location), found[0] if found else None)


def _places(spec: ModuleSpec | None) -> list[str]:
    """The folders of a package; of a plain module none."""
    return list(spec.submodule_search_locations or []) if spec is not None else []


@cache
def module_file(module: str) -> Path | None:
    """The file of a module; None where there is none, as of a package without an `__init__.py`."""
    if top_of(module) == OWN:
        return _own_file(module)
    spec = module_spec(module)
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _own_file(module: str) -> Path | None:
    """The same for this package, of which thousands of names are asked for."""
    inside = _PACKAGE.joinpath(*module.split(".")[1:])
    for path in (inside.with_suffix(".py"), inside / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def home(top: str) -> Path | None:
    """The folder that holds a top-level module which is still worked on; None for packages that are installed."""
    spec = module_spec(top)
    places = _places(spec)
    if spec is None or not (places or spec.has_location):
        return None
    folder = Path(places[0] if places else str(spec.origin)).parent
    return None if folder.name in ("site-packages", "dist-packages") else folder


@cache
def source_of(module: str) -> ast.Module:
    """The source of a module, parsed; that of a compiled one is empty."""
    path = module_file(module)
    if path is None:
        raise ModuleNotFoundError(f"no module {module}")
    if path.suffix != ".py":
        return ast.Module([], [])
    try:
        return ast.parse(path.read_text(), str(path))
    except SyntaxError as error:
        raise SifuError(f"{error.filename}, line {error.lineno}: {error.msg}") from None
    except (OSError, ValueError) as error:
        raise SifuError(f"{path} cannot be read: {error}") from None


def definition(module: str, name: str) -> ast.AST | None:
    """The statement at the top of a module that gives it `name`; None: there is none."""
    for part in source_of(module).body:
        if name in _names(part):
            return part
    return None


def may_have_more(module: str) -> bool:
    """Whether a module may have names that its source does not show: only importing it can tell."""
    path, tree = module_file(module), source_of(module)
    stars = any(isinstance(part, ast.ImportFrom) and part.names[0].name == "*" for part in tree.body)
    return stars or definition(module, "__getattr__") is not None or (path is not None and path.suffix != ".py")


def _names(part: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module defines or imports."""
    if isinstance(part, ast.ClassDef | ast.FunctionDef):
        return {part.name}
    if isinstance(part, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in part.names}
    if isinstance(part, ast.If | ast.Try | ast.With):  # such as an import that may fail
        inner = [statement for statement in ast.walk(part) if isinstance(statement, ast.stmt) and statement is not part]
        return {name for statement in inner for name in _names(statement)}
    return {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}
