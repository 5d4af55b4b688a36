// vtable/python_table.cpp: the table of functions for other extension modules.
//
// Each function finds the runtime through the table's tag. What it calls throws; what leaves is a
// null or -1 with a Python exception, or a status with this thread's error for what may be called
// without the GIL.
#include "vtable/python_table.h"

#include <atomic>
#include <memory>
#include <new>

#include "objects/convert/convert.h"
#include "objects/convert/require_value.h"
#include "objects/tensor/tensor.h"
#include "objects/values/key_set.h"
#include "operators/overload.h"
#include "operators/packet.h"
#include "opyard/detail/python/look_up.h"
#include "opyard/detail/python/stack_end.h"
#include "opyard/python.h"
#include "opyard/version.h"
#include "runtime/gil.h"
#include "runtime/types.h"
#include "runtime/warnings.h"
#include "vtable/run_call.h"

namespace opyard::python {
namespace {

constexpr const char* kTableName = "opyard._C.python_table";

Runtime& runtime_of(const PythonTable* self) noexcept {
  return *static_cast<Runtime*>(self->interpreter->context());
}

// What is left to be done is done at the end of the call that the extension is in, not here.
template <typename Result, typename Body>
Result border(Result failed, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const PythonErrorSet&) {
  } catch (const Error& error) {
    set_python_error(error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    set_exception(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "something was thrown that is no std::exception");
  }
  return failed;
}
template <typename Body>
PyObject* border(Body&& body) {
  return border<PyObject*>(nullptr, [&] { return body().release(); });
}

// A scope class of runtime/gil.h in the memory that the caller has for it.
template <typename Scope, typename... Arguments>
void begin(PythonScope* scope, Arguments&&... arguments) {
  static_assert(sizeof(Scope) <= sizeof(PythonScope) && alignof(Scope) <= alignof(PythonScope));
  new (scope) Scope(std::forward<Arguments>(arguments)...);
}
template <typename Scope>
void end(PythonScope* scope) {
  std::launder(reinterpret_cast<Scope*>(scope))->~Scope();
}

// ---- objects

PyObject* wrap_tensor(const PythonTable* self, const Tensor* tensor) {
  return border([&] { return wrap(runtime_of(self), *tensor); });
}

const Tensor* unwrap_tensor(const PythonTable* self, PyObject* object) {
  return border<const Tensor*>(nullptr, [&] {
    if (!is_tensor(runtime_of(self), object)) {
      fail(ErrorKind::BadArgument,
           std::string("expected a Tensor, not ") + Py_TYPE(object)->tp_name);
    }
    return &tensor_unchecked(object);
  });
}

int to_value(const PythonTable* self, const Type* type, PyObject* object, const char* what,
             Value* value) {
  return border(-1, [&] {
    *value = require_value(runtime_of(self), *type, object, what);
    return 0;
  });
}

PyObject* from_value(const PythonTable* self, const Type* type, const Value* value) {
  return border([&] {
    return to_python(runtime_of(self), type == nullptr ? *base_type(TypeKind::Any) : *type, *value);
  });
}

PyObject* wrap_operator(const PythonTable* self, const Operator* op) {
  return border([&] { return overload_object(runtime_of(self), *op); });
}

const Operator* unwrap_operator(const PythonTable* self, PyObject* object) {
  return border<const Operator*>(nullptr, [&] {
    if (!is_overload(runtime_of(self), object)) {
      fail(ErrorKind::BadArgument, std::string("expected an OpOverload, such as "
                                               "opyard.ops.aten.add.Tensor, not ") +
                                       Py_TYPE(object)->tp_name);
    }
    return &plan_of(object).op();
  });
}

PyObject* wrap_keys(const PythonTable* self, std::uint64_t keys) {
  return border([&] { return wrap(runtime_of(self), DispatchKeySet(DispatchKeySet::RAW, keys)); });
}

int unwrap_keys(const PythonTable* self, PyObject* object, std::uint64_t* keys) {
  return border(-1, [&] {
    *keys = to_key_set(runtime_of(self), object).raw();
    return 0;
  });
}

// ---- the GIL

int enter_scope(const PythonTable* self, PythonScope* scope) {
  return int(guarded([&] {
    Runtime& runtime = runtime_of(self);
    begin<HoldGil>(scope, runtime);
    if (__builtin_expect(!is_stack_at_its_end(), 1)) return;
    const Error error = to_error(runtime, Owned::steal(take_exception()));
    end<HoldGil>(scope);
    throw error;
  }));
}
void leave_scope(const PythonTable*, PythonScope* scope) { end<HoldGil>(scope); }

void release_gil(const PythonTable*, PythonScope* scope) { begin<ReleaseGil>(scope); }
void acquire_gil(const PythonTable*, PythonScope* scope) { end<ReleaseGil>(scope); }

// A call that an extension module begins, whose warnings wait until it ends it.
struct ForeignCall {
  ForeignCall(Runtime& runtime, std::uintptr_t frame) noexcept : called(runtime), border(frame) {}

  const CalledFromPython called;
  const ForeignBorder border;
};

void begin_call(const PythonTable* self, PythonScope* scope) {
  begin<ForeignCall>(scope, runtime_of(self),
                     reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa()));
}
int end_call(const PythonTable*, PythonScope* scope) {
  const std::uintptr_t frame = ForeignBorder::current();
  end<ForeignCall>(scope);
  return __builtin_expect(has_deferred_work(), 0) && !do_deferred_work(frame) ? -1 : 0;
}

// ---- errors and references

void raise(const PythonTable*, const Error* error) { set_python_error(*error); }

int take_exception_as_error(const PythonTable* self, std::optional<Error>* error) {
  PyObject* const exception = take_exception();
  if (exception == nullptr) return -1;
  *error = to_error(runtime_of(self), Owned::steal(exception));
  return 0;
}

void drop_object(const PythonTable* self, PyObject* object) {
  self->interpreter->decref(object, false);
}

// Tables are never freed, since extensions keep their addresses: all are in this list.
struct LinkedTable {
  PythonTable table;
  LinkedTable* next;
};
std::atomic<LinkedTable*> all_tables{nullptr};

constexpr PythonTable kPythonTable = {kPythonTableVersion,
                                      sizeof(PythonTable),
                                      OPYARD_VERSION_MAJOR,
                                      OPYARD_VERSION_MINOR,
                                      nullptr,
                                      wrap_tensor,
                                      unwrap_tensor,
                                      to_value,
                                      from_value,
                                      wrap_operator,
                                      unwrap_operator,
                                      wrap_keys,
                                      unwrap_keys,
                                      enter_scope,
                                      leave_scope,
                                      release_gil,
                                      acquire_gil,
                                      begin_call,
                                      end_call,
                                      raise,
                                      take_exception_as_error,
                                      drop_object,
                                      call_run};

}  // namespace

void add_python_table(Runtime& runtime, PyObject* module) {
  PyObject* const dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  OPYARD_CHECK(dict != nullptr, OutOfMemory, "the interpreter has no dictionary");
  Owned capsule = Owned::share(find_item(dict, kTableName));
  if (!capsule) {
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    auto made = std::make_unique<LinkedTable>(LinkedTable{kPythonTable, nullptr});
    made->table.interpreter = runtime.tag;
    capsule = checked(PyCapsule_New(&made->table, kTableName, nullptr));
    LinkedTable* const linked = made.release();
    linked->next = all_tables.load(std::memory_order_relaxed);
    while (!all_tables.compare_exchange_weak(linked->next, linked)) continue;
    if (PyDict_SetItemString(dict, kTableName, capsule.get()) < 0) throw PythonErrorSet();
  }
  if (PyModule_AddObjectRef(module, "python_table", capsule.get()) < 0) throw PythonErrorSet();
}

}  // namespace opyard::python
