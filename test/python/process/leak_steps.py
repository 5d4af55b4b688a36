"""Steps of test_leaks.py that take more than an expression, and the classes that they need."""

import copy
import os
import pickle
import sys
import tempfile
import threading
import types
import warnings

from leak_saving import saving

import opyard
import opyard.dispatch as d
import opyard.futures as f
import opyard.library as lib

X = opyard.tensor([1.0, 2.0, 3.0])


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

    answer = X


def declined():
    Handled.answer = NotImplemented
    try:
        fails(TypeError, ops.op, Handled(X))
    finally:
        Handled.answer = X


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


def sampled():
    with opyard.profiler.sample(hz=5000) as prof:
        sum(range(20_000))
    prof.key_averages().table()
    prof.line_averages()


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
    saving(fails, x)
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


# Layers that layer_of() makes; the others are made and called as in nn_cases.txt.
MADE_HERE = {"AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d"}
MADE_HERE |= {"AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d"}
MADE_HERE |= {"BCEWithLogitsLoss", "BatchNorm2d", "Conv2d", "CrossEntropyLoss", "Dropout", "ELU"}
MADE_HERE |= {"Embedding", "Flatten", "GELU", "Identity", "L1Loss", "LayerNorm", "LeakyReLU"}
MADE_HERE |= {"Linear", "LogSoftmax", "MSELoss", "MaxPool1d", "MaxPool2d", "MaxPool3d", "Module"}
MADE_HERE |= {"ModuleList", "MultiheadAttention", "NLLLoss", "Parameter", "ReLU", "Sequential"}
MADE_HERE |= {"SiLU", "Sigmoid", "Softmax", "Tanh"}


def of_cases(name):
    """The first line of the table with this layer, in both modes, with a copy and a refusal."""
    from nn_cases import Opyard, cases

    _, layer = next(case for case in cases() if case.name == name).run(Opyard())
    copy.deepcopy(layer), repr(layer), layer.load_state_dict(layer.state_dict())
    fails(TypeError, getattr(opyard.nn, name), *[1] * 20)


def containers(name):
    made = (
        getattr(opyard.nn, name)({"a": opyard.nn.Parameter(opyard.ones(2))})
        if (name == "ParameterDict")
        else getattr(opyard.nn, name)([opyard.ones(2)] if name == "ParameterList" else None)
    )
    copy.deepcopy(made), repr(made), made.state_dict()
    fails(TypeError, getattr(opyard.nn, name), 3)


def in_layers(name):
    """The layer is made, called with hooks, goes through a state, and backward."""
    if name in ("ModuleDict", "ParameterDict", "ParameterList"):
        return containers(name)
    if name not in MADE_HERE:
        return of_cases(name)
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
    parameters = [layer.weight] if name == "Muon" else list(layer.parameters())  # matrices alone
    made = getattr(opyard.optim, name)(parameters, lr=0.1)
    made.step(*([lambda: (layer(X) ** 2).sum()] if name == "LBFGS" else []))
    made.load_state_dict(made.state_dict()), made.zero_grad()
    fails(ValueError, getattr(opyard.optim, name), parameters, lr=-1)


def scheduled(name):
    """The first of these schedules in the table, stepped, and one that is refused."""
    from nn_cases import Schedule

    names = {**vars(opyard.optim.lr_scheduler), "SWALR": opyard.optim.swa_utils.SWALR}
    schedule = next(each for each in Schedule.all() if each.text.startswith(f"{name}("))
    weights = [opyard.nn.Parameter(opyard.ones(1)) for _ in range(2)]
    groups = [{"params": weights[:1]}, {"params": weights[1:], "lr": 0.2}]
    schedule.rates(names, opyard.optim.SGD(groups, lr=0.5, momentum=0.9))
    fails((TypeError, ValueError, AttributeError), names[name], 3)


def averaged():
    swa, layer = opyard.optim.swa_utils, opyard.nn.Linear(2, 2)
    for function in (
        {},
        {"avg_fn": swa.get_ema_avg_fn()},
        {"multi_avg_fn": swa.get_ema_multi_avg_fn()},
    ):
        average = swa.AveragedModel(layer, **function)
        average.update_parameters(layer), average.update_parameters(layer)
    swa.update_bn([opyard.ones(2, 3)], opyard.nn.BatchNorm1d(3))
    fails(TypeError, swa.AveragedModel, 3)


def clipped():
    utils, layer = opyard.nn.utils, opyard.nn.Linear(3, 1)
    layer(X).sum().backward()
    utils.clip_grad_norm_(layer.parameters(), 1.0), utils.clip_grad_value_(layer.parameters(), 0.1)
    utils.vector_to_parameters(utils.parameters_to_vector(layer.parameters()), layer.parameters())
    fails(TypeError, utils.clip_grad_norm_, 3, 1.0)


def filled():
    init, weight = opyard.nn.init, opyard.zeros(3, 4, requires_grad=True)
    for fill in (init.uniform_, init.trunc_normal_, init.xavier_normal_, init.kaiming_uniform_):
        fill(weight)
    init.orthogonal_(weight), init.eye_(weight), init.sparse_(weight, 0.5)
    fails(ValueError, init.dirac_, weight)


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
