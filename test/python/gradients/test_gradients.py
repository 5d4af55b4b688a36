"""Gradients from Python: what is recorded, runs, hooks, modes, functions (G, A32, F16 to F21).

Suspect autograd/, by the table of its README.
"""

import contextlib
import gc
import os
import threading
import weakref

import pytest
from built import plain_build
from leaves import leaf
from processes import run

import opyard
from opyard import autograd
from opyard.library import Library

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


def test_G2_nothing_flows_where_nothing_is_wanted():
    x = leaf([1.0, 2.0])
    w = opyard.tensor([3.0, 4.0], dtype=opyard.float64)
    y = x * w
    assert y.grad_fn.next_functions[1] == (None, 0)
    y.sum().backward()
    assert x.grad.tolist() == [3, 4]
    assert w.grad is None


def test_G3_sequence_numbers_grow():
    x = leaf([1.0])
    a = x * 2
    b = a * 2
    assert b.grad_fn.sequence_nr > a.grad_fn.sequence_nr


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
    with pytest.raises(ValueError, match=r"modified by an inplace operation: float64\[2\]"):
        y.sum().backward()


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
        assert dispatch.tls_local_exclude_set().has("AutogradFunctionality")
        made = opyard.tensor([1.0])
        assert made.is_inference()
        assert "Autograd" not in str(dispatch.keys_of(made))
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
    import weakref

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


def test_G19_what_is_accumulated_is_no_one_elses():
    x = leaf([1.0, 2.0])
    seed = opyard.tensor([1.0, 1.0], dtype=opyard.float64)
    (x + 0).backward(seed)
    seed.mul_(10)
    assert x.grad.tolist() == [1, 1]


# Views and writes.


def test_a_write_into_a_buffer_is_differentiated():
    y = leaf([1.0, 2.0])
    buffer = aten.zeros([2, 2], dtype=opyard.float64)
    buffer[0] = y
    buffer[1] = y * 3
    (buffer * buffer).sum().backward()
    assert y.grad.tolist() == [2 + 18, 4 + 36]


def test_a_view_made_before_the_write_sees_its_history():
    y = leaf([1.0, 2.0])
    buffer = aten.zeros([2, 2], dtype=opyard.float64)
    row = buffer[1]
    buffer[1] = y
    assert row.requires_grad
    (row * row).sum().backward()
    assert y.grad.tolist() == [2, 4]


def test_a_write_through_a_view_of_a_result():
    x = leaf([1.0, 2.0, 3.0])
    h = x * 2
    v = h[1:]
    v.mul_(10)
    h.sum().backward()
    assert x.grad.tolist() == [2, 20, 20]


def test_an_in_place_chain_uses_what_was_there_before():
    x = leaf([1.0, 2.0])
    y = leaf([3.0, 4.0])
    h = x * 1
    h.mul_(y)
    h.mul_(h)
    h.sum().backward()
    assert x.grad.tolist() == [2 * 1 * 9, 2 * 2 * 16]
    assert y.grad.tolist() == [2 * 3 * 1, 2 * 4 * 4]


def test_a_detached_tensor_sees_no_history():
    x = leaf([1.0, 2.0])
    h = x * 2
    d = h.detach()
    h[0] = x[1]
    assert not d.requires_grad
    assert not d[0].requires_grad
    assert h.requires_grad


def test_writes_that_must_not_be():
    x = leaf([1.0, 2.0])
    h = x * 2
    with autograd.no_grad():
        view = h[0]
    with pytest.raises(ValueError, match="made under no_grad"):
        view.add_(x[0])
    wide = h[:1].expand([3])
    with pytest.raises(ValueError, match="expanded tensor"):
        wide.add_(1)
    with autograd.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 3]


def test_filling_takes_the_history_away():
    x = leaf([1.0, 2.0])
    h = x * 2
    h.zero_()
    (h.sum() + (x * 3).sum()).backward()
    assert x.grad.tolist() == [3, 3]


def test_out_forms_cannot_record():
    x = leaf([1.0])
    out = opyard.tensor([0.0], dtype=opyard.float64)
    with pytest.raises(NotImplementedError, match="functions with out=... arguments don't support"):
        aten.mul(x, x, out=out)


# Operators of users.


def test_G11_two_elements_in_one_place_are_not_written():
    y = aten.expand(leaf([1.0]) * 1, [2])
    with pytest.raises(ValueError, match="several elements are one place in memory"):
        y.mul_(2)


def test_G1_an_argument_that_is_handed_through_keeps_its_history():
    lib = Library("gradthrough", "FRAGMENT")
    lib.define("same(Tensor x) -> Tensor")
    lib.impl("same", lambda x: x, "CPU")
    x = leaf([1.0])
    y = x * 2
    z = opyard.ops.gradthrough.same(y)
    assert z is y
    assert z.grad_fn.name() == "MulBackward"
    z.sum().backward()
    assert x.grad.tolist() == [2.0]
    lib._destroy()


def test_G3_of_functions_that_are_ready_the_youngest_runs_first():
    ran = []

    class Noting(autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            ran.append(ctx.name)
            return gradient, None

    x = leaf([1.0])
    first, second, third = (Noting.apply(x, name) for name in ("first", "second", "third"))
    (third + first + second).sum().backward()
    assert ran == ["third", "second", "first"]


@pytest.mark.parametrize("sizes, sums", [((1, 4), 3.0), ((4,), 3.0), ((3, 1), 4.0), ((), 12.0)])
def test_G7_a_gradient_that_is_larger_is_summed_to_its_tensor(sizes, sums):
    class Wide(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, gradient):
            return opyard.ones(3, 4, dtype=opyard.float64)

    x = opyard.zeros(list(sizes), dtype=opyard.float64).requires_grad_()
    Wide.apply(x).backward()
    assert x.grad.shape == sizes
    assert x.grad.reshape(-1).tolist() == [sums] * x.numel()
    y = opyard.zeros(2, 4, dtype=opyard.float64).requires_grad_()
    with pytest.raises(
        RuntimeError, match=r"got \[3, 4\] but expected shape compatible with \[2, 4\]"
    ):
        Wide.apply(y).backward()


def test_F19_register_autograd():
    lib = Library("gradlib", "DEF")
    lib.define("scaled(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor")
    lib.impl("scaled", lambda x, y, *, alpha=1.0: x * y * alpha, "CPU")
    seen = []

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        x, y = inputs
        ctx.save_for_backward(x, y)
        ctx.alpha = keyword_only_inputs["alpha"]
        seen.append(ctx.needs_input_grad)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y * ctx.alpha, grad * x * ctx.alpha

    opyard.library.register_autograd("gradlib::scaled", backward, setup_context=setup_context)
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    opyard.ops.gradlib.scaled(x, y, alpha=2.0).sum().backward()
    assert x.grad.tolist() == [6, 8]
    assert y.grad.tolist() == [2, 4]
    assert seen == [(True, True, False)]
    with autograd.no_grad():
        opyard.ops.gradlib.scaled(x, y)
    assert len(seen) == 1


def test_X31_a_derivative_is_a_line():
    lib = Library("gradline", "DEF")
    lib.define("scaled(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor")
    lib.impl("scaled", lambda x, y, *, alpha=1.0: x * y * alpha, "CPU")
    lib.derivative(
        "scaled", {"x": "sum_to(grad * y * alpha, x)", "y": "sum_to(grad * x * alpha, y)"}
    )
    x, y = leaf([1.0, 2.0]), leaf([3.0])
    run = lambda x, y: opyard.ops.gradline.scaled(x, y, alpha=2.0)  # noqa: E731
    assert autograd.gradcheck(run, [x, y])
    assert autograd.gradgradcheck(run, [x, y])
    with pytest.raises(RuntimeError, match="for 'z', which is no argument"):
        lib.derivative("scaled", {"z": "grad"})


def test_X31_a_wrong_formula_is_shown_with_its_place(formulas_unread):
    lib = Library("gradwrong", "DEF")
    lib.define("one(Tensor x) -> Tensor")
    lib.impl("one", lambda x: x * 1, "CPU")
    lib.derivative("one", {"x": "grad * y"})
    with pytest.raises(ValueError, match="the derivative of gradwrong::one for x") as raised:
        autograd.check_formulas(opyard.ops.gradwrong.one.default)
    assert "^" in str(raised.value)
    with pytest.raises(ValueError, match="the derivative of gradwrong::one for x"):
        opyard.ops.gradwrong.one(leaf([1.0]))


@pytest.mark.parametrize("formula", ["grad * y", "grad * (", "numel(x)", "no_such_operator(grad)"])
def test_X31_a_wrong_formula_is_refused_where_it_is_registered(formulas_unread, formula):
    autograd.check_formulas_at_registration()
    opyard.ops.aten.mul  # noqa: B018 - loads the operators that formulas call
    lib = Library("gradearly", "DEF")
    lib.define("one(Tensor x) -> Tensor")
    lib.impl("one", lambda x: x * 1, "CPU")
    lib.derivative("one", {"x": "grad * 3"})
    with pytest.raises(ValueError, match="(?s)gradearly::one.*registered") as raised:
        lib.derivative("one", {"x": formula})
    assert formula in str(raised.value)
    assert autograd.formulas(opyard.ops.gradearly.one.default) == [("x", "grad * 3")]
    x = leaf([1.0])
    opyard.ops.gradearly.one(x).backward()
    assert x.grad.tolist() == [3]
    lib._destroy()


def test_X31_formulas_are_read_at_registration_only_if_that_is_asked(formulas_unread):
    lib = Library("gradlate", "DEF")
    lib.define("one(Tensor x) -> Tensor")
    lib.derivative("one", {"x": "later(grad)"})
    assert autograd.check_formulas_at_registration() is False
    lib.derivative("undefined", {"x": "later(grad)"})  # of nothing, yet
    lib.define("later(Tensor x) -> Tensor")
    lib.derivative("one", {"x": "later(grad)"})
    lib._destroy()


WRONG_AT_FIRST = """
import os, sys
os.environ["OPYARD_CHECK_FORMULAS"] = sys.argv[1]
import opyard
from opyard import autograd
opyard.ones(1)
lib = opyard.library.Library("wrong_at_first", "DEF")
lib.define("one(Tensor x) -> Tensor")
try:
    lib.derivative("one", {"x": "grad * y"})
except ValueError:
    print("refused")
else:
    print("taken")
"""


@plain_build  # those for sanitizers are debug builds, which always read them
def test_X31_the_environment_asks_for_formulas_to_be_read_at_registration():
    for value, wanted in (("1", "refused"), ("0", "taken"), ("", "taken")):
        assert run(WRONG_AT_FIRST, value).stdout == wanted + "\n"


def test_F21_an_operator_without_a_formula_raises_at_backward():
    lib = Library("gradless", "DEF")
    lib.define("one(Tensor x) -> Tensor")
    lib.define("write_(Tensor(a!) x) -> Tensor(a!)")
    lib.impl("one", lambda x: x * 1, "CPU")
    lib.impl("write_", lambda x: x.add_(1), "CPU")
    x = leaf([1.0])
    y = opyard.ops.gradless.one(x)
    assert y.requires_grad
    with pytest.raises(NotImplementedError, match="no autograd formula"):
        y.backward()
    with pytest.raises(NotImplementedError, match="writes an argument"):
        opyard.ops.gradless.write_(x * 1)


def test_F18_a_declared_write_that_was_not_counted_is():
    lib = Library("gradwrites", "DEF")
    lib.define("fill(Tensor(a!) x) -> ()")
    lib.impl("fill", lambda x: x.numpy().fill(5), "CPU")
    autograd.is_grad_enabled()
    x = leaf([1.0])
    h = x * 1
    y = h * h
    with autograd.no_grad():
        version = h._version
        opyard.ops.gradwrites.fill(h)
        assert h._version == version + 1
    with pytest.raises(ValueError, match="modified by an inplace operation"):
        y.backward()


def test_F20_lists_take_and_give_lists():
    lib = Library("gradlists", "DEF")
    lib.define("both(Tensor[] xs) -> Tensor[]")
    lib.impl("both", lambda xs: [x * 2 for x in xs], "CPU")
    opyard.library.register_autograd("gradlists::both", lambda ctx, grads: [g * 2 for g in grads])
    a, b = leaf([1.0]), leaf([2.0])
    first, second = opyard.ops.gradlists.both([a, b])
    (first + second * 3).backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([2], [6])


def test_F44_handlers_stay_below_autograd():
    from opyard.dispatch import DispatchMode

    class Log(DispatchMode):
        def __opyard_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.name())
            return func(*args, **(kwargs or {}))

    seen = []
    x = leaf([2.0])
    with Log():
        y = x * x
    assert y.requires_grad
    assert seen == ["aten::mul.Tensor"]
    y.backward()
    assert x.grad.tolist() == [4]


STEPS = """
import opyard
from opyard import autograd

def peak():  # KiB
    (line,) = [one for one in open("/proc/self/status") if one.startswith("VmHWM:")]
    return int(line.split()[1])

w = opyard.tensor([0.5] * 64, dtype=opyard.float64).requires_grad_()
x = opyard.tensor([1.0] * 64, dtype=opyard.float64)

def steps(count):
    for _ in range(count):
        loss = ((x * w).tanh() - 1).pow(2).sum()
        loss.backward()
        with autograd.no_grad():
            w.sub_(w.grad * 0.01)
        w.grad = None

steps(200)
before = peak()
steps(1000)
print(peak() - before)
"""


@pytest.mark.skipif("OPYARD_SANITIZER" in os.environ, reason="a sanitizer keeps what is freed")
def test_G20_a_thousand_steps_leave_nothing():
    grown = run(STEPS, limit=60)
    assert grown.stderr == ""
    assert int(grown.stdout) < 1024


def test_F32_an_argument_that_is_written_and_read_is_saved_as_it_was():
    with contextlib.closing(Library("written_and_read", "DEF")) as lib:
        lib.define("scale_(Tensor(a!) self, Tensor by) -> Tensor(a!)")
        lib.impl("scale_", lambda self, by: self.mul_(by), "CPU")
        lib.derivative("scale_", {"self": "grad * by", "by": "None"})
        x = leaf([2.0, 3.0])
        y = x * 1
        opyard.ops.written_and_read.scale_(y, y)
        y.sum().backward()
        assert x.grad.tolist() == [2, 3]


def test_F21_an_argument_without_a_formula_raises_beside_one_that_has_one():
    with contextlib.closing(Library("half_known", "DEF")) as lib:
        lib.define("both(Tensor a, Tensor b) -> Tensor")
        lib.impl("both", lambda a, b: a + b, "CPU")
        lib.derivative("both", {"a": "grad"})
        known, unknown = leaf([1.0]), leaf([2.0])
        result = opyard.ops.half_known.both(known, unknown)
        with pytest.raises(NotImplementedError, match="no autograd formula for its argument 'b'"):
            result.backward()
        opyard.ops.half_known.both(known, unknown.detach()).backward()
        assert known.grad.tolist() == [1]


def test_F32_a_formula_of_a_list_gives_a_list():
    with contextlib.closing(Library("of_lists", "DEF")) as lib:
        lib.define("total(Tensor[] xs) -> Tensor")
        lib.impl("total", lambda xs: xs[0] + xs[1], "CPU")
        lib.derivative("total", {"xs": "grad"})
        result = opyard.ops.of_lists.total([leaf([1.0]), leaf([2.0])])
        with pytest.raises(RuntimeError, match="a list of gradients is wanted"):
            result.backward()


def test_G15_a_hook_that_came_first_is_seen_by_what_is_retained():
    x = leaf([1.0])
    y = x * 3
    y.register_hook(lambda gradient: gradient * 2)
    y.retain_grad()
    y.backward()
    assert y.grad.tolist() == [2]
    assert x.grad.tolist() == [6]


def test_F32_a_history_of_memory_does_not_own_the_memory():
    class Mark:
        pass

    class Marked(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark = Mark()
            marks.append(weakref.ref(ctx.mark))
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad

    marks = []

    def written():
        buffer = opyard.zeros(3)
        buffer[0] = Marked.apply(leaf(2.0))
        buffer.relu_()  # saves its result
        buffer.mul_(buffer)  # saves what is on the memory that it is a history of
        buffer[1:].mul_(buffer[:2] + 1)
        assert marks[-1]() is not None

    for _ in range(3):
        written()
    assert [mark() for mark in marks] == [None] * 3


def test_F19_an_output_that_was_not_used_gives_zeros():
    with contextlib.closing(Library("unused", "DEF")) as lib:
        lib.define("both(Tensor x) -> (Tensor, Tensor)")
        lib.impl("both", lambda x: (x * 2, x * 3), "CPU")
        seen = []

        def backward(ctx, first, second):
            seen.append((first, second))
            return first * 2 + (0 if second is None else second * 3)

        def without(ctx, inputs, output):
            ctx.set_materialize_grads(False)

        opyard.library.register_autograd("unused::both", backward, lib=lib)
        x = opyard.tensor([1.0, 2.0]).requires_grad_()
        opyard.ops.unused.both(x)[0].sum().backward()
        assert seen[-1][1].tolist() == [0.0, 0.0]
        assert x.grad.tolist() == [2.0, 2.0]
        opyard.library.register_autograd("unused::both", backward, setup_context=without, lib=lib)
        opyard.ops.unused.both(x)[0].sum().backward()
        assert seen[-1][1] is None


def test_a_call_that_writes_two_arguments_records_both():
    with contextlib.closing(Library("two_writes", "DEF")) as lib:
        lib.define("scale_(Tensor(a!) x, Tensor(b!) y, Tensor by) -> (Tensor(a!), Tensor(b!))")

        def scale(x, y, by):
            return x.mul_(by), y.mul_(by)

        lib.impl("scale_", scale, "CPU")
        lib.derivative("scale_", {"x": "grad0 * by", "y": "grad1 * by", "by": "None"})
        a = opyard.tensor([1.0, 2.0]).requires_grad_()
        b = opyard.tensor([3.0, 4.0]).requires_grad_()
        x, y = a * 1, b * 1
        opyard.ops.two_writes.scale_(x, y, opyard.tensor([10.0, 100.0]))
        (x.sum() + y.sum() * 2).backward()
        assert a.grad.tolist() == [10.0, 100.0]
        assert b.grad.tolist() == [20.0, 200.0]


def test_a_write_of_plain_values_to_a_view_made_without_gradients_is_refused():
    x = leaf([1.0, 2.0])
    h = x * 2
    with autograd.no_grad():
        view = h[:1]
        of_view = view.view(1)
        leafs = x[:1]
    for written in (view, of_view, leafs):
        version = h._version
        with pytest.raises(ValueError, match="made under no_grad"):
            written.mul_(0)
        with pytest.raises(ValueError, match="made under no_grad"):
            aten.add.out(opyard.tensor([1.0]), opyard.tensor([1.0]), out=written)
        assert h._version == version
    assert h.tolist() == [2, 4]
    with autograd.no_grad():
        view.mul_(1)
    assert (view * 2).tolist() == [4], "it is read as before"
    assert not (view * 2).requires_grad
    view.detach().mul_(0)
    assert h.tolist() == [0, 4]


def test_G2_what_is_made_like_a_tensor_needs_no_gradient():
    x = leaf([[1.0, 2.0]])
    aten = opyard.ops.aten
    made = [aten.new_zeros(x, [2]), aten.new_ones(x, [2]), aten.new_full(x, [2], 3.0)]
    made += [aten.new_empty(x, [2]), aten.new_empty_strided(x, [2], [1]), aten.zeros_like(x)]
    assert not any(one.requires_grad for one in made)
    assert made[0].add_(1).tolist() == [1, 1]


@pytest.mark.parametrize(
    "parts",
    [
        lambda x: opyard.ops.aten.unbind(x),
        lambda x: opyard.ops.aten.split(x, 1),
        lambda x: opyard.ops.aten.split(x, [1, 2]),
        lambda x: opyard.ops.aten.split_with_sizes(x, [1, 2]),
        lambda x: opyard.ops.aten.chunk(x, 2),
    ],
    ids=["unbind", "split", "split.sizes", "split_with_sizes", "chunk"],
)
def test_F32_one_of_several_views_is_not_written_with_gradients_on(parts):
    x = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = x * 1
    for view in (parts(y)[0], opyard.ops.aten.alias(parts(y)[0])):
        with pytest.raises(ValueError, match="a function that returns multiple views"):
            view.mul_(2)
    assert y._version == 0
    with autograd.no_grad():
        parts(y)[0].mul_(1)
        unrecorded = parts(y)[0]
    with pytest.raises(ValueError, match="made under no_grad"):
        unrecorded.mul_(2)
    assert type(parts(y)[0].grad_fn.name()) is str
    (parts(y)[-1] * 3).sum().backward()
    assert x.grad[0].sum().item() == 0
    assert x.grad[2].tolist() == [3, 3]


def test_G11_a_detached_tensor_and_its_views_have_a_history_of_their_own():
    x = leaf([3.0])
    whole = leaf([1.0, 2.0, 4.0]) * 1
    one, other = whole.detach(), whole.detach()
    before = one[1:]
    one[:1].mul_(x)  # through a view
    assert one.requires_grad and before.requires_grad and one[2:].requires_grad
    assert not other.requires_grad and not other[:1].requires_grad
    assert not one.detach().requires_grad
    (one * one).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [6]  # one[0] is 1 * 3: 2 * 3 * 1
    other.mul_(x)  # the whole of it
    x.grad = None
    other[1:].sum().backward()
    assert x.grad.tolist() == [6]
    assert whole.tolist() == [9, 6, 12], "the memory is one"
    before.sum()


def test_G11_what_is_detached_before_a_write_takes_no_part_in_it():
    x = leaf([3.0])
    buffer = opyard.tensor([1.0, 2.0], dtype=opyard.float64)
    apart = buffer.detach()  # of something without a history
    buffer[:1].mul_(x)
    assert buffer.requires_grad and not apart.requires_grad
    assert not apart[:1].requires_grad


def test_a_view_made_without_gradients_has_none_of_its_memory():
    x = opyard.tensor([1.0, 2.0]).requires_grad_()
    buffer = opyard.tensor([0.0, 0.0])
    alias = buffer.alias()
    buffer[0] = x[0]
    with opyard.autograd.no_grad():
        view = buffer[:1]
    assert buffer.requires_grad and alias.requires_grad and not view.requires_grad


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


def test_X31_an_in_place_form_follows_a_formula_that_is_given_anew():
    with opyard.library.Library("renewed", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.define("f_(Tensor(a!) x) -> Tensor(a!)")
        lib.impl("f", lambda x: x * 2, "CPU")
        lib.impl("f_", lambda x: x.mul_(2), "CPU")

        def gradient():
            x = leaf([1.0])
            y = x * 1
            opyard.ops.renewed.f_(y).backward()
            return x.grad.tolist()

        with pytest.raises(NotImplementedError, match="has no autograd formula"):
            gradient()
        lib.derivative("f", {"x": "grad * 2"})
        assert gradient() == [2.0]
        lib.derivative("f", {"x": "grad * 7"})
        assert gradient() == [7.0]
        other = opyard.library.Library("renewed", "FRAGMENT")
        other.derivative("f", {"x": "grad * 9"})
        assert gradient() == [9.0]
        other._destroy()
        assert gradient() == [7.0]


def test_F44_a_wrapper_of_a_class_may_require_a_gradient():
    class Wrapped(opyard.Tensor):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args, kwargs=None):
            return op(*[a.inner if isinstance(a, Wrapped) else a for a in args], **(kwargs or {}))

    x = Wrapped.make_wrapper_subclass(Wrapped, [2], dtype=opyard.float32, requires_grad=True)
    x.inner = opyard.tensor([3.0, 4.0])
    assert (x.requires_grad, x.is_leaf, type(x)) == (True, True, Wrapped)
    (x * opyard.tensor([5.0, 6.0])).sum().backward()
    assert x.grad.tolist() == [5.0, 6.0]
    with pytest.raises(TypeError, match="floating point"):
        Wrapped.make_wrapper_subclass(Wrapped, [2], dtype=opyard.int64, requires_grad=True)


class Kept:
    """Something of which a weak reference says whether it is still there."""


def collected(make):
    """Whether what make(kept) leaves behind is found by the collector."""
    kept = Kept()
    gone = weakref.ref(kept)
    make(kept)
    del kept
    gc.collect()
    return gone() is None


def hook_of_a_leaf(kept):
    x = leaf([1.0])
    x.register_hook(lambda grad: (x, kept) and None)


def hook_of_a_result(kept):
    y = leaf([1.0]) * 2
    y.register_hook(lambda grad: (y, kept) and None)


def hook_of_a_function(kept):
    y = leaf([1.0]) * 2
    y.__dict__  # noqa: B018
    node = y.grad_fn
    node.register_prehook(lambda grads: (y, kept) and None)
    node.register_hook(lambda grads, given: (y, kept) and None)


def context_of_a_function(kept):
    class Doubles(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept, ctx.result = kept, x * 2
            return ctx.result

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    Doubles.apply(leaf([1.0]))


def context_of_an_operator(kept):
    with opyard.library.Library("collected", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x * 2, "CPU")

        def setup(ctx, inputs, output):
            ctx.kept, ctx.result = kept, output

        opyard.library.register_autograd(
            "collected::f", lambda ctx, grad: grad * 2, setup_context=setup, lib=lib
        )
        opyard.ops.collected.f(leaf([1.0]))
        del setup


@pytest.mark.parametrize(
    "make",
    [
        hook_of_a_leaf,
        hook_of_a_result,
        hook_of_a_function,
        context_of_a_function,
        context_of_an_operator,
    ],
    ids=lambda make: make.__name__,
)
def test_G15_cycles_through_hooks_and_contexts_are_collected(make):
    assert collected(make)


def test_G15_what_the_collector_sees_of_a_graph_in_use_stays():
    seen = []
    x = leaf([1.0])
    y = x * 2
    y.register_hook(lambda grad, y=y: seen.append(y.tolist()))
    z = y * 3
    del y
    gc.collect()
    z.backward()
    assert seen == [[2.0]]
    assert x.grad.tolist() == [6.0]


def test_G11_a_write_through_a_view_of_a_view_keeps_what_the_first_view_leaves_out():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    y[1:][0].mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [1, 3, 1]


def test_G7_a_formula_gets_zeros_for_a_result_that_no_gradient_came_for():
    with contextlib.closing(Library("two_results", "DEF")) as lib:
        lib.define("both(Tensor x) -> (Tensor, Tensor)")
        lib.impl("both", lambda x: (x * 2, x * 3), "CPU")
        lib.derivative("both", {"x": "grad0 * 2 + grad1 * 3"})
        x = leaf([1.0, 2.0])
        opyard.ops.two_results.both(x)[0].sum().backward()
        assert x.grad.tolist() == [2, 2]
        opyard.ops.two_results.both(x)[1].sum().backward()
        assert x.grad.tolist() == [5, 5]


def test_G8_a_tensor_that_requires_a_gradient_is_no_number():
    x, by = leaf([1.0, 2.0]), leaf(3.0)
    for call in (
        lambda: aten.add(x, x, alpha=by),
        lambda: aten.leaky_relu(x, by),
        lambda: aten.full([2], by),
        lambda: x.narrow(0, 0, by),
    ):
        with pytest.raises(TypeError, match=r"requires a gradient.*detach\(\) or item\(\)"):
            call()
    with autograd.no_grad():
        assert aten.add(x, x, alpha=by).tolist() == [4.0, 8.0]
    assert aten.add(x, x, alpha=by.detach()).tolist() == [4.0, 8.0]
    assert aten.add(x, x, alpha=by.item()).tolist() == [4.0, 8.0]


def test_G8_operators_that_take_a_tensor_for_a_number_give_it_a_gradient():
    x, y, by = leaf([1.0, 2.0]), leaf([3.0, 5.0]), leaf(0.25)
    mask = opyard.tensor([True, False])
    assert autograd.gradcheck(lambda x, by: aten.masked_fill(x, mask, by), [x, by])
    for weight in (by, leaf(0.75), leaf([0.25, -1.5])):
        assert autograd.gradcheck(aten.lerp, [x, y, weight])
        assert autograd.gradgradcheck(aten.lerp, [x, y, weight])
    assert aten.masked_fill(opyard.tensor([1, 2]), mask, opyard.tensor(7)).tolist() == [7, 2]
    with pytest.raises(TypeError, match="whose dtype has no higher category"):
        aten.masked_fill(opyard.tensor([1, 2]), mask, opyard.tensor(7.5))
    with pytest.raises(TypeError, match="accepted is a tensor without dimensions"):
        aten.masked_fill(x, mask, y)
