"""The methods and what they assume: the paper's Table 1, from the methods' own declarations and from a data file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from sifu.catalog.methods import METHODS
from sifu.config.certificate import Certificate
from sifu.errors import ConfigError
from sifu.plan.method_check import method_class
from sifu.plan.variants import build_method
from sifu.report.method_labels import method_label
from sifu.unlearning.method import Assumptions, CertifiedMethod, Method

CAPTION = (
    "What every method assumes and promises (the paper's Table 1, and more). All are run by this suite, and say "
    "themselves what they need, with a footnote where the paper's table differs. `FedAvg as it is`: it needs nothing "
    "but a federation that trains by FedAvg; a method with a no has a training, a model or local steps of its own, or "
    "is for gradient descent on all data. `theorem`: its paper proves something of what it gives, for convex losses, "
    "or for others, too. A theorem has assumptions of its own, which a run may not meet. `promises`: `exact` (the "
    "model does not depend on the forgotten clients), `(epsilon, delta)` or nothing; what a promise is worth, other "
    "tables say. `specified from`: what a method was made from here. Where that is code "
    "alone, a port or second-hand words, the paper was not at hand or not used."
)
OF_VARIANTS = (
    "A row is a method in all its variants. `sifu` with `noise: end` is the field's R2D, rewind to delete (Mu and "
    "Klabjan, NeurIPS 2025), with the measured Psi in place of an a-priori bound; the next request starts from its "
    "secret model, without the noise. `puf` with `updates: stored` asks nothing of the forgotten clients. "
    "`fed_recovery` promises something with `noise: hidden` alone; its marks, as those of `fed_recover`, are of its "
    "paper's theorem. For losses that are not convex SIFU's theorem has B = 1 + eta beta; scenarios with networks use "
    "B = 1, which is an assumption (docs/certificates.md)."
)
PUBLISHED = Path(__file__).with_name("published_marks.yaml")
_TITLES = {
    "fedavg": "FedAvg as it is",
    "convex": "theorem, convex",
    "non_convex": "theorem, non-convex",
    "server_data": "needs server data (server_data)",
    "forgotten_data": "needs forgotten clients' data (forgotten_data)",
}


def method_rows(names: Iterable[str]) -> list[dict[str, Any]]:
    """One row a method: the columns of Table 1, what it reads of the history, what the server stores."""
    classes = {method_class(name): name for name in names}  # each once: a config may call one by several names
    return [
        {"method": cls.name, "label": method_label(cls.name)} | cls.assumptions._asdict() | _more(cls, name)
        for cls, name in classes.items()
    ]


def _more(cls: type[Method], name: str) -> dict[str, str]:
    """What a method promises, what it reads of the history with its defaults, and what it was made from."""
    return {"promises": _promises(cls), "reads": _reads(name), "specified_from": cls.specified_from or "not said"}


def _promises(cls: type[Method]) -> str:
    if cls.exact:
        return "exact"
    return "(epsilon, delta)" if issubclass(cls, CertifiedMethod) else "nothing"


def _reads(name: str) -> str:
    """What a method reads of the history with its defaults."""
    try:
        method = build_method(name, {}, Certificate(sigma=0.0))
    except ConfigError:  # a setting without a default
        return "depends on its settings"
    return ", ".join(sorted(kept.value for kept in method.keeps)) or "nothing"


def print_methods(*, as_json: bool) -> None:
    """Every method of the catalog, those of other installed packages included."""
    rows = method_rows(METHODS)
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    from rich.console import Console
    from rich.table import Column, Table

    rows = [{"method": row.pop("label"), "id": row.pop("method")} | row for row in rows]
    shown = [key for key in rows[0] if key != "specified_from"]  # for which a terminal has no room
    table = Table(*(Column(_TITLES.get(key, key), no_wrap=key == "id") for key in shown))
    for row in rows:
        table.add_row(*(_word(row[key]) for key in shown))
    Console(width=max(150, Console().width)).print(table)


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def table_1(run: Iterable[str] = ()) -> tuple[list[dict[str, str]], list[str]]:
    """The rows of Table 1 as text, and the footnotes that they refer to; `run`: methods that it has in any case."""
    listed = {other["run"]: other for other in yaml.safe_load(PUBLISHED.read_text())}
    notes: list[str] = []
    rows = [_row(row, listed, notes) for row in method_rows(dict.fromkeys([*METHODS.own, *run]))]
    return rows, notes


def _row(row: dict[str, Any], listed: dict[str, Any], notes: list[str]) -> dict[str, str]:
    """A method as it declares itself; with a footnote where the paper's table says otherwise."""
    assumed = {key: _word(row[key]) for key in _TITLES}
    other = listed.get(row["method"])
    if other and other["corrected"]:
        notes.append(_footnote(other))
        assumed |= {key: f"{assumed[key]} [{len(notes)}]" for key in other["corrected"]}
    named = {_TITLES[key]: word for key, word in assumed.items()}
    last = {"promises": row["promises"], "the server stores": row["stores"], "specified from": row["specified_from"]}
    who = {"method": row["label"], "id": f"`{row['method']}`", "reference": row["reference"]}
    return who | named | last


def _footnote(other: dict[str, Any]) -> str:
    said = ", ".join(f"{_TITLES[key]}: {_word(other['paper'][key])}" for key in other["corrected"])
    return f"{other['reference']}: the paper's table says `{said}`. {other['note']}"


def methods_page(run: Iterable[str] = ()) -> str:
    """Table 1 with its footnotes, as Markdown."""
    rows, notes = table_1(run)
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + " --- |" * len(rows[0])]
    lines += ["| " + " | ".join(row.values()) + " |" for row in rows]
    return "\n".join([CAPTION, "", *lines, "", f"{OF_VARIANTS}\n", *(f"{note}\n" for note in numbered(notes))])


def methods_latex(run: Iterable[str] = ()) -> str:
    """The same for papers; the footnotes go with the caption."""
    import pandas as pd  # not at the top: help texts and `sifu methods` need none of it

    from sifu.report.tables import latex

    rows, notes = table_1(run)
    return latex(pd.DataFrame(rows), " ".join([CAPTION, *numbered(notes)])).replace("`", "")


def methods_csv(run: Iterable[str] = ()) -> str:
    """The rows alone; numbers in brackets are those of the footnotes of the page."""
    import pandas as pd

    from sifu.report.plain_text import csv_text

    return csv_text(pd.DataFrame(table_1(run)[0]))


def numbered(notes: list[str]) -> list[str]:
    """Footnotes with the numbers that rows refer to."""
    return [f"[{number}] {note}" for number, note in enumerate(notes, start=1)]


assert set(_TITLES) <= set(Assumptions._fields)
