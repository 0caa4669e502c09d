"""The methods and their assumptions: the paper's Table 1 for what is implemented here."""

from __future__ import annotations

import json
from typing import Any

from sifu.methods import METHODS, build_method
from sifu.scenario import Certificate


def method_rows() -> list[dict[str, Any]]:
    """One row a method: the columns of Table 1, what it reads of the past, what the server stores."""
    rows = []
    for name in METHODS:
        method = build_method(name, {}, Certificate(sigma=0.0))
        row = {"method": name} | method.assumptions._asdict()
        row["reads"] = ", ".join(sorted(kept.value for kept in method.keeps)) or "nothing"
        rows.append(row)
    return rows


def print_methods(*, as_json: bool) -> None:
    rows = method_rows()
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    titles = {"fedavg": "FedAvg", "convex": "convex theorem", "non_convex": "non-convex theorem"}
    titles |= {"server_data": "needs server data", "forgotten_data": "needs leavers' data"}
    table = Table(*(titles.get(key, key) for key in rows[0]))
    for row in rows:
        table.add_row(*(str({True: "yes", False: "no"}[v]) if isinstance(v, bool) else str(v) for v in row.values()))
    Console(width=max(150, Console().width)).print(table)
