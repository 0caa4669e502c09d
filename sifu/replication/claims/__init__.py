"""Every claim that is checked: those of the paper, then those that nobody checked."""

from __future__ import annotations

from sifu.replication.claims import (
    backdoor,
    bound,
    certificate,
    forgetting,
    last,
    request_sets,
    restart,
    rounds,
    sigma,
    trade_off,
    watermark,
)
from sifu.replication.claims.again import cell_again, table_again
from sifu.replication.claims.claim import Claim, all_of, on_average

_COST = "appendix, section Experiments (cost to the target)"
_RESULTS = "section Experimental Results (time limits)"
_OURS = "not in the paper"
_OTHERS = (
    "The other approaches are generally associated with poor unlearning results, independently from the required "
    "computational cost."
)

PAPER = (
    Claim(
        "SIFU takes 52% fewer rounds than scratch",
        "52%",
        "SIFU requires a sensibly lower number of iterations than Scratch (52% faster on average) to achieve similar "
        "unlearning performances.",
        _COST,
        rounds.saved_and_released,
        rounds.FEWER_WORDS,
        on_average(rounds.saves_as_claimed),
        cell_again("mnist", "sifu"),
    ),
    Claim(
        "FedEraser takes 12% more rounds than scratch",
        "12%",
        "FedEraser also provides comparable unlearning capabilities, while however requiring a higher number of "
        "iterations than Scratch (12% on average).",
        _COST,
        rounds.extra("fed_eraser_released_searched", "FedEraser as released"),
        rounds.MORE_WORDS,
        on_average(rounds.takes_as_claimed),
        cell_again("mnist", "fed_eraser_released_searched"),
    ),
    Claim(
        "SIFU has the best trade-off on 4 of 5 datasets",
        "4 wins",
        "SIFU outperforms its competitors on 4 out of 5 datasets. In particular, on every experiment involving FU of a "
        "neural network, SIFU is the only method to achieve a good trade-off between forgetting quality and accuracy "
        "on the retain set.",
        _RESULTS,
        trade_off.best_trade_off(trade_off.RELEASED),
        trade_off.WORDS,
        trade_off.enough,
        cell_again("mnist", "fine_tuning", stop="budget_25"),
    ),
    Claim(
        "Fine-tuning forgets poorly",
        "poor",
        _OTHERS,
        _COST,
        forgetting.forgets_poorly("fine_tuning", "fine-tuning"),
        forgetting.POOR_WORDS,
        all_of,
        cell_again("mnist", "fine_tuning"),
    ),
    Claim(
        "FedAccum forgets poorly",
        "poor",
        _OTHERS,
        _COST,
        forgetting.forgets_poorly("fed_accum_released", "FedAccum as released"),
        forgetting.POOR_WORDS,
        all_of,
        cell_again("mnist", "fed_accum_released"),
    ),
    Claim(
        "Last does well on MNIST and CelebA and fails on CIFAR",
        "well, fails on CIFAR",
        "While Last performs quite well on very simple datasets such as CelebA and MNIST, the introduced noise becomes "
        "too large in more complex datasets such as CIFAR10(0), rendering it infeasible for the model to converge "
        "after noising.",
        _RESULTS,
        last.under_limits,
        last.LIMITS_WORDS,
        all_of,
        cell_again("mnist", "last", stop="budget_25"),
    ),
    Claim(
        "Last never gets back to the target",
        "never",
        "When unlearning with Last, we observed that the model always converged to a local optimum with accuracy "
        "inferior to our target.",
        _COST,
        last.to_the_target,
        last.TARGET_WORDS,
        all_of,
        cell_again("mnist", "last"),
    ),
    Claim(
        "With watermarks SIFU outperforms every other method where a CNN is used",
        "every CNN",
        "On every dataset where a CNN is used, SIFU outperforms every other method [...]. Indeed, it offers a unique "
        "trade-off between efficiency and unlearning [...].",
        "section Verifying Unlearning with Watermarking",
        watermark.outperforms,
        watermark.WORDS,
        all_of,
        cell_again("fashionmnist_watermark", "sifu"),
    ),
    Claim(
        "The best sigma makes SIFU 2 to 5 times as fast",
        "2 to 5",
        "Speed-ups at optimal sigma are between two-fold and five-fold.",
        "appendix, caption of the figure on the impact of sigma",
        sigma.best_sigma,
        sigma.WORDS,
        all_of,
        table_again("sweep", "mnist"),
    ),
    Claim(
        "For other sets of clients, too, only SIFU is faster and forgets",
        "only SIFU",
        "SIFU is the only unlearning method offering an unlearning speed-up while maintaining an accuracy close to "
        "Scratch on unlearned clients.",
        "appendix, caption of the figure on sets of clients",
        request_sets.only_sifu,
        request_sets.WORDS,
        all_of,
        table_again("request_sets", "mnist"),
    ),
    Claim(
        "SIFU's forget accuracy is slightly above scratch's",
        "slightly",
        "We notice that the model accuracy of SIFU is slightly higher than the one of Scratch, with overlap only for "
        "FashionMNIST.",
        _COST,
        forgetting.slightly_above,
        forgetting.SLIGHTLY_WORDS,
        all_of,
        cell_again("mnist", "sifu"),
    ),
    Claim(
        "alpha <= Psi for B = 1 everywhere",
        "100%",
        "We observe that the bound demonstrated in Theorem 1 holds for all the considered experimental scenarios, even "
        "when setting B = 1 in neural networks.",
        "appendix, section on the bound (figure of alpha and Psi)",
        bound.psi_bounds,
        bound.WORDS,
        all_of,
        table_again("alpha", "mnist"),
    ),
    Claim(
        "DP forgets poorly",
        "poor",
        "The poor unlearning performance of DP can be explained by the fact that it provides privacy guarantees with "
        "respect to every client, while FU only aims at removing the contribution of a few specific clients.",
        _COST,
        forgetting.forgets_poorly("dp_released", "DP-FedAvg as released"),
        forgetting.POOR_WORDS,
        all_of,
        cell_again("mnist", "dp_released"),
    ),
)

UNCHECKED = (
    Claim(
        "SIFU's certificate is worth what it says",
        "-",
        "The promise of SIFU as published, counted strictly: does the claimed delta hold?",
        _OURS,
        certificate.promise("sifu", "SIFU", "published"),
        certificate.WORDS,
        all_of,
        cell_again("mnist", "sifu"),
    ),
    Claim(
        "Strict SIFU's certificate is worth what it says",
        "-",
        "The same promise, with noise and roll-back chosen by the strict count.",
        _OURS,
        certificate.strict_promise,
        certificate.STRICT_WORDS,
        all_of,
        cell_again("mnist", "sifu_strict"),
    ),
    Claim(
        "Clients with backdoors do not notice SIFU",
        "-",
        "Whether those who have left can tell SIFU's model from one that was trained without them, by their triggers.",
        _OURS,
        backdoor.goes_unnoticed,
        backdoor.WORDS,
        all_of,
        cell_again("mnist_backdoor", "sifu"),
    ),
    Claim(
        "SIFU's speed-up survives strict accounting",
        "-",
        "Rounds that SIFU saves when its certificate has to hold strictly.",
        _OURS,
        rounds.saved_and_lost("sifu_strict", "strict SIFU"),
        rounds.SURVIVES_WORDS,
        rounds.survives,
        cell_again("mnist", "sifu_strict"),
    ),
    Claim(
        "SIFU's speed-up comes from what it keeps of the training",
        "-",
        "Rounds that a start from next to nothing saves when it is blurred as SIFU's models are.",
        _OURS,
        restart.history_saves,
        restart.WORDS,
        all_of,
        cell_again("fashionmnist", "sifu_strict"),
    ),
    Claim(
        "SIFU's speed-up is that of its released code",
        "-",
        "Rounds that SIFU saves when sensitivity is counted as the paper's code does.",
        _OURS,
        rounds.released_beside_published,
        rounds.ALIKE_WORDS,
        all_of,
        cell_again("mnist", "sifu_released"),
    ),
    Claim(
        "FedEraser, corrected, still takes more rounds than scratch",
        "12%",
        "The claim on FedEraser's rounds, for what FedEraser's own paper describes.",
        _OURS,
        rounds.extra_and_sifu("fed_eraser_searched", "FedEraser"),
        rounds.STILL_MORE_WORDS,
        on_average(rounds.above_zero),
        cell_again("mnist", "fed_eraser_searched"),
    ),
    Claim(
        "FedAccum, corrected, still forgets poorly",
        "poor",
        "The claim on FedAccum's forgetting, for the method as it is described.",
        _OURS,
        forgetting.forgets_poorly("fed_accum", "FedAccum"),
        forgetting.POOR_WORDS,
        all_of,
        cell_again("mnist", "fed_accum"),
    ),
    Claim(
        "SIFU's trade-off is still the best beside corrected rivals",
        "4 wins",
        "The claim on 4 of 5 datasets, with FedEraser and FedAccum as their own descriptions have them.",
        _OURS,
        trade_off.best_trade_off(trade_off.CORRECTED),
        trade_off.WORDS,
        trade_off.enough,
        cell_again("mnist", "fed_accum", stop="budget_25"),
    ),
    Claim(
        "SIFU's trade-off is still the best with DP-FedAvg among its rivals",
        "4 wins",
        "The claim on 4 of 5 datasets, with the method that the paper's figure leaves out.",
        _OURS,
        trade_off.best_trade_off((*trade_off.RELEASED, "dp_released")),
        trade_off.PRIVATE_WORDS,
        trade_off.enough,
        cell_again("mnist", "dp_released", stop="budget_25"),
    ),
    Claim(
        "SIFU's trade-off is still the best beside scratch under the same limit",
        "4 wins",
        "The claim on 4 of 5 datasets, when scratch, which gaps are to, has no more time than the others.",
        _OURS,
        trade_off.best_trade_off(trade_off.RELEASED, trade_off.SAME_LIMIT),
        trade_off.SAME_LIMIT_WORDS,
        trade_off.enough,
        cell_again("mnist", "scratch", stop="budget_25"),
    ),
)

CLAIMS = (*PAPER, *UNCHECKED)
