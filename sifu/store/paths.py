"""Where results lie: results/<stage>/<scenario>[/<variant>]/<block>/<table>; Snakefile and command line ask here."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "partition": ("partition.parquet",),
    "search": ("search.parquet",),
    "scenario_search": ("scenario_search.parquet",),
    "train": ("cells.parquet", "curves.parquet", "sensitivity.parquet", "history.safetensors"),
    "train_variant": ("cells.parquet", "curves.parquet", "history.safetensors"),
    "unlearn": ("cells.parquet", "curves.parquet", "weights.safetensors"),
    "sweep": ("sweep.parquet",),
    "request_sets": ("request_sets.parquet",),
    "verify": ("metrics.parquet", "verification.parquet"),
    "alpha": ("alpha.parquet",),
    "alpha_sweep": ("alpha.parquet",),
}

UNFINISHED = ".unfinished"  # in a stage's folder: trainings to go on with, should it be cut off
LOCK = ".lock"  # beside it: an empty file, locked by the process that is at work there

_TABLES = (
    "statistics.parquet",
    "statistics.csv",
    "bounds.parquet",
    *(
        f"{name}.{kind}"
        for name in (
            "headline",
            "budgets",
            "certificates",
            "bounds",
            "search",
            "scenario_search",
            "settings",
            "verification",
            "methods",
        )
        for kind in ("csv", "md", "tex")
    ),
)
REPORT_FILES = tuple(f"tables/{name}" for name in _TABLES)
FIGURE_KINDS = ("pdf", "png", "md")


def stage_folder(results: str, stage: str, scenario: str, block: str, variant: str = "") -> Path:
    return Path(results) / stage / scenario / variant / block


def stop_name(share: float | None) -> str:
    """`target`, or the budget in per cent."""
    return "target" if share is None else f"budget_{round(share * 100):02d}"
