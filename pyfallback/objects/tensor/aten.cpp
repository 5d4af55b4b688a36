// objects/tensor/aten.cpp: cached packets of common aten operators.
#include "objects/tensor/aten.h"

#include <algorithm>
#include <array>
#include <string>

#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

constexpr const char* kNames[] = {
#define OPYARD_ATEN_NAME(name) #name,
#include "objects/tensor/aten_names.def"
#undef OPYARD_ATEN_NAME
};

constexpr std::size_t kMostOperands = 5;

OPYARD_COLD PyObject* look_up(Runtime& runtime, AtenName name) {
  const char* const text = name_of(name);
  Owned packet = find_aten(runtime, to_text(text).get());
  if (!packet) {
    fail(ErrorKind::NotFound, std::string("the operator aten::") + text +
                                  " is needed here, and no library that is loaded defines it");
  }
  PyObject*& cached = runtime.aten_packets[std::size_t(name)];
  if (cached == nullptr) cached = packet.release();
  return cached;
}

}  // namespace

const char* name_of(AtenName name) noexcept { return kNames[std::size_t(name)]; }

Owned find_aten(Runtime& runtime, PyObject* name) {
  PyObject* const find = require_hook(runtime, hook::aten);
  Owned packet = checked(PyObject_CallOneArg(find, name));
  return packet.get() == Py_None ? Owned() : std::move(packet);
}

Owned call_aten(Runtime& runtime, AtenName name, std::initializer_list<PyObject*> args) {
  PyObject* packet = runtime.aten_packets[std::size_t(name)];
  if (__builtin_expect(packet == nullptr, 0)) packet = look_up(runtime, name);
  // One free place before the arguments, as the vectorcall protocol offers it to the callee.
  std::array<PyObject*, kMostOperands + 1> places{};
  OPYARD_ASSERT(args.size() <= kMostOperands);
  std::copy(args.begin(), args.end(), places.begin() + 1);
  return checked(PyObject_Vectorcall(packet, places.data() + 1,
                                     args.size() | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

void drop_aten_packets(Runtime& runtime) noexcept {
  for (PyObject*& packet : runtime.aten_packets) Py_CLEAR(packet);
  Py_CLEAR(runtime.aten_methods);
}

}  // namespace opyard::python
