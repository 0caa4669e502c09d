"""Datasets of somebody else: reading one starts no program, fills no memory and ends no process."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import EpsImagePlugin, Image, PngImagePlugin

from sifu.data.batch_file import read_batch
from sifu.data.decode import decode_image
from sifu.data.idx import read_idx
from sifu.errors import DataError
from tests.dataset_folders import png, python2_pickle, read, write_cifar10, write_idx, write_mnist, write_parquet
from tests.memory import bounded_memory

CIFAR = (3, 32, 32)
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 32 32\n%%EndComments\nshowpage\n%%EOF\n"


def with_image(root: Path, image: bytes) -> None:
    write_parquet(root, image=pa.array([image] * 6, pa.binary()))


def test_an_eps_starts_no_ghostscript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for `gs` on the path says whether it was started."""
    program, started = tmp_path / "bin" / "gs", tmp_path / "started"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {started}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)  # Pillow remembers whether there is one
    with_image(tmp_path, EPS)
    with pytest.raises(DataError, match="image in row 0 does not decode as an image: it is neither a PNG nor a JPEG"):
        read("cifar10", tmp_path).train.pixels(np.arange(1))
    assert not started.exists()


def grey_png(width: int, height: int, *, bits: int = 8, kind: int = 0, data: bytes | None = None) -> bytes:
    """A PNG of zeros by hand: a chunk each of header, pixels and end."""
    row = 1 + width * bits // 8 * {0: 1, 2: 3}[kind]
    packer = zlib.compressobj(9)
    pixels = data or b"".join(packer.compress(bytes(row)) for _ in range(height)) + packer.flush()
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)), (b"IDAT", pixels), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def test_a_small_file_does_not_become_a_large_image(tmp_path: Path) -> None:
    """9,400 x 9,400 grey pixels (88 million, below Pillow's own limit) are 90 kB here, and 350 MB as RGB and float."""
    with_image(tmp_path, grey_png(9400, 9400))
    with bounded_memory(50), pytest.raises(DataError, match="is 9400 x 9400 pixels, expected 32 x 32"):
        read("cifar10", tmp_path).train.pixels(np.arange(1))


@pytest.mark.parametrize("size", [9400, 12_000, 40_000])
def test_a_large_image_is_refused_before_it_is_resized(size: int) -> None:
    """Pillow warns from 89 million pixels on, and refuses from 179 million on."""
    with bounded_memory(50), pytest.raises(DataError, match=r"expected at most|does not decode"):
        decode_image(grey_png(size, size, data=b"x"), (3, 64, 64), "x", resize=True)


@pytest.mark.parametrize("kind", [0, 2])
def test_sixteen_bits_are_not_cut_in_silence(tmp_path: Path, kind: int) -> None:
    """A grey of 40,000 of 65,535 was 255 of 255; colours lost their lower byte."""
    row = b"\0" + struct.pack(">H", 40_000) * (32 * (3 if kind else 1))
    with_image(tmp_path, grey_png(32, 32, bits=16, kind=kind, data=zlib.compress(row * 32)))
    with pytest.raises(DataError, match="has 16 bits a channel, expected at most 8"):
        read("cifar10", tmp_path).train.pixels(np.arange(1))


def test_a_png_begins_with_its_header() -> None:
    """Pillow reads one that comes later: its 16 bits would be cut in silence."""
    row = b"\0" + struct.pack(">H", 40_000) * (32 * 3)
    whole = grey_png(32, 32, bits=16, kind=2, data=zlib.compress(row * 32))
    with pytest.raises(DataError, match="its first chunk is not its header"):
        decode_image(whole[:8] + _chunk(b"tEXt", b"k\0v") + whole[8:], CIFAR, "x")


def test_a_file_of_a_known_shape_is_not_much_larger_than_its_pixels() -> None:
    """Pillow takes a second for a million empty chunks."""
    whole = png(np.zeros((32, 32, 3), np.uint8))
    with pytest.raises(DataError, match="it has more than 90112 bytes"):  # 2^16 and 8 a value
        decode_image(whole[:33] + _chunk(b"prIv", b"") * 10_000 + whole[33:], CIFAR, "x")


def test_eight_bits_of_any_kind_are_read() -> None:
    """Palettes, transparency and single bits hold no more than eight."""
    image = Image.fromarray(np.arange(1024, dtype=np.uint8).reshape(32, 32))
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA"):
        buffer = io.BytesIO()
        image.convert(mode).save(buffer, "PNG")
        assert decode_image(buffer.getvalue(), CIFAR, mode).shape == CIFAR


def test_texts_in_a_png_fill_no_memory() -> None:
    """500 MB of zeros in a compressed text, before the pixels."""
    info = PngImagePlugin.PngInfo()
    buffer = io.BytesIO()
    Image.new("L", (32, 32)).save(buffer, "PNG", pnginfo=info)
    packer = zlib.compressobj(9)
    text = b"".join(packer.compress(bytes(10**6)) for _ in range(100)) + packer.flush()
    whole = buffer.getvalue()
    bomb = whole[:33] + _chunk(b"zTXt", b"k\0\0" + text) * 5 + whole[33:]
    with bounded_memory(200), pytest.raises(DataError, match="does not decode"):
        decode_image(bomb, (1, 32, 32), "x")


def test_a_jpeg_of_many_scans_is_refused() -> None:
    """Each scan of a progressive JPEG goes through all of its pixels: the last one, a thousand times."""
    buffer = io.BytesIO()
    Image.new("L", (4000, 4000)).save(buffer, "JPEG", progressive=True)
    whole = buffer.getvalue()
    last = whole.rindex(b"\xff\xda")
    with pytest.raises(DataError, match="scans, too many for its size"):
        decode_image(whole[:-2] + whole[last:-2] * 1000 + whole[-2:], (1, 64, 64), "x", resize=True)
    assert decode_image(whole, (1, 64, 64), "x", resize=True).shape == (1, 64, 64)
    pictures = io.BytesIO()  # two in one file, which Pillow calls MPO
    Image.new("L", (4000, 4000)).save(
        pictures, "MPO", save_all=True, append_images=[Image.new("L", (8, 8))], progressive=True
    )
    two = pictures.getvalue()
    scan = two.index(b"\xff\xda", two.index(b"\xff\xda") + 2)
    with pytest.raises(DataError, match="scans, too many for its size"):
        decode_image(two[:scan] + two[scan : scan + 10] * 1000 + two[scan:], (1, 64, 64), "x", resize=True)


def pointers() -> bytes:
    """Labels whose dtype is an object with the flags of plain bytes: they were taken for places in memory."""
    batch = python2_pickle(np.full((1, 64), 65, np.uint8), []).replace(b"U\x02u1", b"U\x02O8")
    batch = batch.replace(b"J\x40\0\0\0t", b"J\x08\0\0\0t").replace(b"J" + b"\xff" * 4, b"J\x08\0\0\0")
    array = batch[batch.index(b"cnumpy.core") : batch.index(b"U\x06labels")]
    return python2_pickle(np.zeros((1, 3072), np.uint8), []).replace(b"](eu.", array + b"u.")


def evil_dtype(state: bytes) -> bytes:
    """A batch whose dtype gets a state of its own: NumPy trusted it."""
    batch = python2_pickle(np.zeros((1, 3072), np.uint8), [0])
    begin = batch.index(b"(K\x03U\x01|")
    end = batch.index(b"tb", begin)
    return batch[:begin] + state + batch[end:]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (evil_dtype(b"(K\x03U\x01|NNNJ\xff\xff\xff\x7fJ\x01\x00\x00\x00K\x3f"), None),  # sizes and flags: not looked at
        (pointers(), "else than arrays of bytes"),  # ended the process
        (pickle.dumps({"data": np.zeros((2, 3072), object), "labels": [0, 1]}), "else than arrays of bytes"),
        (pickle.dumps({"data": np.zeros((2, 3072)), "labels": [0, 1]}), "else than arrays of bytes"),
        (pickle.dumps({"data": np.zeros((2, 3072), "V8"), "labels": [0, 1]}), "else than arrays of bytes"),
        (pickle.dumps(np.dtype("u1")), "holds no mapping"),
        (pickle.dumps([1, 2]), "holds no mapping"),
        (pickle.dumps({1: 2}), "a mapping whose keys are no texts"),
        (pickle.dumps({"data": 1.5}), "the opcode BINFLOAT"),
        (pickle.dumps({"data": 10**30}), "the opcode LONG1"),
        (pickle.dumps({"data": Path("x")}), r"it names pathlib"),
        (b"\x80\x02}(U\x04data" + b"(" * 100_000 + b"." * 2, None),
        (b"", "damaged"),
        (b"\x80\x02cnumpy\\u\ndtype\n.", "damaged"),  # a warning of pickletools
        (b"\x80\x04)\x94" + b"".join(b"h%ch%c\x86\x94" % (n, n) for n in range(60)) + b"\x93.", "is no text"),
        (b"\x80\x04)" + b"\x85" * 200_000 + b")\x93.", "is no text"),
        (b"\x80\x04" + b"}" * (2**20 + 1) + b".", "more than 1048576 opcodes"),
    ],
    ids=lambda value: "file" if isinstance(value, bytes) else None,
)
def test_a_batch_file_builds_nothing(data: bytes, message: str | None) -> None:
    """Whatever a pickle describes: bytes and whole numbers are read, all else is refused, nothing is called."""
    if message is None:
        with pytest.raises(DataError) if b"((((" in data else bounded_memory(50):
            assert isinstance(read_batch(data)["data"], np.ndarray)
        return
    with pytest.raises(DataError, match=message):
        read_batch(data)


def test_labels_that_contain_each_other_are_refused(tmp_path: Path) -> None:
    """Forty lists, each of two times the one before: an array of it would have 2^40 places."""
    nested: list[Any] = [1]
    for _ in range(40):
        nested = [nested, nested]
    write_cifar10(tmp_path)
    batch = pickle.dumps({"data": np.zeros((1, 3072), np.uint8), "labels": nested})
    (tmp_path / "cifar-10-batches-py" / "data_batch_1").write_bytes(batch)
    with bounded_memory(50), pytest.raises(DataError, match="labels are not a list of whole numbers"):
        read("cifar10", tmp_path, "torchvision")


def idx(code: int, sizes: tuple[int, ...], values: bytes = b"") -> bytes:
    return gzip.compress(bytes([0, 0, code, len(sizes)]) + struct.pack(f">{len(sizes)}I", *sizes) + values)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx(8, (2**31, 2**31, 4)), "announces values of shape"),  # 2^64 bytes, which is 0 in 64 bits
        (idx(8, (2**32 - 1, 2**32 - 1, 0)), "announces values of shape"),
        (idx(8, (1,) * 100, b"\0"), "has 100 axes, expected 1 to 4"),
        (idx(8, ()), "has 0 axes"),
        (gzip.compress(b"\0\0\x08\x03\0\0"), "ends before its 3 sizes"),
        (idx(8, (4,), bytes(10**6)), "more than 12 bytes, its header announces 12"),
    ],
    ids=lambda value: "file" if isinstance(value, bytes) else None,
)
def test_idx_headers(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.gz").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_idx(tmp_path, "x.gz")


def test_a_packed_idx_is_not_unpacked_beyond_its_header(tmp_path: Path) -> None:
    """200 kB of gzip for 200 MB."""
    (tmp_path / "x.gz").write_bytes(idx(8, (4,), bytes(200 * 10**6)))
    with bounded_memory(20), pytest.raises(DataError, match="its header announces 12"):
        read_idx(tmp_path, "x.gz")


@pytest.mark.parametrize(("value", "shown"), [(1.5, "1.5"), (float("nan"), "nan"), (1e30, "1e\\+30")])
def test_labels_of_idx_are_whole(tmp_path: Path, value: float, shown: str) -> None:
    write_mnist(tmp_path)
    values = np.zeros(40, ">f8")
    values[3] = value
    (tmp_path / "MNIST/raw/train-labels-idx1-ubyte.gz").write_bytes(idx(0x0E, (40,), values.tobytes()))
    with pytest.raises(DataError, match=f"label in row 3 is {shown}, expected a whole number"):
        read("mnist", tmp_path)


def test_a_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    path = tmp_path / "MNIST/raw/train-images-idx3-ubyte.gz"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DataError, match="is not a file"):
        read("mnist", tmp_path)


def test_one_image_a_million_times_is_held_once(tmp_path: Path) -> None:
    """1 MB a million times would be a TB; the file has 60 kB."""
    places = pa.array(np.zeros(10**6, np.int32))
    image = pa.DictionaryArray.from_arrays(places, pa.array([bytes(10**6)]))
    (tmp_path / "cifar10").mkdir()
    for part in ("train", "test"):
        pq.write_table(pa.table({"image": image, "label": places}), tmp_path / f"cifar10/{part}.parquet")
    with bounded_memory(300), pytest.raises(DataError, match="row 0 does not decode"):
        read("cifar10", tmp_path).train.pixels(np.arange(10))


def test_a_packed_column_is_not_unpacked(tmp_path: Path) -> None:
    """200 MB of zeros in 20 kB."""
    write_parquet(tmp_path)
    table = pa.table({"image": [bytes(200 * 10**6)], "label": [0]})
    pq.write_table(table, tmp_path / "cifar10/train.parquet", compression="zstd")
    del table
    with bounded_memory(50), pytest.raises(DataError, match="it would unpack from"):
        read("cifar10", tmp_path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": pa.array([[0]] * 6)}, "column label is list"),
        ({"image": pa.array([{"bytes": b"x"}] * 6)}, "column image is struct"),
        ({"label": pa.array([2**63] * 6, pa.uint64())}, "expected a whole number"),
        ({"label": pa.array([True] * 6)}, "column label is bool"),
        ({"label": pa.array(np.zeros(6, "M8[s]"))}, "column label is timestamp"),
    ],
)
def test_columns_of_other_types(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    write_parquet(tmp_path, **columns)
    with pytest.raises(DataError, match=message):
        read("cifar10", tmp_path)


def test_ordinary_files_are_read_as_before(tmp_path: Path) -> None:
    pixels = write_parquet(tmp_path)
    images = read("cifar10", tmp_path)
    assert np.array_equal(images.train.pixels(np.arange(6)), pixels.transpose(0, 3, 1, 2))
    assert decode_image(png(pixels[0]), CIFAR, "x").dtype == np.uint8
    write_idx(tmp_path / "a.gz", np.arange(12, dtype=np.int32).reshape(3, 4))
    assert read_idx(tmp_path, "a.gz", check_files=False).tolist() == np.arange(12).reshape(3, 4).tolist()
