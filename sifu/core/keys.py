"""Randomness as a pure function of names: no state, no order of calls, the same bits on CPU and GPU.

    keys = Keys.of([0, 1, 2])                   # one key per seed: state [S]
    round_keys = keys.fold("cohort", 17)        # a separate stream for each name and each round
    round_keys.each(torch.arange(100)).state    # [S, 100]: a 64-bit number for each seed and client

A key is a 64-bit hash; `fold` hashes one more word into it, and a draw hashes the index of the value. So removing a
client does not change the draws of any other client, and a run can be replayed from any round.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from sifu.hardware.kernels import has_triton

Word = str | int | Tensor


def _signed(word: int) -> int:
    """The 64-bit pattern of `word` as torch's int64 holds it."""
    return (word + 2**63) % 2**64 - 2**63


_GOLDEN = _signed(0x9E3779B97F4A7C15)
_MIX_1 = _signed(0xBF58476D1CE4E5B9)
_MIX_2 = _signed(0x94D049BB133111EB)


def _shift_right(bits: Tensor, by: int) -> Tensor:
    """Logical shift: torch's >> on int64 would drag the sign along."""
    return (bits >> by) & ((1 << (64 - by)) - 1)


def _mix(bits: Tensor) -> Tensor:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every input bit reaches every output bit."""
    bits = (bits ^ _shift_right(bits, 30)) * _MIX_1
    bits = (bits ^ _shift_right(bits, 27)) * _MIX_2
    return bits ^ _shift_right(bits, 31)


def _has_kernel(state: Tensor) -> bool:
    """Whether our kernels may read the keys: on a GPU, and outside of `vmap` and `grad`, whose tensors hold none."""
    return state.is_cuda and has_triton() and not torch._C._functorch.is_functorch_wrapped_tensor(state)


def _fold(state: Tensor, word: Tensor) -> Tensor:
    """Hash a word into each key; on a GPU in one kernel."""
    if _has_kernel(state):
        from sifu.hardware.kernels import hashing

        return hashing.fold(state, word)
    return _mix(state * _MIX_1 + _mix(word + _GOLDEN))


def _fold_number(state: Tensor, hashed: int) -> Tensor:
    """As `_fold`, with one word for all keys that is already hashed."""
    if _has_kernel(state):
        from sifu.hardware.kernels import hashing

        return hashing.fold_number(state, hashed)
    return _mix(state * _MIX_1 + hashed)


@lru_cache(maxsize=4096)
def _hash_word(word: str | int) -> int:
    """`_mix` of a name or number in Python integers, so that nothing is copied to the GPU."""
    if isinstance(word, str):
        word = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    bits = (word + _GOLDEN) % 2**64
    bits = (bits ^ (bits >> 30)) * (_MIX_1 % 2**64) % 2**64
    bits = (bits ^ (bits >> 27)) * (_MIX_2 % 2**64) % 2**64
    return _signed(bits ^ (bits >> 31))


@dataclass(frozen=True)
class Keys:
    """One 64-bit key per seed, or per seed and folded value (a round, a client)."""

    state: Tensor  # [S, ...] int64

    @staticmethod
    def of(seeds: Sequence[int], device: torch.device | str = "cpu") -> Keys:
        state = torch.tensor([_signed(seed) for seed in seeds], dtype=torch.int64, device=device)
        return Keys(_mix(state + _GOLDEN))

    def fold(self, *words: Word) -> Keys:
        """The keys of a sub-stream. A tensor gives each key its own word; its first axes are the axes of the keys."""
        state = self.state
        for word in words:
            # key and word are hashed differently: seed 3 with word 3 must not equal seed 4 with word 4
            if isinstance(word, Tensor):
                state = state.reshape(state.shape + (1,) * max(0, word.dim() - state.dim()))
                state = _fold(state, word)
            else:
                state = _fold_number(state, _hash_word(word))
        return Keys(state)

    def each(self, numbers: Tensor) -> Keys:
        """One sub-stream for each key and each of `numbers` [n]: state [..., n]."""
        return Keys(self.state.unsqueeze(-1)).fold(numbers)

    def rows(self, index: Tensor | int) -> Keys:
        """The keys of the seeds in `index`; an int gives a single state."""
        return Keys(self.state[index])

    def bits(self, count: int) -> Tensor:
        """`count` uniform 64-bit numbers per key. [..., count]"""
        index = torch.arange(count, device=self.state.device)
        return self.fold("draw").each(index).state

    def uniform(self, count: int) -> Tensor:
        """`count` numbers in [0, 1) per key, float64, multiples of 2^-53."""
        return _shift_right(self.bits(count), 11).double() * 2.0**-53  # [..., count]

    def normal(self, count: int) -> Tensor:
        """`count` standard normal numbers per key, float64; on a GPU in one kernel."""
        if _has_kernel(self.state):
            from sifu.hardware.kernels import normal

            return normal.normal(self.fold("draw").state, count, CONSTANTS)
        return _normal_quantile((_shift_right(self.bits(count), 12).double() + 0.5) * 2.0**-52)  # [..., count]

    def permutation(self, count: int) -> Tensor:
        """A random order of 0..count-1 for each key."""
        return self.bits(count).argsort(dim=-1, stable=True)  # [..., count]


# Wichura's algorithm AS 241 (PPND16), relative error about 1e-16. torch.special.ndtri would do, but it calls log and
# sqrt, whose last bit differs between CPU and GPU: here every operation is one that IEEE 754 rounds exactly.
_CENTRE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
_TAIL = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
)  # fmt: skip
_FAR_TAIL = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
     0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
     0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
)  # fmt: skip


_SERIES = tuple(1.0 / (2 * k + 1) for k in reversed(range(18)))  # of 2 artanh
_LOG_2 = 0.6931471805599453
_POLYNOMIALS = (*_CENTRE[0], *_CENTRE[1], *_TAIL[0], *_TAIL[1], *_FAR_TAIL[0], *_FAR_TAIL[1])
CONSTANTS = (*_POLYNOMIALS, *_SERIES, 0.180625, 1.6, _LOG_2, 0.425)  # as the kernel reads them


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Horner's scheme, highest power first; separate operations, so that no device fuses them."""
    value = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x
        value = value + coefficient
    return value


def _ratio(x: Tensor, pair: tuple[Sequence[float], Sequence[float]]) -> Tensor:
    return _polynomial(x, pair[0]) / _polynomial(x, pair[1])


def _log(x: Tensor) -> Tensor:
    """Natural logarithm: exponent times ln 2 plus the series of 2 artanh((m - 1) / (m + 1)), m in [1/2, 1)."""
    mantissa, exponent = torch.frexp(x)
    z = (mantissa - 1.0) / (mantissa + 1.0)
    series = _polynomial(z * z, _SERIES)
    return exponent.double() * _LOG_2 + (z * series) * 2.0


def _sqrt(x: Tensor) -> Tensor:
    """Heron's method: the square root of the devices' own libraries differs in the last bit. For x from 0.5 to 1000."""
    root = (x + 1.0) * 0.5
    for _ in range(12):
        root = (root + x / root) * 0.5
    return root


def _normal_quantile(p: Tensor) -> Tensor:
    """The standard normal quantile of `p` in (0, 1)."""
    centred = p - 0.5
    square = centred * centred
    centre = centred * _ratio(0.180625 - square, _CENTRE)
    root = _sqrt(-_log(torch.minimum(p, 1.0 - p)))
    tail = torch.where(root <= 5.0, _ratio(root - 1.6, _TAIL), _ratio(root - 5.0, _FAR_TAIL))
    tail = torch.where(centred < 0, -tail, tail)
    return torch.where(centred.abs() <= 0.425, centre, tail)
