"""Unlearning methods by name, a line each. Read while the Snakefile is parsed: nothing heavy is imported here."""

from __future__ import annotations

from sifu.catalog.registry import Catalog

_OWN: dict[str, str] = {
    "original": "sifu.methods.original:Original",
    "scratch": "sifu.methods.scratch:Scratch",
    "fine_tuning": "sifu.methods.fine_tuning:FineTuning",
    "exact_rollback": "sifu.methods.exact_rollback:ExactRollback",
    "sifu": "sifu.methods.sifu:Sifu",
    "last": "sifu.methods.last:Last",
    "fed_eraser": "sifu.methods.fed_eraser:FedEraser",
    "fed_accum": "sifu.methods.fed_accum:FedAccum",
    "dp_fedavg": "sifu.methods.dp_fedavg:DpFedAvg",
    "descent_to_delete": "sifu.methods.descent_to_delete:DescentToDelete",
    "fed_eraser_released": "sifu.methods.fed_eraser_released:FedEraserReleased",
    "scratch_again": "sifu.methods.scratch_again:ScratchAgain",
    "blurred_scratch": "sifu.methods.blurred_scratch:BlurredScratch",
    "negation": "sifu.methods.negation:Negation",
    "puf": "sifu.methods.puf:Puf",
    "fed_recovery": "sifu.methods.fed_recovery:FedRecovery",
    "gradient_ascent": "sifu.methods.gradient_ascent:GradientAscent",
    "fed_quit": "sifu.methods.fed_quit:FedQuit",
    "rapid_retraining": "sifu.methods.rapid_retraining:RapidRetraining",
    "subtract_and_distil": "sifu.methods.subtract_and_distil:SubtractAndDistil",
    "fed_recover": "sifu.methods.fed_recover:FedRecover",
    "fed_osd": "sifu.methods.fed_osd:FedOsd",
    "conda": "sifu.methods.conda:Conda",
    "mode": "sifu.methods.mode:Mode",
    "f2l2": "sifu.methods.f2l2:F2l2",
    "sharded": "sifu.methods.sharded:Sharded",
    "fats": "sifu.methods.fats:Fats",
    "bfu": "sifu.methods.bfu:Bfu",
    "forget_svgd": "sifu.methods.forget_svgd:ForgetSvgd",
}

METHODS: Catalog[str] = Catalog("methods", _OWN, str)  # name -> "module:class"
