// kernels/blocks/write_operators.cpp: the program of the build that reads kernels/operators/*.ops.
//
//   write_operators literals OUT.cpp --sources FILE.cpp … --operators FILE.ops …
//   write_operators header OUT.h --plugin opyard_kernels.so --operators FILE.ops …
//
// The first writes the C++ that registers the blocks, from their text alone; it is compiled into
// the plugin. The second loads the plugin, reads all bodies and formulas with it, and writes
// opyard/aten.h. A fault is printed as compilers print theirs, and ends the build.
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "blocks/check.h"
#include "blocks/files.h"
#include "blocks/literals.h"
#include "opyard/inspect/inspect.h"
#include "opyard/jit/operator_file.h"
#include "opyard/plugin/plugin.h"

namespace opyard::blocks {
namespace {

using Lists = std::map<std::string, std::vector<std::string>>;

// What follows each word that begins with "--".
Lists lists_of(int count, char** arguments) {
  Lists lists;
  std::string word;
  for (int i = 3; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument.starts_with("--")) {
      word = argument;
    } else {
      lists[word].push_back(argument);
    }
  }
  return lists;
}

std::string header(const Lists& lists) {
  load_library(lists.at("--plugin").front());
  std::vector<OperatorName> names;
  for (const OperatorName& one : inspect::names()) {
    if (one.name_space() != "aten" || (!names.empty() && names.back().name == one.name)) continue;
    for (std::string& overload : inspect::overloads(one.name)) {
      names.push_back({one.name, std::move(overload)});
    }
  }
  const std::string text = jit::typed_calls_header("opyard_kernels.so", "opyard::aten", names);
  check(read_sources(lists.at("--operators")));
  return text;
}

int run(int count, char** arguments) {
  const std::string_view wanted = count < 3 ? "" : arguments[1];
  if (wanted != "literals" && wanted != "header") {
    std::fputs("write_operators literals|header OUT --operators FILE.ops …\n", stderr);
    return 2;
  }
  const Lists lists = lists_of(count, arguments);
  write_text(arguments[2], wanted == "header" ? header(lists)
                                              : literals(read_sources(lists.at("--operators")),
                                                         lists.at("--sources")));
  return 0;
}

}  // namespace
}  // namespace opyard::blocks

int main(int count, char** arguments) {
  try {
    return opyard::blocks::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
