"""Rows of budgets whose certificate is worth as much as that of the target's row, since it is about the same model.

What a certificate is worth is counted for recoveries to the target, as the past is replayed for it. It follows
(sifu/unlearning/worth.py) from the request, from the promise, and from the path: the rounds that led to the node that
the answer went back to. Where all three are those of the target's row of the same seed and request, so is the worth.

The requests of a seed are the same under every stop rule, and a stop rule says only when a recovery ends. So the path
to the same node (branch and round) is the same

- before everything (branch -1), and in the training (branch 0), with which all stop rules begin;
- in the branch of an earlier request that began with the same model in both sequences: all draws of a recovery are
  keyed by its request and round, so that the rounds that both recoveries had are the same bit for bit. A node that both
  sequences went back to is among them. The branch began with the same model where the answer to that request is such a
  row itself: the same node, along the same path, and the same promise. The noise is keyed by the request.

The path in the branches before is then the same, too: how much of them is kept was decided when a branch was grown.
A node of a branch that began elsewhere is another model, whatever its number: such a row stays as it is.

Noise in every round is judged by the rounds before the request, which are the path of a method that goes on from the
end. Noise at the end is on the recovered model: there the recovery must have as many rounds, too (`at_end`). A method
could look at its budget before it starts. Then its psi or sigma are others; a stage, which has the models, compares
their bits as well (`MODEL`).
"""

from __future__ import annotations

import hashlib

import pandas as pd

from sifu.store.paths import stop_name
from sifu.unlearning.method import Unlearned

COUNTED = (
    *("strict_psi", "single_psi", "everyone_psi", "empty_psi", "alpha"),
    *("actual_epsilon", "actual_delta", "spent_epsilon", "group_epsilon"),
)  # what a certificate is worth, as in the table `cells`
MODEL = "model"  # column that a stage has: see `digests`
_ANSWER = ["scenario", "variant", "seed", "request"]
_SAME = (
    *("branch", "cut_round", "sigma", "psi", "psi_star", "claimed_epsilon", "claimed_delta"),
    *("covers", "covers_everyone", "group"),
)


def fill_same_starts(cells: pd.DataFrame, *, at_end: bool = False) -> pd.DataFrame:
    """`cells` with what certificates of budgets are worth, where the target's rows say it: all requests of their seeds.

    `at_end`: the noise may be on recovered models, and there is no column MODEL that tells them apart.
    """
    rows = cells.reset_index(drop=True)
    target = _of_target(rows)
    same = _is_same(rows, target, [*_SAME, *(["rounds"] if at_end else []), *([MODEL] if MODEL in rows else [])])
    for name in COUNTED:
        rows[name] = rows[name].where(~same | rows[name].notna(), target[name])
    return rows


def digests(answer: Unlearned) -> list[str]:
    """The bits of the models that a promise is about, in short: with noise at the start, or before noise at the end."""
    segment, promise = answer.segment, answer.promise
    models = segment.final if promise is not None and promise.noise == "end" else segment.start  # [S, P]
    return [hashlib.sha256(model.cpu().contiguous().numpy().tobytes()).hexdigest() for model in models]


def _of_target(rows: pd.DataFrame) -> pd.DataFrame:
    """For each row the target's of its seed and request; null where there is none."""
    target = rows[rows["stop"] == stop_name(None)].drop(columns="stop")
    return rows[_ANSWER].merge(target, on=_ANSWER, how="left", validate="many_to_one")


def _is_same(rows: pd.DataFrame, target: pd.DataFrame, columns: list[str]) -> pd.Series[bool]:
    """Which rows promise the same as the target's, of the same node, along the same path."""
    alike = rows["claimed_epsilon"].notna()
    for name in columns:
        alike &= (rows[name] == target[name]) | (rows[name].isna() & target[name].isna())
    known: set[tuple[object, ...]] = set()  # the answers that are the same so far: the sequence, and the request
    for place, request, branch, *sequence in (
        rows.loc[alike, ["request", "branch", "stop", *_ANSWER[:-1]]].sort_values("request").itertuples(name=None)
    ):
        if branch <= 0 or (*sequence, branch) in known:
            known.add((*sequence, request))
        else:
            alike[place] = False
    return alike
