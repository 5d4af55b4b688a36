// code/disassemble.cpp: disassembler, by the letters of instructions.def.
#include <fmt/format.h>

#include "code/code_data.h"
#include "ir/builtins.h"
#include "opyard/jit/print.h"

namespace opyard::jit {
namespace {

std::string operand_text(const CodeData& code, std::uint32_t operand) {
  if ((operand & kConstant) != 0) {
    return fmt::format("c{}:{}", operand & kIndex, repr(code.constants[operand & kIndex]));
  }
  if ((operand & kIndex) == kNoRegister) return "_";
  return fmt::format("r{}{}", operand & kIndex, (operand & kLastUse) != 0 ? "!" : "");
}

std::string callee_of(const CallSite& site) {
  if (site.op != nullptr) return ' ' + opyard::to_string(site.op->name());
  if (site.builtin != nullptr) return ' ' + opyard::to_string(site.builtin->schema.name);
  if (site.operation != nullptr) return ' ' + site.operation->name();
  if (site.fork != nullptr) {
    return fmt::format(" {} instructions", site.fork->code->instruction_count());
  }
  return "";
}

// " r3, r4 <- aten::max r1!, c0:2"
std::string call_text(const CodeData& code, const std::string& callee,
                      std::span<const std::uint32_t> inputs,
                      std::span<const std::uint32_t> outputs) {
  const auto list = [&](std::span<const std::uint32_t> operands) {
    std::string text;
    for (const std::uint32_t operand : operands) {
      text += (text.empty() ? " " : ", ") + operand_text(code, operand);
    }
    return text;
  };
  return list(outputs) + " <-" + callee + list(inputs);
}

std::string call_text(const CodeData& code, std::uint32_t at) {
  const Instruction& instruction = code.instructions[at];
  if (is_short_call(code.origins[at].opcode)) {
    const auto* const op = static_cast<const Operator*>(instruction.context);
    const std::uint32_t inputs[] = {instruction.b, instruction.c, instruction.d};
    return call_text(code, ' ' + opyard::to_string(op->name()),
                     std::span(inputs).first(op->schema().arguments.size()),
                     std::span(&instruction.a, 1));
  }
  const auto& site = *static_cast<const CallSite*>(instruction.context);
  const std::span<const std::uint32_t> operands(code.operands.data() + instruction.d,
                                                site.inputs + site.outputs);
  return call_text(code, callee_of(site), operands.first(site.inputs),
                   operands.subspan(site.inputs));
}

std::string fields_text(const CodeData& code, std::uint32_t at) {
  const Instruction& instruction = code.instructions[at];
  const char* const letters = letters_of(code.origins[at].opcode);
  const std::uint32_t fields[4] = {instruction.a, instruction.b, instruction.c, instruction.d};
  std::string text;
  for (std::size_t i = 0; i < 4; ++i) {
    switch (letters[i]) {
      case 'o':
      case 'i':
        text += ' ' + operand_text(code, fields[i]);
        break;
      case 'n':
        text += fmt::format(" {}", std::int32_t(fields[i]));
        break;
      case 'j':
        text += fmt::format(" ->{}", fields[i]);
        break;
      default:
        break;
    }
  }
  return text;
}

std::string instruction_line(const CodeData& code, std::uint32_t at) {
  const Instruction& instruction = code.instructions[at];
  const Opcode opcode = code.origins[at].opcode;
  const bool calls = is_short_call(opcode) || letters_of(opcode)[3] == 's';
  std::string line = fmt::format("{:>4} {:<13}", at, name_of(opcode));
  line += calls ? call_text(code, at) : fields_text(code, at);
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

const char* letters_of(Opcode opcode) {
  switch (opcode) {
#define OPYARD_INSTRUCTION(name, operands, meaning) \
  case Opcode::name:                                \
    return operands;
#include "opyard/jit/instructions.def"
#undef OPYARD_INSTRUCTION
  }
  return "----";
}

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
    text += instruction_line(*data_, at);
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
