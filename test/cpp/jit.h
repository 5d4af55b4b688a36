// test/cpp/jit.h: graphs from text, run, and shown as text.
//
//   EXPECT_EQ(run_text("graph(%x : int):\n  return (%x)", {3}), "3");
//
// Depends on: aten.h, for tensors; the operators are loaded by the first graph.
#pragma once

#include <string>
#include <vector>

#include "aten.h"
#include "opyard/jit/code.h"
#include "opyard/jit/parse.h"
#include "opyard/jit/print.h"

namespace opyard::jit {

using Values = std::vector<opyard::Value>;

inline void load_operators() {
  static const bool loaded = (load_library(kKernelsLibrary), true);
  static_cast<void>(loaded);
}

inline GraphPtr graph_of(std::string_view text) {
  load_operators();
  return parse_graph(text);
}

inline std::string text_of(const Values& values) {
  std::string text;
  for (const opyard::Value& value : values) {
    if (!text.empty()) text += "; ";
    text += value.is_tensor() && value.tensor_unchecked().defined() ? show(value.tensor_unchecked())
                                                                    : repr(value);
  }
  return text;
}

inline std::string run_text(std::string_view text, const Values& inputs) {
  return text_of(compile(graph_of(text))->run(inputs));
}

}  // namespace opyard::jit
