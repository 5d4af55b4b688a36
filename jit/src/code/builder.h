// code/builder.h: Builder: state of compiling a graph.
//
// build.cpp has registers, operands and stages, build_nodes.cpp what each kind of node becomes,
// build_blocks.cpp branches and loops.
//
// Depends on: code/code_data.h, code/lifetimes.h.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "code/code_data.h"
#include "code/lifetimes.h"

namespace opyard::jit {

class Builder {
 public:
  Builder(CodeData& code, const Callees& callees, Subcodes& subcodes)
      : code_(code),
        graph_(*code.graph),
        callees_(callees),
        subcodes_(subcodes),
        lifetimes_(graph_),
        constants_(graph_.values_made()),
        dies_(graph_.values_made()) {}

  void build();

 private:
  // Registers and operands.
  std::uint32_t new_register(const Value* value) { return new_register(value, *value->type()); }
  std::uint32_t new_register(const Value* value, const Type& type);
  std::uint32_t new_constant(opyard::Value value);
  // Gives a value its register, and finds where it dies.
  std::uint32_t define(const Value* value, const Block* block, bool always = false);
  void note_death(const Value* value, const LastUse& last);
  std::uint32_t operand_of(const Value* value) const;
  // The operand for input `index` of a node; marked if it is the value's last use.
  std::uint32_t use(const Node* node, std::size_t index);
  // Whether the use at `index` is the last among those before `end`.
  bool dies_at(const Value* value, const Node* node, std::size_t index, std::size_t end) const;
  void note_last_use(std::uint32_t operand, std::uint32_t at);

  // Instructions.
  std::uint32_t here() const { return std::uint32_t(code_.instructions.size()); }
  std::uint32_t emit(Opcode opcode, const Node* node, std::uint32_t a = 0, std::uint32_t b = 0,
                     std::uint32_t c = 0, std::uint32_t d = 0);
  void drop(std::uint32_t reg, const Node* node);
  // Puts what `operand` means into a register. A last use is moved.
  void transfer(std::uint32_t target, std::uint32_t operand, const Node* node);
  void emit_call(Opcode opcode, const Node* node, CallSite site,
                 std::span<const Argument> defaults = {});

  // Nodes.
  void emit(const Node* node);
  std::uint64_t given_up_to(const Node* node);
  void emit_callee(const Node* node, const Callee& callee);
  void emit_operator(const Node* node, const Operator& op);
  CodePtr code_of_subgraph(const Node* node);
  void emit_fork(const Node* node);
  // One output and up to two inputs.
  std::uint32_t emit_simple(Opcode opcode, const Node* node, const void* context);
  // Only operators that neither write it nor give it back see a constant itself.
  bool is_only_read(const Value* value) const;
  void emit_constant(const Node* node);
  // A value of the code, of which each run gets a copy if someone could change it.
  void emit_shared(const Node* node, opyard::Value held);

  // Control flow.
  void emit_block(const Block* block);
  std::vector<const Value*> take_dying(const Node* node);
  void emit_if(const Node* node);
  void emit_branch(const Node* node, std::size_t which, const std::vector<const Value*>& dying,
                   const std::vector<std::uint32_t>& targets);
  void emit_loop(const Node* node);
  // How much a back edge takes of Frame::until_check, of the loop that begins at `head`.
  std::uint32_t check_share(std::uint32_t head) const;
  // What the body gives becomes what it takes, all at once: through registers of their own if a
  // register would be written before it is read.
  void emit_next_trip(const Node* node, std::uint32_t condition,
                      const std::vector<std::uint32_t>& carried);

  // Stages.
  void take_input(const Value* value);
  void give_outputs(std::size_t first, std::size_t end);

  CodeData& code_;
  const Graph& graph_;
  const Callees& callees_;
  Subcodes& subcodes_;
  const Lifetimes lifetimes_;
  std::uint32_t stage_ = 0;
  ValueTable<std::uint32_t> constants_;  // their operands
  ValueTable<LastUse> dies_;
  std::unordered_map<const Node*, std::vector<const Value*>> dying_;  // at nodes with blocks
};

// Of a graph that was linted, by itself or with the one that holds it.
void build_linted(CodeData& data, Subcodes& subcodes);

}  // namespace opyard::jit
