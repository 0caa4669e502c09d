"""What a method may ask of the server; anything else is refused in one sentence that names the method."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sifu.config.federation import Federation, Shards
from sifu.core.types import Clients
from sifu.errors import MethodError, MethodRefused
from sifu.federation.engine import Engine


@dataclass(frozen=True)
class Permission:
    """Who asks, and what it declares to ask for."""

    method: str  # who asks, for messages
    shape: torch.Size | None  # [S, P] of the models that it may give; None: unknown
    forgotten_data: bool  # whether the method declares that it asks the clients to forget
    server_data: bool  # whether it declares that it needs data at the server
    oracle: bool  # whether it declares that it asks an oracle

    def check_model(self, start: object, asked: str) -> None:
        """Refuse anything but a model for every seed; `asked`: the server's method that it was given to."""
        if self.shape is not None and (not isinstance(start, Tensor) or start.shape != self.shape):
            found = f"{list(start.shape)}" if isinstance(start, Tensor) else type(start).__name__
            words = f"a model for each seed, a Tensor of shape {list(self.shape)}"
            raise MethodError(f"{self.method} gave `server.{asked}` {found}, not {words}")

    def check_forgotten(self) -> None:
        """Refuse to ask the clients to forget where that is not declared."""
        if not self.forgotten_data:
            raise MethodError(f"{self.method} asks the clients to forget: set assumptions.forgotten_data")

    def check_oracle(self) -> None:
        """Refuse to ask an oracle where that is not declared."""
        if not self.oracle:
            raise MethodError(f"{self.method} asks an oracle: set `oracle`")

    def check_steps(self, local_steps: int, federation: Federation) -> None:
        """Refuse more local steps of a past round than it had."""
        most = federation.local_steps
        if not 1 <= local_steps <= most:
            raise MethodError(f"{self.method} asks for {local_steps} steps of a past round; allowed: 1 to {most}")

    def check_same_round(self, is_open: bool) -> None:
        """Refuse another model in a round than the one that was sent."""
        if not is_open:
            raise MethodError(f"{self.method}: a round has one model: `same_round` needs that which was sent last")

    def shards(self, federation: Federation, asks: str) -> Shards:
        """The shards of a federation that has some; `asks`: what the method does with them."""
        if federation.shards is None:
            raise MethodError(f"{self.method} {asks} shards, and the federation has none: give it a `training`")
        return federation.shards

    def server_clients(self, engine: Engine) -> Clients:
        """The server's own examples, as those of a single client; refused where they are not declared, or missing."""
        if not self.server_data:
            raise MethodError(f"{self.method} reads data at the server: set assumptions.server_data")
        if engine.server_data is None:
            raise MethodRefused("it needs data at the server: set partition.server_share")
        return engine.server_data
