// bind/registry.cpp: registry queries for Python.
#include "bind/registry.h"

#include "opyard/detail/bind/text.h"

#include <chrono>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "opyard/inspect/inspect.h"
#include "opyard/keys/alias_keys.h"
#include "opyard/registry/dispatch_log.h"
#include "opyard/registry/registry.h"
#include "opyard/schema/parse.h"

namespace py = pybind11;

namespace opyard::python {
namespace {

const Registry& registry() { return Registry::instance(); }

std::vector<std::string> texts_of(const std::vector<OperatorName>& names) {
  std::vector<std::string> texts;
  for (const OperatorName& name : names) texts.push_back(to_string(name));
  return texts;
}

// (the place of its definition or "", how its aliases are known, [(number of a key, where its
// active kernel was registered)])
py::tuple registered(const std::string& name) {
  const inspect::Registered found = inspect::registered(parse_operator_name(name));
  py::list kernels;
  for (const inspect::RegisteredKernel& kernel : found.kernels) {
    if (!kernel.active) continue;
    kernels.append(py::make_tuple(int(kernel.key), show_text(kernel.provenance)));
  }
  return py::make_tuple(show_text(found.definition), inspect::name_of(found.alias_analysis),
                        kernels);
}

// The number of a key that the kernel of CompositeImplicitAutograd serves; None without one.
py::object key_of_math_kernel(const std::string& name) {
  const Operator& op = registry().require(parse_operator_name(name));
  for (const DispatchKey key : runtime_keys_of(DispatchKey::CompositeImplicitAutograd)) {
    const inspect::Resolution found = inspect::resolve(op, key);
    if (std::string_view(found.rule) == "math kernel") return py::int_(int(key));
  }
  return py::none();
}

void add_dumps(py::module_& module) {
  module.def(
      "operator_names", [] { return texts_of(inspect::names()); },
      "the names of all operators, in order");
  module.def(
      "dangling_overloads",
      [](const std::string& name) { return texts_of(inspect::dangling_overloads(name)); },
      "the overloads of a name that have kernels and no definition");
  module.def(
      "names_at",
      [](const std::optional<int>& key) {
        return texts_of(inspect::names_at(key ? std::optional(DispatchKey(*key)) : std::nullopt));
      },
      "the names of operators with a kernel at this key, or at any, defined or not");
  module.def(
      "dump",
      [](const std::string& name) { return show_text(inspect::dump(parse_operator_name(name))); },
      "the registered kernels of an operator, a line each; '' if there are none");
  module.def("registered", &registered, "where an operator is defined, and its kernels by key");
  module.def("key_of_math_kernel", &key_of_math_kernel,
             "a key that the kernel of CompositeImplicitAutograd serves, or None");
  module.def(
      "dump_table",
      [](const std::string& name) {
        return show_text(inspect::dump_table(parse_operator_name(name)));
      },
      "the kernel of each key of an operator, a line each");
  module.def(
      "metadata",
      [](const std::string& name) {
        return show_text(inspect::metadata(parse_operator_name(name)));
      },
      "what other programs need to know of an operator, as JSON");
  module.def(
      "dangling", [] { return show_texts(inspect::dangling()); },
      "the dumps of operators that have kernels and no definition");
  module.def(
      "check_invariants",
      [](const std::string& name) {
        if (name.empty()) return inspect::check_invariants();
        inspect::check_invariants(parse_operator_name(name));
      },
      py::arg("name") = "", "raises RuntimeError where a stored table is not the computed one");
  module.def(
      "retired_count", [] { return inspect::retired_count(); },
      "kernels that were unregistered and are not freed yet");
  module.def(
      "reclaim", [] { Registry::instance().reclaim(); }, "frees those that no call can be using");
}

// (key, before, after) for each slot that would change; `change` is a WhatIf.
py::list what_if(const std::string& name, int key, int change) {
  py::list rows;
  for (const TableChange& at :
       inspect::what_if(parse_operator_name(name), DispatchKey(key), WhatIf(change))) {
    rows.append(py::make_tuple(int(at.key), show_text(at.before), show_text(at.after)));
  }
  return rows;
}

// (number, seconds since the epoch, added, thing, name, key, provenance, registration)
py::list history() {
  py::list rows;
  for (const RegistryEvent& event : inspect::history()) {
    const std::chrono::duration<double> since_epoch = event.time.time_since_epoch();
    rows.append(py::make_tuple(event.number, since_epoch.count(), event.added, int(event.thing),
                               event.name, int(event.key), show_text(event.provenance),
                               event.registration));
  }
  return rows;
}

void add_foresight_and_memory(py::module_& module) {
  module.def("what_if", &what_if, "the keys of an operator that a registration would change");
  module.def("history", &history, "the last registrations, and what was unregistered");
}

void add_questions(py::module_& module) {
  module.def(
      "python_module",
      [](const std::string& name) { return inspect::python_module(parse_operator_name(name)); },
      "the module of an operator's fake kernel and what else its author said, or two empty texts");
  module.def(
      "has_kernel",
      [](const std::string& name) { return inspect::has_kernel(parse_operator_name(name)); },
      "whether an operator has kernels, defined or not");
  module.def(
      "has_kernel_at",
      [](const std::string& name, int key) {
        return inspect::has_kernel_at(parse_operator_name(name), DispatchKey(key));
      },
      "whether an operator has a kernel at exactly this key");
  module.def(
      "has_kernel_at_any",
      [](const std::string& name, std::uint64_t keys) {
        return inspect::has_kernel_at_any(parse_operator_name(name),
                                          DispatchKeySet(DispatchKeySet::RAW, keys));
      },
      "whether an operator has a kernel at a key of this set, given by its bits");
  module.def(
      "has_computed_kernel",
      [](const std::string& name, int key) {
        return inspect::has_computed_kernel(parse_operator_name(name), DispatchKey(key));
      },
      "whether a call that goes to this key finds a kernel");
  module.def(
      "resolve",
      [](const std::string& name, int key) {
        const OperatorName op = parse_operator_name(name);
        inspect::has_computed_kernel(op, DispatchKey(key));  // raises for what is no runtime key
        const inspect::Resolution found =
            inspect::resolve(registry().require(op), DispatchKey(key));
        return py::make_tuple(show_text(found.provenance), found.rule);
      },
      "what serves this key, and by which rule, as in dump_table()");
  module.def(
      "alias_includes",
      [](int alias, int key) { return alias_includes(DispatchKey(alias), DispatchKey(key)); },
      "whether an alias key stands for this key among others");
  module.def(
      "is_fallthrough",
      [](const std::string& name, int key) {
        return inspect::is_fallthrough(parse_operator_name(name), DispatchKey(key));
      },
      "whether calls pass this key by");
  module.def(
      "has_fallback", [](int key) { return inspect::has_fallback(DispatchKey(key)); },
      "whether a fallback is registered for this key");
  module.def(
      "set_dispatch_log", [](bool on) { set_dispatch_log(on); },
      "shows every call of the process on the standard error stream, or no more");
  module.def("dispatch_log", [] { return dispatch_log(); }, "whether it does");
}

}  // namespace

void add_registry(py::module_& module) {
  add_dumps(module);
  add_questions(module);
  add_foresight_and_memory(module);
}

}  // namespace opyard::python
