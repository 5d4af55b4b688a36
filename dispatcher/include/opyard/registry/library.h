// opyard/registry/library.h: a batch of registrations with one lifetime.
//
// Most code meets a Library as the parameter of an OPYARD_LIBRARY block (opyard/library.h). A
// program can make one itself as well, and then holds its lifetime in its hand.
//
// Depends on: registry/registry.h, registry/typed.h, schema/parse.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "opyard/detail/registry/typed.h"
#include "opyard/registry/registry.h"
#include "opyard/schema/parse.h"

namespace opyard {

// Whether a library defines operators of a namespace, adds to one, or registers kernels only.
enum class LibraryKind { Def, Fragment, Impl };

// A batch of registrations with one lifetime: its end unregisters all of them. Used by one
// thread at a time.
//
// Every function raises what parse_schema() and Registry raise, and BadRegistration for what
// its kind of library cannot hold, and in one that was moved from; the registry is then as before
// the call.
class OPYARD_API Library {
 public:
  // `key` only with Impl. Raises BadRegistration for a namespace that is no identifier, for one
  // that another Def library holds, for the namespace "_" if operators are defined, and for a
  // key there. Where `interpreter` is given, what it registers is that interpreter's: see
  // registry/registry.h.
  Library(LibraryKind kind, std::string name_space, std::optional<DispatchKey> key = std::nullopt,
          std::string file = "", int line = 0, const Interpreter* interpreter = nullptr);
  Library(Library&&) noexcept = default;
  ~Library();

  // Defines an operator, with or without this library's namespace in the text; gives its full name.
  // Warns if an earlier overload takes a call of this one. `doc`: see Registry::metadata().
  OperatorName def(std::string_view schema, std::vector<std::string> tags = {},
                   AliasAnalysis alias_analysis = AliasAnalysis::FromSchema, std::string doc = "");
  // Defines an operator and its kernel for all backends. The text is a schema, or a name
  // alone, and then the schema is made from the kernel's C++ signature.
  template <typename F>
  OperatorName def(std::string_view schema, F&& function) {
    return def_with_kernel(schema, detail::as_kernel(std::forward<F>(function)));
  }
  OperatorName def(std::string_view schema, detail::NoFunction function) = delete;

  // Registers a kernel at a key; without one at the library's key, else at
  // CompositeImplicitAutograd.
  template <detail::NamesOneFunction F = detail::OverloadedName>
  void impl(std::string_view name, DispatchKey key, F&& function) {
    implement(name, key, detail::as_kernel(std::forward<F>(function)), false);
  }
  template <detail::NamesOneFunction F = detail::OverloadedName>
  void impl(std::string_view name, F&& function) {
    implement(name, std::nullopt, detail::as_kernel(std::forward<F>(function)), false);
  }
  // The same on top of another library's kernel, and meant so: no warning.
  template <detail::NamesOneFunction F = detail::OverloadedName>
  void override_kernel(std::string_view name, DispatchKey key, F&& function) {
    implement(name, key, detail::as_kernel(std::forward<F>(function)), true);
  }

  // Gradients of arguments, each an expression of arguments, results and gradients of results:
  //   m.derivative("mul.Tensor", {{"self", "sum_to(grad * other, self)"}, …});
  // See docs/guides/gradients.md.
  void derivative(std::string_view name, std::vector<Formula> formulas);

  // A kernel for every operator at the library's key. Only in the namespace "_".
  void fallback(Kernel kernel);

  // Says where the registrations that follow are ("demo.py:12"); for callers in other
  // languages.
  void set_source_location(std::string location) { source_location_ = std::move(location); }

  // Names the Python module that has the fake kernels of the operators that are defined after
  // this, and what to tell a caller without it. Warns if one was named already.
  void set_python_module(std::string module, std::string context = "");

  // Unregisters everything now.
  void reset() noexcept;

  // The code that fills the library runs again from here on. What it registers replaces, in its
  // place, what the library had for the same operator and key, so that calls notice nothing, and an
  // operator that is defined with the same schema stays. What is not registered again stays until
  // end_reload().
  void begin_reload();
  // Unregisters what was not registered again since begin_reload().
  void end_reload() noexcept;

  LibraryKind kind() const noexcept { return kind_; }
  const std::string& name_space() const noexcept { return name_space_; }
  std::optional<DispatchKey> key() const noexcept { return key_; }

  void implement(std::string_view name, std::optional<DispatchKey> key, Kernel kernel,
                 bool override);

 private:
  OperatorName def_with_kernel(std::string_view schema, Kernel kernel);
  void check_not_moved(std::string_view function) const;
  void check_may_define(std::string_view text) const;
  std::string provenance() const;
  void make_room();
  Registration define(Definition definition);
  OperatorName qualified(OperatorName name, std::string_view function) const;

  LibraryKind kind_;
  std::string name_space_;
  std::optional<DispatchKey> key_;
  std::string source_location_;  // "file:line" of the block
  const Interpreter* interpreter_ = nullptr;
  std::string python_module_;
  std::string python_context_;
  // What tells this library from others in the registry; moves with it.
  std::unique_ptr<char> owner_;
  std::vector<Registration> registrations_;  // in order; unregistered in reverse
  // Of begin_reload(): what was registered before it, and what may be replaced.
  std::vector<Registration> former_;
  ReloadMark reload_ = 0;
};

}  // namespace opyard
