"""test_mistaken_arguments.py: messages for arguments of the wrong type, name or number.

Each row is a line of a program, the kind of the error and its whole message. Suspect the function
that the line calls, and _core/keywords.py, _core/allowed.py.
"""

import numpy
import pytest

import opyard
from opyard import autograd, futures, jit, nn, ops, optim, profiler, remote
from opyard.dispatch import DispatchMode
from opyard.library import (
    Library,
    custom_op,
    load_operators,
    opcheck,
    register_autograd,
    register_opyard_dispatch,
)

pytestmark = pytest.mark.once

x = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])


def check(line, kind, message):
    with pytest.raises(kind) as caught:
        line()
    assert (type(caught.value).__name__, str(caught.value)) == (kind.__name__, message)


def assign_data(tensor):
    tensor.data = x


OBJECTS = numpy.array([None, 1], dtype=object)
PROBABILITIES = (
    "; accepted are probabilities, from 0 to 1, which sigmoid() makes of logits; "
    "binary_cross_entropy_with_logits takes these as they are"
)
VALUES = [
    (
        lambda: assign_data(opyard.zeros(1)),
        AttributeError,
        "opyard.Tensor: data cannot be assigned, and an object of opyard.Tensor came; "
        "x.copy_(other) writes the elements of another tensor into this one, under "
        "opyard.no_grad() if it requires a gradient",
    ),
    (
        lambda: assign_data(nn.Parameter(opyard.zeros(1))),
        AttributeError,
        "Parameter: data cannot be assigned, and an object of opyard.Tensor came; x.copy_(other) "
        "writes the elements of another tensor into this one, under opyard.no_grad() if it "
        "requires a gradient",
    ),
    (
        lambda: nn.Parameter(opyard.zeros(1)).data,
        AttributeError,
        "'Parameter' object has no attribute 'data'; write x.detach() to read it, x.copy_(other) "
        "to change it",
    ),
    (
        lambda: futures.Future().wait(timeout="a"),
        TypeError,
        "Future.wait: timeout must be a number of seconds, or None to wait for ever, not an object "
        "of str",
    ),
    (
        lambda: x.sum(dtype="float64"),
        TypeError,
        "aten::sum() cannot take what was given for argument 'dtype', a value of type 'str': "
        "'float64' is a text; write opyard.float64.\n"
        "Declaration: aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor\n"
        "Overloaded operator invoked from Python failed to match any schema; the other is "
        "dim_IntList.",
    ),
    (
        lambda: opyard.zeros(2, dtype="float64"),
        TypeError,
        "dtype is 'float64', a text; write opyard.float64",
    ),
    (
        lambda: ops.aten.relu(OBJECTS),
        ValueError,
        "aten::relu() cannot take what was given for argument 'self', a value of type "
        "'numpy.ndarray': its __dlpack__ raised BufferError: DLPack only supports signed/unsigned "
        "integers, float and complex dtypes. Its dtype is object, for which there is none here; "
        "convert it first, as array.astype(float) does.\n"
        "Position: 0\nDeclaration: aten::relu(Tensor self) -> Tensor",
    ),
    (
        lambda: opyard.tensor(OBJECTS),
        ValueError,
        "tensor: the elements have the format 'O'; accepted are bool, int8 to int64, uint8 to "
        "uint64, float16 to float64 and complex numbers, so convert them first, as array.astype "
        "does",
    ),
    (
        lambda: ops.aten.einsum("...", x, x),
        TypeError,
        "aten::einsum() takes 2 positional argument(s) but 3 was/were given.  Declaration: "
        "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor\n"
        "Give 'tensors' as one list, as in [a, b].",
    ),
    (
        lambda: ops.aten.einsum("...", [x, x]),
        TypeError,
        "aten::einsum: equation is '...', which names 1 tensor, and 2 are given",
    ),
    (
        lambda: nn.BCELoss()(x, x / 4),
        ValueError,
        f"aten::binary_cross_entropy: self has the element 4.{PROBABILITIES}",
    ),
    (
        lambda: nn.BCELoss()(x / 4, -x),
        ValueError,
        f"aten::binary_cross_entropy: target has the element -4.{PROBABILITIES}",
    ),
    (
        lambda: nn.BCELoss()(x * float("nan"), x / 4),
        ValueError,
        f"aten::binary_cross_entropy: self has the element nan{PROBABILITIES}",
    ),
    (
        lambda: opyard.SymInt(a=1),
        TypeError,
        "SymInt() has no argument 'a'. Its arguments are: node",
    ),
    (
        lambda: opyard.SymFloat(3.0),
        TypeError,
        "SymFloat: node must be an object that computes with symbols, not 3.0; operators take "
        "plain numbers as they are, and give one of these for the size of a tensor whose sizes "
        "are symbols",
    ),
    (
        lambda: jit.compile(jit.parse_ir(MISSPELT)),
        ValueError,
        "%1 = prim::Constnt (stage 0, <graph>:2:3) has an attribute 'value', and there is no kind "
        "of node or operator 'prim::Constnt'; 'prim::Constant' may be meant",
    ),
    (
        lambda: jit.compile(jit.parse_ir(MISSPELT.replace("Constnt[value=1]", "ListConstrct"))),
        ValueError,
        "%1 = prim::ListConstrct (stage 0, <graph>:2:3): there is no operator "
        "'prim::ListConstrct'; 'prim::ListConstruct' may be meant",
    ),
]
MISSPELT = "graph(%x : Tensor):\n  %1 : int = prim::Constnt[value=1]()\n  return (%1)\n"


OPERANDS = [
    (
        lambda: ops.aten.cat(x, 0),
        "aten::cat() Expected a value of type 'Tensor[]' for argument 'tensors' but instead "
        "found type 'opyard.Tensor'.\n"
        "Position: 0\n"
        "Value: tensor([[1., 2.],\n"
        "        [3., 4.]])\n"
        "Declaration: aten::cat(Tensor[] tensors, int dim=0) -> Tensor\n"
        "A list of Tensors is wanted, from opyard.tensor() say, or of arrays of NumPy, PyTorch or "
        "what else has __dlpack__.",
    ),
    (
        lambda: ops.aten.cat([x, 1], 0),
        "aten::cat() Expected a value of type 'Tensor[]' for argument 'tensors' but instead "
        "found type 'list'.\n"
        "Position: 0\n"
        "Value: [tensor([[1., 2.],\n"
        "        [3., 4.]]), 1]\n"
        "Declaration: aten::cat(Tensor[] tensors, int dim=0) -> Tensor\n"
        "Cast error details: tensors[1] is of type 'int', where 'Tensor' is expected",
    ),
    (
        lambda: ops.aten.zeros([2], dtype="flot32"),
        "aten::zeros() Expected a value of type 'ScalarType?' for argument 'dtype' but instead "
        "found type 'str'.\n"
        "Position: 1\n"
        "Value: 'flot32'\n"
        "Declaration: aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None) -> Tensor\n"
        "A dtype is wanted such as opyard.float32, of NumPy or of PyTorch, or of the classes "
        "float, int, bool and complex.",
    ),
]


@pytest.mark.parametrize(("line", "message"), OPERANDS)
def test_operands_that_are_none_are_refused_with_what_is_taken(line, message):
    check(line, TypeError, message)


@pytest.mark.parametrize(("line", "kind", "message"), VALUES)
def test_values_that_fit_nothing_are_refused_with_what_to_write(line, kind, message):
    check(line, kind, message)


def test_classes_of_users_may_have_data_of_their_own():
    class Defining(opyard.Tensor):
        data = None

    for cls in (Defining, Own):
        own = opyard.Tensor.make_subclass(cls, opyard.zeros(1))
        own.data = x
        assert own.data is x


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


VALUES = [
    (
        lambda: opcheck("aten::relu", x),
        "opcheck: args must be a tuple or a list of the arguments of aten::relu, as in (x,), not "
        "an object of Tensor",
    ),
    (
        lambda: optim.Adam([nn.Parameter(x)]).step(3),
        "Adam.step: closure must be a function that computes the loss, or None, not 3",
    ),
    (
        lambda: nn.Linear(2, 2).apply(3),
        "Linear.apply: fn must be a function that takes a module, not 3",
    ),
    (
        lambda: futures.wait_all(3),
        "wait_all: futures must hold Futures, as a list, not an object of int",
    ),
    (lambda: opyard.manual_seed("a"), "manual_seed: the seed must be an int, not 'a'"),
    (lambda: opyard.manual_seed(1.5), "manual_seed: the seed must be an int, not 1.5"),
    (lambda: opyard.Generator().manual_seed("a"), "manual_seed: the seed must be an int, not 'a'"),
    (
        lambda: profiler.profile(activities=["gpu"]),
        "profile: activities must be a list of members of opyard.profiler.ProfilerActivity, not "
        "['gpu']",
    ),
    (lambda: opyard.set_grad_enabled("a"), "set_grad_enabled: mode must be True or False, not 'a'"),
    (lambda: opyard.autocast("cpu", "a"), "autocast: enabled must be True or False, not 'a'"),
]


@pytest.mark.parametrize(("line", "message"), VALUES)
def test_values_of_the_wrong_type_are_refused_by_name(line, message):
    check(line, TypeError, message)
    assert autograd.is_grad_enabled()


def test_a_table_has_a_number_of_rows():
    with profiler.profile() as prof:
        sum([1, 2])
    check(
        lambda: prof.key_averages().table(row_limit="a"),
        TypeError,
        "key_averages().table(): row_limit must be an int, -1 for all, not 'a'",
    )


class Mode(DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        return op(*args, **kwargs or {})


class Own(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return NotImplemented


def handler_of_two():
    class Narrow(DispatchMode):
        def __opyard_dispatch__(self, op):
            return op


KERNEL = (
    "mistaken_graph::f: the kernel takes 0 arguments of the operator, and a call gives it at least "
    "1; the schema is mistaken_graph::f(Tensor x) -> Tensor"
)
FUNCTIONS = [
    (lambda op: op.py_impl(Own)(lambda: 1), KERNEL),
    (lambda op: op.py_impl(Mode)(lambda mode: 1), KERNEL),
    (lambda op: op.py_impl("CPU")(lambda: 1), KERNEL),
    (
        lambda op: register_opyard_dispatch(op, Mode, lambda x: 1),
        "register_opyard_dispatch: mistaken_graph::f: the rule takes 1 argument, and gets 5: the "
        "mode or the class, op, types, args, kwargs",
    ),
    (
        lambda op: handler_of_two(),
        "Narrow: the handler __opyard_dispatch__ takes 2 arguments, and gets 5: self, op, types, "
        "args, kwargs",
    ),
    (
        lambda op: register_autograd(op, lambda ctx: 1),
        "register_autograd: mistaken_graph::f: backward takes 1 argument, and gets 2: ctx, the "
        "gradient",
    ),
    (
        lambda op: register_autograd(op, lambda ctx, first, second: 1),
        "register_autograd: mistaken_graph::f: backward needs 3 arguments, and gets 2: ctx, the "
        "gradient",
    ),
    (
        lambda op: register_autograd(op, lambda ctx, g: g, setup_context=lambda ctx: 1),
        "register_autograd: mistaken_graph::f: setup_context takes 1 argument, and gets 3: ctx, "
        "inputs, output",
    ),
]


@pytest.mark.parametrize(("register", "message"), FUNCTIONS)
def test_functions_that_no_call_fits_are_refused_when_they_are_registered(
    operator, register, message
):
    check(lambda: register(operator.op), TypeError, message)
    assert operator(x).tolist() == (x + 1).tolist()


def test_functions_that_take_more_by_choice_are_taken(operator):
    operator.op.py_impl(Own)(lambda *args, **kwargs: "any")
    register_opyard_dispatch(operator, Mode, lambda *given: NotImplemented)
    register_autograd(operator, lambda ctx, *grads: grads, setup_context=lambda *given: None)


# paths and functions ----------------------------------------------------------------------

TRACED = jit.trace(lambda x: x * 2, x)
PATHS = {
    "load_library": opyard.load_library,
    "unload_library": opyard.unload_library,
    "load": opyard.load,
    "load of jit": jit.load,
    "save": lambda path: opyard.save({}, path),
    "save of jit": lambda path: jit.save(TRACED.graph, path),
    "load_operators": load_operators,
    "impl_c": lambda path: Library("mistaken_paths", "FRAGMENT").impl_c("f", path, "f"),
    "export": lambda path: captured().export(path),
    "export of chrome": lambda path: captured().export_chrome_trace(path),
    "flight_recorder": lambda path: profiler.flight_recorder(path=path),
}


def captured():
    with profiler.profile() as prof:
        pass
    return prof


@pytest.mark.parametrize("function", PATHS)
@pytest.mark.parametrize(("wrong", "what"), [(3, "an object of int"), ([], "an object of list")])
def test_what_is_no_path_is_refused_with_the_name_of_the_function(function, wrong, what):
    check(
        lambda: PATHS[function](wrong),
        TypeError,
        f"{function.partition(' ')[0]}: path must be a str, bytes or os.PathLike object, not "
        f"{what}",
    )


@pytest.mark.parametrize(
    ("name", "call"),
    [
        *((each, getattr(autograd.functional, each)) for each in autograd.functional.__all__),
        ("jvp", lambda func, x: autograd.forward_ad.jvp(func, x, x)),
        ("gradcheck", autograd.gradcheck),
        ("gradgradcheck", autograd.gradgradcheck),
    ],
)
def test_what_is_no_function_is_refused_before_all_else(name, call):
    message = f"{name}: func must be a function, not an object of int"
    check(lambda: call(3, x), autograd.GradientTypeError, message)


OTHERS = [
    (
        lambda: jit.save(TRACED, "model.safetensors"),
        TypeError,
        "save() takes a Model or a Graph, not TracedFunction; save its graph",
    ),
    (
        lambda: nn.Sequential(nn.ReLU())["a"],
        TypeError,
        "Sequential: an index must be an int, not an object of str",
    ),
    (
        lambda: nn.ModuleList([nn.ReLU()])[1.5],
        TypeError,
        "ModuleList: an index must be an int, not an object of float",
    ),
    (
        lambda: profiler.profile(include=3),
        TypeError,
        "include takes names of modules, beginnings of file names and shell patterns, not 3",
    ),
    (
        lambda: profiler.profile(activities=3),
        TypeError,
        "profile: activities must be a list of members of opyard.profiler.ProfilerActivity, not 3",
    ),
    (
        lambda: profiler.profile(min_duration="a"),
        ValueError,
        "min_duration must be a number of microseconds, not 'a'",
    ),
    (
        lambda: profiler.tensorboard_trace_handler(3),
        TypeError,
        "tensorboard_trace_handler: dir_name must be a str, bytes or os.PathLike object, not an "
        "object of int",
    ),
    (
        lambda: captured().key_averages(group_by_stack_n="a"),
        TypeError,
        "key_averages: group_by_stack_n must be an int, not an object of str",
    ),
    (
        lambda: remote.session("pipes", worker=2),
        TypeError,
        "session() has no argument 'worker'; 'workers' may be meant. Its arguments are: engine, "
        "workers, address, timeout, start_timeout, send_plugins, setup, threads, retry, python, "
        "env, loses",
    ),
]


@pytest.mark.parametrize(("line", "kind", "message"), OTHERS)
def test_other_arguments_are_refused_with_their_names(line, kind, message):
    check(line, kind, message)
