"""Errors of gradient methods of Tensor and Node, by the classes of error that PyTorch raises.

A wrong value is a ValueError everywhere in Opyard; these are RuntimeError as well, where PyTorch
raises that. Suspect autograd/src/tape/api.cpp, opyard/_autograd/tensors.py and
opyard/_autograd/runs.py.
"""

import pytest

import opyard
from opyard import autograd


def leaf():
    return opyard.ones(2, requires_grad=True)


def result():
    return leaf() * 2


def whole():
    return opyard.tensor([1, 2])


def plain():
    return opyard.ones(2)


def inference():
    with autograd.inference_mode():
        return opyard.ones(2)


def node():
    return (leaf() * leaf()).grad_fn


def several():
    return result().unbind(0)[0].grad_fn


def accumulating():
    return node().next_functions[0][0]


def set_to(make, name, value):
    return lambda: setattr(make(), name, value)


def own_gradient():
    x = leaf()
    x.grad = x


LEAF_ONLY = "you can only change requires_grad flags of leaf variables"
NO_HOOK = "cannot register a hook on a tensor that doesn't require gradient"
KEEP = (lambda gradient: gradient,)

# What is done, the classes that the error is of, and what it says.
REFUSED = {
    "requires_grad_ of whole numbers": (
        lambda: whole().requires_grad_(),
        (RuntimeError, TypeError),
        "only Tensors of floating point and complex dtype can require gradients",
    ),
    "requires_grad_(False) of a result": (
        lambda: result().requires_grad_(False),
        (RuntimeError, ValueError),
        LEAF_ONLY,
    ),
    "requires_grad_ of an inference tensor": (
        lambda: inference().requires_grad_(),
        (RuntimeError, ValueError),
        "an inference tensor cannot require a gradient",
    ),
    "requires_grad_ with a text": (
        lambda: plain().requires_grad_("x"),
        TypeError,
        r"requires_grad_\(\): argument 'requires_grad' \(position 1\) must be bool, not str",
    ),
    "requires_grad_ with a number": (lambda: plain().requires_grad_(1), TypeError, "not int"),
    "requires_grad_ with None": (lambda: plain().requires_grad_(None), TypeError, "not NoneType"),
    "requires_grad = 1": (
        set_to(plain, "requires_grad", 1),
        (RuntimeError, TypeError),
        "requires_grad must be True or False, not 1",
    ),
    "requires_grad = True of whole numbers": (
        set_to(whole, "requires_grad", True),
        (RuntimeError, TypeError),
        "only Tensors of floating point",
    ),
    "requires_grad = False of a result": (
        set_to(result, "requires_grad", False),
        (RuntimeError, ValueError),
        LEAF_ONLY,
    ),
    "requires_grad = True of a result": (
        set_to(result, "requires_grad", True),
        (RuntimeError, ValueError),
        LEAF_ONLY,
    ),
    "register_hook without a gradient": (
        lambda: plain().register_hook(*KEEP),
        (RuntimeError, ValueError),
        NO_HOOK,
    ),
    "register_hook of whole numbers": (
        lambda: whole().register_hook(*KEEP),
        (RuntimeError, ValueError),
        NO_HOOK,
    ),
    "register_hook with no function": (
        lambda: leaf().register_hook("x"),
        TypeError,
        "a hook must be a function, not an object of str",
    ),
    "register_post_accumulate_grad_hook of a result": (
        lambda: result().register_post_accumulate_grad_hook(*KEEP),
        (RuntimeError, ValueError),
        "no leaf that requires a gradient",
    ),
    "register_post_accumulate_grad_hook without a gradient": (
        lambda: plain().register_post_accumulate_grad_hook(*KEEP),
        (RuntimeError, ValueError),
        "no leaf that requires a gradient",
    ),
    "retain_grad without a gradient": (
        lambda: plain().retain_grad(),
        (RuntimeError, ValueError),
        "can't retain_grad on Tensor that has requires_grad=False",
    ),
    "grad of another shape": (
        set_to(leaf, "grad", opyard.ones(3)),
        (RuntimeError, ValueError),
        "has its sizes",
    ),
    "grad of another dtype": (
        set_to(leaf, "grad", opyard.ones(2, dtype=opyard.float64)),
        (RuntimeError, TypeError),
        "has its dtype and device",
    ),
    "grad on another device": (
        set_to(leaf, "grad", opyard.ones(2, device="meta")),
        (RuntimeError, TypeError),
        "has its dtype and device",
    ),
    "grad that is a number": (set_to(leaf, "grad", 3), TypeError, "a Tensor or None"),
    "grad that is a list": (set_to(leaf, "grad", [1.0, 1.0]), TypeError, "a Tensor or None"),
    "grad that is the tensor": (
        own_gradient,
        (RuntimeError, ValueError),
        "a tensor cannot be its own gradient",
    ),
    "backward without a gradient": (
        lambda: opyard.ones(1).backward(),
        (RuntimeError, ValueError),
        "does not require grad",
    ),
    "backward of several elements": (
        lambda: result().backward(),
        (RuntimeError, ValueError),
        "only for scalar outputs",
    ),
    "backward with another shape": (
        lambda: result().backward(opyard.ones(3)),
        (RuntimeError, ValueError),
        "Mismatch in shape",
    ),
    "backward for no inputs": (
        lambda: result().sum().backward(inputs=[]),
        RuntimeError,
        "cannot be empty",
    ),
    "backward for a text": (
        lambda: result().sum().backward(inputs=["x"]),
        (RuntimeError, TypeError),
        "backward: inputs: a Tensor is wanted, not an object of str",
    ),
    "backward that keeps a text": (
        lambda: result().sum().backward(retain_graph="x"),
        TypeError,
        "retain_graph must be True, False or None, not 'x'",
    ),
    "a node with no gradient": (
        lambda: node()(),
        TypeError,
        "MulBackward: expected 1 arguments, got 0 instead",
    ),
    "a node with a gradient too many": (
        lambda: node()(plain(), plain()),
        TypeError,
        "MulBackward: expected 1 arguments, got 2 instead",
    ),
    "a node of two results with one gradient": (
        lambda: several()(opyard.ones(())),
        TypeError,
        "expected 2 arguments, got 1 instead",
    ),
    "a node of two results with three gradients": (
        lambda: several()(*[opyard.ones(())] * 3),
        TypeError,
        "expected 2 arguments, got 3 instead",
    ),
    "a leaf's node with a gradient too many": (
        lambda: accumulating()(plain(), plain()),
        TypeError,
        "expected 1 arguments, got 2 instead",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_G14_it_is_refused_as_in_pytorch(case):
    act, classes, says = case
    with pytest.raises(Exception, match=says) as caught:
        act()
    wanted = classes if isinstance(classes, tuple) else (classes,)
    assert all(isinstance(caught.value, each) for each in wanted), type(caught.value).__mro__


def test_G14_what_is_there_already_may_be_said_again():
    assert result().requires_grad_().requires_grad
    assert leaf().requires_grad_(False).requires_grad is False
    leaf().retain_grad()
    x = result()
    x.retain_grad()
    x.retain_grad()
    whole().requires_grad = False
    (gradient, other) = node()(plain())
    assert gradient.tolist() == other.tolist() == [1.0, 1.0]
    assert node()(None) == (None, None)
