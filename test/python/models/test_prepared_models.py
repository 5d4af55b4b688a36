"""Protects what load() prepares: runs give what the graph gives, bit for bit where it says so.

Suspect the file of models/src/prepared/ that has the preparation's name; prepared.cpp if one is
used that fits no more; kernels/src/neural/convolution_stored.cpp for bits of stored activations.
"""

import pytest

import opyard
from opyard import jit

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.once

NORM = """  %training : bool = prim::Constant[value=0]()
  %momentum : float = prim::Constant[value=0.1]()
  %eps : float = prim::Constant[value={eps}]()
  %cudnn : bool = prim::Constant[value=1]()
"""
LISTS = """  %none : None = prim::Constant()
  %one : int[] = prim::Constant[value=[1]]()
  %two : int[] = prim::Constant[value=[2]]()
  %zero : int[] = prim::Constant[value=[0]]()
  %false : bool = prim::Constant[value=0]()
  %groups : int = prim::Constant[value={groups}]()
"""
TENSORS = ("w", "b", "gamma", "beta", "mean", "var")


def constants(names):
    return "".join(f"  %{name} : Tensor = prim::Constant[value=<Tensor>]()\n" for name in names)


class Drawn:
    """Tensors of one dtype, drawn from numbers that stay the same."""

    def __init__(self, dtype="float32", seed=0):
        self.generator = np.random.default_rng(seed)
        self.dtype = dtype

    def __call__(self, *sizes, positive=False):
        drawn = self.generator.standard_normal(sizes)
        drawn = np.abs(drawn) + 0.5 if positive else drawn
        return opyard.from_numpy(drawn.astype(self.dtype))


def both(tmp_path, text, tensors=(), **options):
    """A graph as it is, and what is loaded of its file."""
    graph = jit.parse_ir(text, tensors=list(tensors))
    jit.save(graph, tmp_path / "model.safetensors")
    return graph, jit.load(tmp_path / "model.safetensors", **options)


def places(model, name):
    (line,) = [one for one in model.explain().splitlines() if one.startswith(f"  {name}: ")]
    return int(line.split(": ")[1].split()[0])


def same_bits(one, other):
    one, other = one.numpy(), other.numpy()
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and one.tobytes() == other.tobytes()


def normed(call, *, eps=1e-5, groups=1, native=False):
    """A convolution, a norm of evaluation behind it, and both in a graph."""
    if native:
        norm = (
            "  %y : Tensor, %m : Tensor, %r : Tensor = aten::_native_batch_norm_legit_no_training("
            "%c, %gamma, %beta, %mean, %var, %momentum, %eps)\n"
        )
    else:
        norm = (
            "  %y : Tensor = aten::batch_norm(%c, %gamma, %beta, %mean, %var, %training, "
            "%momentum, %eps, %cudnn)\n"
        )
    head = constants(TENSORS) + NORM.format(eps=eps) + LISTS.format(groups=groups)
    return f"graph(%x : Tensor):\n{head}  %c : Tensor = {call}\n{norm}  return (%y)\n"


CONVOLUTIONS = {
    "conv1d": ("aten::conv1d(%x, %w, %b)", (2, 4, 9), (6, 4, 3), 1),
    "conv2d": (
        "aten::conv2d(%x, %w, %b, %two, %one, %one, %groups)", (2, 4, 9, 7), (6, 4, 3, 3), 1),
    "conv3d": ("aten::conv3d(%x, %w, %b)", (1, 2, 5, 5, 5), (3, 2, 3, 3, 3), 1),
    "no bias": ("aten::conv2d(%x, %w)", (2, 4, 9, 7), (6, 4, 3, 3), 1),
    "None": ("aten::conv2d(%x, %w, %none)", (2, 4, 9, 7), (6, 4, 1, 1), 1),
    "groups": (
        "aten::conv2d(%x, %w, %b, %one, %one, %one, %groups)", (1, 4, 9, 7), (4, 1, 3, 3), 4),
    "convolution": (
        "aten::convolution(%x, %w, %b, %one, %zero, %one, %false, %zero, %groups)",
        (2, 4, 6, 6), (6, 4, 3, 3), 1),
}  # fmt: skip


def tensors_of(draw, weight):
    channels = weight[0]
    rest = [draw(channels) for _ in range(4)]
    return [draw(*weight), *rest, draw(channels, positive=True)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_batch_norms_are_folded_into_convolutions(tmp_path, name, native, dtype):
    call, image, weight, groups = CONVOLUTIONS[name]
    draw = Drawn(dtype)
    text = normed(call, groups=groups, native=native)
    graph, model = both(tmp_path, text, tensors_of(draw, weight))
    x = draw(*image)
    assert places(model, "fold_batch_norms") == 1
    assert "fold_batch_norms: 1 places, where rounding changes" in model.explain()
    given, wanted = model(x).numpy(), graph(x).numpy()
    # A few units in the last place of the largest sums.
    bound = 16 * np.finfo(dtype).eps * np.abs(wanted).max()
    assert given.dtype == wanted.dtype and np.abs(given - wanted).max() <= bound
    exact = jit.load(tmp_path / "model.safetensors", exact=True)
    assert same_bits(exact(x), graph(x)) and "fold_batch_norms: left out" in exact.explain()
    without = jit.load(tmp_path / "model.safetensors", without=["fold_batch_norms"])
    assert same_bits(without(x), graph(x))


def test_weights_of_any_strides_are_folded(tmp_path):
    draw = Drawn()
    tensors = tensors_of(draw, (6, 4, 3, 3))
    turned = draw(3, 3, 4, 6).permute(3, 2, 0, 1)
    halves = draw(12)[::2]
    graph = jit.parse_ir(normed("aten::conv2d(%x, %w, %b)"), tensors=[turned, halves, *tensors[2:]])
    jit.save(graph, tmp_path / "model.safetensors")
    model = jit.load(tmp_path / "model.safetensors")
    x = draw(2, 9, 7, 4).permute(0, 3, 1, 2)
    assert places(model, "fold_batch_norms") == 1
    assert np.allclose(model(x).numpy(), graph(x).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        ("var", 0.0, 0.0),  # an infinite scale
        ("w", float("nan"), 1e-5),
        ("mean", float("inf"), 1e-5),
        ("gamma", float("-inf"), 1e-5),
        ("gamma", 3e38, 1e-5),  # overflows
    ],
    ids=str,
)
def test_what_is_not_finite_is_not_folded(tmp_path, change):
    name, number, eps = change
    tensors = tensors_of(Drawn(), (6, 4, 3, 3))
    tensors[TENSORS.index(name)].view(-1)[1] = number
    graph, model = both(tmp_path, normed("aten::conv2d(%x, %w, %b)", eps=eps), tensors)
    x = Drawn(seed=1)(2, 4, 9, 7)
    assert places(model, "fold_batch_norms") == 0
    assert same_bits(model(x), graph(x))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_comes_through_a_folded_norm(tmp_path, number):
    graph, model = both(
        tmp_path, normed("aten::conv2d(%x, %w, %b)"), tensors_of(Drawn(), (6, 4, 3, 3))
    )
    x = Drawn(seed=1)(2, 4, 9, 7)
    x[0, 2, 4, 3] = number
    given, wanted = model(x).numpy(), graph(x).numpy()
    assert places(model, "fold_batch_norms") == 1
    for of in (np.isnan, np.isposinf, np.isneginf):
        assert (of(given) == of(wanted)).all()


def test_norms_that_cannot_be_folded_stay(tmp_path):
    draw = Drawn()
    tensors = tensors_of(draw, (6, 4, 3, 3))
    plain = normed("aten::conv2d(%x, %w, %b)")
    flag = "%training : bool = prim::Constant[value={}]"
    trains = plain.replace(flag.format(0), flag.format(1))
    twice = plain.replace("return (%y)", "%z : Tensor = aten::add(%y, %c)\n  return (%z)")
    given = plain.replace("graph(%x : Tensor)", "graph(%x : Tensor, %w : Tensor)").replace(
        "  %w : Tensor = prim::Constant[value=<Tensor>]()\n", ""
    )
    x = draw(2, 4, 9, 7)
    for text, passed in ((twice, [x]), (given, [x, tensors[0]])):
        some = tensors if len(passed) == 1 else tensors[1:]
        graph, model = both(tmp_path, text, some)
        assert places(model, "fold_batch_norms") == 0
        assert same_bits(model(*passed), graph(*passed))
    _, model = both(tmp_path, trains, tensors)
    assert places(model, "fold_batch_norms") == 0


ACTIVATIONS = {
    "relu": "aten::relu(%s)",
    "relu6": "aten::relu6(%s)",
    "hardtanh": "aten::hardtanh(%s, %least, %most)",
    "sum": "",
}


def stored(call, activation, groups, addend):
    head = constants("wb") + LISTS.format(groups=groups)
    head += "  %least : int = prim::Constant[value=-1]()\n"
    head += "  %most : int = prim::Constant[value=2]()\n"
    takes = "%x : Tensor, %r : Tensor" if addend else "%x : Tensor"
    lines = f"  %{'c' if addend else 's'} : Tensor = {call}\n"
    if addend == "before":
        lines += "  %s : Tensor = aten::add(%r, %c)\n"
    elif addend:
        lines += "  %s : Tensor = aten::add(%c, %r)\n"
    result = "%s"
    if activation:
        lines += f"  %y : Tensor = {activation}\n"
        result = "%y"
    return f"graph({takes}):\n{head}{lines}  return ({result})\n"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("addend", ["", "before", "behind"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_activations_are_stored_with_the_bits_of_operators(
    tmp_path, name, activation, addend, dtype
):
    if activation == "sum" and not addend:
        return
    call, image, weight, groups = CONVOLUTIONS[name]
    draw = Drawn(dtype)
    text = stored(call, ACTIVATIONS[activation], groups, addend)
    graph, model = both(tmp_path, text, [draw(*weight), draw(weight[0])])
    assert places(model, "store_activations") == 1, model.explain()
    x = draw(*image)
    plain = jit.parse_ir(
        f"graph(%x : Tensor):\n{constants('wb')}{LISTS.format(groups=groups)}"
        f"  %c : Tensor = {call}\n  return (%c)\n",
        tensors=[draw(*weight), draw(weight[0])],
    )
    sizes = plain(x).shape
    x.view(-1)[3] = float("nan")
    x.view(-1)[1] = float("inf")
    passed = [x]
    if addend:
        passed.append(draw(*sizes))
        passed[1].view(-1)[5] = float("nan")
        passed[1].view(-1)[6] = -0.0
    assert same_bits(model(*passed), graph(*passed))
    if addend:  # one that broadcasts, one of another dtype, and one that is no rows
        other = "float64" if dtype == "float32" else "float32"
        turned = draw(*sizes[::-1]).permute(*range(len(sizes))[::-1])
        for one in (draw(1), Drawn(other)(*sizes), turned):
            assert same_bits(model(x, one), graph(x, one))


def test_an_image_alone_is_stored_as_a_batch_is(tmp_path):
    draw = Drawn()
    text = stored("aten::conv2d(%x, %w, %b)", "aten::relu(%s)", 1, "")
    graph, model = both(tmp_path, text, [draw(6, 4, 3, 3), draw(6)])
    x = draw(4, 9, 7)
    assert places(model, "store_activations") == 1
    assert same_bits(model(x), graph(x))


def test_zeros_keep_their_sign_in_stored_activations(tmp_path):
    text = stored("aten::conv2d(%x, %w, %b)", "aten::relu(%s)", 1, "behind")
    weight = opyard.zeros(2, 1, 1, 1)
    graph, model = both(tmp_path, text, [weight, opyard.tensor([-0.0, 0.0])])
    x, r = opyard.ones(1, 1, 2, 2), opyard.tensor([[[[-0.0, 0.0], [-1.0, 1.0]]]])
    assert same_bits(model(x, r), graph(x, r))


def test_activations_that_write_give_new_tensors(tmp_path):
    draw = Drawn()
    text = f"""graph(%x : Tensor):
{constants("wb")}  %c : Tensor = aten::conv2d(%x, %w, %b)
  %y : Tensor = aten::relu_(%c)
  %d : Tensor = aten::conv2d(%x, %w, %b)
  %s : Tensor = aten::add_(%d, %y)
  %z : Tensor = aten::relu_(%s)
  return (%z)
"""
    graph, model = both(tmp_path, text, [draw(6, 4, 3, 3), draw(6)])
    x = draw(2, 4, 9, 7)
    assert places(model, "write_anew") == 3, model.explain()
    assert same_bits(model(x), graph(x))


def test_writes_that_others_see_stay(tmp_path):
    text = """graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %y : Tensor = aten::neg(%x)
  %v : Tensor = aten::select(%y, %zero, %zero)
  %r : Tensor = aten::relu_(%y)
  %z : Tensor = aten::relu_(%x)
  return (%v, %r, %z)
"""
    graph, model = both(tmp_path, text)
    assert places(model, "write_anew") == 0
    x, other = Drawn()(3, 4), Drawn()(3, 4)
    for one, two in zip(model(x), graph(other), strict=True):
        assert same_bits(one, two)
    assert same_bits(x, other) and x.numpy().min() == 0


def test_dropouts_of_evaluation_are_taken_away(tmp_path):
    text = """graph(%x : Tensor):
  %p : float = prim::Constant[value=0.5]()
  %f : bool = prim::Constant[value=0]()
  %t : bool = prim::Constant[value=1]()
  %a : Tensor = aten::dropout(%x, %p, %f)
  %b : Tensor = aten::neg(%a)
  %c : Tensor = aten::dropout(%b, %p, %t)
  %d : Tensor = aten::dropout(%x, %p, %f)
  return (%b, %c, %d)
"""
    graph, model = both(tmp_path, text)
    x = Drawn()(64, 64)
    assert places(model, "drop_dropouts") == 1
    b, c, _ = model(x)
    assert same_bits(b, graph(x)[0])
    zeros = (c.numpy() == 0).mean()
    assert 0.4 < zeros < 0.6


FOLDED = f"""graph(%x : Tensor):
{constants("w")}  %one : int = prim::Constant[value=1]()
  %n : int = prim::Constant[value=4]()
  %t : Tensor = aten::t(%w)
  %e : Tensor = aten::exp(%t)
  %n1 : None = prim::Constant()
  %a : Tensor = aten::arange(%n, %n1, %n1, %n1, %n1)
  %m : Tensor = aten::matmul(%x, %e)
  %y : Tensor = aten::add(%m, %a)
  return (%y)
"""


def test_what_depends_on_weights_alone_is_computed_once(tmp_path):
    graph, model = both(tmp_path, FOLDED, [Drawn()(4, 3)])
    x = Drawn()(2, 3)
    assert places(model, "fold_state") == 2, model.explain()
    assert same_bits(model(x), graph(x)) and same_bits(model(x), graph(x))


def test_what_is_random_written_returned_or_large_is_not_computed_before(tmp_path):
    text = f"""graph(%x : Tensor):
{constants("w")}  %none : None = prim::Constant()
  %much : int[] = prim::Constant[value=[4096, 4096]]()
  %r : Tensor = aten::rand_like(%w)
  %e : Tensor = aten::exp(%w)
  %f : Tensor = aten::add_(%e, %x)
  %g : Tensor = aten::neg(%w)
  %z : Tensor = aten::zeros(%much)
  %s : Tensor = aten::sum(%z)
  return (%r, %f, %g, %s)
"""
    _, model = both(tmp_path, text, [Drawn()(4, 3)])
    assert places(model, "fold_state") == 0
    x = opyard.ones(4, 3)
    first, second = model(x), model(x)
    assert not same_bits(first[0], second[0])
    assert same_bits(first[1], second[1])
    first[2].zero_()
    assert same_bits(model(x)[2], second[2])


def tensor_of(model, index=0):
    (*found,) = [node for node in model.graph.nodes() if node.kind == "prim::Constant"]
    return found[index].t("value")


def test_written_weights_are_used(tmp_path):
    graph, model = both(tmp_path, FOLDED, [Drawn()(4, 3)])
    x = Drawn()(2, 3)
    before = model(x)
    weight = tensor_of(model)
    weight.mul_(2)
    given = model(x)
    assert not same_bits(given, before)
    wanted = x.numpy() @ np.exp(weight.numpy().T) + np.arange(4)
    assert np.allclose(given.numpy(), wanted, rtol=1e-5)
    assert model.explain().startswith("runs as it is, since its weights need gradients or were")
    assert model.prepare() is model and model.explain().startswith("runs ")
    assert "in place of" in model.explain()
    assert same_bits(model(x), given)


def test_gradients_flow_through_a_prepared_model(tmp_path):
    draw = Drawn()
    text = normed("aten::conv2d(%x, %w, %b)").replace(
        "return (%y)", "%z : Tensor = aten::relu(%y)\n  return (%z)"
    )
    graph, model = both(tmp_path, text, tensors_of(draw, (6, 4, 3, 3)))
    data = draw(2, 4, 9, 7)
    grads = []
    for run in (model, graph):
        x = data.clone().requires_grad_()
        run(x).sum().backward()
        grads.append(x.grad)
    assert places(model, "fold_batch_norms") == 1
    assert same_bits(*grads)
    with opyard.no_grad():
        assert np.allclose(model(x).numpy(), graph(x).numpy(), atol=1e-5)


def test_a_changed_graph_is_run_as_before(tmp_path):
    _, model = both(tmp_path, FOLDED, [Drawn()(4, 3)])
    jit.passes.canonicalize(model.graph)
    jit.passes.eliminate_dead_code(model.graph)
    assert "runs" in model.explain()


def test_graphs_with_branches_run_as_they_are(tmp_path):
    text = """graph(%x : Tensor, %c : bool):
  %y : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::neg(%x)
      -> (%a)
    block1():
      -> (%x)
  return (%y)
"""
    _, model = both(tmp_path, text)
    assert model.explain() == "runs as it is, since it has branches or loops"
    assert model(opyard.ones(2), True).tolist() == [-1, -1]


def test_preparations_are_named(tmp_path):
    with pytest.raises(ValueError) as caught:
        both(tmp_path, FOLDED, [Drawn()(4, 3)], without=["fold_norms"])
    assert str(caught.value) == (
        'no preparation of models is called "fold_norms"; there are drop_dropouts, write_anew, '
        "fold_batch_norms, join_equal, store_activations, fold_state, fuse_elements"
    )
    _, model = both(tmp_path, FOLDED, [Drawn()(4, 3)], without=["fold_state"])
    assert "\n  fold_state: left out" in model.explain()
