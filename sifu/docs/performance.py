"""Generated parts of docs/performance.md: from what `python -m sifu bench --json` measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.bench.parity import ParityRow
from sifu.bench.report import table_lines
from sifu.bench.rounds import Row
from sifu.bench.trainings import TrainingRow
from sifu.report.tables import markdown

_KINDS: dict[str, Any] = {"rounds": Row, "trainings": TrainingRow, "parity": ParityRow}
_FOLDER = Path("docs", "performance")


def measured(root: Path, machine: str, kind: str) -> str:
    """A table of a machine's rounds, trainings or parity."""
    rows = [_KINDS[kind](**row) for row in _read(root, machine)[kind]]
    header, *lines = table_lines(rows)
    table = pd.DataFrame(lines, columns=list(header))
    if "device" not in header and len({row.device for row in rows}) > 1:
        table.insert(0, "device", [row.device for row in rows])
    return markdown(table, "").strip()


def ceilings(root: Path, machine: str) -> str:
    """The most operations and bytes a second that a machine reaches."""
    best = _read(root, machine)["ceilings"]
    return f"{best['flops'] / 1e12:.3g} TFLOP/s and {best['bytes'] / 1e9:,.0f} GB/s"


def measured_at(root: Path, machine: str) -> str:
    """The commits that were measured: rounds and kernels may have changed since."""
    return str(_read(root, machine)["commit"])


def goals(root: Path) -> str:
    """Milliseconds a seed-round, next to what other programs take for the same."""
    peers = pd.read_csv(root / _FOLDER / "peers.csv", dtype=str)
    ours = {(row["scenario"], str(row["seeds"])): row for row in reversed(_read(root, "h200")["rounds"])}
    rows = [ours[key] for key in zip(peers["scenario"], peers["seeds"], strict=True)]
    peers["this suite"] = [f"{row['engine_ms']:.3g}" for row in rows]
    pairs = zip(peers["released SIFU code"], rows, strict=True)
    peers["times the released code"] = [f"{float(released) / row['engine_ms']:,.0f}" for released, row in pairs]
    return markdown(peers, "").strip()


def cpu_goals(root: Path) -> str:
    """The same on a CPU, with the plain loop as measured with the peers and as measured with this suite."""
    peers = pd.read_csv(root / _FOLDER / "cpu_peers.csv", dtype=str)
    rows = _read(root, "cpu")["rounds"]
    most = max(row["seeds"] for row in rows)
    ours = {row["scenario"]: row for row in rows if row["seeds"] == most}
    peers["this suite"] = [f"{ours[name]['engine_ms']:.3g}" for name in peers["scenario"]]
    peers["plain loop, measured with it"] = [f"{ours[name]['plain_ms']:.3g}" for name in peers["scenario"]]
    return markdown(peers, "").strip()


def tried(root: Path) -> str:
    """What was tried to make rounds faster."""
    return markdown(pd.read_csv(root / _FOLDER / "tried.csv", dtype=str), "").strip()


def _read(root: Path, machine: str) -> Any:
    return json.loads((root / _FOLDER / f"{machine}.json").read_text())
