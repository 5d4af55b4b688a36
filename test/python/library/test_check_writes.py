"""test_check_writes.py: undeclared writes and aliases are found in the calls of a program.

Suspect opyard/_library/check_writes.py, declared.py.
"""

import warnings

import pytest

import opyard
from opyard.dispatch import check_writes
from opyard.library import OpCheckError


def write(x):
    x[0] = 9.0


@pytest.fixture
def writes(define):
    return define("f(Tensor x) -> ()", CPU=write)


@pytest.fixture
def gives_back(define):
    return define("g(Tensor x, Tensor y) -> Tensor", CPU=lambda x, y: y[1:])


def test_X25_a_write_that_the_schema_does_not_say_is_found(writes, x):
    with check_writes(), pytest.raises(OpCheckError) as caught:
        writes(x)
    assert str(caught.value) == (
        f"{writes.qualified_name}: a call did what its schema does not say: Argument x is not "
        "defined as mutable but was mutated; write it as Tensor(a!) in the schema, or work on a "
        f"copy\nDeclaration: {writes.default.declaration}"
    )


def test_X25_an_alias_that_the_schema_does_not_say_is_found(gives_back, x):
    with check_writes(), pytest.raises(OpCheckError, match="Argument y is not defined to alias"):
        gives_back(x, opyard.ones(3))
    with (
        check_writes(),
        pytest.raises(OpCheckError, match="  - Argument y is not defined to alias"),
    ):
        gives_back(x, x)


def test_X25_what_the_schema_says_is_no_fault(define, x):
    f = define("f(Tensor(a!) x, Tensor y, *, Tensor(b!) out) -> Tensor(a!)",
               CPU=lambda x, y, *, out: write(x) or write(out) or x)  # fmt: skip
    with check_writes():
        assert f(x, x.clone(), out=x.clone()) is x
        assert (x + x).tolist() == [18.0, 4.0, 6.0]
        x.add_(1.0)
        x.transpose(0, 0)[1:].mul_(2.0)
    assert x.tolist() == [10.0, 6.0, 8.0]


def test_X25_operators_in_cpp_and_arrays_are_looked_at_too(x):
    numpy = pytest.importorskip("numpy")
    add = opyard.ops.aten.add.Tensor
    with check_writes():
        add(x, x)
        add(numpy.ones(2), numpy.ones(2))
    undeclared = opyard.library.override(add, "CPU", lambda x, y, *, alpha=1: x.add_(y))
    with undeclared, check_writes(), pytest.raises(OpCheckError, match="Argument self is not"):
        add(x, opyard.ones(3))


def test_X25_writes_to_large_tensors_are_counted(define):
    large = opyard.zeros(100)
    f = define("f(Tensor x) -> ()", CPU=lambda x: [x.add_(0.0), None][1])
    with check_writes(most_bytes=8), pytest.raises(OpCheckError, match="Argument x is not defined"):
        f(large)


def test_X25_of_each_operator_the_first_call_and_each_nth_are_looked_at(writes, gives_back, x):
    with check_writes(sample=3):
        for count in range(7):
            if count % 3 == 0:
                with pytest.raises(OpCheckError):
                    writes(x)
            else:
                writes(x)
            x[0] = float(count)
            if count == 1:
                with pytest.raises(OpCheckError):
                    gives_back(x, x)
    with pytest.raises(ValueError, match="sample is 0; 1 looks at every call, 100 at each 100th"):
        check_writes(sample=0)


def test_X25_a_warning_lets_the_program_go_on_and_comes_once(writes, x):
    with check_writes(warn=True), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for count in range(3):
            x[0] = float(count)
            writes(x)
    assert [str(each.message).partition(": ")[2][:40] for each in seen] == [
        "Argument x is not defined as mutable but"
    ]
    assert seen[0].filename == __file__


def test_X25_wrapper_subclasses_and_meta_tensors_pass(define, x):
    class Wrapper(opyard.Tensor):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return opyard.tensor([1.0])

    wrapper = Wrapper.make_wrapper_subclass(Wrapper, (3,))
    meta = opyard.empty(3, device="meta")
    with check_writes():
        assert (wrapper + 1).tolist() == [1.0]
        assert meta.reshape(1, 3).shape == (1, 3)


def test_what_is_registered_can_be_asked_for(define, ns, x):
    import sys

    from opyard.dispatch import alias_analysis, operators_at, provenance

    f = define("f(Tensor x) -> Tensor").default
    line = sys._getframe().f_lineno + 1
    opyard.library.impl(f, "CPU", lambda x: x)
    assert provenance(f, "CPU") == f"registered at {__file__}:{line}"
    assert provenance(f).startswith("registered at ")
    assert f.name() in operators_at("CPU")
    assert f.name() not in operators_at("AutogradCPU")
    assert alias_analysis(f) == "FROM_SCHEMA"
    with pytest.raises(LookupError, match="has no kernel at CUDA"):
        provenance(f, "CUDA")
    for ask in (provenance, alias_analysis):
        with pytest.raises(LookupError, match="operator nowhere::f does not exist"):
            ask("nowhere::f")
