"""Functions that the tests of sessions run on workers, which import this module, too."""

import os
import signal
import time

import opyard
import opyard.remote


def double(x, y=0):
    return x * 2 + y


def fail(x):
    raise ValueError(f"refused: {x}")


class OwnError(Exception):
    """Cannot be made from its pickle."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def fail_oddly():
    raise OwnError(1, 2)


def process():
    return os.getpid()


def end():
    os.kill(os.getpid(), signal.SIGKILL)


def end_once(item):
    """Ends the process at the item with the path of a file that is not there yet."""
    number, path = item
    if path is not None and not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write("ended")
        end()
    return number


def wait(seconds):
    time.sleep(seconds)
    return seconds


def write_into(x):
    x.add_(1)
    return x


def where_is(refs):
    return [(ref.is_owner, ref.to_here(30.0)) for ref in refs]


def keep(refs, kept=[]):  # noqa: B006 - it is to outlive the call
    kept[:] = refs
    return len(kept)


def make_ref():
    return opyard.remote.put(opyard.ones(3))


def count_values():
    from opyard._remote.worker import current

    return len(current()._values)


def ring(tensors):
    sums = opyard.remote.all_reduce(tensors, bucket=64)
    return opyard.remote.rank(), opyard.remote.size(), sums


def ring_without_one(tensors):
    if opyard.remote.rank() == 1:
        end()
    return opyard.remote.all_reduce(tensors, timeout=30.0)


def ring_of_other_sizes(_):
    return opyard.remote.all_reduce([opyard.ones(4 + 2 * opyard.remote.rank())], timeout=30.0)


def ring_of_one():
    if opyard.remote.rank() == 1:
        opyard.remote.all_reduce([opyard.ones(4)], timeout=0.3)


_operators = []


def define_operators():
    """Operators of Python: three without a kernel at Meta, and one whose two kernels differ."""
    if _operators:
        return
    library = opyard.library.Library("remote_test", "DEF")
    library.define("doubled(Tensor x) -> Tensor")
    library.define("doubled_(Tensor(a!) x) -> Tensor(a!)")
    library.define("pair_and_count(Tensor x) -> (Tensor[], int)")
    library.define("wrong_sizes(Tensor x) -> Tensor")
    library.impl("doubled", lambda x: x * 2, "CPU")
    library.impl("doubled_", lambda x: x.mul_(2), "CPU")
    library.impl("pair_and_count", lambda x: ([x.clone(), x + 1], x.numel()), "CPU")
    library.impl("wrong_sizes", lambda x: x.clone(), "CPU")
    library.impl("wrong_sizes", lambda x: opyard.ops.aten.empty([1], device="meta"), "Meta")
    _operators.append(library)
