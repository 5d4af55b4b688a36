"""MultiheadAttention: scaled dot-product attention in several heads."""

import math

from .. import _C
from .._core.ops import ops
from .dropout import dropout
from .init import uniform
from .linear import Linear
from .module import Module
from .parameter import Parameter
from .sizes import positive, probability


class MultiheadAttention(Module):
    """softmax(q kᵀ / √size) v in num_heads parts of embed_dim, with projections around.

    Called with query [length, n, embed_dim], key and value [source, n, embed_dim], or with n first
    if batch_first, or without n. Gives the output, in the shape of query, and the weights
    [n, length, source], averaged over heads, or None without need_weights.

    attn_mask [length, source] and key_padding_mask [n, source] hold True where nothing is gathered,
    or floats that are added before softmax.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        batch_first: bool = False,
    ) -> None:
        super().__init__()
        positive("MultiheadAttention", embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: embed_dim must be a multiple of num_heads, not {embed_dim} "
                f"of {num_heads}"
            )
        self.embed_dim, self.num_heads, self.batch_first = embed_dim, num_heads, batch_first
        self.dropout = probability("MultiheadAttention", dropout)
        self.in_proj_weight = uniform((3 * embed_dim, embed_dim), math.sqrt(6 / (4 * embed_dim)))
        zeros = ops.aten.zeros
        self.register_parameter("in_proj_bias", Parameter(zeros([3 * embed_dim])) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        if bias:
            self.out_proj.bias = Parameter(zeros([embed_dim]))

    def forward(
        self,
        query: _C.Tensor,
        key: _C.Tensor,
        value: _C.Tensor,
        key_padding_mask: "_C.Tensor | None" = None,
        need_weights: bool = True,
        attn_mask: "_C.Tensor | None" = None,
    ) -> "tuple[_C.Tensor, _C.Tensor | None]":
        self._check(query, key, value)
        is_one = query.ndim == 2
        if is_one:
            query, key, value = (each.unsqueeze(0) for each in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (each.transpose(0, 1) for each in (query, key, value))
        q, k, v = (self._heads(each, part) for part, each in enumerate((query, key, value)))
        scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(self.embed_dim // self.num_heads))
        if attn_mask is not None:
            scores = _masked(scores, attn_mask)
        if key_padding_mask is not None:
            scores = _masked(scores, key_padding_mask.unsqueeze(1).unsqueeze(1))
        weights = ops.aten.softmax(scores, -1)
        gathered = (dropout(weights, self.dropout) if self.training else weights) @ v
        output = self.out_proj(gathered.transpose(1, 2).reshape(list(query.shape)))
        if is_one:
            output = output.squeeze(0)
        elif not self.batch_first:
            output = output.transpose(0, 1)
        if not need_weights:
            return output, None
        mean = weights.mean([1])
        return output, mean.squeeze(0) if is_one else mean

    def _check(self, *given: _C.Tensor) -> None:
        for name, x in zip(("query", "key", "value"), given, strict=True):
            if x.ndim not in (2, 3) or x.ndim != given[0].ndim or x.shape[-1] != self.embed_dim:
                raise ValueError(
                    f"MultiheadAttention: {name} must have two or three dimensions, as query has, "
                    f"the last {self.embed_dim} long, and its shape is {list(x.shape)}"
                )

    def _heads(self, x: _C.Tensor, part: int) -> _C.Tensor:
        """One of the three projections, as [n, heads, length, size of a head]."""
        rows = slice(part * self.embed_dim, (part + 1) * self.embed_dim)
        x = x @ self.in_proj_weight[rows].t()
        if self.in_proj_bias is not None:
            x = x + self.in_proj_bias[rows]
        size = self.embed_dim // self.num_heads
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, size).transpose(1, 2)

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}, batch_first={self.batch_first}"


def _masked(scores: _C.Tensor, mask: _C.Tensor) -> _C.Tensor:
    if mask.dtype is _C.bool:
        return ops.aten.where(mask, ops.aten.full([], -math.inf), scores)
    if mask.dtype is scores.dtype:
        return scores + mask
    raise TypeError(f"MultiheadAttention: a mask must be bool or {scores.dtype}, not {mask.dtype}")
