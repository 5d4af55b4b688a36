// test/cpp/registering.h: registering operators and kernels in few words, for the registry's tests.
//
//   const Registration op = define("t::f(Tensor x) -> Tensor");
//   const Registration cpu = implement("t::f", DispatchKey::CPU, echo("cpu"));
//   EXPECT_EQ(who_ran("t::f", {DispatchKey::CPU}), "cpu");
//
// Depends on: opyard/registry/registry.h, opyard/schema/parse.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/base/warning.h"
#include "opyard/detail/registry/typed.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"
#include "opyard/schema/parse.h"

namespace opyard {

inline Registry& registry() { return Registry::instance(); }

inline Registration define(std::string_view schema,
                           std::string provenance = "registered at def.cpp:1") {
  Definition definition;
  definition.schema = parse_schema(schema);
  definition.alias_analysis_is_default = false;
  definition.provenance = std::move(provenance);
  return registry().define(std::move(definition));
}

inline Registration implement(std::string_view name, std::optional<DispatchKey> key, Kernel kernel,
                              std::string provenance = "registered at impl.cpp:1",
                              Owner owner = nullptr) {
  return registry().implement(parse_operator_name(name), key, std::move(kernel),
                              std::move(provenance), owner, false);
}

inline std::string dump(std::string_view name) { return inspect::dump(parse_operator_name(name)); }
inline std::string dump_table(std::string_view name) {
  return inspect::dump_table(parse_operator_name(name));
}

// A tensor of one float that carries exactly these keys.
inline Tensor tensor_with(DispatchKeySet keys) {
  const std::int64_t size = 1;
  const Tensor tensor = Tensor::empty({&size, 1});
  tensor.impl()->set_keys(keys);
  return tensor;
}

// What ran last on this thread: the name that was given to echo().
inline thread_local std::string last_ran;

// A kernel for (Tensor x) -> Tensor that says that it ran and gives back what it got.
inline Kernel echo(std::string who) {
  return Kernel::from([who = std::move(who)](const Tensor& x) -> Tensor {
    last_ran = who;
    return x;
  });
}
// The same for any operator with as many results as arguments.
inline Kernel boxed_echo(std::string who) {
  auto context = std::make_unique<std::string>(std::move(who));
  Kernel kernel = Kernel::with_context(
      [](const Record& record, const Operator&, DispatchKeySet, Stack&) {
        last_ran = *static_cast<const std::string*>(record.context);
      },
      context.get(), [](void* memory) { delete static_cast<std::string*>(memory); });
  static_cast<void>(context.release());
  return kernel;
}

// Which echo() a boxed call with one tensor of these keys reaches; "no kernel" or "gone"
// where it raises that.
inline std::string who_ran(const Operator& op, DispatchKeySet keys) {
  last_ran = "nobody";
  InlineStack<2> stack;
  stack.push(Value(tensor_with(keys)));
  try {
    op.call_boxed(stack);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::NoKernel) return "no kernel";
    if (error.kind() == ErrorKind::OperatorGone) return "gone";
    throw;
  }
  return last_ran;
}
inline std::string who_ran(std::string_view name, DispatchKeySet keys) {
  return who_ran(registry().require(name), keys);
}

// Collects warnings while it lives. One at a time.
class CaughtWarnings {
 public:
  CaughtWarnings() : former_(set_warning_handler(&keep)) { texts_.clear(); }
  CaughtWarnings(const CaughtWarnings&) = delete;
  CaughtWarnings& operator=(const CaughtWarnings&) = delete;
  ~CaughtWarnings() { set_warning_handler(former_); }

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  static void keep(const Warning& warning) { texts_.push_back(warning.message); }
  static inline std::vector<std::string> texts_;
  const WarningHandler former_;
};

}  // namespace opyard
