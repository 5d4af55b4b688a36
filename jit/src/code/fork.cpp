// code/fork.cpp: prim::fork and aten::wait on the pool.
//
// A fork owns its inputs and its code, so it may outlive the state, the code and the graph that
// began it. It runs with an InterpreterState of its own: what it was given dies at its last use
// there. A wait ends with the time that its run has; the fork goes on, and a run that is resumed
// with more time waits for it again.
#include <fmt/format.h>

#include <algorithm>

#include "code/code_data.h"
#include "code/watch.h"
#include "ir/node_rules.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/schema/future_type.h"
#include "opyard/value/task.h"

namespace opyard::jit {
namespace {

opyard::Value run_fork(const ForkSite& site, std::vector<opyard::Value> inputs) {
  try {
    InterpreterState state(site.code);
    state.begin_stage(inputs);
    inputs.clear();
    std::vector<opyard::Value> outputs;
    state.resume(outputs);
    return outputs.size() == 1 ? std::move(outputs.front())
                               : opyard::Value::tuple(std::move(outputs));
  } catch (const Error& error) {
    throw error.with_context("in the graph that was begun by " + site.place);
  }
}

[[noreturn]] OPYARD_COLD void refuse_value(const opyard::Value& given, const Type& wanted) {
  fail(ErrorKind::BadArgument,
       fmt::format("the future holds {} ({}), where {} is wanted", name_of(given.kind()),
                   opyard::to_string(given), type_text(wanted)));
}

const opyard::Value& wait_for(FutureObject& future, const Frame& frame) {
  if (frame.deadline == nullptr) return future.wait();
  const auto left = std::max(*frame.deadline - Watch::Clock::now(), Watch::Clock::duration::zero());
  if (!future.wait_until_completed(left)) refuse_time();
  return future.value();
}

}  // namespace

TypePtr fork_result_type(const Graph& graph) {
  if (graph.outputs().size() == 1) return graph.outputs()[0]->type();
  std::vector<TypePtr> types;
  for (const Value* const output : graph.outputs()) types.push_back(output->type());
  return compound_type(TypeKind::Tuple, std::move(types));
}

const Instruction* run_Fork(const Instruction* instruction, Frame& frame) {
  const auto& call = *static_cast<const CallSite*>(instruction->context);
  const std::uint32_t* const operands = frame.code->operands.data() + instruction->d;
  std::vector<Register> inputs;
  inputs.reserve(call.inputs);
  for (std::uint32_t i = 0; i < call.inputs; ++i) inputs.push_back(frame.read(operands[i]));
  const Type& type = *call.node->outputs()[0]->type();
  CountedPtr<FutureObject> future = start_task(
      std::function<opyard::Value()>([site = call.fork, inputs = std::move(inputs)]() mutable {
        return run_fork(*site, std::move(inputs));
      }),
      future_element(runtime_type(*type.elements()[0])));
  for (std::uint32_t i = 0; i < call.inputs; ++i) {
    if ((operands[i] & kLastUse) != 0) frame.write(operands[i]) = Register();
  }
  const std::uint32_t target = operands[call.inputs];
  if (target != kNoRegister) frame.write(target) = Register(std::move(future));
  return instruction + 1;
}

const Instruction* run_Wait(const Instruction* instruction, Frame& frame) {
  const Type& wanted = *static_cast<const Type*>(instruction->context);
  // The future may be dropped by others meanwhile.
  const Register future = frame.read(instruction->b);
  Register value = wait_for(*Future<opyard::Value>(future).object(), frame);
  if (!accepts(wanted, value)) refuse_value(value, wanted);
  if ((instruction->b & kLastUse) != 0) frame.write(instruction->b) = Register();
  frame.write(instruction->a) = std::move(value);
  return instruction + 1;
}

}  // namespace opyard::jit
