"""torch.func.vmap: one call for each element of the batch."""

from collections.abc import Callable
from typing import Any


def _part(value: Any, dim: Any, number: int) -> Any:
    """Element `number` of what is batched along `dim`, other values as they are."""
    if isinstance(value, list | tuple):
        dims = dim if isinstance(dim, list | tuple) else [dim] * len(value)
        return [_part(one, of, number) for one, of in zip(value, dims, strict=True)]
    return value if dim is None else value.select(dim, number)


def _joined(torch: Any, parts: list[Any]) -> tuple[Any, Any]:
    """Results of the calls as one, and its dimension of the batch."""
    first = parts[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(parts), 0
    if isinstance(first, list | tuple):
        pairs = [_joined(torch, list(several)) for several in zip(*parts, strict=True)]
        return type(first)(one for one, _ in pairs), type(first)(dim for _, dim in pairs)
    return first, None


def sequential(torch: Any, op: Any, name: str) -> Callable[..., Any]:
    """What torch.library.register_vmap() takes for the operator `op` of PyTorch."""

    def batched(info: Any, in_dims: tuple, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if info.batch_size == 0:
            raise RuntimeError(
                f"{name}: vmap over a batch of no elements, of whose results nothing is known"
            )
        parts = [
            op(*(_part(v, d, n) for v, d in zip(args, in_dims, strict=True)), **kwargs)
            for n in range(info.batch_size)
        ]
        return _joined(torch, parts)

    return batched
