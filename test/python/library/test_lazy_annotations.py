"""Annotations that name what exists for type checkers alone (PEP 649, CPython 3.14 and later).

Suspect opyard/_core/parameters.py.
"""

import sys
import textwrap

import pytest

import opyard
from opyard import autograd, jit
from opyard.library import custom_op, infer_schema

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 14), reason="before 3.14 such a function cannot be defined"
)


def defined(text):
    """What a text defines; it is no file, since older versions import this one."""
    scope = {"opyard": opyard}
    exec(textwrap.dedent(text), scope)
    return scope["made"]


def test_a_schema_needs_types_that_are_known():
    made = defined("def made(x: opyard.Tensor, n: Unknown) -> opyard.Tensor: ...")
    with pytest.raises(ValueError) as refused:
        infer_schema(made, mutates_args=())
    assert str(refused.value).startswith(
        "infer_schema(made): an annotation names 'Unknown', which is not known"
    )


def test_an_annotation_may_name_what_is_defined_later():
    made = defined("""
        def made(x: opyard.Tensor, n: Later) -> opyard.Tensor: ...
        Later = int
    """)
    assert infer_schema(made, mutates_args=()) == "(Tensor x, SymInt n) -> Tensor"


def test_traced_functions_may_name_unknown_types(x):
    made = defined("def made(x: Unknown, scale: Other = 2) -> Result: return x * scale")
    assert jit.trace(made, (x,))(x).tolist() == [2.0, 4.0, 6.0]
    assert jit.compile(made)(x).tolist() == [2.0, 4.0, 6.0]


def test_functions_with_gradients_may_name_unknown_types(x):
    made = defined("""
        class made(opyard.autograd.Function):
            @staticmethod
            def forward(x: Unknown, scale: Other = 3) -> Result: return x * scale
            @staticmethod
            def setup_context(ctx: Unknown, inputs: Other, output: Result): pass
            @staticmethod
            def backward(ctx: Unknown, grad: Result): return grad * 3, None
    """)
    assert issubclass(made, autograd.Function)
    x.requires_grad_()
    made.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_kernels_and_their_helpers_may_name_unknown_types(ns, library, x):
    library.define("f(Tensor x, int n=2) -> Tensor")
    made = defined("def made(x: Unknown, n: Other = 2) -> Result: return x * n")
    library.impl("f", made, "CPU")
    assert getattr(opyard.ops, ns).f(x).tolist() == [2.0, 4.0, 6.0]
    made = defined("def made(x: Unknown, n: Other = 2) -> Result: return x * n")
    op = custom_op(f"{ns}::g", mutates_args=(), schema="(Tensor x, int n=2) -> Tensor")(made)
    op.register_fake(defined("def made(x: Unknown, n: Other = 2) -> Result: return x.new_empty(3)"))
    assert op(x).tolist() == [2.0, 4.0, 6.0]
    assert getattr(opyard.ops, ns).g(x.to("meta")).shape == (3,)
