"""A hash of exactly the code that a stage runs, so that editing a module re-runs the stages that use it.

Follows imports of this package through the source, without running it. Comments, docstrings and layout do not count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_NAME = "sifu"
# no part of a result: what is printed, and catalogs and records (a rule adds the one module that it takes from them)
_LEFT_OUT = {
    "sifu.federation.progress",
    "sifu.plan.freshness",
    "sifu.plan.stage_spec",
    "sifu.stages.call",
    "sifu.catalog.figures",
    "sifu.catalog.methods",
    "sifu.catalog.models",
}


@cache
def code_hash(*modules: str) -> str:
    """16 hex digits that change when the code of `modules`, or of anything they import from here, changes."""
    digest = hashlib.sha256()
    for module in sorted(used_modules(*modules)):
        digest.update(f"{module}\0{_meaning(module)}\0".encode())
    return digest.hexdigest()[:16]


def used_modules(*modules: str) -> set[str]:
    """`modules` and all modules of this package that importing and running them can reach."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found | _LEFT_OUT:
            found.add(module)
            waiting += _imports(module)
    return found


@cache
def _file(module: str) -> Path | None:
    inside = _PACKAGE.joinpath(*module.split(".")[1:])
    for path in (inside.with_suffix(".py"), inside / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def source_of(module: str) -> ast.Module:
    """The source of a module of this package, parsed."""
    path = _file(module)
    if path is None:
        raise ModuleNotFoundError(f"no module {module} under {_PACKAGE}")
    return ast.parse(path.read_text(), str(path))


@cache
def _meaning(module: str) -> str:
    """What a module says, without comments, docstrings and layout: the same text under every version of Python."""
    return _plain(source_of(module))


def _plain(node: object) -> str:
    if isinstance(node, list):
        return "[" + ",".join(_plain(part) for part in node if not _is_text(part)) + "]"
    if isinstance(node, ast.AST):
        fields = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
        return type(node).__name__ + "(" + ",".join(f"{name}={_plain(value)}" for name, value in fields) + ")"
    return repr(node)


def _is_text(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements at any depth; expressions, most of a tree, hold none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue  # types change no result
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from _statements(child)


@cache
def _imports(module: str) -> list[str]:
    """Modules of this package that `module` names in an import, anywhere in it, and its parent packages."""
    names = []
    for node in _statements(source_of(module)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.level or not node.module):
            raise ImportError(f"{module}: write imports in full, relative ones are not followed")
        elif isinstance(node, ast.ImportFrom):
            names += [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
    parts = module.split(".")
    names += [".".join(parts[:i]) for i in range(1, len(parts))]
    return [name for name in names if name.split(".")[0] == _NAME and _file(name) is not None]
