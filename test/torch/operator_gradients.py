"""operator_gradients.py: takes the gradients of PyTorch's own samples here, too, and compares.

    python test/torch/operator_gradients.py [--only NAME,...] [--samples N] [--list]

Needs PyTorch. A dispatch mode notes the aten calls that the samples of `op_db` come to in float64.
Each is made again in both libraries, of leaves that require a gradient. Compared are the gradients
of a weighted sum of its results, and the gradients of a weighted sum of those. A gradient that is
None counts as one of zeros.

Not compared are operators that are not there or have no formula, dtypes that are not computed in,
and calls that are refused for a reason in `allowed_refusals.txt`. Everything else that differs is a
fault.

Exit code: 0, or 1 if there is a fault.
"""

import argparse
import collections
import sys

import torch
from operator_samples import ALLOWED, RANDOM, TIES, here
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

import opyard

# Of these only the first result is compared: PyTorch has no gradient for the moments of a norm.
FIRST_ALONE = (
    *TIES,
    "aten::native_layer_norm",
    "aten::native_group_norm",
    "aten::native_batch_norm",
    "aten::_native_batch_norm_legit.no_stats",
)


class Calls(TorchDispatchMode):
    """The calls of aten that are made under it, with copies of their arguments."""

    def __init__(self):
        super().__init__()
        self.made = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = (args, kwargs or {})
        is_ours = func.name().startswith("aten::") and not func._schema.name.endswith("_like")
        if is_ours and any(map(wants, tree_flatten(given)[0])):
            self.made.append((func, tree_map(copied, given)))
        return func(*args, **given[1])


def wants(value):
    """Whether a gradient can be asked for an argument."""
    return isinstance(value, torch.Tensor) and value.dtype is torch.float64


def copied(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def weights_of(count, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, generator=generator, dtype=torch.float64) + 0.25


class Library:
    """What the comparison asks of PyTorch, or of Opyard."""

    def __init__(self, module, operators, tensor, take, grad):
        self.module, self.operators, self.tensor = module, operators, tensor
        self.take, self.grad = take, grad

    def overload(self, func):
        packet = getattr(self.operators, func._opname, None)
        return getattr(packet, func._overloadname, None)

    def weighted(self, results, seed):
        """A sum of all elements that need a gradient; None if there are none."""
        total = None
        for number, one in enumerate(results):
            if not (isinstance(one, self.tensor) and one.requires_grad):
                continue
            count = 1
            for size in one.shape:
                count *= size
            weights = self.take(weights_of(count, seed + number))
            part = (one.reshape([count]) * weights).sum()
            total = part if total is None else total + part
        return total

    def gradients(self, func, given):
        """Of first and of second order, for the same leaves; None instead of those of a second."""
        flat, spec = tree_flatten(given)
        leaves = [self.take(v).requires_grad_() if wants(v) else None for v in flat]
        flat = [
            self.take(v) if leaf is None else leaf.clone()
            for v, leaf in zip(flat, leaves, strict=True)
        ]
        leaves = [leaf for leaf in leaves if leaf is not None]
        args, kwargs = tree_unflatten(flat, spec)
        if self.module is opyard:
            kwargs = {k: v for k, v in kwargs.items() if v is not None or k != "layout"}
        results = tree_flatten(self.overload(func)(*args, **kwargs))[0]
        if func.name() in FIRST_ALONE or "max_pool" in func.name():
            results = results[:1]
        loss = self.weighted(results, 0)
        if loss is None:
            return None
        first = self.grad(loss, leaves, create_graph=True, allow_unused=True)
        again = self.weighted(first, 100)
        second = None if again is None else self.grad(again, leaves, allow_unused=True)
        return self.plain(first, leaves), self.plain(second or [None] * len(leaves), leaves)

    def plain(self, gradients, leaves):
        """As dense tensors of PyTorch."""
        dense = []
        for one, leaf in zip(gradients, leaves, strict=True):
            zeros = torch.zeros(tuple(leaf.shape), dtype=torch.float64)
            if isinstance(one, torch.Tensor):
                dense.append(zeros + one.detach())  # zeros without memory cannot be given away
            else:
                dense.append(zeros if one is None else torch.from_dlpack(one.detach()).clone())
        return dense


THEIRS = Library(torch, torch.ops.aten, torch.Tensor, copied, torch.autograd.grad)
OURS = Library(opyard, opyard.ops.aten, opyard.Tensor, here, opyard.autograd.grad)


def differ(ours, theirs):
    """What is different, or None."""
    for order, mine, wanted in zip(("first", "second"), ours, theirs, strict=True):
        for number, (a, b) in enumerate(zip(mine, wanted, strict=True)):
            if a.shape != b.shape:
                return f"{order} order, leaf {number}: sizes {tuple(a.shape)}, not {tuple(b.shape)}"
            if not torch.allclose(a, b, rtol=1e-7, atol=1e-9, equal_nan=True):
                where = (~torch.isclose(a, b, rtol=1e-7, atol=1e-9, equal_nan=True)).nonzero()[0]
                place = tuple(where.tolist())
                return f"{order} order, leaf {number} at {place}: {a[place]}, not {b[place]}"
    return None


class Comparison:
    def __init__(self):
        self.counts = collections.defaultdict(collections.Counter)
        self.examples = {}
        lines = ALLOWED.read_text("utf-8").splitlines()
        self.allowed = [line for line in lines if line[:1] not in ("", "#")]

    def note(self, name, kind, example=None):
        self.counts[name][kind] += 1
        if example is not None:
            self.examples.setdefault((name, kind), example)

    def add(self, func, given):
        name = func.name()
        if any(word in name for word in RANDOM):
            return
        if OURS.overload(func) is None:
            return self.note(name, "missing")
        try:
            theirs = THEIRS.gradients(func, given)
        except (RuntimeError, NotImplementedError) as error:
            return self.note(name, "refused by PyTorch", str(error).split("\n")[0])
        if theirs is None:
            return self.note(name, "without a gradient")
        try:
            ours = OURS.gradients(func, given)
        except KeyError:
            return self.note(name, "dtype")
        except Exception as error:
            text = str(error).split("\n")[0]
            if "no autograd formula" in text:
                return self.note(name, "no formula")
            if any(part in text for part in self.allowed):
                return self.note(name, "refused as allowed")
            return self.note(name, "refused", f"{text}: {str(given)[:200]}")
        if ours is None and not any(one.any() for order in theirs for one in order):
            return self.note(name, "equal")  # PyTorch gives zeros
        if ours is None:
            return self.note(name, "none here", str(given)[:300])
        found = differ(ours, theirs)
        self.note(name, "differs" if found else "equal", found and f"{found}: {str(given)[:400]}")


FAULTS = ("refused", "none here", "differs")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", help="names of op_db, with commas between")
    parser.add_argument("--samples", type=int, default=12, help="at most so many of each")
    parser.add_argument("--list", action="store_true", help="every operator with its counts")
    options = parser.parse_args()
    wanted = set(options.only.split(",")) if options.only else None
    comparison = Comparison()
    torch.manual_seed(0)
    for op in op_db:
        if wanted and op.name not in wanted:
            continue
        if torch.float64 not in op.supported_dtypes("cpu"):
            continue
        try:
            samples = list(op.sample_inputs("cpu", torch.float64))[: options.samples]
        except Exception:
            continue
        for sample in samples:
            calls = Calls()
            try:
                with calls:
                    op(sample.input, *sample.args, **sample.kwargs)
            except Exception:
                continue
            for func, given in calls.made:
                comparison.add(func, given)
    total = collections.Counter()
    for name, counts in sorted(comparison.counts.items()):
        total.update(counts)
        if options.list:
            print(name, dict(counts))
    for (name, kind), text in sorted(comparison.examples.items()):
        if kind in FAULTS:
            print(f"{kind}: {name} x{comparison.counts[name][kind]}: {text}")
    compared = [name for name, counts in comparison.counts.items() if counts["equal"]]
    print(f"overloads: {len(comparison.counts)}, compared: {len(compared)}; calls: {dict(total)}")
    return 1 if any(total[kind] for kind in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
