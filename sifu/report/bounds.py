"""Is Psi a bound in fact, and does SIFU's noise hide what a client did? By trainings without clients."""

from __future__ import annotations

import pandas as pd

from sifu.report.share import share

ROUNDING = 1e-4  # of float32 sums: a client alone in a first round has alpha = Psi
SMALL = 1e-6  # a distance that is rounding of float32 alone: clients with the same data have Psi = 0
RULES = {"published": "published", "released": "released", "strict": "strict", "empty_seats": "empty seats"}
_KEY = ["scenario", "change", "request", "rule", "seed"]
_SHOWN = ["scenario", "settings", "left out", "rule", "alpha <= Psi", "in all of a seed", "worst alpha / Psi", "points"]
_SIFU = {"sifu": "published", "sifu_released": "released", "sifu_strict": "strict"}  # variant -> how it counts Psi
Limits = dict[tuple[str, str], tuple[float, float]]  # (scenario, rule) -> Psi* that SIFU goes by, what its noise hides


def bounds_that_hold(alpha: pd.DataFrame, changes: dict[str, str]) -> pd.DataFrame:
    """How often Psi is a bound in fact: the share of points with alpha <= Psi, and the worst alpha / Psi.

    A row a scenario, change (`changes`: change -> name for people), who is left out, and rule that differs from those
    before it.
    """
    rows = []
    for (scenario, change, request), group in alpha[alpha["alpha"] > 0].groupby(["scenario", "change", "request"]):
        key = {"scenario": scenario, "settings": changes.get(str(change), change) if change else "its own"}
        whom = f"request {request}" if request else "one client"
        for rule in rules_that_differ(group):
            ratio = _ratios(group, rule)
            values = {"alpha <= Psi": f"{share_held(group, rule):.1%}", "in all of a seed": _seeds_held(group, rule)}
            values["worst alpha / Psi"] = f"{ratio.max():.2f}" if len(ratio) else "-"
            rows.append(key | {"left out": whom, "rule": RULES[rule]} | values | {"points": len(group)})
    return pd.DataFrame(rows, columns=_SHOWN)


def _seeds_held(alpha: pd.DataFrame, rule: str) -> str:
    """In how many seeds Psi is a bound at every point, with the exact interval: points of a seed are dependent."""
    seeds = [share_held(points, rule) == 1 for _, points in alpha.groupby("seed")]
    return share(sum(seeds), len(seeds))


def psi_limits(cells: pd.DataFrame) -> Limits:
    """Psi* and the distance that the noise hides, by scenario and rule. The classical Psi* is larger."""
    from sifu.certificate.gaussian import largest_ratio  # not at the top: figures need no torch

    rows = cells[cells["variant"].isin(_SIFU)].dropna(subset="psi_star").drop_duplicates(["scenario", "variant"])
    found: Limits = {}
    for row in rows.to_dict("records"):
        ratio = largest_ratio(float(row["claimed_epsilon"]), float(row["claimed_delta"]), "analytic")
        found[row["scenario"], _SIFU[row["variant"]]] = float(row["psi_star"]), float(row["sigma"]) * ratio
    return found


def bounds_by_seed(alpha: pd.DataFrame, limits: Limits) -> pd.DataFrame:
    """How often Psi is a bound, as numbers: a row a seed (table `bounds`)."""
    rows = []
    for (scenario, change, request), group in alpha[alpha["alpha"] > 0].groupby(["scenario", "change", "request"]):
        for rule in rules_that_differ(group):
            for seed, points in group.groupby("seed"):
                held = round(share_held(points, rule) * len(points))
                worst = float(_ratios(points, rule).max())
                row = {"scenario": scenario, "change": change, "request": request, "rule": rule, "seed": seed}
                rows.append(row | {"points": len(points), "held": held, "worst": worst})
    table = pd.DataFrame(rows, columns=[*_KEY, "points", "held", "worst"])
    return table.merge(_hidden(single_clients(alpha), limits), how="left", on=_KEY)


def refuted(alpha: pd.DataFrame) -> set[str]:
    """The scenarios in which a distance was measured beyond strict Psi, under their own settings."""
    own = alpha[alpha["change"] == ""]
    beyond = own["alpha"] > own["psi_strict"] * (1 + ROUNDING) + SMALL
    return set(own.loc[beyond, "scenario"].astype(str))


def refuted_by_seed(bounds: pd.DataFrame) -> set[str]:
    """The same of a table `bounds`."""
    own = bounds[(bounds["change"] == "") & (bounds["rule"] == "strict")]
    return set(own.loc[own["held"] < own["points"], "scenario"].astype(str))


def single_clients(alpha: pd.DataFrame) -> pd.DataFrame:
    """The rows in which one client is left out."""
    return alpha[alpha["request"] == 0]


def _hidden(alpha: pd.DataFrame, limits: Limits) -> pd.DataFrame:
    """How many clients SIFU's noise would hide if each were the only one to forget.

    A client is hidden where alpha is small enough at the last round with Psi within Psi*. A client that had done
    nothing by then (alpha = 0) is idle, and hidden without any noise.
    """
    rows = []
    for (scenario, rule), (limit, hidden_by_noise) in limits.items():
        within = alpha[(alpha["scenario"] == scenario) & (alpha["change"] == "") & (alpha[f"psi_{rule}"] <= limit)]
        last = within.loc[within.groupby(["seed", "client"])["round"].idxmax()]
        for seed, moved in last.groupby("seed")["alpha"]:
            counts = [len(moved), int((moved <= hidden_by_noise * (1 + ROUNDING)).sum()), int((moved == 0).sum())]
            rows.append([scenario, "", 0, rule, seed, *counts])
    counted = ["forgotten", "hidden", "idle"]
    found = pd.DataFrame(rows, columns=[*_KEY, *counted])
    return found.astype(dict.fromkeys(counted, "Int64"))


def share_held(alpha: pd.DataFrame, rule: str) -> float:
    """The share of points whose Psi by a rule is a bound in fact; nan without a point."""
    return float((alpha["alpha"] <= alpha[f"psi_{rule}"] * (1 + ROUNDING) + SMALL).mean())


def _ratios(alpha: pd.DataFrame, rule: str) -> pd.Series:
    """alpha / Psi of the points at which alpha is more than rounding."""
    more = alpha[alpha["alpha"] > SMALL]
    return more["alpha"] / more[f"psi_{rule}"]


def rules_that_differ(alpha: pd.DataFrame) -> list[str]:
    """`published`, `released` where that differs (it does after requests), `strict`, `empty_seats`."""
    same = (alpha["psi_released"] == alpha["psi_published"]).all()
    return [rule for rule in RULES if not (rule == "released" and same)]
