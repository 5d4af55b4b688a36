"""How many dimensions a result has, as far as the inputs and attributes of a node say it.

Where it is known, a body's branches on it are gone when the file is read, and sizes are counted one
by one; see sizes.py.
"""

from collections.abc import Callable
from typing import Any

Ranks = list["int | None"]

_OF_FIRST = {
    "BatchNormalization", "Compress", "Concat", "CumProd", "CumSum", "DepthToSpace", "Dropout",
    "GatherElements", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "GroupNormalization",
    "Hardmax", "InstanceNormalization", "LRN", "LayerNormalization", "LogSoftmax",
    "LpNormalization", "MeanVarianceNormalization", "RMSNormalization", "ReverseSequence",
    "Scatter", "ScatterElements", "ScatterND", "Softmax", "SpaceToDepth", "TensorScatter", "Tile",
    "TopK", "Trilu",
}  # fmt: skip


def _reduced(given: dict[str, Any], ranks: Ranks) -> int | None:
    if given.get("keepdims") == 1 or ranks[0] is None:
        return ranks[0]
    axes = given.get("axes")
    if not isinstance(axes, list):
        return None
    if not axes:
        return ranks[0] if given.get("noop_with_empty_axes") else 0
    return ranks[0] - len(axes)


def _squeezed(given: dict[str, Any], ranks: Ranks) -> int | None:
    axes = given.get("axes")
    known = isinstance(axes, list) and given.get("has_axes")
    return ranks[0] - len(axes) if known and ranks[0] is not None else None  # type: ignore[arg-type]


def _gathered(given: dict[str, Any], ranks: Ranks) -> int | None:
    return None if None in ranks else sum(rank or 0 for rank in ranks) - 1


def _product(given: dict[str, Any], ranks: Ranks) -> int | None:
    known = [rank for rank in ranks if rank is not None]
    return max(known) if len(known) == len(ranks) and min(known) >= 2 else None


def _chosen(given: dict[str, Any], ranks: Ranks) -> int | None:
    return ranks[0] if given.get("keepdims") == 1 or ranks[0] is None else ranks[0] - 1


def _expanded(given: dict[str, Any], ranks: Ranks) -> int | None:
    count = given.get("shape_count")
    return max(count, ranks[0]) if isinstance(count, int) and ranks[0] is not None else None


_RULES: dict[str, Callable[[dict[str, Any], Ranks], int | None]] = {
    "ArgMax": _chosen,
    "ArgMin": _chosen,
    "Expand": _expanded,
    "Flatten": lambda given, ranks: 2,
    "Gather": _gathered,
    "Gemm": lambda given, ranks: 2,
    "MatMul": _product,
    "Shape": lambda given, ranks: 1,
    "Size": lambda given, ranks: 0,
    "Squeeze": _squeezed,
}


def rank_of(kind: str, pointwise: bool, given: dict[str, Any], ranks: Ranks) -> int | None:
    """The number of dimensions of a block's first result, or None if it is not known."""
    if not ranks:
        return None
    if pointwise:
        return None if None in ranks else max(rank or 0 for rank in ranks)
    if kind in _OF_FIRST:
        return ranks[0]
    rule = _reduced if kind.startswith("Reduce") else _RULES.get(kind)
    return rule(given, ranks) if rule is not None else None
