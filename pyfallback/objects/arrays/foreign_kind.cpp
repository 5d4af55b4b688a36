// objects/arrays/foreign_kind.cpp: protocols of a type of arrays, looked up once.
//
// All is looked up on the type, as Python does with its own double-underscore methods, and once:
// the answer is cached by the type's address and version. The exchange table is the exception that
// the specification makes: it is an attribute of the type object, so a descriptor there is bound.
#include "objects/arrays/foreign_kind.h"

#include "objects/arrays/dlpack_keeper.h"
#include "objects/arrays/exported_array.h"
#include "objects/arrays/numpy_types.h"
#include "objects/values/refusals.h"
#include "opyard/detail/python/clear.h"
#include "runtime/types.h"

#include <memory>

namespace opyard::python {
namespace {

constexpr const char* kTableCapsule = "dlpack_exchange_api";

bool is_number_or_text(PyTypeObject* type) noexcept {
  return PyType_HasFeature(type, Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_UNICODE_SUBCLASS) != 0 ||
         PyType_IsSubtype(type, &PyFloat_Type) != 0 ||
         PyType_IsSubtype(type, &PyComplex_Type) != 0 || is_of_numpy(type, "numpy.generic");
}

// The first table of our major version in a chain; null if there is none.
const dlpack::DLPackExchangeAPI* table_of_our_version(const void* first) noexcept {
  constexpr int kMost = 16;  // a chain that is longer is a ring
  const auto* header = static_cast<const dlpack::DLPackExchangeAPIHeader*>(first);
  for (int i = 0; i < kMost && header != nullptr; ++i, header = header->prev_api) {
    if (header->version.major != dlpack::kMajorVersion) continue;
    const auto* const table = reinterpret_cast<const dlpack::DLPackExchangeAPI*>(header);
    return table->managed_tensor_from_py_object_no_sync == nullptr ? nullptr : table;
  }
  return nullptr;
}

// The table that a type has under this name, or null. Only a capsule is a table: None means that
// there is none, and a number cannot be told to be an address.
const dlpack::DLPackExchangeAPI* find_table(Runtime& runtime, PyTypeObject* type, PyObject* name) {
  PyObject* const found = lookup_on_type(type, name);
  if (found == nullptr) return nullptr;
  Owned capsule = Owned::share(found);
  if (!PyCapsule_CheckExact(found)) {
    capsule = require(runtime, PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name));
    if (!PyCapsule_CheckExact(capsule.get())) return nullptr;
  }
  if (PyCapsule_IsValid(capsule.get(), kTableCapsule) == 0) {
    const char* const given = PyCapsule_GetName(capsule.get());
    if (given == nullptr) clear_if(PyExc_ValueError);  // a capsule may have no name
    throw RefusedArray(Error(ErrorKind::BadArgument, std::string(require_text(name, "a name")) +
                                                         " of the type " + type->tp_name +
                                                         " is a capsule named '" +
                                                         (given == nullptr ? "" : given) +
                                                         "'; accepted is '" + kTableCapsule + "'"));
  }
  return table_of_our_version(PyCapsule_GetPointer(capsule.get(), kTableCapsule));
}

bool offers_method(const ForeignState& state, PyTypeObject* type) noexcept {
  PyObject* const method = lookup_on_type(type, state.method_name);
  return method != nullptr && method != Py_None;
}

bool offers_buffer(PyTypeObject* type) noexcept {
  return type->tp_as_buffer != nullptr && type->tp_as_buffer->bf_getbuffer != nullptr;
}

OPYARD_COLD ForeignKind find_kind(Runtime& runtime, PyTypeObject* type) {
  const ForeignState& state = *runtime.foreign;
  ForeignKind kind;
  if (is_number_or_text(type)) return kind;
  if (is_masked(type)) {
    throw RefusedArray(Error(ErrorKind::BadArgument, kWhyNotMasked));
  }
  kind.table = find_table(runtime, type, state.table_name);
  if (kind.table == nullptr) kind.table = find_table(runtime, type, state.older_table_name);
  const bool is_array_of_numpy = is_of_numpy(type, "numpy.ndarray");
  if (kind.table != nullptr) {
    kind.way = ForeignWay::Table;
    kind.take = export_from_table;
  } else if (offers_method(state, type)) {
    kind.way = ForeignWay::Method;
    kind.take = is_array_of_numpy ? export_of_numpy : export_from_method;
  } else if (offers_buffer(type)) {
    kind.way = ForeignWay::Buffer;
    kind.take = export_from_buffer;
  }
  kind.by_buffer =
      kind.way == ForeignWay::Buffer || (kind.way == ForeignWay::Method && is_numpys_own(type));
  if (is_array_of_numpy) {
    kind.result = ForeignReturn::NumPy;
  } else if (kind.way == ForeignWay::Table &&
             kind.table->managed_tensor_to_py_object_no_sync != nullptr) {
    kind.result = ForeignReturn::Table;
  } else if (kind.way == ForeignWay::Table || kind.way == ForeignWay::Method) {
    kind.result = ForeignReturn::FromDLPack;
  }
  return kind;
}

Owned intern(const char* name) { return checked(PyUnicode_InternFromString(name)); }

}  // namespace

const char* name_of(ForeignWay way) noexcept {
  switch (way) {
    case ForeignWay::Table:
      return "its exchange table";
    case ForeignWay::Method:
      return "its __dlpack__";
    case ForeignWay::Buffer:
    case ForeignWay::None:
      break;
  }
  return "its buffer";
}

ExportedOrTaken refuse_way(Runtime&, const ForeignKind&, PyObject* object) {
  fail(ErrorKind::BadValue, std::string("its library gave an object of type '") +
                                Py_TYPE(object)->tp_name + "' for its elements, which is no array");
}

ForeignKind find_foreign_kind(Runtime& runtime, PyTypeObject* type) {
  // Looking up may give the type its version, and binding a table may run Python code that changes
  // it.
  lookup_on_type(type, runtime.foreign->table_name);
  const TypeVersion before = type_version(runtime, type);
  ForeignKind kind = find_kind(runtime, type);
  kind.is_ours = PyType_IsSubtype(type, runtime.tensor_type) != 0;
  if (kind.way != ForeignWay::None && !kind.is_ours)
    kind.beyond = find_beyond_memory(runtime, type);
  if (before != 0 && before == type_version(runtime, type)) {
    place_of(*runtime.foreign, type) = {type, before, kind};
  }
  return kind;
}

void prepare_foreign_arrays(Runtime& runtime) {
  if (runtime.foreign != nullptr) return;
  auto state = std::make_unique<ForeignState>();
  state->table_name = intern("__dlpack_c_exchange_api__").release();
  state->older_table_name = intern("__c_dlpack_exchange_api__").release();
  state->method_name = intern("__dlpack__").release();
  state->requires_grad_name = intern("requires_grad").release();
  state->is_conj_name = intern("is_conj").release();
  state->is_neg_name = intern("is_neg").release();
  state->numpy_name = intern("numpy").release();
  state->asarray_name = intern("asarray").release();
  state->version =
      checked(Py_BuildValue("(II)", dlpack::kMajorVersion, dlpack::kMinorVersion)).release();
  state->version_names = checked(PyTuple_Pack(1, intern("max_version").get())).release();
  runtime.foreign = state.release();
  add_keeper_type(runtime);
}

}  // namespace opyard::python
