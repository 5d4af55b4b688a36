"""test_nn_calls.py: arguments and errors of layers and losses.

Suspect _nn/calls.py, which finds what a forward() takes, and Module.__call__.
"""

import copy
import inspect

import pytest

import opyard
from opyard import nn

np = pytest.importorskip("numpy")

from nn_cases import Inputs, Opyard, cases  # noqa: E402

PICTURES = np.random.default_rng(5).standard_normal((2, 4, 6, 6)).astype(np.float32)
CUBES = np.random.default_rng(6).standard_normal((2, 4, 6, 6, 6)).astype(np.float32)
SCORES = np.random.default_rng(7).standard_normal((3, 4)).astype(np.float32)
CLASSES = np.array([0, 3, 1])

CALLS = {
    "Linear": (lambda: nn.Linear(6, 3), (PICTURES,)),
    "Flatten": (nn.Flatten, (PICTURES,)),
    "Conv2d": (lambda: nn.Conv2d(4, 2, 3), (PICTURES,)),
    "LayerNorm": (lambda: nn.LayerNorm(6), (PICTURES,)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4), (PICTURES,)),
    "Dropout": (lambda: nn.Dropout(0.5).eval(), (PICTURES,)),
    "Embedding": (lambda: nn.Embedding(4, 2), (CLASSES,)),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(6, 2), (PICTURES[0],) * 3),
    "MSELoss": (nn.MSELoss, (SCORES, SCORES + 1)),
    "L1Loss": (nn.L1Loss, (SCORES, SCORES + 1)),
    "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss, (SCORES, SCORES)),
    "NLLLoss": (nn.NLLLoss, (SCORES, CLASSES)),
    "CrossEntropyLoss": (nn.CrossEntropyLoss, (SCORES, CLASSES)),
}
TAKE_ANYTHING = {"Identity", "Module", "ModuleDict", "ModuleList", "Parameter", "ParameterDict"}
TAKE_ANYTHING |= {"ParameterList", "Sequential"}
TAKE_A_NUMBER = {"GaussianNLLLoss"}


class Arrays(Opyard):
    """Arrays for the inputs of a case."""

    def leaf(self, numbers):
        return np.array(numbers)

    tensor = leaf


def of_case(case):
    """How the layer of a case is made, and the arrays that it is called with, of its table."""

    def make():
        library = Opyard()
        layer = eval(case.layer, {**library.names, **Inputs(case.number, library).names})
        return library.as_double(layer).train(not case.only_eval)

    names = {**Inputs(case.number, Arrays()).names, "given": lambda *args, **kwargs: args}
    given = eval(f"given({case.given})", names)
    takes = make()._forward_takes
    taken = [a for a, (_, what) in zip(given, takes, strict=False) if what.endswith("array")]
    return make, tuple(taken)


for each in cases():
    if each.name not in {*CALLS, *TAKE_ANYTHING, *TAKE_A_NUMBER}:
        CALLS[each.name] = of_case(each)


def test_every_class_is_called_here():
    classes = {*nn.__all__} - {"functional", "init", "utils"}
    assert {*CALLS, *TAKE_ANYTHING, *TAKE_A_NUMBER} == classes


def both(name):
    make, arrays = CALLS[name]
    return make(), arrays, tuple(map(opyard.from_numpy, arrays))


def values(result):
    if isinstance(result, tuple):
        return [each for one in result for each in values(one)]
    assert isinstance(result, opyard.Tensor)
    return [result.detach().numpy()]


@pytest.mark.parametrize("name", CALLS)
def test_an_array_is_taken_as_the_tensor_on_its_memory(name):
    module, arrays, tensors = both(name)
    wanted = values(module(*tensors))
    parameters = list(inspect.signature(module.forward).parameters)
    named = dict(zip(parameters, arrays, strict=False))
    for found in (module(*arrays), module(**named)):
        for one, other in zip(values(found), wanted, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("given", [None, [1.0], (1.0,), 3, 2.5, True, "x", {}, object()])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_array_is_refused_by_argument(name, given):
    module, arrays, tensors = both(name)
    what = "None" if given is None else f"an object of {type(given).__name__}"
    for position, parameter in enumerate(list(inspect.signature(module.forward).parameters)):
        if position >= len(arrays):
            break
        args = [*tensors[:position], given, *tensors[position + 1 :]]
        message = f"^{name}: {parameter} must be a Tensor or an array, not {what}(;|$)"
        with pytest.raises(TypeError, match=message) as caught:
            module(*args)
        assert not hasattr(caught.value, "__notes__")


def test_an_optional_tensor_may_be_none_or_an_array_and_other_arguments_are_no_tensors():
    attention, x = nn.MultiheadAttention(6, 2), PICTURES[0]
    mask = np.triu(np.ones((4, 4), bool), 1)
    wanted, none = attention(x, x, x, None, False, opyard.from_numpy(mask))
    assert none is None
    found, _ = attention(x, x, x, attn_mask=mask, key_padding_mask=None)
    np.testing.assert_array_equal(values(found)[0], values(wanted)[0])
    with pytest.raises(TypeError, match="attn_mask must be a Tensor, an array or None, not an obj"):
        attention(x, x, x, attn_mask=[[False]])


def test_a_tensor_or_a_number_is_taken_and_nothing_else():
    loss, var = nn.GaussianNLLLoss(), np.full((3, 4), 2, np.float32)
    wanted = loss(SCORES, SCORES + 1, opyard.from_numpy(var)).item()
    for given in (var, 2, 2.0):
        assert loss(SCORES, SCORES + 1, given).item() == wanted
    message = "^GaussianNLLLoss: var must be a Tensor, an array or a number, not an object of str"
    with pytest.raises(TypeError, match=message):
        loss(SCORES, SCORES, "2")


def test_a_call_that_does_not_fit_is_refused_in_the_name_of_the_layer():
    for layer in (nn.ReLU(), nn.MaxPool2d(2), nn.ELU(), nn.Conv1d(1, 1, 1), nn.BatchNorm2d(1)):
        with pytest.raises(TypeError, match=rf"^{type(layer).__name__}\(\) has no argument 'zzz'"):
            layer(zzz=SCORES)


def test_an_array_keeps_its_dtype_and_memory():
    x = np.arange(4.0)
    taken = nn.Dropout(0.5).eval()(x)
    assert taken.dtype is opyard.float64
    x[0] = 7
    assert taken[0].item() == 7


def test_an_array_without_a_tensor_says_in_which_layer():
    with pytest.raises(ValueError, match="DLPack only supports") as caught:
        nn.ReLU()(np.array([1], object))
    assert caught.value.__notes__ == ["in ReLU(): x is an object of ndarray"]


def test_a_forward_of_a_user_gets_what_is_given():
    class Own(nn.Linear):
        def forward(self, x):
            return x

    class Mixed:
        def forward(self, x):
            return x

    class Both(Mixed, nn.Linear):
        pass

    class Above(nn.Module):
        def forward(self, x):
            return x

    replaced = nn.Linear(2, 2)
    replaced.forward = lambda x: x
    kept = [nn.Identity(), Own(2, 2), Both(2, 2), Above(), replaced, nn.Sequential()]
    for module in kept:
        for given in (None, [1], PICTURES):
            assert module(given) is given
            module.register_forward_pre_hook(lambda _, args: None)
            assert module(given) is given
        assert module(x=PICTURES) is PICTURES


def test_a_class_below_a_layer_takes_what_the_layer_takes():
    class Named(nn.Linear):
        pass

    assert Named(6, 2)(PICTURES).shape == (2, 4, 6, 2)
    with pytest.raises(TypeError, match="^Named: x must be a Tensor or an array, not None"):
        Named(6, 2)(None)


def test_hooks_see_tensors_and_what_they_give_is_taken_likewise():
    layer, seen = nn.ReLU(), []
    layer.register_forward_pre_hook(lambda module, args: seen.append(type(args[0])))
    layer.register_forward_pre_hook(lambda module, args: args[0].numpy() - 1)
    layer.register_forward_hook(lambda module, args, output: seen.append(type(args[0])))
    assert layer(np.array([0.5, 2.0])).tolist() == [0.0, 1.0]
    assert seen == [opyard.Tensor, opyard.Tensor]
    copied = copy.deepcopy(layer)
    assert copied(np.array([0.5, 2.0])).tolist() == [0.0, 1.0]


def test_a_pre_hook_whose_array_is_a_list_is_refused():
    layer = nn.ReLU()
    layer.register_forward_pre_hook(lambda module, args: ([1.0],))
    with pytest.raises(TypeError, match="^ReLU: x must be a Tensor or an array, not an object of"):
        layer(SCORES)


WIDE = PICTURES.astype(np.float64)
NOTES = [
    (
        lambda: nn.Linear(6, 2)(WIDE),
        TypeError,
        "in Linear(in_features=6, out_features=2, bias=True): x is float64[2, 4, 6, 6], weight is "
        "float32[2, 6], bias is "
        "float32[2]; convert x with x.to(opyard.float32), or the layer with its to(opyard.float64)",
    ),
    (
        lambda: nn.Linear(6, 2, bias=False)(opyard.ones(6, dtype=opyard.int64)),
        TypeError,
        "in Linear(in_features=6, out_features=2, bias=False): x is int64[6], weight is "
        "float32[2, 6]; convert x with "
        "x.to(opyard.float32)",
    ),
    (
        lambda: nn.Conv2d(4, 2, 3)(WIDE),
        TypeError,
        "in Conv2d(4, 2, kernel_size=(3, 3), stride=(1, 1)): x is float64[2, 4, 6, 6], weight is "
        "float32[2, 4, 3, 3], bias is float32[2]; convert x with x.to(opyard.float32), or the "
        "layer with its to(opyard.float64)",
    ),
    (
        lambda: nn.Conv2d(3, 2, 3, bias=False)(PICTURES),
        ValueError,
        "in Conv2d(3, 2, kernel_size=(3, 3), stride=(1, 1), bias=False): x is float32[2, 4, 6, 6], "
        "weight is float32[2, 3, 3, 3]",
    ),
    (
        lambda: nn.MaxPool2d(2)(PICTURES[0][0][0]),
        ValueError,
        "in MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False): x is "
        "float32[6]",
    ),
    (lambda: nn.Softmax(5)(SCORES), IndexError, "in Softmax(dim=5): x is float32[3, 4]"),
]


@pytest.mark.parametrize(("call", "kind", "note"), NOTES)
def test_an_error_of_an_operator_has_a_note_with_the_layer(call, kind, note):
    with pytest.raises(kind, match="^aten::") as caught:
        call()
    assert caught.value.__notes__ == [note]


def test_layers_within_a_layer_are_both_named():
    attention = nn.MultiheadAttention(6, 2)
    attention.out_proj.double()
    with pytest.raises(TypeError, match="^aten::matmul") as caught:
        attention(*[PICTURES[0]] * 3)
    inner, outer = caught.value.__notes__
    assert inner.startswith(
        "in Linear(in_features=6, out_features=6, bias=True): x is float32[6, 4, 6], weight is "
        "float64"
    )
    assert outer.startswith("in MultiheadAttention(6, 2): query is float32")


def test_a_note_that_cannot_be_made_leaves_the_error_as_it_is():
    class Broken(nn.Linear):
        def extra_repr(self):
            raise RuntimeError("no text")

    with pytest.raises(TypeError, match="^aten::matmul") as caught:
        Broken(6, 2)(WIDE)
    assert not hasattr(caught.value, "__notes__")


def test_an_exception_that_is_raised_again_keeps_one_note():
    failure = RuntimeError("of a hook")

    def fail(*_):
        raise failure

    layer = nn.ReLU()
    layer.register_forward_hook(fail)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="of a hook"):
            layer(SCORES)
    assert failure.__notes__ == ["in ReLU(): x is float32[3, 4]"]


def test_errors_that_name_the_layer_have_no_note():
    for call in (
        lambda: nn.Linear(3, 2)(PICTURES),
        lambda: nn.Embedding(3, 2)(PICTURES),
        lambda: nn.MSELoss()(SCORES),
        lambda: nn.ReLU()(zzz=SCORES),
    ):
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert not hasattr(caught.value, "__notes__")


def test_an_instance_norm_without_weights_takes_any_number_of_channels_with_a_warning():
    x = opyard.from_numpy(PICTURES)  # 4 channels
    with pytest.warns(UserWarning, match="InstanceNorm2d: x must have 2 channels, and it has the"):
        found = nn.InstanceNorm2d(2)(x)
    np.testing.assert_array_equal(found.numpy(), nn.InstanceNorm2d(4)(x).numpy())
    for options in ({"affine": True}, {"track_running_stats": True}):
        with pytest.raises(ValueError, match="InstanceNorm2d: x must have 2 channels"):
            nn.InstanceNorm2d(2, **options)(x)


def test_a_module_whose_init_is_not_called_says_so_when_it_is_called():
    class Net(nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    with pytest.raises(AttributeError, match=r"^Net: call super\(\).__init__\(\) before .* called"):
        Net()(SCORES)
