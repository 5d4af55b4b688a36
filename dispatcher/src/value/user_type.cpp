// value/user_type.cpp: table of user-defined classes and enums.
#include "opyard/value/user_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <typeindex>

#include "base/demangled.h"
#include "opyard/base/error.h"
#include "opyard/detail/base/mutex.h"

namespace opyard {
namespace {

// Never destroyed: values and types point into it, also during static destruction.
struct TypeTable {
  struct Row {
    std::unique_ptr<const UserType> type;
    const std::type_info* cpp = nullptr;  // null for an enum without a C++ type
  };
  Mutex mutex{LockRank::UserTypes};  // guards both maps
  std::map<std::string, Row, std::less<>> by_name;
  std::map<std::type_index, const UserType*> by_cpp;
};

TypeTable& type_table() {
  static TypeTable& made = *new TypeTable;
  return made;
}

// Made while the library is loaded: made at its first use, the child of a fork would wait for ever
// if another thread was making it.
[[maybe_unused]] const TypeTable& made_at_load = type_table();

bool is_word(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto part = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), part);
}

// Two or more words with points between them.
void check_name(std::string_view name) {
  bool good = name.find('.') != std::string_view::npos;
  for (std::string_view rest = name; good;) {
    const std::size_t point = rest.find('.');
    good = is_word(rest.substr(0, point));
    if (point == std::string_view::npos) break;
    rest.remove_prefix(point + 1);
  }
  if (!good) {
    fail(ErrorKind::BadRegistration,
         fmt::format("'{}' is no name for a class or enum; write a namespace, a point and a name, "
                     "such as demo.Counter",
                     name));
  }
}

void check_members(std::string_view name, const std::vector<EnumMember>& members) {
  if (members.empty()) {
    fail(ErrorKind::BadRegistration, fmt::format("the enum {} has no members", name));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (members[i].name == members[k].name || members[i].number == members[k].number) {
        fail(ErrorKind::BadRegistration,
             fmt::format("the enum {} has the members {} = {} and {} = {}; names and numbers are "
                         "each used once",
                         name, members[k].name, members[k].number, members[i].name,
                         members[i].number));
      }
    }
  }
}

std::string described(const TypeTable::Row& row) {
  const char* const what = row.type->is_enum() ? "enum" : "class";
  if (row.cpp == nullptr) return fmt::format("an {} without a C++ type", what);
  return fmt::format("the C++ {} {}", what, demangled(*row.cpp));
}

bool same(const TypeTable::Row& row, const std::type_info* cpp,
          const std::vector<EnumMember>& members) {
  if ((row.cpp == nullptr) != (cpp == nullptr)) return false;
  if (cpp != nullptr && *row.cpp != *cpp) return false;
  return std::ranges::equal(row.type->members(), members);
}

const UserType& add_type(std::string_view name, const std::type_info* cpp,
                         std::vector<EnumMember> members) {
  check_name(name);
  TypeTable::Row row{std::make_unique<const UserType>(std::string(name), std::move(members)), cpp};
  TypeTable& all = type_table();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.by_name.find(name); found != all.by_name.end()) {
    const TypeTable::Row& other = found->second;
    if (same(other, cpp, {row.type->members().begin(), row.type->members().end()})) {
      return *other.type;
    }
    fail(ErrorKind::BadRegistration,
         fmt::format(
             "the name {} already means {}{}; choose another name for {}", name, described(other),
             cpp != nullptr && other.cpp != nullptr && *cpp == *other.cpp ? " with other members"
                                                                          : "",
             described(row)));
  }
  if (cpp != nullptr) {
    const auto [at, fresh] = all.by_cpp.try_emplace(*cpp, row.type.get());
    if (!fresh) {
      fail(ErrorKind::BadRegistration,
           fmt::format("{} is registered as {} already and cannot be {} as well", described(row),
                       at->second->name(), name));
    }
  }
  try {
    return *all.by_name.emplace(name, std::move(row)).first->second.type;
  } catch (...) {
    if (cpp != nullptr) all.by_cpp.erase(*cpp);
    throw;
  }
}

std::string listed(const UserType& type) {
  std::string text;
  for (const EnumMember& member : type.members()) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", member.name, member.number);
  }
  return text;
}

}  // namespace

std::optional<std::size_t> UserType::find_member(std::string_view name) const noexcept {
  const auto found = std::ranges::find(members_, name, &EnumMember::name);
  if (found == members_.end()) return std::nullopt;
  return std::size_t(found - members_.begin());
}

std::optional<std::size_t> UserType::find_number(std::int64_t number) const noexcept {
  const auto found = std::ranges::find(members_, number, &EnumMember::number);
  if (found == members_.end()) return std::nullopt;
  return std::size_t(found - members_.begin());
}

const UserType* find_user_type(std::string_view name) {
  TypeTable& all = type_table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_name.find(name);
  return found == all.by_name.end() ? nullptr : found->second.type.get();
}

const UserType& register_enum(std::string_view name, std::vector<EnumMember> members) {
  check_members(name, members);
  return add_type(name, nullptr, std::move(members));
}

namespace detail {

const UserType& register_class(std::string_view name, const std::type_info& type) {
  return add_type(name, &type, {});
}

const UserType& register_enum(std::string_view name, const std::type_info& type,
                              std::vector<EnumMember> members) {
  check_members(name, members);
  return add_type(name, &type, std::move(members));
}

const UserType* find_cpp_type(const std::type_info& type) {
  TypeTable& all = type_table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_cpp.find(type);
  return found == all.by_cpp.end() ? nullptr : found->second;
}

const UserType& require_user_type(const std::type_info& type) {
  const UserType* const found = find_cpp_type(type);
  if (found == nullptr) {
    fail(ErrorKind::BadRegistration,
         fmt::format("the C++ type {} is not registered; call register_class or register_enum "
                     "with a name such as demo.Counter before it is used",
                     demangled(type)));
  }
  return *found;
}

}  // namespace detail

EnumValue require_member(const UserType& type, std::string_view name) {
  if (const auto member = type.find_member(name)) return {&type, *member};
  fail(ErrorKind::BadValue,
       fmt::format("{} has no member '{}'; it has {}", type.name(), name, listed(type)));
}

EnumValue require_number(const UserType& type, std::int64_t number) {
  if (const auto member = type.find_number(number)) return {&type, *member};
  fail(ErrorKind::BadValue, fmt::format("{} has no member with the number {}; it has {}",
                                        type.name(), number, listed(type)));
}

}  // namespace opyard
