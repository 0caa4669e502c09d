"""Packages of somebody else, as far as they are needed here: files, and the metadata that pip would write."""

from __future__ import annotations

from pathlib import Path

METHOD = """
from sifu.unlearning.method import Assumptions, Method
from .helpers import changed


class Mine(Method):
    name = "mine"
    assumptions = Assumptions(reference="us")

    def unlearn(self, history, request, server, keys):
        return server.recover(changed(history.current), keys)
"""
HELPERS = """
def changed(model):
    return model * 0.5
"""
MODELS = """
from torch import nn


def small(shape, num_classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[1] * shape[2], 4), nn.GroupNorm(2, 4), nn.Linear(4, num_classes))


def with_statistics(shape, num_classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[1] * shape[2], 4), nn.BatchNorm1d(4), nn.Linear(4, num_classes))


def too_many(shape, num_classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[1] * shape[2], num_classes + 1))


def broken(shape, num_classes):
    return nn.Linear(shape[0] / 0, num_classes)


NUMBER = 3
"""


def write_package(root: Path, name: str = "outside_pkg") -> Path:
    """A package with a method, which imports a helper, and models."""
    folder = root / name
    folder.mkdir(parents=True)
    files = {"__init__": "", "forget": METHOD, "helpers": HELPERS, "nets": MODELS}
    for module, text in files.items():
        (folder / f"{module}.py").write_text(text)
    return folder


def write_metadata(site: Path, package: str, **entries: str) -> None:
    """What pip leaves of an installed package; entries: methods="mine = outside_pkg.forget:Mine"."""
    folder = site / f"{package}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"[sifu.{kind}]\n{line}\n" for kind, line in entries.items()]
    (folder / "entry_points.txt").write_text("\n".join(lines))
