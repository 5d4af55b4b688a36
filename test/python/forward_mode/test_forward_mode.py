"""test_forward_mode.py: dual tensors, levels, writes in place, and what has no rule.

Suspect autograd/src/forward.cpp and forward_call.cpp; _autograd/forward_ad.py for Functions.
"""

import gc
import weakref

import pytest
from leaves import leaf

import opyard
from opyard import autograd
from opyard.autograd import forward_ad as fwd
from opyard.library import Library

aten = opyard.ops.aten
pytestmark = pytest.mark.memory


def t(*values):
    return opyard.tensor(list(values), dtype=opyard.float64)


X, V = t(0.5, -1.0, 2.0), t(1.0, 2.0, -3.0)


@pytest.fixture
def level():
    with fwd.dual_level() as number:
        yield number


@pytest.fixture
def lib():
    with Library("slopes", "DEF") as made:
        yield made


def tangent(tensor):
    found = fwd.unpack_dual(tensor).tangent
    return None if found is None else found.tolist()


# Levels and dual tensors.


def test_a_dual_tensor_is_a_view_with_a_tangent(level):
    dual = fwd.make_dual(X, V)
    assert dual.tolist() == X.tolist() and tangent(dual) == V.tolist()
    primal, found = fwd.unpack_dual(dual)
    assert found is V or found.data_ptr() == V.data_ptr()
    assert primal.data_ptr() == X.data_ptr() and tangent(primal) is None
    assert tangent(X) is None


def test_tangents_end_with_their_level():
    with fwd.dual_level():
        dual = fwd.make_dual(X, V)
        y = dual * dual
    assert tangent(dual) is None and tangent(y) is None
    assert tangent(dual * 2) is None
    with fwd.dual_level():
        assert tangent(dual * 2) is None
        assert tangent(fwd.make_dual(dual, V) * 2) == [2.0, 4.0, -6.0]


def test_a_level_frees_what_its_tangents_hold():
    class Held(opyard.Tensor):
        pass

    with fwd.dual_level():
        direction = V.clone().requires_grad_()
        y = fwd.make_dual(X, direction).exp()
        z = y * y
        ends = weakref.ref(fwd.unpack_dual(z).tangent)
    del direction
    gc.collect()
    assert ends() is None
    assert z.tolist() == pytest.approx(((X * 2).exp()).tolist())


def test_there_is_one_level_at_a_time(level):
    with pytest.raises(autograd.GradientError, match="another inside of it would mean tangents of"):
        fwd.enter_dual_level()
    with pytest.raises(
        autograd.GradientError, match=f"level {level + 5} of forward mode is not open"
    ):
        fwd.exit_dual_level(level=level + 5)
    assert tangent(fwd.make_dual(X, V, level=level)) == V.tolist()
    with pytest.raises(autograd.GradientError, match="is not open on this thread"):
        fwd.make_dual(X, V, level=level + 1)


def test_without_a_level_nothing_is_dual():
    with pytest.raises(autograd.GradientError, match="no level of forward mode is open"):
        fwd.make_dual(X, V)
    with pytest.raises(autograd.GradientError, match="what is open is none"):
        fwd.exit_dual_level()
    assert fwd.unpack_dual(X).tangent is None


REFUSED = [
    (lambda: fwd.make_dual(X, V[:2]), ValueError, r"of shape \[3\] has that shape, and not \[2\]"),
    (lambda: fwd.make_dual(X, V.float()), TypeError, "the tangent of .* has its dtype and device"),
    (lambda: fwd.make_dual(opyard.tensor([1]), opyard.tensor([1])), TypeError, "do not change by"),
    (lambda: fwd.make_dual(fwd.make_dual(X, V), V), ValueError, "has a tangent already"),
    (lambda: fwd.make_dual(X, 1.0), TypeError, "tangent must be a Tensor, not an object of float"),
    (lambda: fwd.unpack_dual(1.0), TypeError, "a Tensor is wanted, not an object of float"),
    (lambda: fwd.make_dual(X, V, lvl=0), TypeError, "has no argument 'lvl'"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED, ids=[one[2] for one in REFUSED])
def test_what_is_no_tangent_is_refused(level, call, kind, message):
    with pytest.raises(kind, match=message):
        call()


# Calls.


def test_tangents_of_arguments_add_up(level):
    x, y = fwd.make_dual(X, V), fwd.make_dual(V, X)
    assert tangent(x * y) == (V * V + X * X).tolist()
    assert tangent(x * V) == (V * V).tolist()
    assert tangent(x + 1.0) == V.tolist()
    assert tangent(3.0 - x) == (-V).tolist()
    assert tangent((x * x).sum()) == (X * V * 2).sum().tolist()
    assert tangent(x > 0) is None


def test_a_tangent_is_as_large_as_its_tensor_and_of_its_dtype(level):
    row = fwd.make_dual(X, V)
    sum_ = row + opyard.zeros(2, 3, dtype=opyard.float64)
    assert tangent(sum_) == [V.tolist()] * 2
    sum_.mul_(2)
    assert tangent(sum_) == [(V * 2).tolist()] * 2
    single = fwd.make_dual(X.float(), V.float()) * X
    assert fwd.unpack_dual(single).tangent.dtype is opyard.float64


def test_tangents_need_no_gradients(level):
    with autograd.no_grad():
        assert tangent(fwd.make_dual(X, V) * 2) == (V * 2).tolist()
    y = fwd.make_dual(X, V) * 2
    assert not y.requires_grad and not fwd.unpack_dual(y).tangent.requires_grad
    with autograd.inference_mode():
        with pytest.raises(NotImplementedError, match="under inference_mode none is computed"):
            y * 2
        with pytest.raises(ValueError, match="under inference_mode nothing has a tangent"):
            fwd.make_dual(X, V)


def test_what_is_detached_has_no_tangent(level):
    x = fwd.make_dual(X, V)
    assert tangent(x.detach()) is None
    assert tangent(x.detach() * x) == (X * V).tolist()
    y = x * 2
    y.detach_()
    assert tangent(y) is None


def test_views_have_views_of_the_tangent(level):
    x = fwd.make_dual(opyard.ones(2, 3, dtype=opyard.float64), aten.stack([V, X]))
    whole = fwd.unpack_dual(x).tangent
    for view in (x[1], x.t(), x[:, 1:], x.reshape([3, 2]), x.unsqueeze(0), aten.unbind(x)[1]):
        found = fwd.unpack_dual(view).tangent
        assert found.shape == view.shape
        assert whole.data_ptr() <= found.data_ptr() < whole.data_ptr() + 48
    x[1].mul_(2)
    assert tangent(x) == [V.tolist(), (X * 2).tolist()]


def test_writes_in_place_write_tangents(level):
    x = fwd.make_dual(X.clone(), V.clone())
    x.mul_(x)
    assert tangent(x) == (X * V * 2).tolist() and x.tolist() == (X * X).tolist()
    x.fill_(2.0)
    assert tangent(x) == [0.0] * 3
    x.copy_(fwd.make_dual(X, V))
    assert tangent(x) == V.tolist()
    x.copy_(X)
    assert tangent(x) == [0.0] * 3


def test_a_tensor_of_its_own_gets_a_tangent_by_a_write(level):
    buffer = opyard.zeros(3, dtype=opyard.float64)
    buffer.add_(fwd.make_dual(X, V))
    assert tangent(buffer) == V.tolist() and tangent(buffer * 2) == (V * 2).tolist()


def test_memory_that_others_share_gets_no_tangent_by_a_write(level):
    buffer = opyard.zeros(2, 3, dtype=opyard.float64)
    with pytest.raises(NotImplementedError, match="make what they are views of dual first"):
        buffer[0] = fwd.make_dual(X, V)
    assert buffer.tolist() == [[0.0] * 3] * 2
    dual = fwd.make_dual(buffer, aten.zeros_like(buffer))
    dual[0] = fwd.make_dual(X, V)
    assert tangent(dual) == [V.tolist(), [0.0] * 3]


def test_forms_with_out_are_refused(level):
    with pytest.raises(NotImplementedError, match="forms with out=.* have no rule"):
        aten.mul(fwd.make_dual(X, V), X, out=opyard.zeros(3, dtype=opyard.float64))


def test_an_operator_without_a_rule_is_refused_by_name(level, lib):
    lib.define("plain(Tensor x, Tensor y) -> Tensor")
    lib.impl("plain", lambda x, y: x + y, "CPU")
    lib.define("half(Tensor x, Tensor y) -> Tensor")
    lib.impl("half", lambda x, y: x + y, "CPU")
    lib.derivative("half", {"x": "grad"})
    x = fwd.make_dual(X, V)
    ops = opyard.ops.slopes
    with pytest.raises(NotImplementedError, match=r"slopes::plain: its argument 'y' has a tangent"):
        ops.plain(X, x)
    assert tangent(ops.half(x, X)) == V.tolist()
    message = 'Give it one: derivative\\("half", …\\) with a line "tangent y"'
    with pytest.raises(NotImplementedError, match=message):
        ops.half(X, x)
    assert ops.plain(X, X).tolist() == (X * 2).tolist()


# Operators of users.


def test_formulas_of_users_give_tangents(level, lib):
    lib.define("scaled(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor")
    lib.impl("scaled", lambda x, y, *, alpha=1.0: x * y * alpha, "CPU")
    lib.derivative(
        "scaled", {"x": "sum_to(grad * y * alpha, x)", "y": "sum_to(grad * x * alpha, y)"}
    )
    found = opyard.ops.slopes.scaled(fwd.make_dual(X, V), fwd.make_dual(V, X), alpha=2.0)
    assert tangent(found) == ((V * V + X * X) * 2).tolist()


def test_a_tangent_line_goes_before_the_formula(level, lib):
    lib.define("cubed(Tensor x, Tensor? y=None) -> (Tensor, Tensor)")
    lib.impl("cubed", lambda x, y=None: (x * x * x, x * 2), "CPU")
    lib.derivative(
        "cubed",
        {
            "x": "grad0 * x * x * 3 + grad1 * 2",
            "tangent x": "tangent * x * x * 3, tangent * 2",
            "y": "None",
        },
    )
    cube, twice = opyard.ops.slopes.cubed(fwd.make_dual(X, V))
    assert tangent(cube) == (V * X * X * 3).tolist() and tangent(twice) == (V * 2).tolist()
    assert autograd._gradients.forward_rules(opyard.ops.slopes.cubed.default) == (
        "x: tangent line, y: no tangent flows"
    )
    x = leaf(X.tolist())
    opyard.ops.slopes.cubed(x)[0].sum().backward()
    assert x.grad.tolist() == (X * X * 3).tolist()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ({"tangent z": "tangent"}, "a derivative is given for 'z', which is no argument"),
        ({"tangent n": "tangent"}, "there is no such argument that takes a tensor"),
        ({"tangent x": "tangent, tangent"}, "the line gives 2 values for 1 results"),
        ({"tangent x": "grad * 2"}, "there is no input 'grad'"),
        ({"tangent x": "n"}, "the formula gives a value of type int"),
    ],
)
def test_a_line_with_a_fault_is_refused(lib, lines, message):
    lib.define("wrong(Tensor x, int n) -> Tensor")
    lib.impl("wrong", lambda x, n: x * n, "CPU")
    with pytest.raises((ValueError, RuntimeError), match=message):
        lib.derivative("wrong", lines)
        autograd.check_formulas("slopes::wrong")


def test_a_backward_in_python_gives_tangents(level, lib):
    lib.define("cube(Tensor x) -> Tensor")
    lib.impl("cube", lambda x: x * x * x, "CPU")
    opyard.library.register_autograd(
        "slopes::cube",
        lambda ctx, grad: grad * ctx.saved_tensors[0] ** 2 * 3,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
        lib=lib,
    )
    assert tangent(opyard.ops.slopes.cube(fwd.make_dual(X, V))) == (V * X * X * 3).tolist()


class Square(autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.factor = factor
        assert fwd.unpack_dual(x * 1).tangent is None
        return x * x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * 2 * ctx.factor, None

    @staticmethod
    def jvp(ctx, tangent, factor):
        (x,) = ctx.saved_tensors
        assert factor is None
        return tangent * x * 2 * ctx.factor


def test_a_function_gives_tangents_by_its_jvp(level):
    found = Square.apply(fwd.make_dual(X, V), 3)
    assert tangent(found) == (V * X * 6).tolist()
    x = leaf(X.tolist())
    found = fwd.unpack_dual(Square.apply(fwd.make_dual(x, V), 3)).tangent
    assert autograd.grad(found.sum(), x)[0].tolist() == (V * 6).tolist()


def test_a_function_without_jvp_says_so(level):
    class Plain(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Several(Plain):
        @staticmethod
        def jvp(ctx, tangent):
            return tangent, tangent

    class Numbers(Plain):
        @staticmethod
        def jvp(ctx, tangent):
            return 3

    assert Plain.apply(X).tolist() == (X * 2).tolist()
    x = fwd.make_dual(X, V)
    with pytest.raises(NotImplementedError, match="write jvp"):
        Plain.apply(x)
    with pytest.raises(autograd.GradientError, match="jvp gave 2 tangents, and forward 1 outputs"):
        Several.apply(x)
    with pytest.raises(autograd.GradientTypeError, match="its tangent is an object of int"):
        Numbers.apply(x)


# Both modes.


def test_a_tangent_can_be_differentiated_backward(level):
    x = leaf(X.tolist())
    found = fwd.unpack_dual((fwd.make_dual(x, V).exp() * x).sum()).tangent
    # d/dx of v (exp(x) x + ...) where the second x has no tangent.
    (gradient,) = autograd.grad(found, x)
    assert gradient.tolist() == pytest.approx((V * (X.exp() * X + X.exp())).tolist())


def test_a_hessian_vector_product_is_forward_over_reverse(level):
    x = leaf(X.tolist())
    dual = fwd.make_dual(x, V)
    (gradient,) = autograd.grad((dual.exp() * dual.sin() + dual**3).sum(), dual)
    _, wanted = autograd.functional.hvp(lambda x: (x.exp() * x.sin() + x**3).sum(), X, V)
    assert tangent(gradient) == pytest.approx(wanted.tolist())


def test_a_hessian_vector_product_of_a_network():
    opyard.manual_seed(0)
    data = opyard.randn(5, 3)
    weights = [opyard.randn(*shape) for shape in ((4, 3), (4,), (1, 4), (1,))]
    vectors = [opyard.randn(*one.shape) for one in weights]

    def loss(w1, b1, w2, b2):
        return (((data @ w1.t() + b1).tanh() @ w2.t() + b2) ** 2).mean()

    with fwd.dual_level():
        duals = [
            fwd.make_dual(one.clone().requires_grad_(), v)
            for one, v in zip(weights, vectors, strict=True)
        ]
        gradients = autograd.grad(loss(*duals), duals)
        found = [fwd.unpack_dual(one).tangent for one in gradients]
    _, wanted = autograd.functional.hvp(loss, tuple(weights), tuple(vectors))
    for one, other in zip(found, wanted, strict=True):
        assert aten.allclose(one, other, rtol=1e-4, atol=1e-6)


def test_gradcheck_checks_tangents(lib):
    assert autograd.gradcheck(lambda x: x.tanh() * x, leaf(X.tolist()), check_forward_ad=True)
    lib.define("wrong(Tensor x) -> Tensor")
    lib.impl("wrong", lambda x: x * x, "CPU")
    lib.derivative("wrong", {"x": "grad * x * 2", "tangent x": "tangent * x"})
    wrong, x = opyard.ops.slopes.wrong, leaf(X.tolist())
    assert autograd.gradcheck(wrong, x)
    with pytest.raises(autograd.GradcheckError, match="in forward mode with respect to input 0"):
        autograd.gradcheck(wrong, x, check_forward_ad=True)
    assert not autograd.gradcheck(
        wrong, x, check_forward_ad=True, check_backward_ad=False, raise_exception=False
    )
    with pytest.raises(ValueError, match="both False"):
        autograd.gradcheck(wrong, x, check_backward_ad=False)


def test_jvp_is_one_run_forward():
    outputs, found = fwd.jvp(lambda x, y: (x * y, y.sum(), x > 0), (X, V), (V, X))
    assert [one.tolist() for one in found[:2]] == [(V * V + X * X).tolist(), X.sum().tolist()]
    assert found[2].tolist() == [False] * 3
    assert outputs[0].tolist() == (X * V).tolist()
    one, slope = fwd.jvp(lambda x: x * x, X, V)
    assert one.tolist() == (X * X).tolist() and slope.tolist() == (X * V * 2).tolist()


def test_a_jacobian_by_forward_mode():
    wanted = autograd.functional.jacobian(lambda x: (x.exp() * x.sum()).tanh(), X)
    columns = [
        fwd.jvp(lambda x: (x.exp() * x.sum()).tanh(), X, one)[1].tolist()
        for one in aten.eye(3, dtype=opyard.float64)
    ]
    for row, column in zip(wanted.t().tolist(), columns, strict=True):
        assert column == pytest.approx(row)


# Memory of dual tensors, and views that a Function gives.


EXPORTS = {
    "numpy": (lambda np, x: x.numpy(), ValueError),
    "asarray": (lambda np, x: np.asarray(x), ValueError),
    "a function of NumPy": (lambda np, x: np.histogram(x), ValueError),
    "buffer": (lambda np, x: memoryview(x), BufferError),
    "dlpack": (lambda np, x: x.__dlpack__(), BufferError),
    "another library": (lambda np, x: np.from_dlpack(x), BufferError),
    "the exchange table": (lambda np, x: opyard.from_dlpack(x), BufferError),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_the_memory_of_a_dual_tensor_is_not_handed_out(name):
    np = pytest.importorskip("numpy")
    export, error = EXPORTS[name]
    with fwd.dual_level():
        x = fwd.make_dual(X, V)
        view = x[1:]
        for dual in (x, view):
            with pytest.raises(error, match=r"has a tangent, .* give forward_ad\.unpack_dual\(x\)"):
                export(np, dual)
        export(np, fwd.unpack_dual(x).primal)
        export(np, x.detach())
    export(np, x)
    assert x.tolist() == X.tolist()


class Doubled(autograd.Function):
    """Computed by NumPy, below forward mode."""

    @staticmethod
    def forward(ctx, x):
        return opyard.from_numpy(x.numpy() * 2)

    @staticmethod
    def jvp(ctx, tangent):
        return opyard.from_numpy(tangent.numpy() * 2)


def test_kernels_and_forwards_see_the_memory_of_dual_tensors(level, lib):
    pytest.importorskip("numpy")
    lib.define("doubled(Tensor x) -> Tensor")
    lib.impl("doubled", lambda x: opyard.from_numpy(x.numpy() * 2), "CPU")
    lib.derivative("doubled", {"x": "grad * 2"})
    for call in (Doubled.apply, opyard.ops.slopes.doubled):
        y = call(fwd.make_dual(X, V))
        assert tangent(y) == (V * 2).tolist()


def view_function(of_tangent, of=lambda x: x[:2]):
    class View(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return of(x)

        @staticmethod
        def jvp(ctx, given):
            return of_tangent(given)

    return View.apply


def test_a_view_that_a_function_gives_has_a_view_of_the_tangent(level):
    x = fwd.make_dual(X.clone(), V)
    y = view_function(lambda tangent: tangent[:2])(x)
    y.mul_(5)
    assert tangent(x) == [5.0, 10.0, -3.0] and tangent(y) == [5.0, 10.0]


@pytest.mark.parametrize("forward", [lambda x: x[:3], lambda x: x], ids=["a view", "the input"])
@pytest.mark.parametrize("of_tangent", [lambda v: v.clone(), lambda v: v * 2, lambda v: V[:3]])
def test_a_view_without_a_view_of_the_tangent_is_refused(level, forward, of_tangent):
    x = fwd.make_dual(X.clone(), V.clone())
    with pytest.raises(autograd.GradientError, match="returning a view .*, of argument 0, and jvp"):
        view_function(of_tangent, forward)(x)
    copied = view_function(of_tangent, lambda x: forward(x).clone())(x)
    assert tangent(copied) == of_tangent(V).tolist()
