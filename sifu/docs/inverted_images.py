"""What inverted images show of NoT, for docs/forgetting.md."""

from __future__ import annotations

from pathlib import Path

from sifu.docs.named import scenarios, variants
from sifu.replication.claims.stored_tables import read_tables
from sifu.replication.published import Published
from sifu.report.inverted import NEGATION, Knows, known_inverted
from sifu.report.statistics import REFERENCE

_NOTHING = "no scenario in which NoT stands out has been run yet."


def inverted_images(root: Path, run: Published) -> str:
    """A line for each scenario and variant of NoT that stands out, and who else does there."""
    tables, places = read_tables(run.folder), scenarios(root)
    found = known_inverted(tables.cells, tables.metrics)
    named = variants(root)
    negated = [name for name, one in named.items() if one.method == NEGATION]
    out = dict.fromkeys((one.scenario, one.variant) for one in found if one.stands_out)
    lines = []
    for scenario, variant in out:
        if variant in negated:
            rows = {name: _of(found, scenario, name) for name in (variant, REFERENCE)}
            others = [named[name].label for place, name in out if place == scenario and name not in negated]
            text = f"{named[variant].label} {_values(rows[variant])}; scratch {_values(rows[REFERENCE])}"
            more = f" Others that stand out: {'; '.join(others)}." if others else ""
            lines.append(f"- {places[scenario].label}: {text}.{more}")
    return "\n".join(lines) or _NOTHING


def _of(found: list[Knows], scenario: str, variant: str) -> list[Knows]:
    return [one for one in found if (one.scenario, one.variant) == (scenario, variant)]


def _values(rows: list[Knows]) -> str:
    """`0.00 / 1.00, 0.00 / 0.76`, a pair a request."""
    return ", ".join(f"{one.accuracy.mean():.2f} / {one.inverted.mean():.2f}" for one in rows)
