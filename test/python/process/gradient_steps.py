"""gradient_steps.py: what test_leaks repeats of autograd.forward_ad and autograd.functional."""

import opyard


class Cubed(opyard.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        return x * x * x

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * x * x * 3


def forward_steps():
    forward_ad = opyard.autograd.forward_ad
    x = opyard.tensor([1.0, 2.0], dtype=opyard.float64)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.clone().requires_grad_(), x)
        y = (dual.exp() * dual).sum()
        opyard.autograd.grad(y, dual, create_graph=True)
        forward_ad.unpack_dual(Cubed.apply(dual))
        forward_ad.make_dual(x.clone(), x.clone()).mul_(2)[0].add_(1)
        try:
            forward_ad.enter_dual_level()
        except opyard.autograd.GradientError:
            pass
    forward_ad.jvp(lambda x: x * x, x, x)


def by_functional(name):
    x = opyard.tensor([1.0, 2.0], dtype=opyard.float64)
    function = getattr(opyard.autograd.functional, name)
    if name in ("jacobian", "hessian"):
        function(lambda x: (x * x).sum(), x)
    elif name in ("vjp", "jvp"):
        function(lambda x: x * x, x, x)
    else:
        function(lambda x: x.exp().sum(), x, x)
