"""Messages of an ONNX file, as far as they are read: one table, and the reader that follows it.

A message is an object with the attributes of its table; what a file does not have is None, an empty
list, 0 or "". Fields that no table has are passed over, as the format wants it.
"""

from types import SimpleNamespace
from typing import Any

from . import wire
from .wire import Broken

MOST_DEPTH = 48  # messages in messages: a graph in an attribute of a node is three
MOST_MESSAGES = 4_000_000
MOST_NUMBERS = 1 << 28

# Number: (name, kind). A kind is int, float, text, bytes or a message; * is a list of such.
TABLES: dict[str, dict[int, tuple[str, str]]] = {
    "model": {
        1: ("ir_version", "int"),
        2: ("producer", "text"),
        7: ("graph", "graph"),
        8: ("opsets", "*opset"),
        20: ("training", "*opaque"),
        25: ("functions", "*function"),
    },
    "opset": {1: ("domain", "text"), 2: ("version", "int")},
    "graph": {
        1: ("nodes", "*node"),
        2: ("name", "text"),
        5: ("initializers", "*tensor"),
        11: ("inputs", "*value"),
        12: ("outputs", "*value"),
        13: ("values", "*value"),
        15: ("sparse_initializers", "*opaque"),
    },
    "node": {
        1: ("inputs", "*text"),
        2: ("outputs", "*text"),
        3: ("name", "text"),
        4: ("kind", "text"),
        5: ("attributes", "*attribute"),
        7: ("domain", "text"),
        8: ("overload", "text"),
    },
    "attribute": {
        1: ("name", "text"),
        2: ("f", "float"),
        3: ("i", "int"),
        4: ("s", "bytes"),
        5: ("t", "tensor"),
        6: ("g", "graph"),
        7: ("floats", "*float"),
        8: ("ints", "*int"),
        9: ("strings", "*bytes"),
        10: ("tensors", "*tensor"),
        11: ("graphs", "*graph"),
        20: ("type", "int"),
        21: ("of_function", "text"),
        22: ("sparse", "opaque"),
    },
    "function": {
        1: ("name", "text"),
        4: ("inputs", "*text"),
        5: ("outputs", "*text"),
        6: ("attribute_names", "*text"),
        7: ("nodes", "*node"),
        9: ("opsets", "*opset"),
        10: ("domain", "text"),
        11: ("attributes", "*attribute"),
        13: ("overload", "text"),
    },
    "tensor": {
        1: ("dims", "*int"),
        2: ("dtype", "int"),
        3: ("segment", "opaque"),
        4: ("floats", "*float"),
        5: ("int32s", "*int"),
        6: ("strings", "*bytes"),
        7: ("int64s", "*int"),
        8: ("name", "text"),
        9: ("raw", "bytes"),
        10: ("doubles", "*double"),
        11: ("uint64s", "*int"),
        13: ("external", "*entry"),
        14: ("location", "int"),
    },
    "entry": {1: ("key", "text"), 2: ("value", "text")},
    "value": {1: ("name", "text"), 2: ("type", "type")},
    "type": {
        1: ("tensor", "tensor_type"),
        4: ("sequence", "opaque"),
        5: ("map", "opaque"),
        8: ("sparse", "opaque"),
        9: ("optional", "opaque"),
    },
    "tensor_type": {1: ("dtype", "int"), 2: ("shape", "shape")},
    "shape": {1: ("dims", "*dim")},
    "dim": {1: ("size", "int"), 2: ("name", "text")},
    "opaque": {},
}

_EMPTY: dict[str, Any] = {"text": "", "int": 0, "float": 0.0}


class Reader:
    """Reads messages of one file; counts them."""

    def __init__(self) -> None:
        self._left = MOST_MESSAGES

    def read(self, kind: str, data: memoryview, depth: int = 0) -> Any:
        """A message of this kind. Raises Broken for bytes that are none."""
        self._left -= 1
        if self._left < 0:
            raise Broken(f"it has more than {MOST_MESSAGES} messages")
        if depth > MOST_DEPTH:
            raise Broken(f"its messages are nested more than {MOST_DEPTH} deep")
        table = TABLES[kind]
        message = SimpleNamespace(
            **{name: [] if what[0] == "*" else _EMPTY.get(what) for name, what in table.values()}
        )
        if kind == "opaque":
            return message
        for number, how, value in wire.fields(data):
            found = table.get(number)
            if found is None:
                continue
            name, what = found
            if what[0] != "*":
                setattr(message, name, self._one(kind, name, what, how, value, depth))
                continue
            items = getattr(message, name)
            if what == "*int":
                items += wire.varints(how, value, MOST_NUMBERS)
            elif what in ("*float", "*double"):
                items += wire.reals(how, value, what[1])
            else:
                items.append(self._one(kind, name, what[1:], how, value, depth))
                if what in ("*text", "*bytes"):
                    self._left -= 1
            if self._left < 0:
                raise Broken(f"it has more than {MOST_MESSAGES} messages")
        return message

    def _one(
        self, kind: str, name: str, what: str, how: int, value: "int | memoryview", depth: int
    ) -> Any:
        if what == "int" and isinstance(value, int):
            return wire.signed(value)
        if what == "float" and how == wire.FOUR_BYTES:
            return wire.reals(how, value, "f")[0]
        if how != wire.BYTES or isinstance(value, int) or what in ("int", "float"):
            raise Broken(f"{name} of a {kind} is no {what}")
        if what == "bytes":
            return value
        if what == "text":
            try:
                return bytes(value).decode()
            except UnicodeDecodeError:
                raise Broken(f"{name} of a {kind} is no text in UTF-8") from None
        return self.read(what, value, depth + 1)


def read_model(data: memoryview) -> Any:
    """The model in a file's bytes. Raises Broken."""
    if len(data) > wire.MOST_BYTES:
        raise Broken(
            f"it has {len(data)} bytes, and a message has at most {wire.MOST_BYTES}; "
            "write large weights as external data beside it"
        )
    model = Reader().read("model", data)
    if model.graph is None or not (model.opsets or model.ir_version):
        raise Broken("it has no graph and no version: it is no ONNX model")
    return model
