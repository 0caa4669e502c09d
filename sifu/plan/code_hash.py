"""A hash of exactly the code that a stage runs, so that editing a module re-runs the stages that use it.

Follows imports of this package through the source, without running it. Comments, docstrings and layout do not count.
A module from outside is followed as well, through its own package, through modules that lie next to it in a folder of
the user, and through this package. What is installed besides, such as torch, is not.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache

from sifu.catalog.source import OWN, home, module_file, source_of, top_of

# no part of a result: what is printed, and catalogs and records (a rule adds the one module that it takes from them)
_LEFT_OUT = {
    "sifu.federation.progress",
    "sifu.plan.freshness",
    "sifu.plan.stage_spec",
    "sifu.stages.call",
    "sifu.version",
    "sifu.catalog.entry_points",
    "sifu.catalog.figures",
    "sifu.catalog.methods",
    "sifu.catalog.models",
    "sifu.catalog.registry",
    "sifu.catalog.source",
}


@cache
def code_hash(*modules: str) -> str:
    """16 hex digits that change when the code of `modules`, or of anything they import, changes."""
    digest = hashlib.sha256()
    for module in sorted(used_modules(*modules)):
        digest.update(f"{module}\0{_meaning(module)}\0".encode())
    return digest.hexdigest()[:16]


def used_modules(*modules: str) -> set[str]:
    """`modules` and all modules, of this package or of the user, that importing and running them can reach."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found | _LEFT_OUT:
            found.add(module)
            waiting += _imports(module)
    return found


@cache
def _meaning(module: str) -> str:
    """What a module says, without comments, docstrings and layout: the same text under every version of Python."""
    path = module_file(module)
    if path is not None and path.suffix != ".py":  # compiled
        return hashlib.sha256(path.read_bytes()).hexdigest()
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
    """Modules to follow that `module` names in an import, anywhere in it, and its parent packages."""
    names = []
    for node in _statements(source_of(module)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = _source_name(module, node)
            names += [source, *(f"{source}.{alias.name}" for alias in node.names)]
    parts = module.split(".")
    names += [".".join(parts[:i]) for i in range(1, len(parts))]
    return [name for name in names if _followed(top_of(name), top_of(module)) and module_file(name) is not None]


def _source_name(module: str, node: ast.ImportFrom) -> str:
    """The module that `from ... import` names in full."""
    if not node.level:
        return str(node.module)
    if top_of(module) == OWN:
        raise ImportError(f"{module}: write imports in full, relative ones are not followed")
    path = module_file(module)
    inside = path is not None and path.stem == "__init__"  # a package: its own name counts
    parts = module.split(".")
    package = parts[: len(parts) - node.level + inside]
    return ".".join([*package, *([node.module] if node.module else [])])


@cache
def _followed(top: str, importer: str) -> bool:
    """Whether imports of a top-level package are followed from a module of another one."""
    if top in (OWN, importer):
        return True
    return importer != OWN and home(importer) is not None and home(top) == home(importer)
