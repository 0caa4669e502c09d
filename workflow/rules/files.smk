# Answers the rules' questions after files: what a job reads, and what the report is made of.
from functools import cache
from pathlib import Path

from sifu.store import paths
from sifu.catalog.datasets import source_files
from sifu.catalog.figures import FIGURES


def variant_files(wildcards):
    """The unlearned weights of every variant of a block."""
    scenario, block = wildcards.scenario, wildcards.block
    folders = [
        paths.stage_folder(RUN.results, "unlearn", scenario, block, name)
        for name in SUITE.variants_of(scenario)
    ]
    return [str(folder / "weights.safetensors") for folder in folders]


def history_file(wildcards):
    """The training that a variant starts from: that of all, or its own."""
    name = wildcards.variant if own_training(wildcards.variant) else ""
    folder = paths.stage_folder(
        RUN.results, "train", wildcards.scenario, wildcards.block, name
    )
    return str(folder / "history.safetensors")


def search_path(scenario, variant):
    """What a variant's search found; None where there is none."""
    search = SUITE.variants[variant].search
    if search is None:
        return None
    searched = SUITE.searched_as(scenario)
    folder = paths.stage_folder(RUN.results, "search", searched, search.block, variant)
    return str(folder / "search.parquet")


def search_file(wildcards):
    return search_path(wildcards.scenario, wildcards.variant) or []


def search_history(wildcards):
    """The training that a search starts from; nothing where the method is trained with every value."""
    if own_training(wildcards.variant):
        return []
    return stage_path("train", "history.safetensors")


def search_files():
    """The searches of all variants in all scenarios."""
    return [search_path(scenario, name) for scenario, name, _ in SUITE.searches]


def scenario_search_files():
    """The searches for scenarios' settings."""
    return [
        str(
            paths.stage_folder(
                RUN.results, "scenario_search", scenario, search.block, name
            )
            / "scenario_search.parquet"
        )
        for (scenario, name), search in SUITE.scenario_searches.items()
    ]


def set_histories(wildcards):
    """The trainings that the request sets start from."""
    own = [name for name in SUITE.set_variants if own_training(name)]
    folders = [
        paths.stage_folder(
            RUN.results, "train", wildcards.scenario, wildcards.block, name
        )
        for name in ["", *own]
    ]
    return [str(folder / "history.safetensors") for folder in folders]


def set_searches(wildcards):
    found = [search_path(wildcards.scenario, name) for name in SUITE.set_variants]
    return [path for path in found if path]


def dataset_files(wildcards):
    """The files of the scenario's dataset: replacing one re-runs what was made of it."""
    return files_of(wildcards.scenario)


@cache
def files_of(scenario):
    dataset = SUITE.scenarios[scenario].dataset
    return source_files(dataset.name, dataset.source, DATA_ROOT)


def block_files(stage, file):
    """A file of every block of every scenario."""
    return [
        str(paths.stage_folder(RUN.results, stage, scenario, block) / file)
        for scenario in SUITE.scenarios
        for block in SUITE.blocks
    ]


def cell_files():
    """The cells of every variant."""
    return [
        str(
            paths.stage_folder(RUN.results, "unlearn", scenario, block, variant)
            / "cells.parquet"
        )
        for scenario in SUITE.scenarios
        for block in SUITE.blocks
        for variant in SUITE.variants_of(scenario)
    ]


def table_files():
    return [str(Path(RUN.results) / "report" / file) for file in paths.REPORT_FILES]


def figure_files(name):
    folder = Path(RUN.results) / "report" / "figures"
    return [str(folder / f"{name}.{kind}") for kind in paths.FIGURE_KINDS]


def sweep_files(stage):
    return [
        str(paths.stage_folder(RUN.results, stage, s, b) / paths.FILES[stage][0])
        for s, b in SUITE.sweep_files(stage)
    ]


def figure_inputs(wildcards):
    """The tables that a figure is drawn from."""
    answers = cell_files() + block_files("verify", "metrics.parquet")
    training = block_files("train", "cells.parquet")
    return {
        "alpha": block_files("alpha", "alpha.parquet") + alpha_sweep_files(),
        "null_space": [str(Path(RUN.results) / "null_space" / "null_space.parquet")],
        "lineage": cell_files() + training,
        "sigma": answers + sweep_files("sweep"),
        "request_sets": sweep_files("request_sets"),
    }.get(wildcards.figure, answers)


def all_figures():
    return [file for name in FIGURES for file in figure_files(name)]


def page_file():
    return str(Path(RUN.results) / "report" / "report.html")


def report_files():
    """What people read."""
    return table_files() + all_figures() + [page_file()]
