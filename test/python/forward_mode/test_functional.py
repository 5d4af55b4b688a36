"""test_functional.py: products with Jacobians and Hessians, and both as tensors.

Each case is a function with its inputs; answers are what two other ways give: the Jacobian made of
gradients of elements, and PyTorch where that is installed. Suspect _autograd/functional.py, for
forward mode forward_ad.py, too.
"""

import pytest
from leaves import leaf

import opyard
from opyard import autograd
from opyard.autograd import functional as F

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.once

X = [[0.3, -1.2, 0.7], [1.1, 0.4, -0.6]]
Y = [0.5, 1.5, -0.8]

# name: (the function, with the library's names in `lib`; inputs)
CASES = {
    "one input, one output": (lambda lib, x: x.tanh() * x, [X]),
    "a product of matrices": (lambda lib, x: x @ x.t(), [X]),
    "two inputs": (lambda lib, x, y: (x * y).exp(), [X, Y]),
    "two outputs": (lambda lib, x: (x.sum(0), x * x), [X]),
    "two of both": (lambda lib, x, y: (x.sin() * y, (x * y).sum()), [X, Y]),
    "an input that is not used": (lambda lib, x, y: x * 2, [X, Y]),
    "an output of constants": (lambda lib, x: (x * 3, lib.ones(2, dtype=lib.float64)), [X]),
}
NUMBERS = {
    "a number": (lambda lib, x: (x.tanh() * x).sum(), [X]),
    "of two inputs": (lambda lib, x, y: ((x * y).exp() + x.pow(3)).sum(), [X, Y]),
    "linear": (lambda lib, x: x.sum(), [X]),
    "one is not used": (lambda lib, x, y: x.pow(4).sum(), [X, Y]),
}


def inputs_of(lib, values):
    made = tuple(lib.tensor(one, dtype=lib.float64) for one in values)
    return made if len(made) > 1 else made[0]


def flat(found):
    """Tensors of any nesting as arrays, with the nesting."""
    if isinstance(found, (tuple, list)):
        return [flat(one) for one in found]
    return np.asarray(found.detach().tolist(), dtype=float).reshape(tuple(found.shape))


def assert_same(found, wanted):
    assert type(found) is type(wanted)
    if isinstance(found, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    else:
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def vectors_like(lib, tensors):
    made = [
        lib.tensor([0.2 + 0.3 * i for i in range(one.numel())], dtype=lib.float64).reshape(
            list(one.shape)
        )
        for one in (tensors if isinstance(tensors, (tuple, list)) else [tensors])
    ]
    return tuple(made) if isinstance(tensors, (tuple, list)) else made[0]


def answers(lib, functional, case, **how):
    function, values = case
    inputs = inputs_of(lib, values)

    def func(*given):
        return function(lib, *given)

    outputs = func(*inputs) if isinstance(inputs, tuple) else func(inputs)
    matrix = functional.jacobian(func, inputs, **how)
    found = [flat(matrix)]
    found.append(flat(functional.vjp(func, inputs, vectors_like(lib, outputs))))
    found.append(flat(functional.jvp(func, inputs, vectors_like(lib, inputs))))
    return found


def number_answers(lib, functional, case):
    function, values = case
    inputs = inputs_of(lib, values)

    def func(*given):
        return function(lib, *given)

    v = vectors_like(lib, inputs)
    return [
        flat(functional.hessian(func, inputs)),
        flat(functional.vhp(func, inputs, v)),
        flat(functional.hvp(func, inputs, v)),
    ]


@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_jacobians_and_products_are_those_of_pytorch(name, vectorize):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    wanted = answers(torch, torch.autograd.functional, CASES[name])
    assert_same(answers(opyard, F, CASES[name], vectorize=vectorize), wanted)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize("name", CASES)
def test_jacobians_by_forward_mode_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    how = {"strategy": "forward-mode", "vectorize": True}
    wanted = answers(torch, torch.autograd.functional, CASES[name], **how)
    assert_same(answers(opyard, F, CASES[name], strategy="forward-mode"), wanted)


@pytest.mark.parametrize("name", NUMBERS)
def test_hessians_and_products_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    wanted = number_answers(torch, torch.autograd.functional, NUMBERS[name])
    assert_same(number_answers(opyard, F, NUMBERS[name]), wanted)


@pytest.mark.parametrize("name", CASES)
def test_both_strategies_give_one_jacobian(name):
    wanted = answers(opyard, F, CASES[name])
    assert_same(answers(opyard, F, CASES[name], strategy="forward-mode"), wanted)


@pytest.mark.parametrize("name", NUMBERS)
def test_both_strategies_give_one_hessian(name):
    function, values = NUMBERS[name]
    inputs = inputs_of(opyard, values)
    found, wanted = (
        flat(
            F.hessian(lambda *given: function(opyard, *given), inputs, outer_jacobian_strategy=one)
        )
        for one in ("forward-mode", "reverse-mode")
    )
    assert_same(found, wanted)


class Cube(autograd.Function):
    """Has tangents and no gradients."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        return x * x * x

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * x * x * 3


def test_a_jacobian_by_forward_mode_takes_a_run_forward_for_each_element_of_the_inputs():
    runs = []

    def func(x, t):
        runs.append(1)
        return Cube.apply(x) * t

    x, t = inputs_of(opyard, [Y, [2.0]])
    by_x, by_t = F.jacobian(func, (x, t), strategy="forward-mode")
    assert len(runs) == 4
    np.testing.assert_allclose(by_x.tolist(), np.diag([6 * value**2 for value in Y]))
    np.testing.assert_allclose(by_t.tolist(), [[value**3] for value in Y])
    with pytest.raises(NotImplementedError, match="has no backward"):
        F.jacobian(func, (x, t))


def test_a_jacobian_by_forward_mode_has_a_graph_if_one_is_wanted():
    x = leaf(Y)
    found = F.jacobian(lambda x: x * x * x, x, create_graph=True, strategy="forward-mode")
    (second,) = autograd.grad(found.sum(), x)
    np.testing.assert_allclose(second.tolist(), [6 * value for value in Y])
    found = F.jacobian(lambda x: x * x * x, x, strategy="forward-mode")
    assert not found.requires_grad and x.grad is None


def test_a_jacobian_by_forward_mode_of_no_elements_has_the_shape():
    empty = opyard.zeros(0, dtype=opyard.float64)
    found = F.jacobian(lambda x: opyard.ones(2, dtype=x.dtype), empty, strategy="forward-mode")
    assert found.shape == (2, 0)


def test_a_jacobian_by_forward_mode_is_refused_inside_of_a_level():
    with (
        autograd.forward_ad.dual_level(),
        pytest.raises(autograd.GradientError, match="a level of forward mode is open"),
    ):
        F.jacobian(lambda x: x * x, ONE, strategy="forward-mode")


def test_products_are_those_of_the_jacobian():
    x, y = inputs_of(opyard, [X, Y])

    def func(x, y):
        return (x * y).tanh()

    by_x, by_y = (np.asarray(one.tolist()) for one in F.jacobian(func, (x, y)))
    v = vectors_like(opyard, x)
    _, (dx, dy) = F.vjp(func, (x, y), v)
    np.testing.assert_allclose(dx.tolist(), np.tensordot(v.tolist(), by_x, 2))
    np.testing.assert_allclose(dy.tolist(), np.tensordot(v.tolist(), by_y, 2))
    _, forward = F.jvp(func, (x, y), (v, y))
    wanted = np.tensordot(by_x, v.tolist(), 2) + np.tensordot(by_y, y.tolist(), 1)
    np.testing.assert_allclose(forward.tolist(), wanted)


def test_products_are_those_of_the_hessian():
    x = inputs_of(opyard, [Y])

    def func(x):
        return (x * x * x).sum() + x[0] * x[2]

    matrix = F.hessian(func, x)
    wanted = np.diag([6 * value for value in Y]) + np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(matrix.tolist(), wanted)
    v = opyard.tensor([1.0, -2.0, 0.5], dtype=opyard.float64)
    for product in (F.hvp, F.vhp):
        value, found = product(func, x, v)
        np.testing.assert_allclose(found.tolist(), wanted @ v.tolist())
        assert value.tolist() == pytest.approx(func(x).tolist())


def test_products_of_several_tensors_keep_their_order():
    x, y = inputs_of(opyard, [Y, Y])
    v, w = opyard.ones(3).double(), opyard.ones(3).double() * 10
    _, (of_x, of_y) = F.jvp(lambda x, y: (x * 2, y * 3), (x, y), (v, w))
    assert (of_x.tolist(), of_y.tolist()) == ([2.0] * 3, [30.0] * 3)
    _, (of_x, of_y) = F.hvp(lambda x, y: (x * x).sum() + (y * y).sum() * 3, (x, y), (v, w))
    assert (of_x.tolist(), of_y.tolist()) == ([2.0] * 3, [60.0] * 3)


def test_answers_have_a_graph_if_one_is_wanted():
    x = leaf(Y)
    for create_graph in (False, True):
        outputs, product = F.vjp(lambda x: x * x, x, opyard.ops.aten.ones_like(x), create_graph)
        assert outputs.requires_grad is product.requires_grad is create_graph
        outputs, product = F.jvp(lambda x: x * x, x, opyard.ops.aten.ones_like(x), create_graph)
        assert outputs.requires_grad is product.requires_grad is create_graph
        assert F.jacobian(lambda x: x * x, x, create_graph).requires_grad is create_graph
        assert F.hessian(lambda x: x.pow(3).sum(), x, create_graph).requires_grad is create_graph
    (back,) = autograd.grad(
        F.jvp(lambda x: x * x, x, opyard.ops.aten.ones_like(x), True)[1].sum(), x
    )
    assert back.tolist() == [2.0] * 3
    assert x.grad is None


def test_a_vector_of_one_number_may_be_left_out():
    x = leaf([3.0])
    assert F.vjp(lambda x: x.sum() ** 2, x)[1].tolist() == [6.0]
    assert F.jvp(lambda x: x * x, x)[1].tolist() == [6.0]
    assert F.hvp(lambda x: x.sum() ** 3, x)[1].tolist() == [18.0]


ONE = opyard.ones(3, dtype=opyard.float64)
REFUSED = [
    (lambda: F.vjp(lambda x: x * 2, ONE), "v is None, which stands for a one"),
    (lambda: F.vjp(lambda x: x * 2, ONE, ONE[:2]), r"v\[0\] has the shape \(2,\)"),
    (lambda: F.vjp(lambda x: x * 2, ONE, (ONE, ONE)), "v has 2 tensors, and there are 1"),
    (lambda: F.jvp(lambda x: x * 2, (ONE, ONE), ONE), "v has 1 tensors, and there are 2"),
    (lambda: F.vjp(lambda x: x * 2, 1.0), "inputs must be a Tensor, not an object of float"),
    (lambda: F.vjp(lambda x: 3, ONE), "what the function gives must be a Tensor, not an object of"),
    (lambda: F.vjp(lambda x: (x, 3), ONE), "item 1 of what the function gives must be a Tensor"),
    (lambda: F.hessian(lambda x: x * 2, ONE), "has to give one Tensor of one element, and gave"),
    (lambda: F.hvp(lambda x: (x.sum(), x), ONE, ONE), "has to give one Tensor of one element"),
    (
        lambda: F.jacobian(lambda x: x, ONE, strategy="sideways"),
        "strategy is 'sideways'; it is one",
    ),
    (lambda: F.jacobian(lambda x: x, ONE, strict=True, vectorize=True), "goes without vectorize"),
    (lambda: F.jacobian(lambda x: x, ONE, vectorise=True), "has no argument 'vectorise'"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[one[1] for one in REFUSED])
def test_what_is_refused_says_what_is_wanted(call, message):
    with pytest.raises((RuntimeError, ValueError, TypeError), match=message):
        call()


STRICT = {
    "vjp": lambda f, **how: F.vjp(f, (ONE, ONE), ONE, **how),
    "jvp": lambda f, **how: F.jvp(f, (ONE, ONE), (ONE, ONE), **how),
    "jacobian": lambda f, **how: F.jacobian(f, (ONE, ONE), **how),
    "jacobian forward": lambda f, **how: F.jacobian(f, (ONE, ONE), strategy="forward-mode", **how),
    "hessian": lambda f, **how: F.hessian(lambda x, y: f(x, y).pow(3).sum(), (ONE, ONE), **how),
    "hvp": lambda f, **how: F.hvp(lambda x, y: f(x, y).pow(3).sum(), (ONE, ONE), (ONE, ONE), **how),
    "vhp": lambda f, **how: F.vhp(lambda x, y: f(x, y).pow(3).sum(), (ONE, ONE), (ONE, ONE), **how),
}


@pytest.mark.parametrize("name", STRICT)
def test_strict_refuses_an_input_that_nothing_depends_on(name):
    call = STRICT[name]
    call(lambda x, y: x * y, strict=True)
    call(lambda x, y: x * 2)
    with pytest.raises(autograd.GradientError, match=r"does not depend on input 1.* zeros"):
        call(lambda x, y: x * 2, strict=True)


def test_strict_refuses_an_output_that_depends_on_nothing():
    for call in (F.vjp, F.jvp):
        with pytest.raises(autograd.GradientError, match="output 0 does not depend on any input"):
            call(lambda x: opyard.ones(3, dtype=opyard.float64), ONE, ONE, strict=True)


def test_strict_refuses_a_product_without_a_graph():
    with pytest.raises(autograd.GradientError, match="does not depend on the inputs, and has no"):
        F.vjp(lambda x: x * 2, leaf(Y), ONE, create_graph=True, strict=True)
    with pytest.raises(autograd.GradientError, match="does not depend on the inputs, and has no"):
        F.jvp(lambda x: x * 2, leaf(Y), ONE, create_graph=True, strict=True)
    with pytest.raises(autograd.GradientError, match="does not depend on the inputs, and has no"):
        F.jacobian(
            lambda x: x * 2, leaf(Y), create_graph=True, strict=True, strategy="forward-mode"
        )


def test_an_output_without_elements_has_a_jacobian_without_elements():
    assert F.jacobian(lambda x: x[:0], ONE).shape == (0, 3)


# is_grads_batched of grad().


def batch(*shape):
    count = int(np.prod(shape))
    return opyard.tensor([0.5 + i for i in range(count)], dtype=opyard.float64).reshape(list(shape))


def test_a_batch_of_gradients_gives_what_each_gives():
    x, y = leaf(X), leaf(Y)
    outputs = [(x * y).tanh(), (x * y).sum(0)]
    seeds = [batch(4, 2, 3), batch(4, 3)]
    found = autograd.grad(outputs, [x, y], seeds, is_grads_batched=True, retain_graph=True)
    assert [one.shape for one in found] == [(4, 2, 3), (4, 3)]
    for item in range(4):
        one = autograd.grad(outputs, [x, y], [each[item] for each in seeds], retain_graph=True)
        for row, wanted in zip(found, one, strict=True):
            assert row[item].tolist() == wanted.tolist()


def test_a_batch_frees_the_graph_at_its_end_and_keeps_it_if_asked():
    x = leaf(Y)
    y = x.exp()
    autograd.grad(y, x, batch(2, 3), is_grads_batched=True, retain_graph=True)
    autograd.grad(y, x, batch(2, 3), is_grads_batched=True)
    with pytest.raises(autograd.GradientError, match="a second time"):
        autograd.grad(y, x, batch(2, 3), is_grads_batched=True)


def test_a_batch_has_unused_inputs_graphs_and_no_items_as_well():
    x, y = leaf(Y), leaf(Y)
    found = autograd.grad(x * x, [x, y], batch(2, 3), is_grads_batched=True, allow_unused=True)
    assert found[1] is None
    found, zeros = autograd.grad(
        x * x, [x, y], batch(2, 3), is_grads_batched=True, create_graph=True, materialize_grads=True
    )
    (second,) = autograd.grad(found.sum(), x)
    assert second.tolist() == [2 * (a + b) for a, b in zip(*batch(2, 3).tolist(), strict=True)]
    assert zeros.tolist() == [0.0] * 3  # as in PyTorch, of the input's shape
    assert autograd.grad(x * x, x, batch(2, 3)[:0], is_grads_batched=True)[0].shape == (0, 3)


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        (None, "goes with grad_outputs, and none were given"),
        (
            [batch(3)],
            r"gradient 0 of a batch has the shape \(3,\), and the output there has \(3,\)",
        ),
        ([batch(2, 4)], r"gradient 0 of a batch has the shape \(2, 4\)"),
        ([None], "there are none"),
    ],
)
def test_what_is_no_batch_is_refused(seeds, message):
    x = leaf(Y)
    with pytest.raises(ValueError, match=message):
        autograd.grad([x * x], [x], seeds, is_grads_batched=True)


def test_the_gradients_of_a_batch_are_as_many():
    x = leaf(Y)
    with pytest.raises(ValueError, match="here 2 of gradient 0, 3 of gradient 1"):
        autograd.grad([x * 2, x * 3], x, [batch(2, 3), batch(3, 3)], is_grads_batched=True)
