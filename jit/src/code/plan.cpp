// code/plan.cpp: liveness of registers, by walking backwards until nothing changes.
#include "code/plan.h"

#include <fmt/format.h>

namespace opyard::jit {
namespace {

constexpr std::size_t kMostInstructions = 20'000;

class CallPlanner {
 public:
  explicit CallPlanner(const CodeData& code)
      : code_(code),
        plan_(code.instructions.size(), std::vector<bool>(code.registers.size(), false)) {}

  Plan make() && {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t at = plan_.size(); at-- > 0;) {
        std::vector<bool> live = behind(at);
        apply(at, live);
        if (live != plan_[at]) {
          plan_[at] = std::move(live);
          changed = true;
        }
      }
    }
    return std::move(plan_);
  }

 private:
  // What is live behind an instruction, on any way on.
  std::vector<bool> behind(std::size_t at) const {
    const Opcode opcode = code_.origins[at].opcode;
    if (opcode == Opcode::EndStage) return live_behind(code_, plan_, code_.origins[at].stage);
    std::vector<bool> live(code_.registers.size(), false);
    const auto add = [&](std::size_t next) {
      for (std::size_t i = 0; i < live.size(); ++i) live[i] = live[i] || plan_[next][i];
    };
    if (opcode != Opcode::Jump) add(at + 1);
    if (letters_of(opcode)[3] == 'j') add(code_.instructions[at].d);
    return live;
  }

  void define(std::uint32_t operand, std::vector<bool>& live) const {
    if ((operand & kIndex) != kNoRegister) live[operand & kIndex] = false;
  }
  void use(std::uint32_t operand, std::vector<bool>& live) const {
    if ((operand & kConstant) == 0) live[operand & kIndex] = true;
  }

  void apply(std::size_t at, std::vector<bool>& live) const {
    const Instruction& instruction = code_.instructions[at];
    const Opcode opcode = code_.origins[at].opcode;
    const char* const letters = letters_of(opcode);
    if (letters[3] == 's') {
      const auto& site = *static_cast<const CallSite*>(instruction.context);
      const std::uint32_t* const operands = code_.operands.data() + instruction.d;
      for (std::uint32_t i = 0; i < site.outputs; ++i) define(operands[site.inputs + i], live);
      for (std::uint32_t i = 0; i < site.inputs; ++i) use(operands[i], live);
      return;
    }
    if (opcode == Opcode::EndStage) {
      for (const std::uint32_t output : code_.stages[code_.origins[at].stage].outputs) {
        use(output, live);
      }
      return;
    }
    const std::uint32_t fields[4] = {instruction.a, instruction.b, instruction.c, instruction.d};
    for (std::size_t i = 0; i < 4; ++i) {
      if (letters[i] == 'o' && opcode != Opcode::NextTrip) define(fields[i], live);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      if (letters[i] == 'i') use(fields[i], live);
    }
    // A drop needs what it drops; a loop's counter is read before it is written.
    if (opcode == Opcode::Drop || opcode == Opcode::NextTrip) use(instruction.a, live);
  }

  const CodeData& code_;
  Plan plan_;
};

}  // namespace

std::vector<bool> live_behind(const CodeData& code, const Plan& plan, std::size_t stage) {
  if (stage + 1 == code.stages.size()) return std::vector<bool>(code.registers.size(), false);
  std::vector<bool> live = plan[code.stages[stage + 1].begin];
  for (const StageInput& input : code.stages[stage + 1].inputs) {
    if (input.target != kNoRegister) live[input.target] = false;
  }
  return live;
}

Plan make_plan(const CodeData& code) {
  OPYARD_CHECK(code.instructions.size() <= kMostInstructions, Unsupported,
               fmt::format("lifetimes are computed for codes of at most {} instructions; this one "
                           "has {}",
                           kMostInstructions, code.instructions.size()));
  return CallPlanner(code).make();
}

}  // namespace opyard::jit
