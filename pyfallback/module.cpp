// module.cpp: the extension module opyard._C.
//
// Multi-phase initialisation with a module state of one pointer, the Runtime. The package
// calls configure() with the Python functions that the types call, and registers close() with
// atexit. A module that is imported again shares the runtime of the first, and owns nothing.
#include "opyard/detail/python/python.h"

#include <frameobject.h>

#include <string>
#include <utility>

#include "kernels/handlers.h"
#include "kernels/modes.h"
#include "kernels/next_kernel.h"
#include "kernels/python_dispatcher.h"
#include "kernels/python_kernel.h"
#include "kernels/thread_context.h"
#include "objects/arrays/dlpack_keeper.h"
#include "objects/arrays/foreign_array.h"
#include "objects/arrays/foreign_kind.h"
#include "objects/convert/future.h"
#include "objects/convert/tensor_wrapper.h"
#include "objects/tensor/leak_check.h"
#include "objects/tensor/tensor.h"
#include "objects/tensor/tensor_functions.h"
#include "objects/values/dtype.h"
#include "objects/values/key_set.h"
#include "objects/values/symbolic.h"
#include "operators/method_names.h"
#include "operators/name_space.h"
#include "operators/op_caller.h"
#include "operators/overload.h"
#include "operators/packet.h"
#include "opyard/base/warning.h"
#include "opyard/detail/interpreter/main_interpreter.h"
#include "opyard/inspect/inspect.h"
#include "opyard/keys/local.h"
#include "opyard/registry/registry.h"
#include "opyard/schema/parse.h"
#include "registering/callbacks.h"
#include "registering/finder.h"
#include "registering/library.h"
#include "runtime/file_errors.h"
#include "runtime/gil.h"
#include "runtime/late_warnings.h"
#include "runtime/newer_python.h"
#include "runtime/types.h"
#include "runtime/warnings.h"
#include "vtable/gpu_trace.h"
#include "vtable/python_table.h"
#include "vtable/vtable.h"

namespace opyard::python {
namespace {

// configure(hooks): a dictionary of Python objects that the types of _C use, by name. Gives whether
// it is the first one, so that close() must be registered.
PyObject* configure(PyObject* module, PyObject* hooks) {
  return enter_from_python([&]() -> PyObject* {
    if (!PyDict_Check(hooks)) fail(ErrorKind::BadArgument, "configure() takes a dictionary");
    Runtime& runtime = runtime_of_module(module);
    const bool is_first = runtime.hooks == nullptr;
    Py_INCREF(hooks);
    Py_XSETREF(runtime.hooks, hooks);
    return PyBool_FromLong(is_first ? 1 : 0);
  });
}

// close(): the interpreter is about to end; native threads are turned away from now on.
PyObject* close(PyObject* module, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    Runtime& runtime = runtime_of_module(module);
    if (leak_check != nullptr) take_back_libraries(runtime);
    if (!runtime.is_main) leave_modes_of(runtime);  // the thread goes on in another one
    if (close_runtime(runtime)) set_warning_handler(nullptr);
    Py_RETURN_NONE;
  });
}

// dispatch_keys(): [(name, number), …] of every dispatch key.
PyObject* dispatch_keys(PyObject*, PyObject*) {
  return enter_from_python([&] {
    Owned list = checked(PyList_New(0));
    for (const DispatchKey key : all_dispatch_keys()) {
      if (key == DispatchKey::ThreadEntry) continue;
      const Owned pair = checked(Py_BuildValue("si", to_string(key).c_str(), int(key)));
      if (PyList_Append(list.get(), pair.get()) < 0) throw PythonErrorSet();
    }
    return list.release();
  });
}

// local_keys(): (include, exclude) of this thread.
PyObject* get_local_keys(PyObject* module, PyObject*) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    const LocalKeys keys = local_keys();
    const Owned include = wrap(runtime, keys.include);
    const Owned exclude = wrap(runtime, keys.exclude);
    return PyTuple_Pack(2, include.get(), exclude.get());
  });
}

// set_local_keys(include, exclude)
PyObject* put_local_keys(PyObject* module, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* include = nullptr;
    PyObject* exclude = nullptr;
    if (PyArg_ParseTuple(args, "OO", &include, &exclude) == 0) throw PythonErrorSet();
    const Runtime& runtime = runtime_of_module(module);
    set_local_keys({to_key_set(runtime, include), to_key_set(runtime, exclude)});
    Py_RETURN_NONE;
  });
}

// put_back_keys(include, to_include, exclude, to_exclude): of the keys in `include` those in
// `to_include` are in the include set from now on, likewise for the exclude set; others stay. Needs
// no memory: the end of a with block calls it.
PyObject* put_back_keys(PyObject* module, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* given[4] = {};
    if (PyArg_ParseTuple(args, "OOOO", &given[0], &given[1], &given[2], &given[3]) == 0) {
      throw PythonErrorSet();
    }
    const Runtime& runtime = runtime_of_module(module);
    std::uint64_t bits[4] = {};
    for (int i = 0; i < 4; ++i) bits[i] = to_key_set(runtime, given[i]).raw();
    const LocalKeys keys = local_keys();
    const auto changed = [](DispatchKeySet set, std::uint64_t which, std::uint64_t to) {
      return DispatchKeySet(DispatchKeySet::RAW, (set.raw() & ~which) | (to & which));
    };
    set_local_keys(
        {changed(keys.include, bits[0], bits[1]), changed(keys.exclude, bits[2], bits[3])});
    Py_RETURN_NONE;
  });
}

// tensor_keys(tensor): the key set a tensor adds to a call.
PyObject* tensor_keys(PyObject* module, PyObject* object) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    if (!is_tensor(runtime, object)) {
      fail(ErrorKind::BadArgument,
           std::string("expected a Tensor, not ") + Py_TYPE(object)->tp_name);
    }
    return wrap(runtime, tensor_unchecked(object).keys()).release();
  });
}

// packet(name): a new packet for "ns::name".
PyObject* new_packet(PyObject* module, PyObject* name) {
  return enter_from_python([&] {
    return make_packet(runtime_of_module(module),
                       std::string(require_text(name, "an operator name")))
        .release();
  });
}

// overloads(name): the overloads defined for "ns::name", "" for the unnamed one.
PyObject* overloads(PyObject*, PyObject* name) {
  return enter_from_python([&] {
    Owned list = checked(PyList_New(0));
    for (const std::string& overload : inspect::overloads(require_text(name, "an operator name"))) {
      if (PyList_Append(list.get(), to_text(overload).get()) < 0) throw PythonErrorSet();
    }
    return list.release();
  });
}

// dump_table(name, number): the table of an operator as the interpreter with this number sees it.
PyObject* dump_table(PyObject*, PyObject* args) {
  return enter_from_python([&] {
    const char* name = nullptr;
    long long number = 0;
    if (PyArg_ParseTuple(args, "sL", &name, &number) == 0) throw PythonErrorSet();
    const Runtime* const runtime = find_runtime_by_id(number);
    OPYARD_CHECK(runtime != nullptr, NotFound,
                 "no interpreter with the number " + std::to_string(number) +
                     " has imported opyard in this process");
    return to_text(inspect::dump_table(parse_operator_name(name), runtime->tag)).release();
  });
}

// set_warn_always(flag) -> the former one
PyObject* put_warn_always(PyObject*, PyObject* flag) {
  return enter_from_python([&] {
    const int always = PyObject_IsTrue(flag);
    if (always < 0) throw PythonErrorSet();
    return PyBool_FromLong(set_warn_always(always != 0) ? 1 : 0);
  });
}

// A Python class for errors that C++ names: see [User classes] in runtime/errors.cpp.
PyObject* register_error(PyObject* module, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* name = nullptr;
    PyObject* type = nullptr;
    if (PyArg_ParseTuple(args, "UO", &name, &type) == 0) throw PythonErrorSet();
    put_error_class(runtime_of_module(module), name, type);
    Py_RETURN_NONE;
  });
}

// caller_of(frame) -> frame or None. As frame.f_back, which gives None with MemoryError set if
// there is no memory for the frame: what runs next is blamed for it.
PyObject* caller_of_frame(PyObject*, PyObject* frame) {
  return enter_from_python([&]() -> PyObject* {
    if (!PyFrame_Check(frame)) {
      fail(ErrorKind::BadArgument,
           std::string("caller_of() takes a frame, not ") + Py_TYPE(frame)->tp_name);
    }
    PyFrameObject* const caller = PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame));
    if (caller != nullptr) return reinterpret_cast<PyObject*>(caller);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    Py_RETURN_NONE;
  });
}

PyMethodDef module_functions[] = {
    {"configure", configure, METH_O, "configure(hooks) -> bool"},
    {"close", close, METH_NOARGS, "close()"},
    {"dispatch_keys", dispatch_keys, METH_NOARGS, "dispatch_keys() -> [(name, number)]"},
    {"local_keys", get_local_keys, METH_NOARGS, "local_keys() -> (include, exclude)"},
    {"set_local_keys", put_local_keys, METH_VARARGS, "set_local_keys(include, exclude)"},
    {"put_back_keys", put_back_keys, METH_VARARGS,
     "put_back_keys(include, to_include, exclude, to_exclude)"},
    {"tensor_keys", tensor_keys, METH_O, "tensor_keys(tensor) -> DispatchKeySet"},
    {"packet", new_packet, METH_O, "packet(name) -> OpOverloadPacket"},
    {"set_warn_always", put_warn_always, METH_O, "set_warn_always(flag) -> bool"},
    {"dump_table", dump_table, METH_VARARGS, "dump_table(name, interpreter) -> str"},
    {"register_error", register_error, METH_VARARGS, "register_error(name, class)"},
    {"overloads", overloads, METH_O, "overloads(name) -> [str]"},
    {"caller_of", caller_of_frame, METH_O, "caller_of(frame) -> frame or None"},
    {nullptr, nullptr, 0, nullptr}};

int execute(PyObject* module) {
  return enter_from_python(-1, [&] {
    if (OPYARD_KNOWS_THIS_PYTHON == 0) meet_newer_python(failed_layout_check());
    Runtime& runtime = require_runtime(python_vtable);
    begin_leak_check();
    if (leak_check != nullptr) runtime.most_free_tensors = 0;
    if (runtime.module == nullptr) runtime.module = module;
    *static_cast<Runtime**>(PyModule_GetState(module)) = &runtime;
    add_key_set_type(runtime, module);
    add_dtype_type(runtime, module);
    add_device_type(runtime, module);
    prepare_foreign_arrays(runtime);
    add_tensor_type(runtime, module);
    add_wrapper_method(runtime);
    add_overload_type(runtime, module);
    add_packet_type(runtime, module);
    add_name_space_type(runtime, module);
    add_library_type(runtime, module);
    add_op_caller_type(module);
    add_call_next_type(runtime, module);
    add_future_type(runtime, module);
    add_sym_node_type(runtime, module);
    for (PyMethodDef* const more :
         {tensor_functions, callback_functions, future_functions, symbolic_functions,
          handler_functions, mode_functions, thread_context_functions, python_dispatcher_functions,
          trace_functions}) {
      if (PyModule_AddFunctions(module, more) < 0) throw PythonErrorSet();
    }
    prepare_handlers(runtime, module);
    runtime.python_kernel_calls = &python_kernel_calls;
    runtime.handler_calls = &handler_calls;
    prepare_method_names(runtime);
    runtime.call_method_by_names = &call_method_by_names;
    set_warning_handler(warn_in_python);
    NamedError::set_raise(raise_named_error);
    FileError::set_raise(raise_file_error);
    set_late_warning_handler(warn_late_in_python);
    offer_gil();
    offer_finder();
    add_python_table(runtime, module);
    offer_main_interpreter(runtime.tag);
    keep_runtime(runtime);
    return 0;
  });
}

// Every Python reference of a runtime.
template <typename Visit>
int each_reference(Runtime& runtime, const Visit& visit) {
  for (PyTypeObject** type :
       {&runtime.tensor_type, &runtime.tensor_meta_type, &runtime.overload_type,
        &runtime.packet_type, &runtime.name_space_type, &runtime.library_type, &runtime.dtype_type,
        &runtime.device_type, &runtime.key_set_type, &runtime.future_type, &runtime.sym_node_type,
        &runtime.call_next_type, &runtime.counted_type, &runtime.bound_method_type}) {
    if (const int stop = visit(reinterpret_cast<PyObject*&>(*type))) return stop;
  }
  for (PyObject*& dtype : runtime.dtypes) {
    if (const int stop = visit(dtype)) return stop;
  }
  for (PyObject*& type : runtime.sym_types) {
    if (const int stop = visit(type)) return stop;
  }
  for (PyObject*& packet : runtime.aten_packets) {
    if (const int stop = visit(packet)) return stop;
  }
  for (PyObject*& name : runtime.numpy_names) {
    if (const int stop = visit(name)) return stop;
  }
  for (PyObject** more :
       {&runtime.aten_methods, &runtime.error_classes, &runtime.error_names, &runtime.handler_name,
        &runtime.del_name, &runtime.disabled_dispatch, &runtime.cached_handler_name}) {
    if (const int stop = visit(*more)) return stop;
  }
  if (ForeignState* const foreign = runtime.foreign) {
    for (PyObject** more :
         {&foreign->table_name, &foreign->older_table_name, &foreign->method_name,
          &foreign->numpy_name, &foreign->asarray_name, &foreign->version, &foreign->version_names,
          &foreign->requires_grad_name, &foreign->is_conj_name, &foreign->is_neg_name}) {
      if (const int stop = visit(*more)) return stop;
    }
    PyTypeObject** const type = &foreign->keeper_type;
    if (const int stop = visit(reinterpret_cast<PyObject*&>(*type))) return stop;
  }
  return visit(runtime.hooks);
}

// The runtime whose references the module owns, or null.
Runtime* owned_by(PyObject* module) {
  auto* const state = static_cast<Runtime**>(PyModule_GetState(module));
  return state != nullptr && *state != nullptr && (*state)->module == module ? *state : nullptr;
}

int traverse_module(PyObject* module, visitproc visit, void* arg) {
  Runtime* const runtime = owned_by(module);
  if (runtime == nullptr) return 0;
  // Memory of dead objects that waits for new ones keeps its type.
  for (int n = 0; n < runtime->free_tensor_count; ++n) Py_VISIT(runtime->tensor_type);
  for (int n = 0; n < runtime->free_method_count; ++n) Py_VISIT(runtime->bound_method_type);
  if (const ForeignState* const foreign = runtime->foreign) {
    for (int n = 0; n < foreign->free_keeper_count; ++n) Py_VISIT(foreign->keeper_type);
  }
  return each_reference(
      *runtime, [&](PyObject*& object) { return object == nullptr ? 0 : visit(object, arg); });
}

// What is there of arrays when the interpreter has ended: what comes back later is freed, and
// nothing is cached.
constinit ForeignState ended_foreign_state = [] {
  ForeignState state;
  state.most_free_keepers = 0;
  state.most_free_exports = 0;
  return state;
}();

// For the collector, when the interpreter has let go of the module and no object of its types is
// reached from anywhere: each keeps its type, and a type its module. All finalisers have run by
// then.
int clear_module(PyObject* module) {
  Runtime* const runtime = owned_by(module);
  if (runtime == nullptr || runtime->foreign == &ended_foreign_state) return 0;
  runtime->before_drop = nullptr;
  drop_tensor_caches(*runtime);
  if (runtime->foreign != nullptr) {
    drop_keepers(*runtime);
    drop_beyond_memory(*runtime);
  }
  each_reference(*runtime, [](PyObject*& object) {
    Py_CLEAR(object);
    return 0;
  });
  delete std::exchange(runtime->foreign, &ended_foreign_state);
  return 0;
}

PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, slot(execute)},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "opyard._C",
                          "The types and functions of Opyard that are written in C++.",
                          sizeof(Runtime*),
                          module_functions,
                          module_slots,
                          traverse_module,
                          clear_module,
                          nullptr};

}  // namespace
}  // namespace opyard::python

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__C() {
  return PyModuleDef_Init(&opyard::python::definition);
}
