// code/build.cpp: from a graph to instructions.
//
// [Delegation] A value that dies at a node with blocks, because it is used inside, is from then on treated
// as if each branch had defined it: dies_ says where in the branch. See code.h, [Last use].
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "code/code_data.h"
#include "code/lifetimes.h"
#include "ir/builtins.h"
#include "ir/node_rules.h"
#include "opyard/jit/constant.h"

namespace opyard::jit {
namespace {

bool may_own(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
    case TypeKind::None:
    case TypeKind::Device:
    case TypeKind::ScalarType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
      return false;
    default:
      return true;
  }
}

bool can_change(const Type& type) {
  if (type.kind() == TypeKind::List || type.kind() == TypeKind::Dict ||
      type.kind() == TypeKind::Any) {
    return true;
  }
  return std::any_of(type.elements().begin(), type.elements().end(),
                     [](const TypePtr& element) { return can_change(*element); });
}

void build_linted(CodeData& data, Subcodes& subcodes);

class Builder {
 public:
  Builder(CodeData& code, const Callees& callees, Subcodes& subcodes)
      : code_(code),
        graph_(*code.graph),
        callees_(callees),
        subcodes_(subcodes),
        lifetimes_(graph_) {}

  void build() {
    auto next = graph_.nodes().begin();
    std::size_t input = 0;
    std::size_t output = 0;
    for (int stage = 0; stage <= graph_.stage(); ++stage) {
      stage_ = std::uint32_t(stage);
      code_.stages.emplace_back();
      code_.stages.back().begin = here();
      // See H22 in the head of interpreter_state.h: an input of a later stage ends the stage's inputs.
      for (; input < graph_.inputs().size() && graph_.inputs()[input]->stage() <= stage; ++input) {
        take_input(graph_.inputs()[input]);
      }
      for (; next != graph_.nodes().end() && (*next)->stage() <= stage; ++next) emit(*next);
      const std::size_t first = output;
      while (output < graph_.outputs().size() && lifetimes_.output_stage(output) <= stage) ++output;
      give_outputs(first, output);
      emit(Opcode::EndStage, nullptr);
    }
  }

 private:
  // Registers and operands ------------------------------------------------------------------

  std::uint32_t new_register(const Value* value) { return new_register(value, *value->type()); }
  std::uint32_t new_register(const Value* value, const Type& type) {
    OPYARD_CHECK(code_.registers.size() < kNoRegister, BadGraph,
                 "the graph has more values than a code has registers");
    code_.registers.push_back({value, &type, may_own(type), here(), {}});
    return std::uint32_t(code_.registers.size() - 1);
  }

  std::uint32_t new_constant(opyard::Value value) {
    code_.constants.push_back(std::move(value));
    return std::uint32_t(code_.constants.size() - 1) | kConstant;
  }

  // Gives a value its register, and finds where it dies.
  std::uint32_t define(const Value* value, const Block* block, bool always = false) {
    note_death(value, lifetimes_.last_use(value, block));
    if (!value->has_uses() && !always) return kNoRegister;
    const std::uint32_t fresh = new_register(value);
    code_.register_of.emplace(value, fresh);
    return fresh;
  }

  void note_death(const Value* value, const LastUse& last) {
    dies_[value] = last;
    if (last.node != nullptr && last.nested) dying_[last.node].push_back(value);
  }

  std::uint32_t operand_of(const Value* value) const {
    const auto constant = constants_.find(value);
    if (constant != constants_.end()) return constant->second;
    return code_.register_of.at(value);
  }

  // The operand for input `index` of a node; marked if it is the value's last use.
  std::uint32_t use(const Node* node, std::size_t index) {
    const Value* const value = node->inputs()[index];
    const std::uint32_t operand = operand_of(value);
    if ((operand & kConstant) != 0 || !dies_at(value, node, index, node->inputs().size())) {
      return operand;
    }
    return operand | kLastUse;
  }

  // Whether the use at `index` is the last among those before `end`.
  bool dies_at(const Value* value, const Node* node, std::size_t index, std::size_t end) const {
    const auto found = dies_.find(value);
    if (found == dies_.end() || found->second.node != node || found->second.nested) return false;
    const auto inputs = node->inputs();
    return std::find(inputs.begin() + std::ptrdiff_t(index) + 1,
                     inputs.begin() + std::ptrdiff_t(end),
                     value) == inputs.begin() + std::ptrdiff_t(end);
  }

  void note_last_use(std::uint32_t operand, std::uint32_t at) {
    if ((operand & kLastUse) != 0) code_.registers[operand & kIndex].deaths.push_back(at);
  }

  // Instructions ----------------------------------------------------------------------------

  std::uint32_t here() const { return std::uint32_t(code_.instructions.size()); }

  std::uint32_t emit(Opcode opcode, const Node* node, std::uint32_t a = 0, std::uint32_t b = 0,
                     std::uint32_t c = 0, std::uint32_t d = 0) {
    const std::uint32_t at = here();
    code_.instructions.push_back({function_of(opcode), nullptr, a, b, c, d});
    code_.origins.push_back({node, opcode, stage_});
    return at;
  }

  void drop(std::uint32_t reg, const Node* node) {
    if (!code_.registers[reg].owns) return;
    code_.registers[reg].deaths.push_back(emit(Opcode::Drop, node, reg));
  }

  // Puts what `operand` means into a register. A last use is moved.
  void transfer(std::uint32_t target, std::uint32_t operand, const Node* node) {
    const bool moves = (operand & kLastUse) != 0;
    note_last_use(operand, emit(moves ? Opcode::Move : Opcode::Copy, node, target, operand));
  }

  void emit_call(Opcode opcode, const Node* node, CallSite site,
                 std::span<const Argument> defaults = {}) {
    site.node = node;
    const auto begin = std::uint32_t(code_.operands.size());
    const std::size_t given = node->inputs().size();
    for (std::size_t i = 0; i < given; ++i) {
      const std::uint32_t operand = use(node, i);
      code_.operands.push_back(operand);
      note_last_use(operand, here());
    }
    for (std::size_t i = given; i < defaults.size(); ++i) {
      code_.operands.push_back(new_constant(*defaults[i].default_value));
    }
    site.inputs = std::uint32_t(code_.operands.size() - begin);
    site.outputs = std::uint32_t(node->outputs().size());
    const std::uint32_t at = emit(opcode, node, 0, 0, 0, begin);
    // An operator writes all its results; one that nothing uses is dropped behind it.
    const bool all = opcode == Opcode::CallOperator;
    for (const Value* const output : node->outputs()) {
      code_.operands.push_back(define(output, node->owning_block(), all));
    }
    code_.calls.push_back(std::move(site));
    code_.instructions[at].context = &code_.calls.back();
    for (const Value* const output : node->outputs()) {
      if (all && !output->has_uses()) drop(operand_of(output), node);
    }
  }

  // Nodes -----------------------------------------------------------------------------------

  void emit(const Node* node) {
    const Symbol kind = node->kind();
    if (const Operation* const operation = operation_of(*node)) {
      return emit_call(Opcode::CallOperation, node, {.operation = operation});
    }
    if (kind == prim::Constant) return emit_constant(node);
    if (kind == prim::Undefined) {
      constants_.emplace(node->output(), new_constant(opyard::Value(Tensor())));
      return;
    }
    if (kind == prim::fork) return emit_fork(node);
    if (detail::is_wait(*node)) {
      emit_simple(Opcode::Wait, node, node->output()->type().get());
      return;
    }
    if (kind == prim::If) return emit_if(node);
    if (kind == prim::Loop) return emit_loop(node);
    if (kind == prim::ListConstruct) return emit_call(Opcode::MakeList, node, {});
    if (kind == prim::TupleConstruct) return emit_call(Opcode::MakeTuple, node, {});
    if (kind == prim::DictConstruct) return emit_call(Opcode::MakeDict, node, {});
    if (kind == prim::ListUnpack || kind == prim::TupleUnpack) {
      return emit_call(Opcode::Unpack, node, {});
    }
    if (kind == prim::TupleIndex) {
      emit_simple(Opcode::TupleItem, node, nullptr);
      return;
    }
    if (kind == prim::unchecked_cast) {
      emit_simple(Opcode::CheckType, node, node->output()->type().get());
      return;
    }
    if (kind == prim::RaiseException) {
      const std::uint32_t text = use(node, 0);
      note_last_use(text, emit(Opcode::Raise, node, 0, text & ~kLastUse));
      return;
    }
    emit_callee(node, callees_.at(node));
  }

  void emit_callee(const Node* node, const Callee& callee) {
    if (callee.op != nullptr) {
      return emit_call(Opcode::CallOperator, node, {.op = callee.op},
                       callee.op->schema().arguments);
    }
    if (const InstructionFunction function = scalar_function(*callee.builtin)) {
      const Opcode opcode = node->inputs().size() == 1 ? Opcode::Unary : Opcode::Binary;
      const std::uint32_t at = emit_simple(opcode, node, callee.builtin);
      code_.instructions[at].function = function;
      return;
    }
    emit_call(Opcode::CallBuiltin, node, {.builtin = callee.builtin},
              callee.builtin->schema.arguments);
  }

  void emit_fork(const Node* node) {
    const GraphPtr& graph = node->g(attr::Subgraph);
    auto site = make_counted<ForkSite>();
    const auto known = subcodes_.find(graph.get());
    if (known != subcodes_.end()) {
      site->code = known->second;
    } else {
      auto inner = std::make_unique<CodeData>();
      inner->graph = graph;
      // It was linted with the graph that holds it, so this goes no deeper than lint() allows.
      build_linted(*inner, subcodes_);
      site->code = CodeAccess::make(std::move(inner));
      subcodes_.emplace(graph.get(), site->code);
    }
    site->place = detail::describe_node(*node);
    emit_call(Opcode::Fork, node, {.fork = CountedPtr<const ForkSite>(std::move(site))});
  }

  // One output and up to two inputs.
  std::uint32_t emit_simple(Opcode opcode, const Node* node, const void* context) {
    std::uint32_t inputs[2] = {0, 0};
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      inputs[i] = use(node, i);
      note_last_use(inputs[i], here());
    }
    const std::uint32_t at = emit(opcode, node, 0, inputs[0], inputs[1]);
    code_.instructions[at].context = context;
    const std::uint32_t target = define(node->output(), node->owning_block(), true);
    code_.instructions[at].a = target;
    if (!node->output()->has_uses()) drop(target, node);
    return at;
  }

  // Only operators that neither write it nor give it back see a constant itself.
  bool is_only_read(const Value* value) const {
    return std::all_of(value->uses().begin(), value->uses().end(), [&](const Use& use) {
      const auto callee = callees_.find(use.user);
      return callee != callees_.end() &&
             !callee->second.schema().arguments[use.offset].alias.has_value();
    });
  }

  void emit_constant(const Node* node) {
    const Value* const value = node->output();
    const std::uint32_t constant = new_constant(constant_value(*node));
    if (!can_change(*value->type()) || is_only_read(value)) {
      constants_.emplace(value, constant);
      return;
    }
    const std::uint32_t at = emit(Opcode::CopyConstant, node, 0, constant);
    code_.instructions[at].a = define(value, node->owning_block());
  }

  // Control flow ----------------------------------------------------------------------------

  void emit_block(const Block* block) {
    for (const Node* const node : block->nodes()) emit(node);
  }

  std::vector<const Value*> take_dying(const Node* node) {
    const auto found = dying_.find(node);
    if (found == dying_.end()) return {};
    std::vector<const Value*> values = std::move(found->second);
    dying_.erase(found);
    return values;
  }

  void emit_if(const Node* node) {
    const std::vector<const Value*> dying = take_dying(node);
    const std::uint32_t condition = use(node, 0) & ~kLastUse;
    const std::uint32_t jump = emit(Opcode::JumpUnless, node, 0, condition);
    std::vector<std::uint32_t> targets;
    for (const Value* const output : node->outputs()) {
      targets.push_back(define(output, node->owning_block()));
    }
    emit_branch(node, 0, dying, targets);
    const std::uint32_t skip = emit(Opcode::Jump, node);
    code_.instructions[jump].d = here();
    emit_branch(node, 1, dying, targets);
    code_.instructions[skip].d = here();
  }

  void emit_branch(const Node* node, std::size_t which, const std::vector<const Value*>& dying,
                   const std::vector<std::uint32_t>& targets) {
    const Block* const block = node->blocks()[which];
    // See [Delegation].
    for (const Value* const value : dying) {
      const LastUse last = lifetimes_.last_use(value, block);
      if (last.node == nullptr && (operand_of(value) & kConstant) == 0)
        drop(operand_of(value), node);
      note_death(value, last);
    }
    emit_block(block);
    const Node* const ret = block->return_node();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::uint32_t operand = use(ret, i);
      if (targets[i] != kNoRegister) {
        transfer(targets[i], operand, node);
      } else if ((operand & kLastUse) != 0) {
        drop(operand & kIndex, node);
      }
    }
  }

  void emit_loop(const Node* node) {
    const std::vector<const Value*> dying = take_dying(node);
    const Block* const body = node->blocks().front();
    const std::uint32_t limit = new_register(nullptr, *base_type(TypeKind::Int));
    const std::uint32_t condition = new_register(nullptr, *base_type(TypeKind::Bool));
    const std::uint32_t trip = new_register(body->inputs()[0], *base_type(TypeKind::Int));
    code_.register_of.emplace(body->inputs()[0], trip);
    transfer(limit, use(node, 0), node);
    transfer(condition, use(node, 1), node);
    std::vector<std::uint32_t> carried;
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      const Value* const inner = body->inputs()[i + 1];
      carried.push_back(new_register(inner));
      code_.register_of.emplace(inner, carried.back());
      transfer(carried.back(), use(node, i + 2), node);
    }
    emit(Opcode::SetInt, node, trip, std::uint32_t(-1));
    const std::uint32_t next = emit(Opcode::NextTrip, node, trip, limit, condition);
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const Value* const inner = body->inputs()[i + 1];
      note_death(inner, lifetimes_.last_use(inner, body));
      if (!inner->has_uses()) drop(carried[i], node);
    }
    emit_block(body);
    emit_next_trip(node, condition, carried);
    emit(Opcode::Jump, node, 0, 0, 0, next);
    code_.instructions[next].d = here();
    for (const Value* const value : dying) {
      if ((operand_of(value) & kConstant) == 0) drop(operand_of(value), node);
    }
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const Value* const output = node->outputs()[i];
      code_.register_of.emplace(output, carried[i]);
      note_death(output, lifetimes_.last_use(output, node->owning_block()));
      if (!output->has_uses()) drop(carried[i], node);
    }
  }

  // What the body gives becomes what it takes, all at once: through registers of their own if a
  // register would be written before it is read.
  void emit_next_trip(const Node* node, std::uint32_t condition,
                      const std::vector<std::uint32_t>& carried) {
    const Node* const ret = node->blocks().front()->return_node();
    std::vector<std::uint32_t> sources;
    bool crossing = false;
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const std::uint32_t source = use(ret, i + 1);
      const auto written = carried.begin() + std::ptrdiff_t(i);
      crossing = crossing || std::find(carried.begin(), written, source & ~kLastUse) != written;
      sources.push_back(source);
    }
    transfer(condition, use(ret, 0) & ~kLastUse, node);
    if (crossing) {
      for (std::size_t i = 0; i < carried.size(); ++i) {
        const std::uint32_t between =
            new_register(nullptr, *node->blocks().front()->inputs()[i + 1]->type());
        transfer(between, sources[i], node);
        sources[i] = between | kLastUse;
      }
    }
    for (std::size_t i = 0; i < carried.size(); ++i) {
      if ((sources[i] & ~kLastUse) != carried[i]) transfer(carried[i], sources[i], node);
    }
  }

  // Stages ----------------------------------------------------------------------------------

  void take_input(const Value* value) {
    const TensorShape* const shape = find_shape(*value->type());
    code_.stages.back().inputs.push_back({define(value, graph_.block()),
                                          plain_kinds(*value->type()), value,
                                          shape != nullptr && shape->dtype ? shape : nullptr});
  }

  void give_outputs(std::size_t first, std::size_t end) {
    const Node* const ret = graph_.return_node();
    for (std::size_t i = first; i < end; ++i) {
      const Value* const value = ret->inputs()[i];
      std::uint32_t operand = operand_of(value);
      if ((operand & kConstant) == 0 && dies_.at(value).output_stage == int(stage_) &&
          dies_at(value, ret, i, end)) {
        operand |= kLastUse;
        note_last_use(operand, ~stage_);
      }
      code_.stages.back().outputs.push_back(operand);
    }
  }

  CodeData& code_;
  const Graph& graph_;
  const Callees& callees_;
  Subcodes& subcodes_;
  const Lifetimes lifetimes_;
  std::uint32_t stage_ = 0;
  std::unordered_map<const Value*, std::uint32_t> constants_;  // their operands
  std::unordered_map<const Value*, LastUse> dies_;
  std::unordered_map<const Node*, std::vector<const Value*>> dying_;  // at nodes with blocks
};

void build_linted(CodeData& data, Subcodes& subcodes) {
  const Callees callees = check_types(*data.graph);
  Builder(data, callees, subcodes).build();
  data.version = data.graph->version();
  data.runs_at_once = data.stages.size() == 1 && !data.graph->is_restricted();
}

}  // namespace

void build(CodeData& data, Subcodes& subcodes) {
  lint(*data.graph);
  build_linted(data, subcodes);
}

}  // namespace opyard::jit
