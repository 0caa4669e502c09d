"""What certificates were worth by the earlier count, which left forgotten clients' seats empty, and are worth now."""

from __future__ import annotations

from sifu.docs.moved_claims import moved_claims
from sifu.docs.moved_promises import moved_promises
from sifu.docs.replication_run import MeasuredRun

_WORDS = """\
Before rules 0.3 a certificate was compared with a run in which forgotten clients' seats stay empty. Nobody makes that
run: now they are refilled ([certificates.md](../certificates.md)). Both counts are of the same stored answers. The
earlier one is for all clients of a request together, as every promise was judged then, and adds up what each of them
did, at most; today's knows what they did together. Strict SIFU goes back by the count that it is judged by, so that it
keeps its promise by construction: by refilled seats now, by empty ones then. Its answers of then are not stored.

**Claims.** `seats refilled` is the verdict above, by the whole rule of the claim; so SIFU's promise is now judged for
each client alone. Both verdicts go by the same measured distances.
"""
_PROMISES = """\
**Methods.** Both counts are for all clients of the request together. An answer keeps its promise where the ratio of
sensitivity to noise is within the claimed (epsilon, delta). On a dataset a promise is kept where every answer of every
seed keeps it, broken where that is so in fewer than half of the seeds, and else kept in part; the last column counts
these seeds. Answers that diverged count as well, but for those that start from a lineage that had diverged before. A
dash: not stored.
- `as promised`: with refilled seats, for whom the promise is made (each client alone, the request, or all who were
  forgotten; DP-FedAvg's by its accountant).
- `as measured`: for the request, by alpha, which assumes nothing on B.
- `to be counted again`: answers of older rules, which have the earlier count alone.
- `cannot be said`: noise in every round, and models that are solved for, have today's count alone.

Epsilon and delta of each answer, with refilled seats, are `actual_epsilon` and `actual_delta` of the table `cells`
([results.md](../results.md)).
"""


def two_counts(run: MeasuredRun) -> str:
    """The claims on certificates, then every method on every dataset."""
    return "\n".join([_WORDS, moved_claims(run), _PROMISES, moved_promises(run)])
