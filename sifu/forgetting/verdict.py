"""Was it forgotten: the answer of the twin test, from an AUC, its null and the share of the memory that is gone."""

from __future__ import annotations

from sifu.forgetting.twins import NOTHING, Share

YES, NO, CANNOT_TELL = "yes", "no", "cannot tell"
_REMEMBERED, _FORGOTTEN = 3.0, 2.0  # deviations of the null: beyond the first, and within the second
CERTAIN = 0.8  # of the share forgotten


def verdict(value: float, deviation: float, share: Share, *, enough: bool) -> str:
    """Whether clients were forgotten, by an AUC of twins, its null and the share that is gone; `enough`: models."""
    away = abs(value - 0.5)
    if away > _REMEMBERED * deviation:
        return NO
    if share.note == NOTHING:
        return NOTHING
    certain = away <= _FORGOTTEN * deviation and surely_gone(share.low, share.high)
    return YES if certain and enough else CANNOT_TELL


def surely_gone(low: float, high: float) -> bool:
    """Whether the whole interval of a share forgotten is close to 1: what turned the sign left a trace as well."""
    return low >= CERTAIN and high <= 2 - CERTAIN
