"""Protects the texts that people act on, whole, against test/messages.txt: those called python/…

A case provokes one message; the file says its kind and text. Both sides are complete. The kind is
the name of the Python exception. To add a message, add a case here and write the text into the file
by hand. Suspect who says the sentence; after a wanted change, the file.
"""

import re

import pytest
from built import TESTS

import opyard
from opyard.dispatch import (
    DispatchKey,
    DispatchKeySet,
    DispatchMode,
    HigherOrderOperator,
    ModeKey,
    PythonDispatcher,
    computed_kernel,
    pop_mode,
    push_mode,
    resolve_key,
)
from opyard.library import Library, override

pytestmark = pytest.mark.once

FILE = TESTS / "messages.txt"
PREFIX = "python/"


def read_messages() -> dict[str, tuple[str, str]]:
    """By name without the prefix: the exception's name and the text."""
    blocks = FILE.read_text().split("\n== ")[1:]
    messages = {}
    for block in blocks:
        head, _, text = block.partition("\n")
        name, _, kind = head.rpartition(" ")
        if name.startswith(PREFIX):
            messages[name.removeprefix(PREFIX)] = (kind, text.rstrip("\n"))
    return messages


@pytest.fixture(scope="module")
def ops():
    lib = Library("said", "FRAGMENT")
    lib.define("add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor")
    lib.define("over.int(int n) -> int")
    lib.define("over.str(str s) -> str")
    lib.define("near.sizes(Tensor x, int[] sizes) -> Tensor")
    lib.define("near.str(str s, int n) -> Tensor")
    lib.define("pair(Tensor x) -> (Tensor, int)")
    lib.define("one(Tensor x) -> Tensor")
    lib.define("fill(Tensor(a!) x) -> ()")
    lib.define("sizes(Tensor x, int[] sizes) -> Tensor")
    lib.impl("add", lambda x, y, *, alpha=1.0: x, "CPU")
    lib.impl("pair", lambda x: x, "CPU")
    lib.impl("one", lambda x: 3, "CPU")
    lib.impl("sizes", lambda x, sizes: x, "CPU")
    yield opyard.ops.said
    lib._destroy()


def tensor():
    return opyard.tensor([1.0, 2.0])


def backwards():
    return memoryview(bytes(8)).cast("f")[::-1]


class Answering(DispatchMode):
    """Answers with what it was made with."""

    def __init__(self, answer):
        self.answer = answer

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        return self.answer


class Declining(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return NotImplemented


class NoMethodOfTheClass(opyard.Tensor):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        pass


def of_class(cls):
    return opyard.Tensor.make_subclass(cls, tensor())


def inside(mode, call):
    with mode:
        call()


def two_in_one_place():
    class Faking(Answering):
        mode_key = ModeKey.FAKE

    with Faking(None), Faking(None):
        pass


def higher_order():
    return HigherOrderOperator("said_to")


def call_it(made):
    return made(tensor())


def custom(fn=lambda x: x, schema="(Tensor x) -> Tensor", call=call_it, **more):
    """Calls with an operator of custom_op(), which is unregistered."""
    made = opyard.library.custom_op(
        "said::custom", fn, schema=schema, **{"mutates_args": (), **more}
    )
    try:
        return call(made)
    finally:
        made._destroy()


def without_annotation():
    def scale(x):
        return x

    opyard.library.custom_op("said::scale", scale, mutates_args=())


BY_DEVICE = {"schema": "(int n, Device device) -> Tensor", "device_types": "cpu"}
WRITES = {"schema": "(Tensor(a!) x) -> Tensor(a!)", "mutates_args": ["x"], "tags": "inplace"}
WRITES_OUT = {
    "schema": "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "mutates_args": ["out"], "tags": "out",
}  # fmt: skip


CASES = {
    "custom_op/alias": lambda ops: custom(),
    "custom_op/alias of another result": lambda ops: custom(
        lambda x: [x + 1] * 2, "(Tensor x) -> (Tensor, Tensor)"
    ),
    "custom_op/inplace gives another": lambda ops: custom(lambda x: x + 1, **WRITES),
    "custom_op/out gives another": lambda ops: custom(
        lambda x, *, out: x + 1, call=lambda made: made(tensor(), out=tensor()), **WRITES_OUT
    ),
    "custom_op/mutates_args": lambda ops: custom(mutates_args=["x"]),
    "custom_op/no annotation": lambda ops: without_annotation(),
    "custom_op/no namespace": lambda ops: opyard.library.custom_op("f", tensor, mutates_args=()),
    "custom_op/tensor by name": lambda ops: custom(schema="(*, Tensor x) -> Tensor"),
    "custom_op/no device": lambda ops: custom(schema="(int n) -> Tensor", device_types="cpu"),
    "custom_op/no kernel for a device": lambda ops: custom(
        lambda n, device: n, call=lambda made: made(3, "cuda"), **BY_DEVICE
    ),
    "custom_op/no fake kernel": lambda ops: custom(
        call=lambda made: made(opyard.ops.aten.empty([2], device="meta"))
    ),
    "custom_op/meta kernel": lambda ops: custom(
        call=lambda made: made.register_kernel("meta", tensor)
    ),
    "register/no operator": lambda ops: opyard.library.register_kernel(3, "cpu", tensor),
    "register/no function": lambda ops: opyard.library.register_kernel(ops.one, "cpu", 3),
    "register/no type": lambda ops: opyard.library.impl(ops.one, "nowhere", tensor),
    "register/autograd": lambda ops: opyard.library.register_autograd(ops.one, 3),
    "register/autograd of a writer": lambda ops: custom(
        lambda x: x, call=lambda made: made.register_autograd(tensor), **WRITES
    ),
    "register/vmap": lambda ops: opyard.library.register_vmap(ops.one, tensor),
    "register/autocast": lambda ops: opyard.library.register_autocast(ops.one, "xla", opyard.int8),
    "define/no namespace": lambda ops: opyard.library.define("f", "(Tensor x) -> Tensor"),
    "define/name in the schema": lambda ops: opyard.library.define("said::f", "f(Tensor x) -> ()"),
    "handler/no answer": lambda ops: ops.one(of_class(Declining)),
    "handler/no answer, modes too": lambda ops: inside(
        Answering(NotImplemented), lambda: ops.one(of_class(Declining))
    ),
    "handler/wrong result": lambda ops: inside(Answering("two"), lambda: ops.one(tensor())),
    "handler/wrong number of results": lambda ops: inside(
        Answering((1, 2, 3)), lambda: ops.pair(tensor())
    ),
    "handler/no class method": lambda ops: ops.one(of_class(NoMethodOfTheClass)),
    "handler/none": lambda ops: inside(DispatchMode(), lambda: ops.one(tensor())),
    "modes/none to pop": lambda ops: pop_mode(),
    "modes/no mode": lambda ops: push_mode(3),
    "modes/not entered": lambda ops: Answering(None).__exit__(None, None, None),
    "modes/place taken": lambda ops: two_in_one_place(),
    "py_impl/no function": lambda ops: ops.one.default.py_impl("CPU")(3),
    "py_impl/no class": lambda ops: ops.one.default.py_impl(int)(tensor),
    "py_impl/no handler": lambda ops: ops.one.default.py_impl(opyard.Tensor)(tensor),
    "py_impl/nothing serves": lambda ops: resolve_key(ops.one, "Meta"),
    "higher order/no kernel": lambda ops: higher_order()(tensor()),
    "higher order/no rule": lambda ops: inside(Answering(3), lambda: higher_order()(tensor())),
    "call/missing argument": lambda ops: ops.add(tensor()),
    "call/too many arguments": lambda ops: ops.add(tensor(), tensor(), 2.0),
    "call/unknown keyword": lambda ops: ops.add(tensor(), tensor(), beta=2.0),
    "call/argument twice": lambda ops: ops.add(tensor(), tensor(), x=tensor()),
    "call/wrong type": lambda ops: ops.add(tensor(), "two"),
    "call/wrong item": lambda ops: ops.sizes(tensor(), [1, "two"]),
    "call/int past 64 bits": lambda ops: ops.sizes(tensor(), [2**70]),
    "call/no overload": lambda ops: ops.over(2.5),
    "call/no overload, but a close one": lambda ops: ops.near(tensor(), [1, None]),
    "call/wrong result": lambda ops: ops.one(tensor()),
    "call/wrong number of results": lambda ops: ops.pair(tensor()),
    "c function/no operator": lambda ops: Library("said", "IMPL").impl_c(
        "nope", "libm.so.6", "cos"
    ),
    "c function/no form": lambda ops: ops.one.default.c_function("void"),
    "c function/no path": lambda ops: Library("said", "IMPL").impl_c("one", "a\0b", "cos"),
    "find/no operator": lambda ops: ops.nope,
    "find/no overload": lambda ops: ops.add.nope,
    "library/unknown kind": lambda ops: Library("said", "ALL"),
    "library/reserved namespace": lambda ops: Library("prim", "DEF"),
    "library/no namespace": lambda ops: Library("a b", "FRAGMENT"),
    "library/unknown key": lambda ops: Library("said", "IMPL", "Cpu"),
    "library/no function": lambda ops: Library("said", "IMPL").impl("add", [], "CPU"),
    "library/no name": lambda ops: Library("said", "IMPL").impl(3, tensor, "CPU"),
    "library/bad schema": lambda ops: Library("said", "FRAGMENT").define("f(Tensor x -> Tensor"),
    "library/alias analysis": lambda ops: Library("said", "FRAGMENT").define("g() -> ()", "PURE"),
    "library/fallback of one namespace": lambda ops: Library("said", "IMPL", "CPU").fallback(
        tensor
    ),
    "library/override of nothing": lambda ops: override("said::nope", "CPU", tensor),
    "keys/unknown": lambda ops: DispatchKeySet("Cpu"),
    "keys/alias in a set": lambda ops: DispatchKeySet(DispatchKey.Autograd),
    "keys/no such number": lambda ops: opyard.dispatch.has_fallback(9999),
    "keys/no gap": lambda ops: opyard.dispatch.register_layer("mine", "Below"),
    "keys/rename no backend": lambda ops: opyard.dispatch.rename_backend("Tracer", "mine"),
    "keys/rename a real backend": lambda ops: opyard.dispatch.rename_backend("CUDA", "mine"),
    "keys/name taken": lambda ops: opyard.dispatch.register_backend("cuda"),
    "library/unknown tag": lambda ops: Library("said", "FRAGMENT").define("h() -> ()", tags="no"),
    "library/tag that is no text": lambda ops: Library("said", "FRAGMENT").define(
        "h() -> ()", tags=[3]
    ),
    "registry/no kernel at a key": lambda ops: computed_kernel(ops.one, "CUDA"),
    "registry/computed at an alias": lambda ops: computed_kernel(ops.one, "Autograd"),
    "registry/computed of nothing": lambda ops: computed_kernel("said::nope", "CPU"),
    "registry/no key set": lambda ops: computed_kernel(ops.one, "CPU").call_boxed(tensor()),
    "registry/listener": lambda ops: opyard.dispatch.on_registration(3),
    "registry/error callback": lambda ops: opyard.dispatch.set_report_error_callback(ops.one, 3),
    "teaching/both composites": lambda ops: PythonDispatcher().register(
        ["CompositeImplicitAutograd", "CompositeExplicitAutograd"]
    ),
    "teaching/unsupported": lambda ops: PythonDispatcher().register(["Meta"]),
    "explain/no operator": lambda ops: opyard.dispatch.explain(3),
    "tensor/too large": lambda ops: opyard.tensor(2**70),
    "tensor/no such shape": lambda ops: opyard.tensor([[1, 2], [3]]),
    "tensor/text": lambda ops: opyard.tensor("text"),
    "arrays/read-only": lambda ops: ops.fill(memoryview(b"ab")),
    "arrays/backwards": lambda ops: ops.sizes(x=backwards(), sizes=[]),
    "plugin/missing file": lambda ops: opyard.load_library("/no/such/plugin.so"),
    "plugin/no path": lambda ops: opyard.load_library(""),
    "plugin/zero byte": lambda ops: opyard.load_library("a\0b"),
}


def thrown_by(case, ops) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        case(ops)
    # Where a kernel of this file is registered is no part of the message.
    text = re.sub(
        r"registered at \S+test_messages\.py:\d+",
        "registered at test_messages.py:1",
        str(caught.value),
    )
    return type(caught.value).__name__, text.rstrip("\n")


@pytest.mark.parametrize("name", CASES)
def test_each_message_is_what_the_file_says(name, ops):
    assert thrown_by(CASES[name], ops) == read_messages().get(name)


def test_the_file_has_none_that_nobody_provokes():
    assert read_messages().keys() == CASES.keys()
