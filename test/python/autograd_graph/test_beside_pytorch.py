"""Programs that take a derivative in several ways, run with PyTorch and here.

A transformer that trains with checkpoints, products of Hessians with vectors, and Jacobians by
forward mode. Suspect _autograd/checkpoint.py, forward_ad.py and functional.py.
"""

import contextlib

import pytest
from nn_cases import Opyard, Torch

import opyard

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
np = pytest.importorskip("numpy")
pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated"),
]
X = np.random.default_rng(4).standard_normal((3, 5, 8))


class Ours:
    module, library = opyard, Opyard()
    checkpoint = staticmethod(opyard.autograd.checkpoint)


class Theirs:
    module, library = torch, Torch()
    checkpoint = staticmethod(__import__("torch.utils.checkpoint").utils.checkpoint.checkpoint)


def transformer(of, state):
    """Layers with a head, as float64, with the weights of a state if there is one."""
    nn = of.module.nn
    layers = [
        nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=norm_first)
        for norm_first in (False, True, True)
    ]
    model = of.library.as_double(nn.ModuleList([*layers, nn.Linear(8, 4)]))
    model.load_state_dict(state or model.state_dict())
    return model


def numbers(of, tensors):
    return {name: np.array(of.library.numbers(one)) for name, one in tensors.items()}


def loss_of(of, model, run):
    *layers, head = model
    y = of.library.tensor(X)
    y.requires_grad_()  # else a checkpoint that is reentrant has no gradient
    for layer in layers:
        y = run(layer, y)
    target = of.library.tensor(np.arange(15) % 4)
    return of.module.nn.CrossEntropyLoss()(head(y).reshape(15, 4), target)


def trained(of, state, use_reentrant):
    model = transformer(of, state)
    begun = numbers(of, model.state_dict())
    optimizer = of.module.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = loss_of(
            of, model, lambda layer, y: of.checkpoint(layer, y, use_reentrant=use_reentrant)
        )
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, numbers(of, model.state_dict()), begun


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_transformer_with_checkpoints_trains_as_with_pytorch(use_reentrant):
    losses, weights, begun = trained(Theirs, None, use_reentrant)
    found, ours, _ = trained(Ours, begun, use_reentrant)
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(found, losses, rtol=1e-9)
    assert list(ours) == list(weights)
    for name, wanted in weights.items():
        np.testing.assert_allclose(ours[name], wanted, rtol=1e-6, atol=1e-8, err_msg=name)


def seeds_like(of, parameters):
    return [
        of.library.tensor(np.cos(np.arange(one.numel()) + 0.5).reshape(tuple(one.shape)))
        for one in parameters
    ]


def hessian_product(of, state, how):
    """The Hessian of the loss by all parameters, times a vector."""
    model = transformer(of, state)
    begun = numbers(of, model.state_dict())
    parameters = [one for _, one in sorted(model.named_parameters())]
    seeds = seeds_like(of, parameters)
    found = how(of, model, parameters, seeds)
    return [np.array(of.library.numbers(one.detach())) for one in found], begun


def backward_twice(of, model, parameters, seeds):
    grad = of.module.autograd.grad
    loss = loss_of(of, model, lambda layer, y: layer(y))
    gradients = grad(loss, parameters, create_graph=True)
    along = sum((one * seed).sum() for one, seed in zip(gradients, seeds, strict=True))
    return grad(along, parameters)


def forward_over_backward(of, model, parameters, seeds):
    forward_ad = of.module.autograd.forward_ad
    places = {id(one): number for number, one in enumerate(parameters)}
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(one, seed) for one, seed in zip(parameters, seeds, strict=True)
        ]
        with contextlib.ExitStack() as stack:
            for module in model.modules():
                for name, one in list(module._parameters.items()):
                    if one is not None:
                        module._parameters[name] = duals[places[id(one)]]
                        stack.callback(module._parameters.__setitem__, name, one)
            loss = loss_of(of, model, lambda layer, y: layer(y))
            gradients = of.module.autograd.grad(loss, duals)
        return [forward_ad.unpack_dual(one).tangent for one in gradients]


@pytest.mark.parametrize("how", [backward_twice, forward_over_backward])
def test_a_hessian_vector_product_is_that_of_pytorch(how):
    kernels = torch.nn.attention
    with kernels.sdpa_kernel(kernels.SDPBackend.MATH):  # the one that has second derivatives
        wanted, begun = hessian_product(Theirs, None, backward_twice)
    assert sum(abs(one).sum() for one in wanted) > 1
    found, _ = hessian_product(Ours, begun, how)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-10)


def programs(of):
    """Functions of a tensor of float64 with several elements."""
    lib, w = of.module, of.library.tensor(np.linspace(-1, 1, 12).reshape(3, 4))

    def layer(x):
        return (w @ x).tanh()

    def normed(x):
        return (x - x.mean()) / x.var() + x.softmax(0)

    def matrix(x):
        square = x.reshape(2, 2)
        return (square @ square.t()).exp().sum(1)

    def written(x):
        y = x * 2
        y[2:] = x[:2].cos()
        return lib.cat([y, x.sin()])

    def stepped(x):
        for _ in range(3):
            x = x + 0.1 * (x * x).sin()
        return x, x.sum()

    return [layer, normed, matrix, written, stepped]


@pytest.mark.parametrize("number", range(5))
def test_a_jacobian_by_forward_mode_is_that_of_pytorch(number):
    answers = []
    for of, how in ((Theirs, {"vectorize": True}), (Ours, {})):
        func = programs(of)[number]
        functional = of.module.autograd.functional
        x = of.library.tensor(np.array([0.3, -1.2, 0.7, 0.4]))
        if func.__name__ == "written":
            how = {}  # vmap of PyTorch has no write of a batch into what is none
        strategy = "forward-mode" if how or of is Ours else "reverse-mode"
        found = functional.jacobian(func, x, strategy=strategy, **how)
        found = found if isinstance(found, tuple) else (found,)
        answers.append([of.library.numbers(one) for one in found])
    for wanted, found in zip(*answers, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
