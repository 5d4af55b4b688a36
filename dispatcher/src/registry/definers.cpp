// registry/definers.cpp: definitions of an operator, counted by definer.
#include "registry/definers.h"

#include <fmt/format.h>

#include <algorithm>

namespace opyard {
namespace {

const char* name_of(const Interpreter& interpreter) {
  return const_cast<Interpreter&>(interpreter).name();
}

}  // namespace

bool leave_to_sharers(OperatorEntry& entry, std::uint64_t id) noexcept {
  if (entry.sharers.empty()) return false;
  const auto sharer = std::find_if(entry.sharers.begin(), entry.sharers.end(),
                                   [&](const OperatorEntry::Sharer& one) { return one.id == id; });
  if (sharer == entry.sharers.end()) {
    // The first one goes: the next is the definer.
    entry.definition->interpreter = entry.sharers.front().interpreter;
    entry.definition_id = entry.sharers.front().id;
    entry.definition_owner = entry.sharers.front().owner;
    entry.sharers.erase(entry.sharers.begin());
  } else {
    entry.sharers.erase(sharer);
  }
  return true;
}

bool may_share(const OperatorEntry& entry, const Definition& fresh) {
  const auto is_other = [&](const Interpreter* one) {
    return one != nullptr && one != fresh.interpreter;
  };
  return fresh.interpreter != nullptr && !entry.ending && is_other(entry.definition->interpreter) &&
         std::all_of(
             entry.sharers.begin(), entry.sharers.end(),
             [&](const OperatorEntry::Sharer& sharer) { return is_other(sharer.interpreter); }) &&
         to_string(fresh.schema) == entry.op->declaration();
}

std::uint64_t may_share_on_reload(const OperatorEntry& entry, const Definition& fresh, Owner owner,
                                  ReloadMark reload) {
  if (owner == nullptr || entry.ending || to_string(fresh.schema) != entry.op->declaration()) {
    return 0;
  }
  const auto own = std::find_if(
      entry.sharers.begin(), entry.sharers.end(),
      [&](const OperatorEntry::Sharer& one) { return one.owner == owner && one.id <= reload; });
  return own == entry.sharers.end() ? 0 : own->id;
}

bool has_ended_definition(const OperatorEntry& entry) {
  return entry.definition && !entry.ending && has_ended(entry.definition->interpreter);
}

void refuse_definition(const OperatorEntry& entry, const Definition& fresh) {
  const Interpreter* other = entry.definition->interpreter;
  if (other == fresh.interpreter && !entry.sharers.empty()) {
    other = entry.sharers.front().interpreter;
  }
  if (fresh.interpreter != nullptr && other != nullptr && other != fresh.interpreter) {
    fail(ErrorKind::BadRegistration,
         fmt::format(
             "Interpreters of one process share their operators, but interpreter {} defines "
             "{} ({}), and interpreter {} has defined {} ({}); give both the same schema, or "
             "one of them another name",
             name_of(*fresh.interpreter), to_string(fresh.schema), fresh.provenance,
             name_of(*other), entry.op->declaration(), entry.definition->provenance.str()));
  }
  fail(ErrorKind::BadRegistration,
       fmt::format("Tried to register an operator ({}) with the same name and overload name "
                   "multiple times. Duplicate registration: {}. Original registration: {}",
                   to_string(fresh.schema), fresh.provenance, entry.definition->provenance.str()));
}

}  // namespace opyard
