// test/fuzz/round_trip.cpp: fuzzer of schema printing: parsed again, it is the same schema.
//
// Texts that are no schemas are left to schema.cpp: nearly all changes of a schema are none, and
// would crowd out the others.
#include "entries.h"
#include "opyard/schema/parse.h"
#include "opyard/schema/relations.h"

namespace opyard::fuzz {
namespace {

// Every question is asked for every place; the answers that must be so are checked.
void ask_all(const Schema& schema) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) places.push_back({Side::Argument, i});
  for (std::size_t i = 0; i < schema.results.size(); ++i) places.push_back({Side::Result, i});
  if (places.size() > 8) places.resize(8);
  bool written = false;
  bool aliasing = false;
  for (const Place a : places) {
    written = written || (a.side == Side::Argument && is_mutable(schema, a));
    aliasing = aliasing || is_aliasing(schema, a);
    require(!is_mutable(schema, a) || is_aliasing(schema, a), "a write set is an alias set");
    for (const Place b : places) {
      const bool may = may_alias(schema, a, b);
      require(may == may_alias(schema, b, a), "aliasing is mutual");
      require(may_contain_alias(schema, a, b) == may_contain_alias(schema, b, a),
              "containing an alias is mutual");
      require(!may || may_contain_alias(schema, a, b), "an alias is contained in itself");
    }
  }
  require(!written || schema.is_mutable(), "a written argument makes a schema mutable");
  require(!aliasing || has_alias_sets(schema), "an alias set that is there is found");
  require(!schema.is_mutable() || !is_functional(schema), "what writes is not functional");
  require(out_argument_count(schema) <= schema.arguments.size(), "out arguments are arguments");
  require(!find_difference(schema, schema), "a schema does not differ from itself");
  require(!why_not_backward_compatible(schema, schema), "a schema may stand for itself");
  require(!why_not_forward_compatible(schema, schema), "a schema may stand for itself");
  const Schema plain = with_runtime_types(schema);
  require(!find_difference(schema, plain), "the runtime types are those of the schema");
  require(with_runtime_types(plain) == plain, "the runtime types of runtime types are the same");
}

}  // namespace

bool round_trip(std::string_view bytes) {
  if (!find_schema_faults(bytes).empty()) return false;
  const Schema schema = parse_schema(bytes);
  const std::string printed = to_string(schema);
  const Schema again = parse_schema(printed);
  require(again == schema, "parsing the print gives the same schema");
  require(to_string(again) == printed, "the print of that is the same, too");
  ask_all(schema);
  return true;
}

}  // namespace opyard::fuzz
