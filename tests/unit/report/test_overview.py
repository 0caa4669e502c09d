"""What the overview says of each method, and what its bars and grades are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from sifu.report.figures import overview
from sifu.report.figures.overview_rows import MAX_METHODS
from sifu.report.frontier import frontier as frontier_table
from sifu.report.grades import BY_ACCURACY, FORGOTTEN, by_twins, grade
from sifu.report.results import Results
from sifu.report.standings import standings
from sifu.report.statistics import long_form
from sifu.report.totals import request_totals
from sifu.store.schemas import CELLS
from tests.unit.report.plain_results import plain_results

RETAINED = 0.95  # accuracy of all models on the remaining clients


def answers(**variants: list[tuple[float, float, str]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cells and metrics of scenario s: of each variant the steps, accuracy on the forgotten and status of its seeds,
    over two requests of which only the second may fall short of the target.
    """
    cells, metrics = [], []
    for variant, seeds in variants.items():
        for seed, (steps, accuracy, status) in enumerate(seeds):
            for request in (1, 2):
                key = {"scenario": "s", "variant": variant, "stop": "target", "seed": seed, "request": request}
                ended = status if request == 2 or status == "refused" else "done"
                promise = dict.fromkeys(("claimed_epsilon", "claimed_delta"))
                cells.append(key | {"client_steps": steps / 2, "spare_steps": None, "status": ended} | promise)
                values = {"forgotten": accuracy, "retain": RETAINED}
                metrics += [key | {"metric": "accuracy", "subset": name, "value": v} for name, v in values.items()]
    return pd.DataFrame(cells), pd.DataFrame(metrics)


def overview_of(
    labels: dict[str, str], twins: Sequence[tuple[object, ...]] = (), **variants: list[tuple[float, float, str]]
) -> list[str]:
    """The words next to the bars, and in place of them, from top to bottom; `twins`: rows of the twin test."""
    source = plain_results(labels)
    source.__dict__["cells"], source.__dict__["metrics"] = answers(**variants)
    source.__dict__["forgetting"] = pd.DataFrame(
        twins, columns=["scenario", "variant", "forgotten", "client", "twins_auc"]
    )
    (axis,) = overview.draw(source).axes
    return [text.get_text() for text in axis.texts]


SCRATCH = [(100.0, 0.2, "done"), (200.0, 0.2, "done")]


def source_of(labels: dict[str, str], **variants: list[tuple[float, float, str]]) -> Results:
    """The same of one scenario without a twin test."""
    source = plain_results(labels)
    source.__dict__["cells"], source.__dict__["metrics"] = answers(**variants)
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    return source


def test_totals_are_ratios_seed_by_seed_over_all_requests() -> None:
    """50 / 100 and 50 / 200: 0.375 in the mean. A seed that fell short of the target counts in no mean of costs."""
    half = [(50.0, 0.3, "done"), (50.0, 0.2, "done")]
    short = [(50.0, 0.3, "done"), (1.0, 0.9, "not_reached")]
    found = request_totals(*answers(scratch=SCRATCH, half=half, short=short)).set_index("variant")
    assert found.loc["half", ["seeds", "recovered", "compared"]].tolist() == [2, 2, 2]
    assert found.loc["half", ["cost", "gap"]].tolist() == pytest.approx([0.375, 0.05])
    assert found.loc["short", ["seeds", "recovered", "compared"]].tolist() == [2, 1, 1]
    assert found.loc["short", ["cost", "gap", "gap_of_all"]].tolist() == pytest.approx([0.5, 0.1, 0.4])
    assert found.loc["scratch", ["cost", "gap"]].tolist() == [1.0, 0.0]


def test_spare_clients_of_the_training_are_paid_alike_everywhere() -> None:
    """10 spare steps with the first request: (25 + 10) / 50 and (25 + 10) / 100 of it, 60 / 100 and 60 / 200 of all."""
    cells, metrics = answers(scratch=SCRATCH, half=[(50.0, 0.3, "done"), (50.0, 0.2, "done")])
    first = (cells["variant"] == "half") & (cells["request"] == 1)
    cells["spare_steps"] = first * 10
    assert request_totals(cells, metrics).set_index("variant").loc["half", "cost"] == pytest.approx(0.45)
    whole = pd.DataFrame(cells, columns=[column.name for column in CELLS.columns])
    numbers = long_form(whole, metrics)
    half = numbers[(numbers["variant"] == "half") & (numbers["request"] == 1)].set_index("quantity")["value"]
    assert half["steps_to_scratch"].tolist() == [0.7, 0.35]
    assert half["speed_up"].tolist() == pytest.approx([1 / 0.7, 1 / 0.35])
    assert half["client_steps"].tolist() == [25, 25], "the table's own column is as it was"
    promised = whole.assign(claimed_epsilon=0.0, claimed_delta=0.0)
    table = frontier_table(promised, promised.iloc[:0]).set_index("variant")
    assert table.loc["half", "cost"] == pytest.approx(0.45)


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (0.0, "forgotten"),
        (0.03, "forgotten"),
        (0.04, "in part"),
        (0.1, "in part"),
        (0.11, "not forgotten"),
        (-0.03, "forgotten"),
        (-0.2, "less accurate than scratch"),
    ],
)
def test_forgetting_is_graded_by_the_gap_to_scratch(gap: float, words: str) -> None:
    assert grade(gap).words == words
    assert grade(gap, original=0.5).words == words
    assert grade(gap, original=0.1).words == "cannot tell"
    assert grade(float("nan")).words == "cannot tell"


def test_the_overview_says_what_each_bar_is() -> None:
    """A cost of 25% with scratch's accuracy, one of 400%, one that recovers from the first of two requests alone, one
    that is refused, one that did not forget; the original model has no bar.
    """
    found = overview_of(
        {name: name for name in ("scratch", "sifu", "fed_eraser", "last", "fed_accum", "fine_tuning", "original")},
        scratch=SCRATCH,
        sifu=[(25.0, 0.2, "done"), (50.0, 0.2, "done")],
        fed_eraser=[(400.0, 0.25, "done"), (800.0, 0.25, "done")],
        last=[(1.0, 0.0, "not_reached"), (1.0, 0.0, "diverged")],
        fed_accum=[(0.0, 0.0, "refused"), (0.0, 0.0, "refused")],
        fine_tuning=[(10.0, 0.9, "done"), (20.0, 0.9, "done")],
        original=[(0.0, 0.95, "not_reached"), (0.0, 0.95, "not_reached")],
    )
    assert found == ["100% ✓", "25% (✓)", "400% ~", "only some requests", "refuses this scenario", "10% ✗"]


def test_a_method_that_recovers_from_some_requests_does_not_never_recover() -> None:
    """Last recovers from the first request alone, in both seeds; FedAccum from none, as it explodes; nor DP, slow."""
    short = [(10.0, 0.2, "diverged"), (10.0, 0.2, "diverged")]
    cells, metrics = answers(scratch=SCRATCH, last=short, fed_accum=short, dp=short)
    cells.loc[cells["variant"] == "fed_accum", "status"] = "diverged"
    cells.loc[cells["variant"] == "dp", "status"] = ["diverged", *["not_reached"] * (sum(cells["variant"] == "dp") - 1)]
    source = plain_results({"scratch": "Scratch", "last": "Last", "fed_accum": "FedAccum", "dp": "DP"})
    source.__dict__["cells"], source.__dict__["metrics"] = cells, metrics
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    _, last, accum, slow = standings(source)
    assert (last.words, last.short_words) == (
        "recovers from all requests in 0 of 2 seeds",
        "only some requests",
    )
    assert (accum.words, accum.short_words) == ("diverges every time", "diverges every time")
    assert (slow.words, slow.short_words) == ("never recovers", "never recovers")


def test_a_long_bar_is_cut_off_and_marked() -> None:
    labels = {"scratch": "Scratch", "last": "Last"}
    source = plain_results(labels)
    source.__dict__["cells"], source.__dict__["metrics"] = answers(scratch=SCRATCH, last=[(300.0, 0.2, "done")] * 2)
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    (axis,) = overview.draw(source).axes
    widths = sorted(bar.get_width() for bars in axis.containers for bar in bars)  # type: ignore[attr-defined]
    assert widths == [1.0, overview.CUT]
    assert len([line for line in axis.lines if line.get_color() == "white"]) == 2


def test_accuracy_cannot_tell_where_the_original_model_is_as_accurate_as_scratch() -> None:
    untouched = [(0.0, 0.25, "not_reached"), (0.0, 0.25, "done")]
    labels = {"scratch": "Scratch", "original": "Original", "sifu": "SIFU"}
    found = overview_of(labels, scratch=SCRATCH, original=untouched, sifu=[(50.0, 0.2, "done"), (100.0, 0.2, "done")])
    assert found == ["100% ✓", "50% ?"], "scratch trained without the clients, whatever was measured"


@pytest.mark.parametrize(("forgotten", "sign"), [(0.84, "(✓)"), (0.86, "?")])
def test_without_the_original_model_its_gap_is_that_of_the_remaining_clients(forgotten: float, sign: str) -> None:
    """A model that forgot nobody has 0.95 on all clients: 0.11 or 0.09 more than scratch, and 0.1 is the limit."""
    rows = [(100.0, forgotten, "done"), (200.0, forgotten, "done")]
    assert overview_of({"scratch": "Scratch", "sifu": "SIFU"}, scratch=rows, sifu=rows) == ["100% ✓", f"100% {sign}"]


def test_one_seed_that_recovered_says_nothing_about_the_others() -> None:
    """One of three seeds recovered, with scratch's accuracy."""
    rows = [(1.0, 0.2, "done"), (1.0, 0.2, "not_reached"), (1.0, 0.2, "not_reached")]
    source = plain_results({"scratch": "Scratch", "last": "Last"})
    source.__dict__["cells"], source.__dict__["metrics"] = answers(scratch=[*SCRATCH, SCRATCH[0]], last=rows)
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    scratch, last = standings(source)
    assert (scratch.grade.words, last.grade.words) == ("forgotten", "cannot tell")


def test_a_bar_says_of_how_many_seeds_it_is_where_some_did_not_recover() -> None:
    """The second of two seeds fell short: 50% is the first one's."""
    rows = [(50.0, 0.2, "done"), (1.0, 0.2, "not_reached")]
    assert overview_of({"scratch": "Scratch", "sifu": "SIFU"}, scratch=SCRATCH, sifu=rows) == ["100% ✓", "50% (✓) 1/2"]


def test_a_method_that_is_not_planned_has_no_words() -> None:
    """All three were run on t. On s `last` is planned and was not run, and `puf` is not planned."""
    labels = {name: name for name in ("scratch", "last", "puf")}
    plan = replace(plain_results(labels).plan, titles={"s": "S", "t": "T"}, marks={"s": "plain", "t": "plain"})
    source = Results(replace(plan, variants={"s": ["scratch", "last"], "t": list(labels)}))
    tables = zip(answers(scratch=SCRATCH), answers(**dict.fromkeys(labels, SCRATCH)), strict=True)
    joined = [pd.concat([here, there.assign(scenario="t")]) for here, there in tables]
    source.__dict__["cells"], source.__dict__["metrics"] = joined
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    words = [[text.get_text() for text in axis.texts] for axis in overview.draw(source).axes]
    assert words == [["100% ✓", "not run"], ["100% ✓", "100% (✓)", "100% (✓)"]]


def test_the_overview_has_at_most_14_methods() -> None:
    labels = {"scratch": "Scratch"} | {f"v{number}": f"V{number}" for number in range(20)}
    found = overview_of(labels, **dict.fromkeys(labels, SCRATCH))
    assert len(found) == MAX_METHODS == 14


def test_the_twin_test_decides_where_it_was_made() -> None:
    """By accuracy SIFU forgot, by twins it did not: one request that is remembered is enough."""
    tests = [("s", "sifu", "yes", -1, 0.5), ("s", "sifu", "no", -1, 0.9), ("s", "sifu", "yes", 3, 0.5)]
    half = [(50.0, 0.2, "done"), (100.0, 0.2, "done")]
    labels = {"scratch": "Scratch", "sifu": "SIFU"}
    assert overview_of(labels, scratch=SCRATCH, sifu=half) == ["100% ✓", "50% (✓)"]
    assert overview_of(labels, tests, scratch=SCRATCH, sifu=half) == ["100% ✓", "50% ✗"]
    assert [by_twins(found).words for found in (["yes"], ["yes", "cannot tell"], ["nothing to forget"])] == [
        "forgotten",
        "cannot tell",
        "cannot tell",
    ]


def test_a_certificate_has_a_word_at_its_bar() -> None:
    """Noise of 1 hides Psi of 0.1 and not 10: kept, broken. FedEraser promises nothing."""
    words = certified_words(uncounted=[], sifu=0.1, last=10.0)
    assert words == ["100% ✓", "100% (✓)", "kept", "100% (✓)", "broken", "100% (✓)", "certificate"]


def test_a_certificate_that_nobody_planned_to_count_has_no_word() -> None:
    bars = ["100% ✓", *["100% (✓)"] * 3]
    assert certified_words(uncounted=["s"], sifu=None, last=None) == bars
    assert certified_words(uncounted=["other"], sifu=None, last=None) != bars, "planned, and not counted yet"
    assert "kept" in certified_words(uncounted=["s"], sifu=0.1, last=None), "counted all the same"


def test_the_key_tells_what_rests_on_accuracy_alone() -> None:
    """SIFU's bar is pale, with an edge, next to that of scratch; without it nothing has to be told apart."""
    found = {}
    for labels in ({"scratch": "Scratch"}, {"scratch": "Scratch", "sifu": "SIFU"}):
        figure = overview.draw(source_of(labels, **dict.fromkeys(labels, SCRATCH)))
        found[len(labels)] = [text.get_text() for text in figure.legends[0].get_texts()]
    hidden = Results(replace(plain_results(labels).plan, shown=["scratch"]))
    tables = vars(source_of(labels, **dict.fromkeys(labels, SCRATCH)))
    hidden.__dict__.update({name: tables[name] for name in ("cells", "metrics", "forgetting")})
    assert len(overview.draw(hidden).legends[0].get_texts()) == 1, "SIFU was run, and is not shown"
    assert found == {1: ["✓ forgotten"], 2: ["✓ forgotten (twin test, or exact)", "(✓) forgotten, by accuracy alone"]}
    scratch, sifu = (bar for bars in figure.axes[0].containers for bar in bars)  # type: ignore[attr-defined]
    assert [to_hex(bar.get_facecolor()) for bar in (scratch, sifu)] == [FORGOTTEN.colour.lower(), BY_ACCURACY.colour]
    assert to_hex(sifu.get_edgecolor()) == FORGOTTEN.colour.lower()


def test_what_trains_again_is_exact_without_a_count() -> None:
    """All three claim epsilon 0, and nothing was counted; a shard may have seen the client."""
    labels = {name: name for name in ("scratch", "blurred_scratch", "sharded")}
    source = plain_results(labels)
    cells, source.__dict__["metrics"] = answers(**dict.fromkeys(labels, SCRATCH))
    source.__dict__["cells"] = cells.assign(claimed_epsilon=0.0, claimed_delta=0.0, sigma=0.0, covers=1)
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    assert [row.certificate and row.certificate.worth for row in standings(source)] == ["exact", "exact", "not counted"]


def certified_words(uncounted: list[str], **psi_of: float | None) -> list[str]:
    """The words of a panel in which SIFU and Last promise something, with Psi as counted; None: it was not."""
    labels = {name: name for name in ("scratch", "sifu", "last", "fed_eraser")}
    source = Results(replace(plain_results(labels).plan, uncounted=uncounted))
    cells, source.__dict__["metrics"] = answers(**dict.fromkeys(labels, SCRATCH))
    psi = cells["variant"].map(psi_of).astype(float)
    counts = dict.fromkeys(("single_psi", "strict_psi", "everyone_psi"), psi)
    promised = cells["variant"].isin(["sifu", "last"]).map({True: 1.0, False: None})
    claim = {"claimed_epsilon": promised, "claimed_delta": promised * 0.01, "sigma": 1.0, "covers": 1}
    source.__dict__["cells"] = cells.assign(**counts, **claim)
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    (axis,) = overview.draw(source).axes
    return [text.get_text() for text in axis.texts]
