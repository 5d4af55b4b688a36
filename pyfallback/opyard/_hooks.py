"""Hooks: functions of Python that `_C`, and modules of this folder, ask for by name.

`_C.configure()` takes the dictionary.

Each of them imports the module that has the answer when it is first asked, and puts the function
itself in its place. `_C` looks the name up each time, so later calls go straight there. The list is
opyard/detail/doors.def; docs/concepts/layers.md says what each of them gives.
"""

from ._core import hooks
from ._core import ops as _ops

TYPE_CHECKING = False  # as in _ops
if TYPE_CHECKING:
    from collections.abc import Callable

# The functions that are imported when they are first asked for.
# Made by tools/doors.py.
_LATE = {
    "packet": ("opyard._core.ops", "packet_of"),
    "overload": ("opyard._core.ops", "overload_of"),
    "aten": ("opyard._core.ops", "find_aten"),
    "load_for": ("opyard._core.ops", "load_for"),
    "DispatchKey": ("opyard._core.keys", "DispatchKey"),
    "Layout": ("opyard._core.layout", "Layout"),
    "SymBool": ("opyard._tensor.symbolic", "SymBool"),
    "SymFloat": ("opyard._tensor.symbolic", "SymFloat"),
    "SymInt": ("opyard._tensor.symbolic", "SymInt"),
    "schema": ("opyard.schema", "parse"),
    "field_values": ("opyard._library.annotations", "field_values"),
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
    "missing_attribute": ("opyard._tensor.methods", "missing"),
    "dir_tensor": ("opyard._tensor.methods", "names"),
    "list_tensor": ("opyard._tensor.methods", "listed"),
    "array_tensor": ("opyard._tensor.methods", "as_array"),
    "answer_ufunc": ("opyard._tensor.ufuncs", "answer"),
    "answer_function": ("opyard._array_api.numpy_functions", "answer"),
    "array_namespace": ("opyard._array_api.info", "namespace_of"),
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
    "why_not_answered": ("opyard._numpy.loading", "why_not"),
    "load_packages_for": ("opyard._plugins.packages", "load_for"),
    "set_item": ("opyard._tensor.indexing", "set_item"),
    "get_gradient": ("opyard._autograd.tensors", "get"),
    "set_gradient": ("opyard._autograd.tensors", "set_"),
    "call_gradient": ("opyard._autograd.tensors", "call"),
    "trace_made": ("opyard._jit.reads", "trace_made"),
    "trace_read": ("opyard._jit.reads", "trace_read"),
    "compile_graph": ("opyard.jit", "compile"),
    "scope_reader": ("opyard._jit.scopes", "reader"),
    "parse_operator_file": ("opyard._graphs", "parse_operator_file"),
    "typed_calls_header": ("opyard._graphs", "typed_calls_header"),
    "find_mismatch": ("opyard._graphs", "find_mismatch"),
    "register_formula": ("opyard._autograd.registered", "register"),
    "registered_backward": ("opyard._autograd.registered", "backward_of"),
    "formulas": ("opyard._gradients", "formulas"),
    "find_graph_faults": ("opyard._jit.graph_check", "find_faults"),
    "check_formulas": ("opyard._gradients", "check_formulas"),
}
# End of it.


def _late(name: str) -> "Callable":
    module, attribute = _LATE[name]

    def ask(*args: object, **kwargs: object) -> object:
        from ._core.late import imported

        hooks[name] = imported(module, attribute)
        return hooks[name](*args, **kwargs)

    return ask


# Kept for ever: one thread may be calling it while another has it replaced.
_asking = {name: _late(name) for name in _LATE}
hooks.update(_asking)
# The first call of an operator asks these, and their module is imported already.
hooks.update(
    packet=_ops.packet_of, overload=_ops.overload_of, aten=_ops.find_aten, load_for=_ops.load_for
)
