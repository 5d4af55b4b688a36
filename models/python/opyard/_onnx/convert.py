"""ONNX graphs as graphs of aten operators.

    1. wire.py and messages.py read the file, tensors.py its weights.
    2. Here, nodes are converted in their order. Each is a block of a table (table_*.py), whose body
       is put in its place, or, if a text cannot say it, a function of convert_*.py; a function of
       the file is converted as the nodes that it has.
    3. What depends on small constants alone is computed at once, and sizes are carried as whole
       numbers, so that sizes which an exporter computed by tensors are few nodes.
    4. model.py has the text read, folds it, and makes a model of it and the weights.

[Left out] Nodes that cannot run are collected, with their counts and names; one error has them all.
"""

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from .filling import fill
from .nodes import Node, Unconverted, domain_of, with_attributes
from .refusals import Refusals
from .sizes import sizes_of_node
from .tables import TABLES
from .tensors import ELEMENTS, STRING, Stored
from .wire import Broken
from .writer import Known, Writer, facts, literal

MOST_NODES = 1_000_000  # those of functions counted at each call

# What comes of a node with other inputs, or attributes of other types, than its operator has.
_OTHER_FORMS = (
    ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error,
)  # fmt: skip

Converter = Callable[["Converting", "Node"], "Sequence[Known] | Known"]
_Converter = TypeVar("_Converter", bound=Converter)
CONVERTERS: dict[str, Converter] = {}


def converts(*kinds: str) -> Callable[[_Converter], _Converter]:
    """Registers a function that converts these operators of the default domain."""

    def register(function: _Converter) -> _Converter:
        for kind in kinds:
            CONVERTERS[kind] = function
        return function

    return register


class Converting:
    """One file while it is converted: the text so far, its weights, and what is refused."""

    def __init__(self, folder: str, allowed: Iterable[str] = ()) -> None:
        self.folder = folder
        self.writer = Writer()
        self.weights: dict[str, Known] = {}  # those that are used, by the variable
        self.refusals = Refusals()
        self.allowed = {name.split(".")[0] for name in allowed}
        self.functions: dict[tuple[str, str, str], Any] = {}
        self.versions: dict[str, int] = {}
        self.scopes: list[dict[str, Known | None]] = [{}]
        self.declared: dict[str, tuple[int | None, int | None]] = {}
        self._depth = 0
        self._left = MOST_NODES

    @property
    def ranks(self) -> dict[str, int]:
        """How many dimensions the file says that its values have."""
        return {name: rank for name, (_, rank) in self.declared.items() if rank is not None}

    # ---- what blocks and converters call

    def emit(self, body: str, **given: object) -> Known:
        """One result of a body; names in it are what is given: values, or constants of Python."""
        (result,) = self.emit_all(body, **given)
        return result

    def emit_all(self, body: str, **given: object) -> list[Known]:
        """The results of a body, of values and constants by name."""
        words = set(re.findall(r"\w+", body))
        lets, types, variables = [], [], []
        for name, value in given.items():
            if isinstance(value, Known):
                for word, text in facts(name, value).items():
                    if word in words:
                        lets.append(f"let {word} = {text};")
                        words.add(name)
                if name in words:
                    types.append((name, value.type))
                    variables.append(self.variable(value))
            elif name in words:
                lets.append(f"let {name} = {literal(value)};")
        template = self.writer.template(" ".join([*lets, body]), types)
        return self.writer.put(template, variables)

    def variable(self, value: Known) -> str:
        """The variable of a value; a constant becomes a weight, whole numbers a tensor."""
        if value.name:
            return value.name
        if value.stored is not None:
            value.name = f"%w{len(self.weights)}"
            self.weights[value.name] = value
            return value.name
        if value.items is None:
            raise Broken("a value is used before it is computed")
        item = "items" if value.rank else "items[0]"
        body = f"aten.tensor({item}, dtype={ELEMENTS[value.elem or 7].number})"
        return self.emit(body, items=self.int_list(value)).name  # not kept: it may be in a branch

    def constant(self, stored: Stored, title: str = "") -> Known:
        """A constant; small whole numbers are known one by one."""
        known = Known("", stored.elem, len(stored.shape), stored=stored, title=title)
        if (
            stored.elem in (6, 7)
            and known.rank is not None
            and known.rank <= 1
            and stored.count <= 64
        ):
            known.items = list(stored.numbers())
        return known

    def numbers(self, value: Known | None) -> list[Any] | None:
        """The elements of a constant as Python's numbers; None for what is no constant."""
        if value is None:
            return None
        if value.stored is not None and value.stored.count <= 1 << 16:
            return value.stored.numbers()
        if value.items is not None and all(isinstance(each, int) for each in value.items):
            return list(value.items)
        return None

    def int_list(self, value: Known) -> Known:
        """A tensor of whole numbers as an int[]."""
        if value.type == "int[]":
            return value
        if value.items is not None:
            return self.list_of(value.items)
        known = self.numbers(value)
        if known is not None:
            return self.list_of(known)
        return self._read_out(value, "int", "aten::Int")

    def list_of(self, items: "Iterable[Known | int]") -> Known:
        """An int[] of numbers, some of which are known."""
        names = [
            self.variable(each)
            if isinstance(each, Known)
            else self.writer.constant(int(each), "int")
            for each in items
        ]
        list_ = self.writer.node("int[]", "prim::ListConstruct", *names)
        return Known(list_, type="int[]", count=len(names))

    def float_list(self, value: Known) -> "Known | list[float]":
        """A tensor as a float[]."""
        known = self.numbers(value)
        if known is not None:
            return [float(each) for each in known]
        return self._read_out(value, "float", "aten::Float")

    def _read_out(self, value: Known, kind: str, call: str) -> Known:
        """A loop over a tensor's elements, which makes a list."""
        w = self.writer
        flat = self.emit("x.reshape([-1])", x=value)
        length = w.node("int", "aten::len", flat.name)
        true, zero = w.constant(True, "bool"), w.constant(0, "int")
        made = w.node(f"{kind}[]", "prim::ListConstruct")
        index = w.fresh()
        w.line(f"= prim::Loop({length}, {true})")
        w.line(f"  block0({index} : int):")
        w.indent += "    "
        element = w.node("Tensor", "aten::select", flat.name, zero, index)
        number = w.node(kind, call, element)
        w.node(f"{kind}[]", "aten::append", made, number)
        w.line(f"-> ({true})")
        w.indent = w.indent[:-4]
        return Known(made, type=f"{kind}[]")

    def repeat(
        self, times: "Known | int", carried: Sequence[Known], body: "Callable[..., Sequence[Known]]"
    ) -> list[Known]:
        """A loop: `body` is called with its index and what is carried, and gives that anew."""
        w = self.writer
        count = self.variable(times) if isinstance(times, Known) else w.constant(times, "int")
        true = w.constant(True, "bool")
        given = ", ".join([count, true, *(self.variable(each) for each in carried)])
        results = [Known(w.fresh(), each.elem, each.rank, each.type) for each in carried]
        heads = ", ".join(f"{each.name} : {each.type}" for each in results)
        w.line(f"{heads} = prim::Loop({given})")
        index = Known(w.fresh(), type="int")
        inner = [Known(w.fresh(), each.elem, each.rank, each.type) for each in carried]
        heads = ", ".join(f"{each.name} : {each.type}" for each in [index, *inner])
        w.line(f"  block0({heads}):")
        w.indent += "    "
        new = body(index, *inner)
        w.line(f"-> ({', '.join([true, *(self.variable(each) for each in new)])})")
        w.indent = w.indent[:-4]
        return results

    def fold_list(self, values: object, carried: Known, body: str, **given: object) -> Known:
        """`body` with y and each number i of a list, one behind the other; it gives y anew."""
        if isinstance(values, list | tuple):
            for each in values:
                carried = self.emit(body, y=carried, i=each, **given)
            return carried

        def step(index: Known, y: Known) -> list[Known]:
            item = self.emit("__getitem__(values, index)", values=values, index=index)
            return [self.emit(body, y=y, i=item, **given)]

        count = self.emit("len(values)", values=values)
        (made,) = self.repeat(count, [carried], step)
        return made

    def ints(self, node: Node, index: int, name: str) -> "list[int] | Known | None":
        """Whole numbers of an input, or of an attribute in older versions; None for neither."""
        value = node.input(index) if index >= 0 else None
        if value is None:
            return node.get(name)
        known = self.numbers(value)
        return known if known is not None else self.int_list(value)

    def number(self, value: Known, kind: str) -> "Known | int | float | bool":
        """A tensor of one element as an int, a float or a bool."""
        known = self.numbers(value)
        if known is not None and len(known) == 1:
            return {"int": int, "float": float, "bool": bool}[kind](known[0])
        if value.items is not None and len(value.items) == 1 and kind == "int":
            return value.items[0]
        call = {"int": "Int", "float": "Float", "bool": "Bool"}[kind]
        return self.emit(f"{call}(x.reshape([]))", x=value)

    # ---- nodes

    def look_up(self, name: str) -> Known | None:
        """What a name of the file means here. Raises Broken for one that has no value yet."""
        if not name:
            return None
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise Broken(f'"{name}" is used, and nothing before computes it')

    def bind(self, name: str, value: Known) -> None:
        """Gives a name of the file its meaning, in the scope of now."""
        if name in self.declared:
            elem, rank = self.declared[name]
            if value.elem is None and elem and elem != STRING:
                value.elem = elem
            if value.rank is None:
                value.rank = rank
        self.scopes[-1][name] = value

    def convert_nodes(self, protos: Sequence[Any]) -> None:
        """Nodes in their order; what cannot run is collected."""
        for proto in protos:
            self._convert(proto)

    def _convert(self, proto: Any) -> None:
        self._left -= 1
        if self._left < 0:
            raise Broken(f"it has more than {MOST_NODES} nodes")
        try:
            inputs = [self.look_up(name) for name in proto.inputs]
        except Broken:
            if any(name in self.refusals.names for name in proto.inputs):
                self.refusals.names.update(proto.outputs)
                return
            raise
        if any(name in self.refusals.names for name in proto.inputs):
            self.refusals.names.update(proto.outputs)
            return
        domain = domain_of(proto.domain)
        node = Node(proto, self.versions.get(domain, 1), inputs, self.folder)
        try:
            results = self._results(node, proto)
        except Unconverted as reason:
            if reason.args:  # else a node within it has said why
                self.refusals.add(node, reason.args[0])
            self.refusals.names.update(name for name in proto.outputs if name)
            return
        except Broken:
            raise
        except _OTHER_FORMS as error:
            raise Broken(f"{node.title} is not of the form that ONNX says: {error}") from error
        for name, result in zip(proto.outputs, results, strict=False):
            if name:
                self.bind(name, result)
        missing = [name for name in proto.outputs[len(results) :] if name]
        if missing:
            self.refusals.add(node, f"its output {missing[0]!r} is not computed here")
            self.refusals.names.update(missing)

    def _results(self, node: Node, proto: Any) -> Sequence[Known]:
        made = self._of_function(node, proto)
        if made is not None:
            return made
        converter = CONVERTERS.get(f"{node.domain}.{node.kind}" if node.domain else node.kind)
        if node.domain and converter is None:
            return self._foreign(node)
        sizes = None if node.domain else sizes_of_node(self, node)
        if sizes is not None:
            return [sizes]
        if converter is not None:
            result = converter(self, node)
            results = [result] if isinstance(result, Known) else list(result)
        else:
            block = TABLES.find(node.kind, node.version)
            if block is None:
                return self._foreign(node)
            results = fill(self, block, node)
        return results

    def _foreign(self, node: Node) -> Sequence[Known]:
        """An operator that the caller allowed, under the namespace of the domain."""
        name = f"{(node.domain or 'onnx').replace('.', '_')}::{node.kind}"
        if name not in self.allowed:
            if not node.domain and TABLES.find(node.kind, 10**6):
                raise Unconverted(f"version {node.version} of the operator set is too old")
            raise Unconverted(f"there is no operator {name}")
        given: dict[str, object] = {
            f"i{k}": value for k, value in enumerate(node.inputs) if value is not None
        }
        words = [f"i{k}" if value is not None else "None" for k, value in enumerate(node.inputs)]
        for attribute in node.attributes():
            given[f"a_{attribute}"] = node.get(attribute)
            words.append(f"{attribute}=a_{attribute}")
        space, _, kind = name.partition("::")
        return self.emit_all(f"{space}.{kind}({', '.join(words)})", **given)

    def _of_function(self, node: Node, proto: Any) -> Sequence[Known] | None:
        """The results of a function that the file has, or None if it has none of this name."""
        function = self.functions.get((node.domain, node.kind, proto.overload))
        if function is None:
            return None
        if self._depth >= 32:
            raise Broken(f"functions of the file call each other more than 32 deep, at {node.kind}")
        given = {each.name: each for each in function.attributes}
        given.update({each.name: each for each in proto.attributes})
        scope: dict[str, Known | None] = dict.fromkeys(function.inputs)
        for name, value in zip(function.inputs, node.inputs, strict=False):
            scope[name] = value
        saved = self.scopes, self.versions, self.declared
        self.scopes, self.declared = [scope], {}
        self.versions = {domain_of(each.domain): each.version for each in function.opsets}
        self._depth += 1
        try:
            self.convert_nodes([with_attributes(each, given) for each in function.nodes])
            return [value for name in function.outputs if (value := self.look_up(name))]
        finally:
            self._depth -= 1
            self.scopes, self.versions, self.declared = saved
