"""Parts of a run: scenarios with some of the variants, sweeps, searches of others; unknown names are refused."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sifu.config.fields import build
from sifu.config.scenario import Scenario
from sifu.errors import ConfigError
from sifu.plan.load import load_suite, read_named, read_yaml
from sifu.plan.report_plan import Job
from sifu.plan.stage_options import stage_options
from sifu.plan.suite import kind_of_training
from tests.conftest import REPO

CONFIG = REPO / "config"


@pytest.mark.parametrize(
    ("scenario", "variants", "words"),
    [
        ("mnits", ["scratch"], r"only\[0\].scenario: 'mnits' is refused .did you mean mnist.*: one of mnist_emb"),
        ("smoke", ["original"], r"only\[0\].variants: .* scratch among them"),
        ("smoke", ["scratch", "lost"], r"only\[0\].variants: 'lost' is refused .did you mean last.*: one of original"),
        ("smoke", "scratch", r"only\[0\].variants: 'scratch' is refused"),
    ],
)
def test_variants_of_a_scenario_must_be_those_of_the_run(scenario: str, variants: object, words: str) -> None:
    run = {"scenarios": ["smoke"], "variants": ["original", "scratch"]}
    with pytest.raises(ConfigError, match=words):
        load_suite(run | {"only": [{"scenario": scenario, "variants": variants}]}, CONFIG, {})


def test_only_some_variants_of_a_scenario() -> None:
    run = {"scenarios": ["smoke", "smoke_cnn"], "variants": ["original", "scratch", "sifu"]}
    some = {"scenario": "smoke_cnn", "variants": ["sifu", "scratch"]}
    suite = load_suite(run | {"only": [some]}, CONFIG, {})
    assert suite.variants_of("smoke") == ["original", "scratch", "sifu"]
    assert suite.variants_of("smoke_cnn") == ["scratch", "sifu"]
    planned = suite.report_plan().variants
    assert planned == {"smoke": ["original", "scratch", "sifu"], "smoke_cnn": ["scratch", "sifu"]}


SWEPT = {"scenarios": ["smoke"], "variant": "puf", "key": "factor", "values": [1, 2]}
AUDITS = {"scenarios": ["smoke"], "variants": ["scratch"]}


def test_audits_may_differ_between_scenarios() -> None:
    """A job a scenario, of its first block; variants that a scenario does not have are left out."""
    run = {"scenarios": ["smoke", "smoke_cnn"], "variants": ["scratch", "sifu"], "num_seeds": 4, "block_size": 2}
    other = {"scenarios": ["smoke_cnn"], "variants": ["sifu", "scratch"], "models": 50, "requests": [1, 2]}
    only = [{"scenario": "smoke_cnn", "variants": ["scratch"]}]
    suite = load_suite(run | {"audits": [AUDITS, other], "only": only}, CONFIG, {})
    jobs = suite.jobs["audit"]
    assert jobs == [Job("smoke", "s000-001"), Job("smoke_cnn", "s000-001")]
    options = [" ".join(stage_options(suite, "audit", job)) for job in jobs]
    assert options == [
        "--variants scratch --models 5000 --requests 1 --who request",
        "--variants scratch --models 50 --requests 1 2 --who request",
    ]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("sigma_sweep", {"scenarios": ["mnits"], "values": [0.1]}, "sigma_sweep.scenarios: 'mnits' is refused"),
        (
            "sigma_sweep",
            {"scenarios": ["smoke"], "values": [0.0]},
            "sigma_sweep.values: 0.0 is refused; allowed: above",
        ),
        (
            "sigma_sweep",
            {"scenarios": ["smoke"], "values": [0.1], "variant": "x"},
            "sigma_sweep.variant: 'x' is refused",
        ),
        ("setting_sweeps", [SWEPT | {"scenarios": ["mnits"]}], "setting_sweeps.scenarios: 'mnits' is refused"),
        ("setting_sweeps", [SWEPT | {"variant": "pfu"}], r"setting_sweeps\[0\].variant: 'pfu' is refused"),
        ("setting_sweeps", [SWEPT | {"key": "fator"}], r"fator: 1 is refused.*did you mean factor"),
        ("setting_sweeps", [SWEPT | {"key": "updates"}], "updates: 1 is refused"),
        ("setting_sweeps", [SWEPT | {"values": [1, 1]}], r"setting_sweeps\[0\].values: 1.0 is refused; .* once"),
        (
            "setting_sweeps",
            [SWEPT | {"variant": "subtract", "key": "epochs", "values": [-1]}],
            "epochs: -1.0 is",
        ),
        ("setting_sweeps", [SWEPT | {"variant": "puf_searched"}], "'puf_searched' is refused; .* without a search"),
        (
            "setting_sweeps",
            [SWEPT | {"variant": "fats_1", "key": "rho"}],
            "'fats_1' is refused; .* training",
        ),
        ("setting_sweeps", [SWEPT, SWEPT], "setting_sweeps: .* is refused; allowed: one sweep a variant"),
        ("request_sets", {"scenarios": ["smoke"], "variants": ["lost"]}, "request_sets.variants: 'lost' is refused"),
        ("alpha_sweep", {"scenarios": ["mnits"], "federations": []}, "alpha_sweep.scenarios: 'mnits' is refused"),
        ("audits", {"scenarios": ["smoke"], "variants": ["lost"]}, "audits.variants: 'lost' is refused"),
        ("audits", [AUDITS, {"scenarios": ["mnits"], "variants": ["scratch"]}], "audits.scenarios: 'mnits' is refused"),
        ("audits", [AUDITS, AUDITS], "audits: .* is refused; allowed: each scenario once"),
    ],
)
def test_sweeps_must_be_of_the_run(key: str, value: object, words: str) -> None:
    run = {"scenarios": ["smoke"], "variants": ["scratch"], key: value}
    with pytest.raises(ConfigError, match=words):
        load_suite(run, CONFIG, {})


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([{"momentm": 0.0}], "federations[0].change.momentm: 0.0 is refused (did you mean momentum?)"),
        ([{"momentum": 0.0}, {"momentum": 1.0}], "federations[1].change.momentum: 1.0 is refused; allowed: 0 to 0.999"),
        ([{"batch_size": 21}], "federations[0].change.batch_size: 21 is refused; allowed: 1 to the fewest examples"),
        ([{"privacy": None}], "federations[0].change.privacy: None is refused"),
        ([{}], "federations[0].change: {} is refused; allowed: at least one key"),
    ],
)
def test_a_change_must_be_one_of_the_federation(entries: list[dict[str, Any]], words: str) -> None:
    """The clients of `smoke` hold 20 examples."""
    changes = [{"name": f"c{i}", "label": f"c{i}", "change": change} for i, change in enumerate(entries)]
    sweep = {"scenarios": ["smoke"], "federations": changes}
    with pytest.raises(ConfigError) as caught:
        load_suite({"scenarios": ["smoke"], "variants": ["scratch"], "alpha_sweep": sweep}, CONFIG, {})
    assert str(caught.value).startswith("alpha_sweep.")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("names", "words"),
    [(["Big-step"], "name: 'Big-step' is refused; allowed: lower case letters"), (["a", "a"], "each name once")],
)
def test_names_of_changes_are_names_of_folders(names: list[str], words: str) -> None:
    changes = [{"name": name, "label": str(i), "change": {"momentum": 0.0}} for i, name in enumerate(names)]
    sweep = {"scenarios": ["smoke"], "federations": changes}
    with pytest.raises(ConfigError, match=words):
        load_suite({"scenarios": ["smoke"], "variants": ["scratch"], "alpha_sweep": sweep}, CONFIG, {})


def test_searches_of_another_scenario() -> None:
    """mnist_watermark takes mnist's: one search for both, and mnist must be in the run."""
    raw = read_yaml(CONFIG / "paper.yaml") | {"missing_data": "skip", "scenarios": ["mnist", "mnist_watermark"]}
    raw["variants"] = ["scratch", "dp_accounted"]
    raw |= {"shown": None, "request_sets": None, "scenario_searches": []}
    suite, found = load_suite(raw, CONFIG, {"SIFU_DATA_ROOT": "nowhere"}), read_yaml(CONFIG / "scenarios.yaml")
    everything = replace(suite, scenarios={name: build(Scenario, found[name], name) for name in raw["scenarios"]})
    assert everything.jobs["search"] == [Job("mnist", "s1000000-1000001", "dp_accounted")]


def test_a_scenario_without_the_one_it_is_searched_as_says_what_to_add() -> None:
    """What `--config "scenarios=[mnist_watermark]"` asks of the paper's run."""
    raw = read_yaml(CONFIG / "paper.yaml") | {"scenarios": ["mnist_watermark"]}
    with pytest.raises(ConfigError, match=r"^scenarios: \['mnist_watermark'\] is refused.*so add mnist to scenarios$"):
        load_suite(raw, CONFIG, {"SIFU_DATA_ROOT": "nowhere"})
    added = raw | {"scenarios": ["mnist_watermark", "mnist"]}
    load_suite(added, CONFIG, {"SIFU_DATA_ROOT": "nowhere"})


@pytest.mark.parametrize(
    ("other", "words"),
    [("mnist_backdoor", "mnist, whose searches mnist_backdoor takes"), ("nowhere", "one of mnist_embedded, ")],
)
def test_searches_are_taken_from_one_that_has_its_own(tmp_path: Path, other: str, words: str) -> None:
    shutil.copytree(CONFIG, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "scenarios.yaml"
    scenarios = read_yaml(path)
    scenarios["mnist_watermark"]["searched_as"] = other
    path.write_text(yaml.safe_dump(scenarios, sort_keys=False))
    raw = read_yaml(CONFIG / "paper.yaml") | {"scenarios": ["mnist", "mnist_watermark", "mnist_backdoor"]}
    with pytest.raises(ConfigError, match=rf"^scenarios\.mnist_watermark\.searched_as: '{other}' is refused.*{words}"):
        load_suite(raw, tmp_path, {"SIFU_DATA_ROOT": "nowhere"})


def test_more_oracles_add_blocks_and_leave_the_others() -> None:
    """Blocks are named after seeds from the first on, so that raising `models` trains only what is new."""
    raw = read_yaml(REPO / "config" / "smoke.yaml")
    few, many = (
        load_suite(raw | {"oracles": raw["oracles"] | {"models": models}}, REPO / "config") for models in (10, 20)
    )
    blocks = [[job.block for job in suite.jobs["oracles"]] for suite in (few, many)]
    assert blocks[0] == ["s000-004", "s005-009"]
    assert blocks[1][:2] == blocks[0]
    assert [job.block for job in many.jobs["forgetting"]] == ["s000-019"]
    assert few.oracle_variants("smoke") == ["scratch"]


def test_a_scenario_of_the_oracles_may_have_blocks_of_its_own() -> None:
    """Ten models in blocks of five, and of the other scenario in one of ten; one that is named twice is refused."""
    raw = read_yaml(REPO / "config" / "smoke.yaml")
    own = {"scenarios": ["smoke"], "size": 10}
    oracles = raw["oracles"] | {"models": 10, "block_size": 5}
    suite = load_suite(raw | {"oracles": oracles | {"block_sizes": [own]}}, REPO / "config")
    assert [job.block for job in suite.jobs["oracles"] if job.scenario == "smoke"] == ["s000-009"]
    for sizes, words in (([own, own], "each scenario once"), ([own | {"scenarios": ["smok"]}], "did you mean smoke")):
        with pytest.raises(ConfigError, match=words):
            load_suite(raw | {"oracles": oracles | {"block_sizes": sizes}}, REPO / "config")


def test_the_atlas_is_cut_into_blocks_of_clients() -> None:
    """20 clients in blocks of 8; the command gets their range and the partition that all seeds share."""
    raw = read_yaml(REPO / "config" / "smoke.yaml")
    suite = load_suite(raw | {"atlas": {"scenarios": ["smoke"], "models": 5, "block_size": 8}}, REPO / "config")
    assert suite.jobs["atlas"] == [Job("smoke", "s000-004", part) for part in ("c000-007", "c008-015", "c016-019")]
    options = stage_options(suite, "atlas", suite.jobs["atlas"][0])
    assert options == ["--clients", "c000-007", "--federation", "s000-001"]
    assert load_suite(raw | {"atlas": None}, REPO / "config").jobs["atlas"] == []
    with pytest.raises(ConfigError, match=r"atlas\.scenarios: 'smok' is refused"):
        load_suite(raw | {"atlas": {"scenarios": ["smok"]}}, REPO / "config")


def test_oracles_need_a_federation_that_is_the_same_for_all_seeds() -> None:
    raw = read_yaml(REPO / "config" / "smoke.yaml")
    wrong = {"scenarios": ["smoke_cnn"], "variants": ["scratch"]}
    with pytest.raises(ConfigError, match=r"oracles\.scenarios: 'smoke_cnn' is refused; allowed: a federation that is"):
        load_suite(raw | {"oracles": wrong}, REPO / "config")
    with pytest.raises(ConfigError, match=r"oracles\.models: 4 is refused; allowed: 10 to 100000"):
        load_suite(raw | {"oracles": raw["oracles"] | {"models": 4}}, REPO / "config")


def test_a_twin_test_speaks_for_scenarios_of_the_same_kind_of_training() -> None:
    """Other clients, requests and data at the server do not matter; other losses, steps and certificates do."""
    scenarios = read_named(Scenario, CONFIG / "scenarios.yaml", "scenarios")
    kinds = {name: kind_of_training(scenario) for name, scenario in scenarios.items()}
    alike = {name for name, kind in kinds.items() if kind == kinds["mnist"]}
    assert {"mnist", "mnist_twins", "mnist_server", "mnist_watermark"} <= alike
    assert alike.isdisjoint({"mnist_full", "mnist_epsilon_1", "mnist_convex_server", "mnist_variational"})
