"""A tiny writer of ONNX files for tests: messages as bytes, by the numbers of their fields."""

import struct

FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL, HALF, DOUBLE, BFLOAT16 = (
    1, 2, 3, 6, 7, 8, 9, 10, 11, 16,
)  # fmt: skip


def varint(number):
    number &= (1 << 64) - 1
    made = b""
    while number > 0x7F:
        made += bytes([number & 0x7F | 0x80])
        number >>= 7
    return made + bytes([number])


def field(number, value):
    """A field of an int, a float, a text or bytes; a list is one field for each."""
    if isinstance(value, list):
        return b"".join(field(number, each) for each in value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(fields):
    return b"".join(field(number, value) for number, value in fields.items())


def tensor(name, elem, dims, data, **more):
    """A tensor with raw bytes; `more` has other fields, as field8=..."""
    fields = {1: list(dims), 2: elem, 8: name}
    if data is not None:
        fields[9] = data
    fields.update({int(key.removeprefix("field")): value for key, value in more.items()})
    return message(fields)


def floats(name, dims, numbers):
    return tensor(name, FLOAT, dims, struct.pack(f"<{len(numbers)}f", *numbers))


def ints(name, dims, numbers):
    return tensor(name, INT64, dims, struct.pack(f"<{len(numbers)}q", *numbers))


def value(name, elem=FLOAT, dims=()):
    """An input or output of these sizes, numbers or names; dims None: of any."""
    said = {1: elem}
    if dims is not None:
        said[2] = message({1: [message({2: d} if isinstance(d, str) else {1: d}) for d in dims]})
    return message({1: name, 2: message({1: message(said)})})


def attribute(name, given):
    """An attribute of the kind of its value; graphs are bytes in a tuple."""
    if isinstance(given, tuple):
        return message({1: name, 6: given[0], 20: 5})
    if isinstance(given, bytes):
        return message({1: name, 5: given, 20: 4})
    if isinstance(given, list):
        number, kind = (7, 6) if isinstance(given[0], float) else (8, 7)
        return message({1: name, number: given, 20: kind})
    number, kind = {int: (3, 2), float: (2, 1), str: (4, 3)}[type(given)]
    return message({1: name, number: given, 20: kind})


def node(kind, inputs, outputs, *, name="", domain="", **attributes):
    made = [attribute(key, given) for key, given in attributes.items()]
    return message({1: list(inputs), 2: list(outputs), 3: name, 4: kind, 5: made, 7: domain})


def graph(nodes, inputs, outputs, weights=()):
    return message({1: list(nodes), 2: "g", 5: list(weights), 11: list(inputs), 12: list(outputs)})


def model(nodes, inputs, outputs, weights=(), *, version=21, functions=(), domains=()):
    opsets = [message({2: version}), *(message({1: each, 2: 1}) for each in domains)]
    whole = graph(nodes, inputs, outputs, weights)
    return message({1: 10, 7: whole, 8: opsets, 25: list(functions)})
