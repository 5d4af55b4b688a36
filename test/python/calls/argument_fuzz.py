"""argument_fuzz.py: calls everything that the extension modules have with arguments of every kind.

    python argument_fuzz.py SEED CALLS FILE [plant]

Whatever is given, a call answers or raises. It must not end the process, nor hang, nor raise
SystemError: that says that a function of ours reported an error without setting one, or set one
without reporting it. FILE always names the call that is under way, so that it is known which one
ended the process; the same seed makes the same calls. With `plant` a function that trusts its
argument is among them, or one that answers with an exception set.
"""

import collections
import ctypes
import itertools
import mmap
import os
import random
import sys
import types
import warnings

import opyard
import opyard.autograd
import opyard.dispatch
import opyard.jit
import opyard.library
import opyard.profiler
from opyard import _C, _bind, _gradients, _graphs, _models, _tracer
from opyard.schema import parse

MODULES = {
    "_C": _C,
    "_bind": _bind,
    "_graphs": _graphs,
    "_gradients": _gradients,
    "_models": _models,
    "_tracer": _tracer,
}
# What is not called, and why.
LEFT_OUT = {
    "_C.close": "ends the interpreter's part",
    "_C.configure": "takes the package's own functions",
    "_C.set_sym_types": "takes the package's own classes",
    "_bind.set_dispatch_log": "prints every call",
    "Future.wait": "waits for what never comes",
    "Future.value": "waits for what never comes",
}


class Hostile:
    """Raises wherever it is asked."""

    def _raise(self, *args, **kwargs):
        raise ArithmeticError("hostile")

    __index__ = __int__ = __float__ = __bool__ = __len__ = __iter__ = __getitem__ = _raise
    __eq__ = __call__ = __str__ = __fspath__ = __dlpack__ = __dlpack_device__ = _raise
    __hash__ = object.__hash__


class Hanging(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return super().__opyard_dispatch__(op, types, [*args], kwargs)


class Mode(opyard.dispatch.DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        return op(*args, **kwargs or {})


def values():
    """An object of every kind that a function might meet."""
    tensor = opyard.tensor([1.0, 2.0])
    schema = parse("fuzz::f(Tensor(a!) x, int[2] n=[1, 2], *, str? s=None) -> Tensor(a!)")
    done = opyard.futures.Future()
    done.set_result(1)
    add = opyard.ops.aten.add
    plain = [
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        7,
        63,
        64,
        2**31,
        -(2**63),
        2**64,
        10**30,
        0.0,
        -0.0,
    ]
    plain += [
        1.5,
        float("nan"),
        float("inf"),
        1j,
        "",
        "a",
        "CPU",
        "Python",
        "aten::add",
        "DEF",
        "IMPL",
    ]
    plain += [
        "aten::add.Tensor",
        "fuzz::f",
        "fuzz::f(Tensor x) -> Tensor",
        "fuzz",
        "x\0y",
        "\udcff",
    ]
    plain += ["a" * 5000, "FRAGMENT", "float32", "cpu", "meta:0", "Standard", b"", b"x\0y", b"abc"]
    plain += [bytearray(8), memoryview(b"12345678"), range(3), Ellipsis, NotImplemented, object()]
    plain += [slice(None), slice(0, 10**30, -1), Hostile(), Hostile, Mode(), type, int, dict, list]
    made = [
        tensor,
        opyard.tensor(3),
        opyard.tensor([[1, 2], [3, 4]]),
        _C.empty_meta(opyard.float32, (2, 3)),
    ]
    made += [
        Hanging.make_subclass(Hanging, tensor),
        tensor.as_subclass(opyard.Tensor),
        opyard.float32,
    ]
    made += [opyard.device("cpu"), _C.DispatchKeySet("CPU"), opyard.Tensor, Hanging, done, schema]
    made += [schema.arguments[0], schema.arguments[0].type, schema.arguments[0].alias_info, add]
    made += [
        add.Tensor,
        opyard.ops.aten,
        opyard.ops,
        _C.capture_thread_context(),
        sys.modules[__name__],
    ]
    made += [
        opyard.library.Library("fuzz", "FRAGMENT")._library,
        len,
        lambda *a, **k: None,
        _C,
        _bind,
    ]
    whole = plain + made
    containers = [
        (),
        [],
        {},
        set(),
        (1, 2),
        [1, 2],
        {"a": 1},
        {1: 2},
        {1, 2},
        [tensor],
        (tensor, tensor),
    ]
    containers += [
        [tensor, None],
        [[1, 2], [3]],
        [(None, 3)],
        [(Mode(), 3)],
        iter([1]),
        frozenset("a"),
    ]
    containers += [collections.OrderedDict(a=1), types.SimpleNamespace(a=1), [add], [Hostile()] * 3]
    classes = [
        each
        for module in MODULES.values()
        for each in vars(module).values()
        if isinstance(each, type)
    ]
    return whole + containers + classes + of_graphs() + of_gradients() + of_profiles()


def of_graphs():
    """Of each class a few, so that what belongs to another graph is met, and what is over."""
    made = []
    for text in (
        "graph(%x, %n : int):\n  %y = aten::neg(%x)\n  return (%y, %n)\n",
        "graph(%c : bool, %x):\n  %y = prim::If(%c)\n    block0():\n      %a = aten::neg(%x)\n"
        "      -> (%a)\n    block1():\n      -> (%x)\n  return (%y)\n",
    ):
        graph = opyard.jit.parse_ir(text)
        nodes = list(graph.nodes())
        code = opyard.jit.compile(graph)
        made += [graph, nodes[0], *graph.inputs(), nodes[0].output(), code, graph.block()]
        made += [*nodes[0].blocks(), graph.param_node(), graph.return_node(), graph.copy()]
        made += [opyard.jit.InterpreterState(code), opyard.jit.InterpreterState(code).save()]
    destroyed = graph.create("aten::neg", [])
    destroyed.destroy()
    return [*made, destroyed, *graph.create_constant(1).outputs(), text, "graph(%x):"]


def of_gradients():
    x = opyard.tensor([1.0, 2.0]).requires_grad_()
    y = (x * x).sum()
    used = (x * x).sum()
    used.backward()
    saved = [_gradients.save(x), _gradients.save(None), _gradients.save(y, True)]
    return [x, y, used, y.grad_fn, used.grad_fn, y.grad_fn.next_functions[0][0], *saved, [y], [x]]


def of_profiles():
    with opyard.profiler.profile(profile_memory=True) as made:
        opyard.ops.aten.neg(opyard.tensor([1.0]))
    return [made._profile, _tracer.annotation("fuzz"), values.__code__, bytearray().extend]


def callables(plant):
    """(name, class that it is of or None, function) of all that can be called."""
    for short, module in MODULES.items():
        for name, found in sorted(vars(module).items()):
            if not isinstance(found, type):
                if callable(found):
                    yield f"{short}.{name}", None, found
                continue
            yield f"{short}.{name}", None, found
            yield f"{name}.__new__", type(found), found.__new__
            for method, raw in sorted(vars(found).items()):
                if callable(raw) or hasattr(raw, "__get__"):
                    yield f"{name}.{method}", found, raw
    if plant == "trusting":
        yield "planted", None, lambda *a: a and type(a[0]) is not str and ctypes.string_at(0)
    elif plant == "both":
        from built import import_border

        yield "planted", None, import_border().value_with_error


def call(function, arguments, names, rng):
    if not callable(function) or (hasattr(function, "__set__") and rng.random() < 0.9):
        # An attribute, a class method, a static one.
        owner = arguments[0] if arguments else None
        if hasattr(function, "__set__") and rng.random() < 0.3:
            return function.__set__(owner, arguments[-1] if arguments else None)
        bound = function.__get__(owner, type(owner))
        return bound(*arguments[1:], **names) if callable(bound) else bound
    return function(*arguments, **names)


def quiet(*args):
    pass


def main(seed, count, file, plant=None):
    warnings.simplefilter("ignore")
    sys.unraisablehook = quiet
    rng = random.Random(seed)
    found = [each for each in callables(plant) if each[0] not in LEFT_OUT]
    left = set(LEFT_OUT) - {each[0] for each in callables(plant)}
    assert not left, f"these are not there: {left}"
    with open(file, "w+b") as log:
        log.truncate(4096)
        note = mmap.mmap(log.fileno(), 4096)
    keys, mode, pool = _C.local_keys(), _gradients.gradient_mode(), values()
    used = itertools.cycle(found)
    for number in range(count):
        if number % 500 == 0:
            pool = values()
        name, owner, function = next(used)
        chosen = [
            rng.randrange(len(pool)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 7)))
        ]
        fitting = [at for at, each in enumerate(pool) if owner and isinstance(each, owner)]
        if chosen and fitting and rng.random() < 0.8:
            chosen[0] = rng.choice(fitting)  # what a method is called with
        names = {}
        if rng.random() < 0.1:
            names = {rng.choice(("dim", "dtype", "kwargs", "x", "self")): rng.choice(pool)}
        text = f"seed {seed}, call {number}: {name} with the values {chosen} and {sorted(names)}\n"
        note[:] = text.encode("utf-8", "replace")[:4096].ljust(4096, b"\0")
        try:
            repr(call(function, [pool[at] for at in chosen], names, rng))
        except SystemError as error:
            if name not in ("Tensor.__get__",):
                print(f"{text}SystemError: {error}", file=sys.stderr)
                os._exit(3)
        except (Exception, GeneratorExit):
            pass
        # What it changed for the thread is put back.
        _C.exchange_modes([])
        _C.set_local_keys(*keys)
        _C.set_python_dispatcher(False)
        _gradients.set_gradient_mode(mode)
        _gradients.set_anomaly(False, False)
        if _tracer.is_active():
            _tracer.stop()
    assert opyard.ops.aten.neg(opyard.tensor([1.0])).tolist() == [-1.0]
    print(len(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], *sys.argv[4:])
