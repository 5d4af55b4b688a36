// test/fuzz/operator_name.cpp: fuzzer of operator names: refused, or printed as the same name.
#include "entries.h"
#include "opyard/schema/parse.h"
#include "utf8.h"

namespace opyard::fuzz {

bool operator_name(std::string_view bytes) {
  OperatorName name;
  try {
    name = parse_operator_name(bytes);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::BadSchema, "a name that is refused is BadSchema");
    require(is_utf8(error.what()), "the message is text");
    return true;
  }
  const std::string printed = to_string(name);
  require(parse_operator_name(printed) == name, "parsing the print gives the same name");
  require(parse_schema(printed + "() -> ()").name == name, "a schema may have the name");
  require(!name.base_name().empty(), "an operator has a name");
  const std::string space(name.name_space());
  require(space.empty() || name.name == space + "::" + std::string(name.base_name()),
          "a namespace and a name make the whole");
  return true;
}

}  // namespace opyard::fuzz
