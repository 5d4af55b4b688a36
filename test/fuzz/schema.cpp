// test/fuzz/schema.cpp: fuzzer of the schema parser: accepted, or refused with a place in the text.
#include "opyard/schema/parse.h"

#include "entries.h"
#include "utf8.h"

namespace opyard::fuzz {
namespace {

void check_faults(std::string_view text, const Error& error) {
  require(error.kind() == ErrorKind::BadSchema, "a schema that is refused is BadSchema");
  require(is_utf8(error.what()), "the message is text");
  const std::vector<SchemaFault> faults = find_schema_faults(text);
  require(!faults.empty(), "what is refused has faults");
  require(faults.size() <= SchemaLimits().faults, "no more faults are told than wanted");
  std::size_t last = 0;
  for (const SchemaFault& fault : faults) {
    require(fault.begin >= last, "faults come in the order of the text");
    last = fault.begin;
    require(fault.begin <= fault.end && fault.end <= text.size(), "a fault is in the text");
    require(fault.line >= 1 && fault.column >= 1, "lines and columns count from 1");
    require(!fault.message.empty(), "a fault has words");
    if (!fault.fix) continue;
    require(fault.fix->begin <= fault.fix->end && fault.fix->end <= text.size(),
            "a fix is in the text");
  }
}

}  // namespace

bool schema(std::string_view bytes) {
  try {
    parse_schema(bytes);
  } catch (const Error& error) {
    check_faults(bytes, error);
    return true;
  }
  require(find_schema_faults(bytes).empty(), "what is taken has no faults");
  return true;
}

}  // namespace opyard::fuzz
