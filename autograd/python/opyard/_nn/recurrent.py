"""Recurrent layers: RNN, LSTM and GRU over sequences, and their cells, which do one step.

Weights have PyTorch's names: weight_ih_l0 for x of the first layer, weight_hh_l0 for the state,
bias_ih_l0 and bias_hh_l0, with _reverse for the direction backwards.
"""

import math
from typing import Any

from .. import _C
from .._core.ops import ops
from .init import empty, fill_uniform
from .module import Module
from .parameter import Parameter
from .place import Device, DType
from .sizes import positive, probability, truth


class _Recurrent(Module):
    """A stack of layers, each over all steps, in one direction or both."""

    _mode = ""
    _gates = 1

    def _set(
        self,
        sizes: tuple[int, int],
        num_layers: int,
        bias: bool,
        batch_first: bool,
        dropout: float,
        bidirectional: bool,
        proj_size: int = 0,
    ) -> None:
        name = type(self).__name__
        self.input_size, self.hidden_size = sizes
        positive(name, input_size=sizes[0], hidden_size=sizes[1], num_layers=num_layers)
        self.num_layers, self.proj_size = num_layers, proj_size
        self.bias, self.batch_first = (
            truth(name, "bias", bias),
            truth(name, "batch_first", batch_first),
        )
        self.dropout = probability(name, dropout)
        self.bidirectional = truth(name, "bidirectional", bidirectional)
        rows = self._gates * self.hidden_size
        given, self._weights = self.input_size, []
        for layer in range(num_layers):
            for end in ("", "_reverse") if bidirectional else ("",):
                shapes = {"weight_ih": (rows, given), "weight_hh": (rows, self._out)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, self.hidden_size)
                for kind, shape in shapes.items():
                    each = f"{kind}_l{layer}{end}"
                    setattr(self, each, empty(*shape))
                    self._weights.append(each)
            given = self._out * (2 if bidirectional else 1)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all weights again."""
        fill_uniform(self.parameters(), 1 / math.sqrt(self.hidden_size))

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer, and of each direction of it."""
        ends = [name.partition("_l")[2] for name in self._weights]
        return [
            [getattr(self, name) for name in self._weights if name.partition("_l")[2] == end]
            for end in dict.fromkeys(ends)
        ]

    @property
    def _out(self) -> int:
        """The size of what a layer gives in one direction."""
        return self.proj_size or self.hidden_size

    def flatten_parameters(self) -> None:
        """Does nothing: weights need not be in one piece here."""

    def _check(self, x: _C.Tensor) -> None:
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            order = "n, length" if self.batch_first else "length, n"
            raise ValueError(
                f"{type(self).__name__}: x must have the shape [{order}, {self.input_size}] or "
                f"[length, {self.input_size}], not {list(x.shape)}"
            )

    def _begun(self, x: _C.Tensor, given: "_C.Tensor | None", what: str, size: int) -> _C.Tensor:
        """The state before the first step, of zeros unless it is given: [layers, n, size]."""
        layers = self.num_layers * (2 if self.bidirectional else 1)
        n = x.shape[0 if self.batch_first else 1] if x.ndim == 3 else 1
        shape = (layers, n, size) if x.ndim == 3 else (layers, size)
        if given is None:
            return ops.aten.zeros([layers, n, size], dtype=x.dtype)
        if given.shape != shape:
            raise ValueError(
                f"{type(self).__name__}: {what} must have the shape {list(shape)} for x of shape "
                f"{list(x.shape)}, not {list(given.shape)}"
            )
        return given if x.ndim == 3 else given.unsqueeze(1)

    def _run(self, x: _C.Tensor, state: Any) -> "tuple[_C.Tensor, ...]":
        weights = [getattr(self, name) for name in self._weights]
        one = x.ndim == 2
        batch_first = self.batch_first and not one
        given = x.unsqueeze(1) if one else x
        settings = self.bias, self.num_layers, self.dropout, self.training, self.bidirectional
        run = getattr(ops.aten, self._mode).input
        results = run(given, state, weights, *settings, batch_first)
        return tuple(each.squeeze(1) for each in results) if one else tuple(results)

    def extra_repr(self) -> str:
        own = f"{self.input_size}, {self.hidden_size}"
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False}
        for name, value in {**usual, "dropout": 0.0, "bidirectional": False}.items():
            if getattr(self, name) != value:
                own += f", {name}={getattr(self, name)}"
        return own


class RNN(_Recurrent):
    """tanh(weight_ih x + bias_ih + weight_hh h + bias_hh) step by step; or relu, by nonlinearity.

    Called with x [length, n, input_size], or n first if batch_first, or without n, and the state
    before the first step [layers, n, hidden_size], which is zeros unless it is given. Gives what
    the last layer gave at each step, and the state after the last step.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self._mode = f"rnn_{_known('RNN', nonlinearity)}"
        self.nonlinearity = nonlinearity
        sizes = input_size, hidden_size
        self._set(sizes, num_layers, bias, batch_first, dropout, bidirectional)

    def forward(self, x: _C.Tensor, hx: "_C.Tensor | None" = None) -> "tuple[_C.Tensor, ...]":
        self._check(x)
        return self._run(x, self._begun(x, hx, "hx", self.hidden_size))


class GRU(_Recurrent):
    """Gated recurrent units, step by step: called as RNN, and gives what RNN gives.

    Rows of the weights are those of the reset gate, the update gate and the new state.
    """

    _mode, _gates = "gru", 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        sizes = input_size, hidden_size
        self._set(sizes, num_layers, bias, batch_first, dropout, bidirectional)

    def forward(self, x: _C.Tensor, hx: "_C.Tensor | None" = None) -> "tuple[_C.Tensor, ...]":
        self._check(x)
        return self._run(x, self._begun(x, hx, "hx", self.hidden_size))


class LSTM(_Recurrent):
    """Long short-term memory, step by step: called as RNN, but the state is a pair (h, c).

    Rows of the weights are those of the input gate, the forget gate, the cell and the output gate.
    With proj_size the state h is weight_hr times what it is otherwise. Gives what the last layer
    gave at each step, and the pair of states after the last step.
    """

    _mode, _gates = "lstm", 4

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        if (
            isinstance(proj_size, bool)
            or not isinstance(proj_size, int)
            or not (0 <= proj_size < max(hidden_size, 1))
        ):
            raise ValueError(
                f"LSTM: proj_size must be an int from 0 to below hidden_size, {hidden_size}, not "
                f"{proj_size!r}"
            )
        sizes = input_size, hidden_size
        self._set(sizes, num_layers, bias, batch_first, dropout, bidirectional, proj_size)

    def forward(
        self, x: _C.Tensor, hx: "tuple[_C.Tensor, _C.Tensor] | None" = None
    ) -> "tuple[_C.Tensor, tuple[_C.Tensor, _C.Tensor]]":
        self._check(x)
        h, c = _both("LSTM", hx)
        state = [self._begun(x, h, "h", self._out), self._begun(x, c, "c", self.hidden_size)]
        y, h, c = self._run(x, state)
        return y, (h, c)


def _both(layer: str, hx: Any) -> tuple[Any, Any]:
    """The two parts of an LSTM's state, as Tensors, or two Nones. Raises TypeError."""
    if hx is None:
        return None, None
    if not isinstance(hx, (list, tuple)) or len(hx) != 2:
        what = f"{len(hx)} of them" if isinstance(hx, (list, tuple)) else type(hx).__name__
        raise TypeError(f"{layer}: hx must be a pair of Tensors (h, c), not {what}")
    made = [x if isinstance(x, _C.Tensor) else _C.tensor_for(x) for x in hx]
    for given, each in zip(hx, made, strict=True):
        if each is None:
            raise TypeError(
                f"{layer}: hx must be a pair of Tensors (h, c), not with an object of "
                f"{type(given).__name__}"
            )
    return made[0], made[1]


def _known(layer: str, nonlinearity: str) -> str:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"{layer}: nonlinearity is tanh or relu, not {nonlinearity!r}")
    return nonlinearity


class _Cell(Module):
    """One step of one layer, for x [n, input_size], or one without n."""

    _gates = 1

    def _set(self, input_size: int, hidden_size: int, bias: bool) -> None:
        name = type(self).__name__
        positive(name, input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size = input_size, hidden_size
        self.bias = truth(name, "bias", bias)
        rows = self._gates * hidden_size
        self.weight_ih = empty(rows, input_size)
        self.weight_hh = empty(rows, hidden_size)
        for each in ("bias_ih", "bias_hh"):
            self.register_parameter(each, empty(rows) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all weights again."""
        fill_uniform(self.parameters(), 1 / math.sqrt(self.hidden_size))

    def _check(self, x: _C.Tensor) -> None:
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ValueError(
                f"{type(self).__name__}: x must have the shape [n, {self.input_size}] or "
                f"[{self.input_size}], not {list(x.shape)}"
            )

    def _begun(self, x: _C.Tensor, given: "_C.Tensor | None", what: str) -> _C.Tensor:
        shape = [*x.shape[:-1], self.hidden_size]
        if given is None:
            given = ops.aten.zeros(shape, dtype=x.dtype)
        elif list(given.shape) != shape:
            raise ValueError(
                f"{type(self).__name__}: {what} must have the shape {shape} for x of shape "
                f"{list(x.shape)}, not {list(given.shape)}"
            )
        return given if x.ndim == 2 else given.unsqueeze(0)

    def _run(self, name: str, x: _C.Tensor, state: Any) -> Any:
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        given = x if x.ndim == 2 else x.unsqueeze(0)
        return getattr(ops.aten, name)(given, state, *weights)

    def extra_repr(self) -> str:
        own = f"{self.input_size}, {self.hidden_size}"
        return own if self.bias else own + ", bias=False"


class RNNCell(_Cell):
    """One step of RNN: gives the state after it, from x [n, input_size] and the state before it
    [n, hidden_size], or both without n. A state that is not given is zeros."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self._set(input_size, hidden_size, bias)
        self.nonlinearity = _known("RNNCell", nonlinearity)

    def forward(self, x: _C.Tensor, hx: "_C.Tensor | None" = None) -> _C.Tensor:
        self._check(x)
        h = self._run(f"rnn_{self.nonlinearity}_cell", x, self._begun(x, hx, "hx"))
        return h if x.ndim == 2 else h.squeeze(0)

    def extra_repr(self) -> str:
        own = super().extra_repr()
        plain = self.nonlinearity == "tanh"
        return own if plain else f"{own}, nonlinearity={self.nonlinearity}"


class GRUCell(_Cell):
    """One step of GRU: called as RNNCell, and gives what RNNCell gives."""

    _gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self._set(input_size, hidden_size, bias)

    def forward(self, x: _C.Tensor, hx: "_C.Tensor | None" = None) -> _C.Tensor:
        self._check(x)
        h = self._run("gru_cell", x, self._begun(x, hx, "hx"))
        return h if x.ndim == 2 else h.squeeze(0)


class LSTMCell(_Cell):
    """One step of LSTM: called as RNNCell, but the state is a pair (h, c), before and after."""

    _gates = 4

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        *,
        device: Device = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self._set(input_size, hidden_size, bias)

    def forward(
        self, x: _C.Tensor, hx: "tuple[_C.Tensor, _C.Tensor] | None" = None
    ) -> "tuple[_C.Tensor, _C.Tensor]":
        self._check(x)
        h, c = _both("LSTMCell", hx)
        h, c = self._run("lstm_cell", x, [self._begun(x, h, "h"), self._begun(x, c, "c")])
        return (h, c) if x.ndim == 2 else (h.squeeze(0), c.squeeze(0))
