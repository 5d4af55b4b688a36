// bind/keys.cpp: naming keys at run time.
#include <string>

#include "bind/registry.h"
#include "opyard/detail/keys/named_keys.h"

namespace py = pybind11;

namespace opyard::python {

void add_keys(py::module_& module) {
  module.def(
      "register_backend",
      [](const std::string& name) {
        return int(instance_of(DispatchKey::Dense, register_backend(name)));
      },
      "takes a free backend and names it; gives the number of its dense key");
  module.def(
      "rename_backend",
      [](int key, const std::string& name) {
        const auto backend = backend_of(DispatchKey(key));
        if (!backend || layer_of(DispatchKey(key)) != DispatchKey::Dense) {
          fail(ErrorKind::BadRegistration,
               to_string(DispatchKey(key)) + " is no backend and cannot be renamed to \"" + name +
                   "\"; only PrivateUse1, PrivateUse2 and PrivateUse3 can");
        }
        rename_backend(*backend, name);
      },
      "renames a PrivateUse backend, given by the number of its dense key");
  module.def(
      "register_layer",
      [](const std::string& name, int gap) { return int(register_layer(name, LayerGap(gap))); },
      "takes a free layer of a gap and names it; gives its number");
  module.def(
      "parse_key", [](const std::string& name) { return int(parse_dispatch_key(name)); },
      "the number of the key of this name");
}

}  // namespace opyard::python
