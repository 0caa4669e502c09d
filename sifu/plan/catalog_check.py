"""The catalogs, checked as a whole without importing what they name: a wrong line is refused before any job starts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sifu.catalog.datasets import DATASETS
from sifu.catalog.figures import FIGURES, FigureSpec
from sifu.catalog.lookup import place, split
from sifu.catalog.methods import METHODS
from sifu.catalog.metrics import METRICS
from sifu.catalog.models import MODELS
from sifu.errors import SifuError, did_you_mean
from sifu.plan.code_hash import source_of
from sifu.plan.stage_spec import STAGES

_FIGURE = ("TITLE", "CAPTION", "draw")  # what the module of a figure must have


def check_catalogs() -> None:
    """Refuse an entry whose module or object does not exist."""
    for target in _targets():
        module, name = split(target)
        _check(target, module, name)
    for spec in FIGURES.values():
        _check_figure(spec)


def _check_figure(spec: FigureSpec) -> None:
    for name in _FIGURE:
        _check(spec.module, spec.module, name)
    for table in spec.tables:
        stage, _, name = table.partition("/")
        if stage not in STAGES or name not in STAGES[stage].tables:
            close = did_you_mean(table, [f"{s}/{t}" for s in STAGES for t in STAGES[s].tables])
            raise SifuError(f'{place(spec.module)}: "{table}" is no table that a stage writes{close}')


def _targets() -> Iterator[str]:
    """Every "module:name" of the catalogs."""
    yield from METHODS.values()
    yield from METRICS.values()
    for model in MODELS.values():
        yield model.builder
        yield from [model.kernels] if model.kernels else []
    for dataset in DATASETS.values():
        yield from (source.loader for source in dataset.sources.values())


def _check(target: str, module: str, name: str) -> None:
    try:
        tree = source_of(module)
    except ModuleNotFoundError:
        raise SifuError(f'{place(target)}: "{target}" does not exist, as there is no module {module}') from None
    except SyntaxError as error:
        raise SifuError(f"{error.filename}, line {error.lineno}: {error.msg}") from None
    if name not in _names(tree):
        raise SifuError(f'{place(target)}: "{target}" does not exist, as {module} has nothing called {name}')


def _names(tree: ast.Module) -> set[str]:
    """The names that a module defines or imports at its top."""
    found: set[str] = set()
    for part in tree.body:
        if isinstance(part, ast.ClassDef | ast.FunctionDef):
            found.add(part.name)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in part.names}
        else:
            found |= {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}
    return found
