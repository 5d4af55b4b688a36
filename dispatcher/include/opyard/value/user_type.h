// opyard/value/user_type.h: classes and enums of users, by the names that schemas use.
//
//   struct Counter : opyard::Object { … };
//   opyard::register_class<Counter>("demo.Counter");
//   opyard::register_enum<Color>("demo.Color", {{"Red", Color::Red}, {"Blue", Color::Blue}});
//   m.def("count(demo.Counter counter, demo.Color color) -> int");
//
// A name is registered before a schema uses it, and for as long as the process lives: values
// and schemas point to it. The same registration made again, as by a plugin that is loaded a
// second time, finds the first one; a class whose members changed meanwhile needs a new name.
//
// Depends on: base/counted.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "opyard/base/counted.h"

namespace opyard {

class Object;

// One member of an enum: its name and its number.
struct EnumMember {
  std::string name;
  std::int64_t number;
  bool operator==(const EnumMember&) const = default;
};

// Never changed and never destroyed, so its address is its identity.
class OPYARD_API UserType {
 public:
  const std::string& name() const noexcept { return name_; }
  bool is_enum() const noexcept { return !members_.empty(); }
  // In order of registration; none for a class.
  std::span<const EnumMember> members() const noexcept { return members_; }
  // The position of the member with this name or this number, or nothing.
  std::optional<std::size_t> find_member(std::string_view name) const noexcept;
  std::optional<std::size_t> find_number(std::int64_t number) const noexcept;

  // Only for the register functions below.
  UserType(std::string name, std::vector<EnumMember> members)
      : name_(std::move(name)), members_(std::move(members)) {}

 private:
  const std::string name_;
  const std::vector<EnumMember> members_;
};

// The class or enum of that name ("demo.Counter"), or null.
OPYARD_API const UserType* find_user_type(std::string_view name);

// An enum without a C++ type. Raises BadRegistration for a name that is not dotted, for one that
// something else has, for no members, and for members with equal names or equal numbers.
OPYARD_API const UserType& register_enum(std::string_view name, std::vector<EnumMember> members);

namespace detail {

OPYARD_API const UserType& register_class(std::string_view name, const std::type_info& type);
OPYARD_API const UserType& register_enum(std::string_view name, const std::type_info& type,
                                         std::vector<EnumMember> members);
// The user type of a C++ type, or null.
OPYARD_API const UserType* find_cpp_type(const std::type_info& type);
// Raises BadRegistration if the C++ type is not registered.
OPYARD_API const UserType& require_user_type(const std::type_info& type);

}  // namespace detail

// A class derived from Object. Raises BadRegistration for a name that is not dotted, for a name
// that something else has, and for a C++ class that has another name.
template <typename T>
const UserType& register_class(std::string_view name) {
  static_assert(std::derived_from<T, Object>, "a registered class derives from opyard::Object");
  return detail::register_class(name, typeid(T));
}

// An enum of C++. Raises what both functions above raise.
template <typename E>
  requires std::is_enum_v<E>
const UserType& register_enum(std::string_view name,
                              std::initializer_list<std::pair<const char*, E>> members) {
  std::vector<EnumMember> all;
  for (const auto& [member, value] : members) all.push_back({member, std::int64_t(value)});
  return detail::register_enum(name, typeid(E), std::move(all));
}

// The user type of a registered C++ class or enum. Raises BadRegistration if it is not
// registered. Found once, then remembered.
template <typename T>
const UserType& user_type_of() {
  static const UserType& found = detail::require_user_type(typeid(T));
  return found;
}

// A member of a registered enum.
struct EnumValue {
  const UserType* type;
  std::size_t member;  // its position

  const std::string& name() const noexcept { return type->members()[member].name; }
  std::int64_t number() const noexcept { return type->members()[member].number; }
  bool operator==(const EnumValue&) const = default;
};

// The member of that name, or of that number. Raises BadValue, listing the members.
OPYARD_API EnumValue require_member(const UserType& type, std::string_view name);
OPYARD_API EnumValue require_number(const UserType& type, std::int64_t number);

}  // namespace opyard
