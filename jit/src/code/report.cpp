// code/report.cpp: the report of live ranges as text.
#include "opyard/jit/report.h"

#include <fmt/format.h>

#include "code/plan.h"
#include "opyard/jit/print.h"

namespace opyard::jit {
namespace {

std::vector<const Value*> values_of(const CodeData& code, const std::vector<bool>& live) {
  std::vector<const Value*> values;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i] && code.registers[i].owns && code.registers[i].value != nullptr) {
      values.push_back(code.registers[i].value);
    }
  }
  return values;
}

// The first user of a value that is not of this stage or one before; the Return if there is no
// node.
const Node* later_user(const CodeData& code, const Value* value, std::size_t stage) {
  const Node* found = nullptr;
  for (const Use& use : value->uses()) {
    if (use.user == code.graph->return_node() || use.user->stage() <= int(stage)) continue;
    if (found == nullptr || use.user->is_before(found)) found = use.user;
  }
  return found == nullptr ? code.graph->return_node() : found;
}

void add_unused(const Block* block, int stage, std::vector<const Value*>& unused) {
  for (const Node* const node : block->nodes()) {
    if (node->stage() != stage) continue;
    for (const Value* const output : node->outputs()) {
      if (!output->has_uses()) unused.push_back(output);
    }
    for (const Block* const inner : node->blocks()) add_unused(inner, stage, unused);
  }
}

std::string names_of(const std::vector<const Value*>& values) {
  std::string text;
  for (const Value* const value : values) {
    text += text.empty() ? "%" : ", %";
    text += value->printed_name();
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::vector<StageReport> lifetimes(const Code& code) {
  const CodeData& data = code.data();
  check_unchanged(data);
  const Plan plan = make_plan(data);
  std::vector<StageReport> report(data.stages.size());
  for (std::size_t at = 0; at < plan.size(); ++at) {
    StageReport& stage = report[data.origins[at].stage];
    std::vector<const Value*> values = values_of(data, plan[at]);
    if (values.size() <= stage.peak) continue;
    stage.peak = values.size();
    stage.peak_at = at;
    stage.peak_values = std::move(values);
  }
  for (std::size_t stage = 0; stage < report.size(); ++stage) {
    for (const Value* const value : values_of(data, live_behind(data, plan, stage))) {
      report[stage].live_after.emplace_back(value, later_user(data, value, stage));
    }
    for (const StageInput& input : data.stages[stage].inputs) {
      if (input.target == kNoRegister) report[stage].unused_inputs.push_back(input.value);
    }
    add_unused(data.graph->block(), int(stage), report[stage].unused_outputs);
  }
  return report;
}

std::string to_string(const std::vector<StageReport>& report) {
  std::string text;
  for (std::size_t i = 0; i < report.size(); ++i) {
    const StageReport& stage = report[i];
    text += fmt::format("stage {}: at most {} values live, before instruction {}: {}\n", i,
                        stage.peak, stage.peak_at, names_of(stage.peak_values));
    for (const auto& [value, node] : stage.live_after) {
      text += fmt::format(
          "  %{} lives on for {}\n", value->printed_name(),
          node->kind() == prim::Return ? "an output of a later stage" : to_string(*node));
    }
    text += fmt::format("  unused inputs, never held: {}\n", names_of(stage.unused_inputs));
    text += fmt::format("  unused outputs, freed at once: {}\n", names_of(stage.unused_outputs));
  }
  return text;
}

}  // namespace opyard::jit
