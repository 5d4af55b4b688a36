"""Derivatives of users' operators: registered functions, formulas, lists (F18 to F44, X31).

Suspect autograd/src/functions/derivative.cpp, formula_function.cpp, and
autograd/python/opyard/_autograd/registered.py.
"""

import contextlib
import os
import weakref

import pytest
from built import plain_build
from leaves import leaf
from processes import run

import opyard
from opyard import autograd
from opyard.library import Library

aten = opyard.ops.aten


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
    opyard.ops.gradlib.scaled(x.detach(), y.detach())
    assert len(seen) == 1


def test_F19_setup_context_gets_the_defaults_of_what_was_not_given():
    lib = Library("graddefaults", "DEF")
    lib.define("f(Tensor x, float a=1.5, str? b=None, *, int k=3) -> Tensor")
    lib.impl("f", lambda x, a=1.5, b=None, *, k=3: x * a, "CPU")
    seen = []

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        seen.append((inputs[1:], keyword_only_inputs))

    opyard.library.register_autograd(
        "graddefaults::f", lambda ctx, grad: grad * 1.5, setup_context=setup_context, lib=lib
    )
    x = leaf([1.0])
    opyard.ops.graddefaults.f(x)
    opyard.ops.graddefaults.f(x, 2.0, k=4)
    assert seen == [((1.5, None), {"k": 3}), ((2.0, None), {"k": 4})]
    lib._destroy()


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


def test_X31_formulas_are_found_by_operator_packet_and_name():
    assert autograd.formulas("aten::relu") == autograd.formulas(opyard.ops.aten.relu.default)
    assert autograd.formulas(opyard.ops.aten.relu) is not None
    with pytest.raises(TypeError, match="has several overloads"):
        autograd.formulas(opyard.ops.aten.add)
    for op in ("aten::relu", opyard.ops.aten.relu, opyard.ops.aten.add, opyard.ops.aten.sum):
        autograd.check_formulas(op)
    for op in ("aten::argmax", opyard.ops.aten.argmax):
        with pytest.raises(LookupError, match="aten::argmax.* has no derivative"):
            autograd.check_formulas(op)


def test_X31_a_wrong_formula_is_shown_with_its_place(formulas_unread):
    lib = Library("gradwrong", "DEF")
    lib.define("one(Tensor x) -> Tensor")
    lib.impl("one", lambda x: x * 1, "CPU")
    lib.derivative("one", {"x": "grad * y"})
    with pytest.raises(ValueError, match="the derivative of gradwrong::one for x") as raised:
        autograd.check_formulas(opyard.ops.gradwrong.one)
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
    lib.define("undefined(Tensor x) -> Tensor")
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
