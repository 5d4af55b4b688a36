// registry/library.cpp: Library: a batch of registrations, and the rules of each kind.
#include "opyard/registry/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/identifier.h"
#include "opyard/base/warning.h"
#include "opyard/detail/registry/body.h"
#include "opyard/detail/schema/overlap.h"
#include "opyard/detail/text/source.h"
#include "registry/state.h"

namespace opyard {
namespace {

constexpr const char* kEveryNamespace = "_";
// The tag of an overload that is meant to take calls which an earlier one takes.
constexpr std::string_view kOverlaps = "overlaps";

const char* macro_of(LibraryKind kind) {
  switch (kind) {
    case LibraryKind::Def:
      return "OPYARD_LIBRARY";
    case LibraryKind::Fragment:
      return "OPYARD_LIBRARY_FRAGMENT";
    case LibraryKind::Impl:
      return "OPYARD_LIBRARY_IMPL";
  }
  return "";
}

std::vector<std::string> overloads_of(std::string_view name) {
  const RegistryAccess::State& state = RegistryAccess::state();
  const std::lock_guard lock(state.mutex);
  return state.overloads(name);
}

// If an earlier overload takes a call that this one takes as well: a reader of the call cannot
// see which of them it goes to. Raises what a handler of warnings raises.
void warn_of_ambiguity(const OperatorName& name, const std::string& provenance) {
  const Registry& registry = Registry::instance();
  const Operator* const defined = registry.find(name);
  for (const std::string& overload : overloads_of(name.name)) {
    if (overload == name.overload || defined == nullptr) return;  // those behind it are later
    const Operator* const earlier = registry.find({name.name, overload});
    if (earlier == nullptr) continue;  // unregistered a moment ago
    if (const auto call = find_ambiguous_call(earlier->schema(), defined->schema())) {
      return warn_at_once(
          WarningKind::User,
          fmt::format(
              "Two overloads accept the same call, which goes to the one that was defined first\n"
              "  call: {}{}\n  goes to: {}\n  and not to: {}, {}",
              name.name, *call, earlier->declaration(), defined->declaration(), provenance));
    }
  }
}

}  // namespace

Registration Library::define(Definition definition) {
  const OperatorName name = definition.schema.name;
  const std::string provenance = definition.provenance;
  const bool overlap_is_meant = std::ranges::count(definition.tags, kOverlaps) > 0;
  Registration registration =
      Registry::instance().define(std::move(definition), owner_.get(), reload_);
  if (!overlap_is_meant)
    warn_of_ambiguity(name, provenance);  // a handler that throws takes the definition back
  return registration;
}

Library::Library(LibraryKind kind, std::string name_space, std::optional<DispatchKey> key,
                 std::string file, int line, const Interpreter* interpreter)
    : kind_(kind),
      name_space_(std::move(name_space)),
      key_(key),
      source_location_(file.empty() ? "" : fmt::format("{}:{}", file, line)),
      interpreter_(interpreter),
      owner_(std::make_unique<char>()) {
  if (!detail::is_identifier(name_space_)) {
    fail(ErrorKind::BadRegistration,
         fmt::format(
             "\"{}\" is no namespace for a library: it takes letters, digits and underscores, "
             "and begins with no digit",
             detail::shown(name_space_)));
  }
  if (kind_ == LibraryKind::Impl) return;
  if (name_space_ == kEveryNamespace) {
    fail(ErrorKind::BadRegistration,
         fmt::format("{}(_): the namespace _ stands for all operators and can only hold fallbacks; "
                     "use OPYARD_LIBRARY_IMPL(_, Key, m) for those",
                     macro_of(kind_)));
  }
  if (key_) {
    fail(ErrorKind::BadRegistration,
         fmt::format("{}({}): a library that defines operators takes no dispatch key, but got {}; "
                     "use OPYARD_LIBRARY_IMPL for kernels of one key",
                     macro_of(kind_), name_space_, to_string(*key_)));
  }
  if (kind_ == LibraryKind::Def) {
    registrations_.push_back(
        Registry::instance().claim_namespace(name_space_, provenance(), interpreter_));
  }
}

Library::~Library() { reset(); }

void Library::reset() noexcept {
  while (!registrations_.empty()) {
    // Out of the list first: what its end calls may register here.
    const Registration last = std::move(registrations_.back());
    registrations_.pop_back();
  }
  end_reload();
}

void Library::begin_reload() {
  check_not_moved("begin_reload()");
  // The claim of a namespace is not made again.
  const std::size_t claims = kind_ == LibraryKind::Def && !registrations_.empty() ? 1 : 0;
  former_.reserve(former_.size() + registrations_.size());
  const ReloadMark mark = Registry::instance().reload_mark();
  former_.insert(former_.end(),
                 std::make_move_iterator(registrations_.begin() + std::ptrdiff_t(claims)),
                 std::make_move_iterator(registrations_.end()));
  registrations_.erase(registrations_.begin() + std::ptrdiff_t(claims), registrations_.end());
  reload_ = mark;
  python_module_.clear();
  python_context_.clear();
}

void Library::end_reload() noexcept {
  reload_ = 0;
  while (!former_.empty()) {
    const Registration last = std::move(former_.back());
    former_.pop_back();
  }
}

void Library::set_python_module(std::string module, std::string context) {
  check_not_moved("set_python_module(...)");
  if (!python_module_.empty() && (python_module_ != module || python_context_ != context)) {
    warn_at_once(
        WarningKind::User,
        fmt::format("the fake kernels of operators that this library of {} defines from now on are "
                    "looked for in the Python module {}, no longer in {} ({})",
                    name_space_, module, python_module_, provenance()));
  }
  python_module_ = std::move(module);
  python_context_ = std::move(context);
}

std::string Library::provenance() const {
  return source_location_.empty() ? "registered at run time" : "registered at " + source_location_;
}

// Room for one more registration, so that keeping it cannot fail. Those that this library has
// replaced since make way: registering one kernel again and again costs no memory.
void Library::make_room() {
  if (registrations_.size() < registrations_.capacity()) return;
  std::erase_if(registrations_,
                [](const Registration& registration) { return !registration.in_force(); });
  registrations_.reserve(2 * registrations_.size() + 4);
}

void Library::check_may_define(std::string_view text) const {
  check_not_moved("def(...)");
  if (kind_ != LibraryKind::Impl) return;
  fail(ErrorKind::BadRegistration,
       fmt::format("def(\"{}\"): Cannot define an operator inside of an {} block; put it into the "
                   "OPYARD_LIBRARY block of its namespace. ({})",
                   text, macro_of(kind_), provenance()));
}

void Library::check_not_moved(std::string_view function) const {
  if (owner_ != nullptr) return;
  fail(ErrorKind::BadRegistration,
       fmt::format("{}: this library was moved from and registers nothing any more", function));
}

OperatorName Library::qualified(OperatorName name, std::string_view function) const {
  if (name_space_ == kEveryNamespace) {
    fail(ErrorKind::BadRegistration,
         fmt::format("{}(\"{}\", ...): the namespace _ stands for all operators and can only hold "
                     "fallbacks; use OPYARD_LIBRARY_IMPL(ns, Key, m) for kernels of one operator",
                     function, to_string(name)));
  }
  if (name.name_space().empty()) {
    name.name = name_space_ + "::" + name.name;
  } else if (name.name_space() != name_space_) {
    fail(
        ErrorKind::BadRegistration,
        fmt::format("{}(\"{}\", ...): Explicitly provided namespace ({}) in operator name does not "
                    "match namespace of enclosing {} block ({}).",
                    function, to_string(name), name.name_space(), macro_of(kind_), name_space_));
  }
  return name;
}

OperatorName Library::def(std::string_view text, std::vector<std::string> tags,
                          AliasAnalysis alias_analysis, std::string doc) {
  check_may_define(text);
  Definition definition;
  definition.schema = parse_schema(text);
  definition.schema.name = qualified(std::move(definition.schema.name), "def");
  definition.alias_analysis = alias_analysis;
  definition.alias_analysis_is_default = false;
  definition.tags = std::move(tags);
  definition.doc = std::move(doc);
  definition.provenance = provenance();
  definition.python_module = python_module_;
  definition.python_context = python_context_;
  definition.interpreter = interpreter_;
  const OperatorName name = definition.schema.name;
  Registration registration = define(std::move(definition));
  make_room();
  registrations_.push_back(std::move(registration));
  return name;
}

OperatorName Library::def_with_kernel(std::string_view text, Kernel kernel) {
  check_may_define(text);
  const bool is_schema = text.find('(') != std::string_view::npos;
  OperatorName name;
  if (is_schema) {
    name = def(text);
  } else {
    if (kernel.record().infer == nullptr) {
      fail(ErrorKind::BadRegistration,
           fmt::format("def(\"{}\"): a boxed kernel has no C++ types to make a schema from; write "
                       "the whole schema",
                       text));
    }
    Definition definition;
    const InferredTypes types = kernel.record().infer();
    definition.schema.name = qualified(parse_operator_name(text), "def");
    const auto add = [](std::vector<Argument>& to, const std::vector<TypePtr>& from) {
      for (const TypePtr& type : from) {
        Argument argument;
        argument.name = fmt::format("_{}", to.size());
        argument.type = type;
        to.push_back(std::move(argument));
      }
    };
    add(definition.schema.arguments, types.arguments);
    add(definition.schema.results, types.results);
    definition.alias_analysis = AliasAnalysis::Conservative;
    definition.alias_analysis_is_default = false;
    definition.provenance = provenance();
    definition.interpreter = interpreter_;
    definition.python_module = python_module_;
    definition.python_context = python_context_;
    name = definition.schema.name;
    Registration registration = define(std::move(definition));
    make_room();
    registrations_.push_back(std::move(registration));
  }
  const std::size_t defined = registrations_.size() - 1;
  try {
    implement(to_string(name), std::nullopt, std::move(kernel), false);
  } catch (...) {
    // The definition alone is not what was asked for. Behind it may be what a warning handler
    // registered here meanwhile; and a handler may have unregistered all.
    if (defined < registrations_.size()) {
      registrations_.erase(registrations_.begin() + std::ptrdiff_t(defined));
    }
    throw;
  }
  return name;
}

void Library::implement(std::string_view text, std::optional<DispatchKey> key, Kernel kernel,
                        bool override) {
  check_not_moved("impl(...)");
  const OperatorName name = qualified(parse_operator_name(text), "impl");
  if (key && key_ && *key != *key_) {
    fail(
        ErrorKind::BadRegistration,
        fmt::format("impl(\"{}\", ...): Explicitly provided dispatch key ({}) is inconsistent with "
                    "the dispatch key of the enclosing {} block ({}).",
                    text, to_string(*key), macro_of(kind_), to_string(*key_)));
  }
  detail::check_body(name, kernel);
  make_room();
  if (interpreter_ != nullptr) kernel.serve_only(interpreter_);
  registrations_.push_back(Registry::instance().implement(
      name, key ? key : key_, std::move(kernel), provenance(), owner_.get(), override, reload_));
}

void Library::derivative(std::string_view text, std::vector<Formula> formulas) {
  check_not_moved("derivative(...)");
  const OperatorName name = qualified(parse_operator_name(text), "derivative");
  if (formulas.empty()) {
    fail(ErrorKind::BadRegistration,
         fmt::format(
             "derivative(\"{}\", ...): no formula was given; give one for each argument that "
             "has a gradient",
             text));
  }
  auto given = make_counted<Derivative>(std::move(formulas), provenance());
  make_room();
  registrations_.push_back(
      Registry::instance().differentiate(name, std::move(given), owner_.get()));
}

void Library::fallback(Kernel kernel) {
  check_not_moved("fallback(...)");
  if (kind_ != LibraryKind::Impl || name_space_ != kEveryNamespace) {
    fail(ErrorKind::BadRegistration,
         fmt::format(
             "fallback(...): a fallback serves all operators, not those of the namespace {}; "
             "register it in OPYARD_LIBRARY_IMPL(_, Key, m)",
             name_space_));
  }
  if (!key_) {
    fail(ErrorKind::BadRegistration,
         "fallback(...): this library has no dispatch key to serve; name one, as in "
         "OPYARD_LIBRARY_IMPL(_, Key, m)");
  }
  make_room();
  if (interpreter_ != nullptr) kernel.serve_only(interpreter_);
  registrations_.push_back(Registry::instance().implement_fallback(
      *key_, std::move(kernel), provenance(), owner_.get(), reload_));
}

}  // namespace opyard
