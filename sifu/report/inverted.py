"""What accuracy does not show: models that know forgotten clients' images when these are inverted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sifu.report.grades import FAR
from sifu.report.statistics import REFERENCE, bootstrap_intervals, student_interval

CAPTION = (
    "Accuracy on the images of the clients of each request, and on the same images inverted (minus the normalised "
    "ones), after recovery to the target: mean and its 95% bootstrap interval over the seeds in which the method and "
    "scratch reached the target; of what is compared with scratch's in the same seed, for up to 10 seeds, also "
    "Student's after `t`. NoT negates the weights of the first layer, so that right after it the model answers an "
    "inverted image as the old model answers the image. Next to scratch and NoT the table has every method that is no "
    f"more than {FAR:g} above scratch on the images, but on inverted ones clearly is (with its whole intervals) after "
    "some request. It is a sign, no proof, of what is remembered: a model that was trained again without the clients, "
    "but by other steps (rapid retraining), may have it, too."
)
COLUMNS = ("scenario", "method", "request", "seeds", "forget accuracy", "on inverted images", "above scratch")
NEGATION = "negation"  # the method
_KEY = ["scenario", "variant", "request"]


class Knows(NamedTuple):
    """What the models of a variant know after a request, on images and on inverted ones. [seeds] each"""

    scenario: str
    variant: str
    request: int
    accuracy: NDArray[np.float64]
    inverted: NDArray[np.float64]
    above: NDArray[np.float64]  # `inverted`, less scratch's in the same seed
    stands_out: bool  # accuracy does not show it, inverted images do


def known_inverted(cells: pd.DataFrame, metrics: pd.DataFrame) -> list[Knows]:
    """Every variant after every request to the target, in seeds in which it and scratch reached it."""
    if metrics.empty:
        return []
    rows = _wide(cells, metrics)
    scratch = rows[rows["variant"] == REFERENCE].drop(columns="variant")
    both = rows.merge(scratch, on=["scenario", "request", "seed"], suffixes=("", "_scratch"))
    return [_knows(key, group.sort_values("seed")) for key, group in both.groupby(_KEY)]


def _wide(cells: pd.DataFrame, metrics: pd.DataFrame) -> pd.DataFrame:
    """A row a seed that reached the target, with both accuracies on the clients of the request."""
    done = cells[(cells["stop"] == "target") & (cells["status"] == "done")][[*_KEY, "seed"]]
    part = metrics[(metrics["stop"] == "target") & (metrics["subset"] == "forget")]
    part = part[part["metric"].isin(["accuracy", "inverted_accuracy"])]
    wide = part.pivot_table(index=[*_KEY, "seed"], columns="metric", values="value").reset_index()
    wide = wide.reindex(columns=[*_KEY, "seed", "accuracy", "inverted_accuracy"]).dropna()
    return wide.merge(done, on=[*_KEY, "seed"])


def _knows(key: Any, rows: pd.DataFrame) -> Knows:
    accuracy, inverted = (rows[name].to_numpy(float) for name in ("accuracy", "inverted_accuracy"))
    above = inverted - rows["inverted_accuracy_scratch"].to_numpy(float)
    close = accuracy.mean() - rows["accuracy_scratch"].mean() <= FAR
    lowest = min(low for low, _ in _intervals(above))
    scenario, variant, request = key
    return Knows(scenario, variant, request, accuracy, inverted, above, bool(close and lowest > FAR))


def inverted_table(found: list[Knows], labels: dict[str, str], methods: dict[str, str]) -> pd.DataFrame:
    """A row a method and request: scratch, NoT, and what stands out; of scenarios that have one of the latter two."""
    wanted = {(one.scenario, one.variant) for one in found if one.stands_out or methods.get(one.variant) == NEGATION}
    wanted |= {(scenario, REFERENCE) for scenario, _ in wanted}
    order = {name: place for place, name in enumerate(labels)}
    shown = [one for one in found if (one.scenario, one.variant) in wanted and one.variant in order]
    shown.sort(key=lambda one: (one.scenario, one.variant != REFERENCE, order[one.variant], one.request))
    rows = [[one.scenario, labels[one.variant], str(one.request), *_numbers(one)] for one in shown]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _numbers(one: Knows) -> list[str]:
    above = "" if one.variant == REFERENCE else _text(one.above, few=True)
    return [str(len(one.above)), _text(one.accuracy), _text(one.inverted), above]


def inverted_finding(found: list[Knows], scenario: str, labels: dict[str, str]) -> str | None:
    """Sentences on the methods that stand out after the first request; None where none does."""
    first = {one.variant: one for one in found if one.scenario == scenario and one.request == 1}
    out = [(first[name], label) for name, label in labels.items() if name in first and first[name].stands_out]
    if not out:
        return None
    words = "; ".join(f"{label} {one.inverted.mean():.2f}" for one, label in out)
    scratch = first[REFERENCE].inverted.mean()
    return (
        "accuracy on the first forgotten clients' images does not show what the same images inverted do. On these "
        f"scratch has {scratch:.2f}, and {words}."
    )


def _intervals(values: NDArray[np.float64]) -> list[tuple[float, float]]:
    """The bootstrap's, and Student's where there are few seeds."""
    few = student_interval(values)
    return [*bootstrap_intervals([values]), *([few] if few else [])]


def _text(values: NDArray[np.float64], *, few: bool = False) -> str:
    ends = [f"{low:.3f}, {high:.3f}" for low, high in _intervals(values)]
    shown = ends if few and len(values) > 1 else ends[:1]  # of one seed Student's has no ends
    return f"{values.mean():.3f} [{'; t '.join(shown)}]"
