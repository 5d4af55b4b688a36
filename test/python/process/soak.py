"""A mixed load on three threads for some seconds, and the process's memory and files meanwhile.

    python soak.py SECONDS PLUGIN FOLDER

Prints a line for each sample: the bytes that are in use, and those that are resident. A sample is
taken after so many rounds, when no thread runs. See test_soak.py.
"""

import asyncio
import ctypes
import gc
import os
import sys
import threading
import time
import warnings

import opyard
from opyard import profiler
from opyard.dispatch import DispatchMode

SAMPLES = 12


class Info(ctypes.Structure):
    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = tuple((name, ctypes.c_size_t) for name in _names.split())


LIBC = ctypes.CDLL(None)
LIBC.mallinfo2.restype = Info


def in_use():
    gc.collect()
    if sys.version_info >= (3, 14):
        sys._clear_internal_caches()
    else:
        sys._clear_type_cache()
    info = LIBC.mallinfo2()
    return info.uordblks + info.hblkhd


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


# What is done, each in a fraction of a second.


def call_operators(_):
    x = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(50):
        x = opyard.ops.aten.mul(opyard.ops.aten.add(x, x), 0.5)


def run_backward(_):
    weight = opyard.tensor([[0.5, 0.25], [0.125, 1.0]], requires_grad=True)
    for _ in range(5):
        (opyard.tensor([[1.0, 2.0]]) @ weight).relu().sum().backward()
        weight.grad = None


def run_backward_twice(_):
    x = opyard.tensor([1.0, 2.0], requires_grad=True)
    (first,) = opyard.autograd.grad((x * x * x).sum(), x, create_graph=True)
    opyard.autograd.grad(first.sum(), x)


def train(_):
    layer = opyard.nn.Linear(4, 2)
    optimizer = opyard.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        layer(opyard.ones(3, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def compile_a_function(_):
    compiled = opyard.jit.compile(lambda x: (x * 2 + 1).relu())
    for n in range(3):
        compiled(opyard.tensor([float(n), -1.0]))


def register_and_take_away(_):
    with ONE_AT_A_TIME, opyard.library.scoped_library("soak", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
        opyard.ops.soak.twice(opyard.tensor([1.0]))


def save_and_load(folder):
    path = os.path.join(folder, f"{threading.get_ident()}.safetensors")
    opyard.save({"a": opyard.ones(64, 64)}, path)
    opyard.load(path)
    opyard.load(path, mapped=True)


def load_a_plugin(_):
    with ONE_AT_A_TIME:
        opyard.load_library(PLUGIN).unload()


def fail(_):
    for wrong in (lambda: opyard.ones(2) @ opyard.ones(3), lambda: opyard.ops.aten.add(1, "x")):
        try:
            wrong()
        except (RuntimeError, TypeError, ValueError):
            pass


def use_a_mode(_):
    class Seen(DispatchMode):
        def __opyard_dispatch__(self, operator, types, args=(), kwargs=None):
            return operator(*args, **(kwargs or {}))

    with Seen():
        opyard.ones(2) + 1


def exchange(_):
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        opyard.from_dlpack(numpy.ones(8)).add_(1)
        numpy.asarray(opyard.ones(8))


def observe(_):
    with profiler.observe(lambda *_: None, lambda *_: None, inputs=True):
        opyard.ones(2) + 1


def profile(folder):
    """One profile at a time; now and then one is dropped."""
    if not ONE_PROFILE.acquire(blocking=False):
        return
    try:
        with profiler.profile(profile_memory=True, record_shapes=True) as prof:
            call_operators(None)
            asyncio.run(sleep())
        prof.key_averages().table()
        prof.export(os.path.join(folder, "trace.json"))
        prof.export(os.path.join(folder, "trace.html"))
        dropped = profiler.profile()
        dropped.start()
        del dropped
    finally:
        ONE_PROFILE.release()


async def sleep():
    await asyncio.gather(*(asyncio.sleep(0) for _ in range(3)))


def dump_flight(_):
    if ONE_RECORDER.acquire(blocking=False):
        try:
            with profiler.flight_recorder(bytes=1 << 20) as recorder:
                call_operators(None)
                recorder.dump().key_averages()
        finally:
            ONE_RECORDER.release()


def start_a_thread(_):
    thread = threading.Thread(target=call_operators, args=(None,), name="a short one")
    thread.start()
    thread.join()


LOADS = [
    call_operators,
    run_backward,
    run_backward_twice,
    train,
    compile_a_function,
    register_and_take_away,
    save_and_load,
    load_a_plugin,
    fail,
    use_a_mode,
    exchange,
    observe,
    profile,
    dump_flight,
    start_a_thread,
]
ONE_AT_A_TIME, ONE_PROFILE, ONE_RECORDER = threading.Lock(), threading.Lock(), threading.Lock()
PLUGIN = ""


def run_rounds(rounds, offset, folder, failures):
    try:
        for _ in range(rounds):
            for n in range(len(LOADS)):
                LOADS[(n + offset) % len(LOADS)](folder)
    except BaseException as failure:
        failures.append(failure)


def run_all(rounds, folder):
    failures = []
    threads = [
        threading.Thread(target=run_rounds, args=(rounds, 5 * n, folder, failures), name="load")
        for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def main():
    global PLUGIN
    seconds, PLUGIN, folder = float(sys.argv[1]), sys.argv[2], sys.argv[3]
    warnings.simplefilter("ignore")  # of what is dropped on purpose
    began = time.monotonic()
    run_all(2, folder)
    pace = (time.monotonic() - began) / 2
    rounds = max(1, round(seconds / pace / SAMPLES))
    run_all(rounds, folder)
    for _ in range(SAMPLES):
        run_all(rounds, folder)
        sys.stdout.write(f"{in_use()} {resident()}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
