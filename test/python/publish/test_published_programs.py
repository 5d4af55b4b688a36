"""test_published_programs.py: published operators in programs that PyTorch compiles and exports.

Suspect publish/python/opyard/_torch/meta.py, then the kernels for Meta.
"""

import warnings

import pytest
from frameworks import require

import opyard

torch = require("torch")
# Inductor's own.
pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
BACKENDS = ("aot_eager", "inductor")


@pytest.fixture
def operator(published_ops, ns):
    with opyard.torch.publish(ns):
        yield getattr(torch.ops, ns)
    torch._dynamo.reset()


class Counted:
    """A backend that counts how often it compiles."""

    def __init__(self, name):
        self.inner = torch._dynamo.lookup_backend(name)
        self.count = 0

    def __call__(self, graph, inputs):
        self.count += 1
        return self.inner(graph, inputs)


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_graph_serves_all_sizes_with_gradients(operator, backend):
    counted = Counted(backend)

    def program(x, g):
        return operator.silu_mul(torch.sin(x), g, scale=2.0).cos().sum()

    compiled = torch.compile(program, fullgraph=True, dynamic=True, backend=counted)
    for size in (5, 9, 17, 33):
        x, g = torch.randn(size, 4, requires_grad=True), torch.randn(4, requires_grad=True)
        ours, theirs = compiled(x, g), program(x, g)
        torch.testing.assert_close(ours, theirs)
        for a, b in zip(
            torch.autograd.grad(ours, [x, g]), torch.autograd.grad(theirs, [x, g]), strict=True
        ):
            torch.testing.assert_close(a, b)
    assert counted.count == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_writes_are_kept_in_a_compiled_program(operator, backend):
    def program(x):
        y = x + 1
        operator.clip_(y, -0.5, 0.5)
        operator.clip_(x, -1.0, 1.0)
        return y * 2

    compiled = torch.compile(program, fullgraph=True, backend=backend)
    x = torch.randn(20)
    ours, theirs = x.clone(), x.clone()
    torch.testing.assert_close(compiled(ours), program(theirs))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.filterwarnings("ignore:.*takes sizes that are known")
def test_lists_and_several_results_are_compiled(operator):
    compiled = torch.compile(
        lambda a, b: operator.pieces([a, b, a])[0] * operator.pieces([a, b])[1],
        fullgraph=True,
        backend="aot_eager",
    )
    a, b = torch.randn(3, requires_grad=True), torch.randn(2)
    compiled(a, b).sum().backward()
    ours, a.grad = a.grad, None
    (torch.cat([a, b, a]) * torch.cat([a, b]).amin()).sum().backward()
    torch.testing.assert_close(ours, a.grad)


def test_an_exported_program_keeps_the_operator(operator, ns):
    class Program(torch.nn.Module):
        def forward(self, x):
            return operator.twice(x) + operator.ramp(x.shape[0])

    size = torch.export.Dim("size", min=2)
    exported = torch.export.export(
        Program(), (torch.randn(4),), dynamic_shapes={"x": {0: size}}, strict=False
    )
    assert f"torch.ops.{ns}.twice.default" in exported.graph_module.code
    x = torch.randn(7)
    torch.testing.assert_close(exported.module()(x), x * 2 + torch.arange(7.0))


def test_wrong_sizes_are_refused_while_it_is_compiled(operator):
    compiled = torch.compile(operator.silu_mul.default, fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match=r"aten::mul\S*: .*\[3\].*\[4\]"):
        compiled(torch.randn(3), torch.randn(4))


def test_a_kernel_that_wants_known_sizes_is_compiled_for_each(library, ns):
    library.define("known(Tensor x) -> Tensor")
    library.impl("known", lambda x: opyard.ops.aten.cumsum(x, 0), "CompositeExplicitAutograd")
    with opyard.torch.publish(ns):
        counted = Counted("aot_eager")
        op = getattr(torch.ops, ns).known
        compiled = torch.compile(lambda x: op(x) * 2, fullgraph=True, dynamic=True, backend=counted)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            for size in (3, 5, 7):
                x = torch.randn(size)
                torch.testing.assert_close(compiled(x), x.cumsum(0) * 2)
        told = [
            str(one.message) for one in heard if "takes sizes that are known" in str(one.message)
        ]
        assert len(told) == 1 and f"{ns}::known" in told[0]
        assert counted.count == 3
    torch._dynamo.reset()


def test_an_end_of_the_library_is_an_error_of_the_compiled_program(published_ops, ns):
    made = opyard.torch.publish(ns)
    op = getattr(torch.ops, ns).twice
    compiled = torch.compile(lambda x: op(x) + 1, fullgraph=True, backend="aot_eager")
    x = torch.randn(3)
    torch.testing.assert_close(compiled(x), x * 2 + 1)
    made.undo()
    with pytest.raises(Exception, match="twice"):
        compiled(x)
    torch._dynamo.reset()
