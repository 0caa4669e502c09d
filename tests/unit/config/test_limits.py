"""Impossible settings: numbers without end, lists with something twice, folders of the suite, invisible letters."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import typing
from pathlib import Path
from typing import Any

import pytest
import yaml

import sifu.config
import sifu.methods
from sifu.cli.key_values import key_values
from sifu.config.allowed import ORDINARY
from sifu.config.changed_scenario import Change
from sifu.config.fields import build
from sifu.config.run import Run
from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.errors import ConfigError, SifuError, did_you_mean
from sifu.plan.load import load_suite, read_named
from tests.conftest import REPO
from tests.unit.plan.test_load import GOOD

PLAIN: dict[str, Any] = {"scenarios": ["smoke"], "variants": ["scratch"]}


def is_settings(kind: object) -> bool:
    made = isinstance(kind, type) and dataclasses.is_dataclass(kind)
    return made and any("meaning" in field.metadata for field in dataclasses.fields(kind))  # type: ignore[arg-type]


def all_settings() -> list[type]:
    """Every settings class of configs and methods."""
    found: list[type] = []
    for package in (sifu.config, sifu.methods):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            found += filter(is_settings, vars(importlib.import_module(module.name)).values())
    return sorted(set(found), key=lambda kind: kind.__name__)


def numbers(kind: type) -> list[tuple[dataclasses.Field[Any], type]]:
    hints = typing.get_type_hints(kind)
    options = {name: {hint, *typing.get_args(hint)} for name, hint in hints.items()}
    fields = [field for field in dataclasses.fields(kind) if "meaning" in field.metadata]
    return [(field, number) for field in fields for number in (int, float) if number in options[field.name]]


@pytest.mark.parametrize("kind", all_settings(), ids=lambda kind: kind.__name__)
def test_every_number_has_an_upper_limit(kind: type) -> None:
    """10^30 rounds and 10^12 clients hung or overflowed; a step size may be as large as float32 holds."""
    for field, number in numbers(kind):
        allowed = field.metadata["allowed"] or ORDINARY
        assert not allowed.test(number(10**39)), f"{kind.__name__}.{field.name} has no upper limit"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stop.max_rounds", 10**30),
        ("partition.num_clients", 10**12),
        ("partition.num_clients", 10**6),
        ("partition.examples", 10**7),
        ("federation.local_steps", 10**9),
        ("federation.batch_size", 10**300),
        ("federation.client_lr", 1e39),
        ("snapshot_every", 10**6),
        ("alpha_clients", 10**18),
        ("certificate.sigma", 1e200),
        ("certificate.sigma", float("nan")),
        ("certificate.sigma", float("inf")),
        ("federation.local_steps", True),
        ("federation.local_steps", "5"),
        ("federation.client_lr", "0.1"),
        ("federation.client_lr", 10**400),
        ("requests.size", 10**5000),
    ],
    ids=lambda value: str(value)[:20] if not isinstance(value, int) else "number",
)
def test_absurd_numbers_are_refused(key: str, value: object) -> None:
    scope, _, name = key.rpartition(".")
    changed = GOOD | ({scope: GOOD[scope] | {name: value}} if scope else {name: value})
    with pytest.raises(ConfigError, match="is refused; allowed") as refused:
        build(Scenario, changed, "x")
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    "change",
    [
        {"scenarios": ["smoke", "smoke"]},
        {"variants": ["scratch", "sifu", "scratch"]},
        {"shown": ["scratch", "scratch"]},
        {"only": [{"scenario": "smoke", "variants": ["scratch", "scratch"]}]},
        {"only": [{"scenario": "smoke", "variants": ["scratch"]}] * 2},
        {"sigma_sweep": {"scenarios": ["smoke"], "values": [0.1, 0.1]}},
        {"sigma_sweep": {"scenarios": ["smoke", "smoke"], "values": [0.1]}},
        {"request_sets": {"scenarios": ["smoke"], "variants": ["scratch", "scratch"]}},
        {"audits": {"scenarios": ["smoke"], "variants": ["sifu"], "requests": [1, 1]}},
    ],
    ids=str,
)
def test_nothing_is_listed_twice(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"each value once|one entry a scenario"):
        load_suite(PLAIN | change, REPO / "config", {})


@pytest.mark.parametrize(
    "results",
    [
        "sifu",
        "config",
        "./config/x",
        "Tests/a",
        "docs",
        "examples/flower",
        "workflow",
        ".git",
        "a/.git",
        ".snakemake/x",
        "x" * 300,
    ],
)
def test_results_do_not_lie_in_the_suite(results: str) -> None:
    with pytest.raises(ConfigError, match=r"^results: .*none of the suite's own"):
        load_suite(PLAIN | {"results": results}, REPO / "config", {})


@pytest.mark.parametrize("text", ["a\0b", "a\nb", "a\x1b[31mb", "a\u202eb", "a\u2028b", "x" * 201, "\ud800"], ids=repr)
def test_texts_are_one_visible_line(text: str) -> None:
    """NUL bytes in paths; in labels lines, colours of terminals and marks that turn the direction of writing."""
    for make in (
        lambda: build(Variant, {"label": text, "method": "scratch"}, "x"),
        lambda: build(Scenario, GOOD | {"label": text}, "x"),
        lambda: build(Run, PLAIN | {"data_root": text}, ""),
        lambda: build(Change, {"name": "a", "label": text, "change": {"momentum": 0.0}}, "x"),
    ):
        with pytest.raises(ConfigError, match="texts of one line of at most 200 visible characters"):
            make()


@pytest.mark.parametrize("text", ["", " ", "\u00a0", "\u3164", "\u2800", "\ufe0f"], ids=ascii)
def test_a_label_has_something_to_see(text: str) -> None:
    with pytest.raises(ConfigError, match="a text with something to see"):
        build(Variant, {"label": text, "method": "scratch"}, "x")


@pytest.mark.parametrize("text", ["Scratch ", "Scratch\ufe0f", "\uff33cratch", "Scratch\u3164"], ids=ascii)
def test_labels_that_look_alike_are_refused(tmp_path: Path, text: str) -> None:
    both = {"scratch": {"label": "Scratch", "method": "scratch"}, "other": {"label": text, "method": "scratch"}}
    (tmp_path / "variants.yaml").write_text(yaml.safe_dump(both))
    with pytest.raises(ConfigError, match="variants with different labels; those of scratch and other look alike"):
        load_suite(PLAIN | {"variants": list(both)}, tmp_path, {})


def test_a_name_fits_into_a_folder(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(yaml.safe_dump({"a" * 300: {}}))
    with pytest.raises(ConfigError, match="names of lower case letters"):
        read_named(Scenario, tmp_path / "x.yaml", "scenarios")


def test_too_many_combinations_are_not_tried() -> None:
    """Ten values of ten settings are 10^10."""
    grid = {f"key_{n}": list(range(10)) for n in range(10)}
    with pytest.raises(ConfigError, match="10000000000 combinations' is refused; allowed: at most 1000"):
        build(Variant, {"label": "x", "method": "scratch", "search": {"grid": grid}}, "x")


def test_a_plan_that_fits_nowhere_is_refused() -> None:
    with pytest.raises(ConfigError, match="a plan of at most 100000 jobs: raise block_size"):
        load_suite(
            PLAIN | {"variants": ["scratch", "sifu", "last"], "num_seeds": 10**5, "block_size": 1}, REPO / "config", {}
        )


def test_error_messages_are_short() -> None:
    """Of a key, a value and a name of a megabyte."""
    long = "k" * 10**6
    with pytest.raises(ConfigError) as refused:
        build(Run, PLAIN | {long: [long] * 10}, "")
    assert len(str(refused.value)) < 1000
    assert did_you_mean(long, ["kk"]) == ""
    assert "thousands of digits" in str(ConfigError("a", 10**5000, "less"))


def test_values_of_the_command_line() -> None:
    assert key_values(["a=0", "b=0.5", "c=[x, 00]", "d='010'"]) == {"a": 0, "b": 0.5, "c": ["x", 0], "d": "010"}
    for value in ("[" * 3000, "1" * 5000, "2001-13-45", "!!int ''", "!!bool x", "010", "1:30", "{a: 1, a: 2}"):
        with pytest.raises(SifuError, match="--set"):
            key_values([f"num_seeds={value}"])
