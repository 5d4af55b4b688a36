// passes/shapes.cpp: shape propagation, by calls on meta tensors.
//
// [Flow] Types are found in a table first, block by block: the value of a branch is what both
// branches agree in, and what a loop carries is what its first value and the body's agree in, which
// is asked again until it stays. At the end the types go to the values. What is not found keeps the
// type that it was declared with.
//
// [Lists] Of a list that no one writes, and of a tuple, the types of its items are known if a call
// or a construction gave it: they go to what takes an item, unpacks it, or calls with it. What a
// loop carries are types alone.
//
// [Calls] An operator is called with tensors of the backend Meta and with constants. It is not
// called if anything of an argument is unknown, if it has no kernel for Meta of its own or by
// composition, or if it draws random numbers or has other effects; one that raises gives nothing.
// Layers are left out: no mode sees the calls, and they are neither traced nor taped.
//
// [Changing] An operator with the tag inplace_view changes the sizes of a tensor that is there. In
// a graph with one of them, no shape is known of a tensor whose memory is written.
#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/callee.h"
#include "ir/index_table.h"
#include "opyard/inspect/inspect.h"
#include "opyard/jit/aliases.h"
#include "opyard/jit/constant.h"
#include "opyard/jit/operation.h"
#include "opyard/jit/passes.h"
#include "opyard/keys/local.h"
#include "opyard/value/stack.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

constexpr Device kMeta{Backend::Meta};

// All that is above the backends and the choice of one.
constexpr DispatchKeySet kLayers =
    DispatchKeySet(DispatchKeySet::FULL) -
    DispatchKeySet(DispatchKeySet::FULL_AFTER, DispatchKey::AboveBackendSelect1);

bool is_complete(const TensorShape& shape) {
  if (!shape.dtype || !shape.sizes || !shape.strides) return false;
  for (const std::int64_t size : *shape.sizes) {
    if (size == kUnknownSize) return false;
  }
  for (const std::int64_t stride : *shape.strides) {
    if (stride == kUnknownSize) return false;
  }
  return true;
}

// A tensor of this shape without memory.
Tensor meta_tensor(const TensorShape& shape) {
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < shape.sizes->size(); ++i) {
    const std::int64_t size = (*shape.sizes)[i];
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(std::max<std::int64_t>(size - 1, 0), (*shape.strides)[i], &reach) ||
        __builtin_add_overflow(elements, reach, &elements)) {
      fail(ErrorKind::BadShape, "the sizes and strides of a type go past the numbers there are");
    }
  }
  const std::int64_t sizes[] = {elements};
  return Tensor::empty(sizes, *shape.dtype, kMeta).as_strided(*shape.sizes, *shape.strides, 0);
}

// See [Changing].
bool changes_sizes(Graph& graph, const Aliases& aliases) {
  bool found = false;
  detail::each_node(graph.block(), [&](const Node* node) {
    if (found || !aliases.writes(node)) return;
    const std::optional<Callee> callee = detail::find_callee(*node);
    if (!callee || callee->op == nullptr) return;
    const std::vector<std::string> tags = inspect::tags(callee->op->name());
    found = std::ranges::find(tags, "inplace_view") != tags.end();
  });
  return found;
}

bool is_device(const Type& type) {
  return type.kind() == TypeKind::Device ||
         (type.kind() == TypeKind::Optional && type.element().kind() == TypeKind::Device);
}

// What is known of each value: see [Flow].
class ShapeTypes {
 public:
  ShapeTypes(Graph& graph, const Aliases& aliases)
      : aliases_(aliases),
        sizes_change_(changes_sizes(graph, aliases)),
        found_(graph.values_made()) {}
  const TypePtr& of(const Value* value) const {
    if (may_change(value)) return any_tensor_;
    const TypePtr* const found = found_.find(value);
    return found != nullptr ? *found : value->type();
  }
  void set(const Value* value, const TypePtr& type) {
    if (!may_change(value)) found_[value] = type;
  }

  // See [Lists]. Null if nothing is known.
  const std::vector<TypePtr>* find_items(const Value* value) const {
    const auto found = items_.find(value);
    return found == items_.end() ? nullptr : &found->second;
  }
  void set_items(const Value* value, std::vector<TypePtr> types) {
    items_[value] = std::move(types);
  }
  void forget_items(const Value* value) { items_.erase(value); }

 private:
  // See [Changing].
  bool may_change(const Value* value) const {
    return sizes_change_ && value->type()->kind() == TypeKind::Tensor && aliases_.is_written(value);
  }

  const Aliases& aliases_;
  const bool sizes_change_;
  const TypePtr any_tensor_ = base_type(TypeKind::Tensor);
  ValueTable<TypePtr> found_;
  std::unordered_map<const Value*, std::vector<TypePtr>> items_;
};

// What is found about a result: a tensor's type, or those of a list's items. Neither for others.
struct FoundResult {
  TypePtr type = nullptr;
  std::optional<std::vector<TypePtr>> items = std::nullopt;
};

// An operator's call on tensors without memory.
class MetaCall {
 public:
  MetaCall(const Node& node, const Aliases& aliases, const ShapeTypes& types)
      : node_(node), aliases_(aliases), types_(types) {}

  // The types of the results; nothing if it cannot be called.
  std::optional<std::vector<FoundResult>> run() {
    try {
      return prepare_and_call();
    } catch (const Error&) {
      return std::nullopt;
    }
  }

 private:
  std::optional<std::vector<FoundResult>> prepare_and_call() {
    if (operation_of(node_) != nullptr || aliases_.has_effects(&node_)) return std::nullopt;
    const std::optional<Callee> callee = detail::find_callee(node_);
    if (!callee || callee->op == nullptr || detail::is_random(*callee)) return std::nullopt;
    const OperatorName& name = callee->schema().name;
    if (!node_.graph().allows(name.name, name.overload) || !works_on_meta(*callee->op)) {
      return std::nullopt;
    }
    if (!collect(callee->schema()) || !takes_tensor_) return std::nullopt;
    return call(*callee->op);
  }

  static bool works_on_meta(const Operator& op) {
    const std::string_view rule = inspect::resolve(op, DispatchKey::Meta).rule;
    return rule == "kernel" || rule == "math kernel" || rule == "default backend kernel" ||
           rule == "from CPU";
  }

  bool collect(const Schema& schema) {
    if (schema.variadic_arguments) return false;
    for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
      const Argument& argument = schema.arguments[i];
      std::optional<opyard::Value> value;
      if (i < node_.inputs().size()) {
        value = argument_of(node_.inputs()[i]);
      } else if (argument.default_value) {
        value = *argument.default_value;
      }
      if (!value) return false;
      if (is_device(*argument.type)) {
        if (value->kind() == Kind::Device) device_ = value->device_unchecked();
        value = opyard::Value(kMeta);
      }
      arguments_.push_back(*std::move(value));
    }
    return true;
  }

  std::optional<opyard::Value> argument_of(const Value* input) {
    const Node* const made = input->node();
    if (input->type()->kind() == TypeKind::Tensor) return tensor_of(*types_.of(input));
    if (made->kind() == prim::Constant) {
      return aliases_.is_written(input) ? std::nullopt : std::optional(constant_value(*made));
    }
    if (aliases_.is_written(input)) return std::nullopt;
    std::vector<opyard::Value> items;
    const bool is_given = made->kind() != prim::ListConstruct;
    if (const auto* const types = is_given ? types_.find_items(input) : nullptr) {
      for (const TypePtr& type : *types) {
        std::optional<opyard::Value> value = tensor_of(*type);
        if (!value) return std::nullopt;
        items.push_back(*std::move(value));
      }
      return opyard::Value::list(std::move(items));
    }
    if (is_given) return std::nullopt;
    for (const Value* const item : made->inputs()) {
      std::optional<opyard::Value> value = argument_of(item);
      if (!value) return std::nullopt;
      items.push_back(*std::move(value));
    }
    return opyard::Value::list(std::move(items));
  }

  std::optional<opyard::Value> tensor_of(const Type& type) {
    const TensorShape* const shape = find_shape(type);
    if (shape == nullptr || !is_complete(*shape)) return std::nullopt;
    if (!device_) device_ = shape->device;
    takes_tensor_ = true;
    return opyard::Value(meta_tensor(*shape));
  }

  std::optional<std::vector<FoundResult>> call(const Operator& op) {
    const ForceDispatchKeyGuard alone(DispatchKeySet(), kLayers);
    Stack stack;
    for (opyard::Value& argument : arguments_) stack.push(std::move(argument));
    op.call_boxed(stack);
    if (stack.size() != node_.outputs().size()) return std::nullopt;
    std::vector<FoundResult> found;
    for (std::size_t i = 0; i < stack.size(); ++i) found.push_back(found_in(stack[i]));
    return found;
  }

  FoundResult found_in(const opyard::Value& result) const {
    if (!result.is_list()) return {type_of_tensor_in(result)};
    std::vector<TypePtr> items;
    for (const opyard::Value& item : result.items_unchecked()) {
      items.push_back(type_of_tensor_in(item));
      if (items.back() == nullptr) return {};
    }
    return {nullptr, std::move(items)};
  }

  // Null for what is no tensor.
  TypePtr type_of_tensor_in(const opyard::Value& result) const {
    if (result.kind() != Kind::Tensor || !result.tensor_unchecked().defined()) return {};
    if (result.tensor_unchecked().device().backend != Backend::Meta) return {};
    TensorShape shape = *find_shape(*type_of_tensor(result.tensor_unchecked()));
    shape.device = device_;
    shape.requires_grad.reset();
    return shaped_tensor(std::move(shape));
  }

  const Node& node_;
  const Aliases& aliases_;
  const ShapeTypes& types_;
  std::vector<opyard::Value> arguments_;
  bool takes_tensor_ = false;
  std::optional<Device> device_;
};

class Shapes {
 public:
  explicit Shapes(Graph& graph) : graph_(graph), aliases_(graph), types_(graph, aliases_) {}

  void run() {
    visit(graph_.block());
    write(graph_.block());
  }

 private:
  const TypePtr& type_of(const Value* value) const { return types_.of(value); }

  void set(const Value* value, const TypePtr& type) {
    if (type == nullptr || value->type()->kind() != TypeKind::Tensor) return;
    types_.set(value, type);
  }

  void visit(const Block* block) {
    for (const Node* const node : block->nodes()) {
      if (node->kind() == prim::If) {
        visit_branches(node);
      } else if (node->kind() == prim::Loop) {
        visit_loop(node);
      } else if (node->kind() == prim::Constant) {
        if (node->output()->type()->kind() == TypeKind::Tensor) set(node->output(), known(node));
      } else if (node->kind() == prim::ListConstruct || node->kind() == prim::TupleConstruct) {
        construct(node);
      } else if (node->kind() == prim::ListUnpack || node->kind() == prim::TupleUnpack) {
        unpack(node);
      } else if (const Value* const container = container_of_item(node)) {
        take_item(node, container);
      } else if (node->blocks().empty()) {
        call(node);
      }
    }
  }

  static TypePtr known(const Node* constant) {
    TypePtr type = type_of_constant(constant_value(*constant));
    return type->kind() == TypeKind::Tensor ? type : TypePtr();
  }

  void call(const Node* node) {
    const std::optional<std::vector<FoundResult>> found = MetaCall(*node, aliases_, types_).run();
    // Also what an earlier trip has found is given up.
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      const Value* const output = node->outputs()[i];
      set(output, found && (*found)[i].type != nullptr ? (*found)[i].type : output->type());
      types_.forget_items(output);
      if (found && (*found)[i].items) set_items(output, *(*found)[i].items);
    }
  }

  // ---- see [Lists]

  void set_items(const Value* container, std::vector<TypePtr> types) {
    if (!aliases_.is_written(container)) types_.set_items(container, std::move(types));
  }

  void construct(const Node* node) {
    std::vector<TypePtr> types;
    for (const Value* const item : node->inputs()) types.push_back(type_of(item));
    set_items(node->output(), std::move(types));
  }

  void unpack(const Node* node) {
    const std::vector<TypePtr>* const types = types_.find_items(node->input());
    const bool fits = types != nullptr && types->size() == node->outputs().size();
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      const Value* const output = node->outputs()[i];
      set(output, fits && (*types)[i]->kind() == TypeKind::Tensor ? (*types)[i] : output->type());
    }
  }

  // What a node takes an item of by a number that is known; null for other nodes.
  static const Value* container_of_item(const Node* node) {
    const bool takes =
        node->kind() == prim::TupleIndex || (node->kind().qual_string() == "aten::__getitem__" &&
                                             node->input(0)->type()->kind() == TypeKind::List);
    if (!takes || node->inputs().size() != 2 || operation_of(*node) != nullptr) return nullptr;
    const std::optional<opyard::Value> index = detail::known_value(node->input(1));
    return index && index->is_int() ? node->input(0) : nullptr;
  }

  void take_item(const Node* node, const Value* container) {
    const std::vector<TypePtr>* const types = types_.find_items(container);
    const auto count = types == nullptr ? 0 : std::int64_t(types->size());
    std::int64_t at = detail::known_value(node->input(1))->to_int();
    if (at < 0) at += count;
    const bool fits = at >= 0 && at < count;
    const TypePtr& type = fits ? (*types)[std::size_t(at)] : node->output()->type();
    set(node->output(), type->kind() == TypeKind::Tensor ? type : node->output()->type());
  }

  void visit_branches(const Node* node) {
    for (const Block* const block : node->blocks()) visit(block);
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      set(node->outputs()[i], unify(type_of(node->blocks()[0]->outputs()[i]),
                                    type_of(node->blocks()[1]->outputs()[i])));
    }
  }

  // See [Flow]. A type that changes says less than before, so this ends.
  void visit_loop(const Node* node) {
    const Block* const body = node->blocks()[0];
    const std::size_t count = node->outputs().size();
    std::vector<TypePtr> carried;
    for (std::size_t i = 0; i < count; ++i) carried.push_back(type_of(node->inputs()[i + 2]));
    for (bool stays = false; !stays;) {
      for (std::size_t i = 0; i < count; ++i) set(body->inputs()[i + 1], carried[i]);
      visit(body);
      stays = true;
      for (std::size_t i = 0; i < count; ++i) {
        const TypePtr both = unify(carried[i], type_of(body->outputs()[i + 1]));
        if (both == nullptr || same_type(*both, *carried[i])) continue;
        carried[i] = both;
        stays = false;
      }
    }
    for (std::size_t i = 0; i < count; ++i) set(node->outputs()[i], carried[i]);
  }

  template <typename Visit>
  static void each_value(Block* block, const Visit& visit) {
    for (Value* const input : block->inputs()) visit(input);
    for (const Node* const node : block->nodes()) {
      for (Value* const output : node->outputs()) visit(output);
      for (Block* const inner : node->blocks()) each_value(inner, visit);
    }
  }

  void write(Block* block) {
    each_value(block, [&](Value* value) {
      const bool is_input = value->node() == graph_.param_node();
      if (is_input || value->type()->kind() != TypeKind::Tensor) return;
      const TypePtr& type = type_of(value);
      if (!same_type(*type, *value->type())) value->set_type(type);
    });
  }

  Graph& graph_;
  const Aliases aliases_;
  ShapeTypes types_;
};

}  // namespace

bool passes::propagate_shapes(Graph& graph) {
  return detail::run_pass(graph, [&] { Shapes(graph).run(); });
}

}  // namespace opyard::jit
