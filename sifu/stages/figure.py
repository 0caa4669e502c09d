"""figure: the tables -> one figure of the paper, as PDF and PNG, with its caption."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from sifu.catalog.figures import FIGURES
from sifu.catalog.lookup import import_module
from sifu.plan.report_plan import ReportPlan
from sifu.report.image import DPI, SHARP, write_figure
from sifu.report.missing import missing_names, missing_words
from sifu.report.plain_text import for_figures
from sifu.report.results import Results
from sifu.store.parquet import write_text
from sifu.store.paths import PICTURE, figure_file


def run_figure(plan: ReportPlan, name: str, folder: Path) -> None:
    """Writes `folder`/figures/<name>.pdf, .png and .md (the caption); what is missing is said in the caption, and that
    something is in the figure; not in one with a title of its own, which opens pages that say so in their text.
    """
    target = FIGURES[name].module
    module, source = import_module(target, target), Results(for_figures(plan))
    drawn = module.draw(source)
    caption = module.caption(source) if hasattr(module, "caption") else module.CAPTION
    title = module.TITLE if module.TITLE.endswith("?") else f"{module.TITLE}."
    if source.missing:
        count = missing_words(source.missing)
        caption += f" {count}: {'; '.join(missing_names(source.missing, source.root))}."
        if not drawn.get_suptitle():
            _note(drawn, "part of the plan is still to run: see the caption")
    write_figure(figure_file(folder, name, "png").with_suffix(""), drawn, SHARP if name == PICTURE else DPI)
    write_text(figure_file(folder, name, "md"), f"**{title}** {caption}\n")


def _note(drawn: Figure, words: str) -> None:
    """A grey note at the top left, where no legend is: a title has room of its own, unlike a text."""
    drawn.suptitle(words, x=0.01, ha="left", fontsize=8, color="dimgrey")
