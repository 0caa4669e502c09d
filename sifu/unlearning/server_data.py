"""The data at the server, as a method sees them."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from sifu.core.types import Clients


class ServerData(NamedTuple):
    """The examples that the server holds itself, none of them a client's or of the test set."""

    images: Tensor  # [S, n, channels, height, width]
    labels: Tensor  # [S, n]

    @staticmethod
    def of(own: Clients) -> ServerData:
        """Copies of the examples of the single client that the server is."""
        return ServerData(own.images[:, 0].clone(), own.labels[:, 0].clone())
