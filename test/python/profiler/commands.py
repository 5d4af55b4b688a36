"""Programs that run under `python -m opyard.profiler`, and one that is killed there."""

import subprocess
import sys


def run(folder, *arguments, profiled=True, send=None):
    """Runs Python with the program's arguments, with or without the profiler in front."""
    command = [sys.executable]
    if profiled is not False:
        command += ["-m", "opyard.profiler", *(profiled if isinstance(profiled, list) else [])]
    process = subprocess.Popen(
        [*command, *arguments],
        cwd=folder,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if send is not None:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(send)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


KILLED = """
    import os, signal, sys, threading, time, warnings
    warnings.simplefilter("ignore"); ready = threading.Event()  # forks beside threads warn
    def inner(n):
        return n
    def in_thread():
        ready.set(); time.sleep(0.01)
    def outer():
        for n in range(10_000): inner(n)
        {ending}
    threading.Thread(target=in_thread, name="one that ends").start()
    threading.Thread(target=time.sleep, args=(60,), name="one that waits", daemon=True).start()
    if {forks} and os.fork() == 0:
        in_thread()
        os._exit(0)
    ready.wait()
    outer()
"""
