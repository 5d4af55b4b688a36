"""What the types of `_C` ask of Python, by name: the dictionary that `_C.configure()` takes.

Each of them imports the module that has the answer when it is first asked, and puts the function
itself in its place. `_C` looks the name up each time, so later calls go straight there.

    DispatchKey(number)              the member of the enum
    packet(name)                     the packet of "ns::name"; always the same object
    overload(name)                   the overload of "ns::name" or "ns::name.overload"
    aten(name)                       the packet of that aten operator, or None
    schema(text)                     the schema that a text says
    c_function(op, form)             the CFunction of an overload
    await_future(future)             the iterator of its await
    concurrent_future(future)        a concurrent.futures.Future of it
    cancelled_error()                a new concurrent.futures.CancelledError
    tag(name)                        the Tag of this name, or the name
    format_tensor(tensor)            its repr
    get_item(tensor, index)          tensor[index]
    set_item(tensor, index, value)   tensor[index] = value
"""

from . import _ops


def _dispatch_key(number: int) -> object:
    from ._keys import DispatchKey

    hooks["DispatchKey"] = DispatchKey
    return DispatchKey(number)


def _schema(text: str) -> object:
    from .schema import parse

    hooks["schema"] = parse
    return parse(text)


def _c_function(*args: object, **kwargs: object) -> object:
    from ._c_function import CFunction

    hooks["c_function"] = CFunction
    return CFunction(*args, **kwargs)


def _await_future(future: object) -> object:
    from .futures import _await_future

    hooks["await_future"] = _await_future
    return _await_future(future)


def _concurrent_future(future: object) -> object:
    from .futures import _concurrent_future

    hooks["concurrent_future"] = _concurrent_future
    return _concurrent_future(future)


def _cancelled_error() -> object:
    from concurrent.futures import CancelledError

    hooks["cancelled_error"] = CancelledError
    return CancelledError()


def _tag(name: str) -> object:
    from ._tags import tag_of

    hooks["tag"] = tag_of
    return tag_of(name)


def _format_tensor(tensor: object) -> str:
    from ._format import format_tensor

    hooks["format_tensor"] = format_tensor
    return format_tensor(tensor)


def _get_item(tensor: object, index: object) -> object:
    from ._indexing import get_item

    hooks["get_item"] = get_item
    return get_item(tensor, index)


def _set_item(tensor: object, index: object, value: object) -> None:
    from ._indexing import set_item

    hooks["set_item"] = set_item
    set_item(tensor, index, value)


hooks = {
    "DispatchKey": _dispatch_key,
    "packet": _ops.packet_of,
    "overload": _ops.overload_of,
    "aten": _ops.find_aten,
    "schema": _schema,
    "c_function": _c_function,
    "await_future": _await_future,
    "concurrent_future": _concurrent_future,
    "cancelled_error": _cancelled_error,
    "tag": _tag,
    "format_tensor": _format_tensor,
    "get_item": _get_item,
    "set_item": _set_item,
}
