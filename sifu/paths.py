"""Where results lie: results/<stage>/<scenario>/<block>/<table>. Snakefile and command line both ask here."""

from __future__ import annotations

from pathlib import Path

PARTITION_FILES = ("partition.parquet",)
TRAIN_FILES = ("cells.parquet", "curves.parquet", "sensitivity.parquet", "history.safetensors")


def stage_folder(results: str, stage: str, scenario: str, block: str) -> Path:
    return Path(results) / stage / scenario / block
