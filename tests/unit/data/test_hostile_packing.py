"""Datasets whose packing alone takes hours or all memory: what a file may hold is bounded by what it is for."""

from __future__ import annotations

import gzip
import os
import struct
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sifu.data.batch_file import read_batch
from sifu.data.decode import decode_image
from sifu.data.idx import read_idx
from sifu.data.png import has_all_rows
from sifu.errors import DataError
from tests.dataset_folders import read, write_celeba
from tests.memory import bounded_memory
from tests.unit.data.test_hostile_files import grey_png

ONE = gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 1, 5]), mtime=0)  # an IDX file of one byte, packed


def test_a_batch_file_has_one_array() -> None:
    """A text of 2 MB is there once, and each of 300 arrays would have a copy of it."""
    text = b"a" * 2_000_000
    names = b"cnumpy\ndtype\n(U\x02u1tRq\x03cnumpy.core.multiarray\n_reconstruct\nq\x05cnumpy\nndarray\nq\x06"
    size = b"J" + struct.pack("<i", len(text)) + b"\x85q\x04"
    arrays = b"h\x05(h\x06tR(K\x01h\x04h\x03\x89h\x01tb" * 300
    batch = b"\x80\x02(T" + struct.pack("<I", len(text)) + text + b"q\x01" + names + size + arrays + b"."
    with bounded_memory(50), pytest.raises(DataError, match="it has more than one array"):
        read_batch(batch)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"", mtime=0) * 10**6, "something follows its end"),  # took ten seconds
        (b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * 2 * 10**7, "it ends too early"),  # a name of 20 MB
        (ONE + bytes(5 * 10**7), "something follows its end"),
        (ONE + ONE, "something follows its end"),
        (ONE[:-1], "it ends too early"),
        (ONE[:-8] + bytes(4) + ONE[-4:], "incorrect data check"),
    ],
    ids=["empty parts", "long name", "zeros", "two parts", "cut", "another sum"],
)
def test_gzip_holds_one_part(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.gz").write_bytes(content)
    begin = time.process_time()
    with bounded_memory(50), pytest.raises(DataError, match=f"cannot be unpacked.*{message}"):
        read_idx(tmp_path, "x.gz", check_files=False)
    assert time.process_time() - begin < 2


def test_gzip_that_belongs_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(ONE)
    assert read_idx(tmp_path, "x.gz", check_files=False).tolist() == [5]


@pytest.mark.parametrize("size", [(1, 2**24), (2**24, 1)])
def test_an_image_has_no_endless_side(tmp_path: Path, size: tuple[int, int]) -> None:
    """16 million rows of one bit are some kB, and took Pillow six seconds."""
    Image.new("1", size).save(tmp_path / "x.png")
    with pytest.raises(DataError, match="expected at most 16384 on a side"):
        decode_image((tmp_path / "x.png").read_bytes(), (3, 64, 64), "x", resize=True)


def test_a_list_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    write_celeba(tmp_path)
    (tmp_path / "celeba").rename(tmp_path / "celeba_subset")
    path = tmp_path / "celeba_subset" / "list_attr_celeba.txt"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DataError, match=r"list_attr_celeba\.txt is not a file"):
        read("celeba", tmp_path, "subset")


@pytest.mark.parametrize("rows", [0, 16, 31])
def test_missing_rows_are_not_black(rows: int) -> None:
    """The packed pixels of a PNG end properly, but too early: Pillow filled up with zeros."""
    row = b"\0" + bytes([255] * 32)
    with pytest.raises(DataError, match="rows are missing at its end"):
        decode_image(grey_png(32, 32, data=zlib.compress(row * rows)), (1, 32, 32), "x")
    assert decode_image(grey_png(32, 32, data=zlib.compress(row * 32)), (1, 32, 32), "x").min() == 255


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
def test_images_of_any_size_have_all_their_rows(mode: str, tmp_path: Path) -> None:
    for size in ((1, 1), (7, 3), (8, 8), (33, 9)):
        Image.fromarray(np.zeros((*size, 3), np.uint8)).convert(mode).save(tmp_path / "x.png")
        assert has_all_rows((tmp_path / "x.png").read_bytes())


def test_rows_of_an_interlaced_image() -> None:
    """8 x 8 colours in seven passes of 1x1, 1x1, 2x1, 2x2, 4x2, 4x4 and 8x4, a byte more a row: 207."""
    for count, whole in ((207, True), (206, False)):
        image = bytearray(grey_png(8, 8, kind=2, data=zlib.compress(bytes(count))))
        image[28] = 1  # interlaced
        assert has_all_rows(bytes(image)) == whole


@pytest.mark.parametrize("name", ["../../mine.jpg", "/mine.jpg"])
def test_a_list_names_no_image_of_another_folder(tmp_path: Path, name: str) -> None:
    """A dataset of somebody else would be made of the user's own pictures."""
    write_celeba(tmp_path)
    for path in (tmp_path / "celeba").glob("*.txt"):
        path.write_text(path.read_text().replace("000001.jpg", name))
    (tmp_path / "celeba").rename(tmp_path / "celeba_subset")
    with pytest.raises(DataError, match="names an image in another folder"):
        read("celeba", tmp_path, "subset")
