// runtime/runtime.h: Runtime: the state of Opyard in one interpreter.
//
// One Runtime is made when `_C` is first imported into an interpreter and is never freed: C++
// objects may lead to it through the interpreter tag for ever. Each interpreter of a process has
// its own. If the module is imported again, because someone emptied sys.modules, it has the
// same runtime and the same types. It holds no static Python object; what it holds is borrowed
// from, or dropped with, the first module.
//
//   _C module state ── Runtime ── Interpreter tag (libopyard)
//                              ├─ gate, drop list
//                              └─ types, interned names, free list
//
// Threads: the Python members are used with this interpreter's GIL held; gate and drop list by
// anyone.
//
// Depends on: runtime/{python,gate,drop_list,owned}.h, interpreter/interpreter.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "opyard/interpreter/interpreter.h"
#include "opyard/tensor/dtype.h"
#include "runtime/drop_list.h"
#include "runtime/gate.h"
#include "runtime/owned.h"

namespace opyard::python {

struct ForeignState;
struct HandlerCalls;
struct LateTrace;
struct PythonKernelCalls;
struct TensorObject;

// Of a type: a number that no other type has had, see type_version().
using TypeVersion = std::uint64_t;

struct Runtime {
  // Its context is this runtime.
  Interpreter* tag = nullptr;
  std::string name;  // the tag's, for messages
  // Null once it has ended.
  std::atomic<PyInterpreterState*> interpreter{nullptr};
  bool is_main = false;  // pending calls run there
  Runtime* older = nullptr;
  Gate gate;
  DropList drops;

  // Drops a reference that C++ held, or puts it aside if too many are dying: see [Chains] in
  // runtime/drop_list.h. With the GIL held; runs finalisers.
  void drop_from_cpp(PyObject* object) noexcept {
    if (__builtin_expect(drop_depth == kDeepestDrop, 0)) {
      drops_put_aside = true;
      return drops.push(object);
    }
    ++drop_depth;
    drop_at_once(object);
    if (drop_depth == 1) {
      // Only what was put aside here: what finalisers add for others waits for the next entry, else
      // they could keep this thread for ever.
      while (__builtin_expect(drops_put_aside, 0)) {
        drops_put_aside = false;
        drops.drain([this](PyObject* next) { drop_at_once(next); });
      }
    }
    --drop_depth;
  }
  void drain_with_gil_held() noexcept {
    drops.drain([this](PyObject* object) { drop_from_cpp(object); });
  }

  void drop_at_once(PyObject* object) noexcept {
    if (before_drop != nullptr) before_drop(object);
    drop_reference(object);
  }

  // Called for a reference that a C++ object held and gives up, before it is dropped, with the GIL
  // held: see objects/tensor/tensor_life.cpp, [Keeping].
  void (*before_drop)(PyObject* object) noexcept = nullptr;

  // How direct calls reach Python kernels and handlers (operators/python_function.h). Set with the
  // types.
  const PythonKernelCalls* python_kernel_calls = nullptr;
  const HandlerCalls* handler_calls = nullptr;

  // Calls a method of a tensor with arguments by name (operators/method_names.h). Set with types.
  PyObject* (*call_method_by_names)(Runtime& runtime, PyObject* function, PyObject* const* args,
                                    std::size_t count, PyObject* names) = nullptr;
  static constexpr int kMostNumpyNames = 12;
  PyObject* numpy_names[kMostNumpyNames] = {};

  // The module that was imported first; the interpreter keeps it until the runtime ends. It is the
  // owner of what follows.
  PyObject* module = nullptr;
  // Heap types of _C; strong references.
  PyTypeObject* tensor_type = nullptr;
  PyTypeObject* tensor_meta_type = nullptr;
  PyTypeObject* overload_type = nullptr;
  PyTypeObject* packet_type = nullptr;
  PyTypeObject* name_space_type = nullptr;
  PyTypeObject* library_type = nullptr;
  PyTypeObject* call_next_type = nullptr;
  PyTypeObject* dtype_type = nullptr;
  PyTypeObject* device_type = nullptr;
  PyTypeObject* key_set_type = nullptr;
  PyTypeObject* future_type = nullptr;
  PyTypeObject* sym_node_type = nullptr;
  // Device events that wait to be told; see vtable/gpu_trace.cpp.
  std::atomic<LateTrace*> late_traces{nullptr};
  // SymInt, SymFloat and SymBool; null until the first one is wanted.
  PyObject* sym_types[3] = {};

  // Python functions and objects that opyard/__init__.py hands over with _C.configure(): a
  // dictionary of names; see require_hook() of runtime/hooks.h.
  PyObject* hooks = nullptr;
  // Classes of errors by name and names by class, see runtime/errors.cpp; null until the first one.
  PyObject* error_classes = nullptr;
  PyObject* error_names = nullptr;
  // Of handlers: the name "__opyard_dispatch__"; disabled_dispatch(), the handler of a class
  // without one; and the attribute in which a class keeps what is known about its handler.
  PyObject* handler_name = nullptr;
  PyObject* disabled_dispatch = nullptr;
  PyObject* cached_handler_name = nullptr;
  // The dictionary that handlers get for no keyword arguments, while no one else holds it.
  PyObject* empty_kwargs = nullptr;
  // A cache of that attribute by the class's address: borrowed, and valid while the type has this
  // version.
  struct CachedHandler {
    PyTypeObject* type = nullptr;
    TypeVersion version = 0;
    PyObject* cached = nullptr;
  };
  static constexpr std::size_t kCachedHandlers = 16;
  CachedHandler cached_handlers[kCachedHandlers];
  // The name "__del__".
  PyObject* del_name = nullptr;
  // A class that no one else looks anything up on, and how often its tag was found gone: where
  // CPython counts anew. See type_version().
  PyTypeObject* counted_type = nullptr;
  std::uint64_t counted_anew = 0;

  // dtype objects by code; null if a code is none.
  PyObject* dtypes[kDTypeCodes] = {};

  // Tensor wrappers that died, for the next ones; exact type only.
  static constexpr int kFreeListSize = 64;
  TensorObject* free_tensors[kFreeListSize] = {};
  int free_tensor_count = 0;
  int most_free_tensors = kFreeListSize;  // none once the module has ended

  // The type of what `t.relu` gives, and methods of it that died, for the next ones.
  PyTypeObject* bound_method_type = nullptr;
  static constexpr int kMostFreeMethods = 8;
  PyObject* free_methods[kMostFreeMethods] = {};
  int free_method_count = 0;
  int most_free_methods = kMostFreeMethods;  // none once the module has ended

  // What is known about arrays of other libraries (objects/arrays/foreign_kind.h).
  ForeignState* foreign = nullptr;

  // Packets behind Tensor's arithmetic, by AtenName (objects/tensor/aten.h); null until first used.
  static constexpr int kMostAtenPackets = 48;
  PyObject* aten_packets[kMostAtenPackets] = {};
  // Packets behind Tensor's methods: a dictionary by name, as of this state of the registry.
  PyObject* aten_methods = nullptr;
  std::uint64_t aten_methods_generation = 0;
};

// The runtime behind a heap type or module of _C.
inline Runtime& runtime_of(PyTypeObject* type) noexcept {
  return **static_cast<Runtime**>(PyType_GetModuleState(type));
}
inline Runtime& runtime_of_module(PyObject* module) noexcept {
  return **static_cast<Runtime**>(PyModule_GetState(module));
}

// The runtime of this interpreter: the one that keep_runtime() stored, or a new one, whose tag
// leads to this table. Raises Unsupported if it is ending.
Runtime& require_runtime(const InterpreterVTable& vtable);
// Lets require_runtime() find it: the types are complete. Throws PythonErrorSet.
void keep_runtime(Runtime& runtime);
// The runtime of the interpreter that this thread is in; for a thread that is in none that of the
// interpreter that was there first. Null if there is none. Any thread.
Runtime* find_runtime() noexcept;
// Of an interpreter; null if it has not imported the module.
Runtime* find_runtime(const PyInterpreterState* interpreter) noexcept;
// With this number (sys._getinterpreter's id); null if there is none.
Runtime* find_runtime_by_id(std::int64_t id) noexcept;
// Closes the gate and waits for those inside. With the GIL held, from atexit: Python code
// still runs afterwards, on this thread. Whether no other interpreter is open.
bool close_runtime(Runtime& runtime) noexcept;

// Whether this thread holds the GIL of this interpreter. Never blocks; false once Python is gone.
inline bool holds_gil(const Runtime& runtime) noexcept {
  PyThreadState* const attached = attached_thread_state();
  return attached != nullptr && PyThreadState_GetInterpreter(attached) ==
                                    runtime.interpreter.load(std::memory_order_acquire);
}

// Makes what type_version() needs. Throws PythonErrorSet.
void prepare_type_versions(Runtime& runtime);
// Notes that CPython gives the tags of types out again; whether tags can be trusted from now
// on.
bool count_types_anew(Runtime& runtime) noexcept;

// A number that no other type has had, and that changes whenever the type or a base of it does; 0
// if there is none at present. With the GIL held and no exception set.
inline TypeVersion type_version(Runtime& runtime, PyTypeObject* type) noexcept {
  if constexpr (kTypeTagsComeAgain) {
    const PyTypeObject* const counted = runtime.counted_type;
    if ((counted == nullptr || tag_of_type(counted) == 0) && !count_types_anew(runtime)) return 0;
    const TypeVersion tag = tag_of_type(type);
    return tag == 0 ? 0 : runtime.counted_anew << 32 | tag;
  }
  return tag_of_type(type);
}

}  // namespace opyard::python
