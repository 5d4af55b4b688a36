"""Protects completion, help() and inspect: operators, methods and late names.

Suspect operators/packet.cpp, opyard/_tensor/methods.py, and __dir__ of the module that is named.
"""

import importlib
import inspect
import pydoc
import rlcompleter
import sys

import pytest

import opyard


def helped(thing):
    return pydoc.plain(pydoc.render_doc(thing))


@pytest.fixture
def y():
    return opyard.tensor([1.0, 2.0])


def test_help_of_a_method_that_is_an_operator(y):
    text = helped(y.sum)
    assert "sum(" in text and "aten::sum(Tensor self" in text
    assert "aten::sum" in helped(opyard.ops.aten.sum)
    assert "sum" in helped(opyard.Tensor.sum)
    assert "relu" in helped(opyard.ops.aten.relu.default)


def test_names_of_operators_are_python_names(y):
    assert (y.sum.__name__, opyard.ops.aten.sum.__name__) == ("sum", "sum")
    assert opyard.ops.aten.sum.__module__ == "opyard.ops.aten"
    assert opyard.ops.aten.add.Tensor.__name__ == "add.Tensor"
    assert opyard.ops.aten.relu.default.__name__ == "relu.default"
    assert opyard.ops.aten.add.Tensor.op is opyard.ops.aten.add.Tensor
    with pytest.raises(AttributeError, match="has no attribute '__wrapped__'"):
        _ = opyard.ops.aten.sum.__wrapped__
    with pytest.raises(AttributeError, match="has no overload name 'nope'"):
        _ = opyard.ops.aten.sum.nope


def test_an_operator_says_whether_python_defines_it(define):
    assert not opyard.ops.aten.relu.default._defined_in_python
    assert define("told(Tensor x) -> Tensor").default._defined_in_python


def test_dir_of_a_tensor_shows_operators(y):
    names = dir(y)
    assert {"sum", "mean", "reshape", "shape", "item", "float"} <= set(names)
    assert names == sorted(set(names))
    y.note = 1
    assert "note" in dir(y)


TENSORS = {
    "vector": lambda: opyard.zeros(3),
    "number": lambda: opyard.tensor(1),
    "matrix": lambda: opyard.zeros(2, 2),
    "complex": lambda: opyard.tensor([1j]),
    "meta": lambda: opyard.zeros(2, device="meta"),
    "leaf": lambda: opyard.zeros(2, requires_grad=True),
}


@pytest.mark.filterwarnings("ignore:.*the gradient of a tensor that is no leaf")
@pytest.mark.parametrize("kind", TENSORS)
def test_all_that_dir_of_a_tensor_shows_can_be_read(kind):
    made = TENSORS[kind]()
    found = dict(inspect.getmembers(made))  # which ends at errors that are no AttributeError
    assert set(found) >= set(dir(made))
    assert ("mT" in found, "mH" in found) == (made.dim() >= 2,) * 2
    assert ("imag" in found) == made.is_complex()


@pytest.mark.parametrize("kind", TENSORS)
def test_a_shell_completes_names_of_a_tensor(kind):
    """As of Python: by dir() of the object and of its class, of which it reads each attribute."""
    completer = rlcompleter.Completer({"opyard": opyard, "x": TENSORS[kind]()})
    first = completer.complete("x.", 0)
    assert first is not None
    shown = {match.rstrip("()").removeprefix("x.") for match in completer.matches}
    assert {"sum", "reshape", "shape", "mT", "imag", "backward", "numpy"} <= shown
    completer.complete("x.resh", 0)
    assert completer.matches[0].startswith("x.reshape")
    for text, found in [
        ("opyard.ops.aten.relu", "opyard.ops.aten.relu6("),
        ("opyard.nn.Line", "opyard.nn.Linear("),
        ("opyard.zer", "opyard.zeros("),
    ]:
        completer.complete(text, 0)
        assert found in completer.matches


def test_attributes_that_some_tensors_do_not_have_are_properties():
    """Which completion does not read. Their functions refuse what is no tensor."""
    for name in ("mT", "mH", "imag"):
        attribute = opyard.Tensor.__dict__[name]
        assert isinstance(attribute, property) and attribute.__doc__
        with pytest.raises(TypeError, match="doesn't apply to"):
            attribute.fget(3)
    made = opyard.tensor([1 + 2j])
    made.imag = 5
    assert made.tolist() == [1 + 5j]
    with pytest.raises(AttributeError, match="mT"):
        made.mT = made
    with pytest.raises(TypeError, match="cannot be deleted"):
        del made.imag
    with pytest.raises(ValueError, match="at least 2 dimensions are needed"):
        _ = made.mT


def test_dir_of_a_packet_shows_its_overloads():
    assert {"Tensor", "overloads", "qualified_name"} <= set(dir(opyard.ops.aten.add))


def test_signatures_of_methods_leave_self_out(y):
    parameters = inspect.signature(y.softmax).parameters
    assert "self" not in parameters and "dim" in parameters


@pytest.mark.parametrize("module", ["opyard", "opyard.library", "opyard.dispatch", "opyard.jit"])
def test_dir_and_help_of_a_module_have_all_of_its_names(module):
    found = importlib.import_module(module)
    assert set(found.__all__) <= set(dir(found))
    text = helped(found)
    for name in found.__all__:
        if inspect.ismodule(getattr(found, name)):
            continue  # help() leaves those out
        assert name in text or name == "__version__"  # which help calls VERSION


MODULES = [
    *(
        "autograd",
        "dispatch",
        "futures",
        "gpu_trace",
        "jit",
        "jit.passes",
        "library",
        "memory",
        "nn",
    ),
    *("optim", "profiler", "schema", "testing"),
]


def module_called(name):
    return opyard.jit.passes if name == "jit.passes" else importlib.import_module(f"opyard.{name}")


def is_of_python(member):
    """Whether Python has it from a class that Opyard only derives from, such as str."""
    return getattr(member, "__objclass__", None) in (int, str, BaseException)


@pytest.mark.parametrize("module", MODULES)
def test_every_function_and_method_has_help_and_a_signature_and_dir_shows_only_public_names(module):
    found = module_called(module)
    assert {name for name in dir(found) if not name.startswith("_")} == set(found.__all__)
    for name in found.__all__:
        member = getattr(found, name)
        if inspect.ismodule(member):
            continue
        assert name in helped(member)
        if not isinstance(member, type):
            if callable(member):
                assert inspect.getdoc(member), name
                inspect.signature(member)
            continue
        assert inspect.getdoc(member), name
        if not issubclass(member, Exception):  # which Python itself cannot say
            has_signature_or_refuses(member)
        for attribute in dir(member):
            value = getattr(member, attribute)
            if attribute.startswith("_") or not callable(value) or is_of_python(value):
                continue
            if attribute == "maketrans" or isinstance(value, type):
                continue
            assert inspect.getdoc(value), f"{name}.{attribute}"
            inspect.signature(value)


def has_signature_or_refuses(cls):
    """A class has a signature, or it says when it is called that it makes no objects."""
    try:
        inspect.signature(cls)
    except ValueError:
        if sys.version_info < (3, 11) and type(cls.__init__).__name__ == "instancemethod":
            return  # pybind11's: CPython 3.10 does not look for a signature there
        with pytest.raises(TypeError, match="cannot create|is not called|are not made"):
            cls()


def test_what_the_package_itself_offers_has_help_and_signatures():
    for name in opyard.__all__:
        member = getattr(opyard, name)
        if callable(member):
            assert name.rpartition(".")[2] in helped(member)
            assert inspect.getdoc(member), name
            if isinstance(member, type):
                has_signature_or_refuses(member)
            else:
                inspect.signature(member)


def test_signatures_have_names_and_defaults():
    def shown(thing):
        return str(inspect.signature(thing))

    assert shown(opyard.jit.Graph.create) == "(self, kind, inputs=[], outputs=1)"
    assert shown(opyard.jit.Graph().create) == "(kind, inputs=[], outputs=1)"
    assert shown(opyard.jit.Node.insert_input) == "(self, index, value)"
    assert shown(opyard.jit.InterpreterState.load) == "(code, bytes)"
    assert shown(opyard.jit.Code) == "(graph)"
    assert shown(opyard.futures.Future().wait) == "(timeout=None)"
    assert shown(opyard.dispatch.DispatchKeySet.has) == "(self, key, /)"


def test_a_class_attribute_that_is_no_operator_raises():
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = opyard.Tensor.no_such_thing
    assert not hasattr(opyard.Tensor, "__no_such_thing__")


def test_data_is_not_assigned_which_would_change_nothing():
    x, p = opyard.ones(2), opyard.nn.Parameter(opyard.ones(2))
    for tensor in (x, p):
        with pytest.raises(AttributeError, match=r"data cannot be .* x\.copy_\(other\) writes"):
            tensor.data = opyard.zeros(2)
        assert tensor.tolist() == [1.0, 1.0] and not hasattr(tensor, "data")
    x.other = 3
    assert vars(x) == {"other": 3}

    class Held(opyard.Tensor):
        data = None

    held = x.as_subclass(Held)
    held.data = 4
    assert held.data == 4


def test_namespaces_can_be_looked_at_without_running_code():
    """As completion by jedi does in IPython, which asks each name of dir() for its attribute."""
    space = opyard.ops.aten
    assert "add" in dir(space)
    assert inspect.getattr_static(space, "no_such_operator", None) is None
    assert inspect.getattr_static(space, "add", None) in (None, space.add)
    space.__dict__["looked_at"] = 1
    assert "looked_at" not in dir(space) and not hasattr(space, "looked_at")
