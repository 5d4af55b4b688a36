// code/code_data.h: CodeData: instructions, constants, registers of a code.
//
//   byte 0           8           16     20     24     28     32
//        ┌───────────┬───────────┬──────┬──────┬──────┬──────┐
//        │ function  │ context   │  a   │  b   │  c   │  d   │      an instruction
//        └───────────┴───────────┴──────┴──────┴──────┴──────┘
//
//   bit  31         30          29                           0
//        ┌──────────┬───────────┬────────────────────────────┐
//        │ constant │ last use  │ register, or constant      │     an operand
//        └──────────┴───────────┴────────────────────────────┘
//
// Depends on: code/told.h, jit/code.h, jit/resolve.h, jit/operation.h.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "code/told.h"
#include "ir/index_table.h"
#include "opyard/jit/code.h"
#include "opyard/jit/operation.h"
#include "opyard/jit/resolve.h"

namespace opyard::jit {

using Register = opyard::Value;  // what is in one

inline constexpr std::uint32_t kConstant = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kLastUse = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kIndex = kLastUse - 1;
inline constexpr std::uint32_t kNoRegister = kIndex;  // of an output that has none

struct Frame;
struct Instruction;
// Does one instruction and returns the next; null at the end of a stage.
using InstructionFunction = const Instruction* (*)(const Instruction*, Frame&);

struct Instruction {
  InstructionFunction function;
  const void* context;
  std::uint32_t a, b, c, d;
};
static_assert(sizeof(Instruction) == 32);

// A run counts down from this, and checks for interruptions at zero. A loop of numbers alone counts
// one a trip, any other loop all of it, so that it checks at every trip.
inline constexpr std::int32_t kUntilCheck = 64;

// What instructions see of a run.
struct Frame {
  // By the highest bit of an operand.
  Register* bases[2];
  const CodeData* code;
  const Instruction* at;  // the one that runs, or that has thrown
  std::int32_t until_check = kUntilCheck;
  const std::chrono::steady_clock::time_point* deadline = nullptr;  // of its budget, if it has one

  const Register& read(std::uint32_t operand) const {
    return bases[operand >> 31][operand & kIndex];
  }
  Register& write(std::uint32_t operand) const { return bases[0][operand & kIndex]; }
};

// What a prim::fork runs. Its task owns one; so it may outlive the state that began it.
struct ForkSite : Counted {
  CodePtr code;
  std::string place;  // of the node, for errors: the graph that it is in may be gone by then
};

// A call with any number of operands.
struct CallSite {
  const Operator* op = nullptr;
  const Builtin* builtin = nullptr;
  const Operation* operation = nullptr;
  CountedPtr<const ForkSite> fork = nullptr;
  CountedPtr<const Operation> group = nullptr;  // keeps the operation of a prim::FusionGroup
  const Node* node = nullptr;
  std::uint32_t inputs = 0;   // in the side array from the instruction's d on
  std::uint32_t outputs = 0;  // behind them
};

// What is known of each instruction besides what it does.
struct Origin {
  const Node* node;  // null for what belongs to a block's ends
  Opcode opcode;
  std::uint32_t stage;
};

struct StageInput {
  std::uint32_t target;          // a register or kNoRegister
  std::uint64_t accepted_kinds;  // see schema/type.h
  const Value* value;
  const TensorShape* shape;  // whose dtype is checked, or null
};

struct Stage {
  std::vector<StageInput> inputs;
  std::vector<std::uint32_t> outputs;  // operands
  std::uint32_t begin = 0;             // its first instruction
};

// What lives in a register, and from where to where.
struct RegisterInfo {
  const Value* value;      // null for one of the code's own
  const Type* type;        // of what is in it
  bool owns;               // whether what is in it may have an owner to give back
  std::uint32_t born = 0;  // the instruction that writes it
  // The instructions that empty it, one on each way; ~k: outputs of stage k.
  SmallVector<std::uint32_t, 2> deaths;
};

struct CodeData {
  GraphPtr graph;
  std::uint64_t version = 0;
  bool runs_at_once = false;    // one stage, and not restricted
  bool leaves_nothing = false;  // each register that may own something is emptied on every way
  std::vector<Instruction> instructions;
  std::vector<Origin> origins;
  std::vector<std::uint32_t> operands;  // the side array
  std::deque<CallSite> calls;
  std::vector<Register> constants;
  std::vector<Stage> stages;
  std::vector<RegisterInfo> registers;
  ValueTable<std::uint32_t> register_of;
  mutable InstructionNotes notes;  // of those who are told of instructions

  std::uint32_t index_of(const Instruction* instruction) const {
    return std::uint32_t(instruction - instructions.data());
  }
};

struct CodeAccess {
  static CodePtr make(std::unique_ptr<CodeData> data) {
    const CodePtr code = CodePtr::steal(new Code(data.get()));
    static_cast<void>(data.release());
    return code;
  }
};

// Codes of the graphs that nodes hold: nodes that share a graph share its code.
using Subcodes = std::unordered_map<const Graph*, CodePtr>;

// build.cpp
void build(CodeData& data, Subcodes& subcodes);
// check_types.cpp: raises BadGraph for a node whose types do not fit. Callees are remembered.
using Callees = NodeTable<Callee>;
Callees check_types(const Graph& graph);

// disassemble.cpp: what the four operands are, by the letters of instructions.def.
const char* letters_of(Opcode opcode);
// build_nodes.cpp: what is given for a value that a prim::Uninitialized promises is never read.
// Nothing for a type that has no value of its own, as a Future.
std::optional<opyard::Value> find_placeholder(const Type& type);
// instructions.cpp
InstructionFunction function_of(Opcode opcode);
// A jump to a loop's head takes its operand a from Frame::until_check.
const Instruction* run_jump_back(const Instruction* instruction, Frame& frame);
// operator_calls.cpp: a short call has the operator as its context, and its operands in place.
constexpr bool is_short_call(Opcode opcode) {
  return opcode >= Opcode::CallOperator1 && opcode <= Opcode::CallOperator3;
}
const Instruction* run_CallOperator(const Instruction* instruction, Frame& frame);
// The opcode of a call of an operator with so many arguments and results.
Opcode operator_opcode(std::size_t inputs, std::size_t outputs);
// Of a call whose operands are in the instruction itself, by what each of them is.
InstructionFunction operator_function(Opcode opcode, const Instruction& instruction);
// scalar.cpp: of the built-in functions that are one instruction; null for others.
InstructionFunction scalar_function(const Builtin& builtin);
// fork.cpp
const Instruction* run_Fork(const Instruction* instruction, Frame& frame);
const Instruction* run_Wait(const Instruction* instruction, Frame& frame);
// What the future of a fork of this graph holds: its output, or a tuple of several.
TypePtr fork_result_type(const Graph& graph);

// run.cpp
// Runs from `frame.at` to the end of the stage. What is thrown says where, and leaves `frame.at` at
// the instruction that has thrown.
void run(Frame& frame);
// told.cpp: does one instruction and tells the listener, if there is one.
const Instruction* run_one_told(const Instruction* at, Frame& frame);
// Runs the instruction at `frame.at`, and returns the next one.
const Instruction* run_one(Frame& frame);
// Checks count and types, and raises BadArgument. `accept` is called with each register and value.
void check_inputs(const CodeData& code, std::size_t stage, std::span<const opyard::Value> inputs);
void check_unchanged(const CodeData& code);
// "%3 : Tensor = aten::mul(%x, %w) (stage 0, model:3:5)"
std::string location_of(const CodeData& code, const Instruction* instruction);

}  // namespace opyard::jit
