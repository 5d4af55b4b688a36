"""test_published.py: operators as operators of PyTorch: calls, opcheck, gradients, refusals.

Suspect publish/python/opyard/_torch/; of gradients autograd/src/derivative_call.cpp.
"""

import gc

import pytest
from frameworks import require

import opyard

torch = require("torch")
pytestmark = pytest.mark.once


@pytest.fixture
def published(published_ops, ns):
    with opyard.torch.publish(ns) as made:
        yield made


def ops(ns):
    return getattr(torch.ops, ns)


def leaf(*sizes):
    return torch.randn(*sizes, requires_grad=True)


def test_a_call_runs_the_kernel_on_the_memory_of_pytorch(published, ns):
    x = torch.arange(4.0)
    assert torch.equal(ops(ns).twice(x), x * 2)
    assert torch.equal(ops(ns).ramp(3), torch.arange(3.0))
    joined, smallest = ops(ns).pieces([x, x + 1])
    assert torch.equal(joined, torch.cat([x, x + 1])) and smallest == 0
    assert torch.equal(ops(ns).plain(x), x + 1)
    assert torch.equal(ops(ns).plain(x, x), x + x)


def calls(ns):
    return {
        "twice": (ops(ns).twice.default, (leaf(3, 4),), {}),
        "silu_mul": (ops(ns).silu_mul.default, (leaf(3, 4), leaf(4)), {"scale": 0.5}),
        "pieces": (ops(ns).pieces.default, ([leaf(3, 2), leaf(1, 2)],), {}),
        "plain": (ops(ns).plain.default, (torch.randn(3), torch.randn(3)), {}),
        "plain without the other": (ops(ns).plain.default, (torch.randn(3),), {}),
        "clip_": (ops(ns).clip_.default, (torch.randn(5), -0.5, 0.5), {}),
        "twice.out": (ops(ns).twice.out, (torch.randn(5),), {"out": torch.empty(5)}),
        "ramp": (ops(ns).ramp.default, (5,), {}),
    }


@pytest.mark.filterwarnings("ignore:.*takes sizes that are known")
def test_X33_opcheck_of_pytorch_passes_for_each_kind(published, ns):
    for name, (op, args, kwargs) in calls(ns).items():
        found = torch.library.opcheck(op, args, kwargs)
        assert set(found.values()) == {"SUCCESS"}, (name, found)


def test_a_gradient_is_the_derivative_in_pytorch_too(published, ns):
    x, g = leaf(3, 4), leaf(4)
    y = ops(ns).silu_mul(x, g, scale=2.0)
    wanted = torch.nn.functional.silu(x) * g * 2
    torch.testing.assert_close(y, wanted)
    weights = torch.randn(3, 4)
    for ours, theirs in zip(
        torch.autograd.grad(y, [x, g], weights),
        torch.autograd.grad(wanted, [x, g], weights),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_only_what_is_wanted_is_computed(published_ops, ns):
    """A formula that would raise is not run for an argument without requires_grad."""
    published_ops.define("half_known(Tensor a, Tensor b) -> Tensor")
    published_ops.impl(
        "half_known", lambda a, b: opyard.ops.aten.mul(a, b), "CompositeExplicitAutograd"
    )
    published_ops.derivative("half_known", {"a": "grad * b"})
    with opyard.torch.publish(f"{ns}::half_known"):
        a, b = leaf(3), leaf(3)
        ops(ns).half_known(a, b.detach()).sum().backward()
        torch.testing.assert_close(a.grad, b.detach())
        with pytest.raises(RuntimeError, match="no formula for its argument 'b'"):
            ops(ns).half_known(a, b).sum().backward()


def test_operators_made_of_others_have_the_gradient_of_these(published, ns):
    a, b = leaf(3), leaf(2)
    joined, smallest = ops(ns).pieces([a, b])
    (joined.sum() + smallest * 3).backward()
    whole = torch.cat([a, b]).detach()
    wanted = torch.ones(5)
    wanted[whole.argmin()] += 3
    torch.testing.assert_close(torch.cat([a.grad, b.grad]), wanted)


def test_a_backward_in_python_serves_pytorch_too(library, ns):
    library.define("cube(Tensor x) -> Tensor")
    library.impl("cube", lambda x: x * x * x, "CompositeExplicitAutograd")

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        assert isinstance(x, opyard.Tensor)
        return grad * x * x * 3

    opyard.library.register_autograd(f"{ns}::cube", backward, setup_context=setup_context)
    with opyard.torch.publish(ns):
        x = leaf(4)
        ops(ns).cube(x).sum().backward()
        torch.testing.assert_close(x.grad, 3 * x.detach() ** 2)


def test_what_has_no_gradient_says_so_in_backward(published, ns):
    assert set(published.without_gradient) == {f"{ns}::plain"}
    with pytest.raises(RuntimeError, match=rf"{ns}::plain: it has no derivative"):
        ops(ns).plain(leaf(3)).sum().backward()


def test_a_second_gradient_is_refused(published, ns):
    x = leaf(3)
    (first,) = torch.autograd.grad(ops(ns).silu_mul(x, x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="second gradients are not published"):
        first.sum().backward()


def test_a_gradient_has_memory_of_its_own(published, ns):
    """A formula may hand on the gradient that it got; PyTorch must not find it changed."""
    x = leaf(3)
    with opyard.library.Library(f"{ns}_same", "DEF") as lib:
        lib.define("same(Tensor x) -> Tensor")
        lib.impl("same", lambda x: opyard.ops.aten.clone(x), "CompositeExplicitAutograd")
        lib.derivative("same", {"x": "grad"})
        with opyard.torch.publish(f"{ns}_same"):
            weights = torch.ones(3)
            (made,) = torch.autograd.grad(ops(f"{ns}_same").same(x), x, weights)
            made += 1
            assert weights.tolist() == [1, 1, 1]


def test_writes_are_given_back_in_python_and_counted(published, ns):
    x = torch.randn(5)
    before = x._version
    assert published["clip_"](x, -0.1, 0.1) is x
    assert x.abs().max() <= 0.1 and x._version > before
    assert ops(ns).clip_(x, -0.1, 0.1) is None
    out = torch.empty(5)
    assert published[f"{ns}::twice.out"](x, out=out) is out
    assert torch.equal(out, x * 2)
    w = leaf(5)
    y = w * x
    published["clip_"](x, 0.0, 0.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="requires a gradient, and PyTorch has no gradient"):
        published["clip_"](w, 0.0, 1.0)
    with torch.no_grad():
        published["clip_"](w, 0.0, 1.0)


def test_views_are_refused_with_the_reason(published, ns):
    assert set(published.refused) == {f"{ns}::first_half"}
    assert "view" in published.refused[f"{ns}::first_half"]
    with pytest.raises(KeyError, match="view of an argument"):
        published["first_half"]
    assert "first_half: its result is a view" in repr(published)


def test_other_constructs_are_refused_and_the_rest_is_published(published_ops, ns):
    published_ops.define("named(Tensor x) -> Dict(str, Tensor)")
    published_ops.define("any_number(...) -> ...")
    published_ops.define("both(Tensor(a!) x) -> (Tensor(a!), Tensor)")
    with opyard.torch.publish(ns) as made:
        assert f"{ns}::twice" in made
        assert "any number of values" in made.refused[f"{ns}::any_number"]
        assert "writes to x and gives" in made.refused[f"{ns}::both"]
    with pytest.raises(ValueError, match="no operator could be published"):
        opyard.torch.publish(f"{ns}::both")


def test_twice_and_names_of_others_are_refused(published, ns):
    with pytest.raises(ValueError, match=r"published as \S+ already: undo\(\) that first"):
        opyard.torch.publish(f"{ns}::twice")
    with pytest.raises(ValueError, match="PyTorch has an operator aten::mul.Tensor"):
        opyard.torch.publish("aten::mul.Tensor")
    with opyard.torch.publish("aten::mul.Tensor", to=f"{ns}_more") as made:
        x = torch.randn(3)
        assert list(made) == [f"{ns}_more::mul.Tensor"]
        assert torch.equal(ops(f"{ns}_more").mul(x, x), x * x)


def test_what_is_named_can_be_one_or_several(published_ops, ns):
    with pytest.raises(LookupError, match="no operator nobody_has_this::"):
        opyard.torch.publish("nobody_has_this")
    with pytest.raises(LookupError):
        opyard.torch.publish(f"{ns}::nothing")
    with pytest.raises(ValueError, match="into one namespace, by to="):
        opyard.torch.publish([f"{ns}::twice", "aten::mul.Tensor"])
    for what in (getattr(opyard.ops, ns).twice, f"{ns}::twice"):
        with opyard.torch.publish(what) as made:
            assert set(made) == {f"{ns}::twice", f"{ns}::twice.out"}
    with opyard.torch.publish([f"{ns}::twice.out", f"{ns}::plain"]) as made:
        assert set(made) == {f"{ns}::twice.out", f"{ns}::plain"}


def test_undo_takes_the_operators_back_and_they_can_come_again(published_ops, ns):
    x = torch.randn(3)
    for _ in range(3):
        made = opyard.torch.publish(ns)
        op = ops(ns).twice.default
        assert torch.equal(op(x), x * 2)
        made.undo()
        made.undo()
        with pytest.raises(NotImplementedError, match=f"{ns}::twice"):
            op(x)
        with pytest.raises(KeyError):
            made["twice"]


def test_what_is_undefined_here_is_taken_back_there(published_ops, ns):
    made = opyard.torch.publish(ns)
    op = ops(ns).twice.default
    published_ops._destroy()
    assert len(made) == 0
    for x in (torch.randn(3), leaf(3)):
        with pytest.raises(NotImplementedError, match=f"{ns}::twice"):
            op(x)


def test_another_schema_of_the_same_name_is_refused(library, ns):
    for declared, result in (("Tensor x", "Tensor"), ("Tensor x, int n=1", "Tensor")):
        with opyard.library.Library(f"{ns}_changed", "DEF") as lib:
            lib.define(f"f({declared}) -> {result}")
            lib.impl("f", lambda x, n=1: x + n, "CompositeExplicitAutograd")
            if declared == "Tensor x":
                opyard.torch.publish(f"{ns}_changed").undo()
                continue
            with pytest.raises(ValueError, match=r"published before as f\(Tensor x\) -> Tensor"):
                opyard.torch.publish(f"{ns}_changed")


def test_it_stays_when_nobody_keeps_the_result(published_ops, ns):
    opyard.torch.publish(f"{ns}::twice")
    gc.collect()
    x = torch.randn(3)
    assert torch.equal(ops(ns).twice(x), x * 2)


def test_tags_and_backends(published, ns):
    assert torch.Tag.pointwise in ops(ns).twice.default.tags
    assert torch.Tag.pt2_compliant_tag in ops(ns).plain.default.tags
    with opyard.torch.publish("aten::rand", to=f"{ns}_random"):
        rand = ops(f"{ns}_random").rand.default
        assert torch.Tag.nondeterministic_seeded in rand.tags
        made = rand([2, 3], dtype=torch.float64)
        assert made.shape == (2, 3) and made.dtype == torch.float64


def test_element_types_of_pytorch_are_known_here(published, ns):
    assert opyard.zeros(2, dtype=torch.float16).dtype == opyard.float16
    assert opyard.ops.aten.sum(torch.ones(3), dtype=torch.float64).dtype == torch.float64
    with pytest.raises(TypeError, match="torch.float8_e5m2"):
        opyard.ops.aten.sum(torch.ones(3), dtype=torch.float8_e5m2)


def test_vmap_calls_once_for_each_element(published, ns):
    x, g = torch.randn(4, 3), torch.randn(3, 4)
    wanted = torch.nn.functional.silu(x) * g.t()
    made = torch.func.vmap(lambda a, b: ops(ns).silu_mul(a, b), (0, 1))(x, g)
    torch.testing.assert_close(made, wanted)
    pieces, smallest = torch.func.vmap(lambda a: ops(ns).pieces([a, a]))(x)
    assert pieces.shape == (4, 6)
    torch.testing.assert_close(smallest, x.amin(1))
    with pytest.raises(RuntimeError, match="batch of no elements"):
        torch.func.vmap(ops(ns).twice.default)(torch.randn(0, 3))


def test_hooks_and_modules_of_pytorch_see_gradients(published, ns):
    linear = torch.nn.Linear(4, 4)
    seen = []
    linear.weight.register_hook(lambda grad: seen.append(grad.shape))
    ops(ns).twice(linear(torch.randn(2, 4))).sum().backward()
    assert seen == [(4, 4)] and linear.bias.grad.tolist() == [4, 4, 4, 4]


def test_autocast_calls_the_kernel_as_it_is(published, ns):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops(ns).twice(torch.randn(3)).dtype == torch.float32
