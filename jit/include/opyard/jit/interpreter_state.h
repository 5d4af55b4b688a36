// opyard/jit/interpreter_state.h: InterpreterState: one run of a code, by stages or instructions.
//
//   InterpreterState state(code);
//   state.run_one_stage({x}, outputs);
//   InterpreterState again = state.clone();      runs the next stage from here as often as is wanted
//   state.run_one_stage({grad}, outputs);
//
// [Inputs of a stage] A graph input is taken by the first stage that is not before its own; in the
// graph's order of inputs one of a later stage makes all behind it wait as well.
//
// [Between stages] Registers keep what a later stage uses, and nothing else.
//
// [Stopping] A stage that was begun is at an instruction until it ends: because step() stopped
// there, or because the instruction threw, which leaves all registers as they were before it.
// is_inside_stage() says so, and resume() goes on, beginning with that instruction. Dropping the
// state frees what it holds.
//
// Threads: a state is used by one thread at a time; a second one that enters it meanwhile gets an
// error. Several states of one code may run on several threads.
//
// Depends on: jit/code.h.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/jit/code.h"

namespace opyard::jit {

struct Instruction;

struct Watch;

// What a run may cost: instructions, bytes that are written to registers, and time from when it is
// set.
struct RunBudget {
  std::uint64_t steps = ~std::uint64_t{0};
  std::size_t bytes = ~std::size_t{0};
  std::chrono::nanoseconds time = std::chrono::nanoseconds::max();
};

// How often an instruction ran, and how long in all.
struct InstructionTime {
  std::uint64_t count = 0;
  std::uint64_t nanoseconds = 0;
};

class OPYARD_API InterpreterState {
 public:
  explicit InterpreterState(CodePtr code);
  InterpreterState(InterpreterState&& other) noexcept;
  InterpreterState& operator=(InterpreterState&&) = delete;
  InterpreterState(const InterpreterState&) = delete;
  InterpreterState& operator=(const InterpreterState&) = delete;
  ~InterpreterState();
  // The same position and the same values; from then on the two know nothing of each other.
  InterpreterState clone() const;
  // The same as bytes, which another process may load: where it is and what its registers hold; no
  // budget, no times. Registers that share a list or memory share it afterwards. Raises
  // Unsupported, naming the value, for an object of Python, a future, and a tensor that is not
  // plain memory of this process.
  std::string save() const;
  // A state that save() gave, of a code of the same graph. Raises BadValue for other bytes,
  // Unsupported for a code of more than 20,000 instructions. Bytes from a stranger are safe to
  // load.
  static InterpreterState load(CodePtr code, std::string_view bytes);

  const CodePtr& code() const noexcept { return code_; }
  // The stage that runs, or is next; stage_count() at the end.
  std::size_t stage() const noexcept { return stage_; }
  bool is_inside_stage() const noexcept { return at_ != nullptr; }
  bool is_finished() const noexcept;

  // Runs the next stage. `outputs` is emptied first. Raises BadArgument for wrong inputs, which
  // changes nothing, BadGraph past the last stage, inside a stage, or if the graph was changed; and
  // what an operator throws, see [Stopping].
  void run_one_stage(std::span<const opyard::Value> inputs, std::vector<opyard::Value>& outputs);
  // Takes the inputs of the next stage and runs nothing yet.
  void begin_stage(std::span<const opyard::Value> inputs);
  // Runs one instruction. False if the stage has no more: finish_stage() then gives its outputs.
  bool step();
  // Runs until the next instruction is one of this node. False if the stage ended before.
  bool run_to(const Node* node);
  // Runs to the end of the stage, and gives its outputs.
  void resume(std::vector<opyard::Value>& outputs);

  // Past a budget the run raises BadGraph, or TimedOut, before the next instruction; it can be
  // resumed with another budget. An operator that has begun is not interrupted.
  void set_budget(const RunBudget& budget);
  // Whether each step is checked against jit/report.h [Plan]: Internal for a value that is held too
  // long.
  void check_frees(bool on);
  // Whether instructions are timed; and what they have taken since, by number.
  void measure(bool on);
  std::vector<InstructionTime> times() const;

  // What an input of the current stage is declared as. Raises BadIndex ("Input out of range").
  const Type& type_for_input(std::size_t index) const;
  // The same, which has to be a tensor of known shape. Raises BadArgument if it is not.
  const TensorShape& tensor_type_for_input(std::size_t index) const;

  // The node of the instruction that is next, and its number; null and nothing between stages.
  const Node* node() const noexcept;
  std::optional<std::size_t> instruction() const noexcept;
  // What is in the register of a value now; nothing if it has none, is not computed yet, or died.
  std::optional<opyard::Value> read(const Value* value) const;
  // What is in that register from now on, of the same type. Raises BadValue if read() gives
  // nothing.
  void replace(const Value* value, opyard::Value by);
  // The values that registers hold now.
  std::vector<const Value*> live_values() const;

 private:
  struct Entered;
  Watch& watch();
  void check_runnable() const;
  // begin_stage() and resume() of a state that is entered.
  void take_inputs(std::span<const opyard::Value> inputs);
  void run_to_end(std::vector<opyard::Value>& outputs);

  CodePtr code_;
  std::vector<opyard::Value> registers_;
  std::size_t stage_ = 0;
  const Instruction* at_ = nullptr;
  std::unique_ptr<Watch> watch_;  // null as long as nothing is watched
  mutable std::atomic<bool> busy_{false};
};

}  // namespace opyard::jit
