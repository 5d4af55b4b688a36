"""The same work on several threads at once."""

import os
import threading

THREADS = 4
ROUNDS = 20 if "OPYARD_SANITIZER" in os.environ else 100


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
