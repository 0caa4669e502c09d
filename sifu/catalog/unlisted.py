"""What has a file of its own but no line in its catalog: the sentence that says which line is missing, and where."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_FOLDERS = {
    "methods": "methods",
    "metrics": "metrics",
    "models": "models",
    "datasets": "data",
    "figures": "report/figures",
}
_ENTRIES = {
    "methods": '"{name}": "{module}:{object}"',
    "metrics": '"{name}": "{module}:{object}"',
    "models": '"{name}": ModelSpec("{module}:{object}")',
    "datasets": '"{name}": DatasetSpec(..., sources={{"embedded": Source("{module}:{object}")}})',
    "figures": '"{name}": FigureSpec("{module}")',
}
_FUNCTIONS = {"datasets": "load", "figures": "draw"}  # what a module of these must have


def missing_line(catalog: str, name: object) -> str:
    """For a name that a catalog lacks: the line to add, where a file has what it would stand for; else nothing."""
    for path in sorted((_PACKAGE / _FOLDERS[catalog]).glob("*.py")):
        found = _object(catalog, str(name), path)
        if found:
            module = ".".join(["sifu", *path.relative_to(_PACKAGE).with_suffix("").parts])
            entry = _ENTRIES[catalog].format(name=name, module=module, object=found)
            file = path.relative_to(_PACKAGE.parent)
            return f" ({file} has {name}, but no line of sifu/catalog/{catalog}.py does: add `{entry},` there)"
    return ""


def _object(catalog: str, name: str, path: Path) -> str:
    """What the catalog's line would have to name in a file; empty: the file is about something else."""
    parts = list(_definitions(path))
    if catalog in _FUNCTIONS:
        function = _FUNCTIONS[catalog]
        return function if path.stem == name and any(part.name == function for part in parts) else ""
    for part in parts:
        if part.name == name or (isinstance(part, ast.ClassDef) and _own_name(part) == name):
            return part.name
    classes = [part.name for part in parts if isinstance(part, ast.ClassDef)]
    return classes[-1] if path.stem == name and classes else ""


def _definitions(path: Path) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    """The classes and functions at the top of a file; none if it cannot be read."""
    try:
        tree = ast.parse(path.read_text())
    except (OSError, ValueError, SyntaxError):
        return
    yield from (part for part in tree.body if isinstance(part, ast.ClassDef | ast.FunctionDef))


def _own_name(part: ast.ClassDef) -> str | None:
    """The value of a class's `name = "..."`."""
    assigned = [line for line in part.body if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant)]
    for line in assigned:
        if any(isinstance(target, ast.Name) and target.id == "name" for target in line.targets):
            return str(ast.literal_eval(line.value))
    return None
