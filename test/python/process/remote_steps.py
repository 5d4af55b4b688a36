"""Steps of test_leaks.py that ask a session's worker."""

from leak_steps import X, fails

import opyard

_workers = []


def workers():
    """A session that is opened once: what repeats is what is asked of it."""
    if not _workers:
        _workers.append(opyard.remote.session(workers=1))
    return _workers[0]


def close_workers():
    while _workers:
        _workers.pop().close()


def remote_calls():
    session = workers()
    assert session.call(abs, -3) == 3
    assert list(session.map(abs, [-1, -2])) == [1, 2]
    fails(ZeroDivisionError, session.call, divmod, 1, 0)
    session.call(opyard.ops.aten.exp, X)


def remote_values():
    assert workers().put(3).to_here() == 3
