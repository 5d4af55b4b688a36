// code/interpreter_state.cpp: InterpreterState: stages of a run.
#include "opyard/jit/interpreter_state.h"

#include <fmt/format.h>

#include "code/entered.h"
#include "code/watch.h"

namespace opyard::jit {

namespace {

Frame frame_of(const CodeData& data, std::vector<opyard::Value>& registers, const Instruction* at) {
  return {{registers.data(), const_cast<Register*>(data.constants.data())}, &data, at};
}

}  // namespace

InterpreterState::InterpreterState(CodePtr code) : code_(std::move(code)) {
  OPYARD_CHECK(code_ != nullptr, BadArgument, "a state is made of a code, not of null");
  registers_.resize(code_->data().registers.size());
}
InterpreterState::InterpreterState(InterpreterState&& other) noexcept
    : code_(std::move(other.code_)),
      registers_(std::move(other.registers_)),
      stage_(other.stage_),
      at_(other.at_),
      watch_(std::move(other.watch_)) {}
InterpreterState::~InterpreterState() = default;

InterpreterState InterpreterState::clone() const {
  const Entered entered(*this);
  InterpreterState copy(code_);
  copy.registers_ = registers_;
  copy.stage_ = stage_;
  copy.at_ = at_;
  if (watch_ != nullptr) copy.watch_ = std::make_unique<Watch>(*watch_);
  return copy;
}

bool InterpreterState::is_finished() const noexcept {
  return at_ == nullptr && stage_ == code_->stage_count();
}

void InterpreterState::begin_stage(std::span<const opyard::Value> inputs) {
  const Entered entered(*this);
  take_inputs(inputs);
}

void InterpreterState::take_inputs(std::span<const opyard::Value> inputs) {
  const CodeData& data = code_->data();
  check_unchanged(data);
  OPYARD_CHECK(at_ == nullptr, BadGraph,
               fmt::format("stage {} was begun and has not ended; resume it, or clone a state from "
                           "before",
                           stage_));
  OPYARD_CHECK(stage_ < data.stages.size(), BadGraph,
               data.stages.size() == 1
                   ? std::string("the only stage of this state has run")
                   : fmt::format("all {} stages of this state have run", data.stages.size()));
  check_inputs(data, stage_, inputs);
  const Stage& stage = data.stages[stage_];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (stage.inputs[i].target != kNoRegister) registers_[stage.inputs[i].target] = inputs[i];
  }
  at_ = data.instructions.data() + stage.begin;
}

void InterpreterState::check_runnable() const {
  check_unchanged(code_->data());
  OPYARD_CHECK(!code_->graph().is_restricted() || (watch_ != nullptr && watch_->budget), BadGraph,
               "a restricted graph runs with a budget; give the state one with set_budget()");
}

bool InterpreterState::step() {
  const Entered entered(*this);
  const CodeData& data = code_->data();
  check_runnable();
  OPYARD_CHECK(at_ != nullptr, BadGraph, "no stage is begun; begin_stage() takes its inputs");
  if (data.origins[data.index_of(at_)].opcode == Opcode::EndStage) return false;
  Frame frame = frame_of(data, registers_, at_);
  if (watch_ != nullptr) frame.deadline = watch_->find_deadline();
  at_ = watch_ == nullptr ? run_one(frame) : run_one_watched(frame, *watch_);
  return true;
}

bool InterpreterState::run_to(const Node* node) {
  for (;;) {
    {
      const Entered entered(*this);
      if (at_ != nullptr && this->node() == node) return true;
    }
    if (!step()) return false;
  }
}

void InterpreterState::resume(std::vector<opyard::Value>& outputs) {
  const Entered entered(*this);
  run_to_end(outputs);
}

void InterpreterState::run_to_end(std::vector<opyard::Value>& outputs) {
  const CodeData& data = code_->data();
  check_runnable();
  OPYARD_CHECK(at_ != nullptr, BadGraph, "no stage is begun; run_one_stage() takes its inputs");
  const Stage& stage = data.stages[stage_];
  std::vector<opyard::Value> given(stage.outputs.size());
  Frame frame = frame_of(data, registers_, at_);
  if (watch_ != nullptr) frame.deadline = watch_->find_deadline();
  try {
    if (watch_ == nullptr) {
      jit::run(frame);
    } else {
      run_watched(frame, *watch_);
    }
  } catch (...) {
    at_ = frame.at;
    throw;
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::uint32_t operand = stage.outputs[i];
    if ((operand & kLastUse) != 0) {
      given[i] = std::move(frame.write(operand));
    } else {
      given[i] = frame.read(operand);
    }
  }
  at_ = nullptr;
  ++stage_;
  outputs = std::move(given);
}

void InterpreterState::run_one_stage(std::span<const opyard::Value> inputs,
                                     std::vector<opyard::Value>& outputs) {
  outputs.clear();
  const Entered entered(*this);
  take_inputs(inputs);
  run_to_end(outputs);
}

Watch& InterpreterState::watch() {
  if (watch_ == nullptr) watch_ = std::make_unique<Watch>();
  return *watch_;
}

void InterpreterState::set_budget(const RunBudget& budget) {
  const Entered entered(*this);
  watch().budget = budget;
  if (budget.time != std::chrono::nanoseconds::max()) {
    watch().deadline = Watch::Clock::now() + budget.time;
  }
}

void InterpreterState::check_frees(bool on) {
  const Entered entered(*this);
  watch().plan = on ? std::optional<Plan>(make_plan(code_->data())) : std::nullopt;
}

void InterpreterState::measure(bool on) {
  const Entered entered(*this);
  watch().times.assign(on ? code_->instruction_count() : 0, InstructionTime());
}

std::vector<InstructionTime> InterpreterState::times() const {
  const Entered entered(*this);
  return watch_ == nullptr ? std::vector<InstructionTime>() : watch_->times;
}

const Type& InterpreterState::type_for_input(std::size_t index) const {
  const CodeData& data = code_->data();
  OPYARD_CHECK(stage_ < data.stages.size() && index < data.stages[stage_].inputs.size(), BadIndex,
               "Input out of range");
  return *data.stages[stage_].inputs[index].value->type();
}

const TensorShape& InterpreterState::tensor_type_for_input(std::size_t index) const {
  const Type& type = type_for_input(index);
  const TensorShape* const shape = find_shape(type);
  OPYARD_CHECK(shape != nullptr, BadArgument,
               fmt::format("input {} of stage {} is {}, of which no shape is known", index, stage_,
                           type_text(type)));
  return *shape;
}

const Node* InterpreterState::node() const noexcept {
  return at_ == nullptr ? nullptr : code_->data().origins[code_->data().index_of(at_)].node;
}

std::optional<std::size_t> InterpreterState::instruction() const noexcept {
  if (at_ == nullptr) return std::nullopt;
  return code_->data().index_of(at_);
}

std::optional<opyard::Value> InterpreterState::read(const Value* value) const {
  const Entered entered(*this);
  const std::int64_t reg = code_->register_of(value);
  if (reg < 0 || registers_[std::size_t(reg)].is_none()) return std::nullopt;
  return registers_[std::size_t(reg)];
}

void InterpreterState::replace(const Value* value, opyard::Value by) {
  const Entered entered(*this);
  const std::int64_t reg = code_->register_of(value);
  OPYARD_CHECK(reg >= 0 && !registers_[std::size_t(reg)].is_none(), BadValue,
               "no register holds this value now");
  registers_[std::size_t(reg)] = std::move(by);
}

std::vector<const Value*> InterpreterState::live_values() const {
  const Entered entered(*this);
  std::vector<const Value*> live;
  const CodeData& data = code_->data();
  for (std::size_t i = 0; i < registers_.size(); ++i) {
    if (data.registers[i].value != nullptr && data.registers[i].owns && !registers_[i].is_none()) {
      live.push_back(data.registers[i].value);
    }
  }
  return live;
}

}  // namespace opyard::jit
