"""test_adopted.py: operators that PyTorch registered, called by Opyard's dispatcher.

Suspect publish/python/opyard/_torch/adopted.py.
"""

import pytest
from frameworks import require

import opyard
from opyard import dispatch

torch = require("torch")
pytestmark = pytest.mark.once


@pytest.fixture
def theirs(ns):
    """A library of PyTorch with a kernel of its own, a gradient, a write and a view."""
    lib = torch.library.Library(ns, "DEF")
    lib.define(
        "mix(Tensor a, Tensor[] more, *, float weight=0.5, ScalarType? dtype=None) -> Tensor"
    )
    lib.impl(
        "mix",
        lambda a, more, *, weight=0.5, dtype=None: (a + weight * sum(more)).to(dtype or a.dtype),
        "CompositeImplicitAutograd",
    )
    lib.define("shift_(Tensor(a!) x, int by) -> Tensor(a!)")
    lib.impl("shift_", lambda x, by: x.add_(by), "CompositeImplicitAutograd")
    lib.define("both(Tensor x) -> (Tensor, Tensor)")
    lib.impl("both", lambda x: (x * 2, x * 3), "CompositeImplicitAutograd")
    lib.define("head(Tensor(a) x) -> Tensor(a)")
    lib.impl("head", lambda x: x[:1], "CompositeImplicitAutograd")
    yield lib
    lib._destroy()


def test_a_call_has_PyTorchs_answer_and_schema(theirs, ns):
    with opyard.torch.adopt(f"{ns}::mix") as adopted:
        (op,) = adopted.operators
        a, b = opyard.tensor([1.0, 2.0]), opyard.tensor([10.0, 20.0])
        assert op(a, [b, b]).tolist() == [11.0, 22.0]
        assert op(a, [b], weight=1.0, dtype=opyard.float64).dtype == opyard.float64
        assert op(torch.ones(2), [torch.ones(2)]).tolist() == [1.5, 1.5]
        assert "Tensor[] more" in op.declaration
        with pytest.raises(TypeError, match="'more'"):
            op(a, b)
    assert not hasattr(getattr(opyard.ops, ns), "mix")


def test_traces_profiles_explanations_and_modes_see_it(theirs, ns):
    with opyard.torch.adopt(f"{ns}::mix"):
        op = getattr(opyard.ops, ns).mix
        a = opyard.tensor([1.0, 2.0])
        graph = opyard.jit.trace(lambda x: op(x, [x]) * 2, (a,)).graph
        assert f"{ns}::mix" in str(graph)
        with opyard.profiler.profile() as prof:
            op(a, [a])
        assert any(row.key == f"{ns}::mix" for row in prof.key_averages())
        assert "CPU" in str(dispatch.explain(op.default, a, [a]))
        meta = op(opyard.empty(3, device="meta"), [opyard.empty(3, device="meta")])
        assert meta.shape == (3,) and meta.device.type == "meta"


def test_gradients_come_from_PyTorchs_autograd(theirs, ns):
    with opyard.torch.adopt(f"{ns}::mix"), opyard.torch.adopt(f"{ns}::both"):
        a = opyard.tensor([1.0, 2.0]).requires_grad_()
        b = opyard.tensor([1.0, 1.0]).requires_grad_()
        ops = getattr(opyard.ops, ns)
        (ops.mix(a, [b, b.detach()]) * 4).sum().backward()
        assert a.grad.tolist() == [4.0, 4.0] and b.grad.tolist() == [2.0, 2.0]
        a.grad = None
        first, second = ops.both(a)
        (first + second).sum().backward()
        assert a.grad.tolist() == [5.0, 5.0]


def test_what_is_saved_is_checked_and_given_up(theirs, ns):
    with opyard.torch.adopt(f"{ns}::mix"):
        op = getattr(opyard.ops, ns).mix
        a = opyard.tensor([1.0, 2.0]).requires_grad_()
        y = op(a, [a])
        with opyard.no_grad():
            a.mul_(10)
        with pytest.raises(RuntimeError, match="modified"):
            y.sum().backward()
        y = op(a, [a]).sum()
        y.backward()
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()


def test_gradients_that_would_be_wrong_are_refused(theirs, ns):
    theirs.define("square(Tensor x) -> Tensor")
    theirs.impl("square", lambda x: x * x, "CompositeImplicitAutograd")
    theirs.define("named(Tensor x, *, Tensor w) -> Tensor")
    theirs.impl("named", lambda x, *, w: x * w, "CompositeImplicitAutograd")
    theirs.define("drop(Tensor x) -> Tensor", tags=(torch.Tag.nondeterministic_seeded,))
    theirs.impl("drop", lambda x: torch.dropout(x, 0.5, True), "CompositeImplicitAutograd")
    names = ("square", "named", "drop")
    adopted = [opyard.torch.adopt(f"{ns}::{name}") for name in names]
    ops = getattr(opyard.ops, ns)
    a = opyard.tensor([1.0, 2.0]).requires_grad_()
    with pytest.raises(RuntimeError, match="second gradients"):
        opyard.autograd.grad((ops.square(a) * a).sum(), [a], create_graph=True)
    with pytest.raises(RuntimeError, match="'w', which is given by name only"):
        ops.named(a, w=a)
    with pytest.raises(RuntimeError, match="draws random numbers"):
        ops.drop(a).sum().backward()
    for one in adopted:
        one.undo()


def test_lists_among_results_have_gradients(theirs, ns):
    theirs.define("several(Tensor x) -> (Tensor, Tensor[])")
    theirs.impl("several", lambda x: (x * 2, [x * 3, x * 4]), "CompositeImplicitAutograd")
    with opyard.torch.adopt(f"{ns}::several"):
        a = opyard.tensor([1.0]).requires_grad_()
        one, more = getattr(opyard.ops, ns).several(a)
        (one.sum() + more[1].sum()).backward()
        assert a.grad.tolist() == [6.0]


def test_it_stays_when_nobody_keeps_the_result_and_needs_no_tensor(theirs, ns):
    theirs.define("ones(int n) -> Tensor")
    theirs.impl("ones", lambda n: torch.ones(n), "CompositeImplicitAutograd")
    opyard.torch.adopt(f"{ns}::ones")
    assert getattr(opyard.ops, ns).ones(2).tolist() == [1.0, 1.0]


def test_writes_reach_the_tensor_and_are_counted(theirs, ns):
    with opyard.torch.adopt(f"{ns}::shift_"):
        x = opyard.tensor([1.0, 2.0])
        before = x._version
        assert getattr(opyard.ops, ns).shift_(x, 3) is x
        assert x.tolist() == [4.0, 5.0] and x._version == before + 1


def test_what_cannot_be_adopted_says_why(theirs, ns):
    with pytest.raises(ValueError, match="gives a view"):
        opyard.torch.adopt(f"{ns}::head")
    with pytest.raises(LookupError, match="is the package imported"):
        opyard.torch.adopt(f"{ns}::nothing")
    with pytest.raises(ValueError, match='no "ns::name"'):
        opyard.torch.adopt("mix")
    with opyard.torch.adopt(f"{ns}::both"), pytest.raises((RuntimeError, ValueError), match="both"):
        opyard.torch.adopt(f"{ns}::both")
