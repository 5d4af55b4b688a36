// objects/arrays/package.cpp: package of a class, found among imported modules.
#include "objects/arrays/package.h"

#include <string_view>

#include "opyard/detail/python/clear.h"
#include "runtime/types.h"

namespace opyard::python {

Owned find_attribute(PyObject* object, const char* name) {
  Owned found = Owned::steal(PyObject_GetAttrString(object, name));
  if (!found && !clear_if(PyExc_AttributeError)) throw PythonErrorSet();
  return found;
}

Owned find_package(PyObject* cls) {
  const Owned module = find_attribute(cls, "__module__");
  if (!module || !PyUnicode_Check(module.get())) return {};
  const std::string_view full = require_text(module.get(), "the name of a module");
  const Owned name = to_text(full.substr(0, full.find('.')));
  Owned package = Owned::share(PyDict_GetItemWithError(PyImport_GetModuleDict(), name.get()));
  if (!package && PyErr_Occurred() != nullptr) throw PythonErrorSet();
  return package;
}

}  // namespace opyard::python
