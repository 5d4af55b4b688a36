"""What the types of `_C` ask of Python, by name: the dictionary that `_C.configure()` takes.

Each of them imports the module that has the answer when it is first asked, and puts the function
itself in its place. `_C` looks the name up each time, so later calls go straight there.

    DispatchKey(number)              the member of the enum
    Layout(number)                   the member of the enum
    SymInt(node)                     a symbolic number; so SymFloat and SymBool
    layout_number(layout)            the number of a Layout, or None for what is none
    packet(name)                     the packet of "ns::name"; always the same object
    overload(name)                   the overload of "ns::name" or "ns::name.overload"
    aten(name)                       the packet of that aten operator, or None
    method(name)                     the method of Tensor that is made of others, or None
    dir_tensor(tensor)               what dir() of it shows
    list_tensor(tensor)              tolist() of one without memory, by calls
    array_tensor(tensor)             numpy() of one, likewise
    answer_ufunc(tensor, ufunc, …)   what a function of NumPy gives for it
    defined_in_python(op)            whether a Library of Python defines it
    load_for(name)                   loads what brings the operator "ns::name", for look-ups in C++
    schema(text)                     the schema that a text says
    c_function(op, form)             the CFunction of an overload
    annotations(op), doc(op), signature(op), decompose(op, …), has_kernel_for_any(op, keys),
    packet_doc(packet), packet_signature(packet)
                                     what they say, from the schema
    py_impl(op, where)               what registers a function there
    get_dispatch(op, key)            what the Python dispatcher runs there: a function, or a key
    await_future(future)             the iterator of its await
    concurrent_future(future)        a concurrent.futures.Future of it
    cancelled_error()                a new concurrent.futures.CancelledError
    trace_gpu(event, *words)         tells the callbacks of a device event
    generator(capsule)               the opyard.Generator of a generator of C++
    tag(name)                        the Tag of this name, or the name
    format_tensor(tensor)            its repr
    copy(tensor)                     copy.copy(tensor)
    deepcopy(tensor, memo)           copy.deepcopy(tensor)
    reduce(tensor, protocol)         what pickle asks it
    get_item(tensor, index)          tensor[index]
    set_item(tensor, index, value)   tensor[index] = value
    get_gradient(tensor, name)       an attribute about gradients; so set_gradient(…, value)
    call_gradient(name, tensor, …)   a method about gradients
    trace_read(tensor, what)         warns that a traced function read something of a tensor
    trace_made(tensor)               says that a traced function made a tensor of its own numbers

Four are asked by `testing`, `_library/opcheck.py` and `_library/shortcuts.py`, which name no layer:

    find_mismatch(text, expectations)
                                     what FileCheck says of a text
    register_formula(op, backward, setup_context, origin, parts)
                                     registers a derivative in Python
    formulas(op), check_formulas(op)
                                     the formulas that an operator has, and whether they fit it

Three are asked by `_core/ops.py`, which is below the rooms that have the answers:

    load_packages_for(namespace)     loads the packages that say that they bring its operators
    load_answers_for(name)           defines operators of aten that NumPy answers, if it is one
    answered_names()                 the names of those operators
"""

from ._core import hooks
from ._core import ops as _ops

TYPE_CHECKING = False  # as in _ops
if TYPE_CHECKING:
    from collections.abc import Callable

# The modules of the answers that are imported when they are first asked for.
_LATE = {
    "DispatchKey": ("opyard._core.keys", "DispatchKey"),
    "Layout": ("opyard._core.layout", "Layout"),
    "SymBool": ("opyard._tensor.symbolic", "SymBool"),
    "SymFloat": ("opyard._tensor.symbolic", "SymFloat"),
    "SymInt": ("opyard._tensor.symbolic", "SymInt"),
    "schema": ("opyard.schema", "parse"),
    "c_function": ("opyard._library.c_function", "CFunction"),
    "annotations": ("opyard._core.signatures", "annotations"),
    "decompose": ("opyard._core.signatures", "decompose"),
    "doc": ("opyard._core.signatures", "doc"),
    "has_kernel_for_any": ("opyard._core.signatures", "has_kernel_for_any"),
    "packet_doc": ("opyard._core.signatures", "packet_doc"),
    "packet_signature": ("opyard._core.signatures", "packet_signature"),
    "signature": ("opyard._core.signatures", "signature"),
    "find_dtype": ("opyard._tensor.dtypes", "find"),
    "require_dtype": ("opyard._tensor.dtypes", "require"),
    "method": ("opyard._tensor.methods", "find"),
    "dir_tensor": ("opyard._tensor.methods", "names"),
    "list_tensor": ("opyard._tensor.methods", "listed"),
    "array_tensor": ("opyard._tensor.methods", "as_array"),
    "answer_ufunc": ("opyard._tensor.ufuncs", "answer"),
    "defined_in_python": ("opyard._library.library", "defined_in_python"),
    "py_impl": ("opyard._library.py_impl", "py_impl"),
    "get_dispatch": ("opyard._library.py_impl", "get_dispatch"),
    "await_future": ("opyard.futures", "_await_future"),
    "concurrent_future": ("opyard.futures", "_concurrent_future"),
    "cancelled_error": ("concurrent.futures", "CancelledError"),
    "tag": ("opyard._core.tags", "tag_of"),
    "trace_gpu": ("opyard.gpu_trace", "_fire"),
    "format_tensor": ("opyard._tensor.formatting", "format_tensor"),
    "copy": ("opyard._tensor.copying", "copy"),
    "deepcopy": ("opyard._tensor.copying", "deepcopy"),
    "reduce": ("opyard._tensor.copying", "reduce"),
    "generator": ("opyard._core.generator", "from_capsule"),
    "layout_number": ("opyard._core.layout", "layout_number"),
    "get_item": ("opyard._tensor.indexing", "get_item"),
    "get_part": ("opyard._tensor.indexing", "get_part"),
    "answered_names": ("opyard._numpy.loading", "names"),
    "load_answers_for": ("opyard._numpy.loading", "load_for"),
    "load_packages_for": ("opyard._plugins.packages", "load_for"),
    "set_item": ("opyard._tensor.indexing", "set_item"),
    "get_gradient": ("opyard._autograd.tensors", "get"),
    "set_gradient": ("opyard._autograd.tensors", "set_"),
    "call_gradient": ("opyard._autograd.tensors", "call"),
    "trace_made": ("opyard._jit.reads", "trace_made"),
    "trace_read": ("opyard._jit.reads", "trace_read"),
    "find_mismatch": ("opyard._graphs", "find_mismatch"),
    "register_formula": ("opyard._autograd.registered", "register"),
    "formulas": ("opyard._gradients", "formulas"),
    "check_formulas": ("opyard._gradients", "check_formulas"),
}


def _late(name: str) -> "Callable":
    module, attribute = _LATE[name]

    def ask(*args: object, **kwargs: object) -> object:
        from ._core.late import imported

        hooks[name] = imported(module, attribute)
        return hooks[name](*args, **kwargs)

    return ask


hooks.update(
    {
        "packet": _ops.packet_of,
        "overload": _ops.overload_of,
        "aten": _ops.find_aten,
        "load_for": _ops.load_for,
        **{name: _late(name) for name in _LATE},
    }
)
