"""test/bench/remote_rows.py: sessions over what carries them, measured in turn in one minute.

    tools/bench --remote                     pipes, Ray and Dask, which are installed for that
    tools/bench --remote --engines pipes     some of them
    tools/bench --remote --rounds 5          more rounds than 3

A row compares a session with the barest program over the same carrier: a bare message over a pair
of sockets, a bare call of an engine's own actor, Ray's own reference, two bare processes, actors of
Ray that get all of their shards in one message. Both sides of a row run in turn, so that what else
the machine does meets both; the median of the rounds' ratios counts.
"""

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import run
from rows import RATIO, Measured, Row

import opyard
import opyard.remote
from opyard._remote.pipe_socket import Channel

BLOCK, SHARDS, WORK = 100, 64, 0.02
BYTES = 10_000_000
ROWS = [
    Row("block_pipes", "13", "100 operators over pipes, over a bare message", RATIO, 1.5, "us"),
    Row("call_pipes", "13", "  a call of a function that does nothing", RATIO, 1.5, "us"),
    Row("block_ray", "13", "  over Ray, over its own call of an actor", RATIO, 2.0, "us"),
    Row("block_dask", "13", "  over Dask, over its own call of an actor", RATIO, 2.0, "us"),
    Row("bytes_ray", "13", "10 MB over Ray, over its own reference", RATIO, 1.2, "ms"),
    Row("map_pipes", "13", "64 shards of 20 ms, two workers over one", RATIO, 1 / 1.9, "ms"),
    Row("map_bare", "13", "  two workers, over two bare processes", RATIO, 2 / 1.9, "ms"),
    Row("wait_pipes", "13", "  shards that wait: two workers over one", RATIO, 1 / 1.9, "ms"),
    Row("map_ray", "13", "  over Ray, two workers over one", RATIO, 1 / 1.9, "ms"),
    Row("hand_ray", "13", "  over Ray by hand, one message a worker", RATIO, 1.03, "ms"),
]
UNITS = {"us": 1e6, "ms": 1e3}
# Ray's smallest store is 75 MiB.
RAY = {"num_cpus": 8, "object_store_memory": 200 << 20, "include_dashboard": False}


def seconds_of(step: Callable[[], object], times: int) -> float:
    """Of one call: the least of some, since what else runs only adds to it."""
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - began)
    return best


def in_turn(
    ours: Callable[[], object], floor: Callable[[], object], rounds: int, times: int
) -> Measured:
    """The round whose ratio is the median, in seconds."""
    pairs = []
    for _ in range(rounds):
        pairs.append((seconds_of(floor, times), seconds_of(ours, times)))
    pairs.sort(key=lambda pair: pair[1] / pair[0])
    return Measured(*pairs[len(pairs) // 2])


def spin(seconds: float) -> None:
    """Work that takes so long on a processor, whoever else runs."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def nothing() -> None:
    pass


def block() -> Any:
    """A graph of 100 operators, each of which needs the one before."""
    lines = ["graph(%x : Tensor, %y : Tensor):"]
    last = "%x"
    for number in range(BLOCK):
        name = f"%v{number}"
        lines.append(f"  {name} : Tensor = aten::mul({last}, %y)")
        last = name
    return opyard.jit.parse_ir("\n".join([*lines, f"  return ({last})", ""]))


ECHO = """
import socket, sys
from opyard._remote.pipe_socket import Channel, Closed
channel = Channel(socket.socket(fileno=int(sys.argv[1])))
try:
    while True:
        channel.send(channel.receive())
except Closed:
    pass
"""


@contextmanager
def echo() -> Iterator[Channel]:
    """A process that gives back each message."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-c", ECHO, str(theirs.fileno())]
    with subprocess.Popen(command, pass_fds=[theirs.fileno()]):
        theirs.close()
        channel = Channel(ours)
        yield channel
        channel.close()


def of_messages(rounds: int) -> dict[str, Measured]:
    x, y = opyard.ones(4), opyard.ones(4)
    graph, frames = block(), [bytes(16), bytes(60), bytes(200)]

    def bare() -> None:
        channel.send(frames)
        channel.receive()

    with echo() as channel, opyard.remote.session("pipes", workers=1) as s:
        for _ in range(50):
            bare(), s.call(graph, x, y), s.call(nothing)
        return {
            "block_pipes": in_turn(lambda: s.call(graph, x, y), bare, rounds, 300),
            "call_pipes": in_turn(lambda: s.call(nothing), bare, rounds, 300),
        }


BARE = """
import sys, time
print(flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        until = time.thread_time() + {work}
        while time.thread_time() < until:
            pass
    print(flush=True)
"""


class Processes:
    """Two processes that do half of the shards each, and say when they have."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", BARE.format(work=WORK)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._both = [subprocess.Popen(command, **pipes) for _ in range(2)]  # type: ignore[call-overload]
        self._wait()

    def _wait(self) -> None:
        for each in self._both:
            each.stdout.readline()

    def __call__(self) -> None:
        for each in self._both:
            each.stdin.write(f"{SHARDS // 2}\n")
            each.stdin.flush()
        self._wait()

    def close(self) -> None:
        for each in self._both:
            each.stdin.close()
            each.wait()
            each.stdout.close()


def of_maps(rounds: int) -> dict[str, Measured]:
    with (
        opyard.remote.session("pipes", workers=1) as one,
        opyard.remote.session("pipes", workers=2) as two,
    ):

        def mapped(session: Any, function: Callable[[float], object]) -> Callable[[], object]:
            list(session.map(function, [0.001] * 4))
            return lambda: list(session.map(function, [WORK] * SHARDS))

        alone, both = mapped(one, spin), mapped(two, spin)
        bare = Processes()
        try:
            return {
                "map_pipes": in_turn(both, alone, rounds, 1),
                "map_bare": in_turn(both, bare, rounds, 1),
                "wait_pipes": in_turn(mapped(two, time.sleep), mapped(one, time.sleep), rounds, 1),
            }
        finally:
            bare.close()


class Bare:
    """What an actor by hand has."""

    def echo(self, x: Any) -> Any:
        return x

    def size(self, x: Any) -> int:
        return len(x)

    def work(self, shards: list[float]) -> None:
        for seconds in shards:
            until = time.thread_time() + seconds
            while time.thread_time() < until:
                pass


def of_ray(rounds: int) -> dict[str, Measured]:
    import numpy as np
    import ray

    x, y, graph = opyard.ones(4), opyard.ones(4), block()
    array = np.ones(BYTES // 4, np.float32)
    tensor = opyard.ones(BYTES // 4)
    ray.init(log_to_driver=False, configure_logging=False, **RAY)
    try:
        actors = [ray.remote(Bare).options(num_cpus=1).remote() for _ in range(2)]
        ray.get([each.echo.remote(0) for each in actors])
        halves = [[WORK] * (SHARDS // 2)] * 2

        def by_hand() -> None:
            ray.get([a.work.remote(half) for a, half in zip(actors, halves, strict=True)])

        def by_reference() -> None:
            ray.get(actors[0].size.remote(ray.put(array)))

        with (
            opyard.remote.session("ray", workers=1) as one,
            opyard.remote.session("ray", workers=2) as two,
        ):
            for _ in range(20):
                one.call(graph, x, y)
                ray.get(actors[0].echo.remote(0))
            for each in (one, two):
                list(each.map(spin, [0.001] * 4))
            both = lambda: list(two.map(spin, [WORK] * SHARDS))  # noqa: E731
            alone = lambda: list(one.map(spin, [WORK] * SHARDS))  # noqa: E731
            return {
                "block_ray": in_turn(
                    lambda: one.call(graph, x, y),
                    lambda: ray.get(actors[0].echo.remote(0)),
                    rounds,
                    100,
                ),
                "bytes_ray": in_turn(lambda: one.call(len, tensor), by_reference, rounds, 10),
                "map_ray": in_turn(both, alone, rounds, 1),
                "hand_ray": in_turn(both, by_hand, rounds, 1),
            }
    finally:
        ray.shutdown()


def of_dask(rounds: int) -> dict[str, Measured]:
    import distributed

    x, y, graph = opyard.ones(4), opyard.ones(4), block()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, direct_to_workers=True, set_as_default=False) as client,
        opyard.remote.session("dask", workers=1, address=cluster.scheduler_address) as s,
        client.as_current(),
    ):
        actor = client.submit(Bare, actor=True).result()
        for _ in range(20):
            s.call(graph, x, y)
            actor.echo(0).result()
        step = lambda: actor.echo(0).result()  # noqa: E731
        return {"block_dask": in_turn(lambda: s.call(graph, x, y), step, rounds, 100)}


PARTS = {"pipes": (of_messages, of_maps), "ray": (of_ray,), "dask": (of_dask,)}


def measure(engines: list[str], rounds: int) -> tuple[dict[str, Measured], dict[str, str]]:
    """By row, and the rows that were not measured with the reason."""
    measured: dict[str, Measured] = {}
    missing: dict[str, str] = {}
    for name, parts in PARTS.items():
        if name not in engines:
            continue
        try:
            for part in parts:
                measured |= part(rounds)
        except ImportError as error:
            missing |= {row.key: str(error) for row in ROWS if row.key.endswith(f"_{name}")}
    return measured, missing


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/bench --remote", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--engines", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3, help="of each row; default 3")
    options = parser.parse_args()
    # Workers import this file, as a module and not as a program.
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    measured, missing = measure(options.engines, options.rounds)
    print(f"{run.processor()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    units = {row.key: UNITS[row.unit] for row in ROWS}
    scaled = {
        key: Measured(each.floor * units[key], each.ours * units[key])
        for key, each in measured.items()
    }
    run.print_table(scaled, missing, ROWS)
    return run.conclude(scaled, ROWS)


if __name__ == "__main__":
    import remote_rows

    sys.exit(remote_rows.main())
