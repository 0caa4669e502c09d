"""Commands that repeat a cell behind a claim: short ones, to be typed."""

from __future__ import annotations

CONFIG = "config/paper.yaml"


def cell_again(scenario: str, variant: str, seed: int = 0, stop: str = "") -> str:
    """Run a seed of a variant again, to the target or to another `stop`, and compare it with what is stored."""
    return f".venv/bin/python -m sifu verify-paper --cell {scenario}/{variant}/{seed}{stop and '/'}{stop}"


def table_again(stage: str, scenario: str, seed: int = 0) -> str:
    """Run a stage for one seed alone; its table is the last word."""
    variants = "[scratch,sifu]"
    settings = f'"scenarios=[{scenario}]" "variants={variants}" "shown={variants}" first_seed={seed} num_seeds=1'
    target = f"results/one/{stage}/{scenario}/s{seed:03d}-{seed:03d}/{stage}.parquet"
    return (
        f".venv/bin/snakemake --cores 2 {target} --configfile {CONFIG} --config {settings} "
        "block_size=1 results=results/one"
    )
