"""States of modules go out and in as PyTorch's do, with hooks, extra state and assignment.

Each program is run with both libraries. Suspect opyard/_nn/state.py.
"""

import pytest

import opyard
from opyard import nn

pytestmark = pytest.mark.once


def told(call):
    """What a call gives, or the class of its error."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def shown(state):
    return {key: each.tolist() if hasattr(each, "tolist") else each for key, each in state.items()}


def state_with_hooks(library):
    seen = []

    class Counter(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = library.nn.Parameter(library.ones(2))
            self.calls = 0

        def get_extra_state(self):
            return {"calls": self.calls}

        def set_extra_state(self, state):
            seen.append(("extra", state))
            self.calls = state["calls"]

    model = library.nn.Sequential(Counter(), library.nn.Identity())
    model[0].calls = 3
    model.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(("pre", prefix, keep)))
    model[0].register_state_dict_pre_hook(lambda m, prefix, _: seen.append(("inner pre", prefix)))

    def renamed(module, state, prefix, metadata):
        seen.append(("inner post", sorted(state)))
        state[prefix + "renamed"] = state.pop(prefix + "weight")

    model[0].register_state_dict_post_hook(renamed)
    outer = model.register_state_dict_post_hook(lambda m, state, p, _: seen.append(sorted(state)))
    state = model.state_dict(prefix="m.", keep_vars=True)
    outer.remove()
    into = {"other": 1}
    assert model.state_dict(destination=into) is into

    def back(module, state, prefix, metadata, strict, missing, unexpected, errors):
        seen.append(("load", prefix, strict, missing, unexpected, errors))
        state[prefix + "weight"] = state.pop(prefix + "renamed") * 4

    fresh = library.nn.Sequential(Counter(), library.nn.Identity())
    fresh[0].register_load_state_dict_pre_hook(back)
    into.pop("other")
    kept = dict(into)
    found = fresh.load_state_dict(into)
    assert into.keys() == kept.keys(), "the hooks get a copy"
    return seen, shown(state), shown(into), shown(fresh.state_dict()), fresh[0].calls, list(found)


def loads_with_post_hooks(library):
    seen = []
    model = library.nn.Sequential(library.nn.Linear(1, 1), library.nn.Linear(1, 1))
    state = {"0.weight": library.tensor([[2.0]]), "more": library.ones(1)}

    def told_of(name):
        def hook(module, keys):
            seen.append((name, sorted(keys.missing_keys), sorted(keys.unexpected_keys)))

        return hook

    def forgiving(module, keys):
        keys.missing_keys.clear()
        keys.unexpected_keys.clear()

    first = model[0].register_load_state_dict_post_hook(told_of("inner"))
    model.register_load_state_dict_post_hook(told_of("outer"))
    refused = told(lambda: model.load_state_dict(state))
    with_inner = list(seen)
    first.remove()
    model.register_load_state_dict_post_hook(forgiving)
    found = model.load_state_dict(state)
    bad = model.register_load_state_dict_post_hook(lambda module, keys: keys)
    returned = told(lambda: model.load_state_dict(state))
    bad.remove()
    model[1].register_load_state_dict_pre_hook(
        lambda m, s, p, d, t, a, b, errors: errors.append("x")
    )
    return (
        refused,
        with_inner[-1],
        list(found),
        returned in ("RuntimeError", "AssertionError"),
        told(lambda: model.load_state_dict(state)),
        model[0].weight.tolist(),
    )


def assigned(library):
    model = library.nn.BatchNorm1d(2)
    model.weight.requires_grad_(False)
    before = model.weight
    weight, bias = library.ones(2, dtype=library.float64) * 3, library.nn.Parameter(library.ones(2))
    state = {**model.state_dict(), "weight": weight, "bias": bias}
    model.load_state_dict(state, assign=True)
    return (
        model.weight is before,
        str(model.weight.dtype).rpartition(".")[2],
        model.weight.requires_grad,
        type(model.weight) is library.nn.Parameter,
        model.weight.data_ptr() == weight.data_ptr(),
        model.bias is bias,
        model.running_mean is state["running_mean"],
        told(lambda: model.load_state_dict({**state, "bias": library.ones(3)}, assign=True)),
        model.bias is bias,
    )


def emptied(library):
    model = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.BatchNorm1d(3))
    model.register_parameter("own", library.nn.Parameter(library.ones(1), requires_grad=False))
    model.append(model[0])
    model.to("meta")
    on_meta = [str(each.device) for each in model.parameters()]
    state = library.nn.Sequential(library.nn.Linear(2, 3)).state_dict()
    with pytest.warns(UserWarning, match="assign=True"):
        model.load_state_dict(state, strict=False)
    assert model.to_empty(device="cpu", recurse=False) is model
    outer = str(model.own.device), str(model[0].weight.device)
    model.to_empty(device="cpu")
    flags = [each.requires_grad for each in model.parameters()]
    devices = {str(each.device) for each in (*model.parameters(), *model.buffers())}
    shared = model[2].weight is model[0].weight
    model[0].weight.data_ptr()
    return on_meta, outer, flags, devices, shared


def parts(library):
    inner = library.nn.Linear(1, 1)
    model = library.nn.Sequential(inner, library.nn.Sequential(inner, library.nn.Identity()))
    model[1].again = inner.weight
    model.register_buffer("mean", library.ones(1))
    model[1].register_buffer("other", model.mean)

    def names(pairs):
        return [name for name, _ in pairs]

    rows = [
        names(model.named_modules()),
        names(model.named_modules(remove_duplicate=False)),
        names(model.named_modules({inner}, "m")),
        len(list(model.modules())),
        len(list(model.modules(remove_duplicate=False))),
        names(model.named_parameters(remove_duplicate=False)),
        names(model.named_parameters("m", False, False)),
        names(model.named_buffers(remove_duplicate=False)),
        names(model.named_buffers()),
    ]
    model.set_submodule("1.0", library.nn.ReLU())
    model.set_submodule("1.more", library.nn.Tanh())
    rows.append([type(each).__name__ for each in model[1].children()])
    for target, kind, strict in (
        ("", library.nn.ReLU(), False),
        ("9.x", library.nn.ReLU(), False),
        ("1.new", library.nn.ReLU(), True),
    ):
        rows.append(told(lambda t=target, k=kind, s=strict: model.set_submodule(t, k, strict=s)))
    model.register_parameter(name="by_name", param=None)
    rows.append(model.apply(fn=lambda module: None) is model)
    return rows


def gradients_of_hooks(library):
    """One gradient for each argument and output, None for those that have none."""
    seen = []

    class Both(library.nn.Module):
        def forward(self, number, x, fixed, y):
            return x * number, fixed * 1, y + x

    def backward(module, grad_input, grad_output):
        shown = [
            [g if g is None else g.tolist() for g in each] for each in (grad_input, grad_output)
        ]
        seen.append(shown)
        return tuple(None if g is None else g * 2 for g in grad_input)

    model = Both()
    model.register_full_backward_hook(backward)
    model.register_full_backward_pre_hook(lambda m, g: seen.append([each is None for each in g]))
    x, y = (library.tensor([1.0], requires_grad=True) for _ in range(2))
    model(3, x, library.ones(1), y)[0].sum().backward()
    x2 = library.tensor([1.0], requires_grad=True)
    sum(each.sum() for each in model(3, x2, library.ones(1), library.ones(1))).backward()
    return seen, x.grad.tolist(), x2.grad.tolist()


def norms_of_old_files(library):
    """States without a number of batches, and batches without an element."""
    rows = []
    for kind, shape in (("BatchNorm1d", (0, 3)), ("BatchNorm2d", (0, 3, 2, 2))):
        layer = getattr(library.nn, kind)(3)
        layer(library.zeros(*shape)).sum().backward()
        rows.append(shown(layer.state_dict()))
        rows.append([layer.weight.grad.tolist(), layer.bias.grad.tolist()])
        state = {key: each + 1 for key, each in layer.state_dict().items()}
        del state["num_batches_tracked"]
        rows.append(list(getattr(library.nn, kind)(3).load_state_dict(state)))
        del state["running_mean"]
        rows.append(told(lambda k=kind, s=state: getattr(library.nn, k)(3).load_state_dict(s)))
    return rows


PROGRAMS = [
    state_with_hooks,
    loads_with_post_hooks,
    assigned,
    emptied,
    parts,
    gradients_of_hooks,
    norms_of_old_files,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_states_and_parts_are_those_of_pytorch(program):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert program(opyard) == program(torch)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_states_and_parts_run(program):
    assert program(opyard)


def test_a_state_that_does_not_fit_changes_nothing():
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    before = shown(model.state_dict())
    state = {key: each + 1 for key, each in model.state_dict().items()}
    for changed in ({"1.bias": opyard.ones(2)}, {"more": opyard.ones(1)}, {"1.bias": None}):
        for assign in (False, True):
            with pytest.raises(RuntimeError, match="does not fit this Sequential"):
                model.load_state_dict({**state, **changed}, assign=assign)
    assert shown(model.state_dict()) == before
    model.register_load_state_dict_post_hook(lambda module, keys: None)
    with pytest.raises(RuntimeError, match=r"1\.bias has the shape \[2\], not \[1\]"):
        model.load_state_dict({**state, "1.bias": opyard.ones(2)})
    assert shown(model.state_dict()) == before


def test_a_tensor_of_two_names_stays_one_when_it_is_assigned():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    state = {key: each.clone() for key, each in model.state_dict().items()}
    model.load_state_dict(state, assign=True)
    assert model[1].weight is model[0].weight
    assert model[0].weight.data_ptr() == state["1.weight"].data_ptr()


def test_what_is_never_called_here_is_said():
    with pytest.warns(UserWarning, match=r"Old\._load_from_state_dict is called by nothing here"):

        class Old(nn.Module):
            def _load_from_state_dict(self, *args):
                pass

    with pytest.raises(TypeError, match="register_state_dict_pre_hook: a hook must be a function"):
        nn.Identity().register_state_dict_pre_hook(3)
    with pytest.raises(TypeError, match="load_state_dict: assign must be True or False, not 1"):
        nn.Identity().load_state_dict({}, assign=1)
    with pytest.raises(NotImplementedError, match=r"Identity has no get_extra_state\(\)"):
        nn.Identity().get_extra_state()
