"""test_mistakes.py: error messages of common mistakes.

Each row is a line of a program, the kind of the error and its whole message. Suspect what the
message speaks of: names of the package in _core/ops.py, classes in _nn/keywords.py, kernels in
_library/kernel_signature.py.
"""

import importlib

import pytest

import opyard
from opyard import nn, ops, optim
from opyard.library import Library, override

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
        lambda: optim.SGD([x], learning_rate=0.1),
        TypeError,
        "SGD has no argument 'learning_rate'; 'lr' may be meant. Its arguments are: params, lr, "
        "momentum, dampening, weight_decay, nesterov, maximize",
    ),
    (
        lambda: nn.Linear(2, 2, biass=True),
        TypeError,
        "Linear has no argument 'biass'; 'bias' may be meant. Its arguments are: in_features, "
        "out_features, bias",
    ),
    (
        lambda: nn.ReLU(zzz=True),
        TypeError,
        "ReLU has no argument 'zzz'. It takes none by name",
    ),
]

KERNELS = [
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


@pytest.mark.parametrize(("line", "kind", "message"), [*NAMES, *KEYWORDS, *KERNELS])
def test_a_mistake_is_answered_with_what_to_do(line, kind, message):
    with pytest.raises(kind) as caught:
        line()
    assert str(caught.value) == message


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
    with Library("mistakes", "IMPL") as library:
        library.impl("later", lambda: x, "CPU")


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
