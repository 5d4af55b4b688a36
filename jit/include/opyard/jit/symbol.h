// opyard/jit/symbol.h: interned qualified names: kinds of nodes and names of attributes.
//
//   Symbol::from_qual_string("aten::add")    namespace "aten", name "add"
//   prim::If, attr::value                    the ones that symbols.def lists
//
// A symbol is a dense number: equal names have equal numbers, a new name gets the next one, and a
// number is never given away again. Names live as long as the process.
//
// Threads: all functions may be called on any thread.
//
// Depends on: jit/symbols.def.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string_view>

#include "opyard/base/export.h"

namespace opyard::jit {

namespace detail {
enum class KnownSymbol : std::uint32_t {
#define OPYARD_SYMBOL(name_space, name) name_space##_##name,
#include "opyard/jit/symbols.def"
#undef OPYARD_SYMBOL
  kCount
};
}  // namespace detail

class OPYARD_API Symbol {
 public:
  // No name; its number is the greatest.
  constexpr Symbol() noexcept = default;
  constexpr explicit Symbol(detail::KnownSymbol known) noexcept : id_(std::uint32_t(known)) {}

  // "namespace::name". Raises BadValue for a text without one "::" between two names.
  static Symbol from_qual_string(std::string_view text);
  // The symbol of this text if it has one already, else the symbol without a name. For texts of
  // strangers, which must not make the table grow.
  static Symbol find(std::string_view text);
  // attr::<name>. Raises BadValue for an empty name or one with "::".
  static Symbol attr(std::string_view name);

  constexpr bool defined() const noexcept { return id_ != ~std::uint32_t{0}; }
  constexpr std::uint32_t id() const noexcept { return id_; }
  // These are good for the life of the process; empty for the symbol without a name.
  std::string_view qual_string() const;
  std::string_view name_space() const;
  std::string_view name() const;

  constexpr auto operator<=>(const Symbol&) const noexcept = default;

 private:
  std::uint32_t id_ = ~std::uint32_t{0};
};

#define OPYARD_SYMBOL(name_space, name)                                   \
  namespace name_space {                                                  \
  inline constexpr Symbol name(detail::KnownSymbol::name_space##_##name); \
  }
#include "opyard/jit/symbols.def"
#undef OPYARD_SYMBOL

}  // namespace opyard::jit

template <>
struct std::hash<opyard::jit::Symbol> {
  std::size_t operator()(opyard::jit::Symbol symbol) const noexcept { return symbol.id(); }
};
