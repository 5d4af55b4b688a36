"""The error of a call, for tests that compare the whole sentence."""

import pytest


def raised_by(call, *args, **kwargs):
    with pytest.raises(BaseException) as caught:
        call(*args, **kwargs)
    return caught.value


def message_of(kind, call, *args, **kwargs):
    """The text of an error of exactly this class."""
    error = raised_by(call, *args, **kwargs)
    assert type(error) is kind, repr(error)
    return str(error)
