"""Generated parts of docs/forgetting.md: how many models a metric needs, and what so many can see, by formula."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from sifu.certificate.audit import most_provable
from sifu.certificate.gaussian import largest_ratio
from sifu.docs.measured_text import table_text
from sifu.docs.named import scenarios
from sifu.forgetting.auc import LOW_RATES, auc_null_deviation
from sifu.forgetting.klom import klom
from sifu.forgetting.neurips_score import example_epsilons, forgetting_quality
from sifu.forgetting.power import SCORES, smallest_shift
from sifu.forgetting.sample import NEEDS
from sifu.replication.published import Published
from sifu.report.packed import LARGEST, unpack
from sifu.stages.power import TWINS, WORST
from sifu.store.forgetting_schemas import POWER
from sifu.store.parquet import read_tables

_COUNTS = (10, 20, 40, 100, 200, 1000)  # models a world
_PROMISES = ((10.0, 0.01), (1.0, 0.01))  # epsilon, delta: the paper's, and one that would mean something
_POINTS = 1000  # of a draw from N(0, 1)
_COLUMNS = (
    "models a world",
    "AUC: null deviation",
    "AUC: smallest shift",
    "KLOM of equal worlds",
    "F of equal worlds",
    "largest epsilon that counting proves",
)


def models_needed(root: Path) -> str:
    """From how many models a world on a metric is computed, and from how many on it says something."""
    rows = [[need.name, str(need.least), str(need.advised)] for need in NEEDS.values()]
    return table_text(rows, "metric", "refused below", "advised from").strip()


def models_see(root: Path) -> str:
    """What so many models a world can see, and what they read where nothing differs."""
    return table_text([_row(models) for models in _COUNTS], *_COLUMNS).strip()


def _row(models: int) -> list[str]:
    first, second = np.random.default_rng(models).normal(size=(2, models, _POINTS))
    enough = models >= NEEDS["neurips_score"].least
    return [
        f"{models:,}",
        f"{auc_null_deviation(models, models):.3f}",
        f"{smallest_shift(models, models):.2f}",
        f"{klom(first, second).mean():.2f}",
        f"{forgetting_quality(example_epsilons(first, second)):.2f}" if enough else "-",
        f"{most_provable(models, 0.0):.1f}",
    ]


def few_models(root: Path) -> str:
    """What the fewest models of the table can see, in words."""
    models = _COUNTS[0]
    return f"with {models} a world, no shift below {smallest_shift(models, models):.1f} standard deviations"


def few_seeds(root: Path) -> str:
    """The same of a table with so many seeds, in words."""
    models = _COUNTS[0]
    return f"{models} seeds see no shift of margins below {smallest_shift(models, models):.1f} standard deviations"


def allowed_auc(root: Path) -> str:
    """Which AUC a promise that is kept still allows, against retraining and between twins.

    Noise that hides Psi up to mu sigma leaves two Gaussians mu standard deviations apart: AUC = Phi(mu / sqrt(2)).
    Each twin's world may be that far from retraining, so that the two may be twice as far from each other.
    """
    words = []
    for epsilon, delta in _PROMISES:
        mu = largest_ratio(epsilon, delta, "analytic")
        one, both = (float(norm.cdf(times * mu / 2**0.5)) for times in (1, 2))
        words.append(f"({epsilon:g}, {delta:g}) allows {one:.3f} against retraining and {both:.3f} between twins")
    return "; ".join(words)


def power_has(root: Path, run: Published) -> str:
    """The metrics of each stored table `power`, and which it was made without, as they were added later."""
    rows = read_tables(_stored(run, "power"), POWER)
    found = [_metrics_of(root, str(name), own) for name, own in rows.groupby("scenario")]
    return "; ".join(found) or "none has been made yet"


def kept_tables(root: Path, run: Published) -> str:
    """The tables of the stage `forgetting` that are stored, scenario by scenario."""
    places = [path.relative_to(run.folder) for path in _stored(run, "*")]
    titles = {name: one.label for name, one in scenarios(root).items()}
    found = {place.parts[1]: [one.stem for one in places if one.parts[1] == place.parts[1]] for place in places}
    words = [
        f"{', '.join(f'`{name}`' for name in dict.fromkeys(names))} of {titles[at]}" for at, names in found.items()
    ]
    return "; ".join(words) or "no table of this stage"


def _stored(run: Published, table: str) -> list[Path]:
    """The files of a table of the stage `forgetting`, made of the packed ones."""
    unpack(run.folder)
    return sorted(run.folder.glob(f"forgetting/*/*/{table}.parquet"))


def kept_margins(root: Path) -> str:
    """The largest table `client_margins` that is published."""
    return f"{LARGEST['forgetting/client_margins'] / 2**20:g} MiB"


def _metrics_of(root: Path, scenario: str, rows: pd.DataFrame) -> str:
    there, planned = set(rows["metric"]), [name for name in NEEDS if name in (*SCORES, TWINS, WORST)]
    found, lack = ([NEEDS[name].name for name in planned if (name in there) is wanted] for wanted in (True, False))
    without = f" (without {', '.join(lack)})" if lack else ""
    return f"{scenarios(root)[scenario].label}: {', '.join(found)}{without}"


def low_rates(root: Path) -> str:
    """The false-alarm rates at which hits are counted."""
    return " and ".join(f"{rate:g}" for rate in LOW_RATES)
