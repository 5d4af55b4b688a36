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


def sequential(torch: Any, op: Any, name: str, written: tuple[int, ...]) -> Callable[..., Any]:
    """What torch.library.register_vmap() takes for the operator `op` of PyTorch.

    `written` are the places of the arguments that it writes.
    """
    is_random = torch.Tag.nondeterministic_seeded in op.tags

    def batched(info: Any, in_dims: tuple, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if info.batch_size == 0:
            raise RuntimeError(
                f"{name}: vmap over a batch of no elements, of whose results nothing is known"
            )
        if is_random and info.randomness != "different":
            raise RuntimeError(
                f"{name}: it draws random numbers, other ones for each element of the batch: call "
                'vmap with randomness="different"'
            )
        if any(at < len(args) and in_dims[at] is None for at in written):
            raise RuntimeError(
                f"{name}: vmap: it writes to an argument that has no dimension of the batch, once "
                "for each element; expand that argument"
            )
        parts = [
            op(*(_part(v, d, n) for v, d in zip(args, in_dims, strict=True)), **kwargs)
            for n in range(info.batch_size)
        ]
        return _joined(torch, parts)

    return batched
