// code/operator_calls.cpp: calls of operators, whose arguments and results stay in their registers.
//
// Nothing is dropped by the call itself: a register that is used a last time is still there if the
// operator throws.
//
// [Short calls] A call of up to three arguments and one result has its operands in the instruction
// itself, the operator as its context, and a function for each combination of what the operands
// are. So a call loads each operand once and decides nothing: it took 5.7 ns more than one of the
// dispatcher alone, and takes 2 (test/bench, graph_operator).
#include <array>
#include <utility>

#include "code/code_data.h"

namespace opyard::jit {
namespace {

// More arguments than a schema may have.
constexpr std::size_t kMostArguments = 256;

// What an operand is: its two highest bits.
constexpr std::size_t kRegisterOperand = 0;
constexpr std::size_t kLastUseOperand = 1;
constexpr std::size_t kConstantOperand = 2;
constexpr std::size_t kOperandKinds = 3;

std::size_t kind_of(std::uint32_t operand) { return operand >> 30; }

// A combination has a digit for each operand.
constexpr std::size_t kind_in(std::size_t combination, std::size_t index) {
  for (; index > 0; --index) combination /= kOperandKinds;
  return combination % kOperandKinds;
}
constexpr std::size_t combinations_of(std::size_t inputs) {
  return inputs == 0 ? 1 : kOperandKinds * combinations_of(inputs - 1);
}

template <std::size_t index>
std::uint32_t input_of(const Instruction& instruction) {
  static_assert(index < 3);
  if constexpr (index == 0) return instruction.b;
  if constexpr (index == 1) return instruction.c;
  return instruction.d;
}

template <std::size_t kind>
const Register* place(const Frame& frame, std::uint32_t operand) {
  if constexpr (kind == kConstantOperand) return frame.bases[1] + (operand ^ kConstant);
  if constexpr (kind == kLastUseOperand) return frame.bases[0] + (operand ^ kLastUse);
  return frame.bases[0] + operand;
}

template <std::size_t kind>
void drop(const Register* at) {
  if constexpr (kind == kLastUseOperand) const_cast<Register*>(at)->reset();
}

template <std::size_t combination, std::size_t... index>
const Instruction* call(const Instruction* instruction, Frame& frame,
                        std::index_sequence<index...>) {
  // What is dropped is found before the call: behind it, loads wait for the kernel's counting.
  const Register* const places[] = {
      place<kind_in(combination, index)>(frame, input_of<index>(*instruction))...};
  const Register* const arguments[] = {places[index]...};
  Register* const results[] = {frame.bases[0] + instruction->a};
  static_cast<const Operator*>(instruction->context)->call_from_registers({arguments, results});
  (drop<kind_in(combination, index)>(places[index]), ...);
  return instruction + 1;
}

template <std::size_t inputs, std::size_t combination>
const Instruction* run_short_call(const Instruction* instruction, Frame& frame) {
  return call<combination>(instruction, frame, std::make_index_sequence<inputs>());
}

template <std::size_t inputs>
InstructionFunction short_call(std::size_t combination) {
  static constexpr auto kFunctions = []<std::size_t... each>(std::index_sequence<each...>) {
    return std::array<InstructionFunction, sizeof...(each)>{&run_short_call<inputs, each>...};
  }(std::make_index_sequence<combinations_of(inputs)>());
  return kFunctions[combination];
}

}  // namespace

Opcode operator_opcode(std::size_t inputs, std::size_t outputs) {
  constexpr Opcode kShort[] = {Opcode::CallOperator1, Opcode::CallOperator2, Opcode::CallOperator3};
  const bool is_short = outputs == 1 && inputs >= 1 && inputs <= std::size(kShort);
  return is_short ? kShort[inputs - 1] : Opcode::CallOperator;
}

InstructionFunction operator_function(Opcode opcode, const Instruction& instruction) {
  const std::size_t first = kind_of(instruction.b);
  if (opcode == Opcode::CallOperator1) return short_call<1>(first);
  const std::size_t two = first + kOperandKinds * kind_of(instruction.c);
  if (opcode == Opcode::CallOperator2) return short_call<2>(two);
  return short_call<3>(two + kOperandKinds * kOperandKinds * kind_of(instruction.d));
}

const Instruction* run_CallOperator(const Instruction* instruction, Frame& frame) {
  const auto& site = *static_cast<const CallSite*>(instruction->context);
  const std::uint32_t* const operands = frame.code->operands.data() + instruction->d;
  const Register* arguments[kMostArguments];
  for (std::uint32_t i = 0; i < site.inputs; ++i) arguments[i] = &frame.read(operands[i]);
  Register* results[kMostArguments];
  for (std::uint32_t i = 0; i < site.outputs; ++i) {
    results[i] = &frame.write(operands[site.inputs + i]);
  }
  site.op->call_from_registers({arguments, results});
  for (std::uint32_t i = 0; i < site.inputs; ++i) {
    if ((operands[i] & kLastUse) != 0) frame.write(operands[i]).reset();
  }
  return instruction + 1;
}

}  // namespace opyard::jit
