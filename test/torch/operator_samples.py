"""operator_samples.py: makes the calls of PyTorch's own samples here, too, and compares.

    python test/torch/operator_samples.py [--only NAME,...] [--dtypes NAME,...] [--list]

Needs PyTorch. For every sample of `op_db` a dispatch mode sees the aten calls that it comes to, and
makes each again here with the same arguments; so do the form that writes to its first argument and
the one that writes to `out`, where there is one. Compared are dtype, sizes, strides and values, of
results and of arguments that are written. What is refused here is counted by its reason: an
operator that is not there, a dtype that is not computed in, or what `allowed_refusals.txt` has, one
beginning of a message a line. Every other refusal and every difference is a fault. With --meta each
call that is answered is made on meta as well, and dtypes, sizes and strides are compared.

Exit code: 0, or 1 if there is a fault.
"""

import argparse
import collections
import sys
from pathlib import Path

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

import opyard

COMPUTED = {
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
}
# How far values may be apart: PyTorch rounds in other places, and some of its sums of float16 more
# than once.
NEAR = {torch.float16: (4e-3, 4e-3), torch.bfloat16: (3e-2, 3e-2)}
ALLOWED = Path(__file__).parent / "allowed_refusals.txt"
# Which of equal elements comes first is not defined.
TIES = (
    "aten::sort",
    "aten::topk",
    "aten::kthvalue",
    "aten::mode",
    "aten::median.dim",
    "aten::nanmedian.dim",
)
# Vectors of these are defined up to a factor, and those of equal values up to their order: compared
# is the result with the values, by its position.
VECTORS = {"aten::_linalg_eigh": 0, "aten::_linalg_svd": 1, "aten::linalg_eig": 0}
# Values of these are not defined: memory as it was found, or random numbers.
RANDOM = (
    "rand",
    "dropout",
    "exponential",
    "empty",
    "normal",
    "bernoulli",
    "multinomial",
    "uniform",
    "resize",
)


def short(dtype):
    return str(dtype).removeprefix("torch.")


def here(value):
    """An argument as it is given here; KeyError for a dtype that is not there."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.dtype not in COMPUTED:
            raise KeyError("dtype")
        if value.is_conj() or value.is_neg():
            raise KeyError("what is conjugated or negated when it is read")
        copy = torch.empty(0, dtype=value.dtype)
        storage = value.untyped_storage().clone()
        copy.set_(storage, value.storage_offset(), value.shape, value.stride())
        return opyard.from_dlpack(copy)
    if isinstance(value, torch.dtype):
        return getattr(opyard, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, (torch.layout, torch.memory_format)):
        if value is torch.contiguous_format:
            return 0
        if value in (torch.strided, torch.preserve_format):
            return None
        raise KeyError("layout")
    return value


def differ(ours, theirs, random):
    """What is different, or None."""
    if isinstance(theirs, torch.Tensor):
        if not isinstance(ours, opyard.Tensor):
            return f"gave {type(ours).__name__}"
        if str(ours.dtype).split(".")[-1] != str(theirs.dtype).split(".")[-1]:
            return f"dtype {ours.dtype}, not {theirs.dtype}"
        if tuple(ours.shape) != tuple(theirs.shape):
            return f"sizes {tuple(ours.shape)}, not {tuple(theirs.shape)}"
        for size, a, b in zip(ours.shape, ours.stride(), theirs.stride(), strict=True):
            if size > 1 and a != b and theirs.numel() > 0 and not theirs.is_conj():
                return f"strides {tuple(ours.stride())}, not {tuple(theirs.stride())}"
        if random:
            return None
        if not theirs.numel():
            return None
        rtol, atol = NEAR.get(theirs.dtype, (2e-4, 2e-5))
        wide = torch.complex128 if theirs.is_complex() else torch.float64
        mine = torch.from_dlpack(ours).to(wide)
        wanted = theirs.detach().resolve_conj().to(wide)
        if not torch.allclose(mine, wanted, rtol, atol, equal_nan=True):
            return "values"
        return None
    if isinstance(theirs, (list, tuple)):
        if len(ours) != len(theirs):
            return f"{len(ours)} results, not {len(theirs)}"
        for a, b in zip(ours, theirs, strict=True):
            found = differ(a, b, random)
            if found:
                return found
    return None


def on_meta(value):
    """A tensor of the same geometry without elements; other arguments as they are."""
    if not isinstance(value, opyard.Tensor):
        return value
    sizes, strides = list(value.shape), list(value.stride())
    return opyard.ops.aten.empty_strided(sizes, strides, dtype=value.dtype, device="meta")


def geometry_of(result):
    """What is known of results without their elements; strides of dimensions that have some."""
    return [
        (
            str(t.dtype),
            tuple(t.shape),
            [b for a, b in zip(t.shape, t.stride(), strict=True) if a > 1],
        )
        if isinstance(t, opyard.Tensor)
        else type(t).__name__
        for t in tree_flatten(result)[0]
    ]


def written_by(func, args, kwargs):
    """The arguments that an operator writes, in order."""
    written = []
    for i, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            named = argument.kwarg_only or i >= len(args)
            written.append(kwargs.get(argument.name) if named else args[i])
    return written


def forms(op, sample):
    """Functions that make the sample's calls: plain, in place, and into `out`."""

    def plain():
        return op(sample.input, *sample.args, **sample.kwargs)

    yield plain
    in_place = op.get_inplace()
    if in_place is not None and isinstance(sample.input, torch.Tensor):
        yield lambda: in_place(sample.input.detach().clone(), *sample.args, **sample.kwargs)
    if op.supports_out and "out" not in sample.kwargs:
        try:
            made = plain()  # outside of the mode
        except Exception:
            return
        out = tree_map(lambda t: torch.empty_like(t) if isinstance(t, torch.Tensor) else t, made)
        yield lambda: op(sample.input, *sample.args, **sample.kwargs, out=out)


class Again(TorchDispatchMode):
    def __init__(self, meta=False):
        super().__init__()
        self.meta = meta
        self.counts = collections.defaultdict(collections.Counter)
        self.examples = {}
        lines = ALLOWED.read_text("utf-8").splitlines()
        self.allowed = [line for line in lines if line[:1] not in ("", "#")]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.name()
        given = None
        if name.startswith("aten::"):
            try:
                if "as_strided" in name and args[0].storage_offset() != 0:
                    raise KeyError("a place in the storage, which begins at the tensor here")
                given = tree_map(here, (args, kwargs))
            except (KeyError, BufferError, RuntimeError):
                self.counts[name]["dtype"] += 1
        result = func(*args, **kwargs)
        if given is not None:
            self.compare(func, name, given, result, written_by(func, args, kwargs))
        return result

    def compare(self, func, name, given, result, written):
        overload = getattr(getattr(opyard.ops.aten, func._opname, None), func._overloadname, None)
        if overload is None:
            self.counts[name]["missing"] += 1
            return
        args, kwargs = given
        kwargs = {k: v for k, v in kwargs.items() if v is not None or k not in ("layout",)}
        theirs = tree_flatten(result)[0]
        if any(isinstance(t, torch.Tensor) and t.dtype not in COMPUTED for t in theirs):
            self.counts[name]["dtype"] += 1
            return
        try:
            ours = overload(*args, **kwargs)
            geometry = geometry_of(ours)
        except Exception as error:
            text = str(error).split("\n")[0]
            if any(part in text for part in self.allowed):
                self.counts[name]["refused as allowed"] += 1
            else:
                self.counts[name]["refused"] += 1
                self.examples.setdefault((name, "refused"), text)
            return
        if name in TIES:
            ours, result = (x[0] if isinstance(x, (tuple, list)) else x for x in (ours, result))
        random = name in VECTORS or any(word in name for word in RANDOM)
        found = differ(ours, result, random)
        if not found and name in VECTORS:
            found = differ(ours[VECTORS[name]], result[VECTORS[name]], False)
        if not found and name not in TIES:
            found = differ(written_by(func, args, kwargs), written, random)
        self.counts[name]["differs" if found else "equal"] += 1
        if found:
            self.examples.setdefault((name, "differs"), f"{found}: {str(given)[:300]}")
        elif self.meta:
            self.compare_on_meta(overload, name, given, geometry)

    def compare_on_meta(self, overload, name, given, geometry):
        args, kwargs = tree_map(on_meta, given)
        if "device" in kwargs:
            kwargs["device"] = "meta"
        try:
            there = geometry_of(overload(*args, **kwargs))
        except Exception as error:
            self.counts[name]["refused on meta"] += 1
            self.examples.setdefault((name, "refused on meta"), str(error).split("\n")[0])
            return
        self.counts[name]["equal on meta" if there == geometry else "differs on meta"] += 1
        if there != geometry:
            text = f"{there}, not {geometry}: {str(given)[:200]}"
            self.examples.setdefault((name, "differs on meta"), text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", help="names of op_db, with commas between")
    parser.add_argument("--dtypes", default="float32,int64,bool", help="of the samples, or `all`")
    parser.add_argument("--list", action="store_true", help="every operator with its counts")
    parser.add_argument("--meta", action="store_true", help="make the calls on meta, too")
    parser.add_argument("--missing", action="store_true", help="list what is not there")
    options = parser.parse_args()
    wanted = set(options.only.split(",")) if options.only else None
    dtypes = [
        d for d in COMPUTED if options.dtypes == "all" or short(d) in options.dtypes.split(",")
    ]
    again = Again(options.meta)
    torch.manual_seed(0)
    for op in op_db:
        if wanted and op.name not in wanted:
            continue
        for dtype in dtypes:
            if dtype not in op.supported_dtypes("cpu"):
                continue
            try:
                samples = list(op.sample_inputs("cpu", dtype))[:12]
            except Exception:
                continue
            for call in (call for sample in samples for call in forms(op, sample)):
                try:
                    with again:
                        call()
                except Exception:
                    continue
    total = collections.Counter()
    for name in sorted(again.counts):
        total.update(again.counts[name])
        if options.list:
            print(name, dict(again.counts[name]))
        elif options.missing and again.counts[name]["missing"]:
            print("missing", name, again.counts[name]["missing"])
    for (name, kind), text in sorted(again.examples.items()):
        print(f"{kind}: {name} x{again.counts[name][kind]}: {text}")
    there = [n for n, c in again.counts.items() if not c["missing"]]
    here_calls = total["equal"] + total["differs"] + total["refused"]
    print(f"overloads: {len(again.counts)}, there: {len(there)}; calls: {dict(total)}")
    print(f"answered alike: {100 * total['equal'] / max(here_calls, 1):.2f} %")
    return 1 if total["differs"] or total["refused"] else 0


if __name__ == "__main__":
    sys.exit(main())
