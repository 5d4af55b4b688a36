"""test_mistaken_arguments.py: messages for arguments of the wrong type, name or number.

Each row is a line of a program, the kind of the error and its whole message. Suspect the function
that the line calls, and _core/keywords.py, _core/allowed.py.
"""

import pytest

import opyard
from opyard import jit, ops
from opyard.library import custom_op

pytestmark = pytest.mark.once

x = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])


def check(line, kind, message):
    with pytest.raises(kind) as caught:
        line()
    assert (type(caught.value).__name__, str(caught.value)) == (kind.__name__, message)


SIZED = ["zeros", "ones", "empty", "rand", "randn"]


@pytest.mark.parametrize("name", SIZED)
def test_sizes_are_taken_by_name(name):
    factory = getattr(opyard, name)
    assert factory(size=(2, 3)).shape == factory(size=[2, 3]).shape == (2, 3)
    assert factory(size=4, dtype=opyard.float64).dtype is opyard.float64


@pytest.mark.parametrize("name", SIZED)
def test_sizes_by_another_name_or_twice_are_refused(name):
    check(
        lambda: getattr(opyard, name)(shape=(2, 3)),
        TypeError,
        f"{name}() has no argument 'shape'; 'size' may be meant. Its arguments are: size, dtype, "
        "device, requires_grad",
    )
    check(
        lambda: getattr(opyard, name)(2, size=(2, 3)),
        TypeError,
        f"{name}() got its size by position, [2], and by name, (2, 3); give one of them",
    )


GRAPH = "graph(%x : Tensor):\n  %2 : Tensor = mistaken_graph::f(%x)\n  return (%2)\n"
ACCEPTED = (
    "allowed must be a list of operators: full names such as 'demo::twice', with or without an "
    "overload, or objects such as opyard.ops.demo.twice"
)


@pytest.fixture
def operator():
    made = custom_op(
        "mistaken_graph::f", lambda x: x + 1, schema="(Tensor x) -> Tensor", mutates_args=()
    )
    yield made
    made._destroy()


READERS = {
    "load": lambda path, allowed: jit.load(path, allowed=allowed),
    "parse_ir": lambda path, allowed: jit.compile(
        jit.parse_ir(GRAPH, untrusted=True, allowed=allowed)
    ),
}


@pytest.fixture
def path(operator, tmp_path):
    jit.save(jit.parse_ir(GRAPH), tmp_path / "graph.safetensors")
    return tmp_path / "graph.safetensors"


@pytest.mark.parametrize("reader", READERS)
def test_operators_are_allowed_by_name_and_as_objects(reader, path, operator):
    packet = ops.mistaken_graph.f
    for one in (packet, packet.default, operator, "mistaken_graph::f"):
        for allowed in (one, [one], iter([one])):
            made = READERS[reader](path, allowed)
            if reader == "load":
                assert made(x).tolist() == (x + 1).tolist()


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("allowed", "kind", "message"),
    [
        (3, TypeError, f"{ACCEPTED}, not 3"),
        (None, TypeError, f"{ACCEPTED}, not None"),
        ([3], TypeError, f"{ACCEPTED}; it has 3"),
        (["f"], ValueError, f"{ACCEPTED}; it has 'f'"),
        (["aten::rellu"], LookupError, "operator aten::rellu does not exist; 'relu' may be meant"),
        (["mistaken_graph::f.a"], LookupError, "mistaken_graph::f has no overload 'a'; it has: "
         "default"),
    ],
)  # fmt: skip
def test_what_names_no_operator_is_not_allowed(reader, path, allowed, kind, message):
    message = message if kind is LookupError else f"{reader}: {message}"
    check(lambda: READERS[reader](path, allowed), kind, message)
