// vtable/fake.cpp: errors of missing fake kernels.
#include "vtable/vtable.h"

#include <string>

#include "runtime/enter_python.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

bool is_imported(const char* module) {
  const Owned name = to_text(module);
  const Owned found = Owned::steal(PyImport_GetModule(name.get()));
  if (!found && PyErr_Occurred() != nullptr) throw PythonErrorSet();
  return bool(found);
}

}  // namespace

void vtable::throw_abstract_impl_not_imported_error(Interpreter& interpreter, const char* op,
                                                    const char* module, const char* context) {
  Runtime& runtime = runtime_of(interpreter);
  const bool imported = enter_python(runtime, [&] { return is_imported(module); });
  const std::string more = *context == '\0' ? std::string() : std::string(": ") + context;
  const std::string begin =
      std::string(op) + " has no kernel at Meta, where this call goes. Its fake kernel ";
  if (!imported) {
    fail(ErrorKind::NoKernel, begin + "is in the Python module " + module +
                                  ", which has to be imported first" + more + ".");
  }
  fail(ErrorKind::NoKernel, begin + "was expected in the Python module " + module +
                                ", which is imported and registered none" + more +
                                "; opyard.library.register_fake() does.");
}

}  // namespace opyard::python
