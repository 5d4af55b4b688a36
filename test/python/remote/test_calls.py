"""test_calls.py: calls and maps over pipes (K13): what travels, and what comes back.

Suspect remote/python/opyard/_remote/session.py, things.py, by_value.py and mapping.py.
"""

import asyncio
import dataclasses
import os
import sys

import pytest
import remote_functions as functions

import opyard
from opyard._remote import things
from opyard.remote import RemoteError, RemoteTraceback

aten = opyard.ops.aten
GRAPH = """graph(%x : Tensor, %w : Tensor):
  %2 : Tensor = aten::mul(%x, %w)
  return (%2)
"""


def test_K13_a_function_an_operator_and_a_method_run_on_a_worker(pipes):
    assert pipes.call(functions.double, 3, y=1) == 7
    assert pipes.call(functions.process) != os.getpid()
    x = opyard.arange(6, dtype=opyard.float32).reshape([2, 3])
    assert pipes.call(aten.mm, x, x.t()).tolist() == (x @ x.t()).tolist()
    assert pipes.call(aten.mul.Tensor, x, x).tolist() == (x * x).tolist()
    assert pipes.call(str.upper, "text") == "TEXT"


def test_each_worker_can_be_asked_by_its_number(pipes):
    ids = pipes._engine.process_ids()
    assert [pipes.call(functions.process, worker=n) for n in pipes.workers] == ids
    with pytest.raises(ValueError, match=r"there is no worker 9; there are \[0, 1\]"):
        pipes.call(functions.process, worker=9)


def test_functions_that_cannot_be_imported_travel_by_value(pipes):
    factor = 3

    def recursive(n):
        return 1 if n == 0 else n * recursive(n - 1)

    class Base:
        def give(self):
            return factor

    class Scale(Base):
        unit = "m"

        def __init__(self, by):
            self.by = by

        @property
        def total(self):
            return self.by * super().give()

        @staticmethod
        def name():
            return "scale"

        @classmethod
        def of(cls, by):
            return cls(by)

    assert pipes.call(lambda x, *, y=2: x * factor + y, 4) == 14
    assert pipes.call(recursive, 5) == 120
    assert pipes.call(lambda: (Scale.of(2).total, Scale.name(), Scale.unit)) == (6, "scale", "m")
    assert pipes.call(lambda: sys.version_info[:2]) == sys.version_info[:2]


def test_a_class_that_is_more_than_its_members_says_where_it_has_to_be(pipes):
    class Meta(type):
        pass

    class Special(metaclass=Meta):
        pass

    with pytest.raises(TypeError, match="its metaclass is .*Meta: define it in a module"):
        pipes.call(lambda: Special())


def test_graphs_code_compiled_and_traced_functions_and_models_travel_once(pipes, tmp_path):
    x = opyard.arange(4, dtype=opyard.float32)
    graph = opyard.jit.parse_ir(GRAPH)
    opyard.jit.save(graph, tmp_path / "model.safetensors")
    model = opyard.jit.load(tmp_path / "model.safetensors")
    traced = opyard.jit.trace(lambda a: a * a + 1, (x,))
    expected = {
        graph: ((x, x), x * x),
        opyard.jit.compile(graph): ((x, x), x * x),
        opyard.jit.compile(functions.double): ((x, 1), x * 2 + 1),
        model: ((x, x), x * x),
        traced: ((x,), x * x + 1),
    }
    for thing, (args, result) in expected.items():
        first, again = (pipes.call(thing, *args, worker=0) for _ in range(2))
        assert first.tolist() == again.tolist() == result.tolist(), thing
        before = pipes._connections[0].statistics.bytes_out
        pipes.call(thing, *args, worker=0)
        assert pipes._connections[0].statistics.bytes_out - before < 1500, thing


def test_a_model_that_was_changed_since_travels_again(pipes):
    weight = opyard.ones(3)
    graph = opyard.jit.parse_ir(
        "graph(%x : Tensor):\n  %w : Tensor = prim::Constant[value=<Tensor>]()\n"
        "  %2 : Tensor = aten::add(%x, %w)\n  return (%2)\n",
        tensors=[weight],
    )
    x = opyard.zeros(3)
    assert pipes.call(graph, x).tolist() == [1.0, 1.0, 1.0]
    weight.add_(1)
    assert pipes.call(graph, x).tolist() == [2.0, 2.0, 2.0]


def test_the_hash_is_of_the_content():
    first, second = (opyard.jit.parse_ir(GRAPH) for _ in range(2))
    from opyard._remote.pickling import dumps

    assert things.describe(first, dumps).digest == things.describe(second, dumps).digest
    other = opyard.jit.parse_ir(GRAPH.replace("mul", "add").replace("%w)", "%w, %x)"), tensors=[])
    assert things.describe(other, dumps).digest != things.describe(first, dumps).digest


def test_arrays_arrive_aligned_and_writable_and_in_their_layout(pipes):
    for count in (3, 100_000):  # in the stream, and in shared memory
        x = opyard.ones(2, count)
        assert pipes.call(lambda a: a.data_ptr() % 64, x[1].clone()) == 0
        assert pipes.call(functions.write_into, x).tolist() == (x + 1).tolist()
        assert x.tolist() == opyard.ones(2, count).tolist()
        assert pipes.call(functions.double, x.t()).shape == (count, 2)
    bytes_of = pytest.importorskip("numpy").arange(50_000)
    assert (pipes.call(functions.double, bytes_of) == bytes_of * 2).all()


def test_an_operator_that_writes_gives_what_it_wrote(pipes):
    x = opyard.zeros(3)
    assert pipes.call(aten.add_, x, 1).tolist() == [1.0, 1.0, 1.0]
    assert pipes.call(aten.mul.out, x, x, out=opyard.ones(3)).tolist() == [0.0, 0.0, 0.0]
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_an_exception_is_of_the_same_class_and_says_where_it_was_raised(pipes):
    with pytest.raises(ValueError, match="^refused: 3$") as raised:
        pipes.call(functions.fail, 3, worker=1)
    origin = raised.value.remote
    assert (origin.worker, origin.operator, origin.position) == (1, "fail", None)
    assert (origin.kind, origin.message) == ("ValueError", "refused: 3")
    assert "in fail" in origin.traceback
    assert isinstance(raised.value.__cause__, RemoteTraceback)
    assert "fail on worker 1" in str(raised.value.__cause__)


def test_an_error_of_an_operator_is_the_one_of_here(pipes):
    x, y = opyard.ones(2, 3), opyard.ones(4, 5)
    with pytest.raises(ValueError) as here:
        aten.mm(x, y)
    with pytest.raises(ValueError) as there:
        pipes.call(aten.mm, x, y)
    assert str(there.value) == str(here.value)
    assert there.value.remote.operator == "aten::mm"


def test_an_exception_that_cannot_be_made_here_keeps_its_name(pipes):
    with pytest.raises(RemoteError, match=r"^remote_functions\.OwnError: 1 and 2$"):
        pipes.call(functions.fail_oddly)


def test_what_cannot_be_sent_says_so_and_the_worker_goes_on(pipes):
    with pytest.raises(TypeError, match="cannot pickle"):
        pipes.call(functions.double, sys._getframe())
    with pytest.raises(TypeError, match="cannot pickle") as raised:
        pipes.call(lambda: sys._getframe())
    assert raised.value.remote.operator == "sending a result"
    assert pipes.call(functions.double, 1) == 2


def test_a_module_that_a_worker_lacks_is_named(pipes, tmp_path, monkeypatch):
    (tmp_path / "only_here_module.py").write_text("def f():\n    return 1\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__("only_here_module")
    with pytest.raises(ModuleNotFoundError, match="only_here_module"):
        pipes.call(module.f)


def test_call_async_can_be_awaited(pipes):
    async def both():
        return await asyncio.gather(
            *(pipes.call_async(functions.double, n) for n in range(10)),
        )

    async def awaited(future):
        return await future

    async def main():
        calls = [pipes.call_async(functions.double, n) for n in range(10)]
        return [await awaited(each) for each in calls]

    assert asyncio.run(main()) == [2 * n for n in range(10)]


def test_K16_a_call_that_takes_too_long_raises_and_the_session_goes_on(pipes):
    with pytest.raises(TimeoutError, match=r"wait on worker \d gave no result in 0\.2 s"):
        pipes.call(functions.wait, 1.0, timeout=0.2)
    assert pipes.call(functions.double, 2) == 4


def test_a_map_gives_results_in_order_or_as_they_come(pipes):
    assert list(pipes.map(functions.double, range(50))) == [2 * n for n in range(50)]
    came = list(pipes.map(functions.double, iter(range(50)), ordered=False, window=7))
    assert sorted(came) == [2 * n for n in range(50)]
    waits = [0.5, 0.0]
    assert list(pipes.map(functions.wait, waits, ordered=False)) == [0.0, 0.5]
    assert list(pipes.map(functions.wait, waits)) == waits


def test_a_map_takes_no_more_shards_than_its_window(pipes):
    taken = []

    def shards():
        for n in range(20):
            taken.append(n)
            yield n

    results = pipes.map(functions.double, shards(), window=3)
    assert next(results) == 0
    assert len(taken) <= 4
    assert list(results) == [2 * n for n in range(1, 20)]
    with pytest.raises(ValueError, match="window must be a number of shards above 0, not 0"):
        list(pipes.map(functions.double, [], window=0))


def test_a_map_shows_progress(pipes, capsys):
    seen = []
    list(pipes.map(functions.double, range(4), progress=lambda done, of: seen.append((done, of))))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    list(pipes.map(functions.double, range(2), progress=True))
    assert capsys.readouterr().err.endswith("2 of 2 shards\n")


def test_a_shard_that_raises_says_which_one(pipes):
    with pytest.raises(ValueError, match="refused") as raised:
        list(pipes.map(functions.fail, range(3)))
    assert raised.value.remote.position in (0, 1, 2)
    assert pipes.call(functions.double, 1) == 2


def test_sums_over_a_ring_are_those_of_all_workers_to_the_bit(pipes):
    opyard.manual_seed(3)
    mine, other = ([opyard.rand(7, 5), opyard.rand(1), opyard.rand(100)] for _ in range(2))
    counts = [opyard.tensor([1, 2]), opyard.tensor([3, 4])]
    given = [[*mine, counts[0]], [*other, counts[1]]]
    (_, size, first), (rank, _, second) = pipes.each(functions.ring, given)
    assert (rank, size) == (1, 2)
    for a, b, x, y in zip(first, second, *given, strict=True):
        assert a.tolist() == b.tolist() == (x + y).tolist()
        assert a.dtype == x.dtype and a.shape == x.shape


def test_a_ring_of_other_sizes_is_refused(pipes):
    with pytest.raises(ValueError, match="gave tensors of other sizes or dtypes"):
        pipes.each(functions.ring_of_other_sizes, [0, 1])
    with pytest.raises(ValueError, match="each: 3 items for 2 workers"):
        pipes.each(functions.ring, [1, 2, 3])


@pytest.mark.parametrize("name", ["rank", "size", "put", "all_reduce"])
def test_what_belongs_on_a_worker_says_so_elsewhere(pipes, name):
    function = getattr(opyard.remote, name)
    args = {"put": (1,), "all_reduce": ([],)}.get(name, ())
    with pytest.raises(RuntimeError, match="this process is no worker of a session"):
        function(*args)
    if name != "put":
        with pytest.raises(RuntimeError, match=f"{name}: this call runs on one worker alone"):
            pipes.call(function, *args)


@dataclasses.dataclass
class Point:
    x: int


def test_values_of_classes_travel_both_ways(pipes):
    assert pipes.call(lambda p: dataclasses.replace(p, x=p.x + 1), Point(1)) == Point(2)
