// code/disassemble.cpp: instructions as text, by the letters of instructions.def.
#include <fmt/format.h>

#include "code/code_data.h"
#include "ir/builtins.h"
#include "opyard/jit/print.h"

namespace opyard::jit {
namespace {

const char* operands_of(Opcode opcode) {
  switch (opcode) {
#define OPYARD_INSTRUCTION(name, operands, meaning) \
  case Opcode::name:                                \
    return operands;
#include "opyard/jit/instructions.def"
#undef OPYARD_INSTRUCTION
  }
  return "----";
}

std::string operand_text(const CodeData& code, std::uint32_t operand) {
  if ((operand & kConstant) != 0) {
    return fmt::format("c{}:{}", operand & kIndex, repr(code.constants[operand & kIndex]));
  }
  if ((operand & kIndex) == kNoRegister) return "_";
  return fmt::format("r{}{}", operand & kIndex, (operand & kLastUse) != 0 ? "!" : "");
}

void append_call(std::string& line, const CodeData& code, const Instruction& instruction) {
  const auto* const site = static_cast<const CallSite*>(instruction.context);
  const std::uint32_t* const operands = code.operands.data() + instruction.d;
  for (std::uint32_t i = 0; i < site->outputs; ++i) {
    line += (i == 0 ? " " : ", ") + operand_text(code, operands[site->inputs + i]);
  }
  line += " <-";
  if (site->op != nullptr) line += " " + opyard::to_string(site->op->name());
  if (site->builtin != nullptr) line += " " + opyard::to_string(site->builtin->schema.name);
  if (site->operation != nullptr) line += " " + site->operation->name();
  if (site->fork != nullptr) {
    line += fmt::format(" {} instructions", site->fork->code->instruction_count());
  }
  for (std::uint32_t i = 0; i < site->inputs; ++i) {
    line += (i == 0 ? " " : ", ") + operand_text(code, operands[i]);
  }
}

std::string line_of(const CodeData& code, std::uint32_t at) {
  const Instruction& instruction = code.instructions[at];
  const Opcode opcode = code.origins[at].opcode;
  std::string line = fmt::format("{:>4} {:<13}", at, name_of(opcode));
  const std::uint32_t fields[4] = {instruction.a, instruction.b, instruction.c, instruction.d};
  for (std::size_t i = 0; i < 4; ++i) {
    switch (operands_of(opcode)[i]) {
      case 'o':
      case 'i':
        line += ' ' + operand_text(code, fields[i]);
        break;
      case 'n':
        line += fmt::format(" {}", std::int32_t(fields[i]));
        break;
      case 'j':
        line += fmt::format(" ->{}", fields[i]);
        break;
      case 's':
        append_call(line, code, instruction);
        break;
      default:
        break;
    }
  }
  if (opcode == Opcode::Unary || opcode == Opcode::Binary) {
    line += ' ' + opyard::to_string(static_cast<const Builtin*>(instruction.context)->schema.name);
  }
  if (const Node* const node = code.origins[at].node) {
    line.resize(std::max<std::size_t>(line.size(), 56), ' ');
    line += " ; " + to_string(*node);
  }
  return line;
}

}  // namespace

const char* name_of(Opcode opcode) noexcept {
  switch (opcode) {
#define OPYARD_INSTRUCTION(name, operands, meaning) \
  case Opcode::name:                                \
    return #name;
#include "opyard/jit/instructions.def"
#undef OPYARD_INSTRUCTION
  }
  return "";
}

const char* meaning_of(Opcode opcode) noexcept {
  switch (opcode) {
#define OPYARD_INSTRUCTION(name, operands, meaning) \
  case Opcode::name:                                \
    return meaning;
#include "opyard/jit/instructions.def"
#undef OPYARD_INSTRUCTION
  }
  return "";
}

std::string Code::disassemble() const {
  std::string text;
  std::size_t stage = 0;
  for (std::uint32_t at = 0; at < data_->instructions.size(); ++at) {
    while (stage < data_->stages.size() && data_->stages[stage].begin == at) {
      text += fmt::format("stage {}:", stage);
      for (const StageInput& input : data_->stages[stage].inputs) {
        text +=
            fmt::format(" {}=%{}", operand_text(*data_, input.target), input.value->printed_name());
      }
      text += '\n';
      ++stage;
    }
    text += line_of(*data_, at);
    if (data_->origins[at].opcode == Opcode::EndStage) {
      for (const std::uint32_t output : data_->stages[data_->origins[at].stage].outputs) {
        text += ' ' + operand_text(*data_, output);
      }
    }
    while (text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text;
}

}  // namespace opyard::jit
