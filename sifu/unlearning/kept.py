"""What a server may have kept of the past; a method declares what it reads."""

from __future__ import annotations

from enum import StrEnum


class Kept(StrEnum):
    MODELS = "models"  # the global model of any round
    COHORTS = "cohorts"  # who took part in which round
    SCALARS = "scalars"  # how far each client was from the average
    NORMS = "norms"  # how far each client moved, in all and layer by layer
    FIRST_ROUND = "first round"  # the updates of the training's first round
    UPDATES = "updates"  # every client's update
