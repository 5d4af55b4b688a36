"""Gradients from Python: taped calls, runs, hooks, modes, functions (G, A32, F16 to F21).

Suspect autograd/, by the table of its README.
"""

import gc
import os
import threading
import weakref

import pytest
from built import plain_build
from leaves import leaf

import opyard
from opyard import autograd

aten = opyard.ops.aten


def test_G1_backward_accumulates_in_leaves():
    x = leaf([1.0, 2.0, 3.0])
    y = (x * x).sum()
    assert y.requires_grad
    assert not y.is_leaf
    assert x.is_leaf
    assert y.grad_fn.name() == "SumBackward"
    y.backward()
    assert x.grad.tolist() == [2, 4, 6]
    (x * 2).sum().backward()
    assert x.grad.tolist() == [4, 6, 8]


def test_G1_functions_lead_to_those_that_gave_the_arguments():
    x = leaf([1.0])
    y = x * x
    (first, number), (second, _) = y.grad_fn.next_functions
    assert first.name() == second.name() == "AccumulateGrad"
    assert first == second
    assert number == 0
    assert x.grad_fn is None


def test_G1_each_output_has_its_number():
    first, second = aten.unbind(leaf([[1.0], [2.0]]))
    assert first.grad_fn == second.grad_fn
    assert (first.output_nr, second.output_nr) == (0, 1)
    assert [edge[1] for edge in (first * second).grad_fn.next_functions] == [0, 1]
    assert leaf([1.0]).output_nr == 0


def test_G2_nothing_flows_where_nothing_is_wanted():
    x = leaf([1.0, 2.0])
    w = opyard.tensor([3.0, 4.0], dtype=opyard.float64)
    y = x * w
    assert y.grad_fn.next_functions[1] == (None, 0)
    y.sum().backward()
    assert x.grad.tolist() == [3, 4]
    assert w.grad is None


def test_G4_grad_gives_and_accumulates_nothing():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (x * w).sum()
    (gx,) = autograd.grad(y, x, keep_graph=True)
    assert gx.tolist() == [3, 4]
    assert x.grad is None
    gx, gw = autograd.grad(y, [x, w])
    assert gw.tolist() == [1, 2]


def test_G4_grad_of_what_is_no_leaf():
    x = leaf([2.0])
    a = x * x
    b = a * a
    ga, gx = autograd.grad(b, [a, x])
    assert ga.tolist() == [8]
    assert gx.tolist() == [32]


def test_G4_backward_for_some_inputs_accumulates_there_alone():
    x, w = leaf([1.0]), leaf([2.0])
    (x * w).backward(inputs=[w])
    assert x.grad is None
    assert w.grad.tolist() == [1]


@pytest.mark.filterwarnings("ignore:Using backward")
def test_G4_backward_for_what_is_no_leaf_accumulates_there():
    x = leaf([1.0, 2.0])
    y = x * 2
    y.register_hook(lambda g: g * 10)
    z = (y * y).sum()
    z.backward(inputs=[y], retain_graph=True)
    assert (x.grad, y.grad.tolist()) == (None, [40, 80])
    z.backward(inputs=[x, y])
    assert (x.grad.tolist(), y.grad.tolist()) == ([80, 160], [80, 160])
    y = x * 2
    (y * y * y).sum().backward(inputs=[y], create_graph=True)
    assert (y.grad.tolist(), y.grad.requires_grad) == ([12, 48], True)


def test_G15_what_is_retained_adds_up_over_several_runs():
    x = leaf([1.0, 2.0])
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad and not (x * 2).retains_grad
    z = (y * y).sum()
    z.backward(retain_graph=True)
    z.backward()
    assert (y.grad.tolist(), y.grad.requires_grad) == ([8, 16], False)


def test_G6_a_prehook_that_gives_false_stops_the_function():
    x = leaf([1.0])
    y = x * 2
    seen = []
    y.grad_fn.register_prehook(lambda gradients: seen.append(len(gradients)) or False)
    y.backward()
    assert seen == [1]
    assert x.grad is None


def test_G6_a_callback_at_the_end_of_a_run():
    x = leaf([1.0])
    seen = []
    x.register_hook(lambda g: autograd.queue_callback(lambda: seen.append(x.grad.tolist())))
    (x * 2).backward()
    assert seen == [[2]]
    with pytest.raises(ValueError, match="while one runs"):
        autograd.queue_callback(lambda: None)


class Wrong(autograd.Function):
    @staticmethod
    def forward(ctx, x, gradients):
        ctx.gradients = gradients
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return ctx.gradients


def test_G7_a_gradient_of_another_shape_is_refused():
    x = leaf([1.0, 2.0])
    y = Wrong.apply(x, (opyard.tensor([1.0, 2.0, 3.0], dtype=opyard.float64), None))
    with pytest.raises(RuntimeError, match=r"invalid gradient at index 0 - got \[3\] but expected"):
        y.sum().backward()
    assert x.grad is None


def test_G7_a_gradient_of_another_float_is_converted_and_of_integers_refused():
    x = leaf([1.0, 2.0])
    Wrong.apply(x, (opyard.tensor([1.0, 2.0]), None)).sum().backward()
    assert x.grad.dtype is opyard.float64
    with pytest.raises(RuntimeError, match="got dtype int64"):
        Wrong.apply(x, (opyard.tensor([1, 2]), None)).sum().backward()


def test_G7_a_gradient_on_another_device_is_refused():
    x = leaf([1.0, 2.0])
    there = opyard.ones(2, dtype=opyard.float64, device="meta")
    with pytest.raises(RuntimeError, match="expected device cpu but got meta"):
        Wrong.apply(x, (there, None)).sum().backward()
    with pytest.raises(RuntimeError, match="got float64.* on cpu and gave float64.* on meta"):
        y = x * 2
        y.register_hook(lambda gradient: there)
        y.sum().backward()
    assert x.grad is None


def test_G8_a_wrong_count_is_refused_and_trailing_nones_are_not():
    x = leaf([1.0])
    one = opyard.tensor([1.0], dtype=opyard.float64)
    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 3\)"):
        Wrong.apply(x, (one, None, one)).backward()
    Wrong.apply(x, (one, None, None)).backward()
    assert x.grad.tolist() == [1]
    with pytest.raises(TypeError, match="expected Variable or None"):
        Wrong.apply(x, ("text", None)).backward()


def test_G9_a_second_backward_is_refused_unless_the_graph_is_kept():
    x = leaf([1.0])
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(ValueError, match="backward through the graph a second time"):
        y.backward()
    assert x.grad.tolist() == [4]


def test_G10_what_was_saved_and_written_since_is_found():
    x = leaf([1.0, 2.0])
    a = x * 1
    y = a * a
    a.add_(1)
    with pytest.raises(ValueError) as raised:
        y.sum().backward()
    assert str(raised.value) == (
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: float64[2], saved for MulBackward, is at version 1; expected version 0 "
        "instead. Hint: opyard.autograd.detect_anomaly() shows where it was saved; write to a "
        "clone(), or write before it is used\nin the backward function MulBackward"
    )


@plain_build  # the address sanitizer holds back what was freed
def test_G10_an_output_is_saved_without_a_cycle():
    """A cycle of the result and the function that saved it would leave 4 MB each time."""
    x = opyard.zeros(1_000_000).requires_grad_()
    gc.collect()

    def resident():
        with open("/proc/self/statm") as pages:
            return int(pages.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    x.exp()
    before = resident()
    for _ in range(50):
        x.exp()
    assert resident() - before < 100_000_000


def test_G11_versions_are_shared_by_views_and_detached_tensors():
    x = opyard.tensor([1.0, 2.0])
    version = x._version
    x[0].add_(1)
    assert x._version == version + 1
    assert x.detach()._version == version + 1


@pytest.mark.parametrize("several", [False, True])
def test_G11_a_write_that_no_operator_made_can_be_counted(several):
    x = leaf([1.0, 2.0])
    scale = opyard.ones(2, dtype=opyard.float64)
    array = scale.numpy()
    version = scale._version
    array *= 3
    autograd.increment_version([scale, x.detach()] if several else scale)
    assert scale._version == scale[0]._version == version + 1
    y = x * scale
    array *= 3
    autograd.increment_version(scale)
    with pytest.raises(ValueError, match="modified by an inplace operation"):
        y.sum().backward()
    with pytest.raises(TypeError, match="increment_version: a Tensor is wanted"):
        autograd.increment_version([array])


def test_G12_the_gradient_of_a_gradient():
    x = leaf([3.0])
    y = x * x * x
    (first,) = autograd.grad(y, x, create_graph=True)
    assert first.tolist() == [27]
    (second,) = autograd.grad(first, x, create_graph=True)
    assert second.tolist() == [18]
    (third,) = autograd.grad(second, x)
    assert third.tolist() == [6]


@pytest.mark.parametrize("mode", [autograd.no_grad, autograd.enable_grad])
@pytest.mark.parametrize("again", [False, True])
def test_G12_gradients_are_on_inside_a_backward_that_is_to_be_differentiated(mode, again):
    seen = []

    class Asking(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            seen.append(autograd.is_grad_enabled())
            return gradient * 2

    x = leaf([1.0])
    y = Asking.apply(x)
    with mode():
        before = autograd.is_grad_enabled()
        (gradient,) = autograd.grad(y, x, opyard.ones(1, dtype=y.dtype), create_graph=again)
        assert autograd.is_grad_enabled() is before
    assert seen == [again]
    assert gradient.tolist() == [2.0]


def test_G13_modes_are_nested_and_of_the_thread():
    x = leaf([1.0])
    with autograd.no_grad():
        assert not (x * 2).requires_grad
        with autograd.enable_grad():
            assert (x * 2).requires_grad
        assert not autograd.is_grad_enabled()
        seen = []
        thread = threading.Thread(target=lambda: seen.append(autograd.is_grad_enabled()))
        thread.start()
        thread.join()
        assert seen == [True]
    assert (x * 2).requires_grad

    @autograd.no_grad()
    def compute():
        return x * 2

    assert not compute().requires_grad
    with autograd.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert autograd.is_grad_enabled()


def test_A32_no_grad_changes_no_key_and_inference_mode_does():
    from opyard import dispatch

    before = dispatch.tls_local_include_set(), dispatch.tls_local_exclude_set()
    with autograd.no_grad():
        assert (dispatch.tls_local_include_set(), dispatch.tls_local_exclude_set()) == before
    with autograd.inference_mode():
        assert not dispatch.tls_local_include_set().has("ADInplaceOrView")
        excluded = dispatch.tls_local_exclude_set()
        for layer in ("AutogradFunctionality", "AutogradOther", "AutogradNestedTensor"):
            assert excluded.has(layer)
        made = opyard.tensor([1.0])
        assert made.is_inference()
        assert "Autograd" not in str(dispatch.keys_of(made))
        assert not dispatch.keys_of(made).has("ADInplaceOrView")
    assert (dispatch.tls_local_include_set(), dispatch.tls_local_exclude_set()) == before
    with pytest.raises(ValueError, match="inference tensor"):
        made.requires_grad_()
    x = leaf([1.0], opyard.float32)
    with pytest.raises(ValueError, match="inference tensor"):
        x * made


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: (leaf([1.0, 2.0]) * 2).backward(), "only for scalar outputs"),
        (lambda: opyard.tensor([1.0]).backward(), "element 0 of tensors does not require grad"),
        (
            lambda: autograd.grad(leaf([1.0]) * 2, leaf([1.0])),
            "appears to not have been used in the graph",
        ),
        (
            lambda: (leaf([1.0]) * 2).backward(opyard.tensor([1.0, 2.0], dtype=opyard.float64)),
            r"grad_output\[0\] has a shape of \[2\] and output\[0\] has a shape of \[1\]",
        ),
        (lambda: leaf([1.0]).add_(1), "a leaf Variable that requires grad is being used"),
        (lambda: leaf([1.0, 2.0])[0].add_(1), "a view of a leaf Variable that requires grad"),
        (lambda: leaf([1, 2], opyard.int64), "floating point"),
        (lambda: opyard.tensor([1.0]).register_hook(print), "doesn't require gradient"),
        (lambda: setattr(leaf([1.0]) * 2, "requires_grad", False), "leaf variables"),
    ],
)
def test_G14_bad_input_is_named(run, text):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=text):
        run()


def test_G15_hooks_run_in_order_and_may_replace():
    x = leaf([1.0])
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    second = x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 3).backward()
    assert seen == [[3], [6]]
    assert x.grad.tolist() == [6]
    second.remove()
    second.remove()
    (x * 3).backward()
    assert seen == [[3], [6], [3]]


def test_G15_a_hook_that_removes_itself_raises_or_gives_a_text():
    x = leaf([1.0])
    handles = []
    handles.append(x.register_hook(lambda g: handles[0].remove()))
    (x * 3).backward()
    (x * 3).backward()
    assert x.grad.tolist() == [6]
    bad = x.register_hook(lambda g: "text")
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'str'"):
        (x * 3).backward()
    bad.remove()
    fault = KeyError("mine")

    def fail(g):
        raise fault

    y = x * 3
    y.register_hook(fail)
    with pytest.raises(KeyError) as raised:
        y.backward()
    assert raised.value is fault
    assert x.grad.tolist() == [6]


def test_G15_the_gradient_of_what_is_no_leaf_is_kept():
    x = leaf([1.0])
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    (y * 3).backward()
    assert y.grad.tolist() == [3]
    assert y.retains_grad


def test_G15_a_hook_calls_backward():
    x, w = leaf([1.0]), leaf([5.0])

    def hook(g):
        with autograd.enable_grad():
            (w * w).backward()

    x.register_hook(hook)
    (x * 3).backward()
    assert w.grad.tolist() == [10]


class Square(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * 2


def test_G16_a_function_in_python():
    x = leaf([3.0])
    y = Square.apply(x)
    assert y.grad_fn.name() == "SquareBackward"
    y.backward()
    assert x.grad.tolist() == [6]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    assert autograd.gradcheck(Square.apply, [leaf([1.0, 2.0])])
    assert autograd.gradgradcheck(Square.apply, [leaf([1.0, 2.0])])


def test_G16_what_a_function_may_give_and_mark():
    class Several(autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            mask = x > 0
            ctx.mark_non_differentiable(mask)
            ctx.scale = scale
            return x, mask, "text", x * scale

        @staticmethod
        def backward(ctx, g, _, __, h):
            assert g.tolist() == [0, 0]
            return g + h * ctx.scale, None

    x = leaf([1.0, -2.0])
    same, mask, text, scaled = Several.apply(x, 3)
    assert same is not x
    assert text == "text"
    assert not mask.requires_grad
    scaled.sum().backward()
    assert x.grad.tolist() == [3, 3]
    with autograd.no_grad():
        assert not Several.apply(x, 3)[3].requires_grad


def test_G16_once_differentiable():
    class Once(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @autograd.once_differentiable
        def backward(ctx, grad):
            return grad * 2

    x = leaf([1.0])
    seed = leaf([1.0])
    (g,) = autograd.grad(Once.apply(x), x, seed, create_graph=True)
    assert g.tolist() == [2]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.backward()


def test_G16_no_function_is_leaked():
    class Held(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.mine = marker = Marker()
            seen.append(weakref.ref(marker))
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    class Marker:
        pass

    seen = []
    y = Held.apply(leaf([1.0]))
    assert seen[0]() is not None
    y.backward()
    del y
    assert seen[0]() is None


def test_G17_a_backward_inside_of_a_backward_to_any_depth():
    x = leaf([1.0])

    class Deeper(autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth > 0:
                with autograd.enable_grad():
                    inner = leaf([1.0])
                    Deeper.apply(inner, ctx.depth - 1).backward()
                depths.append(ctx.depth)
            return grad, None

    depths = []
    Deeper.apply(x, 100).backward()
    assert depths == list(range(1, 101))
    assert x.grad.tolist() == [1]


def test_G17_a_backward_that_begins_itself_without_end_is_refused():
    class Endless(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            depths.append(len(depths))
            with autograd.enable_grad():
                Endless.apply(leaf([1.0])).backward()
            return grad

    depths = []
    with pytest.raises(RecursionError, match="6000 backwards are inside of each other"):
        Endless.apply(leaf([1.0])).backward()
    assert len(depths) == 6000


def test_G17_a_long_chain_of_calls():
    x = leaf([1.0])
    y = x
    for _ in range(50_000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1]


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_G18_anomaly_mode_shows_the_call_and_finds_nan():
    x = leaf([0.0])
    with autograd.detect_anomaly():
        y = (x / x).log()
        with pytest.raises(ValueError, match="returned nan values in its 0th output") as raised:
            y.sum().backward()
    assert "test_gradients.py" in str(raised.value)


def test_G18_anomaly_mode_warns_that_it_is_slow():
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled") as given:
        autograd.detect_anomaly()
    assert given[0].filename == __file__


def test_G5_what_arrives_at_an_edge_is_captured_and_its_function_not_run():
    x = opyard.tensor([2.0]).requires_grad_()
    y = x * 3
    calls = []
    y.grad_fn.register_prehook(lambda gradients: calls.append("ran"))
    z = y * y
    (gradient,) = opyard.autograd.grad(z, y)
    assert gradient.tolist() == [12.0]
    # The function of y is reached, and nothing behind it.
    assert x.grad is None
