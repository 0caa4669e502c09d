"""What the table of forgetting says, in words: an introduction and a definition of each column."""

from __future__ import annotations

INTRODUCTION = (
    "Two questions to many models of one federation, next to what they say where nothing differs: can an attacker tell "
    "a method's models from retrained ones, and is a client remembered, or could its twin have sat in its seat as well?"
    " A row is about all clients of a request together, and a method has the settings of its variant: its defaults, "
    "unless its name says otherwise."
)
COLUMNS = {
    "told from retraining": "AUC of an attack (U-LiRA) that tells a method's models from scratch's by the forgotten "
    "clients' data, with its p-value",
    "paired p": "the two-sided p-value of another AUC: that of each client's mean margins against scratch of the same "
    "seeds, of all clients their mean. Worlds are permuted within seeds, which sees more than an attacker does",
    "on remaining clients": "the mean AUC of the attack by each of theirs, so a general shift shows in both; the null "
    "of one of them, the p-value of all, and how many of them the paired test tells apart (5% of these by mistake)",
    "by twins": "is the client remembered? In the other world a twin with like data sat in its seat; AUC of the margin "
    "on the client's data minus that on the twin's. 0.5 means that nothing of the client is left, however odd the "
    "model",
    "shift": "how far that difference lies apart in the two worlds, in its standard deviations: an AUC ends at 1, this "
    "does not",
    "null": "0.5 and the standard deviation of the AUC where nothing is remembered",
    "U-LiRA by twins": "the same by a likelihood ratio, with its own null and p-value",
    "half against half": "a placebo, one half of the twins' world against the other before the request, with the null "
    "of so few, once for each training",
    "RULI": "AUC of its two games, unlearned against never seen, both under unlearned models (privacy), and the latter "
    "under the original ones (efficacy, which is large for scratch, too, where a whole class leaves)",
    "original": "by twins, before the request",
    "share forgotten": "1 - (by twins - 0.5) / (original - 0.5), with its 95% bootstrap interval",
    "forgotten?": "no, if by twins is more than three deviations from 0.5; nothing to forget, if the original's AUC "
    "and two deviations are below 0.6; yes, if by twins is within two deviations, the interval of the share lies "
    "within 0.8 and 1.2, half of the models met the target accuracy, and there are as many as advised "
    "(docs/forgetting.md); else it cannot tell. No (overshot): below 0.5, a trace with the opposite sign: the client's "
    "data fare worse against its twin's where the client took part. No certificate with a large epsilon forbids a no "
    "(docs/forgetting.md)",
    "relearn time": "client steps with the clients back until their accuracy is close to the original's, over "
    "scratch's, in the seeds in which both got there; below 1 something was left, far above 1 the model is harder to "
    "train, which is no better forgetting; >=: the method did not in more seeds than scratch, <=: in fewer",
    "KLOM": "mean over the forgotten clients' examples, in nats, and where worlds are called so at random, "
    "with the deviation over draws",
    "worst decile drop": "by how much the mean margin of the tenth of remaining clients that fares worst is below "
    "scratch's, and at random",
}
CAPTION = " ".join(
    [INTRODUCTION, *(f"`{name}`: {text}." for name, text in COLUMNS.items()), "Single clients: in the Parquet table."]
)  # of the table as a file

MORE_CAPTION = (
    "`hits`: models of the method that the attack of `told from retraining` calls unlearned where it may call so 1%, "
    "or 0.1%, of scratch's, with the counts of both (a rate of less than one model allows none); `hits with the model "
    "before`, `hits on remaining clients` (of models times clients, with one threshold) and `hits by twins` (models "
    "of the clients' world, and of the twins'): the same of the other attacks; `lowest tenth`: the AUC of `told from "
    "retraining` by the lowest tenth of the clients' margins; `with the model before`: its AUC for an attacker who "
    "also has the model before the first request; `Gaussian KL`, `disagreement` (how often a model of each world say "
    "different classes) and `Jensen-Shannon` (distance of the right class's probability): as `KLOM`."
)
