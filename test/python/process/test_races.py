"""test_races.py (T14): threads that do the same or different things to shared objects at once.

Here it is seen that nothing fails; `tools/test` runs the file again with the package and CPython
under the thread sanitizer, where a report ends the process. Suspect the file that a report names
first. Each row runs in a process of its own, on four threads that start together.
"""

import os

import pytest
from built import import_border, plugin_path
from processes import run, volume

pytestmark = pytest.mark.threads

# What a row finds: x, a tensor; op, an operator with a Python kernel at CPU; lib, its library;
# plugin and border. It defines work(number), which each thread calls over and over with its number.
ROWS = {
    "a C++ kernel": "work = lambda number: ops.test_plugin.unchanged(x)",
    "a Python kernel": "work = lambda number: op(x)",
    "a Python kernel by its packet, with names": "work = lambda number: ops.races.op(x=x)",
    "kernels of aten on one tensor": "work = lambda number: (x + x, x[0], x.sum(), x.tolist())",
    "overriding and calling": """
        def work(number):
            with override(op, "CPU", lambda x: x):
                op(x)
    """,
    "replacing a kernel and calling": """
        def work(number):
            if number == 0: lib.impl("op", lambda x: x, "CPU")
            else: op(x)
    """,
    "a fallback that comes and goes": """
        def work(number):
            if number: return op(x)
            fallback = Library("_", "IMPL", "Tracer")
            fallback.fallback(lambda op, *args: op(*args))
            fallback._destroy()
    """,
    "defining, looking up and taking back": """
        def work(number):
            own = Library("races", "FRAGMENT")
            own.define(f"own_{number}(Tensor x) -> Tensor")
            own.impl(f"own_{number}", lambda x: x, "CPU")
            getattr(ops.races, f"own_{number}")(x)
            own._destroy()
            assert not hasattr(ops.races, f"own_{number}")
    """,
    "overloads that come while others choose among them": """
        def work(number):
            if number: return ops.races.op(x)
            own = Library("races", "FRAGMENT")
            own.define("op.more(Tensor x, int n) -> Tensor")
            own._destroy()
    """,
    "explaining while kernels change": """
        def work(number):
            if number == 0:
                with override(op, "CPU", lambda x: x): pass
            else:
                str(dispatch.explain(op, x)); dispatch.would_dispatch(op, x)
                dispatch.dump_table(op)
    """,
    "listeners that come and go while others register": """
        def work(number):
            if number == 0:
                dispatch.on_registration(lambda op: None, lambda op: None).remove()
            else:
                own = Library("races", "FRAGMENT")
                own.define(f"heard_{number}(Tensor x) -> Tensor")
                own._destroy()
    """,
    "the dispatch log switched on and off": """
        import os
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        def work(number):
            if number == 0:
                dispatch.set_dispatch_log(True); dispatch.set_dispatch_log(False)
            else:
                op(x)
    """,
    "the history": """
        def work(number):
            if number == 0:
                with override(op, "CPU", lambda x: x): pass
            else:
                len(dispatch.history())
    """,
    "guards of each thread": """
        def work(number):
            with dispatch.ExcludeDispatchKeyGuard("AutogradCPU"):
                with dispatch.IncludeDispatchKeyGuard("Tracer"):
                    op(x)
    """,
    "modes of each thread": """
        class Mode(dispatch.DispatchMode):
            def __opyard_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **kwargs or {})
        def work(number):
            with Mode(), Mode():
                op(x)
    """,
    "a subclass with a handler": """
        class Sub(opyard.Tensor):
            def __new__(cls, data):
                return opyard.Tensor.make_subclass(cls, opyard.tensor(data))
            @classmethod
            def __opyard_dispatch__(cls, func, types, args=(), kwargs=None):
                with dispatch.no_dispatch():
                    return func(*args)
        shared = Sub([1.0])
        work = lambda number: (op(shared), op(Sub([2.0])))
    """,
    "the Python dispatcher and new kernels": """
        def work(number):
            if number == 0:
                lib.impl("op", lambda x: x, "CPU")
            else:
                with dispatch.enable_python_dispatcher():
                    op(x)
    """,
    "the context handed to a thread": """
        def work(number):
            with dispatch.ExcludeDispatchKeyGuard("Tracer"):
                context = opyard.capture_context()
            thread = threading.Thread(target=context.run, args=(op, x))
            thread.start(); thread.join()
    """,
    "a kept tensor": """
        class Sub(opyard.Tensor):
            def __new__(cls, data):
                return opyard.Tensor.make_subclass(cls, opyard.tensor(data))
        shared = Sub([1.0]); shared.note = "note"
        reference = weakref.ref(shared)
        ops.test_plugin.keep(shared)
        del shared
        def work(number):
            assert ops.test_plugin.kept().note == "note"
            kept = ops.test_plugin.kept()
            ops.test_plugin.call_once_in_background("test_plugin::unchanged", kept)
            found = reference()
            assert found is None or found.note == "note"
    """,
    "last references on native threads": """
        class Sub(opyard.Tensor):
            def __new__(cls, data):
                return opyard.Tensor.make_subclass(cls, opyard.tensor(data))
        def work(number):
            last = Sub([1.0]); last.note = object()
            border.drop([last, object()])
            del last
    """,
    "Python kernels called by native threads": """
        work = lambda number: border.run(lambda: op(x), 2, True)
    """,
    "Python kernels called by pooled threads": """
        work = lambda number: border.enter("call", "races::op", x, object, "pooled", 2, False)
    """,
    "registering on native threads": """
        def work(number):
            border.enter("deregister", "races::op", x, object, "new", 2, bool(number % 2))
    """,
    "exceptions from native threads": """
        lib.define("raises(Tensor x) -> Tensor")
        def raises(x): raise KeyError("mine")
        lib.impl("raises", raises, "CPU")
        def work(number):
            try:
                border.enter("raise", "races::raises", x, object, "new", 2, False)
            except KeyError as error:
                assert error.args == ("mine",)
            else:
                raise AssertionError("nothing was raised")
    """,
    "warnings of native threads": """
        import warnings
        warnings.simplefilter("ignore")
        work = lambda number: border.run(lambda: ops.test_plugin.warn_here("heard"), 2, True)
    """,
    "futures that native threads complete": """
        def work(number):
            future = ops.test_plugin.later(0, number)
            more = future.then(lambda done: done.value() + 1)
            future.add_done_callback(lambda done: None)
            assert (future.wait(), more.wait()) == (number, number + 1)
    """,
    "one future with many waiting": """
        shared = ops.test_plugin.later(20, 7)
        def work(number):
            assert shared.then(lambda done: done.value()).wait() == shared.wait() == 7
    """,
    "copies, pickles and capsules of one tensor": """
        import copy, pickle
        def work(number):
            assert copy.deepcopy(x).tolist() == pickle.loads(pickle.dumps(x)).tolist()
            assert opyard.from_dlpack(x).tolist() == memoryview(x).tolist()
    """,
    "fake kernels": """
        from opyard.library import register_fake
        register_fake("races::op", lambda x: x, lib=lib)
        meta = ops.aten.empty([1], device="meta")
        work = lambda number: op(meta)
    """,
    "one plugin loaded by all": "work = lambda number: opyard.load_library(plugin)",
}

PROGRAM = """
import importlib.util, sys, threading, weakref
source, plugin, border_path, rounds = sys.argv[1:]
import opyard
from opyard import dispatch, ops
from opyard.library import Library, override
spec = importlib.util.spec_from_file_location("opyard_test_border", border_path)
border = importlib.util.module_from_spec(spec)
spec.loader.exec_module(border)
if source != "one plugin loaded by all":
    opyard.load_library(plugin)
sys.setswitchinterval(1e-5)

lib = Library("races", "FRAGMENT")
lib.define("op(Tensor x) -> Tensor")
lib.impl("op", lambda x: x, "CPU")
op = ops.races.op.default
x = opyard.tensor([1.0, 2.0])
exec(source)

failed = []
start = threading.Barrier(4)
def on_thread(number):
    try:
        start.wait()
        for _ in range(int(rounds)):
            work(number)
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=on_thread, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if failed:
    raise failed[0]
print("done")
"""

ROUNDS = volume(50)


def run_row(source):
    import textwrap

    plugin = plugin_path("opyard_test_plugin")
    program = textwrap.dedent(source)
    return run(PROGRAM, program, plugin, import_border().__file__, ROUNDS, limit=60)


@pytest.mark.parametrize("row", ROWS)
def test_T14_threads_at_once(row):
    ended = run_row(ROWS[row])
    assert ended.stderr == ""
    assert (ended.code, ended.stdout) == (0, "done\n")


def test_T14_there_are_as_many_rows_as_promised():
    assert len(ROWS) >= 25


@pytest.mark.skipif(
    os.environ.get("OPYARD_SANITIZER") != "thread", reason="only the thread sanitizer sees it"
)
def test_T14_a_planted_race_is_found():
    """The control: threads that count in one word without the GIL."""
    ended = run_row("work = lambda number: border.race()")
    assert ended.code != 0
    assert "ThreadSanitizer: data race" in ended.stderr
    assert "border.cpp" in ended.stderr
