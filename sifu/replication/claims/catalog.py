"""Every claim that is checked, a line each: those of the paper, then those that the paper leaves open."""

from __future__ import annotations

from sifu.replication.claims import (
    backdoor,
    bound,
    certificate,
    client_cost,
    extreme_sigma,
    forgetting,
    last,
    null_space,
    request_sets,
    restart,
    rounds,
    sigma,
    trade_off,
    watermark,
)

PAPER = (
    rounds.SIFU_SAVES,
    rounds.FED_ERASER_TAKES_MORE,
    trade_off.BEST_ON_FOUR,
    forgetting.FINE_TUNING_FORGETS_POORLY,
    forgetting.FED_ACCUM_FORGETS_POORLY,
    last.DOES_WELL_ON_SIMPLE_DATASETS,
    last.NEVER_RECOVERS,
    watermark.SIFU_OUTPERFORMS,
    sigma.BEST_SIGMA,
    request_sets.ONLY_SIFU,
    forgetting.SIFU_SLIGHTLY_ABOVE,
    bound.ALPHA_BELOW_PSI,
    forgetting.DP_FORGETS_POORLY,
    forgetting.FED_ERASER_FORGETS,
    extreme_sigma.LOW_SIGMA_IS_SCRATCH,
    extreme_sigma.HIGH_SIGMA_IS_LAST,
    null_space.FINE_TUNING_NEVER_REACHES,
    client_cost.NO_ADDED_COST,
)

OPEN_QUESTIONS = (
    certificate.SIFU_KEEPS_ITS_PROMISE,
    certificate.STRICT_SIFU_KEEPS_ITS_PROMISE,
    backdoor.SIFU_GOES_UNNOTICED,
    rounds.DESCRIBED_SIFU_SAVES,
    rounds.DESCRIBED_SAVES_AS_RELEASED,
    rounds.STRICT_SIFU_SAVES,
    restart.HISTORY_SAVES,
    rounds.CORRECTED_FED_ERASER_TAKES_MORE,
    forgetting.CORRECTED_FED_ACCUM_FORGETS_POORLY,
    last.DESCRIBED_NEVER_RECOVERS,
    trade_off.BEST_NEXT_TO_CORRECTED_RIVALS,
    trade_off.BEST_WITH_DP,
    trade_off.BEST_UNDER_THE_SAME_LIMIT,
)

CLAIMS = (*PAPER, *OPEN_QUESTIONS)
