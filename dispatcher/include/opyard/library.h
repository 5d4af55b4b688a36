// opyard/library.h: registering operators from C++. The header that an operator library needs.
//
//   OPYARD_LIBRARY(demo, m) {
//     m.def("scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor");
//     m.impl("scaled_add", opyard::DispatchKey::CPU, &scaled_add);
//   }
//
// OPYARD_LIBRARY claims a namespace, OPYARD_LIBRARY_FRAGMENT adds to one, and
// OPYARD_LIBRARY_IMPL(ns, Key, m) registers kernels only; its namespace `_` stands for all
// operators, and is where fallbacks go. The blocks do not run at once: they are recorded, and
// run when the shared library they are in is loaded or linked in (opyard/plugin/plugin.h).
//
// Depends on: registry/registry.h, registry/typed.h, schema/parse.h, plugin/registrar.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "opyard/plugin/registrar.h"
#include "opyard/registry/registry.h"
#include "opyard/registry/typed.h"
#include "opyard/schema/parse.h"
#include "opyard/tensor.h"

namespace opyard {

enum class LibraryKind { Def, Fragment, Impl };

// A batch of registrations with one lifetime: its end takes all of them back. Used by one
// thread at a time.
//
// Every function raises what parse_schema() and Registry raise, and BadRegistration for what
// its kind of library cannot hold; the registry is then as before the call.
class OPYARD_API Library {
 public:
  // `key` only with Impl. Raises BadRegistration for a namespace that another Def library
  // holds, for the namespace "_" where operators are defined, and for a key there.
  Library(LibraryKind kind, std::string name_space, std::optional<DispatchKey> key = std::nullopt,
          std::string file = "", int line = 0);
  Library(Library&&) noexcept = default;
  ~Library();

  // Defines an operator. The text is a schema, with or without this library's namespace.
  // Gives the operator's full name.
  OperatorName def(std::string_view schema, std::vector<std::string> tags = {});
  // Defines an operator and its kernel for all backends. The text is a schema, or a name
  // alone, and then the schema is made from the kernel's C++ signature.
  template <typename F>
  OperatorName def(std::string_view schema, F&& function) {
    return def_with_kernel(schema, as_kernel(std::forward<F>(function)));
  }

  // Registers a kernel at a key; without one at the library's key, else at
  // CompositeImplicitAutograd.
  template <typename F>
  void impl(std::string_view name, DispatchKey key, F&& function) {
    implement(name, key, as_kernel(std::forward<F>(function)), false);
  }
  template <typename F>
  void impl(std::string_view name, F&& function) {
    implement(name, std::nullopt, as_kernel(std::forward<F>(function)), false);
  }
  // The same on top of another library's kernel, and meant so: no warning.
  template <typename F>
  void override_kernel(std::string_view name, DispatchKey key, F&& function) {
    implement(name, key, as_kernel(std::forward<F>(function)), true);
  }

  // A kernel for every operator at the library's key. Only in the namespace "_".
  void fallback(Kernel kernel);

  // Takes everything back now.
  void reset() noexcept;

  LibraryKind kind() const noexcept { return kind_; }
  const std::string& name_space() const noexcept { return name_space_; }
  std::optional<DispatchKey> key() const noexcept { return key_; }

  void implement(std::string_view name, std::optional<DispatchKey> key, Kernel kernel,
                 bool override);

 private:
  template <typename F>
  static Kernel as_kernel(F&& function) {
    if constexpr (std::is_same_v<std::remove_cvref_t<F>, Kernel>) {
      return std::forward<F>(function);
    } else if constexpr (std::is_convertible_v<F, BoxedKernel>) {
      return Kernel::boxed(function);
    } else {
      return Kernel::from(std::forward<F>(function));
    }
  }
  OperatorName def_with_kernel(std::string_view schema, Kernel kernel);
  std::string provenance() const;
  OperatorName qualified(OperatorName name, std::string_view function) const;

  LibraryKind kind_;
  std::string name_space_;
  std::optional<DispatchKey> key_;
  std::string place_;  // "file:line" of the block
  // What tells this library from others in the registry; moves with it.
  std::unique_ptr<char> owner_;
  std::vector<Registration> registrations_;  // in order; taken back in reverse
};

}  // namespace opyard

#define OPYARD_JOIN_2(a, b) a##b
#define OPYARD_JOIN(a, b) OPYARD_JOIN_2(a, b)

#define OPYARD_LIBRARY_BLOCK(kind, ns, key, m, unique)                                          \
  static void OPYARD_JOIN(opyard_block_, unique)(::opyard::Library&);                           \
  static ::opyard::detail::Registrar OPYARD_JOIN(opyard_registrar_, unique)(                    \
      ::opyard::LibraryKind::kind, #ns, key, &OPYARD_JOIN(opyard_block_, unique), __FILE__,     \
      __LINE__);                                                                                \
  static void OPYARD_JOIN(opyard_block_, unique)([[maybe_unused]] ::opyard::Library& m)

#define OPYARD_LIBRARY(ns, m) OPYARD_LIBRARY_BLOCK(Def, ns, std::nullopt, m, __COUNTER__)
#define OPYARD_LIBRARY_FRAGMENT(ns, m) \
  OPYARD_LIBRARY_BLOCK(Fragment, ns, std::nullopt, m, __COUNTER__)
#define OPYARD_LIBRARY_IMPL(ns, Key, m) \
  OPYARD_LIBRARY_BLOCK(Impl, ns, ::opyard::DispatchKey::Key, m, __COUNTER__)
