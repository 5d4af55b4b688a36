"""Traces: a traced function and its graph give the same bits.

Suspect jit/src/trace/ (what is traced), opyard/_jit/containers.py (what goes in and comes
out), and opyard/_jit/reads.py with objects/tensor/traced_read.h (what Python reads meanwhile).
"""

import collections
import threading
import typing
import warnings

import pytest

import opyard
from opyard import dispatch, jit

aten = opyard.ops.aten


def t(*items):
    return opyard.tensor([float(item) for item in items])


def kinds(traced):
    return [node.kind for node in traced.graph.nodes()]


@pytest.fixture(autouse=True)
def no_warning_is_forgotten():
    with warnings.catch_warnings():
        warnings.simplefilter("error", jit.TracerWarning)
        yield


@pytest.fixture
def lib():
    return opyard.library.Library("jit_trace", "DEF")


def test_H16_operators_are_traced_and_run():
    traced = jit.trace(lambda x, y: x * x + y, (t(1, 2), t(3, 4)))
    assert str(traced.graph) == (
        "graph(%x : Float(2, strides=[1], requires_grad=0, device=cpu),\n"
        "      %y : Float(2, strides=[1], requires_grad=0, device=cpu)):\n"
        "  %2 : Float(2, strides=[1], requires_grad=0, device=cpu) = aten::mul.Tensor(%x, %x)\n"
        "  %3 : int = prim::Constant[value=1]()\n"
        "  %4 : Float(2, strides=[1], requires_grad=0, device=cpu) = aten::add.Tensor(%2, %y, %3)\n"
        "  return (%4)\n"
    )
    assert traced(t(3, 4), t(1, 1)).tolist() == [10.0, 17.0]
    again = jit.parse_ir(str(traced.graph))
    assert again(t(3, 4), t(1, 1)).tolist() == [10.0, 17.0]
    assert "aten::mul" in repr(traced)


def test_H16_nodes_know_their_line():
    def function(x):
        return x.neg()

    node = jit.trace(function, t(1)).graph.nodes()[0]
    line = function.__code__.co_firstlineno + 1
    assert node.source_range == f"{__file__}:{line}"


def test_H10_the_lines_of_nodes_are_printed_on_request():
    def function(x):
        return x.neg()

    graph = jit.trace(function, t(1)).graph
    heading, node, end, _ = str(graph).split("\n")
    assert graph.text() == str(graph)
    place = f"{__file__}:{function.__code__.co_firstlineno + 1}"
    text = graph.text(source_ranges=True)
    assert text == f"{heading}\n{node} # {place}\n{end}\n"
    assert jit.parse_ir(text).text() == str(graph)


def test_an_error_of_a_run_names_the_line_of_the_function():
    traced = jit.trace(lambda x, y: x @ y, (opyard.tensor([[1.0]]), opyard.tensor([[1.0]])))
    with pytest.raises(ValueError, match=r"test_jit_trace\.py:\d+"):
        traced(opyard.tensor([[1.0]]), opyard.tensor([[1.0], [2.0]]))


# containers ------------------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "first second")


def test_H16_nested_containers_are_flattened_and_built_again():
    def function(batch, pair, *, scale):
        return {
            "sum": batch["a"] + batch["b"][0],
            "pair": Pair(pair.second, [pair.first * 2]),
            3: None,
        }

    example = ({"a": t(1), "b": [t(2), None]}, Pair(t(3), t(4)))
    traced = jit.trace(function, example, example_kwargs={"scale": 2.5})
    result = traced({"a": t(10), "b": [t(20), None]}, Pair(t(30), t(40)), scale=2.5)
    assert result["sum"].tolist() == [30.0]
    assert isinstance(result["pair"], Pair)
    assert (result["pair"].first.tolist(), result["pair"].second[0].tolist()) == ([40.0], [60.0])
    assert result[3] is None
    names = [value.debug_name for value in traced.graph.inputs()]
    assert names == ["batch_a", "batch_b_0", "pair_0", "pair_1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"a": 1}, 3), r"the arguments\[0\] was a Tensor, and now is a dict of 1"),
        ((t(1),), r"the arguments was a tuple of 2, and now is a tuple of 1"),
        ((t(1), 4), r"the arguments\[1\] was 3, and now is 4"),
        ((t(1), 3.0), r"the arguments\[1\] was 3, and now is 3\.0"),
        ((t(1), True), r"the arguments\[1\] was 3, and now is True"),
        ((t(1), object()), r"the arguments\[1\] is of type object; a traced function takes"),
    ],
)
def test_other_arguments_than_traced_are_refused(arguments, message):
    traced = jit.trace(lambda x, n: x * n, (t(1), 3))
    with pytest.raises(TypeError, match=message):
        traced(*arguments)
    assert traced(t(2), 3).tolist() == [6.0]


def test_a_container_that_contains_itself_is_refused():
    loop = [t(1)]
    loop.append(loop)
    with pytest.raises(ValueError, match="contains itself"):
        jit.trace(lambda x: x, (loop,))


def test_an_input_is_an_output_also_twice():
    traced = jit.trace(lambda x, y: (x, y, x, y + x), (t(1), t(2)))
    x, y = t(5), t(6)
    result = traced(x, y)
    assert result[0] is x and result[1] is y and result[2] is x
    assert result[3].tolist() == [11.0]


def test_a_function_may_give_nothing_or_numbers():
    assert jit.trace(lambda x: None, t(1))(t(2)) is None
    assert jit.trace(lambda x: (), t(1))(t(2)) == ()
    assert jit.trace(lambda x: (1, "a"), t(1))(t(2)) == (1, "a")
    assert jit.trace(lambda: 3)() == 3


def test_an_input_given_twice_is_two_values_on_one_memory():
    def function(x, y):
        x.add_(y)
        return y * 2

    x = t(1, 2)
    traced = jit.trace(function, (x, x), check_trace=False)
    assert x.tolist() == [2.0, 4.0]
    a = t(1, 1)
    assert traced(a, t(5, 5)).tolist() == [10.0, 10.0]
    assert a.tolist() == [6.0, 6.0]
    assert traced(a, a).tolist() == [24.0, 24.0]


# what is traced --------------------------------------------------------------------------


def test_H16_in_place_calls_keep_their_order():
    def function(x):
        y = x + 1
        before = y * 2
        y.mul_(10)
        y[0] = 7.0
        after = y * 2
        x.mul_(-1)
        return before, after, y

    traced = jit.trace(function, t(1, 2))
    x = t(3, 4)
    before, after, y = traced(x)
    assert before.tolist() == [8.0, 10.0]
    assert after.tolist() == [14.0, 100.0]
    assert y.tolist() == [7.0, 50.0]
    assert x.tolist() == [-3.0, -4.0]


def test_H16_equal_constants_are_one_and_unused_ones_are_gone():
    traced = jit.trace(lambda x: (x + x) * 2 + x * 2 + x, t(1))
    constants = [node for node in traced.graph.nodes() if node.kind == "prim::Constant"]
    assert len({(node["value"], node.output().type) for node in constants}) == len(constants)
    assert all(node.output().uses() for node in constants)


def test_H16_a_captured_tensor_is_a_constant_with_its_memory():
    weight = t(2, 3)
    traced = jit.trace(lambda x: x * weight + weight, t(1, 1))
    assert kinds(traced).count("prim::Constant") == 2, "the tensor once, and alpha"
    assert traced(t(1, 2)).tolist() == [4.0, 9.0]
    weight.mul_(10)
    assert traced(t(1, 2)).tolist() == [40.0, 90.0]


def test_H16_parameters_of_a_module_are_constants_or_inputs():
    net = opyard.nn.Linear(2, 1)
    x = opyard.tensor([[1.0, 2.0]])
    traced = jit.trace(net, x)
    nodes = traced.graph.nodes()
    kept = [n for n in nodes if n.kind == "prim::Constant" and n.kind_of("value") == "t"]
    assert len(kept) == 2 and len(traced.graph.inputs()) == 1
    with opyard.no_grad():
        net.weight.mul_(2)
    assert traced(x).tolist() == net(x).tolist()
    traced(x).sum().backward()
    assert net.weight.grad.tolist() == [[1.0, 2.0]] and net.bias.grad.tolist() == [1.0]
    compiled = jit.compile(net)
    assert compiled(x).tolist() == net(x).tolist()
    (graph,) = compiled.graphs()
    names = [value.debug_name for value in graph.inputs()]
    assert [name for name in names if name.startswith("x")] == ["x0", "x1", "x2"]


def test_a_captured_buffer_is_written_at_each_run():
    count = t(0)
    traced = jit.trace(lambda x: x + count.add_(1), t(0), check_trace=False)
    assert count.tolist() == [1.0]
    assert traced(t(0)).tolist() == [2.0]
    assert traced(t(0)).tolist() == [3.0]
    assert count.tolist() == [3.0]


def test_a_tensor_that_the_function_makes_is_new_at_each_run():
    def function(x):
        total = opyard.tensor([0.0, 0.0])
        total.add_(x)
        total[0] = 5.0
        return total

    traced = jit.trace(function, t(1, 2))
    assert traced(t(3, 4)).tolist() == [5.0, 4.0]
    assert traced(t(3, 4)).tolist() == [5.0, 4.0]
    assert "aten::clone" in kinds(traced)


def test_lists_of_tensors_are_constructed_and_unpacked(lib):
    lib.define("pieces(Tensor x) -> Tensor[]")
    lib.impl("pieces", lambda x: [x[:2] + 0, x[2:4] + 0, x[4:] + 0], "CPU")

    def function(x, y):
        joined = aten.cat([x, y, x], 0)
        first, second, _ = opyard.ops.jit_trace.pieces(joined)
        return first + second

    traced = jit.trace(function, (t(1, 2), t(3, 4)))
    assert "prim::ListConstruct" in kinds(traced) and "prim::ListUnpack" in kinds(traced)
    assert traced(t(1, 1), t(2, 2)).tolist() == [3.0, 3.0]


def test_a_composite_operator_is_one_node(lib):
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
    traced = jit.trace(lambda x: opyard.ops.jit_trace.twice(x) * x, t(3))
    assert kinds(traced) == ["jit_trace::twice", "aten::mul"]
    assert traced(t(2)).tolist() == [8.0]


def test_what_was_traced_before_is_traced_inside():
    inner = jit.trace(lambda x: x * x, t(3))
    outer = jit.trace(lambda x: inner(x) + inner.code(x), t(3))
    assert [kind for kind in kinds(outer) if kind.startswith("aten")] == [
        "aten::mul",
        "aten::mul",
        "aten::add",
    ]
    assert outer(t(2)).tolist() == [8.0]


# what is read outside of operators -------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (lambda x: x.shape[0], "shape"),
        (lambda x: x.size(0), r"size\(\)"),
        (lambda x: x.numel(), r"numel\(\)"),
        (lambda x: x.stride(0), r"stride\(\)"),
        (lambda x: x.strides[0], "strides"),
        (lambda x: len(x), r"len\(\)"),
        (lambda x: x.sum().item(), r"item\(\)"),
        (lambda x: bool(x.sum() > 0), r"bool\(\)"),
        (lambda x: float(x.sum()), r"float\(\)"),
        (lambda x: int(x.sum()), r"int\(\)"),
        (lambda x: x.tolist()[0], r"tolist\(\)"),
        (lambda x: memoryview(x)[0], "its buffer"),
        (lambda x: sum(1 for _ in x), "the number of rows"),
    ],
)
def test_H16_what_python_reads_is_a_constant_and_the_line_is_named(read, what):
    def function(x):
        return x * read(x + 0)

    with pytest.warns(jit.TracerWarning, match=what) as caught:
        traced = jit.trace(function, t(1, 2))
    assert {str(each.filename) for each in caught} == {__file__}
    assert {each.lineno for each in caught} == {read.__code__.co_firstlineno}
    assert traced(t(1, 2)).tolist() == function(t(1, 2)).tolist()


def test_what_is_read_of_a_constant_or_of_nothing_traced_is_no_matter():
    weight = t(1, 2, 3)
    jit.trace(lambda x: x * weight.shape[0] * weight.tolist()[0] * x.ndim, t(1))
    assert t(1, 2).shape == (2,)


def test_a_warning_that_is_an_error_ends_the_trace_and_the_next_works():
    with pytest.raises(jit.TracerWarning):
        jit.trace(lambda x: x * x.shape[0], t(1))
    jit.trace(lambda x: x * x, t(1))
    assert "Tracer" not in dispatch.tls_local_include_set()
    assert not dispatch.has_fallback("Tracer")


# the second run --------------------------------------------------------------------------


def test_H16_a_function_that_gives_something_else_the_second_time_is_refused():
    calls = []

    def function(x):
        calls.append(1)
        return x * len(calls)

    with pytest.raises(jit.TracingCheckError, match="not bit for bit"):
        jit.trace(function, t(1))
    assert jit.trace(function, t(1), check_trace=False)(t(1)).tolist() == [3.0]


def test_the_second_run_has_the_inputs_as_they_were():
    def function(x):
        x.add_(1)
        return x * 2

    x = t(1)
    traced = jit.trace(function, x)
    assert x.tolist() == [2.0], "the function ran with it once"
    assert traced(x).tolist() == [6.0]


def test_H16_other_inputs_find_a_way_that_was_not_traced():
    def function(x):
        return x * 2 if x.sum().item() > 0 else x

    with (
        pytest.warns(jit.TracerWarning, match="item"),
        pytest.raises(jit.TracingCheckError, match="the result of the graph"),
    ):
        jit.trace(function, t(1), check_inputs=[t(2), t(-1)])


def test_check_inputs_of_another_shape():
    def function(x):
        return x.reshape([x.shape[0] * 2])

    with (
        pytest.warns(jit.TracerWarning, match="shape"),
        pytest.raises((jit.TracingCheckError, ValueError)),
    ):
        jit.trace(
            function, opyard.tensor([[1.0, 2.0]]), check_inputs=[opyard.tensor([[1.0, 2.0]] * 2)]
        )


def test_equal_bits_are_asked_for_so_nan_is_equal_and_zeros_differ():
    jit.trace(lambda x: x * float("nan"), t(1))
    seen = []

    def function(x):
        seen.append(1)
        return x * 0.0 if len(seen) % 2 else x * -0.0

    with pytest.raises(jit.TracingCheckError, match="bit for bit"):
        jit.trace(function, t(1))


# on top of it ----------------------------------------------------------------------------


class Tagged(opyard.Tensor):
    calls: typing.ClassVar[list] = []

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        cls.calls.append(op.name())
        with dispatch.no_dispatch():
            return op(*args, **(kwargs or {}))


def test_a_subclass_is_asked_again_when_the_graph_runs():
    x = t(1, 2).as_subclass(Tagged)
    traced = jit.trace(lambda x: x + x, x, check_trace=False)
    assert [kind for kind in kinds(traced) if kind != "prim::Constant"] == ["aten::add"]
    Tagged.calls.clear()
    assert traced(t(3, 4)).tolist() == [6.0, 8.0]
    assert Tagged.calls == []
    assert traced(t(3, 4).as_subclass(Tagged)).tolist() == [6.0, 8.0]
    assert len(Tagged.calls) == 1


class Logging(dispatch.DispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        self.calls.append(op.name())
        return op(*args, **(kwargs or {}))


def test_a_mode_around_the_trace_sees_its_calls_and_those_of_runs():
    with Logging() as mode:
        traced = jit.trace(lambda x: x * x, t(2), check_trace=False)
    assert len(mode.calls) == 1
    traced(t(2))
    assert len(mode.calls) == 1
    with mode:
        traced(t(2))
    assert len(mode.calls) == 2


def test_a_mode_that_the_function_enters_is_refused():
    def function(x):
        with Logging():
            return x * x

    with pytest.raises(NotImplementedError, match="a graph holds operators, and no modes"):
        jit.trace(function, t(1))


def test_arrays_as_inputs_come_as_tensors():
    numpy = pytest.importorskip("numpy")
    traced = jit.trace(lambda x: x * 2, numpy.array([1.0, 2.0], dtype="float32"))
    assert traced(numpy.array([3.0, 4.0], dtype="float32")).tolist() == [6.0, 8.0]
    assert traced(t(3, 4)).tolist() == [6.0, 8.0]


def test_a_captured_array_is_a_constant():
    numpy = pytest.importorskip("numpy")
    weight = numpy.array([2.0, 3.0], dtype="float32")
    traced = jit.trace(lambda x: x * weight, t(1, 1))
    assert traced(t(1, 2)).tolist() == [2.0, 6.0]


def test_a_tensor_that_went_by_numpy_is_refused():
    numpy = pytest.importorskip("numpy")

    def function(x):
        return opyard.from_numpy(numpy.asarray(x * 2)) + x

    with (
        pytest.warns(jit.TracerWarning, match="numpy|buffer"),
        pytest.raises(NotImplementedError, match=r"is in the memory of %\w+, which is another one"),
    ):
        jit.trace(function, t(1))


def test_an_array_as_the_result_is_refused():
    numpy = pytest.importorskip("numpy")
    with (
        pytest.warns(jit.TracerWarning),
        pytest.raises(TypeError, match=r"the result is of type ndarray; a traced function gives"),
    ):
        jit.trace(lambda x: numpy.asarray(x), t(1))


# what ends a trace -----------------------------------------------------------------------


def test_an_exception_of_the_function_is_the_one_that_comes_out():
    error = KeyError("mine")

    def function(x):
        x + x
        raise error

    with pytest.raises(KeyError) as caught:
        jit.trace(function, t(1))
    assert caught.value is error
    assert jit.trace(lambda x: x + x, t(1))(t(2)).tolist() == [4.0]


def test_an_operator_that_fails_and_is_caught_is_not_in_the_graph():
    def function(x):
        try:
            x + t(1, 2, 3)
        except ValueError:
            pass
        return x * x

    traced = jit.trace(function, t(1, 2))
    assert kinds(traced) == ["aten::mul"]


def test_a_trace_in_a_trace_is_refused():
    with pytest.raises(NotImplementedError, match="a trace is active on this thread already"):
        jit.trace(lambda x: jit.trace(lambda y: y, x, check_trace=False)(x), t(1))


def test_two_threads_trace_at_once():
    barrier = threading.Barrier(2)
    results = {}

    def work(number):
        def function(x):
            barrier.wait(10)
            y = x * number
            barrier.wait(10)
            return y + x

        results[number] = jit.trace(function, t(1), check_trace=False)

    threads = [threading.Thread(target=work, args=(n,)) for n in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert {n: traced(t(1)).tolist() for n, traced in results.items()} == {2: [3.0], 3: [4.0]}
    assert not dispatch.has_fallback("Tracer")


def test_another_thread_is_not_traced():
    def function(x):
        found = []
        thread = threading.Thread(target=lambda: found.append(x * 2))
        thread.start()
        thread.join()
        return found[0] + x

    with pytest.raises(jit.TracingCheckError, match="not bit for bit"):
        jit.trace(function, t(1), check_inputs=[t(5)])


@pytest.mark.parametrize("wrong", [None, 3, "aten::add"])
def test_what_is_no_function_is_refused(wrong):
    with pytest.raises(TypeError, match=r"trace\(\) takes a function, not an object of"):
        jit.trace(wrong, t(1))


def test_nothing_of_a_trace_stays_alive():
    import gc
    import weakref

    class Owner:
        pass

    owner = Owner()
    weight = t(1)
    weight.owner = owner
    seen = weakref.ref(owner)
    captured = [weight]
    traced = jit.trace(lambda x: x * captured[0], t(2))
    captured.clear()
    del owner, weight
    assert seen() is not None, "the graph holds it"
    del traced
    gc.collect()
    assert seen() is None
