"""Deviations in the data, in what clients hold, and in networks."""

from __future__ import annotations

from collections.abc import Callable

from sifu.docs.deviation import NO_ROWS, NOT_MEASURED, Deviation
from sifu.docs.replication_run import MeasuredRun
from sifu.docs.totals_in_words import listed
from sifu.replication.claims.stored_tables import DATASETS
from sifu.report.old_clipping import old_clipping


def _images(*names: str) -> Callable[[MeasuredRun], str]:
    """How many images of some datasets were used."""

    def words(run: MeasuredRun) -> str:
        known = {name: run.data[name].words() if name in run.data else NO_ROWS for name in names}
        if len(set(known.values())) == 1:
            return known[names[0]]
        return "; ".join(f"{run.titles.get(name, name)}: {text}" for name, text in known.items())

    return words


def clipped_before(run: MeasuredRun) -> str:
    """Which of the paper's datasets have rows that were made without the clipping of today's config."""
    scenarios = {name: run.plan["scenarios"][name] for name in DATASETS}
    return old_clipping(scenarios, run.manifest, lambda names: listed([run.titles[name] for name in names]))


def _clipping(run: MeasuredRun) -> str:
    """The norms that gradients are clipped to, by the config, and what was run without it."""
    clips = {name: run.plan["scenarios"][name]["federation"]["clip"] for name in DATASETS}
    named = [f"{run.titles[name]}: {clip:,.0f}" for name, clip in clips.items() if clip is not None]
    words = "; ".join(named) + "; none on MNIST, whose gradients cannot be so long" if named else "None"
    old = clipped_before(run)
    return f"{words}. {old.removesuffix('.')}" if old else words


def _other_clips(run: MeasuredRun) -> str:
    """Where other norms were tried; that there is no such search, where none is stored."""
    trials = run.tables.scenario_trials
    tried = set(trials.loc[trials["setting"] == "federation.clip", "scenario"])
    names = ", ".join(title for name, title in run.titles.items() if name in tried)
    return f"[searches.md](searches.md) has other values on {names}." if names else NOT_MEASURED


DATA = (
    Deviation(
        "Images of CIFAR-10 and CIFAR-100",
        "All 50,000 training and 10,000 test images",
        _images("cifar10", "cifar100"),
        "Clients draw from fewer images, so that they share more of them. Accuracies on test data cannot be compared "
        "with published ones: CIFAR-100's split is not the official one. Not measured otherwise.",
    ),
    Deviation(
        "Images of CelebA",
        "Text: as LEAF. Code: its loader `celeba-leaf` takes the first 100 people with at least 25 images, at most 100 "
        "images each; its list of experiments has most plain runs with the loader `celeba` (every second person, with "
        "any number of images). Which of them made the figures is not known.",
        _images("celeba"),
        "People as `celeba-leaf` takes them, other ones than the paper's; CelebA's terms forbid passing images on. Not "
        "measured.",
    ),
    Deviation(
        "Networks of FashionMNIST and CelebA",
        "Text: three convolutions and two full layers. Code: two convolutions on FashionMNIST, one full layer and no "
        "ReLU on CelebA.",
        "As in the code, weight for weight, as it made the figures; so are the networks of CIFAR",
    ),
    Deviation(
        "Partition",
        "Text: says nothing of images that clients share. Code: drawn with replacement inside a class, once for all "
        "seeds, so that clients share images.",
        "As in the code. `cifar10_disjoint` has clients that share nothing, drawn anew for every seed; so have "
        "scenarios with backdoors, which are ours.",
        "[Two partitions of CIFAR-10](claims.md#two-partitions-of-cifar-10)",
    ),
    Deviation(
        "Watermarks",
        "Text: clients by Dirichlet(1), but on MNIST and FashionMNIST requests of ten clients that own the same class. "
        "Code: Dirichlet(1) in its list of experiments, one class a client in its README's example; ten clients share "
        "a mark, and a request removes all clients of a mark. Marking sets the seed of the draws anew: with one class "
        "a client, most clients of a mark hold the same images. On CelebA its marked clients come from another loader "
        "than the plain ones (every second person, with any number of images), and a mark goes by the number of the "
        "person, a request by that of the client.",
        "One class a client on MNIST and FashionMNIST, Dirichlet(1) on CIFAR; draws, marks and requests as in the "
        "code; on CelebA the people of the plain scenario, with marks by their numbers",
        "Where clients hold the same images, a mark says more of them than their data do.",
    ),
    Deviation(
        "Requests",
        "Text: ten random clients a request, with watermarks and in the figure on sets of requests; on MNIST and "
        "FashionMNIST ten of one class. Code: fixed groups, client i in group i mod 10, also in that figure (`P70` to "
        "`P79`).",
        "Groups as in the code. Other sets of requests: random sets as in the text, drawn for each seed, on CIFAR and "
        "CelebA; the ten classes, which are the groups, on MNIST and FashionMNIST. Scenarios with backdoors, which are "
        "ours, have random requests.",
    ),
    Deviation(
        "Clipping",
        "Text: none. Code: 10,000 in its example; 0.5 is the option's default, which its list of experiments leaves.",
        _clipping,
        _other_clips,
    ),
    Deviation(
        "Weights of clients",
        "Code: all clients count the same, in averages and in Psi.",
        "By their number of examples, which is the same for all clients but where they are writers or people",
    ),
)
