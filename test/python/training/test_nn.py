"""test_nn.py: modules find their parameters, keep a state, run hooks, and compute what they say.

Suspect opyard/_nn: module.py and hooks.py, then the layer's own file.
"""

import copy
import gc
import math
import pickle
import weakref

import pytest

import opyard
from opyard import autograd, nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.parts = nn.ModuleList([nn.Linear(4, 4), nn.ReLU()])
        self.register_buffer("seen", opyard.zeros(2))
        self.register_buffer("scratch", opyard.zeros(2), persistent=False)
        self.scale = nn.Parameter(opyard.ones(1))

    def forward(self, x):
        x = self.first(x)
        for part in self.parts:
            x = part(x)
        return x * self.scale


def test_attributes_are_found_by_their_type():
    net = Net()
    names = ["scale", "first.weight", "first.bias", "parts.0.weight", "parts.0.bias"]
    assert [name for name, _ in net.named_parameters()] == names
    assert [name for name, _ in net.named_buffers()] == ["seen", "scratch"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "parts", "parts.0", "parts.1"]
    assert [name for name, _ in net.named_children()] == ["first", "parts"]
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["scale"]
    assert len(list(net.buffers())) == 2 and len(list(net.modules())) == 5
    assert net.get_parameter("parts.0.bias") is net.parts[0].bias
    assert net.get_buffer("seen") is net.seen and net.get_buffer("scratch") is net.scratch
    assert net.get_submodule("parts.1") is net.parts[1] and net.get_submodule("") is net
    assert {"first", "seen", "scale", "forward"} <= set(dir(net))
    with pytest.raises(AttributeError, match="no module 'seventh'"):
        net.get_submodule("parts.seventh")
    with pytest.raises(AttributeError, match="no parameter 'nothing'"):
        net.get_parameter("first.nothing")
    with pytest.raises(AttributeError, match=r"Linear has no buffer 'weight' \('first.weight'\)"):
        net.get_buffer("first.weight")


def test_attributes_change_their_kind_only_where_that_is_meant():
    net = Net()
    with pytest.raises(TypeError, match=r"Net.scale must be a Parameter or None"):
        net.scale = opyard.ones(1)
    with pytest.raises(TypeError, match=r"Net.first must be a Module or None"):
        net.first = 3
    net.seen = opyard.ones(2)
    assert net._buffers["seen"].tolist() == [1.0, 1.0]
    net.first = None
    net.seen = nn.Parameter(opyard.ones(2))
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["scale", "seen"]
    assert [name for name, _ in net.named_buffers()] == ["scratch"]
    del net.seen
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'seen'"):
        net.seen  # noqa: B018
    net.plain = 3
    assert net.plain == 3
    del net.plain
    with pytest.raises(AttributeError):
        del net.plain


def test_a_module_without_init_says_so():
    class Forgot(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\) before"):
        Forgot()
    with pytest.raises(NotImplementedError, match="Module has no forward"):
        nn.Module()(1)


@pytest.mark.parametrize("name", ["", "a.b", "forward"])
def test_names_that_cannot_be_are_refused(name):
    with pytest.raises(KeyError):
        nn.Module().register_buffer(name, None)
    with pytest.raises(KeyError):
        nn.Module().register_parameter(name, None)
    with pytest.raises(KeyError):
        nn.Module().register_module(name, None)


def test_what_is_registered_has_its_type():
    module = nn.Module()
    with pytest.raises(TypeError, match="must be a Tensor or None, not an object of int"):
        module.register_buffer("a", 3)
    with pytest.raises(TypeError, match="must be a Parameter or None, not an object of Tensor"):
        module.register_parameter("a", opyard.ones(1))
    with pytest.raises(TypeError, match="must be a Module or None, not an object of str"):
        module.register_module("a", "b")
    with pytest.raises(TypeError, match="data must be a Tensor, not an object of list"):
        nn.Parameter([1.0])
    with pytest.raises(TypeError, match="have gradients, not opyard.int64"):
        nn.Parameter(opyard.tensor([1]))
    assert not nn.Parameter(opyard.tensor([1]), requires_grad=False).requires_grad


def test_a_parameter_stays_one_when_it_is_copied_and_pickled():
    parameter = nn.Linear(2, 3).weight
    for made in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter))):
        assert type(made) is nn.Parameter and made.requires_grad and made.is_leaf
        assert made.tolist() == parameter.tolist()
        assert made.data_ptr() != parameter.data_ptr()
    assert type(parameter * 2) is opyard.Tensor
    tied = [parameter, parameter]
    one, other = copy.deepcopy(tied)
    assert one is other


def test_a_module_is_copied_and_pickled_whole():
    net = Net()
    x = opyard.ones(2, 3)
    for made in (copy.deepcopy(net), pickle.loads(pickle.dumps(net.first))):
        assert made(x).tolist() == (net if isinstance(made, Net) else net.first)(x).tolist()
        assert all(parameter.requires_grad for parameter in made.parameters())


def test_a_state_is_taken_and_given_back():
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == [
        "scale", "seen", "first.weight", "first.bias", "parts.0.weight", "parts.0.bias",
    ]  # fmt: skip
    assert not any(tensor.requires_grad for tensor in state.values())
    assert state["scale"].data_ptr() == net.scale.data_ptr()
    assert net.state_dict(keep_vars=True, prefix="a.")["a.scale"] is net.scale
    weight = other.first.weight
    assert other.load_state_dict(state) == ([], [])
    assert other.first.weight is weight and weight.requires_grad
    assert other.state_dict()["first.weight"].tolist() == net.first.weight.tolist()


def test_a_state_that_does_not_fit_changes_nothing():
    net = Net()
    before = [parameter.tolist() for parameter in net.parameters()]
    state = {name: opyard.zeros(*tensor.shape) for name, tensor in net.state_dict().items()}
    del state["first.bias"]
    state["scale"] = opyard.zeros(2)
    state["other"] = opyard.zeros(1)
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    assert str(error.value) == (
        "load_state_dict: the state does not fit this Net; scale has the shape [2], not [1]; "
        "missing: first.bias; unknown here: other"
    )
    state["scale"] = 3
    with pytest.raises(RuntimeError, match="scale is a int, not a Tensor"):
        net.load_state_dict(state, strict=False)
    with pytest.raises(TypeError, match="a state must be a dict, not an object of list"):
        net.load_state_dict([])
    assert [parameter.tolist() for parameter in net.parameters()] == before
    del state["scale"]
    missing, unexpected = net.load_state_dict(state, strict=False)
    assert (missing, unexpected) == (["scale", "first.bias"], ["other"])
    assert net.first.weight.tolist() == [[0.0] * 3] * 4


def test_a_shared_part_is_listed_once_and_stays_shared():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    net.append(net[0])
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias"]
    assert list(net.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    net[0].tied = net[0].weight
    net.double()
    assert net[0].tied is net[0].weight and net[2] is net[0]
    assert net[0].weight.dtype is opyard.float64 and net[0].weight.requires_grad


def test_modes_and_conversions_reach_every_part():
    net = Net()
    assert net.eval() is net and not any(module.training for module in net.modules())
    net.train()
    assert all(module.training for module in net.modules())
    with pytest.raises(TypeError, match="mode must be True or False"):
        net.train(1)
    net.requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in net.parameters())
    weight = net.first.weight
    assert net.to("cpu").first.weight is weight and net.float().first.weight is weight
    net.register_buffer("count", opyard.tensor(3))
    net.to(opyard.float64)
    assert net.seen.dtype is opyard.float64 and net.count.dtype is opyard.int64
    assert not net.first.weight.requires_grad
    with pytest.raises(TypeError, match="not opyard.int32"):
        net.to(opyard.int32)
    visited = []
    net.apply(lambda module: visited.append(type(module).__name__))
    assert visited == ["Linear", "Linear", "ReLU", "ModuleList", "Net"]


def test_gradients_are_dropped_or_zeroed():
    layer = nn.Linear(2, 1)
    layer(opyard.ones(3, 2)).sum().backward()
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad.tolist() == [[0.0, 0.0]]
    layer.zero_grad()
    assert layer.weight.grad is None and layer.bias.grad is None


def test_forward_hooks_see_and_change_calls_in_order():
    layer, seen = nn.Identity(), []
    first = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    layer.register_forward_pre_hook(lambda module, args: seen.append(args[0].item()))
    last = layer.register_forward_hook(lambda module, args, output: output * 10)
    with layer.register_forward_hook(lambda module, args, output: seen.append(output.item())):
        assert layer(opyard.tensor(1.0)).item() == 20
    assert seen == [2.0, 20.0]
    first.remove(), first.remove()
    assert layer(opyard.tensor(1.0)).item() == 10
    last.remove()
    assert layer(opyard.tensor(1.0)).item() == 1
    with pytest.raises(TypeError, match="a hook must be a function, not an object of int"):
        layer.register_forward_hook(3)


def test_a_backward_hook_sees_the_gradients_on_both_sides():
    layer, seen = nn.Linear(2, 2, bias=False), []
    layer.load_state_dict({"weight": opyard.tensor([[1.0, 2.0], [3.0, 4.0]])})

    def hook(module, grad_input, grad_output):
        given = [None if g is None else g.tolist() for g in grad_input]
        seen.append((module, given, grad_output[0].tolist()))
        return None if grad_input[0] is None else grad_input[0] * 2

    handle = layer.register_full_backward_hook(hook)
    x = opyard.ones(1, 2).requires_grad_()
    layer(x).sum().backward()
    assert seen == [(layer, [[[4.0, 6.0]]], [[1.0, 1.0]])]
    assert x.grad.tolist() == [[8.0, 12.0]]
    layer(opyard.ones(1, 2)).sum().backward()  # no input has a gradient
    assert seen[1][1:] == ([None], [[1.0, 1.0]])
    handle.remove()
    layer(x).sum().backward()
    layer.register_full_backward_hook(lambda *_: (None, None))
    with pytest.raises(RuntimeError, match="returned 2 gradients for 1 inputs"):
        layer(x).sum().backward()


def test_a_backward_hook_runs_for_gradients_that_come_from_its_outputs():
    layer, seen = nn.MSELoss(), []
    layer.register_full_backward_hook(lambda *given: seen.append(given))
    x = opyard.tensor([2.0]).requires_grad_()
    (first,) = autograd.grad(layer(x, opyard.ones(1)), x, create_graph=True)
    assert len(seen) == 1 and first.tolist() == [2.0]
    (second,) = autograd.grad(first, x)
    assert len(seen) == 1 and second.tolist() == [2.0]


@pytest.mark.parametrize("needs", [True, False])
@pytest.mark.parametrize("hooks", [1, 3])
def test_a_graph_of_gradients_with_backward_hooks_is_collected(needs, hooks):
    class Powers(nn.Module):
        def forward(self, x):
            return x * x * weight * weight

    weight = opyard.tensor(1.0).requires_grad_()
    model, held = Powers(), nn.Identity()
    for _ in range(hooks):
        model.register_full_backward_hook(lambda *_: None)
    x = opyard.ones(3).requires_grad_(needs)
    y = model(x)
    y.grad_fn.metadata["held"] = held
    autograd.grad(y.exp().sum(), [weight], create_graph=True)
    dies = weakref.ref(held)
    del x, y, held
    gc.collect()
    assert dies() is None


def test_a_module_with_hooks_is_collected():
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, i, o, layer=layer: None)
    layer(opyard.ones(1, 2).requires_grad_()).sum().backward()
    dies = weakref.ref(layer)
    del layer
    gc.collect()
    assert dies() is None


def test_rows_of_modules_are_lists():
    row = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    assert len(row) == 3 and row[-1] is row[2] and list(row)[1] is row[1]
    assert isinstance(row[:2], nn.Sequential) and list(row[:2]) == [row[0], row[1]]
    row[1] = nn.Tanh()
    assert [type(part) for part in row] == [nn.Linear, nn.Tanh, nn.Linear]
    with pytest.raises(IndexError, match="index 3 is out of range for 3 modules"):
        row[3]
    named = nn.Sequential({"a": nn.Tanh(), "b": nn.ReLU()})
    assert isinstance(named.b, nn.ReLU) and named(opyard.tensor(-1.0)).item() == 0
    parts = nn.ModuleList(nn.Linear(1, 1) for _ in range(2)).extend([nn.ReLU()])
    assert len(parts) == 3 and len(list(parts.parameters())) == 4
    assert len(parts[1:]) == 2


def test_repr_shows_the_parts():
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.ModuleList([nn.GELU("tanh")]))) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): ModuleList(\n"
        "    (0): GELU(approximate='tanh')\n"
        "  )\n"
        ")"
    )


def test_a_linear_layer_multiplies_and_begins_in_its_bounds():
    layer = nn.Linear(4, 400)
    numbers = [each for row in layer.weight.tolist() for each in row]
    assert -0.5 <= min(numbers) < -0.45 and 0.45 < max(numbers) <= 0.5
    assert abs(sum(numbers) / len(numbers)) < 0.05 and len(set(numbers)) > 1500
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": opyard.tensor([[2.0, 3.0]]), "bias": opyard.tensor([1.0])})
    assert layer(opyard.tensor([[[1.0, 2.0]]])).tolist() == [[[9.0]]]
    assert layer(opyard.tensor([1.0, 2.0])).tolist() == [9.0]
    assert list(nn.Linear(2, 1, bias=False).state_dict()) == ["weight"]
    with pytest.raises(ValueError, match=r"must be 2 long, and x has the shape \[3\]"):
        layer(opyard.ones(3))
    with pytest.raises(ValueError, match="out_features must be at least 1, not 0"):
        nn.Linear(2, 0)
    with pytest.raises(TypeError, match="in_features must be an int, not an object of float"):
        nn.Linear(2.0, 1)


ACTIVATIONS = {
    "ReLU": lambda x: max(x, 0),
    "Sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "Tanh": math.tanh,
    "SiLU": lambda x: x / (1 + math.exp(-x)),
    "GELU": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "ELU": lambda x: x if x > 0 else math.expm1(x),
    "LeakyReLU": lambda x: x if x > 0 else x / 100,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_the_functions_of_their_names(name):
    x = [-2.0, -0.5, 0.0, 0.5, 3.0]
    found = getattr(nn, name)()(opyard.tensor(x)).tolist()
    assert found == pytest.approx([ACTIVATIONS[name](each) for each in x], rel=1e-5, abs=1e-6)


def test_activations_along_a_dimension():
    x = opyard.tensor([[0.0, math.log(3)]])
    assert nn.Softmax(1)(x).tolist()[0] == pytest.approx([0.25, 0.75])
    assert nn.LogSoftmax(-1)(x).tolist()[0] == pytest.approx([math.log(0.25), math.log(0.75)])
    assert nn.Flatten()(opyard.zeros(2, 3, 4)).shape == (2, 12)
    with pytest.raises(ValueError, match='approximate is "none" or "tanh"'):
        nn.GELU("erf")


def test_losses_are_what_they_say():
    x, target = opyard.tensor([1.0, -2.0]), opyard.tensor([0.5, 0.0])
    assert nn.MSELoss()(x, target).item() == pytest.approx(2.125)
    assert nn.L1Loss("sum")(x, target).item() == pytest.approx(2.5)
    wanted = [math.log(1 + math.exp(1)) - 0.5, math.log(1 + math.exp(-2))]
    found = nn.BCEWithLogitsLoss(reduction="none")(x, target).tolist()
    assert found == pytest.approx(wanted)
    assert math.isfinite(nn.BCEWithLogitsLoss()(x * 1e4, target).item())
    scores, labels = opyard.tensor([[0.0, math.log(3)], [0.0, 0.0]]), opyard.tensor([1, 0])
    found = nn.CrossEntropyLoss(reduction="none")(scores, labels).tolist()
    assert found == pytest.approx([-math.log(0.75), math.log(2)])
    assert nn.NLLLoss(reduction="sum")(scores, labels).item() == pytest.approx(-math.log(3))
    with pytest.raises(ValueError, match=r"but they have \[2\] and \[3\]"):
        nn.MSELoss()(x, opyard.ones(3))
    with pytest.raises(ValueError, match=r"but they have \[2, 2\] and \[3\]"):
        nn.CrossEntropyLoss()(scores, opyard.tensor([1, 0, 1]))
    with pytest.raises(TypeError, match="as int64, not as opyard.float32"):
        nn.CrossEntropyLoss()(scores, opyard.ones(2))
    with pytest.raises(ValueError, match="one of mean, sum, none, not 'all'"):
        nn.MSELoss("all")


def test_I10_modules_and_optimizers_appear_in_a_profile():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    optimizer = opyard.optim.SGD(net.parameters(), momentum=0.9)
    with opyard.profiler.profile(with_stack=True) as prof:
        net(opyard.ones(1, 2)).sum().backward()
        optimizer.step()
    names = {event.name for event in prof.events()}
    shown = {
        "nn.Module: Sequential_0", "nn.Module: Linear_0", "nn.Module: Linear_1",
        "nn.Module: ReLU_0", "Optimizer: SGD_0",
    }  # fmt: skip
    assert shown <= names, sorted(names)


def test_the_package_does_not_import_modules(run_program):
    done = run_program("import opyard, sys; assert not any('_nn' in name for name in sys.modules)")
    assert done.returncode == 0, done.stderr
