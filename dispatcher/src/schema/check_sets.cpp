// schema/check_sets.cpp: contradictory alias sets.
//
// Values in one set may be one object. So what one argument writes is written for all others in
// its set, and code that trusts a mark without "!" would be wrong. A result is marked as
// written if it shares what an argument writes; nothing else can be meant.
//
// Only what is certain is reported. Values whose types cannot be one object (a list and its
// elements) do not meet in a set, the wildcard is no set, a bare "!" shares with nothing, and a
// result that leaves the "!" out promises nothing false.
#include <fmt/format.h>

#include <algorithm>

#include "schema/print.h"
#include "schema/schema_cursor.h"
#include "schema/sharing.h"

namespace opyard::detail {
namespace {

bool contains(const std::vector<std::string>& sets, const std::string& name) {
  return std::find(sets.begin(), sets.end(), name) != sets.end();
}

bool share_a_name(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const std::string& name) { return name != "*" && contains(b, name); });
}

// The argument that writes what this one reads.
const SetMark* find_writer(const std::vector<SetMark>& marks, const SetMark& reader) {
  for (const SetMark& mark : marks) {
    if (!mark.on_result && mark.sets.is_write &&
        share_a_name(reader.sets.before, mark.sets.before) &&
        can_be_one_object(*mark.type, *reader.type)) {
      return &mark;
    }
  }
  return nullptr;
}

// Whether an argument that is written is in a set of this result when the call ends.
bool has_writer(const std::vector<SetMark>& marks, const SetMark& result) {
  if (contains(result.sets.before, "*")) return true;
  return std::any_of(marks.begin(), marks.end(), [&](const SetMark& mark) {
    return !mark.on_result && mark.sets.is_write &&
           (share_a_name(result.sets.before, mark.sets.before) ||
            share_a_name(result.sets.before, mark.sets.after));
  });
}

// The sets of the mark, written or not.
SchemaFix with_write(const SetMark& mark, bool is_write) {
  AliasInfo sets = mark.sets;
  sets.is_write = is_write;
  SchemaFix fix{mark.span.begin, mark.span.end, {}};
  print_sets(fix.text, sets);
  return fix;
}

}  // namespace

void check_alias_sets(SchemaCursor& cursor) {
  const std::vector<SetMark>& marks = cursor.marks();
  for (const SetMark& mark : marks) {
    if (mark.on_result && mark.sets.is_write && !has_writer(marks, mark)) {
      cursor.report(mark.span,
                    "this result is marked as written, but no argument of its alias set is; mark "
                    "the argument, too, or leave out the '!'",
                    with_write(mark, false));
    }
    if (mark.on_result || mark.sets.is_write) continue;
    if (const SetMark* writer = find_writer(marks, mark)) {
      cursor.report(mark.span,
                    fmt::format("argument '{}' only reads what argument '{}' of the same alias set "
                                "writes; mark both as written, or give one another set",
                                mark.owner, writer->owner),
                    with_write(mark, true));
    }
  }
}

}  // namespace opyard::detail
