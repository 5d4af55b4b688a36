"""Embedding: a row of numbers for each index; EmbeddingBag: sums or means of rows."""

from typing import Any, TypeVar

from .. import _C
from .._autograd.modes import no_grad
from .._core.keywords import names_keywords
from .._core.ops import ops
from .._tensor import random
from .init import empty
from .module import Module
from .parameter import Parameter
from .place import Device, DType
from .sizes import number, positive, truth

_T = TypeVar("_T", bound="_Table")


def shorten_rows(weight: _C.Tensor, flat: _C.Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows that are looked up to max_norm, where they are longer, in weight."""
    with no_grad():
        rows = ops.aten.index_select(weight.detach(), 0, flat)
        norms = ops.aten.linalg_vector_norm(rows, norm_type, [1], True)
        ones = ops.aten.ones_like(norms)
        scale = ops.aten.where(norms > max_norm, max_norm / (norms + 1e-7), ones)
        weight.index_put_([flat], rows * scale)


class _Table(Module):
    """weight [num_embeddings, embedding_dim], which begins normal, around 0."""

    def _set(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: "int | None",
        max_norm: "float | None",
        norm_type: float,
        scale_grad_by_freq: bool,
    ) -> None:
        name = type(self).__name__
        positive(name, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(
                f"{name}: padding_idx must be one of {num_embeddings} rows, not {padding_idx}"
            )
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm = None if max_norm is None else number(name, "max_norm", max_norm)
        self.norm_type = number(name, "norm_type", norm_type)
        self.scale_grad_by_freq = truth(name, "scale_grad_by_freq", scale_grad_by_freq)
        self.weight = empty(num_embeddings, embedding_dim)
        self.reset_parameters()

    @classmethod
    def _of_rows(
        cls: "type[_T]", rows: _C.Tensor, freeze: bool, *settings: Any, **named: Any
    ) -> _T:
        """Of from_pretrained(): a table on the memory of these rows."""
        name = f"{cls.__name__}.from_pretrained"
        if not isinstance(rows, _C.Tensor) or rows.ndim != 2:
            raise ValueError(f"{name}: embeddings must be a Tensor [rows, size]")
        made = cls(*rows.shape, *settings, **named)
        made.weight = Parameter(rows, requires_grad=not truth(name, "freeze", freeze))
        return made

    def reset_parameters(self) -> None:
        """Draws all rows again but that of padding_idx, which is zero."""
        with no_grad():
            drawn = random.normal(self.weight.numel()).reshape(list(self.weight.shape))
            self.weight.copy_(drawn)
            if self.padding_idx is not None:
                self.weight[self.padding_idx].zero_()

    def _checked(self, indices: _C.Tensor, name: str = "indices") -> _C.Tensor:
        if indices.dtype not in (_C.int64, _C.int32):
            layer = type(self).__name__
            raise TypeError(f"{layer}: {name} must be int64 or int32, not {indices.dtype}")
        return ops.aten.to(indices, _C.int64)

    def _shorten(self, flat: _C.Tensor) -> None:
        if self.max_norm is not None:
            shorten_rows(self.weight, flat, self.max_norm, self.norm_type)

    def _out_of_range(self, error: IndexError) -> IndexError:
        return IndexError(
            f"{type(self).__name__}: indices must be from 0 to {self.num_embeddings - 1}, since "
            f"there are {self.num_embeddings} rows; {error}"
        )

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}" + "".join(
            f", {name}={value}" for name, value in self._unusual().items()
        )

    def _unusual(self) -> "dict[str, object]":
        """The settings that are not as usual, by name."""
        usual = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        now = {name: getattr(self, name) for name in usual}
        return {name: value for name, value in now.items() if value != usual[name]}


class Embedding(_Table):
    """weight[indices]: weight [num_embeddings, embedding_dim] begins normal, around 0.

    The row of padding_idx begins with zeros and is not trained. Rows that are looked up and have a
    longer norm than max_norm are scaled to it, in weight. scale_grad_by_freq divides the gradient
    of a row by how often it was looked up.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: "int | None" = None,
        max_norm: "float | None" = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        settings = padding_idx, max_norm, norm_type, scale_grad_by_freq
        self._set(num_embeddings, embedding_dim, *settings)

    def forward(self, indices: _C.Tensor) -> _C.Tensor:
        flat = self._checked(indices).reshape(-1)
        try:
            self._shorten(flat)
            if self.scale_grad_by_freq:
                padding_idx = -1 if self.padding_idx is None else self.padding_idx
                rows = ops.aten.embedding(self.weight, flat, padding_idx, True)
                return rows.reshape([*indices.shape, self.embedding_dim])
            rows = ops.aten.index_select(self.weight, 0, flat)
        except IndexError as error:
            raise self._out_of_range(error) from error
        if self.padding_idx is not None:
            padding = (flat == self.padding_idx).unsqueeze(1)
            rows = ops.aten.where(padding, rows.detach(), rows)
        return rows.reshape([*indices.shape, self.embedding_dim])

    @classmethod
    @names_keywords
    def from_pretrained(
        cls,
        embeddings: _C.Tensor,
        freeze: bool = True,
        padding_idx: "int | None" = None,
        max_norm: "float | None" = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
    ) -> "Embedding":
        """An Embedding with these rows, which are not trained if `freeze` is True."""
        settings = padding_idx, max_norm, norm_type, scale_grad_by_freq
        return cls._of_rows(embeddings, freeze, *settings)


class EmbeddingBag(_Table):
    """Sums, means or largest elements of weight[indices] for each bag of indices, by `mode`.

    indices [bags, length] are bags of one length; indices [total] are bags that begin at `offsets`
    [bags], of which the last one is the end if include_last_offset. Rows of padding_idx do not
    count. per_sample_weights, in the shape of indices, multiply rows of a sum.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: "float | None" = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        *,
        include_last_offset: bool = False,
        padding_idx: "int | None" = None,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        if mode not in ("sum", "mean", "max"):
            raise ValueError(f"EmbeddingBag: mode is one of sum, mean, max, not {mode!r}")
        self.mode = mode
        self.include_last_offset = truth("EmbeddingBag", "include_last_offset", include_last_offset)
        settings = padding_idx, max_norm, norm_type, scale_grad_by_freq
        self._set(num_embeddings, embedding_dim, *settings)

    def forward(
        self,
        indices: _C.Tensor,
        offsets: "_C.Tensor | None" = None,
        per_sample_weights: "_C.Tensor | None" = None,
    ) -> _C.Tensor:
        flat = self._checked(indices).reshape(-1)
        last = self.include_last_offset
        if indices.ndim == 2 and offsets is None:
            bags, length = indices.shape
            offsets, last = ops.aten.arange(bags) * length, False
        elif indices.ndim != 1 or offsets is None or offsets.ndim != 1:
            given = "none" if offsets is None else list(offsets.shape)
            raise ValueError(
                "EmbeddingBag: indices have the shape [bags, length] without offsets, or [total] "
                f"with offsets [bags], but they have {list(indices.shape)} and {given}"
            )
        weights = per_sample_weights
        if weights is not None:
            if self.mode != "sum" or weights.shape != indices.shape:
                raise ValueError(
                    "EmbeddingBag: per_sample_weights are for mode='sum', in the shape of indices, "
                    f"{list(indices.shape)}, and here the mode is {self.mode!r} and they have "
                    f"{list(weights.shape)}"
                )
            weights = weights.reshape(-1)
        kind = ("sum", "mean", "max").index(self.mode)
        try:
            self._shorten(flat)
            settings = self.scale_grad_by_freq, kind, False, weights, last, self.padding_idx
            offsets = self._checked(offsets, "offsets")
            return ops.aten.embedding_bag.padding_idx(self.weight, flat, offsets, *settings)[0]
        except IndexError as error:
            raise self._out_of_range(error) from error

    @classmethod
    @names_keywords
    def from_pretrained(
        cls,
        embeddings: _C.Tensor,
        freeze: bool = True,
        max_norm: "float | None" = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        *,
        include_last_offset: bool = False,
        padding_idx: "int | None" = None,
    ) -> "EmbeddingBag":
        """An EmbeddingBag with these rows, which are not trained if `freeze` is True."""
        settings = max_norm, norm_type, scale_grad_by_freq, mode
        named = {"include_last_offset": include_last_offset, "padding_idx": padding_idx}
        return cls._of_rows(embeddings, freeze, *settings, **named)

    def extra_repr(self) -> str:
        unusual = self._unusual()
        padding = unusual.pop("padding_idx", None)
        own = "".join(f", {name}={value}" for name, value in unusual.items())
        own = f"{self.num_embeddings}, {self.embedding_dim}{own}, mode={self.mode!r}"
        return own if padding is None else f"{own}, padding_idx={padding}"
