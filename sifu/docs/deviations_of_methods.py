"""Deviations in methods: where the paper's text and code disagree, and what is not repeated of its code."""

from __future__ import annotations

from sifu.docs.deviation import NOT_MEASURED, Deviation, line_text
from sifu.docs.replication_run import MeasuredRun
from sifu.replication.claims import rounds
from sifu.replication.claims.labels import in_words

_CORRECTED = "Claims on `corrected` methods."


def _sensitivity(run: MeasuredRun) -> str:
    described, released = (
        line_text(run.line("", rounds.saved_words(variant))) for variant in ("sifu", "sifu_released")
    )
    return f"SIFU saves {described} of scratch's rounds, {in_words('sifu_released')} {released}."


def _too_few_rounds(run: MeasuredRun) -> str:
    """Where no stored value of C reached the target, so that the most accurate one was taken."""
    trials = run.tables.trials
    found = trials[trials["variant"] == "dp_released"].groupby("scenario")
    missed = {str(name): int(part["rounds"].max()) for name, part in found if not (part["status"] == "done").any()}
    words = [f"{run.titles.get(name, name)} ({rounds:,} rounds)" for name, rounds in missed.items()]
    chosen = f" The most accurate C is used where no value reached the target: {', '.join(words)}." if words else ""
    return f"[searches.md](searches.md) marks the paper's values.{chosen}"


def _first_model(run: MeasuredRun) -> str:
    """Where SIFU as released restored the first model of the second or a later branch, instead of which the code has
    that of an earlier branch. Such branches are there from the third request on.
    """
    cells = run.tables.cells
    rows = cells[(cells["variant"] == "sifu_released") & (cells["stop"] == "target")]
    later = rows[rows["request"] >= 3]
    if later.empty:
        return f"No recovery to the target from a third request is stored. {NOT_MEASURED}"
    happens = (later["branch"] >= 2) & (later["cut_round"] == 0)
    counts = later.assign(happens=happens).groupby("scenario", sort=False)["happens"].agg(["sum", "size"])
    where = [(str(name), some, size) for name, some, size in counts.itertuples() if some]
    words = "; ".join(f"{run.titles.get(name, name)} ({some} of {size})" for name, some, size in where)
    named = f": {words}" if words else ""
    found = f"{happens.sum()} of {len(later)} stored recoveries to the target from the third request on"
    return f"It occurs in {found}{named}. What the other model would change there is not measured."


def _fed_eraser(run: MeasuredRun) -> str:
    counted, steps = (
        line_text(run.line("", rounds.extra_words("fed_eraser_released", cost)))
        for cost in ("counted_rounds", "client_steps")
    )
    return f"By the code's count it takes {counted} more rounds than scratch, in client steps {steps}."


METHODS = (
    Deviation(
        "Sensitivity",
        "Text: Psi along all branches. Code: Psi starts at zero on every branch, every earlier cut is checked again, "
        "and a set of clients gets the checkpoint of the one with the largest Psi.",
        "SIFU follows the text, SIFU as released the code, strict SIFU counts what really holds.",
        _sensitivity,
    ),
    Deviation(
        "Noise of Last",
        "Text: for the forgotten clients. Code: for the largest Psi of all clients on the newest branch.",
        "Last follows the text, Last as released the code.",
        "A claim on each.",
    ),
    Deviation(
        "FedEraser's count",
        "Code: every past round counts as r / dt of a round, also towards the minimum of 50.",
        "As released: the same (`counted_rounds`); its cost is what was trained in fact.",
        _fed_eraser,
    ),
    Deviation(
        "Errors in FedEraser's code",
        "The rescaled step is overwritten. The list of removed clients is late: at request u > 1 the clients to forget "
        "take part in the calibration of every branch but the training.",
        "As released: the same. FedEraser as its own paper describes it is run, too.",
        _CORRECTED,
    ),
    Deviation(
        "Batches of FedEraser's calibration, as released",
        "Code: calibrated during the training, as all requests are known beforehand, with new random batches",
        "Calibrated at the request, with the first batches of the past round",
        "Other random draws. Not measured.",
    ),
    Deviation(
        "List of checkpoints, SIFU as released",
        "Code: from the second request on the list is behind the branches. A client that crosses Psi* in the first "
        "round of branch 2 gets the first model of branch 1.",
        "It gets the first model of branch 2.",
        _first_model,
    ),
    Deviation(
        "Requests without a trace, SIFU as released",
        "Code: ends with an error where no client to forget took part in the branch that is cut.",
        "The branch's last model is restored.",
    ),
    Deviation(
        "FedAccum's code",
        "The last round's average without the forgotten clients, and nothing at later requests",
        "FedAccum as released does the same. FedAccum adds up the old updates of the remaining clients, as described.",
        _CORRECTED,
    ),
    Deviation(
        "C of DP-FedAvg",
        "The best of 0.001 to 1; the seeds of that search are not named.",
        "The best of the same range, on seeds that are not reported",
        _too_few_rounds,
    ),
)
