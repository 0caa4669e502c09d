"""Which variants were run on a dataset and tested by twins nowhere on it: a list of failures is silent about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

Cell = tuple[str, str]  # scenario, variant


def untested(ran: Iterable[Cell], tested: Set[Cell], datasets: Mapping[str, str]) -> dict[str, list[str]]:
    """By dataset with a twin test, the variants without one, in the order of `ran`; `datasets`: of each scenario."""
    known = {(datasets.get(scenario, scenario), variant) for scenario, variant in tested}
    found: dict[str, list[str]] = {name: [] for name, _ in sorted(known)}
    for scenario, variant in ran:
        dataset = datasets.get(scenario, scenario)
        if dataset in found and (dataset, variant) not in known:
            found[dataset].append(variant)
    return {name: list(dict.fromkeys(variants)) for name, variants in found.items() if variants}
