"""Transformer: encoder and decoder of layers with attention and two linear ones."""

import copy
import math
from collections.abc import Callable
from typing import Any

from .. import _C
from .._core.ops import ops
from .activations import activation_of
from .attention import MultiheadAttention
from .containers import ModuleList
from .dropout import Dropout
from .init import uniform
from .linear import Linear
from .module import Module
from .normalization import LayerNorm
from .place import Device, DType
from .sizes import positive, truth

Activation = str | Callable[[_C.Tensor], _C.Tensor]


class _Layer(Module):
    """What layers of encoders and decoders have: attention to themselves, and two linear layers."""

    _norms = 2

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: "Activation" = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        positive(name, d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        shared = {"dropout": dropout, "bias": bias, "batch_first": batch_first}
        self.self_attn = MultiheadAttention(d_model, nhead, **shared)
        if self._norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, **shared)
        self.linear1 = Linear(d_model, dim_feedforward, bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        self.norm_first = truth(name, "norm_first", norm_first)
        for number in range(1, self._norms + 1):
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias))
        for number in range(1, self._norms + 1):
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = activation_of(name, activation)

    def _step(self, number: int, x: _C.Tensor, part: "Callable[[_C.Tensor], Any]") -> _C.Tensor:
        """x plus a part of it, normalized before that part, or after the sum."""
        norm, drop = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        if self.norm_first:
            return x + drop(part(norm(x)))
        return norm(x + drop(part(x)))

    def _linear(self, x: _C.Tensor) -> _C.Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


def _attends(
    attention: MultiheadAttention,
    memory: "_C.Tensor | None",
    mask: "_C.Tensor | None",
    padding: "_C.Tensor | None",
    is_causal: "bool | None",
) -> "Callable[[_C.Tensor], _C.Tensor]":
    """Attention of x to a memory, or to itself."""

    def attend(x: _C.Tensor) -> _C.Tensor:
        source = x if memory is None else memory
        kinds = {"attn_mask": mask, "key_padding_mask": padding, "is_causal": bool(is_causal)}
        return attention(x, source, source, need_weights=False, **kinds)[0]

    return attend


class TransformerEncoderLayer(_Layer):
    """Attention of src to itself, then two linear layers, each added to what it was given.

    LayerNorm comes after each sum, or with norm_first before each part. src is
    [length, n, d_model], or with n first if batch_first, or without n; masks are those of
    MultiheadAttention.
    """

    def forward(
        self,
        src: _C.Tensor,
        src_mask: "_C.Tensor | None" = None,
        src_key_padding_mask: "_C.Tensor | None" = None,
        is_causal: bool = False,
    ) -> _C.Tensor:
        attend = _attends(self.self_attn, None, src_mask, src_key_padding_mask, is_causal)
        return self._step(2, self._step(1, src, attend), self._linear)


class TransformerDecoderLayer(_Layer):
    """Attention of tgt to itself, then to memory, then two linear layers; see
    TransformerEncoderLayer."""

    _norms = 3

    def forward(
        self,
        tgt: _C.Tensor,
        memory: _C.Tensor,
        tgt_mask: "_C.Tensor | None" = None,
        memory_mask: "_C.Tensor | None" = None,
        tgt_key_padding_mask: "_C.Tensor | None" = None,
        memory_key_padding_mask: "_C.Tensor | None" = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> _C.Tensor:
        own = _attends(self.self_attn, None, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = _attends(
            self.multihead_attn, memory, memory_mask, memory_key_padding_mask, memory_is_causal
        )
        return self._step(3, self._step(2, self._step(1, tgt, own), other), self._linear)


class _Stack(Module):
    """Copies of a layer, one after the other, and a norm."""

    def _set(self, layer: Module, num_layers: int, norm: "Module | None") -> None:
        name = type(self).__name__
        positive(name, num_layers=num_layers)
        for what, given in (("layer", layer), ("norm", norm)):
            if not isinstance(given, Module) and not (given is None and what == "norm"):
                raise TypeError(
                    f"{name}: {what} must be a Module, not an object of {type(given).__name__}"
                )
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _through(self, x: _C.Tensor, *memory: _C.Tensor, **masks: Any) -> _C.Tensor:
        for layer in self.layers:
            x = layer(x, *memory, **masks)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """num_layers copies of encoder_layer, one after the other, then norm, if one is given."""

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: "Module | None" = None
    ) -> None:
        super().__init__()
        self._set(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: _C.Tensor,
        mask: "_C.Tensor | None" = None,
        src_key_padding_mask: "_C.Tensor | None" = None,
        is_causal: "bool | None" = None,
    ) -> _C.Tensor:
        masks = {"src_mask": mask, "src_key_padding_mask": src_key_padding_mask}
        return self._through(src, is_causal=bool(is_causal), **masks)


class TransformerDecoder(_Stack):
    """num_layers copies of decoder_layer, one after the other, then norm, if one is given."""

    def __init__(
        self, decoder_layer: Module, num_layers: int, norm: "Module | None" = None
    ) -> None:
        super().__init__()
        self._set(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: _C.Tensor,
        memory: _C.Tensor,
        tgt_mask: "_C.Tensor | None" = None,
        memory_mask: "_C.Tensor | None" = None,
        tgt_key_padding_mask: "_C.Tensor | None" = None,
        memory_key_padding_mask: "_C.Tensor | None" = None,
        tgt_is_causal: "bool | None" = None,
        memory_is_causal: bool = False,
    ) -> _C.Tensor:
        return self._through(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=bool(tgt_is_causal),
            memory_is_causal=memory_is_causal,
        )


class Transformer(Module):
    """An encoder of src, and a decoder of tgt that attends to what it gives.

    src is [source, n, d_model] and tgt [length, n, d_model], or with n first if batch_first, or
    without n. custom_encoder and custom_decoder are taken instead of those made here.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: "Activation" = "relu",
        custom_encoder: "Module | None" = None,
        custom_decoder: "Module | None" = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        sizes = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps
        settings = (*sizes, batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            encoder_layer = TransformerEncoderLayer(*settings)
            self.encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            decoder_layer = TransformerDecoderLayer(*settings)
            self.decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self._begin()

    def _begin(self) -> None:
        """Matrices begin uniform, so that results and gradients keep their size."""
        for _, module in self.named_modules():
            for name, weight in module._parameters.items():
                if weight is not None and weight.ndim == 2:
                    shape = (weight.shape[0], weight.shape[1])
                    module._parameters[name] = uniform(shape, math.sqrt(6 / sum(shape)))

    def forward(
        self,
        src: _C.Tensor,
        tgt: _C.Tensor,
        src_mask: "_C.Tensor | None" = None,
        tgt_mask: "_C.Tensor | None" = None,
        memory_mask: "_C.Tensor | None" = None,
        src_key_padding_mask: "_C.Tensor | None" = None,
        tgt_key_padding_mask: "_C.Tensor | None" = None,
        memory_key_padding_mask: "_C.Tensor | None" = None,
        src_is_causal: "bool | None" = None,
        tgt_is_causal: "bool | None" = None,
        memory_is_causal: bool = False,
    ) -> _C.Tensor:
        self._check(src, tgt)
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    def _check(self, src: _C.Tensor, tgt: _C.Tensor) -> None:
        at = 0 if self.batch_first else 1
        for name, x in (("src", src), ("tgt", tgt)):
            if x.ndim not in (2, 3) or x.ndim != src.ndim or x.shape[-1] != self.d_model:
                raise ValueError(
                    f"Transformer: {name} must have two or three dimensions, as src has, the last "
                    f"{self.d_model} long, and its shape is {list(x.shape)}"
                )
        if src.ndim == 3 and src.shape[at] != tgt.shape[at]:
            raise ValueError(
                f"Transformer: dimension {at} of src and tgt must be alike, and their shapes are "
                f"{list(src.shape)} and {list(tgt.shape)}"
            )

    @staticmethod
    def generate_square_subsequent_mask(sz: int) -> _C.Tensor:
        """A mask [sz, sz] of -inf for all that comes later, and 0."""
        return ops.aten.triu(ops.aten.full([sz, sz], -math.inf), 1)
