"""Embedding: a row of numbers for each index."""

from .. import _C
from .._core.ops import ops
from .._tensor import random
from .module import Module
from .parameter import Parameter
from .sizes import positive


class Embedding(Module):
    """weight[indices]: weight [num_embeddings, embedding_dim] begins normal, around 0.

    The row of padding_idx begins with zeros and is not trained.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: "int | None" = None
    ) -> None:
        super().__init__()
        positive("Embedding", num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(
                f"Embedding: padding_idx must be one of {num_embeddings} rows, not {padding_idx}"
            )
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        rows = random.normal(num_embeddings * embedding_dim)
        rows = rows.reshape(num_embeddings, embedding_dim)
        if self.padding_idx is not None:
            rows[self.padding_idx].zero_()
        self.weight = Parameter(rows)

    def forward(self, indices: _C.Tensor) -> _C.Tensor:
        if indices.dtype not in (_C.int64, _C.int32):
            raise TypeError(f"Embedding: indices must be int64 or int32, not {indices.dtype}")
        flat = ops.aten.to(indices, _C.int64).reshape(-1)
        try:
            rows = ops.aten.index_select(self.weight, 0, flat)
        except IndexError as error:
            raise IndexError(
                f"Embedding: indices must be from 0 to {self.num_embeddings - 1}, since there are "
                f"{self.num_embeddings} rows; {error}"
            ) from error
        if self.padding_idx is not None:
            padding = (flat == self.padding_idx).unsqueeze(1)
            rows = ops.aten.where(padding, rows.detach(), rows)
        return rows.reshape([*indices.shape, self.embedding_dim])

    def extra_repr(self) -> str:
        own = f"{self.num_embeddings}, {self.embedding_dim}"
        return own if self.padding_idx is None else f"{own}, padding_idx={self.padding_idx}"
