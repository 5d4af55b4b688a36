// test/bench/cpp/graphs.cpp: journey 7: overhead of a graph over its operators, and making one.
//
// The kernels are cheap, so that what is around them is measured; the LSTM cell has those of
// kernels/.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "bench.h"
#include "folder.h"
#include "lstm_cell.h"
#include "opyard/jit/code.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/jit/parse.h"
#include "opyard/plugin/plugin.h"

namespace opyard::bench {
namespace {

using Values = std::vector<Value>;

Tensor pass_second(const Tensor&, const Tensor& y) { return y; }

const Operator& pair_operator() {
  static const Operator& op = []() -> const Operator& {
    auto& library = *new Library(LibraryKind::Def, "bench_graph");  // for ever
    library.def("pair(Tensor x, Tensor y) -> Tensor");
    library.impl("pair", DispatchKey::CPU, &pass_second);
    return require_operator("bench_graph::pair");
  }();
  return op;
}

constexpr int kLength = 100;

// A chain of so many nodes; each takes the one before and the graph's input.
std::string chain(int length, const char* type, const char* node) {
  std::string text =
      std::string("graph(%x : ") + type + "):\n  %one : int = prim::Constant[value=1]()\n";
  std::string last = "%x";
  for (int i = 0; i < length; ++i) {
    const std::string next = "%v" + std::to_string(i);
    text += "  " + next + " : " + type + " = " + node + '(' + last + ", " +
            (std::strcmp(type, "int") == 0 ? "%one" : "%x") + ")\n";
    last = next;
  }
  return text + "  return (" + last + ")\n";
}

jit::CodePtr code_of(const std::string& text) { return jit::compile(jit::parse_graph(text)); }

// An operator's instruction: read two registers, call, drop one of them. The floor calls through
// the dispatcher and drops the same.
void graph_operator_floor(benchmark::State& state) {
  const Operator& op = pair_operator();
  const Value x = small_tensor();
  Values results(kLength);
  while (state.KeepRunningBatch(kLength)) {
    const Value* last = &x;
    for (int i = 0; i < kLength; ++i) {
      const Value* const arguments[] = {last, hidden(&x)};
      Value* const out[] = {hidden(&results[std::size_t(i)])};
      op.call_from_registers({arguments, out});
      if (i > 0) results[std::size_t(i) - 1] = Value();
      last = &results[std::size_t(i)];
    }
    results.back() = Value();
  }
}
void run_chain(benchmark::State& state, const std::string& text, const Value& input) {
  const jit::CodePtr code = code_of(text);
  const Value inputs[] = {input};
  Value outputs[1];
  while (state.KeepRunningBatch(kLength)) {
    code->run(inputs, outputs);
    benchmark::DoNotOptimize(outputs[0]);
  }
}
void graph_operator_ours(benchmark::State& state) {
  pair_operator();
  run_chain(state, chain(kLength, "Tensor", "bench_graph::pair"), small_tensor());
}

// An int's instruction. The floor has instructions of the same size on registers of the same size,
// and knows nothing of kinds, last uses and errors.
struct Number {
  std::uint64_t kind;
  std::int64_t number;
};
struct Step {
  const Step* (*function)(const Step*, Number* const*);
  const void* context;
  std::uint32_t a, b, c, d;
};
const Step* add_numbers(const Step* step, Number* const* bases) {
  const std::int64_t left = bases[step->b >> 31][step->b & 0x3fffffff].number;
  const std::int64_t right = bases[step->c >> 31][step->c & 0x3fffffff].number;
  bases[0][step->a] = {1, left + right};
  return step + 1;
}
const Step* end_numbers(const Step*, Number* const*) { return nullptr; }

void graph_int_floor(benchmark::State& state) {
  std::vector<Step> steps;
  for (std::uint32_t i = 0; i < kLength; ++i) {
    steps.push_back({&add_numbers, nullptr, i + 1, i, std::uint32_t{1} << 31, 0});
  }
  steps.push_back({&end_numbers, nullptr, 0, 0, 0, 0});
  std::vector<Number> registers(kLength + 1);
  std::vector<Number> constants{{1, 1}};
  Number* const bases[] = {registers.data(), constants.data()};
  while (state.KeepRunningBatch(kLength)) {
    const Step* step = hidden(steps.data());
    do {
      step = step->function(step, bases);
    } while (step != nullptr);
    benchmark::DoNotOptimize(registers.back());
  }
}
void graph_int_ours(benchmark::State& state) {
  run_chain(state, chain(kLength, "int", "aten::add"), Value(3));
}

// Entering and leaving. The floor has registers on the C stack that are emptied at the end, borrows
// its inputs, calls the operator and moves its result out.
void graph_enter_floor(benchmark::State& state) {
  const Operator& op = pair_operator();
  const Values inputs{small_tensor(), small_tensor()};
  Value output;
  measure(state, [&] {
    const Value* const given = hidden(inputs.data());
    Value registers[3] = {Value::borrow(given[0].tensor_unchecked()),
                          Value::borrow(given[1].tensor_unchecked()), Value()};
    const Value* const arguments[] = {&registers[0], &registers[1]};
    Value* const results[] = {&registers[2]};
    op.call_from_registers({arguments, results});
    output = std::move(registers[2]);
    benchmark::DoNotOptimize(output);
  });
}
void graph_enter_ours(benchmark::State& state) {
  pair_operator();
  const jit::CodePtr code = code_of(
      "graph(%x : Tensor, %y : Tensor):\n  %z : Tensor = bench_graph::pair(%x, %y)\n  return (%z)");
  const Values inputs{small_tensor(), small_tensor()};
  Value output[1];
  measure(state, [&] {
    code->run({hidden(inputs.data()), 2}, output);
    benchmark::DoNotOptimize(output[0]);
  });
}

// A cell of an LSTM, and in a second stage the gradients of its state. The floor calls the same
// kernels in the same order, each result as long as C++ keeps it.
std::string cell_text() {
  return std::string(
             "graph(%x : Tensor, %h : Tensor, %c : Tensor, %wx : Tensor, %wh : Tensor):\n") +
         kCellForward + "  return (%hy, %cy)\nstage 1(%dhy : Tensor, %dcy : Tensor):\n" +
         kCellBackward + "  return (%dcx, %di, %dg, %df, %dot)\n";
}

struct Cell {
  static Tensor filled(std::int64_t rows, std::int64_t columns) {
    const std::int64_t sizes[] = {rows, columns};
    Tensor tensor = Tensor::empty(sizes);
    auto* const data = static_cast<float*>(tensor.impl()->data());
    for (std::int64_t i = 0; i < rows * columns; ++i) data[i] = float(i % 7 - 3) / 8;
    return tensor;
  }
  const Tensor x = filled(8, 64), h = filled(8, 64), c = filled(8, 64);
  const Tensor wx = filled(64, 256), wh = filled(64, 256);
  const Values forward{x, h, c, wx, wh};
  const Values backward{h, c};

  Cell() { load_library(kKernelsLibrary); }
};

struct Calls {
  using Unary = Tensor(const Tensor&);
  using Binary = Tensor(const Tensor&, const Tensor&);
  using Sum = Tensor(const Tensor&, const Tensor&, const Scalar&);
  template <typename Signature>
  static TypedOperator<Signature> find(const char* name) {
    return require_operator(name).typed<Signature>();
  }
  TypedOperator<Binary> mm = find<Binary>("aten::mm");
  TypedOperator<Binary> mul = find<Binary>("aten::mul.Tensor");
  TypedOperator<Sum> add = find<Sum>("aten::add.Tensor");
  TypedOperator<Sum> sub = find<Sum>("aten::sub.Tensor");
  TypedOperator<Unary> sigmoid = find<Unary>("aten::sigmoid");
  TypedOperator<Unary> tanh = find<Unary>("aten::tanh");
  using Narrow = Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t);
  TypedOperator<Narrow> narrow = find<Narrow>("aten::narrow");
};

void graph_lstm_floor(benchmark::State& state) {
  const Cell in;
  const Calls call;
  const Scalar one(1);
  for (auto _ : state) {
    const Tensor g = call.add.call(call.mm.call(in.x, in.wx), call.mm.call(in.h, in.wh), one);
    const Tensor i = call.sigmoid.call(call.narrow.call(g, 1, 0, 64));
    const Tensor f = call.sigmoid.call(call.narrow.call(g, 1, 64, 64));
    const Tensor cell = call.tanh.call(call.narrow.call(g, 1, 128, 64));
    const Tensor o = call.sigmoid.call(call.narrow.call(g, 1, 192, 64));
    const Tensor cy = call.add.call(call.mul.call(f, in.c), call.mul.call(i, cell), one);
    const Tensor t = call.tanh.call(cy);
    benchmark::DoNotOptimize(call.mul.call(o, t));
    const Tensor dot = call.mul.call(in.h, t);
    const Tensor dt = call.mul.call(in.h, o);
    const Tensor dc1 = call.sub.call(dt, call.mul.call(dt, call.mul.call(t, t)), one);
    const Tensor dc = call.add.call(in.c, dc1, one);
    const Tensor results[] = {call.mul.call(dc, f), call.mul.call(dc, cell), call.mul.call(dc, i),
                              call.mul.call(dc, in.c), dot};
    benchmark::DoNotOptimize(results);
  }
}
void graph_lstm_ours(benchmark::State& state) {
  const Cell in;
  const jit::CodePtr code = code_of(cell_text());
  Values outputs;
  for (auto _ : state) {
    jit::InterpreterState run(code);
    run.run_one_stage(in.forward, outputs);
    run.run_one_stage(in.backward, outputs);
    benchmark::DoNotOptimize(outputs);
  }
}

// Of this thread: what a neighbour takes of the processor is not in it, what threads wait for each
// other's cache lines is.
std::chrono::nanoseconds processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// Two states of one code on two threads. The floor is one thread with as much work as each of them.
// The threads begin each of many short rounds together, the slower one of a round counts, and the
// least round of all: a round in which a neighbour had a processor says nothing.
void graph_threads(benchmark::State& state, int threads) {
  const Cell in;
  const jit::CodePtr code = code_of(cell_text());
  constexpr int kRounds = 200;
  constexpr int kRuns = 50;
  for (auto _ : state) {
    std::atomic<int> ready{0};
    std::vector<std::vector<std::chrono::nanoseconds>> taken(static_cast<std::size_t>(threads));
    std::vector<std::thread> running;
    for (int index = 0; index < threads; ++index) {
      running.emplace_back([&, index] {
        pin_thread(index);
        const Cell own;
        Values outputs;
        for (int round = 1; round <= kRounds; ++round) {
          ++ready;
          while (ready.load() < threads * round) {
          }
          const std::chrono::nanoseconds begin = processor_time();
          for (int i = 0; i < kRuns; ++i) {
            jit::InterpreterState run(code);
            run.run_one_stage(own.forward, outputs);
            run.run_one_stage(own.backward, outputs);
          }
          taken[std::size_t(index)].push_back(processor_time() - begin);
        }
      });
    }
    for (std::thread& thread : running) thread.join();
    auto least = std::chrono::nanoseconds::max();
    for (std::size_t round = 0; round < kRounds; ++round) {
      auto slower = std::chrono::nanoseconds::zero();
      for (const auto& of_thread : taken) slower = std::max(slower, of_thread[round]);
      least = std::min(least, slower);
    }
    state.SetIterationTime(std::chrono::duration<double>(least).count() / kRuns);
  }
}

// From text to code: read, checked, compiled. `times` graphs of so many nodes.
void graph_compile(benchmark::State& state, int nodes, int times) {
  const Cell load;
  const std::string text = chain(nodes, "Tensor", "aten::mul");
  for (auto _ : state) {
    for (int i = 0; i < times; ++i) benchmark::DoNotOptimize(code_of(text).get());
  }
}

BENCHMARK(graph_operator_floor)->Name("graph_operator/floor");
BENCHMARK(graph_operator_ours)->Name("graph_operator/ours");
BENCHMARK(graph_int_floor)->Name("graph_int/floor");
BENCHMARK(graph_int_ours)->Name("graph_int/ours");
BENCHMARK(graph_enter_floor)->Name("graph_enter/floor");
BENCHMARK(graph_enter_ours)->Name("graph_enter/ours");
BENCHMARK(graph_lstm_floor)->Name("graph_lstm/floor");
BENCHMARK(graph_lstm_ours)->Name("graph_lstm/ours");
BENCHMARK_CAPTURE(graph_threads, floor, 1)
    ->Name("graph_two_threads/floor")
    ->UseManualTime()
    ->Iterations(3);
BENCHMARK_CAPTURE(graph_threads, ours, 2)
    ->Name("graph_two_threads/ours")
    ->UseManualTime()
    ->Iterations(3);
BENCHMARK_CAPTURE(graph_compile, ours, 10'000, 1)->Name("graph_compile/ours")->Iterations(1);
BENCHMARK_CAPTURE(graph_compile, floor, 10'000, 100)
    ->Name("graph_million/floor")
    ->Iterations(1)
    ->Repetitions(3);
BENCHMARK_CAPTURE(graph_compile, ours, 1'000'000, 1)
    ->Name("graph_million/ours")
    ->Iterations(1)
    ->Repetitions(3);

}  // namespace
}  // namespace opyard::bench
