"""Figures as files: a PDF for papers, a PNG for pages."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from sifu.store.parquet import atomic

DPI = 144  # of a figure: half as many dots again as a page has
SHARP = 200  # of the picture that pages open with, whose type is small
_COLOURS = 256  # of a PNG: with a palette it has a quarter of the size, and looks the same


def write_figure(path: Path, figure: Figure, dpi: int = DPI) -> None:
    """A figure as `path`.pdf and `path`.png, without the time of its making."""
    write_png(path.with_suffix(".png"), figure, dpi)
    figure.set_layout_engine("none")  # all is in its place, and finding it takes as long as drawing
    with atomic(path.with_suffix(".pdf")) as temporary:
        figure.savefig(temporary, format="pdf", dpi=SHARP, metadata={"CreationDate": None})


def write_png(path: Path, figure: Figure, dpi: int = DPI) -> None:
    """A figure as a PNG alone."""
    with atomic(path) as temporary:
        Path(temporary).write_bytes(png(figure, dpi))


def png(figure: Figure, dpi: int = DPI) -> bytes:
    """A figure as a PNG with a palette."""
    drawn, small = BytesIO(), BytesIO()
    figure.savefig(drawn, format="png", dpi=dpi)
    flat = Image.open(drawn).convert("RGB")
    few = flat.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(small, format="png", optimize=True, dpi=(dpi, dpi))
    return small.getvalue()


def dots_per_inch(png: bytes) -> float:
    """What a PNG says of itself."""
    return float(Image.open(BytesIO(png)).info.get("dpi", (DPI,))[0])


def webp(png: bytes) -> bytes:
    """The same image, dot by dot, in three quarters of the size."""
    small = BytesIO()
    Image.open(BytesIO(png)).convert("RGB").save(small, format="webp", lossless=True, quality=60, method=3)
    return small.getvalue()
