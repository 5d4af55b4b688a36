// test/fuzz/planted.cpp: a defect of the kind that the fuzzers look for, some conditions deep.
//
// Where they hold, one byte behind a buffer is read. No text of the corpora makes them hold, so
// a fuzzer that is blind, or runs without its sanitizer, does not find it.
#include <memory>

#include "entries.h"
#include "opyard/schema/parse.h"
#include "planted.h"

namespace opyard::fuzz {

bool planted(std::string_view bytes) {
  Schema schema;
  try {
    schema = parse_schema(bytes);
  } catch (const Error&) {
    return false;
  }
  for (const Argument& argument : schema.arguments) {
    if (!shows_planted_defect(argument)) continue;
    const std::size_t size = argument.name.size();
    const std::unique_ptr<volatile char[]> buffer(new volatile char[size]);
    for (std::size_t i = 0; i <= size; ++i) require(buffer[i] != 'x' || size > 0, "never");
  }
  return true;
}

}  // namespace opyard::fuzz
