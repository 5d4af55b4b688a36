"""test_published_refusals.py: errors of published operators where PyTorch has no gradient.

No gradient is lost without a word. Suspect publish/python/opyard/_torch/taping.py, batching.py.
"""

import pytest
from frameworks import require

import opyard

torch = require("torch")
pytestmark = pytest.mark.once
aten = opyard.ops.aten


@pytest.fixture
def published(published_ops, ns):
    with opyard.torch.publish(ns) as made:
        yield made
    torch._dynamo.reset()


def ops(ns):
    return getattr(torch.ops, ns)


def leaf(*sizes):
    return torch.randn(*sizes, requires_grad=True)


def define(library, schema, kernel, key="CompositeExplicitAutograd", **more):
    name = schema.partition("(")[0]
    library.define(schema, **more)
    library.impl(name, kernel, key)


@pytest.mark.parametrize("compiled", [False, True])
def test_writes_to_what_requires_a_gradient(published, ns, compiled):
    def program(x):
        z = x * 1
        ops(ns).clip_(z, 0.0, 1.0)
        return z * 1

    if compiled:
        program = torch.compile(program, backend="aot_eager", fullgraph=True)
    with pytest.raises(Exception, match="requires a gradient, and PyTorch has no gradient"):
        program(leaf(3))
    program(torch.randn(3))
    with torch.no_grad():
        program(leaf(3))


@pytest.mark.parametrize("compiled", [False, True])
def test_tensors_given_by_name_that_require_a_gradient(published_ops, ns, compiled):
    define(published_ops, "named(Tensor x, *, Tensor w) -> Tensor", lambda x, *, w: aten.mul(x, w))
    with opyard.torch.publish(f"{ns}::named") as made:
        assert "given by name" in made.without_gradient[f"{ns}::named"]

        def program(x, w):
            return ops(ns).named(x, w=w).sum()

        run = torch.compile(program, backend="aot_eager") if compiled else program
        for x, w in ((leaf(3), torch.ones(3)), (torch.ones(3), leaf(3))):
            with pytest.raises(Exception, match="tensors that are given by name"):
                run(x, w)
        assert run(torch.ones(3), torch.ones(3)) == 3
    torch._dynamo.reset()


def test_a_list_with_none_in_it(library, ns):
    define(
        library,
        "joined(Tensor x, Tensor?[] more) -> Tensor",
        lambda x, more: aten.add(x, next(one for one in more if one is not None)),
        "CompositeImplicitAutograd",
    )
    with opyard.torch.publish(ns):
        x, y = leaf(3), leaf(3)
        with pytest.raises(RuntimeError, match="a list with None in it"):
            ops(ns).joined(x, [None, y])
        ops(ns).joined(x, [None, y.detach()]).sum().backward()
        assert x.grad.tolist() == [1, 1, 1]


def test_random_numbers_that_a_second_run_would_draw_anew(library, ns):
    define(
        library,
        "noisy(Tensor x) -> Tensor",
        lambda x: aten.mul(x, aten.rand_like(x)),
        "CompositeImplicitAutograd",
    )
    with opyard.torch.publish(ns):
        y = ops(ns).noisy(leaf(3)).sum()
        with pytest.raises(RuntimeError, match="rand_like, which draws random numbers"):
            y.backward()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own
def test_forward_mode(published, ns):
    ones = torch.ones(3)
    with pytest.raises(RuntimeError, match="no derivative for forward mode"):
        torch.func.jvp(ops(ns).twice.default, (ones,), (ones,))


def test_vmap_of_writes_to_what_has_no_batch(library, ns):
    define(library, "gather_(Tensor(a!) x, Tensor y) -> Tensor(a!)", lambda x, y: aten.add_(x, y))
    with opyard.torch.publish(ns):
        x = torch.zeros(2)
        with pytest.raises(RuntimeError, match="writes to an argument that has no dimension"):
            torch.func.vmap(lambda y: (ops(ns).gather_(x, y), y)[1])(torch.ones(3, 2))
        many = torch.zeros(3, 2)
        torch.func.vmap(lambda x, y: (ops(ns).gather_(x, y), y)[1])(many, torch.ones(3, 2))
        assert x.tolist() == [0, 0] and many.tolist() == [[1, 1]] * 3


def test_vmap_of_random_numbers_says_that_they_are_different(library, ns):
    define(
        library,
        "drawn(Tensor x) -> Tensor",
        lambda x: aten.rand_like(x),
        tags=("nondeterministic_seeded",),
    )
    with opyard.torch.publish(ns):
        x = torch.zeros(4, 3)
        for randomness in ("error", "same"):
            with pytest.raises(RuntimeError, match='randomness="different"'):
                torch.func.vmap(ops(ns).drawn.default, randomness=randomness)(x)
        made = torch.func.vmap(ops(ns).drawn.default, randomness="different")(x)
        assert len(set(made.flatten().tolist())) > 6


def test_writes_are_counted_on_wrappers(published, ns):
    two = pytest.importorskip("torch.testing._internal.two_tensor").TwoTensor
    x = two(torch.ones(3), torch.ones(3))
    w = two(torch.ones(3), torch.ones(3)).requires_grad_()
    y = w * x
    ops(ns).clip_(x, 0.0, 0.5)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_faults_of_one_operator_leave_the_others(published_ops, ns):
    define(published_ops, "nothing(Tensor x) -> ()", lambda x: None)
    define(published_ops, "later(Tensor x) -> Future(Tensor)", lambda x: None)
    with opyard.torch.publish(ns) as made:
        assert ops(ns).nothing(leaf(3)) is None
        assert "Future" in made.refused[f"{ns}::later"]
        assert f"{ns}::twice" in made


def test_what_is_refused_leaves_nothing_behind(published_ops, ns):
    published_ops.define("twice_backward(Tensor x) -> Tensor")
    published_ops.define("twice_gradient(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="twice_backward and"):
        opyard.torch.publish(f"{ns}::twice.default")
    assert not hasattr(ops(ns), "twice")


def test_arguments_of_other_classes_reach_a_second_run(library, ns):
    define(
        library,
        "moved(Tensor x, Device? device=None) -> Tensor",
        lambda x, device=None: aten.mul(x, 3),
        "CompositeImplicitAutograd",
    )
    with opyard.torch.publish(ns):
        x = leaf(3)
        ops(ns).moved(x, torch.device("cpu")).sum().backward()
        assert x.grad.tolist() == [3, 3, 3]
