"""Commands that run again what a claim is measured on."""

from __future__ import annotations

CONFIG = "config/paper.yaml"


def rerun_cell(scenario: str, variant: str, seed: int = 0, stop: str = "") -> str:
    """The command that runs one seed of a variant again, to the target or to another `stop`, and compares it."""
    return f".venv/bin/python -m sifu verify-paper --cell {scenario}/{variant}/{seed}{stop and '/'}{stop}"


def rerun_stage(stage: str, scenario: str, seed: int = 0, part: str = "") -> str:
    """The command that runs a stage, or one part of it, for one seed into a results folder of its own."""
    variants = "[scratch,sifu]"
    settings = f'"scenarios=[{scenario}]" "variants={variants}" "shown={variants}" first_seed={seed} num_seeds=1'
    target = f"results/one/{stage}/{scenario}/{part}{part and '/'}s{seed:03d}-{seed:03d}/{stage}.parquet"
    return (
        f".venv/bin/snakemake --cores 2 {target} --configfile {CONFIG} --config {settings} "
        "block_size=1 results=results/one"
    )


def redraw_figure(name: str, config: str = CONFIG) -> str:
    """The command that draws a figure from the tables of a run, also from packed ones."""
    return f".venv/bin/python -m sifu figure {name} --config {config}"
