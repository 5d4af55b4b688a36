// registering/finder.cpp: lazy loading of operators: finding their packages.
#include "registering/finder.h"

#include "runtime/hooks.h"
#include "runtime/runtime.h"

#include <string>

#include "opyard/detail/registry/finder.h"
#include "runtime/enter_python.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

void load_for(std::string_view name) {
  Runtime* const runtime = find_runtime();
  if (runtime == nullptr) return;
  enter_python(*runtime, [&] {
    // Read with the GIL: the end of the interpreter takes them away.
    if (runtime->hooks == nullptr) return;
    PyObject* const load = require_hook(*runtime, hook::load_for);
    checked(PyObject_CallOneArg(load, to_text(std::string(name)).get()));
  });
}

}  // namespace

void offer_finder() noexcept { set_operator_finder(&load_for); }

}  // namespace opyard::python
