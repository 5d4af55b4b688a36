// opyard/jit/code.h: Code: a compiled graph, immutable and shared.
//
//   CodePtr code = compile(graph);
//   code->run(inputs, outputs);              a graph of one stage, with registers on the C stack
//   InterpreterState state(code);            stage by stage: jit/interpreter_state.h
//
// [Registers] Each value has a register, which is an opyard::Value. Constants have none: they are
// in the code and are shared by all runs; a list or dict that someone could change is copied for
// each run. An input that nothing uses has no register and is never held.
//
// [Last use] A value dies at its last use: there its register is emptied, or moved from. Whether a
// use is the last is decided here, on the graph's blocks:
//   - the last of several inputs of one node, of the last node in program order that uses it
//   - a value whose last use is inside a branch dies in each branch: at its last use there, or at the
//     branch's head if there is none
//   - a value from outside that a loop's body uses dies behind the loop
//   - a value that nothing uses dies at once
//   - a value that a later stage uses lives until then
//
// [Checks] Making a code lints the graph, chooses each node's operator, and checks every type. So
// what is in a register is of the register's type, and instructions need not ask.
//
// Threads: a code may be used by any number of threads. The graph must not be changed while it is
// used: a run after a change raises BadGraph.
//
// Depends on: jit/graph.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "opyard/jit/graph.h"

namespace opyard::jit {

struct CodeData;  // code/code_data.h

enum class Opcode : std::uint8_t {
#define OPYARD_INSTRUCTION(name, operands, meaning) name,
#include "opyard/jit/instructions.def"
#undef OPYARD_INSTRUCTION
};
OPYARD_API const char* name_of(Opcode opcode) noexcept;
OPYARD_API const char* meaning_of(Opcode opcode) noexcept;

class OPYARD_API Code final : public Counted {
 public:
  // Raises BadGraph: a rule of lint(), an operator that is not there, types that do not fit.
  explicit Code(GraphPtr graph);

  const Graph& graph() const noexcept;
  const GraphPtr& graph_ptr() const noexcept;
  std::size_t stage_count() const noexcept;
  std::size_t input_count(std::size_t stage) const;
  std::size_t output_count(std::size_t stage) const;
  std::size_t register_count() const noexcept;
  std::size_t instruction_count() const noexcept;
  // The register of a value, or -1: of an unused input, a constant, or a value of another graph.
  std::int64_t register_of(const Value* value) const noexcept;
  // The node that an instruction is of, below instruction_count(); null for jumps and their like.
  const Node* node_of(std::size_t instruction) const noexcept;

  // Runs a graph of one stage. The inputs are borrowed: they must outlive the call, and are not
  // counted. `outputs` has room for output_count(0) values. Raises BadArgument for wrong inputs,
  // BadGraph if the graph has more stages or was changed, and what an operator throws, with the
  // node's line added.
  void run(std::span<const opyard::Value> inputs, std::span<opyard::Value> outputs) const;
  std::vector<opyard::Value> run(std::span<const opyard::Value> inputs) const;

  // One line an instruction: number, name, operands, the node it is of. "!" marks a last use.
  std::string disassemble() const;

  const CodeData& data() const noexcept { return *data_; }

 private:
  friend struct CodeAccess;
  explicit Code(CodeData* data) noexcept : data_(data) {}
  ~Code() override;
  CodeData* const data_;
};

using CodePtr = CountedPtr<const Code>;
// Flat code of a graph, which is not changed afterwards. Raises BadGraph.
inline CodePtr compile(GraphPtr graph) { return make_counted<Code>(std::move(graph)); }

}  // namespace opyard::jit
