"""What people read of many models: the table, the column of the methods' table, and the line of the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sifu.forgetting.twins import NOTHING, SOMETHING, UNSURE, Share
from sifu.forgetting.verdict import verdict
from sifu.report.forgetting import COLUMN, MORE, by_the_rule, forgetting_table, forgotten_line
from sifu.report.forgetting_attacks import HITS
from sifu.report.forgetting_words import CAPTION, COLUMNS, INTRODUCTION, MORE_CAPTION
from sifu.store.forgetting_schemas import DISTANCES, FORGETTING

LABELS = {"scratch": "Scratch", "sifu": "SIFU"}


def row(variant: str, twins: float, forgotten: str, client: int = -1, **more: Any) -> dict[str, Any]:
    numbers = {"models": 100, "retrain_auc": 0.9, "retrain_null": 0.058, "remaining_auc": 0.7, "twins_auc": twins}
    numbers |= {
        "twins_null": 0.041,
        "original_auc": 0.99,
        "placebo_auc": 0.47,
        "placebo_null": 0.058,
        "retrain_p": 0.005,
        "paired_p": 0.001,
        "remaining_told": 0.25,
        "twins_lira_auc": 0.88,
        "twins_shift": 1.59,
        "twins_lira_null": 0.058,
        "twins_lira_p": 0.015,
        "remaining_null": 0.058,
        "remaining_p": 0.02,
        "remaining_clients": 18,
        "client_models": 100,
        "twin_models": 101,
        "reached": 100,
        "retrain_hits_1": 86,
        "retrain_alarms_1": 1,
        "retrain_hits_01": 40,
        "retrain_alarms_01": 0,
        "remaining_hits_1": 36,
        "remaining_alarms_1": 18,
        "remaining_hits_01": 3,
        "remaining_alarms_01": 1,
        "twins_lira_hits_1": 70,
        "twins_lira_alarms_1": 1,
        "twins_lira_hits_01": 20,
        "twins_lira_alarms_01": 0,
        "lowest_auc": 0.81,
        "pair_auc": 0.93,
        "pair_p": 0.01,
        "share": 0.25,
        "share_low": 0.1,
    }
    key = {"scenario": "digits", "variant": variant, "request": 1, "client": client}
    return key | numbers | {"share_high": 0.4, "forgotten": forgotten} | more


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[column.name for column in FORGETTING.columns])


NO_DISTANCES = pd.DataFrame([], columns=[column.name for column in DISTANCES.columns])
ROWS = frame(
    row("sifu", 0.87, "no"),
    row("sifu", 0.61, "cannot tell", client=3),
    row("scratch", 0.48, "yes"),
    row("original", 0.99, "no", share=None),
)


def test_a_row_a_method_with_every_null_next_to_its_number() -> None:
    key = {"scenario": "digits", "request": 1, "models": 100}
    klom = key | {"metric": "klom", "subset": "forget", "enough": False, "mean": 1.5, "null_mean": 0.34}
    worst = key | {"metric": "worst_decile_drop", "subset": "retain", "enough": True, "mean": 0.4, "null_mean": -0.001}
    worst |= {"null_deviation": 0.02}
    close = klom | {"metric": "jensen_shannon", "enough": True, "mean": 0.2, "null_deviation": 0.0004}
    far = [row | {"variant": name} for name in ("sifu", "scratch") for row in (klom | {"p_value": 0.048}, worst, close)]
    distances = pd.DataFrame(far, columns=[column.name for column in DISTANCES.columns])
    table = forgetting_table(ROWS, distances, LABELS).set_index("method")
    assert list(table.index) == ["Original", "Scratch", "SIFU"]  # single clients are in the Parquet table
    sifu = table.loc["SIFU"]
    assert sifu["told from retraining"] == "0.90 (null 0.50 +- 0.06, p 0.005)"
    assert [sifu["paired p"], sifu["on remaining clients"]] == [
        "0.001",
        "0.70 (null 0.50 +- 0.06, p 0.020, 25% told apart)",
    ]
    assert sifu["U-LiRA by twins"] == "0.88 (null 0.50 +- 0.06, p 0.015)"
    assert sifu["worst decile drop"] == "0.40 (null 0.00 +- 0.02)"
    assert [sifu["by twins"], sifu["null"], sifu[COLUMN]] == ["0.87", "0.50 +- 0.04", "no"]
    assert table["half against half"].tolist() == ["0.47 (null 0.50 +- 0.06)", "-", "-"]  # one training, one placebo
    assert sifu["shift"] == "1.6"
    assert sifu["share forgotten"] == "0.25 [0.10, 0.40]"
    assert sifu["KLOM"] == "1.50 (null 0.34, p 0.048, few models)"  # a table from before the deviation was noted
    assert sifu[list(MORE)].tolist() == [
        "86 of 100 at 1 of 101 (1%); 40 of 100 at 0 of 101 (0.1%)",
        "-",  # no counts with the model before
        "36 of 1,800 at 18 of 1,818 (1%); 3 of 1,800 at 1 of 1,818 (0.1%)",  # 18 remaining clients a model
        "70 of 100 at 1 of 101 (1%); 20 of 100 at 0 of 101 (0.1%)",
        *("0.81", "0.93 (p 0.010)"),
        *("-", "-", "0.20 (null 0.34 +- 0.0004)"),
    ]
    assert table.loc["Original", "share forgotten"] == table.loc["Original", "KLOM"] == "-"
    assert forgetting_table(frame(), distances, LABELS).empty


def test_an_earlier_table_has_dashes_where_nothing_was_noted() -> None:
    """Its counts are of the models of the smaller world."""
    later = {column.name: None for column in FORGETTING.columns if column.later}
    (found,) = forgetting_table(frame(row("sifu", 0.87, "no", **later)), NO_DISTANCES, LABELS).to_dict("records")
    assert [found[name] for name in HITS] == ["86 of 100 at 1 of 100 (1%); 40 of 100 at 0 of 100 (0.1%)", "-", "-", "-"]
    assert [found["U-LiRA by twins"], found["on remaining clients"]] == ["0.88", "0.70 (25% told apart)"]


@pytest.mark.parametrize(
    ("bound", "seeds", "left_out", "wanted"),
    [
        ("=", 12, 0, "0.50 [0.40, 0.60]"),
        (">=", 8, 4, ">= 0.50 [0.40, 0.60] (8 of 12 seeds)"),
        (None, 1, 11, "- (1 of 12 seeds)"),
        (None, None, None, "-"),
    ],
)
def test_relearn_time_says_what_it_left_out(bound: str, seeds: int, left_out: int, wanted: str) -> None:
    ratio = {"relearn": 0.5, "relearn_low": 0.4, "relearn_high": 0.6} if bound else {}
    counted = {"relearn_bound": bound, "relearn_seeds": seeds, "relearn_left_out": left_out}
    rows = frame(row("sifu", 0.87, "no", **ratio, **counted))
    assert forgetting_table(rows, NO_DISTANCES, LABELS)["relearn time"].tolist() == [wanted]


def test_below_a_half_a_method_has_gone_too_far() -> None:
    """Also in the line of a run and in the methods' table. A "yes" or "cannot tell" below a half is chance."""
    rows = frame(row("sifu", 0.01, "no"), row("scratch", 0.48, "yes"))
    assert list(forgetting_table(rows, NO_DISTANCES, LABELS)[COLUMN]) == ["yes", "no (overshot)"]
    line = forgotten_line(rows, LABELS)
    assert line is not None
    assert line.endswith("Scratch 0.48 (yes); SIFU 0.01 (no (overshot)).")


def test_where_most_models_miss_the_target_the_answer_says_so() -> None:
    rows = frame(row("sifu", 0.5, "cannot tell", reached=49), row("scratch", 0.5, "cannot tell", reached=50))
    assert list(forgetting_table(rows, NO_DISTANCES, LABELS)[COLUMN]) == ["cannot tell", "cannot tell (target missed)"]


def test_a_row_without_numbers_says_so() -> None:
    """Too few models of a method are left: it is in the table, and cannot tell."""
    key = {"scenario": "digits", "variant": "sifu", "request": 1, "client": -1, "models": 2}
    (found,) = forgetting_table(frame(key | {"forgotten": "cannot tell"}), NO_DISTANCES, LABELS).to_dict("records")
    assert [found["models a world"], found[COLUMN]] == [2, "cannot tell"]
    assert {value for name, value in found.items() if name not in (*key, "method", "models a world", COLUMN)} == {"-"}


def test_the_line_of_a_run() -> None:
    assert forgotten_line(frame(), LABELS) is None
    few = ROWS[ROWS["variant"] == ROWS["variant"].iloc[0]].assign(scenario="a scenario with fewer methods")
    assert forgotten_line(pd.concat([few, ROWS]), LABELS) == forgotten_line(ROWS, LABELS)
    assert forgotten_line(ROWS, LABELS) == (
        "Was the client forgotten? AUC by twins, 100 models a world (null 0.50 +- 0.04; original 0.99): "
        "Scratch 0.48 (yes); SIFU 0.87 (no)."
    )


def test_the_line_is_of_one_scenario_and_its_own_original() -> None:
    """The second scenario has an earlier request; the first rows are of a method with a training of its own."""
    private = {"variant": "dp", "original_auc": 0.7}
    own = [row("original of dp", 0.7, "no") | private | {"variant": "original of dp"}, row("dp", 0.6, "no") | private]
    rows = [one | {"request": 2} for one in (*own, row("sifu", 0.87, "no"))]
    line = forgotten_line(frame(*rows, row("sifu", 0.5, "yes") | {"scenario": "other"}), LABELS | {"dp": "DP"})
    assert line is not None
    assert "original 0.99): SIFU 0.87 (no); DP 0.60 (no)." in line
    assert forgotten_line(frame(row("original", 0.9, "no")), LABELS) is None
    assert forgotten_line(frame(row("sifu", np.nan, "cannot tell")), LABELS) is None


@pytest.mark.parametrize(
    ("value", "low", "high", "note", "wanted"),
    [
        (0.64, 0.9, 1.1, SOMETHING, "no"),  # 0.14 above a half: more than 3 x 0.04
        (0.36, 0.9, 1.1, SOMETHING, "no"),  # as far below: the model tells the twins apart all the same
        (0.43, 0.8, 1.2, SOMETHING, "yes"),  # 0.07 are 1.75 deviations
        (0.6, 0.9, 1.1, SOMETHING, "cannot tell"),  # 2.5 deviations: neither within two nor beyond three
        (0.5, 0.7, 1.1, SOMETHING, "cannot tell"),  # within the null, but 30% of the memory may be left
        (0.43, 0.9, 1.21, SOMETHING, "cannot tell"),  # or it may have turned its sign
        (0.5, -np.inf, np.inf, UNSURE, "cannot tell"),  # the original may have known something
        (0.5, -np.inf, np.inf, NOTHING, "nothing to forget"),
        (0.9, -np.inf, np.inf, NOTHING, "no"),  # the method itself remembers, whatever the original's test says
    ],
)
def test_the_verdict(value: float, low: float, high: float, note: str, wanted: str) -> None:
    share = Share(1.0, low, high, note)
    assert verdict(value, 0.04, share, enough=True) == wanted
    assert verdict(value, 0.04, share, enough=False) == ("cannot tell" if wanted == "yes" else wanted)


def test_every_column_is_explained_and_in_the_order_of_the_table() -> None:
    columns = list(forgetting_table(ROWS, NO_DISTANCES, LABELS))
    assert columns == ["scenario", "method", "request", "models a world", *COLUMNS, *MORE]
    assert all(f"`{name}`" in MORE_CAPTION for name in MORE)
    assert all(f"`{name}`: " in CAPTION for name in COLUMNS)
    assert CAPTION.startswith(INTRODUCTION)
    assert "`" not in INTRODUCTION, "no definitions in the introduction"


def test_an_earlier_table_is_read_by_the_rule_of_today() -> None:
    """Both ends of the share count; other answers stay, with a share or without."""
    close = {"share_low": 0.85, "share_high": 1.15}
    rows = frame(
        row("sifu", 0.5, "yes", **close),
        row("scratch", 0.46, "yes", **(close | {"share_high": 1.21})),
        row("last", 0.01, "no", share_low=1.9, share_high=2.0),
        row("original", 0.5, "nothing to forget", share_low=None, share_high=None),
    )
    assert by_the_rule(rows)["forgotten"].tolist() == ["yes", "cannot tell", "no", "nothing to forget"]
    assert by_the_rule(frame()).empty
