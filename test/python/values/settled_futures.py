"""Futures that are complete, and the time after which a wait has hung."""

from opyard.futures import Future

LONG = 30.0  # seconds that no wait should take


def completed(result):
    future = Future()
    future.set_result(result)
    return future


def failed(exception):
    future = Future()
    future.set_exception(exception)
    return future
