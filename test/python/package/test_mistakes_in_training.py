"""test_mistakes_in_training.py: error messages of common mistakes with modules and optimizers.

Each row is a line of a program, the kind of the error and its whole message, as in
test_mistakes.py. Suspect classes in _nn/: keywords.py for how they are made, calls.py for how
layers are called, optimizer.py and containers.py; methods of tensors in _autograd/tensors.py.
"""

import pytest

import opyard
from opyard import futures, nn, optim

pytestmark = pytest.mark.once

x = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
w = nn.Parameter(opyard.ones(2))
SGD_HAS = "Its arguments are: params, lr, momentum, dampening, weight_decay, nesterov, maximize"
A_STATE = "SGD.load_state_dict: a state is what state_dict() gives, "
GATHERED = (
    "aten::gather: index contains 5 at [1, 0], out of range for dimension 1 of self, which is"
)

CALLS = [
    (lambda: nn.ReLU()(None), TypeError, "ReLU: x must be a Tensor or an array, not None"),
    (
        lambda: nn.Linear(2, 2)([[1.0, 2.0]]),
        TypeError,
        "Linear: x must be a Tensor or an array, not an object of list; opyard.tensor(x) makes a "
        "Tensor of numbers",
    ),
    (
        lambda: nn.Sequential(nn.Flatten(), nn.ReLU())(3),
        TypeError,
        "Flatten: x must be a Tensor or an array, not an object of int; opyard.tensor(x) makes a "
        "Tensor of numbers",
    ),
    (
        lambda: nn.MSELoss()(x, target="a"),
        TypeError,
        "MSELoss: target must be a Tensor or an array, not an object of str",
    ),
    (
        lambda: nn.MultiheadAttention(2, 1)(x, x, x, attn_mask=False),
        TypeError,
        "MultiheadAttention: attn_mask must be a Tensor, an array or None, not an object of bool; "
        "opyard.tensor(attn_mask) makes a Tensor of numbers",
    ),
    (
        lambda: nn.CrossEntropyLoss()(x, opyard.tensor([0, 5])),
        IndexError,
        "CrossEntropyLoss: target must hold numbers of classes from 0 to 1, since x has 2 classes; "
        f"{GATHERED} float32[2, 2]; accepted are 0 to 1",
    ),
    (
        lambda: nn.NLLLoss()(x, opyard.tensor([0, 5])),
        IndexError,
        "NLLLoss: target must hold numbers of classes from 0 to 1, since x has 2 classes; "
        f"{GATHERED} float32[2, 2]; accepted are 0 to 1",
    ),
    (
        lambda: nn.Embedding(3, 2)(opyard.tensor([0, -1])),
        IndexError,
        "Embedding: indices must be from 0 to 2, since there are 3 rows; aten::index_select: index "
        "contains -1 at [1], out of range for dimension 0 of self, which is float32[3, 2]; "
        "accepted are 0 to 2",
    ),
]

MAKING = [
    (
        lambda: nn.ReLU(x),
        TypeError,
        "ReLU: inplace must be True or False, not an object of Tensor; what it makes is called: "
        "ReLU()(...)",
    ),
    (
        lambda: nn.Sigmoid(x),
        TypeError,
        "Sigmoid takes no arguments, and 1 was given. What it makes is called: Sigmoid()(...)",
    ),
    (
        lambda: nn.BCELoss("sum"),
        TypeError,
        "BCELoss: weight must be a Tensor, an array or None, not an object of str; give "
        "reduction='sum'",
    ),
    (
        lambda: nn.Softmax(0, 1),
        TypeError,
        "Softmax takes at most 1 by position, and 2 were given. Its arguments are: dim",
    ),
    (
        lambda: nn.Linear(3),
        TypeError,
        "Linear is missing out_features. Its arguments are: in_features, out_features, bias, "
        "device, dtype",
    ),
    (
        lambda: nn.AdaptiveAvgPool2d(),
        TypeError,
        "AdaptiveAvgPool2d is missing output_size. Its arguments are: output_size",
    ),
    (lambda: optim.SGD(lr=0.1), TypeError, f"SGD is missing params. {SGD_HAS}"),
    (
        lambda: nn.Sequential([nn.ReLU(), nn.Tanh()]),
        TypeError,
        "Sequential: modules are given one by one, not as a list; write Sequential(*modules)",
    ),
    (
        lambda: nn.Sequential(nn.ReLU(), nn.Tanh),
        TypeError,
        "Sequential: module 1 must be a Module, not a class; Tanh() makes one",
    ),
    (
        lambda: nn.ModuleList(nn.ReLU()),
        TypeError,
        "ModuleList: modules must be a list of Modules, not an object of ReLU",
    ),
    (
        lambda: nn.ModuleList([nn.ReLU()]).append([nn.Tanh()]),
        TypeError,
        "ModuleList: module 1 must be a Module, not an object of list; ModuleList's extend() takes "
        "several",
    ),
]

OPTIMIZERS = [
    (
        lambda: optim.SGD(nn.Linear(2, 2)),
        TypeError,
        "SGD: params is a list of tensors or of groups, not a Linear; give its parameters()",
    ),
    (
        lambda: optim.SGD([{"params": nn.Linear(2, 2)}]),
        TypeError,
        "SGD: params is a Tensor or a list of tensors, not a Linear; give its parameters()",
    ),
    (
        lambda: optim.SGD({"params": [w]}),
        TypeError,
        "SGD: params is a list of tensors or of groups, not one dict",
    ),
    (
        lambda: optim.AdamW(None),
        TypeError,
        "AdamW: params is a list of tensors or of groups, not None",
    ),
    (
        lambda: optim.Adam([w], betas=0.9),
        TypeError,
        "Adam: betas must be two numbers from 0 to below 1, not 0.9",
    ),
    (
        lambda: optim.Adam([w], betas=("a", "b")),
        TypeError,
        "Adam: betas must be two numbers from 0 to below 1, not ('a', 'b')",
    ),
    (
        lambda: optim.Adam([w], betas=(0.9,)),
        ValueError,
        "Adam: betas must be two numbers from 0 to below 1, not (0.9,)",
    ),
    (
        lambda: optim.SGD([w], lr="0.1"),
        TypeError,
        "SGD: lr must be an int or a float, not an object of str",
    ),
    (lambda: optim.Adam([w], eps=None), TypeError, "Adam: eps must be an int or a float, not None"),
    (
        lambda: optim.SGD([w], momentum=0.9, dampening=[]),
        TypeError,
        "SGD: dampening must be an int or a float, not an object of list",
    ),
    (
        lambda: optim.SGD([w]).load_state_dict(3),
        TypeError,
        f"{A_STATE}not an object of int",
    ),
    (
        lambda: optim.SGD([w]).load_state_dict({"a": 1}),
        TypeError,
        f"{A_STATE}with 'param_groups' and 'state'; this one has 'a'",
    ),
    (
        lambda: optim.SGD([w]).load_state_dict({"param_groups": [3], "state": {}}),
        TypeError,
        f"{A_STATE}whose 'param_groups' are dicts with a list of 'params'",
    ),
    (
        lambda: optim.SGD([w]).load_state_dict({"param_groups": [], "state": {0: 1}}),
        TypeError,
        f"{A_STATE}whose 'state' is a dict of a dict for each parameter",
    ),
]

METHODS = [
    (
        lambda: w.register_hook(3),
        TypeError,
        "register_hook: a hook must be a function, not an object of int",
    ),
    (
        lambda: w.register_hook(),
        TypeError,
        "Tensor.register_hook() missing 1 required positional argument: 'hook'",
    ),
    (
        lambda: w.retain_grad(3),
        TypeError,
        "Tensor.retain_grad() takes 1 positional argument but 2 were given",
    ),
    (
        lambda: futures.wait_all([futures.Future(), 3]),
        TypeError,
        "wait_all: futures must hold Futures, and item 1 is an object of int",
    ),
]

ALL = [*CALLS, *MAKING, *OPTIMIZERS, *METHODS]


@pytest.mark.parametrize(("line", "kind", "message"), ALL)
def test_a_mistake_in_training_is_answered_with_what_to_do(line, kind, message):
    with pytest.raises(kind) as caught:
        line()
    assert str(caught.value) == message


GRADIENT_METHODS = [
    "backward",
    "register_hook",
    "register_post_accumulate_grad_hook",
    "requires_grad_",
    "retain_grad",
]


@pytest.mark.parametrize("name", GRADIENT_METHODS)
def test_a_method_of_gradients_is_named_as_it_was_called(name):
    with pytest.raises(TypeError, match=rf"^Tensor\.{name}\(\) got an unexpected keyword argument"):
        getattr(w, name)(retain_grph=True)


TAKE_ANYTHING = ("Identity", "Parameter", "Sequential", "functional", "init", "utils")
CLASSES = [getattr(nn, name) for name in nn.__all__ if name not in TAKE_ANYTHING]


@pytest.mark.parametrize("kind", [*CLASSES, optim.SGD, optim.Adam, optim.AdamW])
def test_what_a_class_is_made_with_is_refused_in_its_own_name(kind):
    for args, kwargs in (((1,) * 20, {}), ((), {"no_such_argument": 1})):
        with pytest.raises(TypeError, match=f"^{kind.__name__} (takes|has no argument)"):
            kind(*args, **kwargs)
