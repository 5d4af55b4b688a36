// ir/symbol.cpp: the table of interned names.
#include "opyard/jit/symbol.h"

#include <fmt/format.h>

#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "opyard/base/error.h"
#include "opyard/detail/base/mutex.h"

namespace opyard::jit {
namespace {

struct SymbolEntry {
  std::string text;
  std::size_t colons;  // where the "::" begins
};

struct Table {
  Mutex mutex{LockRank::Symbols};
  std::deque<SymbolEntry> entries;                          // never moved: views lead into them
  std::unordered_map<std::string_view, std::uint32_t> ids;  // keys lead into `entries`

  std::uint32_t add(std::string_view text, std::size_t colons) {
    const auto found = ids.find(text);
    if (found != ids.end()) return found->second;
    const auto id = std::uint32_t(entries.size());
    entries.push_back({std::string(text), colons});
    try {
      ids.emplace(entries.back().text, id);
    } catch (...) {
      entries.pop_back();
      throw;
    }
    return id;
  }
};

// Leaked, so that symbols may be used by static destructors.
Table& table() {
  static Table& table = *[] {
    auto* made = new Table;
#define OPYARD_SYMBOL(name_space, name) \
  made->add(#name_space "::" #name, std::string_view(#name_space).size());
#include "opyard/jit/symbols.def"
#undef OPYARD_SYMBOL
    return made;
  }();
  return table;
}
// Before a thread can need it while another one forks.
[[maybe_unused]] const Table& made_at_load = table();

std::uint32_t intern(std::string_view text, std::size_t colons) {
  Table& names = table();
  const std::lock_guard lock(names.mutex);
  return names.add(text, colons);
}

const SymbolEntry* find_entry(std::uint32_t id) {
  Table& names = table();
  const std::lock_guard lock(names.mutex);
  return id < names.entries.size() ? &names.entries[id] : nullptr;
}

}  // namespace

Symbol Symbol::from_qual_string(std::string_view text) {
  const std::size_t colons = text.find("::");
  if (colons == std::string_view::npos || colons == 0 || colons + 2 == text.size() ||
      text.find("::", colons + 1) != std::string_view::npos) {
    fail(ErrorKind::BadValue,
         fmt::format("'{}' is no qualified name; write a namespace, '::' and a name, as in "
                     "'aten::add'",
                     text.substr(0, 200)));
  }
  return Symbol(detail::KnownSymbol(intern(text, colons)));
}

Symbol Symbol::find(std::string_view text) {
  Table& names = table();
  const std::lock_guard lock(names.mutex);
  const auto found = names.ids.find(text);
  return found == names.ids.end() ? Symbol() : Symbol(detail::KnownSymbol(found->second));
}

Symbol Symbol::attr(std::string_view name) {
  return from_qual_string(std::string("attr::").append(name));
}

std::string_view Symbol::qual_string() const {
  const SymbolEntry* const entry = find_entry(id_);
  return entry == nullptr ? std::string_view() : entry->text;
}

std::string_view Symbol::name_space() const {
  const SymbolEntry* const entry = find_entry(id_);
  return entry == nullptr ? std::string_view()
                          : std::string_view(entry->text).substr(0, entry->colons);
}

std::string_view Symbol::name() const {
  const SymbolEntry* const entry = find_entry(id_);
  return entry == nullptr ? std::string_view()
                          : std::string_view(entry->text).substr(entry->colons + 2);
}

}  // namespace opyard::jit
