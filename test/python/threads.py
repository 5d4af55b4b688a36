"""The same work on several threads at once, and the wait for what a thread drops."""

import os
import threading
import time

import opyard

THREADS = 4
ROUNDS = 20 if "OPYARD_SANITIZER" in os.environ else 100


def is_soon_gone(reference):
    """Whether what a thread without the GIL drops is gone, of which this is a weak reference."""
    for _ in range(1000):
        if reference() is None:
            return True
        time.sleep(0.005)
        opyard.tensor([0])  # an entry, which drops what was left behind
    return False


def at_once(body):
    """Runs the body on each of the threads; what it gave, and raises what it raised."""
    results, errors = [], []
    begin = threading.Barrier(THREADS)

    def run(number):
        try:
            begin.wait()
            results.append(body(number))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
