"""The catalogs, checked as a whole without importing what they name: a wrong line is refused before any job starts."""

from __future__ import annotations

from collections.abc import Iterator

from sifu.catalog.datasets import DATASETS
from sifu.catalog.figures import FIGURES, FigureSpec
from sifu.catalog.lookup import place, refuse_missing
from sifu.catalog.methods import METHODS
from sifu.catalog.metrics import METRICS
from sifu.catalog.models import MODELS
from sifu.catalog.source import definition, module_file
from sifu.errors import SifuError, did_you_mean
from sifu.plan.stage_spec import STAGES

_FIGURE = ("TITLE", "CAPTION", "draw")  # what the module of a figure must have


def check_catalogs() -> None:
    """Refuse an entry whose module or object does not exist."""
    for target in _targets():
        refuse_missing(target)
    for spec in FIGURES.values():
        _check_figure(spec)


def _check_figure(spec: FigureSpec) -> None:
    if module_file(spec.module) is None:
        raise SifuError(f'{place(spec.module)}: "{spec.module}" does not exist, as there is no module {spec.module}')
    for name in _FIGURE:
        if definition(spec.module, name) is None:
            raise SifuError(f"{place(spec.module)}: the figure's module {spec.module} has nothing called {name}")
    for table in spec.tables:
        stage, _, name = table.partition("/")
        if stage not in STAGES or name not in STAGES[stage].tables:
            close = did_you_mean(table, [f"{s}/{t}" for s in STAGES for t in STAGES[s].tables])
            raise SifuError(f'{place(spec.module)}: "{table}" is no table that a stage writes{close}')


def _targets() -> Iterator[str]:
    """Every "module:name" of this package's catalogs; those of other packages are checked where they are used."""
    yield from METHODS.own.values()
    yield from METRICS.own.values()
    for model in MODELS.own.values():
        yield model.builder
        yield from [model.kernels] if model.kernels else []
    for dataset in DATASETS.own.values():
        yield from (source.loader for source in dataset.sources.values())
