"""published_operators.py: publishes aten into PyTorch and checks each operator as PyTorch does.

    python test/torch/published_operators.py [--only NAME,...] [--samples N] [--list] [--least N]

Needs PyTorch. Opyard's aten is published as `opyard_aten`. For the aten calls that PyTorch's own
samples come to, torch.library.opcheck() is asked about the published operator of that name, with
tensors that require a gradient where it has one, and its results are compared with PyTorch's. What
is refused when publishing is counted by its reason.

Exit code: 0, or 1 if an operator fails, or if fewer than --least have passed.
"""

import argparse
import collections
import sys
import time
import warnings

import torch
from operator_samples import forms
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

import opyard

NAMESPACE = "opyard_aten"
# Which of equal elements comes first, and the sign of a vector, are not defined.
UNDEFINED = (
    "sort",
    "topk",
    "kthvalue",
    "mode",
    "median",
    "_linalg_svd",
    "_linalg_eigh",
    "linalg_eig",
)
# Memory as it was found, or random numbers.
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
    "geometric",
    "cauchy",
    "poisson",
    "binomial",
)
# What is wrong with the call or with PyTorch's schema, and not with what is published.
DELIBERATE = {
    "mm.out": "PyTorch's sample gives an out of other sizes, which PyTorch resizes",
    "native_batch_norm": "its schema in PyTorch does not say that it writes running_mean",
}
# Tests of opcheck for operators that depend on data, which have no fake kernel, and for random
# numbers, which differ from one run to the next.
EAGER_ONLY = ("test_schema", "test_autograd_registration")
UNREPEATABLE = ("test_schema", "test_autograd_registration", "test_faketensor")


class Calls(TorchDispatchMode):
    """Keeps the first calls of each overload, with copies of their arguments."""

    def __init__(self, most):
        super().__init__()
        self.most = most
        self.calls = collections.defaultdict(list)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = tree_map(copied, (args, kwargs)) if is_small((args, kwargs)) else None
        result = func(*args, **kwargs)
        if given is not None and func.namespace == "aten" and len(self.calls[func]) < self.most:
            self.calls[func].append(given)
        return result


def is_small(given):
    return all(
        not isinstance(t, torch.Tensor)
        or (t.layout is torch.strided and t.numel() < 2000 and not t.is_conj() and not t.is_neg())
        for t in tree_flatten(given)[0]
    )


def copied(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def wanting(value):
    """Tensors of floats require a gradient, in a copy."""
    value = copied(value)
    if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
        value.requires_grad_()
    return value


def collected(most, only):
    calls = Calls(most)
    torch.manual_seed(0)
    for op in op_db:
        if only and op.name not in only:
            continue
        try:
            samples = list(op.sample_inputs("cpu", torch.float32))[:8]
        except Exception:
            continue
        for sample in samples:
            for form in forms(op, sample):
                try:
                    with calls:
                        form()
                except Exception:
                    continue
    return calls.calls


def check(theirs, published, args, kwargs):
    """Raises for what is wrong with a published operator."""
    ours = getattr(getattr(torch.ops, NAMESPACE), theirs._opname)
    ours = getattr(ours, theirs._overloadname)
    writes = theirs._schema.is_mutable
    name = theirs.name().partition("::")[2]
    is_random = any(word in name for word in RANDOM)
    give = copied if writes or f"{NAMESPACE}::{name}" in published.without_gradient else wanting
    call = published[name] if writes else ours
    if not is_random and not any(word in name for word in UNDEFINED):
        with torch.no_grad():
            wanted = theirs(*tree_map(copied, args), **tree_map(copied, kwargs))
            got = call(*tree_map(copied, args), **tree_map(copied, kwargs))
        torch.testing.assert_close(got, wanted, equal_nan=True, rtol=2e-4, atol=2e-5)
    tests = None
    if torch.Tag.dynamic_output_shape in ours.tags or torch.Tag.data_dependent_output in ours.tags:
        tests = EAGER_ONLY
    elif is_random:
        tests = UNREPEATABLE
    more = {} if tests is None else {"test_utils": tests}
    torch.library.opcheck(ours, tree_map(give, args), tree_map(give, kwargs), **more)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", help="names of op_db, with commas between")
    parser.add_argument("--samples", type=int, default=1, help="calls of each overload")
    parser.add_argument("--list", action="store_true", help="every operator, and what it came to")
    parser.add_argument("--least", type=int, default=0, help="how many have to pass")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    started = time.monotonic()
    published = opyard.torch.publish("aten", to=NAMESPACE)
    calls = collected(options.samples, set(options.only.split(",")) if options.only else None)
    reasons = collections.Counter(
        why.split(":")[0].split("(")[0] for why in published.refused.values()
    )
    passed, failed, absent = [], {}, 0
    for theirs, kept in sorted(calls.items(), key=lambda pair: pair[0].name()):
        name = f"{NAMESPACE}::{theirs.name().partition('::')[2]}"
        if name not in published:
            absent += 1
            continue
        if name.partition("::")[2] in DELIBERATE:
            continue
        for args, kwargs in kept:
            try:
                check(theirs, published, args, kwargs)
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:600]}"
                break
        else:
            passed.append(name)
        if options.list:
            print(name, "fails" if name in failed else "passes", flush=True)
    for name, text in failed.items():
        print(f"{name}: {text}")
    print(f"{len(published)} published, {len(published.refused)} refused: {dict(reasons)}")
    print(f"{absent} operators of the samples are not published")
    print(f"{len(passed)} passed, {len(failed)} failed, {time.monotonic() - started:.0f} s")
    return 1 if failed or len(passed) < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
