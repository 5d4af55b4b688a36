// objects/arrays/foreign_kind.h: protocols of foreign array types, cached.
//
// Made with the first import of `_C` and never freed, as the Runtime is that leads to it.
// Everything with the GIL held.
//
// Depends on: objects/arrays/beyond_memory.h, tensor/dlpack_exchange.h.
#pragma once

#include "runtime/runtime.h"

#include <array>
#include <cstdint>

#include "objects/arrays/beyond_memory.h"
#include "opyard/tensor/dlpack_exchange.h"

namespace opyard::python {

// How arrays of a type come in, the first that it offers.
enum class ForeignWay : std::uint8_t {
  None,    // it is no type of arrays
  Table,   // by the C functions of its exchange table
  Method,  // by __dlpack__
  Buffer,  // by the buffer protocol
};

// How tensors become arrays of a type.
enum class ForeignReturn : std::uint8_t {
  Tensor,     // they stay tensors of ours
  Table,      // by its exchange table
  NumPy,      // numpy.asarray
  FromDLPack  // from_dlpack of its array namespace or package
};

// Such a way as messages call it: "its exchange table".
const char* name_of(ForeignWay way) noexcept;

struct ExportedOrTaken;
struct ForeignKind;
// For an object that is no array, as a library's resolve_conj() may give. Raises BadValue.
ExportedOrTaken refuse_way(Runtime& runtime, const ForeignKind& kind, PyObject* object);

struct ForeignKind {
  ForeignWay way = ForeignWay::None;
  // An array as a tensor that owns what it needs: objects/arrays/exported_array.h.
  ExportedOrTaken (*take)(Runtime& runtime, const ForeignKind& kind, PyObject* array) = refuse_way;
  ForeignReturn result = ForeignReturn::Tensor;
  const dlpack::DLPackExchangeAPI* table = nullptr;
  bool by_buffer =
      false;  // for the length of a call its buffer will do; see objects/arrays/exported_array.h
  bool is_ours = false;  // opyard.Tensor and its subclasses, which offer all of this to others
  const BeyondMemory* beyond = nullptr;  // what has to be asked besides; null for nothing
};

struct ExportedArray;

struct ForeignState {
  // What was found out about types, by their addresses: good while a type has this version, which
  // no other type gets. So nothing has to be held, and nothing is believed of a type that died or
  // changed.
  struct Known {
    PyTypeObject* type = nullptr;
    TypeVersion version = 0;
    ForeignKind kind;
  };
  static constexpr std::size_t kKnownTypes = 64;
  std::array<Known, kKnownTypes> known{};

  // "__dlpack_c_exchange_api__", its older name, "__dlpack__"; the arguments of that call
  PyObject* table_name = nullptr;
  PyObject* older_table_name = nullptr;
  PyObject* method_name = nullptr;
  PyObject* numpy_name = nullptr;     // "numpy"
  PyObject* asarray_name = nullptr;   // "asarray"
  PyObject* version = nullptr;        // (1, 0)
  PyObject* version_names = nullptr;  // ("max_version",)

  // "requires_grad", "is_conj", "is_neg"; what is asked, and packages, the newest first. See
  // objects/arrays/beyond_memory.h.
  PyObject* requires_grad_name = nullptr;
  PyObject* is_conj_name = nullptr;
  PyObject* is_neg_name = nullptr;
  const BeyondMemory* beyond_memory = nullptr;
  GradientLibrary* gradient_libraries = nullptr;

  // NumPy's functions for C, if it has been looked for and was found; see
  // objects/tensor/numpy_functions.h. They stay, as NumPy does.
  void* const* numpy_functions = nullptr;
  bool numpy_looked_for = false;

  // Keepers that died, for the next ones; see objects/arrays/dlpack_keeper.h.
  PyTypeObject* keeper_type = nullptr;
  static constexpr int kFreeListSize = 64;
  std::array<PyObject*, kFreeListSize> free_keepers{};
  int free_keeper_count = 0;
  int most_free_keepers = kFreeListSize;  // none once the module has ended
  // Exports that ended, likewise; see objects/arrays/exported_array.h.
  static constexpr int kMostFreeExports = 32;
  std::array<ExportedArray*, kMostFreeExports> free_exports{};
  int free_export_count = 0;
  int most_free_exports = kMostFreeExports;
};

// Where what is known of a type is cached.
inline ForeignState::Known& place_of(ForeignState& state, const PyTypeObject* type) noexcept {
  constexpr std::size_t kTypeSize = 512;  // types are about so far apart
  return state
      .known[reinterpret_cast<std::uintptr_t>(type) / kTypeSize % ForeignState::kKnownTypes];
}

// For a type that is not in its place: finds out what it offers, and keeps it. Throws as
// foreign_kind_of() does.
OPYARD_COLD ForeignKind find_foreign_kind(Runtime& runtime, PyTypeObject* type);

// What arrays of a type offer. Throws RefusedArray if the type
// offers a capsule that is no table, and what binding an attribute raises.
inline ForeignKind foreign_kind_of(Runtime& runtime, PyTypeObject* type) {
  const ForeignState::Known& near = place_of(*runtime.foreign, type);
  const TypeVersion version = type_version(runtime, type);
  if (__builtin_expect(near.type == type && near.version == version && version != 0, 1)) {
    return near.kind;
  }
  return find_foreign_kind(runtime, type);
}

// Makes the state of the interpreter. Throws PythonErrorSet.
void prepare_foreign_arrays(Runtime& runtime);

}  // namespace opyard::python
