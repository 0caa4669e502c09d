"""Many models in two worlds: what is stored of them, and that blocks, order and worlds are what they say."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import yaml

from sifu.cli.main import main
from sifu.config.scenario import Scenario, refuse_moving
from sifu.core.keys import Keys
from sifu.data.test_set import cut_test_set
from sifu.errors import ConfigError, StoreError
from sifu.federation.first_training import train_from
from sifu.federation.shared_data import SharedEngine
from sifu.forgetting.twins import Share, TwinTest
from sifu.plan.load import load_scenario
from sifu.plan.variants import build_method
from sifu.report.power import power_table
from sifu.stages.block import Block
from sifu.stages.forgetting import run_forgetting
from sifu.stages.kept_margins import KeptMargins
from sifu.stages.oracle_worlds import Worlds
from sifu.stages.oracles import Asked, Oracles, run_oracles
from sifu.stages.two_questions import _twin_columns
from sifu.store.margins import MarginFiles
from sifu.store.oracle_schemas import CLIENT_MARGINS, DISTANCES, FORGETTING, MARGINS, OTHER_DRAWS, POINTS, POWER
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import provenance
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.sequence import answer_requests, target_rule
from tests.conftest import REPO

TINY = {
    "label": "Tiny",
    "dataset": {"name": "mnist", "source": "embedded"},
    "partition": {"kind": "iid", "num_clients": 6, "examples": 10, "seed": 0, "twins": True},
    "model": "logistic",
    "federation": {"clients_per_round": 4, "local_steps": 4, "batch_size": 10, "client_lr": 0.05},
    "stop": {"accuracy": 0.999, "min_rounds": 5, "max_rounds": 5},
    "certificate": {"sigma": 0.05},
    "requests": {"kind": "listed", "clients": [[2, 3], [0]]},
    "snapshot_every": 2,
}
VARIANTS = ("scratch", "blurred_scratch", "sifu")


@dataclass(frozen=True)
class Made:
    root: Path

    def main(self, stage: str, block: str, *options: str) -> int:
        usual = ["--scenario", "tiny", "--config", str(self.root), "--results", str(self.root / "results")]
        device = ["--device", "cpu", "--threads", "1"] if stage == "oracles" else []
        return main([stage, "--block", block, *options, *usual, *device])

    def file(self, stage: str, block: str, table: str) -> Path:
        return self.root / "results" / stage / "tiny" / block / f"{table}.parquet"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """12 models a world of a tiny federation, together and in two blocks."""
    root = tmp_path_factory.mktemp("oracles")
    (root / "scenarios.yaml").write_text(yaml.safe_dump({"tiny": TINY}))
    (root / "variants.yaml").write_text((REPO / "config" / "variants.yaml").read_text())
    found = Made(root)
    assert found.main("partition", "s000-000") == 0
    for block in ("s000-011", "s000-006", "s007-011"):
        variants = VARIANTS if block == "s000-011" else ("scratch",)
        more = ("--requests", "1", "2", "--federation", "s000-000", "--relearn-rounds", "3")
        assert found.main("oracles", block, "--variants", *variants, *more) == 0
    assert found.main("forgetting", "s000-011", "--blocks", "s000-011") == 0
    return found


def test_a_row_group_a_model_of_every_variant_request_and_world(made: Made) -> None:
    file = pq.ParquetFile(made.file("oracles", "s000-011", "margins"))
    assert file.num_row_groups == file.metadata.num_rows == 12 * 2 * 2 * 4  # seeds, requests, worlds, variants
    points = read_table(made.file("oracles", "s000-011", "points"), POINTS)
    assert points["owner"].value_counts().to_dict() == {"client": 60, "twin": 30}  # embedded digits: no test set
    assert points.groupby("owner")["left_at"].unique().map(set).to_dict() == {"client": {0, 1, 2}, "twin": {1, 2}}
    row = file.read_row_group(0).to_pandas().iloc[0]
    assert row["margins"].dtype == np.float16
    assert len(row["margins"]) == len(points)
    assert '"models": 192' in read_stamp(made.file("oracles", "s000-011", "margins"))["notes"]


def tiny(made: Made) -> Scenario:
    return load_scenario(made.root / "scenarios.yaml", "tiny", Path("data"))


def worlds(made: Made, *requests: int) -> Worlds:
    partition = made.file("partition", "s000-000", "partition")
    return Worlds(Block("tiny", tiny(made), range(1), partition, Path("data"), threads=1), requests)


def test_margins_are_those_of_the_stage_train(made: Made) -> None:
    """Model 3 of the clients' world is seed 3; its margins by the formula, one example at a time."""
    both, scenario = worlds(made, 1, 2), tiny(made)
    segment = train_from(both.engine, scenario, Keys.of([3]))
    stored = MarginFiles([made.file("oracles", "s000-011", "margins")]).models("original", 1, "client")
    wanted = []
    for image, label in zip(both.points.images, both.points.labels.tolist(), strict=True):
        logits = both.engine.model.logits(segment.final[0], image[None])[0].double()
        others = torch.tensor([value for place, value in enumerate(logits.tolist()) if place != label])
        wanted.append(logits[label].item() - np.log(np.exp(others.numpy()).sum()))
    np.testing.assert_allclose(stored.margins[list(stored.seeds).index(3)], wanted, rtol=2e-3, atol=2e-3)  # float16
    said = both.engine.model.logits(segment.final[0], both.points.images).argmax(1)
    assert stored.predicted[list(stored.seeds).index(3)].tolist() == said.tolist()


@pytest.mark.second
def test_blocks_and_their_order_change_nothing(made: Made, tmp_path: Path) -> None:
    """12 models together, or 7 and 5: the same margins but for rounding; the order of files matters not at all."""
    parts = [made.file("oracles", block, "margins") for block in ("s000-006", "s007-011")]
    whole = MarginFiles([made.file("oracles", "s000-011", "margins")])
    for variant in ("original", "scratch"):
        for world in ("client", "twin"):
            together, apart, turned = (
                files.models(variant, 1, world) for files in (whole, MarginFiles(parts), MarginFiles(parts[::-1]))
            )
            first = OTHER_DRAWS if world == "twin" else 0  # the worlds share no draws, so their seeds are not the same
            assert together.seeds.tolist() == apart.seeds.tolist() == list(range(first, first + 12))
            np.testing.assert_allclose(together.margins, apart.margins, rtol=3e-3, atol=3e-3)
            np.testing.assert_array_equal(apart.margins, turned.margins)
    stamp, tables = provenance("forgetting", {}, "", "cpu"), []
    for number, order in enumerate((parts, parts[::-1])):
        run_forgetting("tiny", [file.parent for file in order], tmp_path / str(number), stamp)
        folder = tmp_path / str(number)
        tables.append([read_table(folder / f"{one.name}.parquet", one) for one in (FORGETTING, DISTANCES)])
    assert all(first.equals(second) for first, second in zip(*tables, strict=True))
    with pytest.raises(StoreError, match="have the same models"):
        MarginFiles([parts[0], parts[0]])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("one group", "does not hold one model a row group"),
        ("seeds", "holds rows of seed 7, 8, 9, ..., its path says 0 to 6"),
        ("short", "has models of .* points, expected"),
        ("pipe", "it is not a file"),
    ],
)
def test_margins_of_something_else_are_refused(made: Made, tmp_path: Path, damage: str, message: str) -> None:
    path = tmp_path / "oracles" / "tiny" / "s000-006" / "margins.parquet"
    path.parent.mkdir(parents=True)
    rows = pq.read_table(made.file("oracles", "s007-011" if damage == "seeds" else "s000-006", "margins"))
    if damage == "short":
        margins = [row[: len(row) - place % 2] for place, row in enumerate(rows.column("margins").to_pylist())]
        rows = rows.set_column(
            rows.column_names.index("margins"), rows.schema.field("margins"), pa.array(margins, pa.list_(pa.float16()))
        )
    pq.write_table(rows, path, row_group_size=None if damage == "one group" else 1)
    if damage == "pipe":
        path.unlink()
        os.mkfifo(path)
    with pytest.raises(StoreError, match=message):
        MarginFiles([path]).models("original", 1, "client")


def test_a_later_request_swaps_its_own_seats_alone(made: Made) -> None:
    """Request 1 forgets clients 2 and 3, request 2 client 0: each world of twins has the others' own images."""
    clients, *twins = (world.engine.clients.images[0] for world in worlds(made, 1, 2))
    other = [[not torch.equal(clients[seat], one[seat]) for seat in range(6)] for one in twins]
    assert other == [[False, False, True, True, False, False], [True] + [False] * 5]


def test_worlds_differ_in_the_seats_to_forget_alone(made: Made) -> None:
    """With the same draws, models that never saw these seats have the same bits in both worlds; others have not."""
    both, scenario, finals = worlds(made, 1), tiny(made), []
    forget = [mask.expand(2, -1) for mask in both.forget]
    for world in both:
        engine, keys = SharedEngine.of(world.engine, 2), Keys.of(range(2))
        lineage = Lineage.of(engine, train_from(engine, scenario, keys))
        method = build_method("blurred_scratch", {}, scenario.certificate, "")
        (answer,) = answer_requests(method, lineage, forget, scenario, target_rule(scenario), keys.fold("unlearn"))
        finals.append((lineage.current, answer.unlearned.weights))
    assert not torch.equal(finals[0][0], finals[1][0])
    assert torch.equal(finals[0][1], finals[1][1])


def test_the_two_questions_are_answered(made: Made) -> None:
    """Twelve models see the original (10 images a client, 5 rounds of all but two): three deviations are 0.36."""
    table = read_table(made.file("forgetting", "s000-011", "forgetting"), FORGETTING)
    assert set(table["variant"]) == {"original", *VARIANTS}
    assert set(table.loc[table["request"] == 1, "client"]) == {-1, 2, 3}
    rows = table[(table["client"] == -1) & (table["request"] == 1)].set_index("variant")
    null = rows.loc["scratch", "twins_null"]
    assert null == pytest.approx(np.sqrt(25 / (12 * 12 * 12)))  # sqrt((2 N + 1) / (12 N^2)), N = 12
    assert rows.loc["scratch", "placebo_null"] == pytest.approx(np.sqrt(13 / (12 * 6 * 6)))  # half against half: N = 6
    assert rows.loc["original", "twins_auc"] > 0.5 + 3 * null
    assert rows.loc["original", "forgotten"] == "no"
    for name in ("scratch", "blurred_scratch"):
        assert abs(rows.loc[name, "twins_auc"] - 0.5) < 3 * null
    assert abs(rows.loc["scratch", "retrain_auc"] - 0.5) < 3 * rows.loc["scratch", "retrain_null"]
    assert rows.loc["original", "share"] == 0
    games = rows.loc["original", ["ruli_privacy", "ruli_efficacy"]]  # nothing was unlearned: both games are the same
    assert games.nunique() == 1
    assert games.iloc[0] > 0.5 + 3 * rows.loc["original", "ruli_null"] / np.sqrt(2)  # the mean of two folds
    assert abs(rows.loc["scratch", "ruli_privacy"] - 0.5) < 3 * rows.loc["scratch", "ruli_null"]
    assert rows.loc["original", "twins_lira_auc"] > 0.9
    assert abs(rows.loc["scratch", "twins_lira_auc"] - 0.5) < 3 * rows.loc["scratch", "retrain_null"]
    distances = read_table(made.file("forgetting", "s000-011", "distances"), DISTANCES)
    klom = distances[(distances["metric"] == "klom") & (distances["variant"] == "scratch")]
    assert (klom["null_mean"] > 1).all()  # few models: KLOM measures their number, and says so
    assert not klom["enough"].any()


def test_every_client_has_p_values_and_the_worst_of_the_remaining_a_row(made: Made) -> None:
    """Scratch is its own pair: nothing differs. The original knew clients 2 and 3; four clients remain."""
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
    own = rows[(rows["variant"] == "original") & (rows["request"] == 1)]
    differences = (own["own"] - own["twin"]).groupby([own["world"], own["seed"]]).mean()
    pairs = [(one > other) + 0.5 * (one == other) for one in differences["client"] for other in differences["twin"]]
    told = read_table(made.file("forgetting", "s000-011", "forgetting"), FORGETTING)
    told = told.set_index(["variant", "request", "client"])
    assert np.mean(pairs) == pytest.approx(told.loc[("original", 1, -1), "twins_auc"])


def test_power_is_measured_with_the_oracles_of_both_worlds(made: Made) -> None:
    """24 oracles: two sets of ten. The formula for an AUC of ten and ten says 1.56; draws of 24 differ from it."""
    rows = read_table(made.file("forgetting", "s000-011", "power"), POWER)
    assert set(rows["metric"]) == {"auc", "u_lira", "klom", "gaussian_kl", "twins"}  # no slow one with few models
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


def test_relearning_begins_where_a_model_stands_and_is_counted_apart(made: Made) -> None:
    """The original knows its clients at once; a round is 4 clients with 4 steps each; scratch needs at least one."""
    table = pq.read_table(made.file("oracles", "s000-011", "margins")).drop_columns("margins").to_pandas()
    twins, own = (table[table["world"] == world] for world in ("twin", "client"))
    assert twins["relearn_steps"].isna().all()
    steps = own[own["request"] == 1].groupby("variant")["relearn_steps"]
    assert steps.max()["original"] == 0
    assert set(own["relearn_steps"]) <= {0, 16, 32, 48}
    assert steps.mean()["scratch"] > 0
    rows = read_table(made.file("forgetting", "s000-011", "forgetting"), FORGETTING).set_index(
        ["variant", "request", "client"]
    )
    first = table[(table["variant"] == "scratch") & (table["request"] == 1) & (table["status"] == "done")]
    fewer = min(int((first["world"] == world).sum()) for world in ("client", "twin"))
    assert rows.loc[("scratch", 1, -1), "reached"] == fewer
    assert rows.loc[("original", 1, -1), "relearn"] == 0
    assert rows.loc[("scratch", 1, -1), "relearn"] == 1
    assert np.isnan(rows.loc[("scratch", 1, 2), "relearn"])


def oracle_rows(made: Made, name: str, asked: dict[str, Any], **settings: Any) -> list[dict[str, Any]]:
    """The models of one method, of two seeds, in the clients' world."""
    both, scenario = worlds(made, 1), tiny(made)
    if settings:
        vars(both)["test_data"] = settings["test_data"]  # embedded digits have no test set
    method = build_method(name, asked, scenario.certificate, "")
    wanted = Asked({name: method}, relearn_rounds=1)
    with tempfile.TemporaryDirectory() as folder:
        kept = KeptMargins(Path(folder), "", provenance("oracles", {}, "", "cpu"))
        parts = Oracles(replace(both.block, seeds=range(2)), both, next(iter(both)), wanted, kept).parts()
    return [row for part in parts for row in part.to_dict("records")]


def test_a_training_of_its_own_has_no_relearn_time(made: Made) -> None:
    rows = oracle_rows(made, "dp_fedavg", {"mode": "published", "clip": 0.5})
    assert {row["variant"] for row in rows} == {"dp_fedavg", "original of dp_fedavg"}
    assert all(pd.isna(row["relearn_steps"]) for row in rows)


def test_a_job_that_was_cut_off_makes_only_the_rest(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends in the second variant of the first world; then that world is trained again, for what is missing."""
    federation = worlds(made, 1)
    names = ("scratch", "fine_tuning", "sifu")
    methods = {name: build_method(name, {}, tiny(made).certificate, "") for name in names}
    block, asked = replace(federation.block, seeds=range(3)), Asked(methods)
    run_oracles(block, asked, tmp_path / "whole", federation=range(1))
    answers, made_for = Oracles._answers, []

    def cut_off(self: Oracles, name: str, *more: Any) -> Any:
        made_for.append((self.world.name, name))
        if made_for.count(("client", "fine_tuning")) == 1 and name == "fine_tuning" and len(made_for) == 2:
            raise KeyboardInterrupt
        return answers(self, name, *more)

    monkeypatch.setattr(Oracles, "_answers", cut_off)
    with pytest.raises(KeyboardInterrupt):
        run_oracles(block, asked, tmp_path / "parts", federation=range(1))
    assert not (tmp_path / "parts" / "margins.parquet").exists()
    run_oracles(block, asked, tmp_path / "parts", federation=range(1))
    rest = [("client", "fine_tuning"), ("client", "sifu"), *(("twin", name) for name in names)]
    assert made_for == [("client", "scratch"), ("client", "fine_tuning"), *rest]
    one, other = (pq.read_table(tmp_path / name / "margins.parquet") for name in ("whole", "parts"))
    assert one.equals(other)
    run_oracles(block, asked._replace(rounds=2), tmp_path / "parts", federation=range(1))
    few = pq.read_table(tmp_path / "parts" / "margins.parquet").to_pandas()
    assert few.groupby("variant")["rounds"].max().to_dict() == {"original": 5} | dict.fromkeys(names, 2)


def test_a_method_that_an_oracle_ends_has_a_test_set(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    """Without one it is refused; with one there is a model a seed."""
    settings = {"as_released": True}
    assert {row["variant"] for row in oracle_rows(made, "fed_quit", settings)} == {"original"}
    assert "it stops by the accuracy on a test set, and there is none" in capsys.readouterr().err
    clients = worlds(made, 1).engine.clients
    test = cut_test_set(clients.images[0].flatten(0, 1), clients.labels[0].flatten())
    rows = oracle_rows(made, "fed_quit", settings, test_data=test)
    assert [row["seed"] for row in rows if row["variant"] == "fed_quit"] == [0, 1]


@pytest.mark.parametrize(("there", "said"), [(True, "yes"), (False, "cannot tell")])
def test_what_missed_the_target_is_not_called_forgotten(there: bool, said: str) -> None:
    """An AUC at its null, of enough models, with all of the share gone: noise alone does that, too."""
    zeros = np.zeros(1)
    test = TwinTest(zeros + 0.5, 0.5, zeros, 0.04, (100, 100), True)
    assert _twin_columns(test, test, Share(1.0, 0.9, 1.1, ""), 0, there=there)["forgotten"] == said


def test_what_cannot_be_compared_is_refused(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    assert made.main("oracles", "s000-001", "--variants", "scratch", "--requests", "3", "--federation", "s000-000") == 2
    assert "requests: [3] is refused; allowed: numbers from 1 to 2" in capsys.readouterr().err
    scenario = tiny(made)
    for partition in (replace(scenario.partition, seed=None), replace(scenario.partition, twins=False)):
        with pytest.raises(ConfigError, match=r"oracles\.scenarios: 'tiny' is refused"):
            refuse_moving("tiny", replace(scenario, partition=partition))


def test_trainings_without_a_history_cannot_be_replayed(made: Made) -> None:
    both, scenario = worlds(made, 1), tiny(made)
    engine = replace(SharedEngine.of(both.engine, 2), history=False)
    segment = train_from(engine, scenario, Keys.of(range(2)))
    kept = train_from(SharedEngine.of(both.engine, 2), scenario, Keys.of(range(2)))
    assert torch.equal(segment.final, kept.final)
    assert torch.equal(segment.trace.cohort, kept.trace.cohort)  # costs are counted from these
    with pytest.raises(StoreError, match="without a history"):
        engine.replay(segment, segment.rounds)
