// schema/schema_cursor.h: the cursor of the schema parser, with the alias sets met so far.
//
// The parts of the parser share one: parse.cpp reads names, arguments and results,
// parse_type.cpp types and alias sets, parse_default.cpp default values; check_sets.cpp looks
// at all alias sets when everything is read.
//
// Depends on: schema/parse.h, text/cursor.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/detail/text/cursor.h"
#include "opyard/schema/parse.h"

namespace opyard::detail {

// An alias set as it is written on an argument or result; those of a bare "!" are not stored,
// since nothing shares them.
struct SetMark {
  AliasInfo sets;
  TypePtr type;            // that of the value in the sets
  Span span;               // from "(" to ")"
  std::string_view owner;  // the name of the argument; of a result its name or nothing
  bool on_result;
};

class SchemaCursor : public Cursor {
 public:
  SchemaCursor(std::string_view text, const SchemaLimits& limits, Faults& faults);

  // The name of the next anonymous write set.
  std::string fresh_set() { return '$' + std::to_string(fresh_sets_++); }
  std::vector<SetMark>& marks() noexcept { return marks_; }

 private:
  std::size_t fresh_sets_ = 0;
  std::vector<SetMark> marks_;
};

// Of schemas, with which their faults are collected.
extern const Language kSchemaLanguage;

// parse_type.cpp. `depth` counts the levels of the type; a base type has one. A type that is
// not known has been reported; the rest of its argument is passed over.
struct ParsedType {
  TypePtr type;
  std::optional<AliasInfo> alias;
  std::size_t depth = 1;
  bool known = true;
  Span span;
};
ParsedType parse_type(SchemaCursor& cursor, std::size_t outer_depth = 0);

// parse_default.cpp: the value behind "=", fitted to the type of its argument; None if it does
// not fit, which has then been reported.
Value parse_default(SchemaCursor& cursor, const ParsedType& type);

// check_sets.cpp: reports alias sets that contradict each other.
void check_alias_sets(SchemaCursor& cursor);

}  // namespace opyard::detail
