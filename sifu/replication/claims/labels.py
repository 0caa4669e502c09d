"""What rows of claims call a variant: its label in config/variants.yaml, from which a test says where it differs."""

from __future__ import annotations

LABELS = {
    "sifu": "SIFU",
    "sifu_released": "SIFU, as released",
    "sifu_strict": "SIFU, strict",
    "last": "Last",
    "last_released": "Last, as released",
    "fed_eraser_released": "FedEraser, as released",
    "fed_eraser_searched": "FedEraser, dt and r searched",
    "fed_accum": "FedAccum",
    "fed_accum_released": "FedAccum, as released",
    "dp_released": "DP-FedAvg, as released",
    "fine_tuning": "Fine-tuning",
    "exact_rollback": "Exact roll-back",
    "blurred_scratch": "Blurred scratch",
}


def in_words(variant: str) -> str:
    """The label where words follow: `SIFU, as released,`."""
    label = LABELS[variant]
    return f"{label}," if "," in label else label
