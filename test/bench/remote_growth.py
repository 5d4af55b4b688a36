#!/usr/bin/env python3
"""test/bench/remote_growth.py: what sessions cost over pipes, and what 64 and 1,000 workers would.

    PYTHONPATH=build/main/pyfallback python test/bench/remote_growth.py [--engines ray dask]

First measures: a bare message over a pair of sockets, a call, a message that carries bytes, a sum
over two workers, and a map over 64 shards on one and on two workers; with an engine that is
installed also its own bare call of an actor beside a call of ours. Then simulates sessions with
more workers by these costs. docs/dev/remote.md has the figures and says what they leave out.
"""

import argparse
import heapq
import os
import statistics
import threading
import time

import opyard
import opyard.remote


def least(step, times=5, inner=100):
    """Seconds of one call: the least mean of several rounds."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        for _ in range(inner):
            step()
        found.append((time.perf_counter() - started) / inner)
    return min(found)


def bare_message():
    """There and back over the same pair of sockets, with the same frames, in two threads."""
    import socket

    from opyard._remote.pipe_socket import Channel

    ends = [Channel(each) for each in socket.socketpair()]

    def echo():
        for _ in range(1500):
            ends[1].send(ends[1].receive())

    threading.Thread(target=echo, daemon=True).start()

    def step():
        ends[0].send([bytes(16), bytes(60), bytes(200)])
        ends[0].receive()

    return least(step, inner=300)


def spin(seconds):
    """Work that takes so long on a processor, whoever else runs."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def summed(tensor):
    started = time.perf_counter()
    for _ in range(20):
        opyard.remote.all_reduce([tensor])
    return (time.perf_counter() - started) / 20


def measure():
    costs = {"message": bare_message()}
    with opyard.remote.session("pipes", workers=2) as s:
        costs["call"] = least(lambda: s.call(abs, -1, worker=0))
        large = opyard.ones(2_500_000)  # 10 MB
        one = least(lambda: s.call(len, large, worker=0), inner=10)
        costs["byte"] = (one - costs["call"]) / 10e6
        costs["driver"] = least(lambda: _drain(s, 200), times=3, inner=1) / 200
        small, big = opyard.ones(10), opyard.ones(2_500_000)
        costs["step"] = max(s.each(summed, [small, small])) / 2
        costs["ring byte"] = (max(s.each(summed, [big, big])) / 2 - costs["step"]) / 5e6
    seconds = {}
    for workers in (1, 2):
        with opyard.remote.session("pipes", workers=workers) as s:
            list(s.map(spin, [0.001] * 4))
            started = time.perf_counter()
            list(s.map(spin, [0.02] * 64))
            seconds[workers] = time.perf_counter() - started
    costs["speed-up"] = seconds[1] / seconds[2]
    return costs


def _drain(session, count):
    """So many calls on their way at once: what one costs the driver."""
    for future in [session.call_async(abs, -1) for _ in range(count)]:
        future.wait()


def simulate_map(workers, shards, work, costs, window=2):
    """Seconds of a map: the driver handles one message at a time, workers run side by side."""
    free = [(0.0, n) for n in range(workers) for _ in range(window)]
    heapq.heapify(free)
    busy_until = [0.0] * workers
    driver = end = 0.0
    for _ in range(shards):
        ready, worker = heapq.heappop(free)
        driver = max(driver, ready) + costs["driver"]
        begun = max(driver, busy_until[worker])
        busy_until[worker] = begun + work
        heapq.heappush(free, (busy_until[worker] + costs["message"] / 2, worker))
        end = max(end, busy_until[worker])
    return end + costs["message"] / 2


def simulate_ring(workers, size, costs):
    """Seconds of a sum over a ring: each step waits for the last worker of the step before."""
    return 2 * (workers - 1) * (costs["step"] + size / workers * costs["ring byte"])


def over(name, costs):
    """A call of ours beside the engine's own call of an actor."""
    options = {"object_store_memory": 100 << 20} if name == "ray" else {}
    with opyard.remote.session(name, workers=1, **options) as s:
        ours = statistics.median(least(lambda: s.call(abs, -1), times=3) for _ in range(3))
        engine = s._engine
        if name == "ray":
            import ray

            step = lambda: ray.get(engine._actors[0].set_peers.remote([], []))  # noqa: E731
        else:
            step = lambda: engine._actors[0].set_peers([], []).result()  # noqa: E731
        bare = statistics.median(least(step, times=3) for _ in range(3))
    print(f"{name}: a call {ours * 1e6:.0f} us, its own actor call {bare * 1e6:.0f} us", end="")
    print(f", ratio {ours / bare:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", nargs="*", default=[], choices=["ray", "dask"])
    engines = parser.parse_args().engines
    costs = measure()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for name, seconds in costs.items():
        unit = "" if name == "speed-up" else " ns" if "byte" in name else " us"
        print(f"{name:10} {seconds * {'': 1, ' ns': 1e9, ' us': 1e6}[unit]:.3g}{unit}")
    for workers in (2, 64, 1000):
        shards = 32 * workers
        for work in (0.001, 0.1):
            took = simulate_map(workers, shards, work, costs)
            share = shards * work / workers / took
            print(f"map    {workers:5} workers, shards of {work * 1e3:g} ms: busy {share:.0%}")
        for size in (1e6, 1e8):
            took = simulate_ring(workers, size, costs)
            print(f"sum    {workers:5} workers, {size / 1e6:g} MB: {took * 1e3:.3g} ms")
    for name in engines:
        over(name, costs)


if __name__ == "__main__":
    main()
