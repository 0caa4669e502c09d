"""Whatever stands in a config or a results file: an answer or one sentence, never an exception from the depths."""

from __future__ import annotations

import contextlib
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sifu.config.fields import build
from sifu.config.run import Run
from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.errors import SifuError
from sifu.federation.segment_file import read_history
from sifu.plan.load import load_suite, read_yaml
from sifu.store.experiment_schemas import SEARCH
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import provenance
from sifu.store.tensors import read_weights
from tests.conftest import REPO

MANY = settings(
    max_examples=7 * settings().max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
ODD = st.sampled_from(["", "..", "/etc", "a/b", "a;b", "$(x)", "`x`", "a\nb", "\x00", "ä", "null", "1e999", "scratch"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | ODD
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@cache
def example(name: str) -> dict[str, Any]:
    """A valid one of each kind to start from."""
    if name == "run":
        return dict(read_yaml(REPO / "config/whole.yaml"))
    found = read_yaml(REPO / f"config/{name}s.yaml")
    return dict(found["smoke_cnn" if name == "scenario" else "dp_smoke"])


def changed(data: st.DataObject, plain: Any) -> Any:
    """The same with something else at a place of any depth."""
    if isinstance(plain, dict) and plain and data.draw(st.integers(0, 4)):
        key = data.draw(st.sampled_from(sorted(plain, key=str)))
        return plain | {key: changed(data, plain[key])}
    if isinstance(plain, list) and plain and data.draw(st.integers(0, 4)):
        place = data.draw(st.integers(0, len(plain) - 1))
        return [*plain[:place], changed(data, plain[place]), *plain[place + 1 :]]
    if isinstance(plain, dict) and data.draw(st.booleans()):
        return plain | {data.draw(st.text(max_size=6) | st.integers()): data.draw(VALUES)}
    return data.draw(VALUES)


@MANY
@given(data=st.data())
@pytest.mark.parametrize(("name", "kind"), [("run", Run), ("scenario", Scenario), ("variant", Variant)])
def test_settings_are_built_or_refused(name: str, kind: type, data: st.DataObject) -> None:
    with contextlib.suppress(SifuError):
        build(kind, changed(data, example(name)), name)


@MANY
@given(data=st.data())
def test_a_plan_is_made_or_refused(data: st.DataObject) -> None:
    with contextlib.suppress(SifuError):
        suite = load_suite(changed(data, example("run")), REPO / "config", {})
        _ = suite.report_plan()


@MANY
@given(text=st.text(max_size=60) | VALUES.map(lambda value: yaml.safe_dump(value, allow_unicode=True)))
def test_a_config_file_is_read_or_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(SifuError):
        read_yaml(path)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small valid Parquet table."""
    path = tmp_path_factory.mktemp("table") / "search.parquet"
    row = {"scenario": "a", "variant": "b", "setting": "c", "value": "1", "seed": 0, "status": "done", "rounds": 1}
    row |= {"place": 0, "client_steps": 1, "accuracy": 0.5, "forget_accuracy": 0.1, "retrained_accuracy": 0.1}
    frame = pd.DataFrame([row | {"chosen": True}])
    write_table(path, SEARCH, frame, provenance("search", {}, "", "cpu"))
    return path.read_bytes()


@MANY
@given(place=st.integers(0, 10**6), new=st.binary(min_size=0, max_size=8), cut=st.integers(0, 10**6))
def test_a_damaged_table_is_read_or_refused(table: bytes, tmp_path: Path, place: int, new: bytes, cut: int) -> None:
    path, place = tmp_path / "damaged.parquet", place % len(table)
    path.write_bytes((table[:place] + new + table[place + len(new) :])[: cut % (2 * len(table)) or None])
    for read in (lambda: read_table(path, SEARCH), lambda: read_stamp(path)):
        with contextlib.suppress(SifuError):
            read()


@MANY
@given(content=st.binary(max_size=200))
def test_bytes_that_are_no_weights_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(content)
    for read in (read_weights, read_history):
        with pytest.raises(SifuError):
            read(path)
