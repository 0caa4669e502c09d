"""What a server may have kept of the past; a method declares what it reads."""

from __future__ import annotations

from enum import StrEnum


class Kept(StrEnum):
    MODELS = "models"  # the global model of any round
    COHORTS = "cohorts"  # who took part in which round
    SCALARS = "scalars"  # how far each client was from the average
    UPDATES = "updates"  # every client's update
