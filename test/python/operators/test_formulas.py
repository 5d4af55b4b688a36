"""Every formula of aten beside differences of values, in float64, and their gradients likewise.

Suspect kernels/src/gradients/derivatives.cpp, then the file of the operator.
"""

import contextlib
import types

import pytest

import opyard
from opyard import autograd

aten = opyard.ops.aten


def t(values):
    return opyard.tensor(values, dtype=opyard.float64).requires_grad_()


A = [[0.5, -1.2, 2.0], [1.5, 0.7, -0.4]]
B = [[1.1, 0.3, -0.9], [-1.4, 2.2, 0.8]]
P = [[0.5, 1.2, 2.0], [1.5, 0.7, 0.4]]  # above zero
ROW = [0.9, -0.6, 1.7]
MASK = opyard.tensor([[True, False, True], [False, False, True]])
INDEX = opyard.tensor([[0, 2, 0], [1, 1, 2]])

# Name of the operator it is for, function, inputs.
CASES = [
    ("add.Tensor", lambda a, b: aten.add(a, b, alpha=3), [A, B]),
    ("add.Tensor", lambda a, b: a + b, [A, ROW]),
    ("add.Scalar", lambda a: a + 2, [A]),
    ("sub.Tensor", lambda a, b: aten.sub(a, b, alpha=2), [A, ROW]),
    ("sub.Scalar", lambda a: a - 2, [A]),
    ("rsub.Tensor", lambda a, b: aten.rsub(a, b, alpha=2), [A, ROW]),
    ("rsub.Scalar", lambda a: aten.rsub(a, 2, 3), [A]),
    ("mul.Tensor", lambda a, b: a * b, [A, ROW]),
    ("mul.Tensor", lambda a: a * a, [A]),
    ("mul.Scalar", lambda a: a * 3, [A]),
    ("div.Tensor", lambda a, b: a / b, [A, ROW]),
    ("div.Scalar", lambda a: a / 3, [A]),
    ("div.Tensor_mode", lambda a, b: aten.div(a, b, rounding_mode=None), [A, ROW]),
    ("div.Tensor_mode", lambda a, b: aten.div(a, b, rounding_mode="floor"), [A, [0.9, -0.8, 1.7]]),
    ("div.Scalar_mode", lambda a: aten.div(a, 0.3, rounding_mode=None), [A]),
    ("div.Scalar_mode", lambda a: aten.div(a, 0.37, rounding_mode="trunc"), [A]),
    ("remainder.Tensor", lambda a, b: aten.remainder(a, b), [A, [0.8, 1.1, 0.7]]),
    ("remainder.Scalar", lambda a: aten.remainder(a, 0.8), [A]),
    ("pow.Tensor_Scalar", lambda a: a**3, [A]),
    ("pow.Tensor_Scalar", lambda a: a**0, [A]),
    ("pow.Tensor_Scalar", lambda a: a**1.5, [P]),
    ("pow.Tensor_Tensor", lambda a, b: a**b, [P, B]),
    ("pow.Scalar", lambda b: aten.pow(2.5, b), [B]),
    ("neg", lambda a: -a, [A]),
    ("abs", lambda a: aten.abs(a), [A]),
    ("reciprocal", lambda a: aten.reciprocal(a), [A]),
    ("sqrt", lambda a: aten.sqrt(a), [P]),
    ("exp", lambda a: aten.exp(a), [A]),
    ("log", lambda a: aten.log(a), [P]),
    ("tanh", lambda a: aten.tanh(a), [A]),
    ("sigmoid", lambda a: aten.sigmoid(a), [A]),
    ("relu", lambda a: aten.relu(a), [A]),
    ("relu", lambda a: aten.relu_(a * 1), [A]),
    ("maximum", lambda a, b: aten.maximum(a, b), [A, ROW]),
    ("minimum", lambda a, b: aten.minimum(a, b), [A, ROW]),
    ("clamp", lambda a: aten.clamp(a, -0.5, 1.0), [A]),
    ("clamp", lambda a: aten.clamp(a, max=1.0), [A]),
    ("where.self", lambda a, b: aten.where(MASK, a, b), [A, ROW]),
    ("masked_fill.Scalar", lambda a: aten.masked_fill(a, MASK, 2.0), [A]),
    ("sum", lambda a: a.sum(), [A]),
    ("sum.dim_IntList", lambda a: aten.sum(a, [1]), [A]),
    ("sum.dim_IntList", lambda a: aten.sum(a, [0], True), [A]),
    ("mean", lambda a: a.mean(), [A]),
    ("mean.dim", lambda a: aten.mean(a, [-1]), [A]),
    ("amax", lambda a: aten.amax(a, [1]), [A]),
    ("amin", lambda a: aten.amin(a, [0], True), [A]),
    ("max", lambda a: aten.max(a), [A]),
    ("min", lambda a: aten.min(a), [A]),
    ("max.dim", lambda a: aten.max(a, 1)[0], [A]),
    ("min.dim", lambda a: aten.min(a, 0, True)[0], [A]),
    ("_softmax", lambda a: aten.softmax(a, 1), [A]),
    ("_log_softmax", lambda a: aten.log_softmax(a, 0), [A]),
    ("mm", lambda a, b: aten.mm(a, aten.t(b)), [A, B]),
    ("addmm", lambda c, a, b: aten.addmm(c, a, aten.t(b), beta=2, alpha=3), [[0.1, 0.2], A, B]),
    ("mv", lambda a, v: aten.mv(a, v), [A, ROW]),
    ("dot", lambda a, b: aten.dot(a, b), [ROW, [0.2, 0.4, -0.8]]),
    ("mm", lambda a, b: a.reshape([1, 2, 3]) @ b.T, [A, B]),
    ("view", lambda a: aten.view(a, [3, 2]) * 2, [A]),
    ("t", lambda a: aten.t(a) * 2, [A]),
    ("transpose.int", lambda a: aten.transpose(a, 0, 1) * 2, [A]),
    ("permute", lambda a: aten.permute(a, [1, 0]) * 2, [A]),
    ("expand", lambda a: aten.expand(a, [4, 3]) * 2, [[ROW]]),
    ("squeeze", lambda a: aten.squeeze(a) * 2, [[ROW]]),
    ("squeeze.dim", lambda a: aten.squeeze(a, 0) * 2, [[ROW]]),
    ("unsqueeze", lambda a: aten.unsqueeze(a, 1) * 2, [A]),
    ("alias", lambda a: aten.alias(a) * 2, [A]),
    ("as_strided", lambda a: aten.as_strided(a, [2, 2], [2, 1], 1) * 2, [A]),
    ("select.int", lambda a: a[1] * 2, [A]),
    ("slice.Tensor", lambda a: a[:, 0:3:2] * 2, [A]),
    ("narrow", lambda a: aten.narrow(a, 1, -2, 2) * 2, [A]),
    ("index.Tensor", lambda a: aten.index(a, [None, opyard.tensor([0, 0, 2])]), [A]),
    ("index.Tensor", lambda a: a[MASK], [A]),
    ("index_select", lambda a: aten.index_select(a, 1, opyard.tensor([2, 0, 2])), [A]),
    ("gather", lambda a: aten.gather(a, 1, INDEX), [A]),
    ("cat", lambda a, b: aten.cat([a, b, a], 1), [A, B]),
    ("cat", lambda a, b: aten.stack([a, b], 1), [A, B]),
    ("unbind.int", lambda a: aten.unbind(a, 1)[2] * aten.unbind(a, -1)[0], [A]),
    ("split.Tensor", lambda a: aten.split(a, 2, 1)[0] * 2, [A]),
    ("split.sizes", lambda a: aten.split(a, [1, 2], 1)[1] * 2, [A]),
    ("split_with_sizes", lambda a: aten.split_with_sizes(a, [1, 2], 1)[1] ** 2, [A]),
    ("chunk", lambda a: aten.mul(*aten.chunk(a, 2)), [A]),
    ("clone", lambda a: aten.clone(a), [A]),
    ("copy_", lambda a, b: aten.copy_(a * 2, b), [A, ROW]),
    ("index_put_", lambda a, v: aten.index_put_(a * 1, [opyard.tensor([1])], v), [A, [ROW]]),
    (
        "index_put_",
        lambda a, v: aten.index_put_(a * 1, [opyard.tensor([1, 1])], v, True),
        [A, [ROW, ROW]],
    ),
    ("fill_.Scalar", lambda a: aten.fill_(a * 1, 2.0), [A]),
    ("zero_", lambda a: aten.zero_(a * 1) + a, [A]),
    ("mul.Tensor", lambda a, b: aten.mul_(a * 1, b), [A, ROW]),
    ("div.Tensor", lambda a, b: aten.div_(a * 1, b), [A, ROW]),
    ("add.Tensor", lambda a, b: aten.add_(a * 1, b, alpha=2), [A, ROW]),
    ("_to_copy", lambda a: aten.to(a, opyard.float64, copy=True), [A]),
]


@pytest.mark.parametrize(("name", "fn", "inputs"), CASES, ids=[c[0] for c in CASES])
def test_X31_a_formula_is_what_differences_say(name, fn, inputs):
    assert autograd.gradcheck(fn, [t(values) for values in inputs])


@pytest.mark.parametrize(("name", "fn", "inputs"), CASES, ids=[c[0] for c in CASES])
def test_G12_a_formula_can_be_differentiated_again(name, fn, inputs):
    constant = name in ("fill_.Scalar", "zero_")
    if not constant:
        assert autograd.gradgradcheck(fn, [t(values) for values in inputs])


def test_X31_every_formula_is_read_and_has_a_case():
    with_formulas = {
        name: autograd.formulas(getattr(getattr(aten, name.partition(".")[0]), overload))
        for name in sorted({case[0] for case in CASES})
        for overload in [name.partition(".")[2] or "default"]
    }
    assert all(with_formulas.values())
    for name in with_formulas:
        packet, _, overload = name.partition(".")
        autograd.check_formulas(getattr(getattr(aten, packet), overload or "default"))


def gradients_with(library, operators, fn, inputs, names):
    """The gradients of a weighted sum of what fn gives, with another library's names in it."""
    of_library = types.FunctionType(fn.__code__, {"aten": operators, "opyard": library, **names})
    leaves = [library.tensor(v, dtype=library.float64).requires_grad_() for v in inputs]
    result = of_library(*leaves)
    count = 1
    for size in result.shape:
        count *= size
    weights = library.tensor([0.3 + 0.1 * i for i in range(count)], dtype=library.float64)
    (result.reshape([-1]) * weights).sum().backward()
    return [[0.0] if leaf.grad is None else leaf.grad.reshape([-1]).tolist() for leaf in leaves]


@pytest.mark.parametrize(("name", "fn", "inputs"), CASES, ids=[c[0] for c in CASES])
def test_X31_a_formula_gives_the_gradients_of_pytorch(name, fn, inputs):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    names = {"MASK": MASK, "INDEX": INDEX}
    ours = gradients_with(opyard, aten, fn, inputs, names)
    names = {name: torch.tensor(value.tolist()) for name, value in names.items()}
    theirs = gradients_with(torch, torch.ops.aten, fn, inputs, names)
    for a, b in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12) or not (any(a) or any(b)), name


def test_formulas_find_functions_in_aten_before_those_of_opyard():
    graph = opyard.jit.parse_expression("sum_to(neg(x), y)", ["x", "y"])
    assert [node.kind for node in graph.nodes()] == ["aten::neg", "opyard::sum_to"]
    assert not hasattr(aten, "sum_to") and not hasattr(opyard.Tensor, "sum_to")
    with contextlib.closing(opyard.library.Library("opyard", "FRAGMENT")) as lib:
        lib.define("neg(Tensor x) -> Tensor")
        graph = opyard.jit.parse_expression("neg(x)", ["x"])
        assert next(iter(graph.nodes())).kind == "aten::neg"


def test_aten_has_the_overloads_of_pytorch_and_no_others():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = {}
    for schema in torch._C._jit_get_all_schemas():
        full = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        theirs[full] = [(one.name, one.kwarg_only) for one in schema.arguments]
    for name in dir(aten):
        for overload in getattr(aten, name).overloads():
            op = getattr(getattr(aten, name), overload)
            if op.name() == "aten::conj.Scalar":
                continue  # formulas have numbers where PyTorch's are C++
            ours = [(one.name, one.kwarg_only) for one in op._schema.arguments]
            assert theirs.get(op.name()) == ours, op._schema
