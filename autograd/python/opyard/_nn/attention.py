"""MultiheadAttention: scaled dot-product attention in several heads."""

import math

from .. import _C
from .._core.ops import ops
from .dropout import dropout
from .init import uniform
from .linear import Linear
from .module import Module
from .parameter import Parameter
from .place import Device, DType
from .sizes import positive, probability, truth

_PARTS = ("q_proj_weight", "k_proj_weight", "v_proj_weight")


def _xavier(rows: int, columns: int) -> Parameter:
    return uniform((rows, columns), math.sqrt(6 / (rows + columns)))


class MultiheadAttention(Module):
    """softmax(q kᵀ / √size) v in num_heads parts of embed_dim, with projections around.

    Called with query [length, n, embed_dim], key [source, n, kdim] and value [source, n, vdim], or
    with n first if batch_first, or without n; kdim and vdim are embed_dim unless given. Gives the
    output, in the shape of query, and the weights [n, length, source], averaged over heads unless
    average_attn_weights is False, or None without need_weights.

    attn_mask [length, source], or [n * num_heads, length, source], and key_padding_mask [n, source]
    hold True where nothing is gathered, or floats that are added before softmax. add_bias_kv adds a
    key and a value that are trained, add_zero_attn those of zeros.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: "int | None" = None,
        vdim: "int | None" = None,
        batch_first: bool = False,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        name = "MultiheadAttention"
        positive(name, embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: embed_dim must be a multiple of num_heads, not {embed_dim} "
                f"of {num_heads}"
            )
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = embed_dim // num_heads
        self.batch_first = truth(name, "batch_first", batch_first)
        self.add_zero_attn = truth(name, "add_zero_attn", add_zero_attn)
        self.dropout = probability(name, dropout)
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        positive(name, kdim=self.kdim, vdim=self.vdim)
        sizes = embed_dim, self.kdim, self.vdim
        is_one = sizes == (embed_dim,) * 3
        for part, size in zip(_PARTS, sizes, strict=True):
            self.register_parameter(part, None if is_one else _xavier(embed_dim, size))
        whole = _xavier(3 * embed_dim, embed_dim) if is_one else None
        self.register_parameter("in_proj_weight", whole)
        zeros = ops.aten.zeros
        self.register_parameter("in_proj_bias", Parameter(zeros([3 * embed_dim])) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        if bias:
            self.out_proj.bias = Parameter(zeros([embed_dim]))
        for each in ("bias_k", "bias_v"):
            added = ops.aten.randn([1, 1, embed_dim]).mul_(embed_dim**-0.5) if add_bias_kv else None
            self.register_parameter(each, None if added is None else Parameter(added))

    def forward(
        self,
        query: _C.Tensor,
        key: _C.Tensor,
        value: _C.Tensor,
        key_padding_mask: "_C.Tensor | None" = None,
        need_weights: bool = True,
        attn_mask: "_C.Tensor | None" = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> "tuple[_C.Tensor, _C.Tensor | None]":
        self._check(query, key, value)
        if is_causal and attn_mask is None:
            raise ValueError(
                "MultiheadAttention: is_causal says what attn_mask is, and there is none; give "
                "attn_mask, as of Transformer.generate_square_subsequent_mask()"
            )
        is_one = query.ndim == 2
        if is_one:
            query, key, value = (each.unsqueeze(0) for each in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (each.transpose(0, 1) for each in (query, key, value))
        q, k, v = (self._heads(self._part(each, i)) for i, each in enumerate((query, key, value)))
        added = [self._heads(each.expand([query.shape[0], 1, -1])) for each in self._added_biases()]
        if self.add_zero_attn:
            zeros = ops.aten.zeros(
                [query.shape[0], self.num_heads, 1, self.head_dim], dtype=q.dtype
            )
            added += [zeros, zeros]
        if added:
            k = ops.aten.cat([k, *added[0::2]], 2)
            v = ops.aten.cat([v, *added[1::2]], 2)
        scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(self.head_dim))
        if attn_mask is not None:
            scores = _masked(scores, self._mask_of_heads(attn_mask, scores), len(added) // 2)
        if key_padding_mask is not None:
            mask = key_padding_mask.unsqueeze(1).unsqueeze(1)
            scores = _masked(scores, mask, len(added) // 2)
        has_mask = attn_mask is not None or key_padding_mask is not None
        weights = _softmax(scores, has_mask and not need_weights)
        weights = dropout(weights, self.dropout) if self.training else weights
        output = self.out_proj((weights @ v).transpose(1, 2).reshape(list(query.shape)))
        if is_one:
            output = output.squeeze(0)
        elif not self.batch_first:
            output = output.transpose(0, 1)
        if not need_weights:
            return output, None
        weights = weights.mean([1]) if average_attn_weights else weights
        return output, weights.squeeze(0) if is_one else weights

    def _check(self, *given: _C.Tensor) -> None:
        sizes = self.embed_dim, self.kdim, self.vdim
        for name, x, size in zip(("query", "key", "value"), given, sizes, strict=True):
            if x.ndim not in (2, 3) or x.ndim != given[0].ndim or x.shape[-1] != size:
                raise ValueError(
                    f"MultiheadAttention: {name} must have two or three dimensions, as query has, "
                    f"the last {size} long, and its shape is {list(x.shape)}"
                )

    def _part(self, x: _C.Tensor, part: int) -> _C.Tensor:
        """One of the three projections."""
        rows = slice(part * self.embed_dim, (part + 1) * self.embed_dim)
        whole = self.in_proj_weight
        weight = getattr(self, _PARTS[part]) if whole is None else whole[rows]
        x = x @ weight.t()
        return x if self.in_proj_bias is None else x + self.in_proj_bias[rows]

    def _heads(self, x: _C.Tensor) -> _C.Tensor:
        """[n, length, embed_dim] as [n, heads, length, size of a head]."""
        parted = x.reshape(x.shape[0], x.shape[1], self.num_heads, self.head_dim)
        return parted.transpose(1, 2)

    def _added_biases(self) -> "list[_C.Tensor]":
        return [] if self.bias_k is None else [self.bias_k, self.bias_v]

    def _mask_of_heads(self, mask: _C.Tensor, scores: _C.Tensor) -> _C.Tensor:
        if mask.ndim == 3:
            n, heads = scores.shape[:2]
            if mask.shape[0] != n * heads:
                raise ValueError(
                    f"MultiheadAttention: attn_mask has the shape {list(mask.shape)}, and its "
                    f"first dimension must be n * num_heads, {n * heads}"
                )
            return mask.reshape(n, heads, *mask.shape[1:])
        return mask

    def extra_repr(self) -> str:
        own = f"{self.embed_dim}, {self.num_heads}"
        usual = {"dropout": 0.0, "kdim": self.embed_dim, "vdim": self.embed_dim}
        for name, value in {**usual, "batch_first": False}.items():
            if getattr(self, name) != value:
                own += f", {name}={getattr(self, name)}"
        return own


def _softmax(scores: _C.Tensor, is_safe: bool) -> _C.Tensor:
    """Along the keys; if it is safe, a row that is masked away whole gathers nothing, not NaN."""
    if not is_safe:
        return ops.aten.softmax(scores, -1)
    without = (scores == -math.inf).all(-1, True)
    return ops.aten.softmax(scores.masked_fill(without, 0), -1).masked_fill(without, 0)


def _masked(scores: _C.Tensor, mask: _C.Tensor, added: int) -> _C.Tensor:
    """Scores of what is masked away are -inf; added keys come last, and are not masked."""
    if added:
        mask = ops.aten.constant_pad_nd(mask, [0, added])
    if mask.dtype is _C.bool:
        return ops.aten.where(mask, ops.aten.full([], -math.inf, dtype=scores.dtype), scores)
    if mask.dtype is scores.dtype:
        return scores + mask
    raise TypeError(f"MultiheadAttention: a mask must be bool or {scores.dtype}, not {mask.dtype}")
