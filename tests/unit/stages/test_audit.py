"""The audit by counting trainings finds what is planted, and nothing where a method keeps its promise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from sifu.catalog.datasets import DATASETS
from sifu.certificate.audit import most_provable
from sifu.certificate.noise import add_noise, needed_sigma
from sifu.certificate.rules import rules_of
from sifu.cli.main import main
from sifu.config.fields import build, to_plain
from sifu.config.scenario import Scenario
from sifu.contract.world import SCENARIO
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.data.dataset import Images
from sifu.errors import ConfigError, MethodRefused
from sifu.federation.engine import Engine
from sifu.federation.shared_data import SharedEngine
from sifu.hardware.workers import Workers
from sifu.methods.dp_fedavg import DpFedAvg
from sifu.methods.fed_quit import FedQuit
from sifu.methods.last import Last
from sifu.methods.scratch import Scratch
from sifu.methods.scratch_again import ScratchAgain
from sifu.models.flat import build_model
from sifu.stages.audit import audit_rows
from sifu.stages.audit_counts import Count, StoredCounts
from sifu.stages.audit_plan import AuditPlan, Target
from sifu.stages.audited_group import AuditedGroup
from sifu.stages.block import Block
from sifu.store.experiment_schemas import AUDIT
from sifu.store.parquet import read_table
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Method, Unlearned
from sifu.unlearning.method_types import History, Request, Server
from sifu.unlearning.worlds import Asker
from tests.conftest import REPO

MODELS = 1000
BED: Scenario = build(
    Scenario,
    to_plain(SCENARIO)
    | {
        "stop": {"accuracy": 0.99, "min_rounds": 2, "max_rounds": 2},
        "federation": {
            "clients_per_round": 6,
            "local_steps": 2,
            "batch_size": 4,
            "client_lr": 0.05,
            "momentum": 0.0,
        },
        "partition": {"kind": "iid", "num_clients": 6, "examples": 4},
        "requests": {"kind": "listed", "clients": [[0], [1]]},
        "certificate": {"sigma": 1.0, "epsilon": 1.0, "delta": 0.01, "preset": "strict"},
    },
    "bed",
)
"""Convex, full batches, everybody in every round: Psi is almost exactly alpha, and only the noise is random."""


def planted(noise: float = 1.0, psi: float = 1.0, at: str = "start", fault: str = "") -> Method:
    """Last, of whose noise a share is added, and whose Psi is a share of the right one; `at`: before or after recovery.

    `fault`: `same noise` is the same draw for every model; `wrong node` says that it went back to the initial model.
    """

    class Planted(Last):
        name = "planted"

        @property
        def keeps(self) -> frozenset[Kept]:
            return frozenset({Kept.PRODUCTS})

        def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
            certificate = self.certificate
            values = history.sensitivity(request.forget, rules_of(certificate), server.round_factor(certificate))
            counted = psi * history.value_at(values, history.end)
            sigma = needed_sigma(certificate, history.num_clients, counted)
            promise = self.promise(history, request, sigma, counted, counted)
            drawn_from = Keys.of([0] * len(sigma)) if fault == "same noise" else keys
            if at == "end":
                segment = server.recover(history.current, keys)
                published = add_noise(segment.final, noise * sigma, drawn_from)
                return Unlearned(segment, history.end, replace(promise, noise="end"), published)
            segment = server.recover(add_noise(history.current, noise * sigma, drawn_from), keys)
            return Unlearned(segment, history.nowhere if fault == "wrong node" else history.end, promise)

    return Planted(certificate=BED.certificate)


def private(noise: float = 1.0) -> DpFedAvg:
    """DP-FedAvg with two rounds of training, which spend the whole promise; a share of its noise is added."""

    class Planted(DpFedAvg):
        name = "planted_rounds"

        def training(self, scenario: Scenario) -> Scenario:
            right = super().training(scenario)
            privacy = right.federation.privacy
            assert privacy is not None
            privacy = replace(privacy, noise=noise * privacy.noise)
            return replace(right, federation=replace(right.federation, privacy=privacy))

    return Planted(certificate=BED.certificate, mode="accounted", rounds=2, training_share=1.0, clip=0.05)


def bed_engine() -> Engine:
    """Six clients with four random images of 4 x 4 pixels; the first one's are larger."""
    generator = torch.Generator().manual_seed(3)
    images = torch.randn(1, 6, 4, 1, 4, 4, generator=generator)
    images[:, 0] *= 3
    labels = torch.randint(3, (1, 6, 4), generator=generator)
    model = build_model("logistic", replace(DATASETS["mnist"], shape=(1, 4, 4), num_classes=3))
    return Engine(model, Clients(images, labels, torch.full((1, 6), 4)), BED.federation, Workers(2))


@cache
def audited() -> dict[str, dict[str, Any]]:
    """The rows of methods that keep their promises and of others that do not."""
    methods = {
        "honest": planted(),
        "double": planted(noise=2.0),
        "small_psi": planted(psi=1 / 3),
        "no_noise": planted(noise=0.0),
        "same_noise": planted(fault="same noise"),
        "wrong_node": planted(psi=0.1, fault="wrong node"),
        "scratch": Scratch(),
        "new_start": ScratchAgain(start="new"),
    }
    group = bed_group(AuditPlan(methods, [Target.single(BED, 0)], MODELS), StoredCounts(None))
    return {row["variant"]: row for row in group.rows()}


@dataclass(frozen=True)
class BedBlock(Block):
    """The bed as a block; `has_test`: the test set is what client 2 has."""

    has_test: bool = True

    def engine(self, images: Images | None = None) -> Engine:
        return bed_engine()

    def test_set(self) -> Clients | None:
        held = bed_engine().clients
        return Clients(held.images[:, 2:3], held.labels[:, 2:3], held.size[:, 2:3]) if self.has_test else None


def bed_group(plan: AuditPlan, stored: StoredCounts, scenario: Scenario = BED) -> AuditedGroup:
    block = Block("bed", BED, range(1), Path("none"), Path("none"))
    engine = SharedEngine.of(replace(bed_engine(), federation=scenario.federation), 1)
    return AuditedGroup(block, plan, tuple(plan.methods), scenario, engine, MODELS, stored)


@pytest.mark.parametrize("fault", ["small_psi", "no_noise", "same_noise", "wrong_node"])
def test_a_planted_violation_is_found(fault: str) -> None:
    """Claimed are epsilon 1 and delta 0.01, which allow mu = 0.53. A Psi too small by 3 gives mu = 1.6: epsilon is 4.4.

    The other world has as much noise as the method really adds: only the client tells the worlds apart. A constant
    is no noise, and neither is what a model has more than the one that the method says it went back to.
    """
    row = audited()[fault]
    assert row["verdict"] == "refuted"
    assert row["proved_epsilon"] > row["claimed_epsilon"] == 1.0
    assert row["proved_epsilon"] <= row["most_provable"]


def test_half_the_noise_is_found() -> None:
    """mu = 1.06, which is epsilon 2.5; with other seeds so many models prove 1.5 to 1.8."""
    plan = AuditPlan({"half": planted(noise=0.5)}, [Target.single(BED, 0)], 3 * MODELS)
    (row,) = bed_group(plan, StoredCounts(None)).rows()
    assert row["verdict"] == "refuted"


@pytest.mark.parametrize("kept_promise", ["honest", "double", "scratch", "new_start"])
def test_a_kept_promise_is_not_refuted(kept_promise: str) -> None:
    """Nor is one that is more than kept."""
    row = audited()[kept_promise]
    assert row["verdict"] == "not refuted"
    assert row["most_provable"] == most_provable(MODELS, row["delta"]) > 5
    assert (row["clients"], row["covers"], row["who"], row["models"]) == (1, 1, "client 0", MODELS)


@pytest.mark.parametrize(("share", "verdict"), [(1 / 3, "refuted"), (1.0, "not refuted"), (2.0, "not refuted")])
def test_noise_at_the_end(share: float, verdict: str) -> None:
    plan = AuditPlan({"end": planted(noise=share, at="end")}, [Target.single(BED, 0)], MODELS)
    (row,) = bed_group(plan, StoredCounts(None)).rows()
    assert (row["verdict"], row["claimed_epsilon"]) == (verdict, 1.0)


@pytest.mark.parametrize(("share", "verdict"), [(1 / 3, "refuted"), (1.0, "not refuted")])
def test_noise_in_every_round(share: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All updates are longer than C: without the client both rounds' sums are shorter by C, all that is paid for.

    The trainings are compared: nothing is recovered.
    """
    monkeypatch.setattr(Asker, "recovered", lambda *_: pytest.fail("a recovery that nobody looks at"))
    method = private(noise=share)
    plan = AuditPlan({"rounds": method}, [Target.single(BED, 0)], MODELS)
    (row,) = bed_group(plan, StoredCounts(None), method.training(BED)).rows()
    assert (row["verdict"], row["claimed_epsilon"], row["covers"]) == (verdict, 1.0, 1)


def test_an_interrupted_audit_counts_no_batch_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = AuditPlan({"honest": planted()}, [Target.single(BED, 0)], 40)
    whole = replace(bed_group(plan, StoredCounts(tmp_path)), batch=20)
    rows = whole.rows()
    monkeypatch.setattr(StoredCounts, "_made", lambda *_: pytest.fail("a stored batch was counted again"))
    again = replace(bed_group(plan, StoredCounts(tmp_path)), batch=20).rows()
    assert again == rows
    assert len(list(tmp_path.iterdir())) == 2


def test_more_models_are_counted_where_fewer_prove_too_little() -> None:
    """A claim of epsilon 3, which 40 models cannot refute: they prove at most ln((0.912 - 0.01) / 0.088) = 2.3."""
    claim = replace(BED.certificate, epsilon=3.0)
    methods = {
        "almost_none": replace(planted(psi=1e-3), certificate=claim),  # type: ignore[type-var]
        "honest": replace(planted(), certificate=claim),  # type: ignore[type-var]
    }
    plan = AuditPlan(methods, [Target.single(BED, 0)], models=40, more_models=120)
    rows = {row["variant"]: row for row in bed_group(plan, StoredCounts(None)).rows()}
    assert (rows["almost_none"]["models"], rows["almost_none"]["verdict"]) == (120, "refuted")
    assert (rows["honest"]["models"], rows["honest"]["verdict"]) == (40, "cannot tell")


def test_no_more_models_are_counted_where_nothing_is_promised_to_all_together() -> None:
    """A promise to the client of the last request alone says nothing of the worlds with and without both."""
    claim = replace(BED.certificate, epsilon=3.0)
    methods = {"almost_none": replace(planted(psi=1e-3), certificate=claim)}  # type: ignore[type-var]
    plan = AuditPlan(methods, [Target.of(BED, 0, "request", [2])], models=40, more_models=120)
    (row,) = bed_group(plan, StoredCounts(None)).rows()
    assert (row["hits"], row["alarms"], row["clients"], row["covers"]) == (40, 0, 2, 1)
    assert (row["models"], row["verdict"]) == (40, "cannot tell")


def test_counts_add_up() -> None:
    assert Count(1, 2, 3).joined(Count(10, 20, 30)) == Count(11, 22, 33)


def test_a_method_with_an_oracle_is_given_the_test_set() -> None:
    """FedQUIT as released promises nothing: a row with what is proved. Without a test set its refusal names it."""
    plan = AuditPlan({"quit": FedQuit(as_released=True)}, [Target.single(BED, 0)], models=20)
    block = BedBlock("bed", BED, range(1), Path("none"), Path("none"))
    (row,) = audit_rows(block, plan, StoredCounts(None))
    assert (row["variant"], row["models"], row["claimed_epsilon"]) == ("quit", 20, None)
    with pytest.raises(MethodRefused, match="quit is refused in bed: it stops by the accuracy on a test set, and"):
        audit_rows(replace(block, has_test=False), plan, StoredCounts(None))


def test_a_request_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match="numbers from 1 to 2"):
        Target.of(BED, 0, "request", [3])
    assert Target.of(BED, 0, "client", [1]).who == "client 0"


@pytest.mark.long  # the smoke run has the stage, too
def test_the_stage_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--scenario", "smoke", "--block", "s000-001", "--results", str(tmp_path)]
    assert main(["partition", *options]) == 0
    more = ["--models", "20", "--requests", "2", "--who", "request", "client", "--device", "cpu"]
    assert main(["audit_block", *options, "--variants", "sifu", *more]) == 0
    rows = read_table(tmp_path / "audit" / "smoke" / "s000-001" / "audit.parquet", AUDIT)
    assert rows[["who", "request", "clients"]].to_numpy().tolist() == [["client 0", 1, 1], ["request", 2, 4]]
    assert set(rows["seed"]) == {0}
    assert set(rows["verdict"]) <= {"refuted", "not refuted", "cannot tell"}
    assert not (tmp_path / "audit" / "smoke" / "s000-001" / ".unfinished").exists()


@pytest.mark.long
def test_one_table_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    config = str(REPO / "config" / "smoke.yaml")
    assert main(["audit", "--config", config, "--variant", "sifu", "--models", "20", "--client", "3"]) == 0
    shown = capsys.readouterr().out
    for word in ("claimed", "strict", "measured", "proved", "each alone", "20 a world", "cannot tell"):
        assert word in shown
