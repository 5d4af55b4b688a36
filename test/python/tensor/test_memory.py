"""test_memory.py: freed memory that is kept. Suspect dispatcher/src/base/block_lists.cpp."""

import os
import threading
import time

import pytest
from processes import run

import opyard

SANITIZED = "OPYARD_SANITIZER" in os.environ
pytestmark = pytest.mark.skipif(SANITIZED, reason="nothing is kept under a sanitizer")

MIB = 1 << 20


def floats(mib):
    """A tensor of so many MiB."""
    return opyard.empty(mib * MIB // 4, dtype=opyard.float32)


def in_thread(body):
    """Runs a function in a thread of its own, to its end."""
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


@pytest.fixture(autouse=True)
def nothing_cached():
    opyard.memory.empty_cache()


def test_a_thread_that_gave_nothing_back_counts_its_tensors():
    before, kept = opyard.memory.stats(), []
    in_thread(lambda: kept.extend(floats(1) for _ in range(3)))
    after = opyard.memory.stats()
    assert after["misses"] - before["misses"] == 3
    assert after["hits"] == before["hits"]


def test_memory_that_was_given_back_is_given_out_again():
    first = floats(1)
    address = first.data_ptr()
    del first
    assert opyard.memory.stats()["cached_bytes"] == MIB
    before = opyard.memory.stats()
    second = floats(1)
    assert second.data_ptr() == address
    after = opyard.memory.stats()
    assert (after["cached_bytes"], after["hits"]) == (0, before["hits"] + 1)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 200, 255, 256, 257, 1000, 70_001])
def test_memory_is_aligned_and_holds_its_elements(count):
    for _ in range(3):
        tensors = [opyard.full([count], i, dtype=opyard.float32) for i in range(5)]
        for i, tensor in enumerate(tensors):
            assert count == 0 or tensor.data_ptr() % 64 == 0
            assert tensor.tolist() == [i] * count
        del tensors, tensor


def test_a_thread_keeps_at_most_64_mib():
    tensors = [floats(8) for _ in range(12)]
    tensors.clear()
    assert opyard.memory.stats()["cached_bytes"] == 64 * MIB
    one = floats(65)
    del one
    assert opyard.memory.stats()["cached_bytes"] == 64 * MIB
    assert opyard.memory.empty_cache() == 64 * MIB
    assert opyard.memory.stats()["cached_bytes"] == 0


def test_a_process_keeps_at_most_256_mib():
    threads, waiting, leave = [], threading.Semaphore(0), threading.Event()

    def fill():
        tensors = [floats(16) for _ in range(4)]
        tensors.clear()
        waiting.release()
        leave.wait()

    for _ in range(6):
        threads.append(threading.Thread(target=fill))
        threads[-1].start()
        waiting.acquire()
    assert opyard.memory.stats()["cached_bytes"] == 256 * MIB
    assert opyard.memory.empty_cache() == 256 * MIB, "of other threads, too"
    leave.set()
    for thread in threads:
        thread.join()


def test_a_thread_that_was_emptied_by_another_keeps_again():
    kept, go, done = [], threading.Semaphore(0), threading.Semaphore(0)

    def work():
        for _ in range(2):
            tensors = [opyard.empty(16) for _ in range(100)]
            tensors.clear()
            done.release()
            go.acquire()

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(2):
        done.acquire()
        kept.append(opyard.memory.empty_cache())
        go.release()
    thread.join()
    assert kept[0] == kept[1] >= 32 * 64


def cached_goes_to(wanted):
    """A thread that was joined has left Python, and may still be ending."""
    end = time.monotonic() + 10
    while opyard.memory.stats()["cached_bytes"] != wanted and time.monotonic() < end:
        time.sleep(0.001)
    return opyard.memory.stats()["cached_bytes"] == wanted


def test_what_a_thread_kept_goes_back_when_it_ends():
    def body():
        one = floats(4)
        del one
        assert opyard.memory.stats()["cached_bytes"] == 4 * MIB

    in_thread(body)
    assert cached_goes_to(0)


def test_memory_may_be_given_back_by_another_thread():
    box = [floats(2)]

    def body():
        box.clear()
        assert opyard.memory.stats()["cached_bytes"] == 2 * MIB

    in_thread(body)
    assert cached_goes_to(0)


def test_an_allocation_that_fails_takes_what_was_kept():
    ended = run(
        """
        import resource, threading
        import opyard
        MIB = 1 << 20
        held, leave = threading.Event(), threading.Event()
        def keep():
            tensors = [opyard.empty(32 * MIB // 4), opyard.empty(32 * MIB // 4)]
            tensors.clear()
            held.set()
            leave.wait()
        thread = threading.Thread(target=keep)
        thread.start()
        held.wait()
        keep_here = opyard.empty(48 * MIB // 4)
        del keep_here
        kept = opyard.memory.stats()["cached_bytes"]
        assert kept == 112 * MIB, kept
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + 16 * MIB, resource.RLIM_INFINITY))
        x = opyard.empty(100 * MIB // 4)
        assert opyard.memory.stats()["cached_bytes"] == 0
        try:
            opyard.empty(100 * MIB // 4)
        except MemoryError as error:
            print("refused")
        leave.set()
        thread.join()
        """
    )
    assert (ended.code, ended.stdout, ended.stderr) == (0, "refused\n", "")


def test_the_child_of_a_fork_frees_what_other_threads_kept():
    ended = run(
        """
        import os, threading, warnings
        import opyard
        warnings.simplefilter("ignore")  # from CPython 3.12 on, a fork beside threads is warned of
        MIB = 1 << 20
        held, leave = threading.Event(), threading.Event()
        def keep():
            one = opyard.empty(8 * MIB // 4)
            del one
            held.set()
            leave.wait()
        thread = threading.Thread(target=keep)
        thread.start()
        held.wait()
        mine = opyard.empty(2 * MIB // 4)
        del mine
        assert opyard.memory.stats()["cached_bytes"] == 10 * MIB
        child = os.fork()
        if child == 0:
            kept = opyard.memory.stats()["cached_bytes"]
            again = opyard.empty(2 * MIB // 4)
            assert opyard.memory.stats()["hits"] > 0
            os._exit(0 if kept == 2 * MIB else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert opyard.memory.stats()["cached_bytes"] == 10 * MIB
        leave.set()
        thread.join()
        """
    )
    assert (ended.code, ended.stdout, ended.stderr) == (0, "", "")


def test_threads_take_give_back_and_empty_at_once():
    stop = threading.Event()

    def empty():
        while not stop.is_set():
            opyard.memory.empty_cache()

    def work(number):
        held = []
        for i in range(4000):
            tensor = opyard.full([1 + i * 37 % 3000], number, dtype=opyard.int64)
            held.append(tensor)
            if len(held) > 8:
                assert set(held.pop(i % 8).tolist()) == {number}

    emptier = threading.Thread(target=empty)
    emptier.start()
    workers = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    stop.set()
    emptier.join()


def test_an_allocation_that_fails_says_how_much_was_wanted():
    with pytest.raises(MemoryError, match="1125899906842624 bytes for a tensor on the cpu"):
        opyard.ops.aten.empty([1 << 48])
