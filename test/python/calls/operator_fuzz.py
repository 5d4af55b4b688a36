"""operator_fuzz.py: calls every operator of aten and opyard with arguments of its kinds.

    python operator_fuzz.py SEED CALLS FILE [plant]

Tensors of all dtypes, shapes and strides, indices out of range, numbers at their limits, lists of
any length: an operator answers or raises, whatever calls it. It must not read or write beyond
memory (what a release build does not see, the address sanitizer does), nor hang, nor raise
SystemError, nor call its own state impossible. FILE always names the call that is under way; the
same seed makes the same calls. With `plant` an operator that trusts an index is among them.
"""

import ctypes
import itertools
import mmap
import os
import random
import resource
import sys
import warnings

import numpy as np

import opyard
from opyard.library import Library

# What is not called, and why.
LEFT_OUT = {
    "opyard::seed_random_numbers": "changes what later calls draw",
}
NUMBERS = [-(2**63), -(2**40), -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 33, 2**31, 2**62, 2**63 - 1]
SMALL = [0, 1, 1, 2, 2, 3, 3, 4, -1, -2]
FLOATS = [0.0, -0.0, 1.0, 0.5, -1.0, 2.0, 1e-300, 1e300, float("inf"), float("-inf"), float("nan")]
TEXTS = [
    "",
    "sum",
    "mean",
    "prod",
    "amax",
    "constant",
    "reflect",
    "circular",
    "floor",
    "ij->ji",
    "ii,i->",
    "trunc",
    "bilinear",
    "none",
    "tanh",
    "\0",
    "é",
]
SHAPES = [
    (),
    (),
    (0,),
    (1,),
    (2,),
    (3,),
    (5,),
    (2, 3),
    (3, 3),
    (3, 3),
    (0, 3),
    (3, 0),
    (1, 4),
    (4, 4),
    (2, 3, 4),
    (1, 3, 5),
    (3, 2, 2),
    (1, 2, 4, 4),
    (2, 2, 5, 5),
    (1, 1, 3, 3),
    (2, 1, 2, 3, 3),
    (1,) * 9,
]
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "int64", "float16", "bfloat16"]
DTYPES += ["float32"] * 6 + ["float64"] * 2 + ["complex64", "complex128"]
DIFFERENTIABLE = [opyard.float32, opyard.float64, opyard.complex64, opyard.complex128]
UNUSED = (0, 1, 3, 2**31, 2**60, 2**62, 2**63 - 1)


def tensor(rng):
    shape = rng.choice(SHAPES)
    dtype = getattr(opyard, rng.choice(DTYPES))
    if rng.random() < 0.06:
        return opyard.ops.aten.empty(list(shape), dtype=dtype, device="meta")
    count = int(np.prod(shape, dtype=np.int64))
    kind = rng.random()
    if dtype == opyard.int64 and kind < 0.6:
        numbers = [rng.choice(NUMBERS if kind < 0.3 else SMALL) for _ in range(count)]
        made = opyard.tensor(np.array(numbers, np.int64).reshape(shape))
    else:
        numbers = [rng.choice((0.0, 1.0, -1.5, 2.0, 3.0, 0.25)) for _ in range(count)]
        with np.errstate(all="ignore"):
            made = opyard.tensor(np.array(numbers, np.float32).reshape(shape))
        if dtype != opyard.float32:
            made = opyard.ops.aten.to.dtype(made, dtype)
    how = rng.random()
    if how < 0.1 and made.dim() >= 2:
        made = made.transpose(0, -1)
    elif how < 0.15 and made.dim() >= 1:
        made = opyard.ops.aten.slice(made, 0, 0, None, 2)
    elif how < 0.2:
        made = opyard.ops.aten.expand(made, [rng.choice((1, 2, 3)), *shape])
    elif how < 0.25 and dtype in DIFFERENTIABLE:
        made.requires_grad_()
    elif how < 0.3:
        made = with_unused_strides(made, rng)
    return made


def with_unused_strides(made, rng):
    """The same elements, and strides of any size that no element uses."""
    pairs = zip(made.shape, made.stride(), strict=True)
    used = made.numel() > 0
    strides = [step if used and size > 1 else rng.choice(UNUSED) for size, step in pairs]
    return opyard.ops.aten.as_strided(made, list(made.shape), strides, 0)


def elements_of(text):
    """ "Tensor?" of "Tensor?[]", which is a list; None of what is no list."""
    return text[: text.rindex("[")] if text.endswith("]") else None


def argument(text, rng):
    """A value for a type as schemas write it."""
    if text.endswith("?"):
        return None if rng.random() < 0.4 else argument(text[:-1], rng)
    elements = elements_of(text)
    if elements is not None:
        count = rng.choice((0, 1, 1, 2, 2, 2, 3, 4, 5))
        return [argument(elements, rng) for _ in range(count)]
    if text == "Tensor":
        return tensor(rng)
    if text in ("int", "SymInt"):
        return rng.choice(SMALL if rng.random() < 0.8 else NUMBERS)
    if text == "float":
        return rng.choice(FLOATS)
    if text in ("Scalar", "number"):
        pool = SMALL if rng.random() < 0.5 else NUMBERS + FLOATS + [True, 1j, complex("nan+infj")]
        return rng.choice(pool)
    if text == "bool":
        return rng.random() < 0.5
    if text == "str":
        return rng.choice(TEXTS)
    if text == "ScalarType":
        return getattr(opyard, rng.choice(DTYPES))
    if text == "Device":
        return rng.choice(("cpu", "cpu", "meta", "cuda"))
    if text == "Layout":
        return rng.choice((None, 0))
    if text == "MemoryFormat":
        return rng.choice((0, 1, 2, 3))
    return None


def overloads(plant):
    for space in (opyard.ops.aten, opyard.ops.opyard):
        for name in sorted(dir(space)):
            packet = getattr(space, name)
            if not hasattr(packet, "overloads"):
                continue
            for overload in sorted(packet.overloads()):
                op = getattr(packet, overload)
                if str(op._name if hasattr(op, "_name") else op) not in LEFT_OUT:
                    yield op
    if plant:
        library = Library("fuzz_planted", "DEF")
        library.define("trusts(Tensor x, int at) -> int")
        library.impl("trusts", trusts, "CPU")
        overloads.kept = library
        # Often enough that one of the calls leaves memory, however many operators there are.
        yield from [opyard.ops.fuzz_planted.trusts.default] * 20


def trusts(x, at):
    return ctypes.c_char.from_address(x.data_ptr() + at).value[0]


def call(op, rng):
    given, names = [], {}
    for each in op._schema.arguments:
        if each.has_default_value() and rng.random() < 0.5:
            if not each.kwarg_only:
                break
            continue
        value = argument(str(each.type), rng)
        if each.kwarg_only:
            names[each.name] = value
        else:
            given.append(value)
    return given, names


def text_of(value):
    if isinstance(value, opyard.Tensor):
        return f"{value.dtype} {list(value.shape)} {list(value.stride())} {value.device}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    return repr(value)


def main(seed, count, file, plant=None):
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    rng = random.Random(seed)
    found = list(overloads(plant))
    rng.shuffle(found)
    if "OPYARD_SANITIZER" not in os.environ:  # whose own memory is boundless
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, used + 2**30))
    with open(file, "w+b") as log:
        log.truncate(8192)
        note = mmap.mmap(log.fileno(), 8192)
    answered = set()
    for number, op in zip(range(count), itertools.cycle(found), strict=False):
        given, names = call(op, rng)
        text = f"seed {seed}, call {number}: {op}("
        text += ", ".join([*map(text_of, given), *(f"{k}={text_of(names[k])}" for k in names)])
        note[:] = text.encode("utf-8", "replace")[:8192].ljust(8192, b"\0")
        try:
            result = op(*given, **names)
            answered.add(op)
            if rng.random() < 0.1 and isinstance(result, opyard.Tensor) and result.requires_grad:
                result.sum().backward()
        except SystemError as error:
            print(f"{text}\nSystemError: {error}", file=sys.stderr)
            os._exit(3)
        except Exception as error:
            if "This is a defect of Opyard" in str(error):
                print(f"{text}\n{error}", file=sys.stderr)
                os._exit(4)
    print(len(found), len(answered))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], *sys.argv[4:])
