"""Every call of the system that a piece of work makes on its files, failing in turn.

    LD_PRELOAD=opyard_faulty_calls.so python faulty_programs.py PLUGIN SCENARIO FOLDER

Of each kind of call the first fails, then the second, until there are no more, each in each of the
ways below. Then the work has failed with an error that names its cause, or it has done all of it
nevertheless; nothing is left beside its files, no file stays open, and the same works when nothing
fails. See test_faulty_calls.py.
"""

import contextlib
import ctypes
import errno
import functools
import gzip
import json
import os
import pathlib
import shutil
import sys

import opyard
from opyard import profiler

SHIM = ctypes.CDLL(None)
HALF = 0  # of what was asked for
WAYS = {
    "open": (errno.EACCES, errno.EMFILE, errno.ENOSPC),
    "read": (errno.EIO, errno.EINTR, HALF),
    "write": (errno.ENOSPC, errno.EIO, errno.EINTR, HALF),
    "mmap": (errno.ENOMEM, errno.ENODEV),
    "rename": (errno.ENOSPC, errno.EACCES, errno.EXDEV),
    "resize": (errno.ENOSPC, errno.EFBIG),
    "close": (errno.EIO, errno.ENOSPC),
    "sync": (errno.EIO,),
    "mkdir": (errno.ENOSPC, errno.EACCES),
}
# What may say so: an error of the system, or one of ours that says which call failed.
ERRORS = (OSError, ValueError, MemoryError, RuntimeError, LookupError)


def work():
    return [sorted([n, 2, 1]) for n in range(20)]


def captured():
    with profiler.profile() as prof:
        work()
    return prof


class Scenario:
    """prepare() makes what is there before, act() is what calls fail in, check() looks at it."""

    files: "frozenset[str]" = frozenset()  # that act() leaves

    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def prepare(self):
        pass

    def check(self, result):
        pass

    def check_failed(self):
        pass


class Writing(Scenario):
    def check_failed(self):
        """The file is whole, or it is not there."""
        if any(os.path.exists(self.path(name)) for name in self.files):
            self.check(None)


class Export(Writing):
    ending = ""

    def __init__(self, folder):
        super().__init__(folder)
        self.files = frozenset({"trace" + self.ending})
        self.prof = captured()

    def act(self):
        self.prof.export(self.path("trace" + self.ending))

    def check(self, _):
        again = os.path.join(os.path.dirname(self.folder), "again" + self.ending)
        self.prof.export(again)
        opened = gzip.open if self.ending.endswith(".gz") else functools.partial(open, mode="rb")
        with opened(self.path("trace" + self.ending)) as file, opened(again) as whole:
            assert file.read() == whole.read(), "the file is not what was to be written"


def export_of(ending):
    return type("ExportOf" + ending, (Export,), {"ending": ending})


class ExportOver(Export):
    """A file that was there is there as it was, or as it is written."""

    ending = ".json"

    def prepare(self):
        with open(self.path("trace.json"), "w", encoding="utf-8") as file:
            file.write("old")

    def check_failed(self):
        with open(self.path("trace.json"), encoding="utf-8") as file:
            text = file.read()
        if text != "old":
            self.check(None)


class FlameGraph(Writing):
    files = frozenset({"picture.svg"})

    def __init__(self, folder):
        super().__init__(folder)
        self.difference = captured().diff(captured())

    def act(self):
        self.difference.flame_graph(self.path("picture.svg"))

    def check(self, _):
        with open(self.path("picture.svg"), encoding="utf-8") as file:
            assert file.read().rstrip().endswith("</svg>")


class Stubs(Scenario):
    """Those of one namespace, for type checkers."""

    files = frozenset({"stubs"})

    def __init__(self, folder):
        super().__init__(folder)
        from opyard._core import stub_files

        self.stub_files = stub_files

    def act(self):
        self.stub_files.write_files(
            pathlib.Path(self.path("stubs")), {"aten.pyi": "x: int\n" * 2000}
        )

    def check(self, _):
        with open(self.path("stubs/aten.pyi"), encoding="utf-8") as file:
            assert file.read() == "x: int\n" * 2000
        assert os.listdir(self.path("stubs")) == ["aten.pyi"]

    def check_failed(self):
        if os.path.isdir(self.path("stubs")) and os.listdir(self.path("stubs")):
            self.check(None)


class MemoryTimeline(Writing):
    files = frozenset({"memory.json"})

    def act(self):
        with profiler.profile(profile_memory=True) as prof:
            opyard.tensor([1.0]) + 1
        prof.export_memory_timeline(self.path("memory.json"))

    def check(self, _):
        with open(self.path("memory.json"), encoding="utf-8") as file:
            assert json.load(file)


class FlightDump(Writing):
    files = frozenset({"last.json"})

    def act(self):
        with profiler.flight_recorder(bytes=1 << 20) as recorder:
            work()
            recorder.dump(self.path("last.json"))

    def check(self, _):
        with open(self.path("last.json"), encoding="utf-8") as file:
            assert json.load(file)["traceEvents"]


class Capture(Scenario):
    """As the command does: what is captured is in memory, too, and whole whatever fails."""

    files = frozenset({"capture"})

    def prepare(self):
        os.mkdir(self.path("capture"))

    def act(self):
        prof = profiler.profile()
        prof._folder, prof._program = self.path("capture"), "a program"
        with prof:
            work()
        return prof

    def check(self, prof):
        assert any(event.name.endswith("): work") for event in prof.events())


class Recover(Scenario):
    files = frozenset({"capture"})

    def prepare(self):
        os.mkdir(self.path("capture"))
        child = os.fork()
        if child == 0:
            prof = profiler.profile()
            prof._folder, prof._program = self.path("capture"), "a program"
            prof.start()
            work()
            os._exit(0)
        os.waitpid(child, 0)

    def act(self):
        from opyard import _tracer

        return _tracer.recover(self.path("capture"))

    def check(self, trace):
        assert trace.tracks()


class SaveTensors(Scenario):
    files = frozenset({"tensors.safetensors"})

    def __init__(self, folder):
        super().__init__(folder)
        self.tensors = {"a": opyard.tensor([1.0, 2.0]), "b": opyard.tensor([[3]])}

    def prepare(self):
        opyard.save({"old": opyard.tensor([7.0])}, self.path("tensors.safetensors"))

    def act(self):
        opyard.save(self.tensors, self.path("tensors.safetensors"))

    def check(self, _):
        assert sorted(opyard.load(self.path("tensors.safetensors"))) == ["a", "b"]

    def check_failed(self):
        assert sorted(opyard.load(self.path("tensors.safetensors"))) in (["old"], ["a", "b"])


class LoadTensors(Scenario):
    files = frozenset({"tensors.safetensors"})
    mapped = False

    def prepare(self):
        opyard.save({"a": opyard.tensor([1.0, 2.0])}, self.path("tensors.safetensors"))

    def act(self):
        return opyard.load(self.path("tensors.safetensors"), mapped=self.mapped)

    def check(self, tensors):
        assert tensors["a"].tolist() == [1.0, 2.0]


class MapTensors(LoadTensors):
    mapped = True


class SaveGraph(Writing):
    files = frozenset({"graph.safetensors"})

    def act(self):
        save_graph(self.path("graph.safetensors"))

    def check(self, _):
        check_graph(opyard.jit.load(self.path("graph.safetensors")))


class LoadGraph(Scenario):
    files = frozenset({"graph.safetensors"})
    mapped = False

    def prepare(self):
        save_graph(self.path("graph.safetensors"))

    def act(self):
        return opyard.jit.load(self.path("graph.safetensors"), mapped=self.mapped)

    def check(self, model):
        check_graph(model)


class MapGraph(LoadGraph):
    mapped = True


def save_graph(path):
    graph = """graph(%x : Tensor):
      %w : Tensor = prim::Constant[value=<Tensor>]()
      %y : Tensor = aten::mul(%x, %w)
      return (%y)
    """
    opyard.jit.save(opyard.jit.parse_ir(graph, tensors=[opyard.tensor([2.0])]), path)


def check_graph(model):
    assert model(opyard.tensor([3.0])).tolist() == [6.0]


class LoadPlugin(Scenario):
    files = frozenset({"plugin.so"})
    library = ""

    def prepare(self):
        shutil.copy(self.library, self.path("plugin.so"))

    def act(self):
        opyard.load_library(self.path("plugin.so")).unload()


SCENARIOS = {
    **{f"export {ending}": export_of(ending) for ending in (".json", ".json.gz", ".pftrace")},
    **{f"export {e}": export_of(e) for e in (".speedscope.json", ".folded", ".pstats", ".html")},
    "export over a file": ExportOver,
    "flame graph": FlameGraph,
    "stubs": Stubs,
    "memory timeline": MemoryTimeline,
    "flight dump": FlightDump,
    "capture": Capture,
    "recover": Recover,
    "save tensors": SaveTensors,
    "load tensors": LoadTensors,
    "map tensors": MapTensors,
    "save graph": SaveGraph,
    "load graph": LoadGraph,
    "map graph": MapGraph,
    "plugin": LoadPlugin,
}


def open_files():
    names = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the listing itself
            names.add(f"{number}: " + os.readlink(f"/proc/self/fd/{number}"))
    return names


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)


def attempt(scenario, call, at, number):
    """Whether there was such a call; raises AssertionError if what followed is wrong."""
    empty(scenario.folder)
    scenario.prepare()
    before = open_files()
    SHIM.faulty_arm(os.fsencode(scenario.folder), call.encode(), at, number)
    error, result = None, None
    try:
        result = scenario.act()
    except ERRORS as said:
        error = said
    finally:
        count = SHIM.faulty_disarm()
    if error is not None:
        assert count >= at, f"failed though no call did: {error!r}"
        assert str(error), "an error says nothing"
        scenario.check_failed()
    else:
        scenario.check(result)
    del result
    error = None
    left = set(os.listdir(scenario.folder)) - scenario.files
    assert not left, f"left behind: {left}"
    # A thread keeps the last block of a capture, and with it that file, until its next one.
    more = [name for name in open_files() - before if ".blocks" not in name]
    assert not more, f"still open: {more}"
    return count >= at


def try_all(name, folder):
    tried = 0
    scenario = SCENARIOS[name](os.path.join(folder, "files"))
    os.makedirs(scenario.folder, exist_ok=True)
    attempt(scenario, "none", 1, 0)  # what is made once is made
    for call, numbers in WAYS.items():
        for number in numbers:
            at = 1
            while attempt_and_name(scenario, call, at, number):
                at += 1
            tried += at - 1
    return tried


def attempt_and_name(scenario, call, at, number):
    try:
        return attempt(scenario, call, at, number)
    except Exception as error:
        how = errno.errorcode.get(number, "half")
        raise AssertionError(f"{call} number {at} ({how}): {error!r}") from error


def main():
    LoadPlugin.library, name, folder = sys.argv[1:]
    sys.stdout.write(f"{try_all(name, folder)}\n")


if __name__ == "__main__":
    main()
