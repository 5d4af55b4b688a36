"""Steps of test_leaks.py: what graphs of gradients keep, and its packing."""

import opyard


def saving(fails, x):
    """Hooks of saved tensors, checkpoints of both kinds, edges, and what functions saved."""
    a = opyard.autograd
    with a.graph.saved_tensors_hooks(lambda t: t, lambda t: t), a.graph.save_on_cpu():
        y = (x.exp() * x).sin()
    fails(TypeError, a.graph.saved_tensors_hooks, 3, 3)
    fails(ZeroDivisionError, packed_wrongly, a, x)
    with a.graph.disable_saved_tensors_hooks("no"):
        fails(RuntimeError, packed_wrongly, a, x)
    y.grad_fn.metadata["noted"] = y.grad_fn._saved_self
    handle = a.graph.register_multi_grad_hook([x, y], lambda gradients: None)
    a.grad(a.graph.get_gradient_edge(y), x, grad_outputs=x.detach(), retain_graph=True)
    y.sum().backward(), handle.remove()
    fails(RuntimeError, lambda: y.grad_fn._saved_self)
    fails(AttributeError, lambda: y.grad_fn._saved_nothing)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    for use_reentrant in (False, True):
        a.checkpoint(lambda x: x.exp() * x, x, use_reentrant=use_reentrant).sum().backward()
    a.checkpoint_sequential([lambda x: x.exp(), lambda x: x * 2], 2, x).sum().backward()
    fails(ValueError, a.checkpoint, abs, x, determinism_check="never")


def packed_wrongly(a, x):
    with a.graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):
        x.exp()
