"""autograd.Function in graphs: traced as prim::PythonOp, and differentiated through pullbacks.

Suspect Function.apply in opyard/_autograd/functions.py, Trace::call(FunctionCall) in
jit/src/trace/trace.cpp, and run_function() in jit/src/passes/differentiate.cpp.
"""

import gc
import weakref

import numpy as np
import pytest

import opyard
from opyard import autograd, jit
from opyard.testing import FileCheck


class Square(autograd.Function):
    """x * x, with a backward that a formula would not give: ten times as much."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * 20


class Scaled(autograd.Function):
    @staticmethod
    def forward(ctx, factor, x, y):
        ctx.factor = factor
        ctx.save_for_backward(x, y)
        return x * y * factor, x + y

    @staticmethod
    def backward(ctx, product, total):
        x, y = ctx.saved_tensors
        return None, product * y * ctx.factor + total, product * x * ctx.factor + total


def t(*values):
    return opyard.tensor(list(values), dtype=opyard.float64)


def kinds(graph):
    return [node.kind for node in graph.nodes()]


def test_H17_a_traced_function_is_one_node_with_its_arguments():
    def f(x, y):
        product, total = Scaled.apply(3, x, y)
        return product * total

    traced = jit.trace(f, (t(1, 2).requires_grad_(), t(3, 4)))
    assert kinds(traced.graph).count("prim::PythonOp") == 1
    assert "aten::add" not in kinds(traced.graph)  # what forward calls is inside
    (node,) = [one for one in traced.graph.nodes() if one.kind == "prim::PythonOp"]
    assert node["cconv"] == "stt"
    assert node["scalar_args"] == ("3",)
    assert list(node["requires_grad"]) == [1, 0]
    FileCheck().check("^Scaled").check("aten::mul").run(str(traced.graph))
    x, y = t(5, 6), t(7, 8)
    assert traced(x, y).tolist() == f(x, y).tolist()


def test_H17_calls_of_the_trace_are_differentiated_by_the_functions_backward():
    traced = jit.trace(lambda x: Square.apply(x).sum(), t(1, 2))
    x = t(3, 4).requires_grad_()
    traced(x).backward()
    assert x.grad.tolist() == [60, 80]


def test_H17_arguments_by_name_and_defaults():
    class Power(autograd.Function):
        @staticmethod
        def forward(x, exponent=2, *, offset=0.0):
            return x**exponent + offset

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0], None, None

    traced = jit.trace(lambda x: Power.apply(x, offset=1.0) * 2, t(1, 2))
    assert traced(t(3, 4)).tolist() == [20, 34]


def test_H17_a_function_within_a_function_is_in_its_node():
    class Twice(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return Square.apply(x) * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    traced = jit.trace(Twice.apply, t(1, 2))
    assert kinds(traced.graph) == ["prim::PythonOp"]
    assert traced(t(3)).tolist() == [18]


@pytest.mark.parametrize("given", [[1], (1,), {"a": 1}, np.zeros(1)])
def test_H17_tensors_inside_of_an_argument_are_refused(given):
    class Takes(autograd.Function):
        @staticmethod
        def forward(ctx, x, more):
            return x * 2

    def f(x):
        if isinstance(given, np.ndarray):
            return Takes.apply(x, given)
        return Takes.apply(x, {"a": x} if isinstance(given, dict) else type(given)([x]))

    with pytest.raises(NotImplementedError, match="Takes: argument 1 .* holds tensors"):
        jit.trace(f, t(1))


def test_H17_what_is_no_tensor_is_no_result_of_a_graph():
    class Counts(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, 7

    with pytest.raises(NotImplementedError, match="Counts: gives int"):
        jit.trace(lambda x: Counts.apply(x)[0], t(1))
    assert jit.trace(lambda x: x * 2, t(1))(t(2)).tolist() == [4]  # the thread traces again


def test_H17_an_exception_of_forward_comes_out_as_it_is():
    class Fails(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise ZeroDivisionError("here")

    with pytest.raises(ZeroDivisionError, match="here"):
        jit.trace(Fails.apply, t(1))


def test_compile_takes_functions_with_their_backward():
    def f(x, y):
        product, total = Scaled.apply(2, Square.apply(x), y)
        return (product * total).sum()

    compiled = jit.compile(f)
    for _ in range(3):
        x, y = t(3, 4).requires_grad_(), t(1, 2).requires_grad_()
        eager = autograd.grad(f(x, y), [x, y])
        ours = autograd.grad(compiled(x, y), [x, y])
        assert [one.tolist() for one in ours] == [one.tolist() for one in eager]
        assert compiled(x.detach(), y.detach()).tolist() == f(x, y).tolist()
    assert "a graph of" in str(compiled.explain())


def test_compile_runs_eagerly_what_no_graph_can_hold_and_says_why():
    class Counts(autograd.Function):
        @staticmethod
        def forward(ctx, tensors, factor):
            return tensors[0] * factor, factor

    compiled = jit.compile(lambda x: Counts.apply([x], 3)[0])
    with pytest.warns(jit.CompileWarning, match="Counts: argument 0 is of type list"):
        assert compiled(t(2)).tolist() == [6]
    assert compiled(t(3)).tolist() == [9]

    class Numbers(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, 7

    compiled = jit.compile(lambda x: Numbers.apply(x)[0])
    with pytest.warns(jit.CompileWarning, match="Numbers: gives int"):
        assert compiled(t(2)).tolist() == [4]


def stages_of(function, *inputs, count=2):
    traced = jit.trace(function, inputs, stages=count)
    return traced.staged, jit.InterpreterState(jit.compile(traced.staged))


def test_H16_a_function_is_differentiated_by_a_pullback():
    graph, state = stages_of(lambda x, y: (Square.apply(x * y) * y).sum(), t(1, 2), t(3, 4))
    FileCheck().check("^Square").check("stage 1").check("prim::Eval").run(str(graph))
    x, y = t(1, 2).requires_grad_(), t(3, 4).requires_grad_()
    value = (Square.apply(x * y) * y).sum()
    value.backward()
    assert state.run_one_stage(x.detach(), y.detach()).tolist() == value.tolist()
    gx, gy = state.run_one_stage(opyard.tensor(1.0, dtype=opyard.float64))
    assert gx.tolist() == x.grad.tolist()
    assert gy.tolist() == y.grad.tolist()


def test_H16_outputs_and_inputs_of_a_function_without_a_gradient():
    def f(x, y):
        product, _ = Scaled.apply(2, x, y)
        return product.sum()

    traced = jit.trace(f, (t(1, 2), t(3, 4)))
    graph = traced.graph.copy()
    name = next(iter(graph.inputs()))
    jit.passes.differentiate(graph, [name])
    state = jit.InterpreterState(jit.compile(graph))
    state.run_one_stage(t(1, 2), t(3, 4))
    assert state.run_one_stage(opyard.tensor(1.0, dtype=opyard.float64)).tolist() == [6, 8]


def test_H16_a_function_that_ignores_an_input_gives_zeros_for_it():
    class First(autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    _, state = stages_of(lambda x, y: First.apply(x * 1, y * 3).sum(), t(1), t(2))
    state.run_one_stage(t(1), t(2))
    gx, gy = state.run_one_stage(opyard.tensor(1.0, dtype=opyard.float64))
    assert (gx.tolist(), gy.tolist()) == ([2], [0])


def test_H16_double_backward_goes_through_functions():
    class Cube(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x * x * 3

    def f(x):
        return (Cube.apply(x) * x).sum()  # x ** 4

    traced = jit.trace(f, t(2, 3), stages=4)
    state = jit.InterpreterState(jit.compile(traced.staged))
    one = opyard.tensor(1.0, dtype=opyard.float64)
    assert state.run_one_stage(t(2, 3)).tolist() == 16 + 81
    assert state.run_one_stage(one).tolist() == [4 * 8, 4 * 27]
    assert state.run_one_stage(t(1, 1)).tolist() == [12 * 4, 12 * 9]
    assert state.run_one_stage(t(1, 1)).tolist() == [24 * 2, 24 * 3]


def test_H16_functions_of_graphs_that_were_built():
    graph = jit.Graph()
    x = graph.add_input("x")
    node = graph.append_node(jit.create_python_op(graph, lambda x: x * x * x, [x]))
    graph.register_output(node.output())
    jit.passes.differentiate(graph, ["x"])
    state = jit.InterpreterState(jit.compile(graph))
    state.run_one_stage(t(2))
    assert state.run_one_stage(t(1)).tolist() == [12]


def test_a_function_that_writes_its_input_is_not_differentiated():
    class Doubles(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    def f(x):
        return Doubles.apply(x * 1) + 1

    traced = jit.trace(f, t(1))
    assert traced(t(4)).tolist() == [9]
    with pytest.raises(NotImplementedError, match="Doubles.*in place|in place"):
        jit.passes.differentiate(traced.graph)


def test_a_traced_function_dies_with_its_graph():
    class Local(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    traced = jit.trace(Local.apply, t(1))
    gone = weakref.ref(Local)
    del traced, Local
    gc.collect()
    assert gone() is None


BRANCH = """
graph(%x : Tensor, %w : Tensor, %flag : bool):
  %p : Tensor = aten::mul(%x, %w)
  %y : Tensor = prim::If(%flag)
    block0():
      %a : Tensor = aten::mul(%p, %x)
      -> (%a)
    block1():
      %b : Tensor = aten::sin(%p)
      -> (%b)
  %s : Tensor = aten::mul(%y, %w)
  return (%s)
"""
LOOP = """
graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %z : Tensor):
      %m : Tensor = aten::mul(%z, %x)
      -> (%true, %m)
  return (%y)
"""


@pytest.mark.parametrize("flag", [True, False])
def test_H16_a_branch_is_differentiated_by_a_pullback(flag):
    graph = jit.parse_ir(BRANCH)
    jit.passes.differentiate(graph, ["x", "w"])
    jit.passes.differentiate(graph, ["x", "w"])
    graph.lint()
    assert "prim::CppOp" in kinds(graph)
    x, w = t(2, 3).requires_grad_(), t(5, 7).requires_grad_()
    y = (x * w * x if flag else (x * w).sin()) * w
    first = autograd.grad(y, [x, w], t(1, 1), create_graph=True)
    second = autograd.grad(first, [x, w], [t(1, 1), t(1, 1)])
    state = jit.InterpreterState(jit.compile(graph))
    assert state.run_one_stage(x.detach(), w.detach(), flag).tolist() == y.tolist()
    assert [g.tolist() for g in state.run_one_stage(t(1, 1))] == [g.tolist() for g in first]
    found = state.run_one_stage(t(1, 1), t(1, 1))
    for ours, engine in zip(found, second, strict=True):
        np.testing.assert_allclose(ours.numpy(), engine.numpy(), rtol=1e-14)


def test_H16_a_loop_is_differentiated_by_a_pullback():
    graph = jit.parse_ir(LOOP)
    jit.passes.differentiate(graph, ["x"])
    state = jit.InterpreterState(jit.compile(graph))
    assert state.run_one_stage(t(2, 3), 3).tolist() == [2**4, 3**4]
    assert state.run_one_stage(t(1, 1)).tolist() == [4 * 2**3, 4 * 3**3]


def test_H16_a_graph_that_cannot_be_compiled_is_as_it_was():
    text = """
graph(%x : Tensor, %flag : bool):
  %y : Tensor = prim::If(%flag)
    block0():
      %a : Tensor = aten::no_such_operator(%x)
      -> (%a)
    block1():
      -> (%x)
  return (%y)
"""
    graph = jit.parse_ir(text)
    before = str(graph)
    with pytest.raises((RuntimeError, ValueError), match="no_such_operator"):
        jit.passes.differentiate(graph, ["x"])
    assert str(graph) == before


def test_H16_an_operator_whose_derivative_is_code():
    name = "traced_functions::cubed"

    @opyard.library.custom_op(name, mutates_args=())
    def cubed(x: opyard.Tensor) -> opyard.Tensor:
        return x * x * x

    cubed.register_autograd(
        lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    traced = jit.trace(lambda x: cubed(x).sum(), t(2, 3), stages=3)
    state = jit.InterpreterState(jit.compile(traced.staged))
    state.run_one_stage(t(2, 3))
    assert state.run_one_stage(opyard.tensor(1.0, dtype=opyard.float64)).tolist() == [12, 27]
    assert state.run_one_stage(t(1, 1)).tolist() == [12, 18]


def test_a_list_into_a_block_is_refused():
    graph = jit.parse_ir("""
graph(%x : Tensor, %flag : bool):
  %l : Tensor[] = prim::ListConstruct(%x, %x)
  %y : Tensor = prim::If(%flag)
    block0():
      %a : Tensor = aten::stack(%l)
      -> (%a)
    block1():
      -> (%x)
  return (%y)
""")
    with pytest.raises(NotImplementedError, match=r"takes %l of type Tensor\[\]"):
        jit.passes.differentiate(graph, ["x"])
