// code/operator_calls.cpp: operator calls from registers.
//
// Nothing is dropped by the call itself: a register that is used a last time is still there if the
// operator throws.
//
// [Short calls] A call of up to three arguments and one result has its operands in the instruction
// itself, the operator as its context, and a function for each combination of what the operands
// are. So a call loads each operand once and decides nothing: it took 5.7 ns more than one of the
// dispatcher alone.
//
// [Known tensors] Which arguments of an operator carry keys its schema says, so a code knows it. If
// these are Tensors, and no lists of them or generators, the function of a short call joins their
// keys without asking the operator for a mask of positions. With it such a call took 174
// instructions and 1.22 of one of the dispatcher alone; now it takes 147 and 1.05 (test/bench,
// hot_paths and graph_operator).
#include <array>
#include <utility>

#include "code/code_data.h"

namespace opyard::jit {
namespace {

[[gnu::noinline]] void call_otherwise(const Operator& op, const RegisterCall& call) {
  op.call_from_registers(call);
}

// More arguments than a schema may have.
constexpr std::size_t kMostArguments = 256;

// What an operand is: its two highest bits.
enum : std::size_t { kRegisterOperand, kLastUseOperand, kConstantOperand, kOperandKinds };

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

// What carries keys: a bit for each argument that is a Tensor, or this one for whatever there is.
template <std::size_t inputs>
constexpr std::size_t kAnyKeys = std::size_t{1} << inputs;

// None may be given for a Tensor, too.
template <bool is_declared_tensor>
[[gnu::always_inline]] inline void join_keys(DispatchKeySet& keys, const Register& given) {
  if constexpr (is_declared_tensor) {
    if (__builtin_expect(given.is_tensor(), 1)) keys = keys | given.tensor_unchecked().keys();
  }
}

// As Operator::call_from_registers(), which is for what is called otherwise.
[[gnu::always_inline]] inline void call_with_keys(const Operator& op, DispatchKeySet keys,
                                                  const RegisterCall& call) {
  const std::uint32_t outer = opyard::detail::begin_reading();
  keys = op.call_keys(keys);
  const Record& found = op.record(keys);
  if (__builtin_expect(found.call_as == CallAs::Guarded, 0)) {
    opyard::detail::end_reading(outer);
    return call_otherwise(op, call);
  }
  const RegisterFunction function = found.from_registers;
  const TypedFunction typed = found.typed;
  void* const context = found.context;
  opyard::detail::end_reading(outer);
  function(typed, context, keys, call);
}

template <std::size_t combination, std::size_t tensors, std::size_t... index>
const Instruction* call_spread(const Instruction* instruction, Frame& frame,
                               std::index_sequence<index...>) {
  // What is dropped is found before the call: behind it, loads wait for the kernel's counting.
  const Register* const places[] = {
      place<kind_in(combination, index)>(frame, input_of<index>(*instruction))...};
  const Register* const arguments[] = {places[index]...};
  Register* const results[] = {frame.bases[0] + instruction->a};
  const auto& op = *static_cast<const Operator*>(instruction->context);
  if constexpr (tensors == kAnyKeys<sizeof...(index)>) {
    op.call_from_registers({arguments, results});
  } else {
    DispatchKeySet keys;
    (join_keys < (tensors >> index & 1) != 0 > (keys, *places[index]), ...);
    call_with_keys(op, keys, {arguments, results});
  }
  (drop<kind_in(combination, index)>(places[index]), ...);
  return instruction + 1;
}

// A row of functions for each way in which arguments carry keys.
template <std::size_t inputs, std::size_t number>
const Instruction* run_short_call(const Instruction* instruction, Frame& frame) {
  constexpr std::size_t kRow = combinations_of(inputs);
  return call_spread<number % kRow, number / kRow>(instruction, frame,
                                                   std::make_index_sequence<inputs>());
}

template <std::size_t inputs>
InstructionFunction short_call(std::size_t combination, std::size_t tensors) {
  static constexpr auto kFunctions = []<std::size_t... each>(std::index_sequence<each...>) {
    return std::array<InstructionFunction, sizeof...(each)>{&run_short_call<inputs, each>...};
  }(std::make_index_sequence<combinations_of(inputs) * (kAnyKeys<inputs> + 1)>());
  return kFunctions[combination + combinations_of(inputs) * tensors];
}

// See [Known tensors].
std::size_t tensors_of(const Operator& op) {
  const std::vector<Argument>& arguments = op.schema().arguments;
  std::size_t tensors = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Type& type = *arguments[i].type;
    if (type.kind() == TypeKind::Tensor) {
      tensors |= std::size_t{1} << i;
    } else if (carries_keys(type)) {
      return std::size_t{1} << arguments.size();
    }
  }
  return tensors;
}

}  // namespace

Opcode operator_opcode(std::size_t inputs, std::size_t outputs) {
  constexpr Opcode kShort[] = {Opcode::CallOperator1, Opcode::CallOperator2, Opcode::CallOperator3};
  const bool is_short = outputs == 1 && inputs >= 1 && inputs <= std::size(kShort);
  return is_short ? kShort[inputs - 1] : Opcode::CallOperator;
}

InstructionFunction operator_function(Opcode opcode, const Instruction& instruction) {
  const std::size_t tensors = tensors_of(*static_cast<const Operator*>(instruction.context));
  const std::size_t first = kind_of(instruction.b);
  if (opcode == Opcode::CallOperator1) return short_call<1>(first, tensors);
  const std::size_t two = first + kOperandKinds * kind_of(instruction.c);
  if (opcode == Opcode::CallOperator2) return short_call<2>(two, tensors);
  return short_call<3>(two + kOperandKinds * kOperandKinds * kind_of(instruction.d), tensors);
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
