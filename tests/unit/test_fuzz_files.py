"""Files of somebody else, thousands of each kind: read, or refused in one sentence, in seconds and within a gigabyte.

`make test` tries some of each kind, `make test-all` ten thousand.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import struct
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from sifu.config.fields import build
from sifu.config.run import Run
from sifu.config.scenario import Scenario
from sifu.config.yaml_file import read_yaml
from sifu.data.batch_file import read_batch
from sifu.data.decode import decode_image
from sifu.data.idx import read_idx
from sifu.errors import SifuError
from sifu.federation.segment_file import read_history
from sifu.store.experiment_schemas import SEARCH
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import provenance
from sifu.store.tensors import read_weights
from tests.conftest import REPO
from tests.dataset_folders import RANDOM, png, python2_pickle
from tests.memory import bounded_memory

MANY = settings(
    max_examples=10_000 if settings().max_examples >= 100 else 25,  # 100: the profile of `make test-all`
    deadline=timedelta(seconds=5),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
PLACES = st.lists(st.tuples(st.integers(0, 10**6), st.binary(min_size=1, max_size=6)), min_size=1, max_size=4)
SIZES = st.sampled_from([0, 1, 2, 28, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1])


@pytest.fixture(scope="module", autouse=True)
def within_a_gigabyte() -> Iterator[None]:
    with bounded_memory(1000):
        yield


def damaged(content: bytes, places: list[tuple[int, bytes]], cut: int) -> bytes:
    """Some bytes replaced; `cut` shortens one file in four."""
    for place, new in places:
        place %= len(content)
        content = content[:place] + new + content[place + len(new) :]
    return content[: cut // 4 % len(content)] if cut % 4 == 0 else content


KEYS = st.sampled_from(
    ["a", "scenarios", "num_seeds", "<<", "? ", "=", "2001-01-01", "'x'", "~", "[1]", "{a: b}", "*a", "&a b"]
)
NUMBERS = ["1", "-1", "1e999", ".nan", "0x_", "1:59:59", "2001-13-45", "~", "'", '"\\ud800"', "9" * 5000, "x" * 2000]
TAGS = ["!!int ''", "!!set {a}", "!!omap [a: 1]", "!<tag> x", "&a [1]", "*a", "&b {<<: *a}"]
SIGNS = ["[[[", "}", "- - -", "|", ">-", "%YAML 9", "\t", "\0", "\ufeff"]
VALUES = st.sampled_from([*NUMBERS, *TAGS, *SIGNS])
LINES = st.lists(st.tuples(st.integers(0, 60), KEYS, VALUES | st.text(max_size=12)), max_size=12)


@MANY
@given(lines=LINES, end=st.sampled_from(["", "[" * 3000, "{a: " * 3000, "- " * 3000, "&x " * 50, "*a, " * 50]))
def test_yaml(lines: list[tuple[int, str, str]], end: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    text = "".join(f"{' ' * indent}{key}: {value}\n" for indent, key, value in lines) + end
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(SifuError):
        data = read_yaml(path)
        for kind in (Run, Scenario):
            with contextlib.suppress(SifuError):
                build(kind, data, "x")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Thirty rows, where they belong."""
    path = tmp_path_factory.mktemp("table") / "search.parquet"
    row = {"scenario": "a", "variant": "b", "setting": "c", "status": "done", "rounds": 1, "client_steps": 1}
    row |= {"forget_accuracy": 0.1, "retrained_accuracy": 0.1}
    rows = [row | {"seed": n, "place": n, "value": f"{n}", "accuracy": n / 30, "chosen": n == 1} for n in range(30)]
    write_table(path, SEARCH, pd.DataFrame(rows), provenance("search", {}, "", "cpu"))
    return path.read_bytes()


@MANY
@given(places=PLACES, cut=st.integers(0, 10**6), at_end=st.booleans())
def test_parquet_tables(table: bytes, tmp_path: Path, places: list[tuple[int, bytes]], cut: int, at_end: bool) -> None:
    """Half of them are damaged in the description at their end, which says how long everything is."""
    path = tmp_path / "search/a/b/s000-029/search.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    footer = len(table) - 8 - struct.unpack("<I", table[-8:-4])[0]
    moved = [(footer + place % (len(table) - footer), new) for place, new in places] if at_end else places
    path.write_bytes(damaged(table, moved, cut))
    with contextlib.suppress(SifuError):
        rows = read_table(path, SEARCH)
        assert set(rows["scenario"]) <= {"a"}
    with contextlib.suppress(SifuError):
        read_stamp(path)


ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["F32", "F64", "I64", "BOOL", "F8_E4M3", "BF16", "U8", "X", ""]) | st.integers(),
        "shape": st.lists(st.integers(-2, 5) | SIZES | st.just(2**63), max_size=5) | st.none(),
        "data_offsets": st.lists(st.integers(-1, 40) | SIZES | st.just(2**64 - 1), max_size=3) | st.text(max_size=3),
    },
)
NAMES = st.sampled_from(["start", "final", "rounds", "a/b/weights", "", "\u202e"]) | st.text(max_size=4)
SIFU = st.sampled_from(
    ["{}", "[]", "[" * 5000, '{"checksum": 0}', '{"rules_version": 1}', '{"status": 3}', "9" * 5000, "nan"]
)
STAMPS = st.dictionaries(st.sampled_from(["sifu", "x"]), SIFU, max_size=2) | st.integers() | st.none()


@MANY
@given(
    entries=st.dictionaries(NAMES, ENTRY, max_size=4),
    stamp=STAMPS,
    length=st.none() | SIZES,
    data=st.binary(max_size=40),
)
def test_safetensors_headers(
    tmp_path: Path, entries: dict[str, Any], stamp: object, length: int | None, data: bytes
) -> None:
    """Overlapping and negative places, shapes that overflow, and a header that is longer than its file."""
    path = tmp_path / "weights.safetensors"
    text = json.dumps(entries | {"__metadata__": stamp}).encode("utf-8", "surrogatepass")
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    for read in (read_weights, read_history):
        with pytest.raises(SifuError):
            read(path)


@MANY
@given(
    code=st.integers(0, 255) | st.sampled_from([8, 9, 11, 12, 13, 14]),
    sizes=st.lists(SIZES | st.integers(0, 5), max_size=6) | st.lists(st.just(1), min_size=90, max_size=120),
    values=st.binary(max_size=64),
    damage=st.none() | st.tuples(PLACES, st.integers(0, 10**6)),
    packed=st.booleans(),
)
def test_idx(
    tmp_path: Path, code: int, sizes: list[int], values: bytes, damage: tuple[Any, int] | None, packed: bool
) -> None:
    content = bytes([0, 0, code, len(sizes)]) + struct.pack(f">{len(sizes)}I", *sizes) + values
    content = gzip.compress(content, mtime=0) if packed else content
    for name in ("x", "x.gz"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / ("x.gz" if packed else "x")).write_bytes(content if damage is None else damaged(content, *damage))
    with contextlib.suppress(SifuError):
        assert read_idx(tmp_path, "x.gz", check_files=False).ndim == len(sizes)


def jpeg(*, progressive: bool) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(RANDOM.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(buffer, "JPEG", progressive=progressive)
    return buffer.getvalue()


IMAGES = {
    "png": png(RANDOM.integers(0, 256, (32, 32, 3), dtype=np.uint8)),
    "grey png": png(RANDOM.integers(0, 256, (32, 32), dtype=np.uint8)),
    "jpeg": jpeg(progressive=False),
    "progressive jpeg": jpeg(progressive=True),
    "gif": b"GIF89a \0 \0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0 \0 \0\0\x02\x02D\x01\0;",
    "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 32 32\n%%EndComments\nshowpage\n",
}


@MANY
@given(name=st.sampled_from(sorted(IMAGES)), places=PLACES, cut=st.integers(0, 10**6), resize=st.booleans())
def test_images(name: str, places: list[tuple[int, bytes]], cut: int, resize: bool) -> None:
    with contextlib.suppress(SifuError):
        image = decode_image(damaged(IMAGES[name], places, cut), (3, 32, 32), "x", resize=resize)
        assert image.shape == (3, 32, 32)
        assert image.dtype == np.uint8


BATCH = python2_pickle(np.zeros((1, 3072), np.uint8), [3])


@MANY
@given(places=PLACES, cut=st.integers(0, 10**6), tail=st.binary(max_size=40))
def test_pickled_batches(places: list[tuple[int, bytes]], cut: int, tail: bytes) -> None:
    """Most damage is among the opcodes before and behind the pixels."""
    moved = [(place % 200 - 100, new) for place, new in places]
    for content in (damaged(BATCH, moved, cut), tail):
        with contextlib.suppress(SifuError):
            read_batch(content)


def test_the_files_that_are_damaged_here_are_good(table: bytes, tmp_path: Path) -> None:
    path = tmp_path / "search/a/b/s000-029/search.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(table)
    assert len(read_table(path, SEARCH)) == 30
    assert read_batch(BATCH)["labels"] == [3]
    for name in ("png", "grey png", "jpeg", "progressive jpeg"):
        assert decode_image(IMAGES[name], (3, 32, 32), name).shape == (3, 32, 32)
    assert "smoke" in read_yaml(REPO / "config" / "scenarios.yaml")
