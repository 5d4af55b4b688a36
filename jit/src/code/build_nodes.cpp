// code/build_nodes.cpp: code generation for each kind of node.
#include <algorithm>

#include "code/builder.h"
#include "code/fused_group.h"
#include "ir/builtins.h"
#include "ir/node_rules.h"
#include "opyard/jit/constant.h"

namespace opyard::jit {
namespace {

bool can_change(const Type& type) {
  if (type.kind() == TypeKind::List || type.kind() == TypeKind::Dict ||
      type.kind() == TypeKind::Any) {
    return true;
  }
  return std::any_of(type.elements().begin(), type.elements().end(),
                     [](const TypePtr& element) { return can_change(*element); });
}

// What a prim::isinstance does. None is taken for a Tensor, and is none.
class TypeQuestion final : public Operation {
 public:
  explicit TypeQuestion(std::vector<TypePtr> types) : types_(std::move(types)) {}
  void run(std::span<const opyard::Value> inputs,
           std::vector<opyard::Value>& outputs) const override {
    const opyard::Value& given = inputs[0];
    outputs.emplace_back(std::any_of(types_.begin(), types_.end(), [&](const TypePtr& type) {
      return type->kind() == TypeKind::Tensor ? given.is_tensor() : accepts(*type, given);
    }));
  }
  std::string name() const override { return "prim::isinstance"; }

 private:
  const std::vector<TypePtr> types_;
};

}  // namespace

std::optional<opyard::Value> find_placeholder(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Tensor:
      return opyard::Value(Tensor());
    case TypeKind::Int:
    case TypeKind::Scalar:
    case TypeKind::ScalarType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
      return opyard::Value(std::int64_t{0});
    case TypeKind::Float:
      return opyard::Value(0.0);
    case TypeKind::Bool:
      return opyard::Value(false);
    case TypeKind::Str:
      return opyard::Value(std::string_view());
    case TypeKind::Device:
      return opyard::Value(Device{});
    case TypeKind::None:
    case TypeKind::Optional:
    case TypeKind::Any:
      return opyard::Value();
    case TypeKind::List:
      return opyard::Value::list({});
    case TypeKind::Dict:
      return opyard::Value::dict({});
    case TypeKind::Tuple: {
      std::vector<opyard::Value> items;
      for (const TypePtr& element : type.elements()) {
        std::optional<opyard::Value> item = find_placeholder(*element);
        if (!item) return std::nullopt;
        items.push_back(*std::move(item));
      }
      return opyard::Value::tuple(std::move(items));
    }
    default:
      return std::nullopt;
  }
}

void Builder::emit_call(Opcode opcode, const Node* node, CallSite site,
                        std::span<const Argument> defaults) {
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
  if (!all) return;
  for (const Value* const output : node->outputs()) {
    if (!output->has_uses()) drop(operand_of(output), node);
  }
}

void Builder::emit_operator(const Node* node, const Operator& op) {
  const std::vector<Argument>& arguments = op.schema().arguments;
  const Opcode opcode = operator_opcode(arguments.size(), node->outputs().size());
  if (opcode == Opcode::CallOperator) return emit_call(opcode, node, {.op = &op}, arguments);
  std::uint32_t inputs[3] = {0, 0, 0};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool given = i < node->inputs().size();
    inputs[i] = given ? use(node, i) : new_constant(*arguments[i].default_value);
    note_last_use(inputs[i], here());
  }
  const std::uint32_t at = emit(opcode, node, 0, inputs[0], inputs[1], inputs[2]);
  const std::uint32_t target = define(node->output(), node->owning_block(), true);
  Instruction& instruction = code_.instructions[at];
  instruction.a = target;
  instruction.context = &op;
  instruction.function = operator_function(opcode, instruction);
  if (!node->output()->has_uses()) drop(target, node);
}

// The inputs of a group that only their registers own, and which nothing reads behind it, as
// make_fused_group() takes them. The graph's own may be borrowed from its caller.
std::uint64_t Builder::given_up_to(const Node* node) {
  const auto inputs = node->inputs();
  std::uint64_t given_up = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(inputs.size(), 64); ++i) {
    const bool is_borrowed = inputs[i]->node() == graph_.param_node();
    const bool is_last = (use(node, i) & kLastUse) != 0;
    if (is_last && !is_borrowed && std::ranges::count(inputs, inputs[i]) == 1) {
      given_up |= std::uint64_t{1} << i;
    }
  }
  return given_up;
}

void Builder::emit(const Node* node) {
  const Symbol kind = node->kind();
  if (const Operation* const operation = operation_of(*node)) {
    return emit_call(Opcode::CallOperation, node, {.operation = operation});
  }
  if (kind == prim::Constant) return emit_constant(node);
  if (kind == prim::Undefined) {
    constants_[node->output()] = new_constant(opyard::Value(Tensor()));
    return;
  }
  if (kind == detail::rare_names().uninitialized) {
    return emit_shared(node, *find_placeholder(*node->output()->type()));
  }
  if (kind == prim::fork) return emit_fork(node);
  if (kind == prim::FusionGroup) {
    const auto group = make_fused_group(*node, code_of_subgraph(node), given_up_to(node));
    return emit_call(Opcode::CallGroup, node, {.operation = group.get(), .group = group});
  }
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
  if (kind == detail::rare_names().isinstance) {
    const auto question = make_counted<TypeQuestion>(node->tys(detail::rare_names().types));
    return emit_call(Opcode::CallOperation, node, {.operation = question.get(), .group = question});
  }
  if (kind == prim::RaiseException) {
    const std::uint32_t text = use(node, 0);
    note_last_use(text, emit(Opcode::Raise, node, 0, text & ~kLastUse));
    return;
  }
  emit_callee(node, *callees_.find(node));
}

void Builder::emit_callee(const Node* node, const Callee& callee) {
  if (callee.op != nullptr) return emit_operator(node, *callee.op);
  if (const InstructionFunction function = scalar_function(*callee.builtin)) {
    const Opcode opcode = node->inputs().size() == 1 ? Opcode::Unary : Opcode::Binary;
    const std::uint32_t at = emit_simple(opcode, node, callee.builtin);
    code_.instructions[at].function = function;
    return;
  }
  emit_call(Opcode::CallBuiltin, node, {.builtin = callee.builtin},
            callee.builtin->schema.arguments);
}

CodePtr Builder::code_of_subgraph(const Node* node) {
  const GraphPtr& graph = node->g(attr::Subgraph);
  const auto known = subcodes_.find(graph.get());
  if (known != subcodes_.end()) return known->second;
  auto inner = std::make_unique<CodeData>();
  inner->graph = graph;
  // It was linted with the graph that holds it, so this goes no deeper than lint() allows.
  build_linted(*inner, subcodes_);
  const CodePtr code = CodeAccess::make(std::move(inner));
  subcodes_.emplace(graph.get(), code);
  return code;
}

void Builder::emit_fork(const Node* node) {
  auto site = make_counted<ForkSite>();
  site->code = code_of_subgraph(node);
  site->place = detail::describe_node(*node);
  emit_call(Opcode::Fork, node, {.fork = CountedPtr<const ForkSite>(std::move(site))});
}

std::uint32_t Builder::emit_simple(Opcode opcode, const Node* node, const void* context) {
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

bool Builder::is_only_read(const Value* value) const {
  return std::all_of(value->uses().begin(), value->uses().end(), [&](const Use& use) {
    const Callee* const callee = callees_.find(use.user);
    return callee != nullptr && !callee->schema().arguments[use.offset].alias.has_value();
  });
}

void Builder::emit_constant(const Node* node) { emit_shared(node, constant_value(*node)); }

void Builder::emit_shared(const Node* node, opyard::Value held) {
  const Value* const value = node->output();
  const std::uint32_t constant = new_constant(std::move(held));
  if (!can_change(*value->type()) || is_only_read(value)) {
    constants_[value] = constant;
    return;
  }
  const std::uint32_t at = emit(Opcode::CopyConstant, node, 0, constant);
  code_.instructions[at].a = define(value, node->owning_block());
}

}  // namespace opyard::jit
