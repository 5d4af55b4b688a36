// test/bench/cpp/torch_graphs.cpp: the rows of journey 7 as TorchScript's interpreter does them.
//
// Compiled by torch_rows.py against the PyTorch that is installed, when the benchmarks run. The
// graphs are those of graphs.cpp, read from text and run by the interpreter itself, without its
// profiling executor. It has no stages, so the cell is one graph. Each function gives nanoseconds,
// graph_compile() milliseconds.
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/extension.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "lstm_cell.h"

namespace {

using torch::jit::Stack;

constexpr int kLength = 100;
constexpr int kRounds = 25;

at::Tensor pass_second(const at::Tensor&, const at::Tensor& y) { return y; }

TORCH_LIBRARY(opyard_bench_graph, m) {
  m.def("pair(Tensor x, Tensor y) -> Tensor");
  m.impl("pair", c10::DispatchKey::CPU, TORCH_FN(pass_second));
}

std::string chain(int length, const std::string& type, const std::string& node) {
  std::string text = "graph(%x : " + type + "):\n  %one : int = prim::Constant[value=1]()\n";
  std::string last = "%x";
  for (int i = 0; i < length; ++i) {
    const std::string next = "%v" + std::to_string(i);
    text += "  " + next + " : " + type + " = " + node + '(' + last + ", " +
            (type == "int" ? "%one" : "%x") + ")\n";
    last = next;
  }
  return text + "  return (" + last + ")\n";
}

torch::jit::Code code_of(const std::string& text) {
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(text, graph.get());
  return torch::jit::Code(graph, "bench");
}

void run(const torch::jit::Code& code, const Stack& inputs) {
  Stack stack = inputs;
  torch::jit::InterpreterState(code).run(stack);
}

// The least of some rounds, for each of `parts`.
template <typename Body>
double nanoseconds(int loops, int parts, const Body& body) {
  double best = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < loops; ++i) body();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / loops / parts);
  }
  return best;
}

double graph_operator() {
  const torch::jit::Code code = code_of(chain(kLength, "Tensor", "opyard_bench_graph::pair"));
  const Stack inputs{at::zeros({4})};
  return nanoseconds(500, kLength, [&] { run(code, inputs); });
}
double graph_int() {
  const torch::jit::Code code = code_of(chain(kLength, "int", "aten::add"));
  const Stack inputs{std::int64_t{3}};
  return nanoseconds(500, kLength, [&] { run(code, inputs); });
}
double graph_enter() {
  const torch::jit::Code code = code_of(
      "graph(%x : Tensor, %y : Tensor):\n  %z : Tensor = opyard_bench_graph::pair(%x, %y)\n"
      "  return (%z)\n");
  const Stack inputs{at::zeros({4}), at::zeros({4})};
  return nanoseconds(20000, 1, [&] { run(code, inputs); });
}

torch::jit::Code cell_code() {
  return code_of(std::string("graph(%x : Tensor, %h : Tensor, %c : Tensor, %wx : Tensor, "
                             "%wh : Tensor, %dhy : Tensor, %dcy : Tensor):\n") +
                 kCellForward + kCellBackward + "  return (%hy, %cy, %dcx, %di, %dg, %df, %dot)\n");
}
Stack cell_inputs() {
  const at::Tensor x = at::full({8, 64}, 0.125);
  const at::Tensor w = at::full({64, 256}, 0.125);
  return {x, x, x, w, w, x, x};
}
double graph_lstm() {
  const torch::jit::Code code = cell_code();
  const Stack inputs = cell_inputs();
  return nanoseconds(300, 1, [&] { run(code, inputs); });
}

// Each thread runs one code with inputs of its own; the slower one counts.
double graph_two_threads() {
  const torch::jit::Code code = cell_code();
  std::atomic<int> ready{0};
  std::vector<double> taken(2);
  std::vector<std::thread> threads;
  for (int index = 0; index < 2; ++index) {
    threads.emplace_back([&, index] {
      at::set_num_threads(1);
      const Stack inputs = cell_inputs();
      ++ready;
      while (ready.load() < 2) {
      }
      taken[std::size_t(index)] = nanoseconds(300, 1, [&] { run(code, inputs); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(taken.begin(), taken.end());
}

double graph_compile() {
  const std::string text = chain(10000, "Tensor", "aten::mul");
  double best = 1e18;
  for (int round = 0; round < 3; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    code_of(text);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("graph_operator", &graph_operator);
  module.def("graph_int", &graph_int);
  module.def("graph_enter", &graph_enter);
  module.def("graph_lstm", &graph_lstm);
  module.def("graph_two_threads", &graph_two_threads);
  module.def("graph_compile", &graph_compile);
}
