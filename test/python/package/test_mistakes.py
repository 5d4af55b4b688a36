"""test_mistakes.py: error messages of common mistakes.

Each row is a line of a program, the kind of the error and its whole message. Suspect what the
message speaks of: names of the package in _core/ops.py, classes in _nn/keywords.py, kernels in
_library/kernel_signature.py, calls in operators/mismatch.cpp, results in kernels/results.cpp.
"""

import importlib
import re

import pytest

import opyard
from opyard import autograd, jit, nn, ops, optim
from opyard.library import Library, custom_op, override, register_fake

pytestmark = pytest.mark.once

x = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
SCHEMA = "mistakes::f(Tensor x, int n=1, *, float scale) -> Tensor"


def implement(kernel, **options):
    with Library("mistakes", "FRAGMENT") as library:
        library.define(SCHEMA.partition("::")[2])
        library.impl("f", kernel, "CPU", **options)


def cover(kernel):
    with Library("mistakes", "FRAGMENT") as library:
        library.define(SCHEMA.partition("::")[2])
        with override("mistakes::f", "CPU", kernel, with_next=True):
            pass


class Kernels:
    def two(self, x):
        return x


NAMES = [
    (
        lambda: opyard.sum,
        AttributeError,
        "module 'opyard' has no attribute 'sum'; it is an operator: opyard.ops.aten.sum, or x.sum()"
        " of a tensor x",
    ),
    (
        lambda: opyard.einsum,
        AttributeError,
        "module 'opyard' has no attribute 'einsum'; it is an operator: opyard.ops.aten.einsum",
    ),
    (
        lambda: opyard.mT,
        AttributeError,
        "module 'opyard' has no attribute 'mT'; it is an attribute of tensors: x.mT",
    ),
    (lambda: opyard.numpyy, AttributeError, "module 'opyard' has no attribute 'numpyy'"),
    (
        lambda: ops.no_such_library.nms,
        AttributeError,
        "'_OpNamespace' 'no_such_library' object has no attribute 'nms': no library defines "
        "operators of no_such_library; load one with opyard.load_library(path), or import the "
        "package that has it",
    ),
    (
        lambda: Library("mistakes", "IMPL").define("f() -> ()"),
        RuntimeError,
        'def("f() -> ()"): Cannot define an operator inside of Library("mistakes", "IMPL"), which '
        'registers kernels only; define it in Library("mistakes", "FRAGMENT")',
    ),
]

KEYWORDS = [
    (
        lambda: opyard.tensor([1.0], requiers_grad=True),
        TypeError,
        "tensor() has no argument 'requiers_grad'; 'requires_grad' may be meant. Its arguments "
        "are: data, dtype, device, requires_grad",
    ),
    (
        lambda: opyard.futures.Future(device="cpu"),
        TypeError,
        "Future() has no argument 'device'; 'devices' may be meant. Its arguments are: devices",
    ),
    (
        lambda: optim.SGD([x], learning_rate=0.1),
        TypeError,
        "SGD has no argument 'learning_rate'; 'lr' may be meant. Its arguments are: params, lr, "
        "momentum, dampening, weight_decay, nesterov, maximize",
    ),
    (
        lambda: nn.Linear(2, 2, biass=True),
        TypeError,
        "Linear has no argument 'biass'; 'bias' may be meant. Its arguments are: in_features, "
        "out_features, bias, device, dtype",
    ),
    (
        lambda: nn.Tanh(zzz=True),
        TypeError,
        "Tanh has no argument 'zzz'. It takes none by name",
    ),
]

KERNELS = [
    (
        lambda: custom_op("mistakes::c", schema="(Tensor x, int n) -> Tensor", mutates_args=())(
            lambda x: x
        ),
        TypeError,
        "mistakes::c: the kernel takes 1 argument of the operator, and a call gives it at least 2; "
        "the schema is mistakes::c(Tensor x, int n) -> Tensor",
    ),
    (
        lambda: register_fake("aten::relu", lambda x, y: x, allow_override=True),
        TypeError,
        "aten::relu: the kernel needs 2 arguments of the operator, and a call gives it at most 1; "
        "the schema is aten::relu(Tensor self) -> Tensor",
    ),
    (
        lambda: implement(lambda: x),
        TypeError,
        "mistakes::f: the kernel takes 0 arguments of the operator, and a call gives it at least 1"
        f"; the schema is {SCHEMA}",
    ),
    (
        lambda: implement(lambda keys: x, with_keyset=True),
        TypeError,
        "mistakes::f: the kernel takes 0 arguments of the operator, and a call gives it at least 1"
        f"; the schema is {SCHEMA}",
    ),
    (
        lambda: implement(lambda: x, with_keyset=True),
        TypeError,
        "mistakes::f: the kernel takes 0 arguments, and gets 1 before those of the operator; the "
        f"schema is {SCHEMA}",
    ),
    (
        lambda: implement(lambda x, n, m: x),
        TypeError,
        "mistakes::f: the kernel needs 3 arguments of the operator, and a call gives it at most 2; "
        f"the schema is {SCHEMA}",
    ),
    (
        lambda: implement(lambda x, *, scale, other: x),
        TypeError,
        "mistakes::f: the kernel needs the keyword argument 'other', which no call gives it; the "
        f"schema is {SCHEMA}",
    ),
    (
        lambda: implement(lambda x, n=1: x),
        TypeError,
        "mistakes::f: the kernel does not take the keyword argument 'scale'; the schema is "
        f"{SCHEMA}",
    ),
    (
        lambda: implement(Kernels().two),
        TypeError,
        "mistakes::f: the kernel does not take the keyword argument 'scale'; the schema is "
        f"{SCHEMA}",
    ),
    (
        lambda: cover(lambda call_next: x),
        TypeError,
        "mistakes::f: the kernel takes 0 arguments of the operator, and a call gives it at least 1"
        f"; the schema is {SCHEMA}",
    ),
]


CALLS = [
    (
        lambda: x.to("gpu"),
        TypeError,
        "aten::to() cannot take what was given for argument 'device', a value of type 'str': "
        "'gpu' names no device; write a backend and an index where it needs one, as in 'cpu' "
        "or 'cuda:1'. The backends are cpu, cuda, xla, meta, lazy and those that no plugin "
        "has named.\n"
        "Declaration: aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, "
        "bool non_blocking=False, bool copy=False) -> Tensor(a)\n"
        "Overloaded operator invoked from Python failed to match any schema; the others are "
        "dtype, device and dtype_layout.",
    ),
    (
        lambda: ops.aten.add(x, "a"),
        TypeError,
        "aten::add() Expected a value of type 'Tensor' or 'Scalar' for argument 'other' but "
        "instead found type 'str'.\n"
        "Value: 'a'\n"
        "Declaration: aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> "
        "Tensor\n"
        "Overloaded operator invoked from Python failed to match any schema; the others are "
        "Scalar and out.",
    ),
    (
        lambda: ops.aten.add([1], x),
        TypeError,
        "aten::add() Expected a value of type 'Tensor' for argument 'self' but instead found "
        "type 'list'.\n"
        "Value: [1]\n"
        "Declaration: aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> "
        "Tensor\n"
        "A Tensor is wanted, from opyard.tensor() say, or an array of NumPy, PyTorch or what else "
        "has __dlpack__.\n"
        "Overloaded operator invoked from Python failed to match any schema; the others are "
        "Scalar and out.",
    ),
    (
        lambda: ops.aten.mm(x),
        TypeError,
        "aten::mm() is missing value for argument 'mat2'.\n"
        "Declaration: aten::mm(Tensor self, Tensor mat2) -> Tensor\n"
        "Overloaded operator invoked from Python failed to match any schema; the other is out.",
    ),
    (
        lambda: ops.aten.mm(x, x, x),
        TypeError,
        "aten::mm() takes 2 positional argument(s) but 3 was/were given.\n"
        "Declaration: aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)\n"
        "Give the others by name: out.\n"
        "Overloaded operator invoked from Python failed to match any schema; the other is default.",
    ),
    (
        lambda: ops.aten.clamp(x, mni=0),
        TypeError,
        "Unknown keyword argument 'mni' for operator 'aten::clamp'.\n"
        "Declaration: aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor\n"
        "'min' may be meant.\n"
        "Overloaded operator invoked from Python failed to match any schema; the other is "
        "Tensor.",
    ),
    (
        lambda: ops.aten.sum(x, axis=0),
        TypeError,
        "aten::sum() is missing value for argument 'dim'.\n"
        "Declaration: aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
        "ScalarType? dtype=None) -> Tensor\n"
        "'axis' is called 'dim' here.\n"
        "Overloaded operator invoked from Python failed to match any schema; the other is "
        "default.",
    ),
    (
        lambda: ops.aten.relu(x, N=2),
        TypeError,
        "Unknown keyword argument 'N' for operator 'aten::relu'. Schema: aten::relu(Tensor "
        "self) -> Tensor",
    ),
    (
        lambda: ops.aten.softmax(x),
        TypeError,
        "aten::softmax() is missing value for argument 'dim'. Declaration: "
        "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    ),
]

LOOK_UPS = [
    (
        lambda: ops.aten.rellu,
        AttributeError,
        "'_OpNamespace' 'aten' object has no attribute 'rellu'; 'relu' may be meant",
    ),
    (
        lambda: ops.aten.add.Tensr,
        AttributeError,
        "The underlying op of 'aten.add' has no overload name 'Tensr'; 'Tensor' may be meant",
    ),
    (
        lambda: ops.fastboxes.nms,
        AttributeError,
        "'_OpNamespace' 'fastboxes' object has no attribute 'nms': no library defines "
        "operators of fastboxes; load one with opyard.load_library(path), or import the "
        "package that has it",
    ),
    (
        lambda: opyard.flaot32,
        AttributeError,
        "module 'opyard' has no attribute 'flaot32'; 'float32' may be meant",
    ),
    (
        lambda: opyard.dispatch.explain("aten::rellu", x),
        LookupError,
        "operator aten::rellu does not exist; 'relu' may be meant",
    ),
    (
        lambda: override("aten::rellu", "CPU", len).remove(),
        LookupError,
        "operator aten::rellu does not exist; 'relu' may be meant",
    ),
    (
        lambda: override("aten::relu", "GPU", len).remove(),
        LookupError,
        "could not parse dispatch key: GPU. A key is a name such as CPU, Meta, AutogradCPU "
        "or CompositeImplicitAutograd; a backend has keys once its plugin is loaded",
    ),
    (
        lambda: opyard.tensor([1], dtype="flaot32"),
        TypeError,
        "dtype is 'flaot32'; accepted are dtypes such as opyard.float32, those of NumPy in "
        "the byte order of this machine and of PyTorch, the classes float, int, bool and "
        "complex, and None",
    ),
    (
        lambda: opyard.zeros(3, device="gpu"),
        ValueError,
        "aten::zeros: argument 'device': 'gpu' names no device; write a backend and an index where "
        "it needs one, as in 'cpu' or 'cuda:1'. The backends are cpu, cuda, xla, meta, lazy and "
        "those that no plugin has named",
    ),
    (
        lambda: override("aten::relu", "AutogradCPP", len).remove(),
        LookupError,
        "could not parse dispatch key: AutogradCPP. Did you mean AutogradCPU?",
    ),
    (
        lambda: jit.parse_ir("graph(%x : Tensr):\n  return (%x)"),
        ValueError,
        "1:12: there is no type 'Tensr'; 'Tensor' may be meant\ngraph(%x : Tensr):\n"
        "           ^~~~~",
    ),
]

VALUES = [
    (
        lambda: opyard.device("float32"),
        ValueError,
        "'float32' names no device but a dtype; in Python that is given as opyard.float32",
    ),
    (
        lambda: x.sum(5),
        IndexError,
        "aten::sum.dim_IntList: dimension 5 is out of range for a tensor of 2 dimensions; "
        "accepted are -2 to 1",
    ),
    (
        lambda: x.view(3),
        ValueError,
        "aten::view: sizes [3] do not fit self, which has 4 elements; their product must be "
        "that number, and one of them may be -1 for what is left",
    ),
    (
        lambda: x + opyard.zeros(3),
        ValueError,
        "aten::add.Tensor: self is float32[2, 2] and other is float32[3], which do not "
        "broadcast: dimension -1 is 2 in one and 3 in the other, and must be equal or 1 in "
        "one of them",
    ),
    (
        lambda: x @ opyard.zeros(3, 2),
        ValueError,
        "aten::matmul: self is float32[2, 2] and other is float32[3, 2]; the last size of "
        "self must be the first size of other",
    ),
    (
        lambda: x["a"],
        TypeError,
        "a tensor cannot be indexed with a str; ints, slices, None, '...', and tensors, "
        "lists and arrays of bool or int are accepted",
    ),
    (
        lambda: bool(x),
        ValueError,
        "the truth of a tensor of 4 elements is not defined; ask for one element, or reduce "
        "with any() or all()",
    ),
    (
        lambda: x.item(),
        ValueError,
        "item: the tensor is float32[2, 2] with 4 elements; only a tensor of one element is "
        "a number",
    ),
    (
        lambda: nn.Linear(3, 2)(x),
        ValueError,
        "Linear: the last dimension of x must be 3 long, and x has the shape [2, 2]",
    ),
    (
        lambda: nn.LayerNorm(3)(x),
        ValueError,
        "LayerNorm: the last sizes of x must be [3], and x has the shape [2, 2]",
    ),
    (
        lambda: nn.Embedding(3, 2)(x),
        TypeError,
        "Embedding: indices must be int64 or int32, not opyard.float32",
    ),
    (
        lambda: nn.Dropout(1.5),
        ValueError,
        "Dropout: p must be a probability, from 0 to 1, not 1.5",
    ),
    (
        lambda: optim.SGD(x, lr=0.1),
        TypeError,
        "SGD: params is a list of tensors or of groups, not one Tensor",
    ),
    (
        lambda: optim.SGD([x], lr=-1),
        ValueError,
        "SGD: lr must be at least 0, not -1",
    ),
    (
        lambda: x.backward(),
        autograd.GradientError,
        "element 0 of tensors does not require grad and does not have a grad_fn. Call "
        "requires_grad_() on what it was computed from, with gradients on",
    ),
    (
        lambda: (x.detach().requires_grad_() * 2).backward(),
        autograd.GradientError,
        "grad can be implicitly created only for scalar outputs, and this one is float32[2, "
        "2]; give the gradient with which it begins",
    ),
]


def ends_alone():
    with Library("mistakes", "IMPL") as library:
        library.impl("never_defined", lambda x: x, "CPU")


RETURNS = [
    (
        lambda: give_nothing()(x),
        RuntimeError,
        "mistakes::nothing: the Python kernel registered at PLACE returned a value of type "
        "'NoneType' (is a return statement missing? A result that may be None is a 'Tensor?') for "
        "result 0, but the schema says 'Tensor'.\n"
        "Declaration: mistakes::nothing(Tensor x) -> Tensor",
    ),
    (
        ends_alone,
        UserWarning,
        "Library(kind=IMPL, ns=mistakes, dispatch_key=) ends, and no call could reach its kernels "
        "of mistakes::never_defined at CPU: no such operator is defined. Is a define() missing, or "
        "the library that has it?",
    ),
]


def give_nothing():
    library = Library("mistakes", "FRAGMENT")
    library.define("nothing(Tensor x) -> Tensor")
    library.impl("nothing", lambda x: None, "CPU")
    kept.append(library)
    return ops.mistakes.nothing


kept = []
ALL = [*NAMES, *KEYWORDS, *KERNELS, *CALLS, *LOOK_UPS, *VALUES, *RETURNS]


@pytest.mark.parametrize(("line", "kind", "message"), ALL)
def test_a_mistake_is_answered_with_what_to_do(line, kind, message):
    with pytest.raises(kind) as caught:
        line()
    said = str(caught.value).replace("lazy, remote and", "lazy and")  # if that is loaded
    assert re.sub(r"registered at \S+", "registered at PLACE", said) == message


def test_there_are_forty_of_them():
    assert len(ALL) >= 40


FITTING = [
    lambda *args, **kwargs: x,
    lambda x, *, scale: x,
    lambda x, n, scale: x,
    lambda x, n=1, *, scale=1.0, other=None: x,
    lambda x, n=1, extra=None, **kwargs: x,
    print,
    Kernels,
]


@pytest.mark.parametrize("kernel", FITTING)
def test_a_kernel_that_some_call_fits_is_taken(kernel):
    implement(kernel)


def test_a_kernel_before_its_definition_is_not_looked_at():
    with Library("mistakes", "IMPL") as library, Library("mistakes", "FRAGMENT") as definition:
        library.impl("later", lambda: x, "CPU")
        definition.define("later(Tensor x) -> Tensor")
        library._destroy()


def test_an_operator_that_was_defined_while_its_kernels_were_there_is_not_warned_of():
    with Library("mistakes", "IMPL") as kernels, Library("mistakes", "FRAGMENT") as library:
        library.define("defined_inside(Tensor x) -> Tensor")
        kernels.impl("defined_inside", lambda x: x + 1, "CPU")
        assert ops.mistakes.defined_inside(x).tolist() == [[2.0, 3.0], [4.0, 5.0]]


def test_a_class_of_a_user_that_takes_any_keyword_takes_it():
    class Net(nn.Module):
        def __init__(self, **sizes):
            super().__init__()
            self.sizes = sizes

    assert Net(hidden=3).sizes == {"hidden": 3}


def test_asking_whether_the_package_has_a_name_loads_nothing(run_program):
    done = run_program(
        """
        import opyard
        before = opyard.loaded_libraries()
        assert not hasattr(opyard, "no_such") and getattr(opyard, "\\udc80", 5) == 5
        assert opyard.loaded_libraries() == before
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_classes_of_users_are_made_as_python_makes_them():
    class Single:
        made = None

        def __new__(cls, *args, **kwargs):
            cls.made = cls.made or super().__new__(cls)
            return cls.made

    class Shared(nn.Module, Single):
        pass

    class Named(nn.Module, dict):
        def __init__(self, cls):
            super().__init__()
            self.kind = cls

    assert Shared() is Shared()
    assert Named(cls=3).kind == 3
    with pytest.raises(TypeError, match="has no argument 'size'. It takes none by name"):
        Shared(size=3)


RELOADED = """
from opyard.library import Library
lib = Library("mistakes_reloaded", "FRAGMENT")
lib.impl("f", lambda {parameters}: x, "CPU")
lib.define("f({schema}) -> Tensor")
"""


def test_a_reload_may_change_kernel_and_schema_in_either_order(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "mistakes_reloaded.py"
    file.write_text(RELOADED.format(parameters="x", schema="Tensor x"))
    module = importlib.import_module("mistakes_reloaded")
    file.write_text(RELOADED.format(parameters="x, n", schema="Tensor x, int n") + "# longer")
    importlib.reload(module)
    assert "int n" in ops.mistakes_reloaded.f.default.declaration


READ = [
    "f() -> ()",
    'f(Tensor(a!) self, int[2] dims=[0, 1], *, str s="a, (\\"b=", Dict(str, int) d) -> Tensor(a!)',
    "f(Tensor(a -> *) x, (int, float)[] y, Tensor? z=None, ...) -> (int, Tensor)",
    "f.out(Tensor x, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
]


@pytest.mark.parametrize("text", READ)
def test_arguments_are_read_as_the_parser_of_schemas_reads_them(text):
    from opyard._library.kernel_signature import _arguments

    schema = opyard.schema.parse(text)
    known = [(one.name, one.has_default_value(), one.kwarg_only) for one in schema.arguments]
    read = [tuple(one) for one in _arguments(str(schema)) if one.name != "..."]
    assert read == known


def test_the_arguments_of_every_operator_are_read_so():
    from opyard._library.kernel_signature import _arguments

    for name in opyard.dispatch.operator_names():
        base, _, overload = name.partition(".")
        namespace, _, base = base.partition("::")
        op = getattr(getattr(getattr(ops, namespace), base), overload or "default")
        known = [(a.name, a.has_default_value(), a.kwarg_only) for a in op._schema.arguments]
        assert [tuple(a) for a in _arguments(op.declaration) if a.name != "..."] == known, name
