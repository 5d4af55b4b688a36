// test/bench/cpp/hot_graphs.cpp: the hot paths of graphs. They are apart from the others, since the
// compiler treats functions of one file together, and the others are to count what they did.
#include "hot_graphs.h"

#include <string>

#include "opyard/jit/code.h"
#include "opyard/jit/parse.h"

namespace opyard::bench {
namespace {

// Instructions of a graph, a hundred in a chain: entering and leaving is a hundredth of each count.
void run_chain(long times, const std::string& type, const std::string& call, const Value& input) {
  constexpr int kLength = 100;
  std::string text = "graph(%0 : " + type + "):\n";
  for (int i = 0; i < kLength; ++i) {
    const std::string last = '%' + std::to_string(i);
    text += "  %" + std::to_string(i + 1) + " : " + type + " = " + call + '(' + last + ", " +
            (i == 0 ? last : '%' + std::to_string(i - 1)) + ")\n";
  }
  const jit::CodePtr code =
      jit::compile(jit::parse_graph(text + "  return (%" + std::to_string(kLength) + ")\n"));
  Value output[1];
  for (; times > 0; times -= kLength) {
    code->run({&input, 1}, output);
    asm volatile("" : : "r"(output) : "memory");
  }
}

}  // namespace

void run_graph_operator(const Tensor& x, long times) {
  run_chain(times, "Tensor", "hot::counted", x);
}
void run_graph_int(long times) { run_chain(times, "int", "aten::sub", Value(3)); }

void run_graph_enter(const Tensor& x, long times) {
  const jit::CodePtr code =
      jit::compile(jit::parse_graph("graph(%x : Tensor):\n  %y : Tensor = hot::reference(%x)\n"
                                    "  return (%y)\n"));
  const Value input(x);
  Value output[1];
  while (times-- > 0) {
    code->run({&input, 1}, output);
    asm volatile("" : : "r"(output) : "memory");
  }
}

}  // namespace opyard::bench
