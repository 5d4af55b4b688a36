// test/fuzz/graph.cpp: fuzzer of the graph parser: any text is refused, or a graph that means what
// its print means, and that compiles or is a BadGraph.
#include "entries.h"
#include "opyard/jit/code.h"
#include "opyard/jit/draw.h"
#include "opyard/jit/parse.h"
#include "opyard/jit/print.h"

namespace opyard::fuzz {
namespace {

jit::GraphPtr read(std::string_view text) {
  jit::ParseOptions options;
  options.limits.nodes = 10'000;
  options.limits.bytes = 1 << 16;
  return jit::parse_graph(text, options);
}

}  // namespace

bool graph(std::string_view bytes) {
  jit::GraphPtr graph;
  try {
    graph = read(bytes);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::BadGraph, "what is wrong with a text is BadGraph");
    return false;
  }
  jit::lint(*graph);
  const std::string printed = jit::to_string(*graph);
  // A tensor of several elements has no text of its own.
  if (printed.find("<Tensor>") == std::string::npos) {
    require(jit::to_string(*read(printed)) == printed, "the print of the print is the same");
  }
  require(jit::to_string(*graph->copy()) == printed, "a copy prints alike");
  jit::draw(*graph);
  try {
    jit::compile(graph)->disassemble();
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::BadGraph, "what does not compile is BadGraph");
  }
  return true;
}

}  // namespace opyard::fuzz
