"""`workflow/offline/pack.sh`, with an index of a few empty packages and a machine of its own: no network is needed."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPO

PINNED = dict(
    line.split("==")
    for line in (REPO / "constraints.txt").read_text().splitlines()
    if line.startswith(("snakemake==", "dp-accounting=="))
)


def wheel(folder: Path, name: str, version: str) -> None:
    """A package with one empty module."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{module}.py", "")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """All that is packed; on the machine itself lies a package that wants an older Snakemake."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name, version in (PINNED | {"connection_pool": "0.0.3"}).items():
        wheel(folder, name, version)
    info = tmp_path / "machine" / "unrelated-1.0.dist-info"
    info.mkdir(parents=True)
    words = "Metadata-Version: 2.1\nName: unrelated\nVersion: 1.0\nRequires-Dist: snakemake<1\n"
    (info / "METADATA").write_text(words)
    return folder


def pack(index: Path, out: Path) -> subprocess.CompletedProcess[str]:
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "PIP_CONFIG_FILE": os.devnull}
    environment = os.environ | pip | {"PYTHON": sys.executable, "PYTHONPATH": str(index.parent / "machine")}
    command = ["bash", str(REPO / "workflow" / "offline" / "pack.sh"), str(out)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_what_lies_on_the_machine_is_no_error_of_the_pack(index: Path, tmp_path: Path) -> None:
    done = pack(index, tmp_path / "pack.tar.xz")
    assert done.returncode == 0, done.stderr
    assert "unrelated" not in done.stderr
    assert "ERROR" not in done.stderr
    with tarfile.open(tmp_path / "pack.tar.xz") as archive:
        names = archive.getnames()
    assert {"./snakemake.py", "./dp_accounting.py"} <= set(names)


def test_what_is_missing_is_an_error(index: Path, tmp_path: Path) -> None:
    (missing,) = index.glob("dp_accounting-*")
    missing.unlink()
    done = pack(index, tmp_path / "pack.tar.xz")
    assert done.returncode != 0
    assert f"No matching distribution found for dp-accounting=={PINNED['dp-accounting']}" in done.stderr
    assert not (tmp_path / "pack.tar.xz").exists()
