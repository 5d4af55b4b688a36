"""What the words behind an operator's event say of its arguments."""

from __future__ import annotations

import struct


def unpack(words: bytes) -> list[list[int]]:
    """The shape of each tensor argument."""
    return [list(sizes) for sizes, _ in unpack_tensors(words)]


def unpack_tensors(words: bytes) -> list[tuple[tuple[int, ...], int]]:
    """Sizes and dtype number of each tensor argument, from 64-bit words."""
    numbers = struct.unpack(f"={len(words) // 8}q", words)
    found, at = [], 0
    while at < len(numbers) and numbers[at] >= 0:
        dim, dtype = numbers[at] & 0xFF, numbers[at] >> 8
        found.append((tuple(numbers[at + 1 : at + 1 + dim]), dtype))
        at += 1 + dim
    return found
