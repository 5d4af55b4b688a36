// prepared/prepared.cpp: preparation of a model's graph, and the check that it still fits.
#include "prepared/prepared.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/keys/local.h"
#include "prepared/preparing.h"

namespace opyard::jit {
namespace {

struct Preparation {
  const char* name;
  bool keeps_bits;
  std::size_t (*run)(Graph&);
};
constexpr std::array kPreparations = {
#define OPYARD_PREPARATION(name, keeps_bits, words) Preparation{#name, keeps_bits, &prepared::name},
#include "opyard/detail/models/preparations.def"
#undef OPYARD_PREPARATION
};

void check_preparations(const std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  for (const Preparation& each : kPreparations) known.emplace_back(each.name);
  for (const std::string& name : names) {
    OPYARD_CHECK(std::ranges::count(known, name) != 0, BadValue,
                 fmt::format("no preparation of models is called \"{}\"; there are {}", name,
                             fmt::join(known, ", ")));
  }
}

// Why a graph is run as it is, or nothing.
std::string find_obstacle(const Graph& graph) {
  for (const Node* const node : graph.nodes()) {
    if (!node->blocks().empty()) return "it has branches or loops";
    if (node->payload() != nullptr || node->kind() == prim::fork || node->kind() == prim::PythonOp)
      return fmt::format("it calls {}, which is no operator", node->kind().qual_string());
    if (node->kind() == prim::FusionGroup) return "it has groups of operators already";
  }
  return graph.stage() == 0 ? "" : "it has several stages";
}

// With the state as constants. It is not restricted: its calls were allowed already.
GraphPtr copy_with_constants(const Model& model) {
  const Graph& from = *model.graph;
  const GraphPtr to = make_graph();
  std::vector<Value*> copies(from.values_made(), nullptr);
  for (std::size_t i = 0; i < from.inputs().size(); ++i) {
    const Value& input = *from.inputs()[i];
    if (i < model.state.size()) {
      Node* const constant = to->create_constant(opyard::Value(model.state[i].tensor));
      copies[input.index()] = to->append_node(constant)->output();
    } else {
      copies[input.index()] = to->add_input({}, input.type());
    }
  }
  for (const Node* const node : from.nodes()) {
    Node* const copy = to->create_copy(node, [&](Value* value) { return copies[value->index()]; });
    to->append_node(copy);
    for (std::size_t i = 0; i < copy->outputs().size(); ++i) {
      copies[node->outputs()[i]->index()] = copy->outputs()[i];
    }
  }
  for (const Value* const output : from.outputs()) to->register_output(copies[output->index()]);
  return to;
}

// A mode, a layer or an override that looks on must see the calls of the graph itself.
bool is_looked_on() { return local_keys() != kDefaultLocalKeys; }

bool needs_gradient(std::span<const opyard::Value> inputs) {
  return std::ranges::any_of(inputs, [](const opyard::Value& input) {
    return opyard::detail::may_need_gradient({&input, 1});
  });
}

bool is_on_cpu(const opyard::Value& value) {
  if (!value.is_tensor()) return true;
  const Tensor& tensor = value.tensor_unchecked();
  return tensor.defined() && tensor.impl()->policies() == 0 &&
         tensor.impl()->own_device().backend == Backend::CPU;
}

}  // namespace

PreparedModel::PreparedModel(const Model& model, const PreparationOptions& options) {
  check_preparations(options.without);
  version_ = model.graph->version();
  const auto as_it_is = [](const Tensor& tensor) {
    const Storage* const storage = tensor.impl()->storage().get();
    return Weight{tensor.impl().get(), storage, storage->shared_version()};
  };
  for (const StateTensor& each : model.state) weights_.push_back(as_it_is(each.tensor));
  for (const Node* const node : model.graph->nodes()) {
    for (const Value* const output : node->outputs()) {
      const Tensor* const tensor = prepared::find_tensor(output);
      if (tensor != nullptr) constants_.push_back(as_it_is(*tensor));
    }
  }
  reason_ = find_obstacle(*model.graph);
  if (!reason_.empty()) return;
  const GradientModeGuard off(GradientMode::NoGradients);
  try {
    prepare(model, options);
  } catch (const Error& error) {  // what a call raises it raises when the graph runs
    code_ = nullptr;
    const std::string_view text = error.what();
    reason_ = fmt::format("a preparation raised: {}", text.substr(0, text.find('\n')));
  }
}

void PreparedModel::prepare(const Model& model, const PreparationOptions& options) {
  const GraphPtr graph = copy_with_constants(model);
  for (const Preparation& each : kPreparations) {
    const bool left_out =
        (options.exact && !each.keeps_bits) || std::ranges::count(options.without, each.name) != 0;
    const std::size_t places = left_out ? 0 : each.run(*graph);
    done_.push_back({each.name, each.keeps_bits, places, left_out});
  }
  computed_with_weights_ = std::ranges::any_of(done_, [](const Done& each) {
    const std::string_view name = each.name;
    return each.places > 0 && (name == "fold_batch_norms" || name == "fold_state");
  });
  code_ = compile(graph);
}

bool PreparedModel::is_as_it_was(const Weight& was) const {
  const Storage* const storage = was.impl->storage().get();
  return storage == was.storage &&
         (!computed_with_weights_ || storage->shared_version() == was.version);
}

bool PreparedModel::are_weights_as_they_were(const Model& model) const {
  if (model.state.size() != weights_.size()) return false;
  const bool may_tape = gradients_enabled();
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const Tensor& tensor = model.state[i].tensor;
    if (!tensor.defined() || tensor.impl().get() != weights_[i].impl) return false;
  }
  for (const auto* const all : {&weights_, &constants_}) {
    for (const Weight& was : *all) {
      if (may_tape && opyard::detail::may_need_gradient(*was.impl)) return false;
      if (!is_as_it_was(was)) return false;
    }
  }
  return true;
}

CodePtr PreparedModel::find_code(const Model& model, std::span<const opyard::Value> inputs) const {
  if (code_ == nullptr || model.graph->version() != version_ || is_looked_on()) return nullptr;
  if (!std::ranges::all_of(inputs, is_on_cpu)) return nullptr;
  if (gradients_enabled() && needs_gradient(inputs)) return nullptr;
  return are_weights_as_they_were(model) ? code_ : nullptr;
}

CodePtr find_prepared_code(const Model& model, std::span<const opyard::Value> inputs) {
  if (model.prepared == nullptr) return nullptr;
  return static_cast<const PreparedModel*>(model.prepared.get())->find_code(model, inputs);
}

std::string PreparedModel::explain(const Model& model) const {
  if (!reason_.empty()) return fmt::format("runs as it is, since {}", reason_);
  std::string text = fmt::format("runs {} nodes in place of {} while nothing needs a gradient",
                                 code_->graph().node_count(), model.graph->node_count());
  if (model.graph->version() != version_) {
    text = "runs as it is, since its graph was changed after it was prepared";
  } else if (!are_weights_as_they_were(model)) {
    text = "runs as it is, since its weights need gradients or were written after it was prepared";
  }
  for (const Done& each : done_) {
    text += fmt::format("\n  {}: {}", each.name,
                        each.left_out ? "left out" : fmt::format("{} places", each.places));
    if (!each.keeps_bits && each.places > 0) text += ", where rounding changes";
  }
  return text;
}

}  // namespace opyard::jit
