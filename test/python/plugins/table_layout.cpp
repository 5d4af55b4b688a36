// table_layout.cpp: frozen layouts of opyard/python.h that extension modules have compiled in. Nothing runs.
//
// When a line stops building, do not edit it: a function that moved or changed its signature breaks
// every extension that is out there. New functions go to the end, with a new line here and the new
// size; for whatever else changes raise kPythonTableVersion, and write the new layout down.
#include "opyard/python.h"

#include <cstddef>
#include <type_traits>

namespace opyard {

#define OPYARD_TABLE_AT(offset, name, ...)                                         \
  static_assert(offsetof(PythonTable, name) == (offset), "functions do not move"); \
  static_assert(std::is_same_v<decltype(PythonTable::name), __VA_ARGS__>,          \
                "functions do not change their signature")

using Self = const PythonTable*;
using Scope = PythonScope*;

static_assert(kPythonTableVersion == 2, "write down the layout of the new version");
static_assert(sizeof(PythonTable) == 168);
static_assert(sizeof(PythonScope) == 32);
static_assert(sizeof(PythonRun) == 80 && offsetof(PythonRun, input_count) == 32);
static_assert(offsetof(PythonRun, outlives_call) == 40 && offsetof(PythonRun, outputs) == 48);
static_assert(offsetof(PythonRun, run) == 64 && offsetof(PythonRun, context) == 72);
static_assert(std::is_standard_layout_v<PythonTable> && std::is_trivial_v<PythonTable>);

OPYARD_TABLE_AT(0, version, std::uint32_t);
OPYARD_TABLE_AT(4, bytes, std::uint32_t);
OPYARD_TABLE_AT(8, major, std::uint32_t);
OPYARD_TABLE_AT(12, minor, std::uint32_t);
OPYARD_TABLE_AT(16, interpreter, Interpreter*);
OPYARD_TABLE_AT(24, wrap_tensor, PyObject* (*)(Self, const Tensor*));
OPYARD_TABLE_AT(32, unwrap_tensor, const Tensor* (*)(Self, PyObject*));
OPYARD_TABLE_AT(40, to_value, int (*)(Self, const Type*, PyObject*, const char*, Value*));
OPYARD_TABLE_AT(48, from_value, PyObject* (*)(Self, const Type*, const Value*));
OPYARD_TABLE_AT(56, wrap_operator, PyObject* (*)(Self, const Operator*));
OPYARD_TABLE_AT(64, unwrap_operator, const Operator* (*)(Self, PyObject*));
OPYARD_TABLE_AT(72, wrap_keys, PyObject* (*)(Self, std::uint64_t));
OPYARD_TABLE_AT(80, unwrap_keys, int (*)(Self, PyObject*, std::uint64_t*));
OPYARD_TABLE_AT(88, enter, int (*)(Self, Scope));
OPYARD_TABLE_AT(96, leave, void (*)(Self, Scope));
OPYARD_TABLE_AT(104, release_gil, void (*)(Self, Scope));
OPYARD_TABLE_AT(112, acquire_gil, void (*)(Self, Scope));
OPYARD_TABLE_AT(120, begin_call, void (*)(Self, Scope));
OPYARD_TABLE_AT(128, end_call, int (*)(Self, Scope));
OPYARD_TABLE_AT(136, raise, void (*)(Self, const Error*));
OPYARD_TABLE_AT(144, take_exception, int (*)(Self, std::optional<Error>*));
OPYARD_TABLE_AT(152, drop, void (*)(Self, PyObject*));
OPYARD_TABLE_AT(160, call_run,
                PyObject* (*)(Self, const PythonRun*, PyObject* const*, std::size_t));

}  // namespace opyard
