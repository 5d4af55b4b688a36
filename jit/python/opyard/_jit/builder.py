"""GraphBuilder: a graph written as a program over symbolic values.

    b = GraphBuilder()
    x, w = b.input("x"), b.input("w")
    b.output((x * w).relu() + 1)
    b.next_stage()
    b.output(b.call("aten::mul", b.input("grad"), w))
    graph = b.graph

What b.call() makes has the number and types of results that its operator's schema says; the
overload is chosen by the types of the arguments, as compile() chooses.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .. import _C, _graphs
from .._core import ops as _ops
from .._core.keywords import names_keywords


class Proxy:
    """A value of a graph that is built: arithmetic and methods on it call aten operators."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, builder: "GraphBuilder", value: "_graphs.Value") -> None:
        self._builder = builder
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self.value!r} is a value of a graph that has not run: it is neither true nor "
            "false. Use GraphBuilder.call('aten::where', ...), or a prim::If of Graph.create()"
        )

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args: self._builder.call(f"aten::{name}", self, *args)

    def __add__(self, other: object) -> Any:
        return self._builder.call("aten::add", self, other)

    def __sub__(self, other: object) -> Any:
        return self._builder.call("aten::sub", self, other)

    def __mul__(self, other: object) -> Any:
        return self._builder.call("aten::mul", self, other)

    def __truediv__(self, other: object) -> Any:
        return self._builder.call("aten::div", self, other)

    def __matmul__(self, other: object) -> Any:
        return self._builder.call("aten::matmul", self, other)

    def __pow__(self, other: object) -> Any:
        return self._builder.call("aten::pow", self, other)

    def __lt__(self, other: object) -> Any:
        return self._builder.call("aten::lt", self, other)

    def __le__(self, other: object) -> Any:
        return self._builder.call("aten::le", self, other)

    def __gt__(self, other: object) -> Any:
        return self._builder.call("aten::gt", self, other)

    def __ge__(self, other: object) -> Any:
        return self._builder.call("aten::ge", self, other)

    # A number and a tensor: sums and products may change places, and rsub is the other difference.
    def __radd__(self, other: object) -> Any:
        return self._builder.call("aten::add", self, other)

    def __rsub__(self, other: object) -> Any:
        return self._builder.call("aten::rsub", self, other)

    def __rmul__(self, other: object) -> Any:
        return self._builder.call("aten::mul", self, other)

    def __neg__(self) -> Any:
        return self._builder.call("aten::neg", self)


class GraphBuilder:
    """See the module. `graph` is the graph so far, and may be changed by its own methods, too."""

    def __init__(self) -> None:
        self.graph = _graphs.Graph()
        self._constants: dict[object, _graphs.Value] = {}

    @names_keywords
    def input(self, name: str = "", type: str = "") -> Proxy:
        """A new input of the current stage; a Tensor unless told otherwise."""
        return Proxy(self, self.graph.add_input(name, type))

    @names_keywords
    def constant(self, value: object, type: str = "") -> Proxy:
        """A constant: a number, text, None, Tensor, or a list of such. Equal ones are one."""
        key = (value.__class__, type, repr(value))
        plain = value is None or isinstance(value, (bool, int, float, complex, str))
        if not plain or key not in self._constants:
            # In front of everything, so that all blocks and stages may use it.
            node = self.graph.create_constant(value, type)
            node = self.graph.prepend_node(node)
            if self.graph.stage:
                node.stage = 0
            if not plain:
                return Proxy(self, node.output())
            self._constants[key] = node.output()
        return Proxy(self, self._constants[key])

    @names_keywords
    def list(self, items: Sequence[object], type: str = "Tensor[]") -> Proxy:
        """A list of values."""
        node = self.graph.create("prim::ListConstruct", [self._value(item) for item in items])
        made = self.graph.append_node(node).output()
        made.type = type
        return Proxy(self, made)

    @names_keywords
    def call(self, kind: str, *args: object) -> Any:
        """Calls "ns::name" or "ns::name.overload" with values and constants, by position.

        Gives one value, a tuple of several, or None. Raises ValueError for an operator that is not
        there or takes something else; nothing is added then.
        """
        _ops.load_for(kind)
        node = self.graph.create(kind, [self._value(arg) for arg in args], 0)
        try:
            types = _graphs.result_types(node)
        except BaseException:
            node.destroy()
            raise
        for type in types:
            node.add_output(type)
        made = [Proxy(self, value) for value in self.graph.append_node(node).outputs()]
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    @names_keywords
    def python(self, function: Callable, *args: object, outputs: int = 1) -> Any:
        """Calls a Python function when the graph runs; values are its tensors."""
        inputs = [arg.value for arg in args if isinstance(arg, Proxy)]
        scalars = [arg for arg in args if not isinstance(arg, Proxy)]
        calling = "".join("t" if isinstance(arg, Proxy) else "s" for arg in args)
        name = getattr(function, "__name__", type(function).__name__)
        node = _graphs.create_python_op(
            self.graph, function, name, inputs, calling, scalars, outputs
        )
        made = [Proxy(self, value) for value in self.graph.append_node(node).outputs()]
        return made[0] if len(made) == 1 else tuple(made)

    def output(self, *values: object) -> None:
        """Outputs of the current stage."""
        for value in values:
            self.graph.register_output(self._value(value))

    def next_stage(self) -> int:
        """What is added from now on belongs to the next stage; gives its number."""
        return self.graph.advance_stage()

    def _value(self, item: object) -> "_graphs.Value":
        if isinstance(item, Proxy):
            return item.value
        if isinstance(item, _graphs.Value):
            return item
        if isinstance(item, (list, tuple)) and any(isinstance(each, Proxy) for each in item):
            return self.list(item).value
        if isinstance(item, _C.dtype | _C.device):
            raise TypeError(f"{item!r} as a constant needs its type: constant({item!r}, 'int')")
        return self.constant(item).value
