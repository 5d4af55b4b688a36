"""test_leaks.py (T16): no public function leaves anything behind, whether it works or fails.

A scenario is a step that is repeated in rounds; CPython's own rule says what a leak is: memory
blocks that are left in every one of five rounds after three to warm up. Every name that the package
exports has a scenario. Suspect the function that the scenario calls.
"""

import asyncio
import copy
import gc
import os
import pickle
import sys
import tempfile
import threading
import types
import warnings

import pytest
from built import plain_build, plugin_path
from processes import REPEAT, leaks

import opyard
import opyard.dispatch as d
import opyard.futures as f
import opyard.library as lib
import opyard.schema as s
import opyard.testing as t

X = opyard.tensor([1.0, 2.0, 3.0])


@pytest.fixture(scope="module", autouse=True)
def library(plugin):
    made = lib.Library("leaks", "FRAGMENT")
    made.define('op(Tensor x, int n=1, *, str s="") -> Tensor')
    made.define("pair(Tensor x, float[] n) -> (Tensor, int)")
    made.define("bare(Tensor x) -> Tensor")
    made.define("any(Any a) -> Any")
    made.define("one(Tensor x) -> Tensor")
    made.impl("one", lambda x: x, "CPU")
    made.impl("op", lambda x, n=1, *, s="": x, "CPU")
    made.impl("pair", lambda x, n: (x, 1), "CPU")
    made.impl("any", lambda a: a)
    made.define("symbolic(SymInt[] n) -> SymInt[]")
    made.impl("symbolic", lambda n: n)
    yield made
    made._destroy()


def op():
    return opyard.ops.leaks.op


def fails(kind, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind:
        return
    raise AssertionError("this should have failed")


class Lazy:
    """Named when the step runs: the operators are defined by then."""

    def __getattr__(self, name):
        return getattr(opyard.ops.leaks, name)


ops = Lazy()


def quiet(call, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args)


def as_error(call, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fails(UserWarning, call, *args)


class Mode(d.DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        return op(*args, **(kwargs or {}))


class Broken(d.DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        raise KeyError


class Sub(opyard.Tensor):
    def __new__(cls, data):
        return opyard.Tensor.make_subclass(cls, data)


class Handled(Sub):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return cls.answer

    answer = None


def declined():
    Handled.answer = NotImplemented
    try:
        fails(TypeError, ops.op, Handled(X))
    finally:
        Handled.answer = None


def with_rule():
    made = lib.Library("leaks", "IMPL")
    ops.op.default.py_impl(Handled, lib=made)(lambda x, n=1, *, s="": x)
    ops.op.default.py_impl("CPU", lib=made)(lambda x, n=1, *, s="": x)
    ops.op(Handled(X))
    made._destroy()


def with_class_rule():
    made = lib.Library("leaks", "IMPL")
    lib.register_opyard_dispatch("leaks::op", Handled, lambda *args: args[3][0], lib=made)
    ops.op(Handled(X))
    made._destroy()


def higher_order():
    operator = d.HigherOrderOperator("leaking")
    operator.py_impl("CompositeExplicitAutograd")(lambda f, *args: f(*args))
    operator.py_impl(Handled)(lambda f, *args: f(*args))
    operator(lambda x: x, X)
    operator(lambda x: x, [Handled(X)])


class Slotted(Sub):
    __slots__ = ("a", "b")


class Quota(Exception):
    pass


def in_mode(mode, call):
    with mode:
        call()


def library_of(kind="IMPL"):
    made = lib.Library("leaks", kind, "" if kind != "IMPL" else "CPU")
    if kind == "IMPL":
        made.impl("op", lambda x, n=1, *, s="": x, allow_override=True)
    else:
        made.define("again(Tensor x) -> Tensor")
        made.impl("again", lambda x: x, "CPU")
        opyard.ops.leaks.again(X)
    made._destroy()


def overridden():
    with lib.override("leaks::op", "CPU", lambda x, n=1, *, s="": x * 2):
        ops.op(X)


def overridden_in_stacks():
    with lib.override("leaks::op", "CPU", lambda next_, *a, **k: next_(*a, **k), with_next=True):
        with lib.override(["leaks::op", "leaks::pair"], ["CPU", "Meta"], name="named",
                          fn=lambda next_, *a, **k: next_(*a, **k), with_next=True):  # fmt: skip
            ops.op(X, 2, s="a")
            ops.pair(X, [1.0])


def made_again():
    module = sys.modules["made_again"] = types.ModuleType("made_again")
    for _ in range(2):
        exec(compile(AGAIN, "/tmp/ipykernel_1/2.py", "exec"), module.__dict__)
    del sys.modules["made_again"]
    module.made._destroy()


AGAIN = """
from opyard.library import Library
made = Library("again", "DEF")
made.define("f(Tensor x) -> Tensor")
made.impl("f", lambda x: x, "CPU")
"""


def broken_override():
    def broken(call_next, x):
        return call_next(3)

    with lib.override("leaks::one", "CPU", broken, with_next=True):
        fails(TypeError, ops.one, X)


def chained():
    future = f.Future()
    then = future.then(lambda done: done.value() + 1)
    future.add_done_callback(lambda done: None)
    future.set_result(1)
    assert then.wait() == 2


def failed_future():
    future = f.Future()
    future.set_exception(ValueError("no"))
    fails(ValueError, future.wait)
    fails(RuntimeError, future.set_result, 1)


LOOP = asyncio.new_event_loop()


async def awaited():
    future = f.Future()
    future.set_result(3)
    return await future


def listening():
    handle = d.on_registration(lambda op: None, lambda op: None)
    library_of("FRAGMENT")
    handle.remove() if hasattr(handle, "remove") else handle.close()


def reported():
    d.set_report_error_callback(ops.bare.default, lambda key: None)
    fails(NotImplementedError, ops.bare, X)
    d.set_report_error_callback(ops.bare.default, None)


def attributes():
    tensor = X + 1
    tensor.name = [tensor]
    tensor.__dict__["other"] = object()


def with_slots():
    tensor = Slotted(X)
    tensor.a = [1]
    made = copy.copy(tensor)
    assert made.a is tensor.a and not hasattr(made, "b")


def infer(x: opyard.Tensor, n: int = 1) -> opyard.Tensor: ...


def out_of_band():
    buffers = []
    pickle.loads(pickle.dumps(X, 5, buffer_callback=buffers.append), buffers=buffers)


def thread():
    made = threading.Thread(target=lambda: ops.op(X))
    made.start()
    made.join()


# "module.name case": the step. The names before the blank are those that the package exports.
class Asked(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return {"aten::sym_size": [N, 2], "aten::size": [3, 2], "aten::dim": 2}.get(op.name())


class Node:
    """A symbolic number for which nothing can be decided."""

    def is_float(self):
        return False

    def is_int(self):
        return True

    def wrap_int(self, number):
        return Node()

    def add(self, other):
        return Node()

    def max(self, other):
        return Node()

    def __str__(self):
        return "n"

    mul = sym_max = add


N = opyard.SymInt(Node())
META = opyard.ops.aten.empty([2], device="meta")


def wrapper():
    made = opyard.Tensor.make_wrapper_subclass(
        Asked, [3, N], strides=[N, 1], dispatch_sizes_strides_policy="sizes", dispatch_layout=True
    )
    assert made.shape[0].node is N.node
    fails(TypeError, lambda: made.layout)
    return made.stride(), made.ndim


def graphs():
    graph = opyard.jit.parse_expression("x * 2 + x", ["x"])
    graph, _ = opyard.jit.parse_ir_with_names(str(graph))
    code = opyard.jit.compile(graph)
    state = opyard.jit.InterpreterState(code)
    state.begin_stage(X)
    state.step()
    return code(X), state.live_values(), [node.inputs() for node in graph.nodes()], graph.block()


def python_ops():
    graph = opyard.jit.Graph()
    node = opyard.jit.create_python_op(graph, lambda x, s: x, [graph.add_input()], scalars=[{}])
    graph.append_node(node)
    graph.register_output(node.output())
    opyard.jit.compile(graph)(X)


def in_ring():
    with opyard.profiler.flight_recorder(seconds=1.0) as ring:
        ops.op(X)
        return ring.dump()


def observed():
    told = []
    with opyard.profiler.observe(lambda *what: what, lambda *what: told.append(what), outputs=True):
        ops.op(X)
    return told


def profiled():
    with opyard.profiler.profile() as prof, opyard.profiler.record_function("part"):
        ops.op(X)
    return prof.key_averages().table(), prof.events()


def registered(name):
    callback = [].append
    getattr(opyard.gpu_trace, name)(callback)
    opyard.gpu_trace._registries[name.removeprefix("register_callback_for_")].callback_list.clear()


def faked():
    made = lib.Library("leaks", "IMPL")
    lib.register_fake("leaks::bare", lambda x: lib.get_ctx().op and x, lib=made)
    ops.bare(META)
    made._destroy()


def returns_first(x: opyard.Tensor, n: int = 1) -> opyard.Tensor:
    return x


def custom():
    made = lib.custom_op("leaks::custom", lambda x: x * 2, mutates_args=(),
                         schema="(Tensor x) -> Tensor")  # fmt: skip
    made.register_kernel(["cpu", "cuda"], lambda x: x + 1)
    made.register_fake(lambda x: x)
    made.register_autocast("cpu", opyard.float64)
    made.register_opyard_dispatch(Handled, lambda *args: args[3][0])
    with made.set_kernel_enabled("cpu", False):
        made(X), made(META), made(Handled(X))
    with opyard.autocast("cpu"):
        made(X)
    copy.copy(made), pickle.loads(pickle.dumps(made)), repr(made)
    fails(NotImplementedError, made.register_vmap, len)
    made._destroy()


class Doubled(opyard.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        assert len(ctx.saved_tensors) == 1
        return grad * 2


def differentiated():
    a = opyard.autograd
    x = opyard.tensor([1.0, 2.0], dtype=opyard.float64).requires_grad_()
    y = (Doubled.apply(x) * x).sum()
    x.register_hook(lambda g: g * 2).remove()
    a.backward(y)
    a.gradgradcheck(lambda x: x * x, [x])
    buffer = opyard.ops.aten.zeros([2, 2], dtype=opyard.float64)
    buffer[0] = x
    opyard.ops.aten.exp(buffer)[0].sum().backward()
    with a.no_grad(), a.enable_grad(), a.inference_mode():
        a.is_grad_enabled()
    with opyard.no_grad(), opyard.enable_grad(), opyard.inference_mode():
        opyard.is_grad_enabled()
    with opyard.set_grad_enabled(False):
        pass
    fails(ValueError, y.backward)


class Attention(opyard.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = opyard.nn.MultiheadAttention(4, 2)

    def forward(self, x):
        return self.attention(x, x, x)[0]


def layer_of(name):
    nn = opyard.nn
    if name == "Parameter":
        return nn.Parameter(opyard.ones(2)), X
    if name in ("Module", "ModuleList"):
        return (nn.Module() if name == "Module" else nn.ModuleList([nn.Linear(3, 2)])), None
    if name == "Linear":
        return nn.Linear(3, 2), X
    if name in ("Conv2d", "BatchNorm2d"):
        made = nn.Conv2d(1, 2, 2) if name == "Conv2d" else nn.BatchNorm2d(1)
        return made, opyard.ones(2, 1, 3, 3)
    if "Pool" in name:
        return getattr(nn, name)(2), opyard.ones(2, 1, *[3] * int(name[-2]))
    if name == "Embedding":
        return nn.Embedding(4, 2, padding_idx=0), None
    if name == "LayerNorm":
        return nn.LayerNorm(3), X
    if name == "MultiheadAttention":
        return nn.Sequential(Attention()), opyard.ones(2, 4)
    if name in ("CrossEntropyLoss", "NLLLoss"):
        return getattr(nn, name)(), (opyard.ones(2, 3), opyard.tensor([0, 2]))
    if name.endswith("Loss"):
        return getattr(nn, name)(), (X, X)
    if name == "Flatten":
        return nn.Flatten(0), X
    return (nn.Sequential(nn.ReLU()) if name == "Sequential" else getattr(nn, name)()), X


def in_layers(name):
    """The layer is made, called with hooks, goes through a state, and backward."""
    made, x = layer_of(name)
    if name == "Parameter":
        copy.deepcopy(made), pickle.loads(pickle.dumps(made))
        fails(TypeError, opyard.nn.Parameter, 3)
        return
    made.load_state_dict(made.state_dict())
    fails(RuntimeError, made.load_state_dict, {"no_such": X})
    copy.deepcopy(made), repr(made), list(made.named_parameters())
    if name == "Embedding":
        made(opyard.tensor([1, 0])).sum().backward()
    if x is None:
        fails((NotImplementedError, TypeError), made, X)
        return
    first, *others = x if isinstance(x, tuple) else (x,)
    first = first.detach().requires_grad_()
    made.register_forward_hook(lambda module, args, output: None)
    made.register_full_backward_hook(lambda module, gradients, _: gradients)
    made(first, *others).sum().backward()
    if name != "Identity":
        fails((TypeError, ValueError, AttributeError), made, object(), *others)


def saved():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.safetensors")
        opyard.save({"x": X}, path)
        assert opyard.load(path)["x"].tolist() == X.tolist()


def optimized(name):
    layer = opyard.nn.Linear(3, 1)
    layer(X).sum().backward()
    if name == "Optimizer":
        fails(NotImplementedError, opyard.optim.Optimizer(layer.parameters(), {}).step)
        return
    made = getattr(opyard.optim, name)(layer.parameters(), lr=0.1)
    made.step(), made.load_state_dict(made.state_dict()), made.zero_grad()
    fails(ValueError, getattr(opyard.optim, name), layer.parameters(), lr=-1)


def custom_by_device():
    def full(n: int, device: opyard.device) -> opyard.Tensor:
        return opyard.tensor([n])

    made = lib.custom_op("leaks::full", full, mutates_args=(), device_types="cpu")
    made(3, "cpu")
    fails(RuntimeError, made, 3, "cuda")
    made._destroy()


def custom_again():
    made = lib.custom_op("leaks::again", returns_first, mutates_args=())
    fails(RuntimeError, made, X)
    fails(RuntimeError, made.op._call_boxed, X)
    fails(RuntimeError, made, META)
    unseen = {"schema": "(Tensor x) -> Tensor", "check_aliasing": False}
    same = lib.custom_op("leaks::again", lambda x: x, mutates_args=(), **unseen)
    same(X)
    fails(RuntimeError, made, X)
    fails(RuntimeError, made.register_kernel, "cpu", len)
    same._destroy()


def custom_refused():
    again = {"mutates_args": (), "schema": "(Tensor x) -> Tensor"}
    fails(ValueError, lib.custom_op, "leaks", len, **again)
    fails(ValueError, lib.custom_op, "leaks::c", len, mutates_args=["x"], schema="(Tensor x) -> ()")
    fails(ValueError, lib.custom_op, "leaks::c", len, tags="inplace", **again)
    fails(ValueError, lib.custom_op, "leaks::c", len, device_types="nowhere", **again)
    fails(TypeError, lib.custom_op, "leaks::c", 3, **again)
    fails(RuntimeError, lib.custom_op, "leaks::one", len, **again)


def in_scope():
    with lib.scoped_library("leaks", "FRAGMENT") as scoped:
        lib.define("leaks::scoped", "(Tensor x) -> Tensor", lib=scoped)
        lib.impl("leaks::scoped", ["cpu", "Meta"], lambda x: x, lib=scoped)
        lib.register_kernel("leaks::scoped", "cuda", lambda x: x, lib=scoped)
        lib.register_autocast("leaks::scoped", "cpu", opyard.float64, lib=scoped)
        opyard.ops.leaks.scoped(X)


def effects():
    lib.register_effect("leaks::op", lib.EffectType.ORDERED)
    assert lib.effect_of("leaks::op") is lib.EffectType.ORDERED
    lib.register_effect("leaks::op", None)
    fails(ValueError, lib.register_effect, "leaks::op", "none")


def autocast():
    with opyard.autocast("cpu"), opyard.autocast("cpu", enabled=False):
        ops.op(X)
    fails(ValueError, opyard.autocast, "xla")


SCENARIOS = {
    # custom operators
    "library.custom_op": custom,
    "library.custom_op again": custom_again,
    "library.custom_op by device": custom_by_device,
    "library.custom_op refused": custom_refused,
    "library.CustomOpDef": lambda: fails(RuntimeError, lib.CustomOpDef.__new__(lib.CustomOpDef)),
    "library.scoped_library": in_scope,
    "library.define refused": lambda: fails(ValueError, lib.define, "leaks", "(Tensor x) -> ()"),
    "library.define": lambda: fails(RuntimeError, lib.define, "leaks::op", "(Tensor x) -> ()"),
    "library.impl": lambda: fails(ValueError, lib.impl, "leaks::op", ["cpu", "nowhere"], len),
    "library.impl a decorator": lambda: lib.impl("leaks::op", "cpu"),
    "library.register_kernel": lambda: fails(
        TypeError, lib.register_kernel, "leaks::op", "cpu", 3),
    "library.register_autograd": lambda: fails(
        TypeError, lib.register_autograd, "leaks::op", 3),
    "library.register_vmap": lambda: fails(
        NotImplementedError, lib.register_vmap, "leaks::op", len),
    "library.register_autocast": lambda: fails(
        TypeError, lib.register_autocast, "leaks::op", "cpu", "float64"),
    "library.register_effect": effects,
    "library.effect_of": lambda: lib.effect_of("leaks::op"),
    "library.EffectType": lambda: pickle.loads(pickle.dumps(lib.EffectType.ORDERED)),
    "opyard.autocast": autocast,
    # fake kernels
    "library.register_fake": faked,
    "library.register_fake refused": lambda: fails(ValueError, lib.register_fake, 3),
    "library.get_ctx": lambda: fails(RuntimeError, lib.get_ctx),
    # devices
    "gpu_trace.CallbackRegistry": lambda: opyard.gpu_trace.CallbackRegistry("a").fire_callbacks(),
    **{
        f"gpu_trace.{name}": lambda name=name: registered(name)
        for name in opyard.gpu_trace.__all__
        if name.startswith("register_")
    },
    # tensors
    "opyard.Layout": lambda: X.layout is opyard.Layout.strided,
    "opyard.Tensor.make_wrapper_subclass": wrapper,
    "opyard.SymInt": lambda: (N + 1, 2 * N, ops.symbolic([1, N])),
    "opyard.SymFloat": lambda: repr(opyard.SymFloat(Node())),
    "opyard.SymBool": lambda: fails(AttributeError, lambda: ~opyard.SymBool(Node())),
    "opyard.tensor": lambda: opyard.tensor([[1, 2.5], [True, X[0]]]),
    "opyard.arange": lambda: opyard.arange(3),
    "opyard.cat": lambda: opyard.cat([X, X]),
    "opyard.empty": lambda: opyard.empty(2, 3),
    "opyard.eye": lambda: opyard.eye(2),
    "opyard.full": lambda: opyard.full([2], 1.5),
    "opyard.ones": lambda: opyard.ones(2),
    "opyard.ones that require a gradient": lambda: opyard.ones(2, requires_grad=True),
    "opyard.rand": lambda: opyard.rand(2),
    "opyard.randn": lambda: opyard.randn(2, dtype=opyard.float64),
    "opyard.stack": lambda: opyard.stack([X, X]),
    "opyard.where": lambda: opyard.where(X > 1, X, X),
    "opyard.zeros": lambda: opyard.zeros(2, dtype=opyard.int64),
    "opyard.zeros refused": lambda: fails(ValueError, opyard.zeros, -1),
    "opyard.tensor refused": lambda: fails(ValueError, opyard.tensor, [[1], [X, X]]),
    "opyard.from_numpy": lambda: opyard.from_numpy(bytearray(8)),
    "opyard.from_numpy refused": lambda: fails(TypeError, opyard.from_numpy, 3),
    "opyard.from_dlpack": lambda: opyard.from_dlpack(X),
    "opyard.from_dlpack refused": lambda: fails(TypeError, opyard.from_dlpack, 3),
    "opyard.Tensor methods": lambda: (X.sum(), X.relu, X.tolist(), X.size(0), X.T, repr(X)),
    "opyard.Tensor arithmetic": lambda: (X + X, 2 * X, X == X, X[1:], X[X > 1], -X),
    "opyard.Tensor refused": lambda: fails(TypeError, lambda: X + object()),
    "opyard.Tensor wrong index": lambda: fails(IndexError, lambda: X[7]),
    "opyard.Tensor no attribute": lambda: fails(AttributeError, lambda: X.no_such),
    "opyard.Tensor not called": lambda: fails(TypeError, opyard.Tensor),
    "opyard.Tensor attributes": attributes,
    "opyard.Tensor subclass": lambda: Sub(X),
    "opyard.Tensor subclass with slots": with_slots,
    "opyard.Tensor as_subclass": lambda: (X + 1).as_subclass(Sub),
    "opyard.Tensor copy": lambda: (copy.copy(X), copy.deepcopy([X, X])),
    "opyard.Tensor pickle": lambda: pickle.loads(pickle.dumps(X)),
    "opyard.Tensor pickle 2": lambda: pickle.loads(pickle.dumps(X, 2)),
    "opyard.Tensor out of band": out_of_band,
    "opyard.Tensor buffer": lambda: memoryview(X)[1:].tolist(),
    "opyard.device": lambda: (opyard.device("cuda", 1), repr(opyard.device("cpu"))),
    "opyard.device refused": lambda: fails(ValueError, opyard.device, "nowhere"),
    "opyard.dtype": lambda: (repr(opyard.int8), pickle.loads(pickle.dumps(opyard.int8))),
    "opyard.dtype refused": lambda: fails(TypeError, opyard.dtype),
    "opyard.Tag": lambda: list(opyard.Tag),
    # calls
    "opyard.ops": lambda: (ops.op(X), ops.op(X, 2, s="a"), ops.pair(X, [1, 2.0])),
    "opyard.ops by keyword": lambda: ops.op(n=1, x=X),
    "opyard.ops missing": lambda: fails(TypeError, ops.op),
    "opyard.ops wrong type": lambda: fails(TypeError, ops.op, "text"),
    "opyard.ops unknown keyword": lambda: fails(TypeError, ops.op, X, bogus=1),
    "opyard.ops no kernel": lambda: fails(NotImplementedError, ops.bare, X),
    "opyard.ops no name": lambda: fails(AttributeError, lambda: opyard.ops.leaks.no_such),
    "opyard.ops any": lambda: ops.any([{"a": object()}, (1, "b"), None]),
    "opyard.ops redispatch": lambda: ops.op.default.redispatch(d.DispatchKeySet("CPU"), X),
    "opyard.ops from C++": lambda: opyard.ops.test_plugin.call("leaks::one", X),
    "opyard.ops in a thread": thread,
    "opyard.ops attributes": lambda: (
        ops.op.default.tags, ops.op.default._schema, ops.op.overloads(), str(ops.op.default),
        copy.copy(ops.op), pickle.loads(pickle.dumps(ops.op.default))),
    "opyard.load_library": lambda: opyard.load_library(plugin_path("opyard_test_plugin")),
    "opyard.load_library refused": lambda: fails(OSError, opyard.load_library, "/no/such.so"),
    "opyard.unload_library": lambda: fails(LookupError, opyard.unload_library, "/no/such.so"),
    "opyard.loaded_libraries": opyard.loaded_libraries,
    "opyard.register_error": lambda: opyard.register_error("leaks.Quota", Quota),
    "opyard.register_error raised": lambda: fails(
        Quota, opyard.ops.test_plugin.fail_as, "leaks.Quota", "no"),
    "opyard.register_error refused": lambda: fails(TypeError, opyard.register_error, int),
    "opyard.set_warn_always": lambda: opyard.set_warn_always(False),
    "opyard.set_warn_always warning": lambda: quiet(opyard.ops.test_plugin.warn, 0, "quiet"),
    "opyard.set_warn_always warning as error": lambda: as_error(
        opyard.ops.test_plugin.warn, 0, "an error"),
    "opyard.set_warn_always warning and error": lambda: quiet(
        fails, ValueError, opyard.ops.test_plugin.warn_and_fail, "quiet", "no"),
    # library
    "library.Library": library_of,
    "library.Library made again": made_again,
    "library.Library define": lambda: library_of("FRAGMENT"),
    "library.Library refused": lambda: fails(ValueError, lib.Library, "leaks", "ALL"),
    "library.Library bad schema": lambda: fails(
        ValueError, lib.Library("leaks", "FRAGMENT").define, "f(Tensor x -> Tensor"),
    "library.override": overridden,
    "library.override refused": lambda: fails(
        LookupError, lib.override, "leaks::nope", "CPU", lambda x: x),
    "library.override in stacks": overridden_in_stacks,
    "library.override raising": broken_override,
    "library.override in part": lambda: fails(
        LookupError, lib.override, "leaks::op", ["CPU", "Cpu"], lambda x: x),
    "library.opcheck": lambda: lib.opcheck(
        "leaks::any", ([X, X[:2], (X, {"a": X})],), raise_exception=False),
    "library.opcheck refused": lambda: fails(
        NotImplementedError, lib.opcheck, "leaks::op", (X,), atol=1),
    "library.OpCheckError": lambda: fails(lib.OpCheckError, lib.opcheck, "leaks::bare", (X,)),
    "library.load_plugins": lambda: fails(LookupError, lib.load_plugins, "nobody_brings_this"),
    "library.fallthrough_kernel": lambda: fails(NotImplementedError, lib.fallthrough_kernel),
    "library.infer_schema": lambda: lib.infer_schema(infer, mutates_args=["x"]),
    "library.infer_schema refused": lambda: fails(
        ValueError, lib.infer_schema, infer, mutates_args=["n"]),
    "library.CFunction": lambda: opyard.ops.test_plugin.count_released.default.c_function(),
    "library.c_prototype": lambda: fails(LookupError, lib.c_prototype, "leaks::nope"),
    "library.load_library": opyard.loaded_libraries,
    "library.loaded_libraries": lib.loaded_libraries,
    "library.unload_library": lambda: fails(LookupError, lib.unload_library, "/no/such.so"),
    # schema
    "schema.parse": lambda: (str(s.parse("f(Tensor(a!) x, int[2] n=[1, 2]) -> Tensor(a!)"))),
    "schema.parse refused": lambda: fails(ValueError, s.parse, "f(Tensor x"),
    "schema.Schema": lambda: pickle.loads(pickle.dumps(s.parse("f(Tensor x) -> Tensor"))),
    "schema.Argument": lambda: (s.parse("f(int n=3) -> ()").arguments[0].default_value),
    "schema.AliasInfo": lambda: s.parse("f(Tensor(a!) x) -> ()").arguments[0].alias_info.before_set,
    "schema.Type": lambda: s.parse("f(int[] n) -> ()").arguments[0].type.elements,
    # dispatch
    "dispatch.DispatchKey": lambda: pickle.loads(pickle.dumps(d.DispatchKey.CPU)),
    "dispatch.DispatchKeySet": lambda: list(d.DispatchKeySet(["CPU", "Tracer"]).remove("Tracer")),
    "dispatch.DispatchKeySet refused": lambda: fails(LookupError, d.DispatchKeySet, "Cpu"),
    "dispatch.LayerGap": lambda: list(d.LayerGap),
    "dispatch.ModeKey": lambda: list(d.ModeKey),
    "dispatch.AutoDispatchBelowAutograd": lambda: in_mode(
        d.AutoDispatchBelowAutograd(), lambda: ops.op(X)),
    "dispatch.IncludeDispatchKeyGuard": lambda: in_mode(
        d.IncludeDispatchKeyGuard("Meta"), lambda: None),
    "dispatch.ExcludeDispatchKeyGuard": lambda: in_mode(
        d.ExcludeDispatchKeyGuard("AutogradCPU"), lambda: ops.op(X)),
    "dispatch.ForceDispatchKeyGuard": lambda: in_mode(
        d.ForceDispatchKeyGuard(d.DispatchKeySet("CPU"), d.DispatchKeySet()), lambda: ops.op(X)),
    "dispatch.PreserveDispatchKeyGuard": lambda: in_mode(
        d.PreserveDispatchKeyGuard(), lambda: None),
    "dispatch.SetExcludeDispatchKeyGuard": lambda: in_mode(
        d.SetExcludeDispatchKeyGuard("Tracer", True), lambda: ops.op(X)),
    "dispatch.DispatchMode": lambda: in_mode(Mode(), lambda: ops.op(X)),
    "dispatch.DispatchMode raising": lambda: fails(KeyError, in_mode, Broken(), lambda: ops.op(X)),
    "dispatch.push_mode": lambda: (d.push_mode(Mode()), d.pop_mode()),
    "dispatch.pop_mode": lambda: fails(Exception, d.pop_mode),
    "dispatch.pop_mode_temporarily": lambda: in_mode(
        Mode(), lambda: in_mode(d.pop_mode_temporarily(), lambda: ops.op(X))),
    "dispatch.disable_current_modes": lambda: in_mode(
        Mode(), lambda: in_mode(d.disable_current_modes(), lambda: ops.op(X))),
    "dispatch.get_mode": lambda: [d.get_mode(key) for key in d.ModeKey],
    "dispatch.get_current_dispatch_mode": d.get_current_dispatch_mode,
    "dispatch.get_current_dispatch_mode_stack": lambda: in_mode(
        Mode(), d.get_current_dispatch_mode_stack),
    "dispatch.len_dispatch_mode_stack": d.len_dispatch_mode_stack,
    "dispatch.ComputedKernel": lambda: d.computed_kernel(ops.op.default, "CPU"),
    "dispatch.computed_kernel": lambda: str(d.computed_kernel("leaks::op", "CPU")),
    "dispatch.computed_kernel refused": lambda: fails(
        LookupError, d.computed_kernel, ops.bare.default, "CUDA"),
    "dispatch.DispatchLog": lambda: in_mode(d.DispatchLog(), lambda: None),
    "dispatch.set_dispatch_log": lambda: d.set_dispatch_log(False),
    "dispatch.Explanation": lambda: str(d.explain(ops.op, X)),
    "dispatch.explain": lambda: d.explain(ops.op, X),
    "dispatch.explain refused": lambda: fails(TypeError, d.explain, 3),
    "dispatch.would_dispatch": lambda: d.would_dispatch(ops.op, X),
    "dispatch.WhatIf": lambda: str(d.what_if("leaks::op", "CUDA")),
    "dispatch.TableChange": lambda: repr(d.what_if("leaks::op", "CUDA")),
    "dispatch.what_if": lambda: d.what_if("leaks::op", "CUDA"),
    "dispatch.History": lambda: str(d.history())[:10],
    "dispatch.RegistryEvent": lambda: d.history()[-1:],
    "dispatch.history": lambda: len(d.history()),
    "dispatch.PythonDispatcher": lambda: d.PythonDispatcher().register(["CPU"]),
    "dispatch.RegistrationHandle": listening,
    "dispatch.on_registration": listening,
    "dispatch.on_registration refused": lambda: fails(TypeError, d.on_registration, 3),
    "dispatch.check_invariants": d.check_invariants,
    "dispatch.check_writes": lambda: in_mode(
        d.check_writes(sample=1), lambda: opyard.ops.aten.neg(X)),
    "dispatch.provenance": lambda: d.provenance("leaks::op", "CPU"),
    "dispatch.alias_analysis": lambda: d.alias_analysis("leaks::op"),
    "dispatch.operators_at": lambda: d.operators_at("CPU"),
    "dispatch.dangling": d.dangling,
    "dispatch.dump": lambda: d.dump("leaks::op"),
    "dispatch.dump_table": lambda: d.dump_table("leaks::op"),
    "dispatch.has_computed_kernel": lambda: d.has_computed_kernel("leaks::op", "CPU"),
    "dispatch.has_fallback": lambda: d.has_fallback("CPU"),
    "dispatch.has_kernel": lambda: d.has_kernel("leaks::op"),
    "dispatch.has_kernel_for_any": lambda: d.has_kernel_for_any("leaks::op", ["CPU"]),
    "dispatch.is_fallthrough": lambda: d.is_fallthrough("leaks::op", "CPU"),
    "dispatch.keys_of": lambda: d.keys_of(X),
    "dispatch.metadata": lambda: d.metadata("leaks::op"),
    "dispatch.register_backend": lambda: fails(ValueError, d.register_backend, "cuda"),
    "dispatch.register_layer": lambda: fails(ValueError, d.register_layer, "mine", "Below"),
    "dispatch.rename_backend": lambda: fails(RuntimeError, d.rename_backend, "CUDA", "mine"),
    "dispatch.set_report_error_callback": reported,
    "dispatch.tls_is_dispatch_key_excluded": lambda: d.tls_is_dispatch_key_excluded("CPU"),
    "dispatch.tls_is_dispatch_key_included": lambda: d.tls_is_dispatch_key_included("CPU"),
    "dispatch.tls_local_exclude_set": d.tls_local_exclude_set,
    "dispatch.tls_local_include_set": d.tls_local_include_set,
    "dispatch.tls_set_dispatch_key_excluded": lambda: d.tls_set_dispatch_key_excluded("CPU", False),
    "dispatch.tls_set_dispatch_key_included": lambda: d.tls_set_dispatch_key_included("CPU", False),
    "dispatch.skip": lambda: in_mode(d.skip("AutogradFunctionality"), lambda: ops.op(X)),
    "dispatch.no_dispatch": lambda: in_mode(d.no_dispatch(), lambda: ops.op(Sub(X))),
    "dispatch.disabled_dispatch": lambda: d.disabled_dispatch,
    "opyard.ops handled by a class": lambda: ops.op(Handled(X), n=2, s="a"),
    "opyard.ops declined by a class": declined,
    "opyard.ops with a rule": with_rule,
    "dispatch.HigherOrderOperator": higher_order,
    "library.register_opyard_dispatch": with_class_rule,
    "dispatch.resolve_key": lambda: d.resolve_key("leaks::op", "CPU"),
    "dispatch.resolve_key refused": lambda: fails(
        NotImplementedError, d.resolve_key, "leaks::op", "Meta"),
    "dispatch.enable_python_dispatcher": lambda: in_mode(
        d.enable_python_dispatcher(), lambda: ops.op(X)),
    "dispatch.no_python_dispatcher": lambda: in_mode(
        d.no_python_dispatcher(), lambda: ops.op(X)),
    "opyard.capture_context": lambda: opyard.capture_context().run(ops.op, X),
    "testing.LoggingTensor": lambda: ops.op(t.LoggingTensor(X, t.CallLog())),
    # futures
    "futures.Future": chained,
    "futures.Future failed": failed_future,
    "futures.Future cancelled": lambda: f.Future().cancel(),
    "futures.Future awaited": lambda: LOOP.run_until_complete(awaited()),
    "futures.Future from C++": lambda: opyard.ops.test_plugin.later(0, 5).wait(),
    "futures.CancelledError": lambda: f.CancelledError("text"),
    "futures.collect_all": lambda: f.collect_all([opyard.ops.test_plugin.later(0, 5)] * 2).wait(),
    "futures.collect_any": lambda: f.collect_any([opyard.ops.test_plugin.later(0, 5)]).wait(),
    "futures.from_concurrent": lambda: f.from_concurrent(opyard.futures.Future().as_concurrent()),
    "futures.wait_all": lambda: f.wait_all([opyard.ops.test_plugin.later(0, 5)]),
    # jit
    **{f"jit.{name}": graphs for name in opyard.jit.__all__ if name != "create_python_op"},
    "jit.create_python_op": python_ops,
    "jit.parse_ir refused": lambda: fails(ValueError, opyard.jit.parse_ir, "graph("),
    # autograd
    **{f"autograd.{name}": differentiated for name in opyard.autograd.__all__},
    **{
        f"opyard.{name}": differentiated
        for name in ("enable_grad", "inference_mode", "is_grad_enabled", "no_grad")
    },
    "opyard.set_grad_enabled": differentiated,
    "autograd.backward refused": lambda: fails(ValueError, opyard.autograd.backward, X),
    # modules
    **{f"nn.{name}": lambda name=name: in_layers(name) for name in opyard.nn.__all__},
    **{f"optim.{name}": lambda name=name: optimized(name) for name in opyard.optim.__all__},
    "opyard.save": saved,
    "opyard.load": lambda: fails(OSError, opyard.load, "/no/such.safetensors"),
    "opyard.manual_seed": lambda: opyard.manual_seed(3),
    "opyard.Generator": lambda: opyard.rand(2, generator=opyard.Generator().manual_seed(3)),
    # profiler
    "profiler.profile": profiled,
    "profiler.record_function": profiled,
    "profiler.schedule": lambda: opyard.profiler.schedule(wait=1, warmup=1, active=1)(3),
    "profiler.ProfilerAction": lambda: opyard.profiler.ProfilerAction.NONE,
    "profiler.ProfilerActivity": lambda: opyard.profiler.ProfilerActivity.CPU,
    "profiler.RecordScope": lambda: opyard.profiler.RecordScope(1),
    "profiler.flight_recorder": in_ring,
    "profiler.observe": observed,
    "profiler.active_profile": opyard.profiler.active_profile,
    "profiler.active_recorder": opyard.profiler.active_recorder,
    "profiler.active_observers": opyard.profiler.active_observers,
    "profiler.watch_future": lambda: opyard.profiler.watch_future(opyard.futures.Future(), "f"),
    "profiler.show_instances": lambda: opyard.profiler.show_instances,
    "profiler.tensorboard_trace_handler": lambda: opyard.profiler.tensorboard_trace_handler,
    # resources
    "memory.stats": lambda: opyard.memory.stats(),
    "memory.empty_cache": lambda: opyard.memory.empty_cache(),
    "opyard.get_num_threads": lambda: opyard.get_num_threads(),
    "opyard.set_num_threads": lambda: opyard.set_num_threads(opyard.get_num_threads()),
    # testing
    "testing.CallLog": t.CallLog,
    "testing.FileCheck": lambda: t.FileCheck().check("a").run("a b"),
    "testing.LoggingMode": lambda: in_mode(t.LoggingMode(), lambda: ops.op(X)),
}  # fmt: skip

MODULES = {
    "opyard": opyard, "library": lib, "dispatch": d, "schema": s, "futures": f, "testing": t,
    "gpu_trace": opyard.gpu_trace, "jit": opyard.jit, "profiler": opyard.profiler,
    "autograd": opyard.autograd, "memory": opyard.memory,
    "nn": opyard.nn, "optim": opyard.optim,
}  # fmt: skip
# Neither is a function: constants and submodules.
PLAIN = {
    "__version__",
    *MODULES,
    *(n for n, v in vars(opyard._C).items() if type(v) is opyard.dtype),
}


def exported():
    for name, module in MODULES.items():
        yield from (f"{name}.{each}" for each in module.__all__ if each not in PLAIN)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_T16_nothing_is_left(scenario):
    assert leaks(SCENARIOS[scenario]) is None


def test_T16_every_exported_name_has_a_scenario():
    named = {scenario.partition(" ")[0] for scenario in SCENARIOS}
    assert {*exported(), "opyard.ops"} - named == set()
    assert len(SCENARIOS) >= 60


def test_T16_no_file_and_no_mapping_is_left():
    def opened():
        with open("/proc/self/maps") as maps:
            return len(os.listdir("/proc/self/fd")), len(maps.readlines())

    steps = [step for name, step in SCENARIOS.items() if "future" not in name]
    counts = []
    for _ in range(4):
        for step in steps:
            step()
        gc.collect()
        counts.append(opened())
    assert counts[-1][0] <= counts[0][0]
    assert counts[-1][1] <= counts[0][1] + 8  # arenas of the allocator


kept: list = []
PLANTED = {
    "a list": lambda: kept.append([]),
    "a reference": lambda: sys.intern(f"leaked {len(kept)}") and kept.append(object()),
    "a tensor": lambda: kept.append(opyard.tensor([1])),
}


@plain_build
@pytest.mark.parametrize("plant", PLANTED)
def test_T16_a_planted_leak_is_found(plant):
    """The control: one block a round's step is seen."""
    try:
        deltas = leaks(PLANTED[plant])
        assert deltas is not None and min(deltas) >= REPEAT
    finally:
        kept.clear()
