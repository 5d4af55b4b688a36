// code/instructions.cpp: the instruction functions.
//
// One that throws has written nothing and emptied nothing, so that it can be run again.
#include <fmt/format.h>

#include "code/code_data.h"
#include "code/fused_group.h"
#include "ir/builtins.h"
#include "ir/node_rules.h"
#include "opyard/detail/base/few.h"
#include "opyard/detail/base/small_vector.h"
#include "opyard/interpreter/interruption.h"
#include "opyard/jit/constant.h"
#include "opyard/value/deep_copy.h"

namespace opyard::jit {
namespace {

const CallSite& site_of(const Instruction* instruction) {
  return *static_cast<const CallSite*>(instruction->context);
}
const std::uint32_t* operands_of(const Instruction* instruction, const Frame& frame) {
  return frame.code->operands.data() + instruction->d;
}

// What is used a last time is emptied.
void drop_if_last(std::uint32_t operand, const Frame& frame) {
  if ((operand & kLastUse) != 0) frame.write(operand).reset();
}
void drop_last_uses(const std::uint32_t* operands, std::uint32_t count, const Frame& frame) {
  for (std::uint32_t i = 0; i < count; ++i) drop_if_last(operands[i], frame);
}

const Instruction* run_CallBuiltin(const Instruction* instruction, Frame& frame) {
  const CallSite& site = site_of(instruction);
  const std::uint32_t* const operands = operands_of(instruction, frame);
  const Register* arguments[kMostBuiltinArguments + 1];
  for (std::uint32_t i = 0; i < site.inputs; ++i) arguments[i] = &frame.read(operands[i]);
  arguments[site.inputs] = nullptr;
  Register results[kMostBuiltinResults];
  site.builtin->run(arguments, results);
  drop_last_uses(operands, site.inputs, frame);
  for (std::uint32_t i = 0; i < site.outputs; ++i) {
    const std::uint32_t target = operands[site.inputs + i];
    if (target != kNoRegister) frame.write(target) = std::move(results[i]);
  }
  return instruction + 1;
}

[[noreturn]] OPYARD_COLD void refuse_output_count(const CallSite& site, std::size_t given) {
  fail(ErrorKind::BadReturn,
       fmt::format("operation '{}' gave {} values, but its node has {} outputs",
                   site.operation->name(), given, site.outputs));
}

[[noreturn]] OPYARD_COLD void refuse_output(const CallSite& site, std::size_t index,
                                            const Register& given) {
  const Value& output = *site.node->outputs()[index];
  fail(ErrorKind::BadReturn,
       fmt::format("operation '{}' gave {} ({}) as output {}, but %{} is {}",
                   site.operation->name(), name_of(given.kind()), opyard::to_string(given), index,
                   output.printed_name(), type_text(*output.type())));
}

const Instruction* run_CallOperation(const Instruction* instruction, Frame& frame) {
  const CallSite& site = site_of(instruction);
  const std::uint32_t* const operands = operands_of(instruction, frame);
  std::vector<Register> inputs;
  inputs.reserve(site.inputs);
  for (std::uint32_t i = 0; i < site.inputs; ++i) inputs.push_back(frame.read(operands[i]));
  std::vector<Register> outputs;
  site.operation->run_at(*site.node, inputs, outputs);
  if (outputs.size() != site.outputs) refuse_output_count(site, outputs.size());
  for (std::uint32_t i = 0; i < site.outputs; ++i) {
    if (operands[site.inputs + i] == kNoRegister && outputs[i].is_none()) continue;
    if (!accepts(*site.node->outputs()[i]->type(), outputs[i])) refuse_output(site, i, outputs[i]);
  }
  drop_last_uses(operands, site.inputs, frame);
  for (std::uint32_t i = 0; i < site.outputs; ++i) {
    const std::uint32_t target = operands[site.inputs + i];
    if (target != kNoRegister) frame.write(target) = std::move(outputs[i]);
  }
  return instruction + 1;
}

const Instruction* run_CallGroup(const Instruction* instruction, Frame& frame) {
  const CallSite& site = site_of(instruction);
  const std::uint32_t* const operands = operands_of(instruction, frame);
  SmallVector<const Register*, 8> inputs(site.inputs, nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = &frame.read(operands[i]);
  Few<Register, 2> outputs(site.outputs);
  static_cast<const FusedGroup*>(site.operation)->run_lent(inputs, outputs);
  drop_last_uses(operands, site.inputs, frame);
  for (std::uint32_t i = 0; i < site.outputs; ++i) {
    const std::uint32_t target = operands[site.inputs + i];
    if (target != kNoRegister) frame.write(target) = std::move(outputs[i]);
  }
  return instruction + 1;
}

const Instruction* run_CopyConstant(const Instruction* instruction, Frame& frame) {
  frame.write(instruction->a) = deep_copy(frame.read(instruction->b));
  return instruction + 1;
}

const Instruction* run_Move(const Instruction* instruction, Frame& frame) {
  frame.write(instruction->a) = std::move(frame.write(instruction->b));
  return instruction + 1;
}

const Instruction* run_Copy(const Instruction* instruction, Frame& frame) {
  frame.write(instruction->a) = frame.read(instruction->b);
  return instruction + 1;
}

const Instruction* run_Drop(const Instruction* instruction, Frame& frame) {
  frame.write(instruction->a) = Register();
  return instruction + 1;
}

const Instruction* run_SetInt(const Instruction* instruction, Frame& frame) {
  frame.write(instruction->a) = Register(std::int64_t(std::int32_t(instruction->b)));
  return instruction + 1;
}

const Instruction* go_to(const Instruction* instruction, const Frame& frame) {
  return frame.code->instructions.data() + instruction->d;
}

const Instruction* run_Jump(const Instruction* instruction, Frame& frame) {
  return go_to(instruction, frame);
}

const Instruction* run_JumpUnless(const Instruction* instruction, Frame& frame) {
  return frame.read(instruction->b).to_bool() ? instruction + 1 : go_to(instruction, frame);
}

const Instruction* run_NextTrip(const Instruction* instruction, Frame& frame) {
  const std::int64_t trip = frame.read(instruction->a).int_unchecked() + 1;
  if (trip >= frame.read(instruction->b).to_int() || !frame.read(instruction->c).to_bool()) {
    return go_to(instruction, frame);
  }
  frame.write(instruction->a) = Register(trip);
  return instruction + 1;
}

std::vector<Register> gathered(const CallSite& site, const std::uint32_t* operands,
                               const Frame& frame) {
  std::vector<Register> items;
  items.reserve(site.inputs);
  for (std::uint32_t i = 0; i < site.inputs; ++i) items.push_back(frame.read(operands[i]));
  return items;
}

const Instruction* finish(const Instruction* instruction, Frame& frame, Register made) {
  const CallSite& site = site_of(instruction);
  const std::uint32_t* const operands = operands_of(instruction, frame);
  drop_last_uses(operands, site.inputs, frame);
  if (operands[site.inputs] != kNoRegister) frame.write(operands[site.inputs]) = std::move(made);
  return instruction + 1;
}

const Instruction* run_MakeList(const Instruction* instruction, Frame& frame) {
  return finish(
      instruction, frame,
      Register::list(gathered(site_of(instruction), operands_of(instruction, frame), frame)));
}

const Instruction* run_MakeTuple(const Instruction* instruction, Frame& frame) {
  return finish(
      instruction, frame,
      Register::tuple(gathered(site_of(instruction), operands_of(instruction, frame), frame)));
}

const Instruction* run_MakeDict(const Instruction* instruction, Frame& frame) {
  const CallSite& site = site_of(instruction);
  const std::uint32_t* const operands = operands_of(instruction, frame);
  std::vector<std::pair<Register, Register>> entries;
  for (std::uint32_t i = 0; i + 1 < site.inputs; i += 2) {
    entries.emplace_back(frame.read(operands[i]), frame.read(operands[i + 1]));
  }
  return finish(instruction, frame, Register::dict(std::move(entries)));
}

[[noreturn]] OPYARD_COLD void refuse_item_count(std::size_t given, std::size_t wanted) {
  fail(ErrorKind::BadValue, fmt::format("{} items are unpacked into {} values", given, wanted));
}

[[noreturn]] OPYARD_COLD void refuse_type(const Register& given, const Type& wanted) {
  fail(ErrorKind::BadArgument, fmt::format("expected {} but got {} ({})", type_text(wanted),
                                           name_of(given.kind()), opyard::to_string(given)));
}

const Instruction* run_Unpack(const Instruction* instruction, Frame& frame) {
  const CallSite& site = site_of(instruction);
  const std::uint32_t* const operands = operands_of(instruction, frame);
  const Register container = frame.read(operands[0]);
  const std::vector<Register>& items =
      container.is_tuple() ? container.to_tuple() : container.to_list();
  if (items.size() != site.outputs) refuse_item_count(items.size(), site.outputs);
  for (std::uint32_t i = 0; i < site.outputs; ++i) {
    const Type& wanted = *site.node->outputs()[i]->type();
    if (!accepts(wanted, items[i])) refuse_type(items[i], wanted);
  }
  drop_last_uses(operands, 1, frame);
  for (std::uint32_t i = 0; i < site.outputs; ++i) {
    const std::uint32_t target = operands[1 + i];
    if (target != kNoRegister) frame.write(target) = items[i];
  }
  return instruction + 1;
}

const Instruction* run_TupleItem(const Instruction* instruction, Frame& frame) {
  const std::vector<Register>& items = frame.read(instruction->b).to_tuple();
  const std::int64_t index = frame.read(instruction->c).to_int();
  Register item = items.at(std::size_t(index < 0 ? index + std::int64_t(items.size()) : index));
  drop_last_uses(&instruction->b, 1, frame);
  frame.write(instruction->a) = std::move(item);
  return instruction + 1;
}

const Instruction* run_CheckType(const Instruction* instruction, Frame& frame) {
  const Type& wanted = *static_cast<const Type*>(instruction->context);
  const Register& given = frame.read(instruction->b);
  if (!accepts(wanted, given)) refuse_type(given, wanted);
  Register copy = given;
  drop_last_uses(&instruction->b, 1, frame);
  frame.write(instruction->a) = std::move(copy);
  return instruction + 1;
}

const Instruction* run_Raise(const Instruction* instruction, Frame& frame) {
  fail(ErrorKind::BadValue, std::string(frame.read(instruction->b).to_string_view()));
}

const Instruction* run_EndStage(const Instruction*, Frame&) { return nullptr; }

// Each built-in function of numbers has a function of its own, see code/scalar.cpp.
constexpr InstructionFunction run_Unary = nullptr;
constexpr InstructionFunction run_Binary = nullptr;
// And each short call by what its operands are, see code/operator_calls.cpp.
constexpr InstructionFunction run_CallOperator1 = nullptr;
constexpr InstructionFunction run_CallOperator2 = nullptr;
constexpr InstructionFunction run_CallOperator3 = nullptr;

}  // namespace

const Instruction* run_jump_back(const Instruction* instruction, Frame& frame) {
  frame.until_check -= std::int32_t(instruction->a);
  if (__builtin_expect(frame.until_check <= 0, 0)) {
    frame.until_check = kUntilCheck;
    check_interruption();
  }
  return go_to(instruction, frame);
}

InstructionFunction function_of(Opcode opcode) {
  switch (opcode) {
#define OPYARD_INSTRUCTION(name, operands, meaning) \
  case Opcode::name:                                \
    return run_##name;
#include "opyard/jit/instructions.def"
#undef OPYARD_INSTRUCTION
  }
  return nullptr;
}

}  // namespace opyard::jit
