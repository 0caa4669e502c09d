"""figure: the tables -> one figure of the paper, as PDF and PNG, with its caption."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from sifu.catalog.figures import FIGURES
from sifu.catalog.lookup import import_module
from sifu.plan.report_plan import ReportPlan
from sifu.report.image import write_figure
from sifu.report.missing import missing_names, missing_words
from sifu.report.plain_text import for_figures
from sifu.report.results import Results
from sifu.store.parquet import write_text
from sifu.store.paths import figure_file


def run_figure(plan: ReportPlan, name: str, folder: Path) -> None:
    """Writes `folder`/figures/<name>.pdf, .png and .md (the caption); what is missing is said in both."""
    target = FIGURES[name].module
    module, source = import_module(target, target), Results(for_figures(plan))
    drawn = module.draw(source)
    caption, title = module.CAPTION, module.TITLE if module.TITLE.endswith("?") else f"{module.TITLE}."
    if source.missing:
        caption += f" Missing: {'; '.join(missing_names(source.missing, source.root))}."
        _note(drawn, f"{missing_words(source.missing)}: see the caption")
    write_figure(figure_file(folder, name, "png").with_suffix(""), drawn)
    write_text(figure_file(folder, name, "md"), f"**{title}** {caption}\n")


def _note(drawn: Figure, words: str) -> None:
    """A red note at the top left, where no legend is; below the title of a figure that has one."""
    title = drawn.get_suptitle()
    look: dict[str, Any] = {"fontsize": 8, "color": "crimson"}
    if not title:
        drawn.suptitle(words, x=0.01, ha="left", **look)  # a title has room of its own, unlike a text
        return
    above = drawn.suptitle(f"{title}\n", x=0.01, ha="left", fontsize=11, fontweight="bold")
    drawn.axes[0].annotate(words, (0, 0), xycoords=above, annotation_clip=False, **look).set_in_layout(False)
