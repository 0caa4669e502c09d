"""The config files: the shipped ones load, and each kind of nonsense is refused in one sentence that names the key."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sifu.config.fields import build, to_plain
from sifu.config.scenario import Scenario, request_lists
from sifu.config.variant import Variant
from sifu.errors import ConfigError, SifuError
from sifu.plan.load import load_scenario, load_suite, read_yaml
from sifu.plan.variants import method_of
from tests.conftest import REPO

CONFIG = REPO / "config"
GOOD = read_yaml(CONFIG / "scenarios.yaml")["mnist_embedded"]


@pytest.mark.parametrize("name", ["config", "smoke"])
def test_shipped_configs_need_no_data(name: str, tmp_path: Path) -> None:
    suite = load_suite(read_yaml(CONFIG / f"{name}.yaml"), CONFIG, {"SIFU_DATA_ROOT": str(tmp_path)})
    assert suite.scenarios
    assert not suite.skipped


def test_the_papers_config_covers_its_five_datasets(data_root: Path) -> None:
    suite = load_suite(read_yaml(CONFIG / "paper.yaml"), CONFIG, {"SIFU_DATA_ROOT": str(data_root)})
    planned = [*suite.scenarios, *suite.skipped]
    for name in ("mnist", "fashionmnist", "cifar10", "cifar100", "celeba"):
        assert {name, f"{name}_watermark", f"{name}_backdoor"} <= set(planned)
    assert set(suite.skipped) <= {"celeba", "celeba_watermark", "celeba_backdoor"}
    assert suite.run.num_seeds == 10


def test_every_config_sets_every_key() -> None:
    """Snakemake lays --configfile over config.yaml: a key that one of them leaves out would leak from the other."""
    keys = [set(read_yaml(CONFIG / f"{name}.yaml")) for name in ("config", "smoke", "paper", "mnist")]
    assert all(part == keys[0] for part in keys)


@pytest.mark.parametrize("name", list(read_yaml(CONFIG / "scenarios.yaml")))
def test_settings_survive_json(name: str) -> None:
    scenario = build(Scenario, read_yaml(CONFIG / "scenarios.yaml")[name], name)
    assert build(Scenario, json.loads(json.dumps(to_plain(scenario))), name) == scenario


# the key to change, the value to put there (or `del`), what the sentence must contain
BAD_SCENARIOS: list[tuple[str, Any, str]] = [
    ("lable", "x", "lable: 'x' is refused (did you mean label?); allowed: only the keys label"),
    ("federation.batchsize", 3, "batchsize: 3 is refused (did you mean batch_size?); allowed: only the keys"),
    ("federation.batch_size", "del", "federation.batch_size: None is refused; allowed: it must be given"),
    ("federation.batch_size", "many", "federation.batch_size: 'many' is refused; allowed: a whole number"),
    ("federation.batch_size", 2.5, "federation.batch_size: 2.5 is refused; allowed: a whole number"),
    ("federation.batch_size", True, "federation.batch_size: True is refused; allowed: a whole number"),
    ("federation.batch_size", 51, "federation.batch_size: 51 is refused; allowed: 1 to the fewest examples"),
    ("federation.batch_size", 0, "federation.batch_size: 0 is refused; allowed: 1 or more"),
    ("federation.clients_per_round", 101, "federation.clients_per_round: 101 is refused; allowed: 1 to"),
    ("federation.client_lr", "1e-4", "federation.client_lr: '1e-4' is refused; allowed: a number (YAML wants a point"),
    ("federation.client_lr", float("nan"), "federation.client_lr: nan is refused; allowed: a finite number"),
    ("federation.momentum", 1.0, "federation.momentum: 1.0 is refused; allowed: 0 to 0.999"),
    ("federation.clip", -1, "federation.clip: -1.0 is refused; allowed: above 0"),
    ("federation", 5, "federation: 5 is refused; allowed: a mapping with the keys clients_per_round"),
    ("stop.accuracy", 1.01, "stop.accuracy: 1.01 is refused; allowed: above 0, at most 1"),
    ("stop.accuracy", 93, "stop.accuracy: 93.0 is refused"),
    ("stop.max_rounds", 5, "stop.min_rounds: 10 is refused; allowed: at most max_rounds (5)"),
    ("certificate.sigma", -0.1, "certificate.sigma: -0.1 is refused; allowed: 0 or more"),
    ("certificate.delta", 1.0, "certificate.delta: 1.0 is refused; allowed: above 1e-12, below 1"),
    ("certificate.epsilon", 0, "certificate.epsilon: 0.0 is refused; allowed: 0.001 to 1000"),
    ("dataset.name", "mnits", "dataset.name: 'mnits' is refused (did you mean mnist?); allowed: mnist | "),
    ("dataset.source", "web", "dataset.source: 'web' is refused; allowed: auto | torchvision"),
    ("dataset", {"name": "fashionmnist", "source": "embedded"}, "dataset.source: 'embedded' is refused"),
    ("model", "cnn32", "model: 'cnn32' is refused; allowed: logistic | cnn28"),
    ("partition", [1], "partition.kind: [1] is refused; allowed: one_class | dirichlet"),
    ("partition.kind", ["one_class"], "partition.kind: ['one_class'] is refused"),
    ("partition.num_clients", 1, "partition.num_clients: 1 is refused; allowed: 2 or more"),
    ("partition", {"kind": "dirichlet", "alpha": 1e300}, "partition.alpha: 1e+300 is refused"),
    ("federation.client_lr", 10**400, "allowed: a finite number"),
    ("partition.kind", "one_clas", "'one_clas' is refused (did you mean one_class?); allowed: one_class | dirichlet"),
    ("partition", "iid", "a mapping with the keys kind, num_clients"),
    ("partition", {"kind": "dirichlet"}, "partition.alpha: None is refused; allowed: it must be given"),
    ("partition", {"kind": "natural", "min_examples": 50}, "only with a dataset that names its persons"),
    ("requests", {"kind": "listed", "clients": [[1, 2], [2, 3]]}, "requests.clients[1]: 2 is refused; allowed: each"),
    ("requests", {"kind": "listed", "clients": [[1, 100]]}, "requests.clients[0]: 100 is refused; allowed: clients 0"),
    ("requests", {"kind": "listed", "clients": [[]]}, "requests.clients[0]: [] is refused; allowed: at least one"),
    ("requests", {"kind": "listed", "clients": [1, 2]}, "requests.clients[0]: 1 is refused; allowed: a list"),
    ("requests", {"kind": "one_class", "classes": [0, 10]}, "requests.classes[1]: 10 is refused"),
    ("requests", {"kind": "one_class", "classes": [3, 3]}, "requests.classes[1]: 3 is refused"),
    ("requests", {"kind": "one_class", "classes": list(range(10))}, "some clients must remain"),
    ("requests", {"kind": "random", "num_requests": 10}, "some clients must remain: 100 of 100"),
    ("watermark", {"pixels": 785}, "watermark.pixels: 785 is refused; allowed: 1 to 784"),
    ("watermark", {"per": "class"}, "watermark.per: 'class' is refused; allowed: client | group"),
    ("budgets", [0.5, 1.5], "budgets: 1.5 is refused; allowed: above 0, at most 1"),
    ("budgets", [0.333], "budgets: [0.333] is refused; allowed: different shares in whole per cents"),
    ("budgets", [0.25, 0.25], "budgets: [0.25, 0.25] is refused"),
    ("snapshot_every", 0, "snapshot_every: 0 is refused; allowed: 1 or more"),
]


@pytest.mark.parametrize(("key", "value", "words"), BAD_SCENARIOS)
def test_bad_scenarios_are_refused(key: str, value: Any, words: str) -> None:
    data = copy.deepcopy(GOOD)
    *path, last = key.split(".")
    inner = data
    for part in path:
        inner = inner[part]
    if value == "del":
        del inner[last]
    else:
        inner[last] = value
    with pytest.raises(ConfigError) as caught:
        build(Scenario, data, "scenarios.x")
    sentence = str(caught.value)
    assert words in sentence
    assert sentence.startswith("scenarios.x")
    assert "\n" not in sentence


BAD_RUNS: list[tuple[dict[str, Any], str]] = [
    ({"sedes": 3}, "sedes: 3 is refused; allowed: only the keys scenarios"),
    ({"num_seeds": 0}, "num_seeds: 0 is refused; allowed: 1 to 100000"),
    ({"first_seed": 10**30}, "allowed: 0 to 1000000000"),
    ({"scenarios": []}, "scenarios: [] is refused; allowed: at least one"),
    ({"num_seeds": "3"}, "num_seeds: '3' is refused; allowed: a whole number"),
    ({"device": "gpu"}, "device: 'gpu' is refused (did you mean cuda?); allowed: auto | cpu | cuda"),
    ({"scenarios": ["mnits"]}, "scenarios: 'mnits' is refused (did you mean mnist?); allowed: one of mnist_embedded"),
    ({"scenarios": "smoke"}, "scenarios: 'smoke' is refused; allowed: a list"),
    ({"variants": ["sfu"]}, "variants: 'sfu' is refused (did you mean sifu?); allowed: one of original"),
    ({"variants": []}, "variants: [] is refused; allowed: scratch among them"),
    ({"variants": ["sifu"]}, "variants: ['sifu'] is refused; allowed: scratch among them"),
    ({"scenarios": ["celeba"]}, "scenarios.celeba: dataset celeba is missing: looked for"),
    ({"shown": ["sifoo"]}, "shown: 'sifoo' is refused (did you mean sifu?); allowed: null (all), or some of the run's"),
    ({"shown": ["sifu_released"]}, "shown: 'sifu_released' is refused (did you mean dp_default_released?)"),
    ({"shown": []}, "shown: [] is refused; allowed: at least one of the run's variants; null: all"),
    ({"shown": "sifu"}, "shown: 'sifu' is refused; allowed: a list"),
    ({"block_size": 0}, "block_size: 0 is refused; allowed: 1 or more"),
    (
        {"sigma_sweep": {"scenarios": ["smoke"], "values": []}},
        "sigma_sweep.values: [] is refused; allowed: at least one",
    ),
    (
        {"setting_sweeps": [{"scenarios": ["smoke"], "variant": "puf", "key": "factor", "values": []}]},
        "setting_sweeps[0].values: [] is refused; allowed: at least one",
    ),
    ({"request_sets": {"scenarios": ["smoke"], "variants": []}}, "request_sets.variants: [] is refused"),
    (
        {"audits": {"scenarios": ["smoke"], "variants": ["sifu"], "requests": [4]}},
        "audits.requests: [4] is refused; allowed: numbers from 1 to 3, the requests of smoke",
    ),
    (
        {"oracles": {"scenarios": ["mnist_embedded_twins"], "variants": ["sifu"], "requests": [9]}},
        "oracles.requests: [9] is refused; allowed: numbers from 1 to",
    ),
]


@pytest.mark.parametrize(("change", "words"), BAD_RUNS)
def test_bad_runs_are_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    raw = read_yaml(CONFIG / "config.yaml") | change
    with pytest.raises(SifuError) as caught:
        load_suite(raw, CONFIG, {"SIFU_DATA_ROOT": str(tmp_path)})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("requests", [{"kind": "listed", "clients": []}, {"kind": "one_class", "classes": []}], ids=str)
def test_a_run_without_a_request_is_refused(requests: dict[str, Any], tmp_path: Path) -> None:
    """Where a request is read from, an empty list is none: every stage after the training failed on it."""
    (tmp_path / "scenarios.yaml").write_text(yaml.safe_dump({"mine": GOOD | {"requests": requests}}))
    raw = {"scenarios": ["mine"], "variants": ["scratch"]}
    words = rf"^scenarios\.mine\.requests: '{requests['kind']}' is refused; allowed: at least one request"
    with pytest.raises(ConfigError, match=words):
        load_suite(raw, tmp_path, {"SIFU_DATA_ROOT": str(tmp_path)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"certificate": {"sigma": -1.0}}, r"variants\.x\.certificate\.sigma: -1\.0 is refused"),
        ({"certificate": {"preset": "lax"}}, "certificate.preset: 'lax' is refused; allowed: published"),
        ({"certificate": 3}, "certificate: 3 is refused; allowed: a mapping"),
        ({"settings": {"speed": 1}}, r"variants\.x\.settings\.speed: 1 is refused; allowed: only the keys"),
        ({"method": "sifoo"}, "method: 'sifoo' is refused"),
        ({"sgima": 1}, "sgima"),
    ],
)
def test_bad_variants_are_refused(change: dict[str, Any], words: str) -> None:
    def use() -> None:
        variant = build(Variant, {"label": "x", "method": "sifu"} | change, "variants.x")
        method_of("x", variant, build(Scenario, GOOD, "x"))

    with pytest.raises(ConfigError, match=words):
        use()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1", "is not valid YAML"),
        ("- a\n- b", "must hold a mapping"),
        ("a: 1\nb: 2\na: 3", "the key a is given twice, in lines 1 and 3: keep one"),
        ("", "must hold a mapping of keys to values, such as `num_seeds: 4`; it is empty"),
        ("a:\n\tb: 1", "not valid YAML: line 2: it is indented with a tab; YAML wants spaces"),
        ("1: 2\n'1': 3", "the key 1 is given twice, in lines 1 and 2"),
    ],
)
def test_bad_yaml_is_one_sentence(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(SifuError, match=words) as caught:
        read_yaml(tmp_path / "x.yaml")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SifuError, match=r"cannot read .*x\.yaml: No such file"):
        read_yaml(tmp_path / "x.yaml")
    with pytest.raises(SifuError, match="Is a directory"):
        read_yaml(tmp_path)
    (tmp_path / "x.yaml").write_bytes(b"a: \xff")
    with pytest.raises(SifuError, match="can't decode byte"):
        read_yaml(tmp_path / "x.yaml")


@pytest.mark.parametrize("name", ["Smoke-2", "1", "a b"])
def test_names_of_scenarios_are_checked(name: str, tmp_path: Path) -> None:
    (tmp_path / "scenarios.yaml").write_text(yaml.safe_dump({name: GOOD}))
    with pytest.raises(ConfigError, match="names of lower case letters"):
        load_scenario(tmp_path / "scenarios.yaml", "smoke", tmp_path)


def test_missing_data_can_be_skipped_or_downloaded(tmp_path: Path) -> None:
    raw = read_yaml(CONFIG / "config.yaml") | {"scenarios": ["mnist", "smoke"]}
    skipped = load_suite(raw | {"missing_data": "skip"}, CONFIG, {"SIFU_DATA_ROOT": str(tmp_path)})
    assert list(skipped.scenarios) == ["smoke"]
    assert "dataset mnist is missing" in skipped.skipped["mnist"]
    (alone,) = skipped.notices()
    assert alone.startswith("scenario mnist is left out: dataset mnist is missing: looked for")
    raw_two = raw | {"scenarios": ["mnist", "mnist_watermark", "smoke", "cifar10"], "missing_data": "skip"}
    both, other = load_suite(raw_two, CONFIG, {"SIFU_DATA_ROOT": str(tmp_path)}).notices()
    assert both.startswith("scenarios mnist, mnist_watermark are left out: dataset mnist is missing: looked for")
    assert other.startswith("scenario cifar10 is left out")
    downloading = load_suite(raw | {"download": True}, CONFIG, {"SIFU_DATA_ROOT": str(tmp_path)})
    assert downloading.scenarios["mnist"].dataset.source == "torchvision"


def test_requests_by_class_are_the_clients_of_that_class() -> None:
    lists = request_lists(build(Scenario, GOOD, "x"))
    assert lists is not None
    assert lists[1] == tuple(range(1, 100, 10))


def test_shipped_yaml_is_plain() -> None:
    for path in CONFIG.glob("*.yaml"):
        assert yaml.safe_load(path.read_text()) == read_yaml(path)


def test_noise_in_rounds_is_not_a_scenarios(tmp_path: Path) -> None:
    raw = read_yaml(CONFIG / "scenarios.yaml")["smoke"]
    raw["federation"]["privacy"] = {"update_clip": 1.0, "noise": 0.1}
    (tmp_path / "scenarios.yaml").write_text(yaml.safe_dump({"private": raw}))
    with pytest.raises(ConfigError, match="noise belongs to a method"):
        load_scenario(tmp_path / "scenarios.yaml", "private", tmp_path)


def test_shards_are_not_a_scenarios(tmp_path: Path) -> None:
    raw = read_yaml(CONFIG / "scenarios.yaml")["smoke"]
    raw["federation"]["shards"] = {"count": 2, "num_clients": 20}
    (tmp_path / "scenarios.yaml").write_text(yaml.safe_dump({"parts": raw}))
    with pytest.raises(ConfigError, match="shards belong to a method"):
        load_scenario(tmp_path / "scenarios.yaml", "parts", tmp_path)
