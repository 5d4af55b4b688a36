// model/run_times.cpp: timing of runs, by phase and by operator.
#include "model/run_times.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "prepared/prepared.h"

namespace opyard::jit {
namespace {

constexpr int kRuns = 10;

double ms(std::chrono::nanoseconds time) { return double(time.count()) / 1e6; }

struct OperatorTime {
  std::string name;
  std::uint64_t calls = 0;
  std::uint64_t nanoseconds = 0;
};

// Of a group that is computed in one pass its operators: "aten::mul+aten::tanh".
std::string name_of_node(const Node* node) {
  if (node == nullptr) return "(blocks)";
  std::string name;
  if (node->kind() == prim::FusionGroup) {
    for (const Node* const inner : node->g(attr::Subgraph)->nodes()) {
      if (inner->kind() == prim::Constant || inner->kind() == prim::ListConstruct) continue;
      name += fmt::format("{}{}", name.empty() ? "" : "+", inner->kind().qual_string());
    }
  }
  return name.empty() ? std::string(node->kind().qual_string()) : name;
}

// The longest first.
std::vector<OperatorTime> by_operator(const Code& code, std::span<const InstructionTime> times) {
  std::map<std::string, OperatorTime> sums;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i].count == 0) continue;
    const std::string name = name_of_node(code.node_of(i));
    OperatorTime& sum = sums[name];
    sum.name = name;
    sum.calls += times[i].count;
    sum.nanoseconds += times[i].nanoseconds;
  }
  std::vector<OperatorTime> sorted;
  for (const auto& [name, sum] : sums) sorted.push_back(sum);
  std::stable_sort(sorted.begin(), sorted.end(), [](const OperatorTime& a, const OperatorTime& b) {
    return a.nanoseconds > b.nanoseconds;
  });
  return sorted;
}

}  // namespace

void Stopwatch::lap(const char* what) {
  const Clock::time_point now = Clock::now();
  laps_.emplace_back(what, now - since_);
  since_ = now;
}

std::string Stopwatch::table() const {
  std::string text;
  for (const auto& [what, time] : laps_)
    text += fmt::format("{:<24} {:>10.3f} ms\n", what, ms(time));
  return text;
}

std::string operator_times(Model& model, std::span<const opyard::Value> inputs) {
  using Clock = std::chrono::steady_clock;
  Clock::duration fastest = Clock::duration::max();
  for (int i = 0; i + 1 < kRuns; ++i) {
    const Clock::time_point begin = Clock::now();
    run_model(model, inputs);
    fastest = std::min(fastest, Clock::now() - begin);
  }
  const CodePtr prepared = find_prepared_code(model, inputs);
  const CodePtr code = prepared != nullptr ? prepared : model.code;
  std::vector<opyard::Value> all;
  if (prepared == nullptr) {
    for (const StateTensor& each : model.state) all.emplace_back(each.tensor);
  }
  all.insert(all.end(), inputs.begin(), inputs.end());
  InterpreterState state(code);
  if (code->graph().is_restricted()) state.set_budget({.steps = 100'000'000});
  state.measure(true);
  std::vector<opyard::Value> outputs;
  state.run_one_stage(all, outputs);
  const std::vector<OperatorTime> sums = by_operator(*code, state.times());
  std::uint64_t total = 0;
  for (const OperatorTime& each : sums) total += each.nanoseconds;
  std::string text = fmt::format("{:<24} {:>10.3f} ms\n\n", "fastest of 9 more runs", ms(fastest));
  text += fmt::format("{:<24} {:>13} {:>6} {:>7}\n", "operator", "time", "calls", "share");
  for (const OperatorTime& each : sums) {
    text += fmt::format("{:<24} {:>10.3f} ms {:>6} {:>6.1f}%\n", each.name,
                        double(each.nanoseconds) / 1e6, each.calls,
                        total == 0 ? 0.0 : 100.0 * double(each.nanoseconds) / double(total));
  }
  return text;
}

}  // namespace opyard::jit
