"""Who knows inverted images, from numbers on paper."""

from __future__ import annotations

import pandas as pd

from sifu.report.inverted import inverted_finding, inverted_table, known_inverted

LABELS = {"scratch": "Scratch", "original": "Original", "negation": "NoT", "sub": "Subtract", "tuned": "Fine-tuning"}
METHODS = {"negation": "negation", "sub": "subtract_and_distil", "tuned": "fine_tuning"}
# accuracy and that on inverted images, of seeds 0 and 1
KNOWN = {
    "scratch": ((0.0, 0.0), (0.1, 0.1)),
    "negation": ((0.0, 0.0), (0.9, 0.9)),
    "sub": ((0.0, 0.1), (0.6, 0.6)),
    "tuned": ((0.9, 0.9), (0.5, 0.5)),  # accuracy shows it
}


def tables(known: dict[str, tuple[tuple[float, ...], ...]] = KNOWN, **status: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cells and metrics of one request. `status`: how seed 1 of a variant ended."""
    cells, metrics = [], []
    for variant, parts in known.items():
        for seed in (0, 1):
            key = {"scenario": "s", "variant": variant, "stop": "target", "seed": seed, "request": 1}
            cells.append(key | {"status": status.get(variant, "done") if seed else "done"})
            for metric, values in zip(("accuracy", "inverted_accuracy"), parts, strict=True):
                metrics.append(key | {"metric": metric, "subset": "forget", "value": values[seed]})
    return pd.DataFrame(cells), pd.DataFrame(metrics)


def test_what_accuracy_does_not_show_stands_out() -> None:
    """Subtract is 0.05 above scratch on the images and 0.5 on inverted ones. Fine-tuning is 0.9 above on the images."""
    found = known_inverted(*tables())
    assert {one.variant for one in found if one.stands_out} == {"negation", "sub"}
    table = inverted_table(found, LABELS, METHODS)
    assert table["method"].tolist() == ["Scratch", "NoT", "Subtract"]
    assert table.iloc[1].tolist() == [
        *("s", "NoT", "1", "2", "0.000 [0.000, 0.000]", "0.900 [0.900, 0.900]"),
        "0.800 [0.800, 0.800; t 0.800, 0.800]",
    ]
    assert inverted_finding(found, "s", LABELS) == (
        "accuracy on the first forgotten clients' images does not show what the same images inverted do. On these "
        "scratch has 0.10, and NoT 0.90; Subtract 0.60."
    )


def test_intervals_decide() -> None:
    """0.2 and 1.0 above: 0.6 in the mean, but Student's interval of two seeds reaches below 0. NoT is shown anyway."""
    found = known_inverted(*tables(KNOWN | {"negation": ((0.0, 0.0), (0.3, 1.1)), "sub": ((0.0, 0.0), (0.3, 1.1))}))
    assert not any(one.stands_out for one in found)
    assert inverted_table(found, LABELS, METHODS)["method"].tolist() == ["Scratch", "NoT"]
    assert inverted_finding(found, "s", LABELS) is None


def test_only_seeds_at_the_target_count() -> None:
    found = known_inverted(*tables(negation="not_reached"))
    assert {one.variant: len(one.above) for one in found} == {"scratch": 2, "negation": 1, "sub": 2, "tuned": 2}
    nothing = known_inverted(*(table.iloc[:0] for table in tables()))
    assert inverted_table(nothing, LABELS, METHODS).empty
