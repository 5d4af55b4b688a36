// registry/composite.cpp: composite kernels: bodies, the search for cycles, loading the compiler.
#include "opyard/registry/composite.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "opyard/detail/base/set_once.h"
#include "opyard/detail/registry/body.h"
#include "opyard/detail/registry/finder.h"
#include "opyard/detail/registry/formula_check.h"
#include "opyard/registry/registry.h"
#include "registry/state.h"

namespace opyard {
namespace detail {

// The context of a composite kernel.
class Body final : public Counted {
 public:
  Body(std::string text, bool is_checked) : text_(std::move(text)), is_checked_(is_checked) {}

  struct Compiled final : Counted {
    const BodyFunctions* functions = nullptr;
    CountedPtr<const Counted> code;
    std::vector<OperatorName> calls;
  };

  const std::string& text() const noexcept { return text_; }
  bool is_checked() const noexcept { return is_checked_; }
  // Null until it was read.
  const Compiled* find_compiled() const noexcept { return compiled_.get(); }
  // Reads it, once. Raises BadGraph.
  const Compiled& compiled(const Schema& schema) const;

 private:
  const std::string text_;
  const bool is_checked_;  // before it was registered
  mutable SetOnce<Compiled> compiled_;
};

}  // namespace detail

namespace {

using detail::Body;

constinit std::atomic<const detail::BodyFunctions*> body_functions{nullptr};

// A library beside this one; else, as in a build tree, one that this library's run path leads to.
// Sanitizers open libraries themselves, and then that path is not searched.
const void* open_beside(const std::string& name) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&body_functions), &info) != 0 &&
      info.dli_fname != nullptr) {
    const std::string file = info.dli_fname, path = file.substr(0, file.rfind('/') + 1) + name;
    if (const void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
      return handle;
    }
  }
  return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

// Those of libopyard_jit.
const detail::BodyFunctions& require_body_functions() {
  if (const auto* const known = body_functions.load(std::memory_order_acquire)) return *known;
  constexpr const char* kLibrary = "libopyard_jit.so";
  const void* const handle = open_beside(kLibrary);
  const char* const reason = handle == nullptr ? dlerror() : nullptr;
  if (const auto* const loaded = body_functions.load(std::memory_order_acquire)) return *loaded;
  fail(ErrorKind::NotFound,
       fmt::format("the body of a composite kernel is read by {}, which cannot be loaded: {}; link "
                   "the program with it, or put it beside libopyard.so",
                   kLibrary, reason == nullptr ? "it is of another version" : reason));
}

// Whether the operators that a body calls can be there: in a program that loads its libraries
// itself those of aten may come later.
bool may_be_read() { return has_operator_finder() || has_operators_of("aten"); }

// The failure of a call inside, as one of the operator that was called.
[[noreturn]] OPYARD_COLD void throw_of(const Operator& op, const Error& error) {
  throw Error(error.kind(), fmt::format("{}: {}", to_string(op.name()), error.what()),
              error.carried());
}

void run_composite(const Record& record, const Operator& op, DispatchKeySet, Stack& stack) {
  try {
    const Body::Compiled& compiled =
        static_cast<const Body*>(record.context)->compiled(op.schema());
    compiled.functions->run(*compiled.code, stack);
  } catch (const Error& error) {
    throw_of(op, error);
  }
}

// The body that serves all calls of an operator, if there is one.
CountedPtr<const Body> body_of(const OperatorName& name) {
  const RegistryAccess::State& state = RegistryAccess::state();
  const std::lock_guard lock(state.mutex);
  const OperatorEntry* const entry = state.find(name);
  if (entry == nullptr) return {};
  const Record* const record =
      entry->active(DispatchKey::CompositeImplicitAutograd, state.common.here());
  if (record == nullptr || record->boxed != &run_composite) return {};
  return CountedPtr<const Body>::share(static_cast<const Body*>(record->context));
}

constexpr std::size_t kMostNestedBodies = 128;  // of bodies in bodies

// Looks for an operator in what bodies call, in each once.
class CycleSearch {
 public:
  explicit CycleSearch(const OperatorName& name) : name_(name) {}

  // How deep the calls are nested. Raises BadGraph, with the way there, for a call of the operator
  // itself and for too deep a one.
  std::size_t run(const std::vector<OperatorName>& calls) {
    std::size_t deepest = 0;
    for (const OperatorName& call : calls) {
      const auto known = depths_.find(call);
      if (known != depths_.end()) {
        deepest = std::max(deepest, known->second);
        continue;
      }
      way_.push_back(to_string(call));
      if (to_string(name_) == way_.back()) {
        refuse(fmt::format("calls it again: {}; there is no recursion", way()));
      }
      const CountedPtr<const Body> body = body_of(call);
      const Body::Compiled* const compiled = body ? body->find_compiled() : nullptr;
      const std::size_t depth = compiled == nullptr ? 0 : 1 + run(compiled->calls);
      deepest = std::max(deepest, depths_.emplace(call, depth).first->second);
      if (way_.size() + depth > kMostNestedBodies) {
        refuse(fmt::format("calls bodies that are nested more than {} deep: {}", kMostNestedBodies,
                           way()));
      }
      way_.pop_back();
    }
    return deepest;
  }

 private:
  std::string way() const {
    return fmt::format("{} -> {}", to_string(name_), fmt::join(way_, " -> "));
  }
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorKind::BadGraph, fmt::format("the body of {} {}", to_string(name_), why));
  }

  const OperatorName& name_;
  std::map<OperatorName, std::size_t> depths_;
  std::vector<std::string> way_;
};

}  // namespace

namespace detail {

void set_body_functions(const BodyFunctions& functions) noexcept {
  body_functions.store(&functions, std::memory_order_release);
}

const Body::Compiled& Body::compiled(const Schema& schema) const {
  if (const Compiled* const known = compiled_.get()) return *known;
  const BodyFunctions& functions = require_body_functions();
  if (!has_operators_of("aten")) load_operators("aten::add");  // of tensors, too
  auto made = make_counted<Compiled>();
  made->functions = &functions;
  made->code = functions.compile(schema, text_, made->calls);
  return compiled_.set(std::move(made));
}

const std::string* find_body(const Record& record) noexcept {
  if (record.boxed != &run_composite) return nullptr;
  return &static_cast<const Body*>(record.context)->text();
}

namespace {

void check_counted(const OperatorName& name, const Counted& body) {
  const Operator* const op = Registry::instance().find(name);
  if (op == nullptr || !may_be_read()) return;  // it is read at its first call
  CycleSearch(name).run(static_cast<const Body&>(body).compiled(op->schema()).calls);
}

}  // namespace

void check_body(const OperatorName& name, const Kernel& kernel) {
  if (!kernel.is_valid() || kernel.record().boxed != &run_composite) return;
  const auto* const body = static_cast<const Body*>(kernel.record().context);
  if (body->is_checked()) return;
  if (LateFormulaChecks::is_on()) {
    LateFormulaChecks::note(name, CountedPtr<const Body>::share(body), &check_counted);
  } else {
    check_counted(name, *body);
  }
}

void check_body(std::string_view name_space, std::string_view text, const Kernel& kernel) {
  if (!may_be_read() || LateFormulaChecks::is_on()) return;
  Schema schema = parse_schema(text);
  if (schema.name.name_space().empty()) {
    schema.name.name = fmt::format("{}::{}", name_space, schema.name.name);
  }
  const auto& body = *static_cast<const Body*>(kernel.record().context);
  CycleSearch(schema.name).run(body.compiled(schema).calls);
}

}  // namespace detail

namespace {

Kernel made_composite(std::string text, bool is_checked) {
  CountedPtr<Body> made = make_counted<Body>(std::move(text), is_checked);
  Kernel kernel = Kernel::with_context(&run_composite, made.get(), [](void* context) {
    CountedAccess::release(static_cast<const Body*>(context));
  });
  static_cast<void>(made.release());
  return kernel;
}

}  // namespace

Kernel composite(std::string body) { return made_composite(std::move(body), false); }
Kernel checked_composite(std::string body) { return made_composite(std::move(body), true); }

}  // namespace opyard
