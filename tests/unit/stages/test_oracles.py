"""Many models in two worlds: what is stored of them, and that blocks, order and worlds are what they say."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from sifu.config.scenario import refuse_moving
from sifu.core.keys import Keys
from sifu.data.dataset import load_images
from sifu.data.test_set import cut_test_set
from sifu.data.twins import twin_of
from sifu.errors import ConfigError, StoreError
from sifu.federation.first_training import train_from
from sifu.federation.shared_data import SharedEngine
from sifu.plan.variants import build_method
from sifu.stages.forgetting import run_forgetting
from sifu.stages.kept_margins import KeptMargins
from sifu.stages.oracles import Asked, Oracles, run_oracles
from sifu.store.forgetting_schemas import DISTANCES, FORGETTING
from sifu.store.margins import MarginFiles
from sifu.store.oracle_schemas import OTHER_DRAWS, POINTS
from sifu.store.parquet import read_stamp, read_table
from sifu.store.provenance import provenance
from sifu.store.schemas import PARTITION
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.sequence import answer_requests, target_rule
from tests.unit.stages.tiny_oracles import Made, tiny, tiny_oracles, worlds


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return tiny_oracles(tmp_path_factory)


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


def test_points_name_their_images(made: Made) -> None:
    """By the partition, example by example; a twin's are nobody else's."""
    points = read_table(made.file("oracles", "s000-011", "points"), POINTS)
    held = read_table(made.file("partition", "s000-000", "partition"), PARTITION)
    rows = {(client, place): row for client, place, row in held[["client", "place", "row"]].itertuples(index=False)}
    for point in points.itertuples():
        holder = point.client if point.owner == "client" else twin_of(point.client)
        assert point.row == rows[holder, point.place]
    assert points["row"].is_unique
    assert (
        points["label"].to_numpy() == load_images(tiny(made).dataset, Path("data")).train.labels[points["row"]]
    ).all()


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


def test_the_worlds_share_no_draws(made: Made) -> None:
    """Models that never saw the seats would have the same bits in both worlds with the same draws. Those of the
    clients' world have the draws of the stage `train`.
    """
    own, *twins = (world.keys(range(12)).state for world in worlds(made, 1, 2))
    assert torch.equal(own, Keys.of(range(12)).state)
    assert all(not (twin == own).any() for twin in twins)
    files = MarginFiles([made.file("oracles", "s000-011", "margins")])
    one, other = (files.models("scratch", 1, world).margins for world in ("client", "twin"))
    assert not (one == other).all(1).any()


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


def test_what_cannot_be_compared_is_refused(
    made: Made, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is trained for it."""
    monkeypatch.setattr("sifu.stages.oracles.train_from", lambda *parts: pytest.fail("it trains"))
    assert made.main("oracles", "s000-001", "--variants", "scratch", "--requests", "3", "--federation", "s000-000") == 2
    assert "--requests: [3] is refused; allowed: numbers from 1 to 2" in capsys.readouterr().err
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
