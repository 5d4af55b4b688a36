// remote/block.cpp: the graph of a block, and the geometry of its outputs.
#include "opyard/remote/block.h"

#include <fmt/format.h>

#include "opyard/jit/constant.h"
#include "opyard/jit/resolve.h"
#include "opyard/jit/types.h"
#include "opyard/remote/recorder.h"

namespace opyard::remote {
namespace {

using jit::GraphPtr;
using jit::Node;
using jit::Symbol;

const Type& declared_type(const Type& type) {
  return type.kind() == TypeKind::Optional ? type.element() : type;
}

class GraphOfBlock {
 public:
  explicit GraphOfBlock(const Block& block) : block_(block), values_(block.values.size()) {}

  GraphPtr make() {
    for (const Block::Input& input : block_.inputs) {
      values_[input.value] = graph_->add_input({}, type_of(input));
    }
    for (const Call& call : block_.calls) append(call);
    for (const Block::Output& output : block_.outputs) {
      graph_->register_output(values_[output.value]);
    }
    jit::lint(*graph_);
    return graph_;
  }

 private:
  static TypePtr type_of(const Block::Input& input) {
    if (input.memory || input.here.is_tensor()) return base_type(TypeKind::Tensor);
    return jit::type_of_constant(input.here);
  }

  jit::Value* constant(const opyard::Value& value, const Type& declared) {
    const bool is_empty = value.kind() == Kind::List && value.items_unchecked().empty();
    const TypePtr type = value.is_none() ? base_type(TypeKind::None)
                         : is_empty      ? runtime_type(declared_type(declared))
                                         : jit::type_of_constant(value);
    return graph_->append_node(graph_->create_constant(value, type))->output();
  }

  jit::Value* argument(const Arg& arg, const Type& type) {
    switch (arg.kind) {
      case Arg::Kind::Value:
        return values_[arg.index];
      case Arg::Kind::Constant:
        return constant(block_.constants[arg.index], type);
      case Arg::Kind::Undefined:
        return graph_->append_node(graph_->create(jit::prim::Undefined))->output();
      case Arg::Kind::List:
        break;
    }
    const Type& declared = declared_type(type);
    const Type& element = declared.elements().empty() ? declared : *declared.elements().front();
    std::vector<jit::Value*> items;
    for (std::uint32_t i = 0; i < arg.count; ++i) {
      items.push_back(argument(block_.arguments[arg.index + i], element));
    }
    Node* const list = graph_->append_node(graph_->create(jit::prim::ListConstruct, items));
    list->output()->set_type(runtime_type(declared));
    return list->output();
  }

  void append(const Call& call) {
    const Schema& schema = call.op->schema();
    std::vector<jit::Value*> inputs;
    for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
      inputs.push_back(
          argument(block_.arguments[call.first_argument + i], *schema.arguments[i].type));
    }
    Node* const node =
        graph_->create(Symbol::from_qual_string(schema.name.name), inputs, schema.results.size());
    if (!schema.name.overload.empty()) node->set_overload(Symbol::attr(schema.name.overload));
    const jit::Callee callee = jit::resolve(*node);
    graph_->append_node(node);
    if (callee.op != call.op) {
      fail(ErrorKind::BadGraph,
           fmt::format("{}: a graph's text cannot name it apart from {}, which takes the same "
                       "arguments; give one of them another name",
                       to_string(schema.name), to_string(callee.schema().name)));
    }
    std::uint32_t value = call.first_value;
    for (std::size_t i = 0; i < call.results.size(); ++i) {
      jit::Value* const output = node->outputs()[i];
      if (call.results[i] == -1) {
        values_[value++] = output;
        continue;
      }
      output->set_type(runtime_type(*schema.results[i].type));
      if (call.results[i] < 0) continue;
      const auto count = std::size_t(call.results[i]);
      Node* const unpack =
          graph_->append_node(graph_->create(jit::prim::ListUnpack, {output}, count));
      for (std::size_t k = 0; k < count; ++k) values_[value++] = unpack->outputs()[k];
    }
  }

  const Block& block_;
  const GraphPtr graph_ = jit::make_graph();
  std::vector<jit::Value*> values_;
};

}  // namespace

GraphPtr Block::graph() const { return GraphOfBlock(*this).make(); }

std::string Block::expected() const {
  std::string text;
  for (const Output& output : outputs) describe_geometry(output.meta, text);
  return text;
}

void describe_geometry(const Tensor& tensor, std::string& to) {
  const auto append = [&](std::int64_t word) {
    to.append(reinterpret_cast<const char*>(&word), sizeof word);
  };
  const TensorImpl& impl = *tensor.impl();
  append(std::int64_t(impl.dtype()));
  append(std::int64_t(impl.own_sizes().size()));
  for (const std::int64_t size : impl.own_sizes()) append(size);
  if (impl.own_numel() == 0) return;
  append(impl.own_storage_offset());
  for (std::size_t i = 0; i < impl.own_sizes().size(); ++i) {
    append(impl.own_sizes()[i] < 2 ? 0 : impl.own_strides()[i]);
  }
}

Memory::Memory(CountedPtr<Recorder> its_recorder, Tensor its_meta, std::uint64_t its_number)
    : recorder(std::move(its_recorder)), meta(std::move(its_meta)), number(its_number) {}

Memory::~Memory() = default;

void Memory::end() const noexcept { recorder->forget(const_cast<Memory*>(this)); }

}  // namespace opyard::remote
