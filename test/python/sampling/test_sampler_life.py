"""The sampler's life: one in a process, none in a child, and nothing that stops a program.

Suspect profiler/python/sampler/sampler.cpp, then profiler/python/opyard/_profile/sampling.py.
"""

import gc
import os
import sys
import threading
import time

import pytest
from interpreters import KINDS
from processes import run, volume

from opyard import profiler


def test_one_is_on_and_a_second_one_is_refused_by_the_place_of_the_first():
    with profiler.sample(hz=100) as prof:
        assert profiler.active_sample() is prof
        with pytest.raises(RuntimeError) as raised:
            profiler.sample().start()
        assert "a sampling profile is active already" in str(raised.value)
        assert f"100 Hz, started at {__file__}:" in str(raised.value)
        with pytest.raises(RuntimeError, match="has been started already"):
            prof.start()
    assert profiler.active_sample() is None
    assert repr(prof) == "<sample: has ended>"
    with pytest.raises(RuntimeError, match="is not on; call start"):
        prof.stop()


def test_results_need_a_capture():
    with pytest.raises(RuntimeError, match="has captured nothing yet"):
        profiler.sample().key_averages()


def test_it_starts_again_and_beside_a_profile():
    prof = profiler.sample()
    for _ in range(3):
        prof.start()
        time.sleep(0.01)
        prof.stop()
    with profiler.profile() as exact, profiler.sample() as sampled:
        sum(range(100))
        time.sleep(0.02)
    assert exact.key_averages() and sampled.key_averages()


def test_one_that_is_dropped_warns_and_ends():
    prof = profiler.sample()
    prof.start()
    with pytest.warns(RuntimeWarning, match="a sampling profile was dropped while it was on"):
        del prof
        gc.collect()
    assert profiler.active_sample() is None
    with profiler.sample():
        pass


def test_I53_many_threads_come_and_go_while_it_samples():
    def work(n):
        for _ in range(3):
            sum(range(1000))
            time.sleep(0.001 * (n % 5))

    with profiler.sample(hz=2000) as prof:
        for _ in range(volume(5, 2)):
            threads = [threading.Thread(target=work, args=(n,)) for n in range(200)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert any("work" in row.key for row in prof.key_averages())


def test_I53_code_that_is_freed_is_never_taken_for_other_code():
    """Code objects of other names at the same addresses, which die while they are read."""
    names = [f"made_{n}" for n in range(50)]
    source = "def {0}():\n    for n in range(2000): pass\n{0}()"
    with profiler.sample(hz=5000) as prof:
        end = time.monotonic() + 0.2 * volume(5, 2)
        while time.monotonic() < end:
            for name in names:
                exec(compile(source.format(name), f"<{name}>", "exec"), {})
    keys = [row.key for row in prof.key_averages() if row.key.startswith("<made_")]
    assert keys
    for key in keys:  # "<made_3>(1): made_3": of one code object, file and name go together
        file, _, name = key.partition(": ")
        assert name in (file[1:].partition(">")[0], "<module>"), key


def test_the_child_of_a_fork_has_none():
    ended = run(
        """
        import os, time, warnings
        warnings.simplefilter("ignore")
        from opyard import profiler
        with profiler.sample() as prof:
            time.sleep(0.05)
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    assert profiler.active_sample() is None
                    with profiler.sample() as own:
                        time.sleep(0.005)
                    own.key_averages()
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
            assert profiler.active_sample() is prof
        print(len(prof.key_averages()) > 0)
        """,
        limit=30.0,
    )
    assert (ended.code, ended.stdout, ended.stderr) == (0, "True\n", "")


def test_a_child_that_leaves_the_block_of_its_parent_says_nothing():
    ended = run(
        """
        import os, warnings
        warnings.simplefilter("ignore")
        from opyard import profiler
        with profiler.sample():
            child = os.fork()
        if child:
            print(os.waitpid(child, 0)[1])
        """
    )
    assert (ended.code, ended.stdout, ended.stderr) == (0, "0\n", "")


ENDS = {
    "at once": "",
    "with an exception": "raise SystemExit(3)",
    "in a thread": "import threading; threading.Thread(target=lambda: time.sleep(0.1)).start()",
    "with a daemon": "import threading; threading.Thread(target=spin, daemon=True).start()",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_ends_with_it_on(end):
    if end == "with a daemon" and sys.version_info[:2] == (3, 10):
        pytest.skip("CPython 3.10 itself crashes at times")
    ended = run(
        f"""
        import time
        from opyard import profiler
        def spin():
            while True: pass
        prof = profiler.sample(hz=5000)
        prof.start()
        time.sleep(0.02)
        {ENDS[end]}
        """
    )
    assert (ended.code, ended.stderr) == (3 if "Exit" in ENDS[end] else 0, "")


@pytest.mark.parametrize("kind", KINDS)
def test_an_interpreter_samples_its_own_threads(kind):
    ended = run(
        f"""
        import sys, time
        sys.path.insert(0, {os.path.dirname(os.path.dirname(__file__))!r})
        from interpreters import Interpreter
        import opyard.profiler
        other = Interpreter({kind!r})
        other.run('''
        import time
        from opyard import profiler
        def inside():
            end = time.thread_time() + 0.1
            while time.thread_time() < end: pass
        with profiler.sample() as prof:
            inside()
        assert any(row.key.endswith(": inside") for row in prof.key_averages())
        kept = profiler.sample()
        kept.start()
        ''')
        try:
            opyard.profiler.sample().start()
        except RuntimeError as error:
            print("active already" in str(error))
        other.end()
        with opyard.profiler.sample():
            time.sleep(0.01)
        """
    )
    assert (ended.code, ended.stdout, ended.stderr) == (0, "True\n", "")


FORBID = """
    import ctypes, struct
    # Classic BPF for seccomp: this system call is refused, with EPERM.
    call = {{"x86_64": 310, "aarch64": 270}}[__import__("platform").machine()]
    program = b"".join(struct.pack("HBBI", *one) for one in (
        (0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)))
    kept = ctypes.create_string_buffer(program)
    class Filter(ctypes.Structure):
        _fields_ = [("count", ctypes.c_ushort), ("program", ctypes.c_void_p)]
    filter = Filter(4, ctypes.addressof(kept))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    if libc.prctl(22, 2, ctypes.byref(filter), 0, 0) != 0:
        print("no filters here")
        raise SystemExit
"""


def test_X40_where_reading_memory_is_forbidden_it_samples_with_the_gil_and_says_so():
    program = (
        FORBID.format()
        + """
    import time
    from opyard import profiler
    def spin():
        end = time.thread_time() + 0.4
        while time.thread_time() < end: pass
    with profiler.sample() as prof:
        spin()
    print(prof.hz, prof.why_with_gil)
    print(any(row.key.endswith(": spin") for row in prof.key_averages()))
    print(prof.line_averages()[0].function)
    print([text for text in prof.data_quality() if "with the GIL" in text])
    print("100 Hz with the GIL" in prof.key_averages().table())
    """
    )
    ended = run(program)
    if ended.stdout.startswith("no filters here"):
        pytest.skip("this system has no seccomp")
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [
        "100 Operation not permitted",
        "True",
        "spin",
        "['samples were taken with the GIL', "
        "'100 Hz with the GIL, as stacks are not readable: Operation not permitted']",
        "True",
    ]


def test_I53_memory_stays_within_its_bound_however_many_stacks_there_are():
    ended = run(
        """
        import sys
        from opyard import _tracer, profiler
        def chain(names):
            made = {}
            for name in names:
                exec(f"def {name}(next): return next()", made)
            return made
        made = chain([f"f{n}" for n in range(300)])
        import random, time
        choose = random.Random(1).sample
        names = [name for name in made if name.startswith("f")]
        def go(path):
            return made[path[0]](lambda: go(path[1:])) if path else sum(range(3000))
        with profiler.sample(hz=10_000) as prof:
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                go(choose(names, 60))
            taken = _tracer.sampler_bytes()
        print(0 < taken < 64 << 20, len(prof.key_averages()) > 100)
        """,
        limit=30.0,
    )
    assert (ended.code, ended.stdout, ended.stderr) == (0, "True True\n", "")
