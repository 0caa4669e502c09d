"""What is forgotten, from twelve models a world: both questions, their p-values, power, and what has no answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from sifu.forgetting.twins import Share, TwinTest
from sifu.report.power import power_table
from sifu.stages.forgetting import run_forgetting
from sifu.stages.two_questions import _twin_columns
from sifu.store.forgetting_schemas import DISTANCES, FORGETTING, POWER
from sifu.store.margins import MarginFiles
from sifu.store.oracle_schemas import CLIENT_MARGINS, MARGINS, POINTS
from sifu.store.parquet import read_table, write_table
from sifu.store.provenance import provenance
from tests import reference_forgetting as plain
from tests.unit.stages.tiny_oracles import VARIANTS, Made, tiny_oracles


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return tiny_oracles(tmp_path_factory)


def test_the_two_questions_are_answered(made: Made) -> None:
    """Twelve models see the original (10 images a client, 5 rounds of all but two): three deviations are 0.36. Of what
    is at its null they say nothing: test_columns.py has the numbers, and test_oracles_long.py two hundred models.
    """
    table = read_table(made.file("forgetting", "s000-011", "forgetting"), FORGETTING)
    assert set(table["variant"]) == {"original", *VARIANTS}
    assert set(table.loc[table["request"] == 1, "client"]) == {-1, 2, 3}
    rows = table[(table["client"] == -1) & (table["request"] == 1)].set_index("variant")
    null = rows.loc["scratch", "twins_null"]
    assert null == pytest.approx(np.sqrt(25 / (12 * 12 * 12)))  # sqrt((2 N + 1) / (12 N^2)), N = 12
    assert rows.loc["scratch", "placebo_null"] == pytest.approx(np.sqrt(13 / (12 * 6 * 6)))  # half against half: N = 6
    assert rows.loc["original", "twins_auc"] > 0.5 + 3 * null
    assert rows.loc["original", "forgotten"] == "no"
    assert rows.loc["original", "share"] == 0
    games = rows.loc["original", ["ruli_privacy", "ruli_efficacy"]]  # nothing was unlearned: both games are the same
    assert games.nunique() == 1
    assert games.iloc[0] > 0.5 + 3 * rows.loc["original", "ruli_null"] / np.sqrt(2)  # the mean of two folds
    assert rows.loc["original", "twins_lira_auc"] > 0.9
    distances = read_table(made.file("forgetting", "s000-011", "distances"), DISTANCES)
    klom = distances[(distances["metric"] == "klom") & (distances["variant"] == "scratch")]
    assert (klom["null_mean"] > 1).all()  # few models: KLOM measures their number, and says so
    assert not klom["enough"].any()


def test_every_client_has_p_values_and_the_worst_of_the_remaining_a_row(made: Made) -> None:
    """The original knew clients 2 and 3; four clients remain. Scratch is its own pair: nothing can differ."""
    table = read_table(made.file("forgetting", "s000-011", "forgetting"), FORGETTING)
    rows = table[table["request"] == 1].set_index(["variant", "client"])
    assert rows.loc[("scratch", -1), ["paired_auc", "paired_p", "remaining_told"]].tolist() == [0.5, 1, 0]
    assert rows.loc[("original", -1), "paired_p"] == 1 / 1000, "none of 999 permutations of the pairs is as far"
    assert rows.loc[("original", -1), "retrain_p"] < 0.05 < rows.loc[("scratch", -1), "retrain_p"]
    assert rows.loc[("original", -1), "lowest_auc"] > 0.9
    single = rows.loc["original"].loc[[2, 3]]
    assert (single["paired_adjusted"] >= single["paired_p"]).all()
    assert rows.xs(-1, level="client")["paired_adjusted"].isna().all()
    distances = read_table(made.file("forgetting", "s000-011", "distances"), DISTANCES)
    worst = distances[(distances["metric"] == "worst_decile_drop") & (distances["request"] == 1)].set_index("variant")
    assert set(worst["subset"]) == {"retain"}
    assert worst.loc["scratch", "p_value"] > 0.05
    wanted = [worst_margin(made, *which) for which in (("scratch", "twin"), ("original", "client"))]
    assert worst.loc["original", "mean"] == pytest.approx(wanted[0] - wanted[1])


def worst_margin(made: Made, variant: str, world: str) -> float:
    """Of clients 0, 1, 4 and 5 the lowest mean margin in each model, averaged: by loops."""
    points = read_table(made.file("oracles", "s000-011", "points"), POINTS)
    models = MarginFiles([made.file("oracles", "s000-011", "margins")]).models(variant, 1, world)
    places = [points.index[(points["owner"] == "client") & (points["client"] == one)].tolist() for one in (0, 1, 4, 5)]
    return float(np.mean([min(row[own].astype(float).mean() for own in places) for row in models.margins]))


def test_the_twin_test_can_be_repeated_from_the_published_means(made: Made) -> None:
    """The AUC of all clients together, pair by pair: by how many pairs of models the difference is larger where the
    clients took part. The means are stored in single precision.
    """
    rows = read_table(made.file("forgetting", "s000-011", "client_margins"), CLIENT_MARGINS)
    assert set(rows["seed"]) == set(range(12))
    told = read_table(made.file("forgetting", "s000-011", "forgetting"), FORGETTING)
    told = told.set_index(["variant", "request", "client"])
    for (variant, request), own in rows.groupby(["variant", "request"]):
        differences = (own["own"] - own["twin"]).groupby([own["world"], own["seed"]]).mean()
        found = plain.auc(list(differences["client"]), list(differences["twin"]))
        assert told.loc[(variant, request, -1), "twins_auc"] == pytest.approx(found)
    assert told["twins_auc"].nunique() > 8, "variants, requests and clients have numbers of their own"


def test_power_is_measured_with_the_oracles_of_both_worlds(made: Made) -> None:
    """24 oracles: two sets of ten. The formula for an AUC of ten and ten says 1.56; draws of 24 differ from it."""
    rows = read_table(made.file("forgetting", "s000-011", "power"), POWER)
    usual = {
        "auc",
        "u_lira",
        "klom",
        "gaussian_kl",
        "jensen_shannon",
        "accuracy",
        "disagreement",
        "twins",
        "worst_decile",
    }
    assert set(rows["metric"]) == usual  # no slow one with few models
    assert set(rows["models"]) == {10}
    assert set(rows["oracles"]) == {24}
    effect = rows[rows["request"] == 1].set_index("metric")["effect"]
    assert effect["auc"] == pytest.approx(1.56, rel=0.5)
    shown = power_table(rows)
    assert list(shown.columns[:3]) == ["scenario", "request", "models a world"]
    assert shown["AUC"].iloc[0] == f"{effect['auc']:.2f}"
    assert power_table(rows.iloc[:0]).empty


@pytest.mark.second
def test_a_method_that_diverges_leaves_the_others_their_rows(made: Made, tmp_path: Path) -> None:
    """No model of sifu is left, and three of blurred_scratch, one of them without numbers: both lose their numbers."""
    path, source = tmp_path / "models" / "margins.parquet", made.file("oracles", "s000-011", "margins")
    table = pq.read_table(source).to_pandas()
    gone = (table["variant"] == "sifu") | ((table["variant"] == "blurred_scratch") & (table["seed"] >= 3))
    table.loc[gone, "status"] = "diverged"
    broken = (table["variant"] == "blurred_scratch") & (table["seed"] == 0)
    table.loc[broken, "margins"] = table.loc[broken, "margins"].map(lambda values: values * np.float16(np.nan))
    write_table(path, MARGINS, table, provenance("oracles", {}, "", "cpu"), row_group_size=1)
    (path.parent / "points.parquet").write_bytes(source.with_name("points.parquet").read_bytes())
    run_forgetting("tiny", [path.parent], tmp_path / "found", provenance("forgetting", {}, "", "cpu"))
    rows = read_table(tmp_path / "found" / "forgetting.parquet", FORGETTING)
    whole = read_table(made.file("forgetting", "s000-011", "forgetting"), FORGETTING)
    kept = ["original", "scratch"]
    same = (one[one["variant"].isin(kept)].astype({"variant": str}).reset_index(drop=True) for one in (rows, whole))
    pd.testing.assert_frame_equal(*same, check_dtype=False)  # counts with nulls are read as floats
    lost = rows[~rows["variant"].isin(kept)]
    assert lost.groupby("variant")["models"].unique().map(list).to_dict() == {"blurred_scratch": [2], "sifu": [0]}
    assert lost["twins_auc"].isna().all()
    assert set(lost["forgotten"]) == {"cannot tell"}
    distances = read_table(tmp_path / "found" / "distances.parquet", DISTANCES)
    assert distances.groupby("variant")["mean"].count().gt(0).to_dict() == {
        "blurred_scratch": False,
        "original": True,
        "scratch": True,
        "sifu": False,
    }


@pytest.mark.parametrize(("there", "said"), [(True, "yes"), (False, "cannot tell")])
def test_what_missed_the_target_is_not_called_forgotten(there: bool, said: str) -> None:
    """An AUC at its null, of enough models, with all of the share gone: noise alone does that, too."""
    zeros = np.zeros(1)
    test = TwinTest(zeros + 0.5, 0.5, zeros, 0.04, (100, 100), True)
    assert _twin_columns(test, test, Share(1.0, 0.9, 1.1, ""), 0, there=there)["forgotten"] == said
