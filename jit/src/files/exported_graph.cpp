// files/exported_graph.cpp: from an exported program to a graph, or to one list of what cannot run.
//
// [Order] The state comes first among the graph's inputs, then what is passed. Buffers and inputs
// that the program gives back changed are written at the end, by aten::copy_, before it returns.
//
// [Checks] Assertions on sizes become prim::If nodes that raise. Those on the dtype of a tensor in
// between go: they follow from the inputs, which are checked.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "files/exported.h"
#include "files/exported_arguments.h"
#include "files/exported_tree.h"
#include "opyard/base/error.h"
#include "opyard/jit/resolve.h"
#include "opyard/registry/registry.h"

namespace opyard::jit {
namespace {

// Functions on sizes, and the built-in ones that they are here.
struct SizeFunction {
  const char* target;
  const char* builtin;
};
constexpr std::array kSizeFunctions = {
    SizeFunction{"torch.ops.aten.sym_size.int", "aten::size"},
    SizeFunction{"_operator.add", "aten::add"},
    SizeFunction{"_operator.sub", "aten::sub"},
    SizeFunction{"_operator.mul", "aten::mul"},
    SizeFunction{"_operator.floordiv", "aten::floordiv"},
    SizeFunction{"_operator.mod", "aten::remainder"},
    SizeFunction{"_operator.truediv", "aten::div"},
    SizeFunction{"_operator.neg", "aten::neg"},
    SizeFunction{"_operator.eq", "aten::eq"},
    SizeFunction{"_operator.ne", "aten::ne"},
    SizeFunction{"_operator.lt", "aten::lt"},
    SizeFunction{"_operator.le", "aten::le"},
    SizeFunction{"_operator.gt", "aten::gt"},
    SizeFunction{"_operator.ge", "aten::ge"},
    SizeFunction{"_operator.and_", "aten::__and__"},
    SizeFunction{"_operator.or_", "aten::__or__"},
    SizeFunction{"torch.sym_max", "prim::max"},
    SizeFunction{"torch.sym_min", "prim::min"},
    SizeFunction{"torch.sym_not", "aten::__not__"},
    SizeFunction{"torch.sym_float", "aten::Float"},
    SizeFunction{"torch.sym_int", "aten::Int"},
    SizeFunction{"math.ceil", "aten::ceil"},
    SizeFunction{"math.floor", "aten::floor"},
    SizeFunction{"math.trunc", "aten::Int"},
};

const char* find_size_function(const std::string& target) {
  for (const SizeFunction& each : kSizeFunctions) {
    if (target == each.target) return each.builtin;
  }
  return nullptr;
}

// "torch.ops.aten.add.Tensor" is aten::add.Tensor; nothing for another form.
std::optional<OperatorName> operator_name(std::string_view target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  if (!target.starts_with(kPrefix)) return std::nullopt;
  target.remove_prefix(kPrefix.size());
  const std::size_t first = target.find('.');
  const std::size_t last = target.rfind('.');
  if (first == target.npos || first == last) return std::nullopt;
  OperatorName name;
  name.name = std::string(target.substr(0, first)) +
              "::" + std::string(target.substr(first + 1, last - first - 1));
  name.overload = std::string(target.substr(last + 1));
  if (name.overload == "default") name.overload.clear();
  return name;
}

// The last place in the model's own source, "model.py", 12, of a stack as Python prints it.
SourceRange place_of(const Json& node) {
  SourceRange place;
  const Json* const metadata = find_member(node, "metadata");
  const Json* const trace = metadata == nullptr ? nullptr : find_member(*metadata, "stack_trace");
  if (trace == nullptr || !trace->is_string()) return place;
  const std::string& text = trace->get_ref<const std::string&>();
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  for (std::size_t at = text.find(kFile); at != text.npos; at = text.find(kFile, at + 1)) {
    const std::size_t begin = at + kFile.size();
    const std::size_t end = text.find(kLine, begin);
    if (end == text.npos) break;
    const std::string file = text.substr(begin, end - begin);
    if (place.known() && file.find("/torch/") != file.npos) continue;  // inside a layer
    const unsigned long line = std::strtoul(text.c_str() + end + kLine.size(), nullptr, 10);
    place.file = std::make_shared<const std::string>(file.substr(file.rfind('/') + 1));
    place.line = std::uint32_t(std::min<unsigned long>(line, 1'000'000'000));
  }
  return place;
}

// What cannot run, each operator once.
class Refusals {
 public:
  void add(const std::string& target, const SourceRange& place, const std::string& reason) {
    auto [found, is_new] =
        known_.try_emplace(target + reason, Refusal{target, reason, place.text()});
    ++found->second.count;
  }
  bool empty() const noexcept { return known_.empty(); }
  [[noreturn]] void raise(const std::string& what) const {
    std::string text = fmt::format("{} cannot run here: {} of its operators {} not available\n",
                                   what, known_.size(), known_.size() == 1 ? "is" : "are");
    for (const auto& [key, each] : known_) {
      text += fmt::format("  {}, {} time{}{}: {}\n", each.target, each.count,
                          each.count == 1 ? "" : "s",
                          each.place.empty() ? "" : ", first at " + each.place, each.reason);
    }
    text +=
        "Export the model with run_decompositions() for fewer kinds of operators, or load a plugin "
        "that has these.";
    fail(ErrorKind::Unsupported, std::move(text));
  }

 private:
  struct Refusal {
    std::string target;
    std::string reason;
    std::string place;
    std::size_t count = 0;
  };
  std::map<std::string, Refusal> known_;
};

class Converter {
 public:
  Converter(const Json& program, const std::string& what)
      : what_(what),
        program_(program),
        module_(require_member(program, "graph_module", what)),
        graph_json_(require_member(module_, "graph", what)),
        signature_(require_member(module_, "signature", what)),
        graph_(make_graph()),
        values_(*graph_, what) {
    model_.graph = graph_;
  }

  Model convert() {
    read_inputs();
    read_ranges();
    for (const Json& node : require_array(require_member(graph_json_, "nodes", what_), what_)) {
      convert_node(node);
    }
    if (!refusals_.empty()) refusals_.raise(what_);
    read_outputs();
    read_trees();
    lint(*graph_);
    return std::move(model_);
  }

 private:
  const Json& member(const Json& object, const char* name) const {
    return require_member(object, name, what_);
  }
  const std::string& text(const Json& object, const char* name) const {
    return require_text(member(object, name), what_);
  }

  // ---- inputs

  void read_inputs() {
    const Json& specs = require_array(member(signature_, "input_specs"), what_);
    for (const Json& spec : specs) read_state(spec);
    for (const Json& spec : specs) read_input(spec);
  }

  void read_state(const Json& spec) {
    constexpr std::array<std::pair<const char*, const char*>, 3> kKinds = {
        {{"parameter", "parameter_name"},
         {"buffer", "buffer_name"},
         {"tensor_constant", "tensor_constant_name"}}};
    const auto [kind, value] = kind_and_value(spec, what_);
    for (const auto& [known, name_member] : kKinds) {
      if (kind != known) continue;
      const std::string& name = text(*value, name_member);
      model_.state.push_back({name, {}, kind == "parameter"});
      Value* const input = graph_->add_input({}, base_type(TypeKind::Tensor));
      OPYARD_CHECK(state_.emplace(name, input).second, BadValue,
                   fmt::format("{} has the weight \"{}\" twice", what_, name));
      values_.define(text(member(*value, "arg"), "name"), input);
    }
  }

  void read_input(const Json& spec) {
    const auto [kind, value] = kind_and_value(spec, what_);
    if (kind == "constant_input") {
      add_fixed_input(text(*value, "name"), member(*value, "value"));
    } else if (kind == "user_input") {
      const auto [form, argument] = kind_and_value(member(*value, "arg"), what_);
      if (form == "as_tensor") {
        const std::string& name = text(*argument, "name");
        Value* const input = graph_->add_input({}, base_type(TypeKind::Tensor));
        values_.define(name, input);
        passed_[name] = input;
        model_.inputs.push_back(read_check(name));
      } else if (form == "as_sym_int") {
        const std::string& name = text(*argument, "as_name");
        values_.define(name, graph_->add_input({}, base_type(TypeKind::Int)));
        model_.inputs.push_back({name, {}, {}, {}});
      } else {
        add_fixed_input("", member(*value, "arg"));
      }
    } else if (kind != "parameter" && kind != "buffer" && kind != "tensor_constant") {
      refusals_.add(kind, {}, "an input of this kind is not taken");
    }
  }

  // A number, text or None that the program was exported with: no other may be passed.
  void add_fixed_input(const std::string& name, const Json& value) {
    graph_->add_input({}, base_type(TypeKind::Any));
    const auto [form, given] = kind_and_value(value, what_);
    model_.inputs.push_back({name, {}, {}, form == "as_none" ? "null" : given->dump()});
  }

  InputCheck read_check(const std::string& name) {
    const Json& meta = member(member(graph_json_, "tensor_values"), name.c_str());
    InputCheck check = {name, require_exported_dtype(member(meta, "dtype"), what_), {}, {}};
    for (const Json& size : require_array(member(meta, "sizes"), what_)) {
      const auto [form, value] = kind_and_value(size, what_);
      if (form == "as_int") {
        check.sizes.emplace_back(require_int(*value, what_));
        continue;
      }
      const std::string& expression = text(*value, "expr_str");
      // Others, such as twice a size, are checked by the operators.
      constexpr std::string_view kSymbol = "Symbol('";
      const std::size_t end = expression.find('\'', kSymbol.size());
      if (expression.starts_with(kSymbol) && end != expression.npos) {
        check.sizes.emplace_back(expression.substr(kSymbol.size(), end - kSymbol.size()));
      } else {
        check.sizes.emplace_back();
      }
    }
    return check;
  }

  void read_ranges() {
    const Json* const ranges = find_member(program_, "range_constraints");
    if (ranges == nullptr) return;
    for (const auto& [name, range] : require_object(*ranges, what_).items()) {
      const Json& least = member(range, "min_val");
      const Json& most = member(range, "max_val");
      model_.ranges[name] = {least.is_null() ? 0 : require_int(least, what_),
                             most.is_null() ? INT64_MAX : require_int(most, what_)};
    }
  }

  // ---- nodes

  void convert_node(const Json& node) {
    const std::string& target = text(node, "target");
    const SourceRange place = place_of(node);
    try {
      const bool is_cut_off = has_refused_input(node);  // only looked at for the list
      if (is_cut_off) refuse_outputs(node);
      if (is_assertion(target)) {
        if (!is_cut_off) convert_assertion(target, node);
      } else if (const char* const builtin = find_size_function(target)) {
        if (!is_cut_off) convert_size_function(builtin, node, place);
      } else {
        const std::optional<OperatorName> name = operator_name(target);
        OPYARD_CHECK(name.has_value(), Unsupported, "is no operator, and no function on sizes");
        is_cut_off ? static_cast<void>(find_schema(*name)) : convert_call(*name, node, place);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Unsupported && error.kind() != ErrorKind::BadGraph) throw;
      const std::string reason = error.what();
      refusals_.add(target, place, reason.substr(0, reason.find('\n')));
      refuse_outputs(node);
    }
  }

  static bool is_assertion(const std::string& target) {
    return target == "torch.ops.aten._assert_tensor_metadata.default" ||
           target == "torch.ops.aten._assert_scalar.default" ||
           target.starts_with("torch.ops.aten.sym_constrain_range");
  }

  static const Schema& find_schema(const OperatorName& name) {
    const Operator* const op = Registry::instance().find(name);
    OPYARD_CHECK(op != nullptr, Unsupported, "is not defined here");
    return op->schema();
  }

  // PyTorch passes a number where a tensor is wanted as a tensor that takes no part in promotion;
  // that is what the overload for a Scalar does.
  OperatorName overload_for_numbers(OperatorName name, const Json& json) const {
    if (name.overload != "Tensor") return name;
    const Schema& schema = find_schema(name);
    for (const Json& input : require_array(member(json, "inputs"), what_)) {
      const auto at = schema.find_argument(text(input, "name"));
      const std::string kind = kind_and_value(member(input, "arg"), what_).first;
      const bool is_number = kind == "as_int" || kind == "as_float" || kind == "as_bool" ||
                             kind == "as_sym_int" || kind == "as_sym_float";
      if (at && is_number && schema.arguments[*at].type->kind() == TypeKind::Tensor) {
        name.overload = "Scalar";
      }
    }
    return name;
  }

  void convert_call(const OperatorName& said, const Json& json, const SourceRange& place) {
    const OperatorName name = overload_for_numbers(said, json);
    const Schema& schema = find_schema(name);
    std::map<std::string, const Json*> given;
    for (const Json& input : require_array(member(json, "inputs"), what_)) {
      const std::string& argument = text(input, "name");
      OPYARD_CHECK(schema.find_argument(argument).has_value(), Unsupported,
                   fmt::format("has no argument \"{}\" here", argument));
      given[argument] = &member(input, "arg");
    }
    std::vector<Value*> inputs;
    for (const Argument& argument : schema.arguments) {
      const auto found = given.find(argument.name);
      if (found != given.end()) {
        inputs.push_back(values_.argument(*found->second, *argument.type));
      } else {
        OPYARD_CHECK(argument.default_value.has_value(), Unsupported,
                     fmt::format("its argument \"{}\" is not given, and has no default here",
                                 argument.name));
        inputs.push_back(
            graph_->insert_constant(*argument.default_value, runtime_list(*argument.type)));
      }
    }
    Node* const node =
        graph_->create(Symbol::from_qual_string(name.name), inputs, schema.results.size());
    if (!name.overload.empty()) node->set_overload(Symbol::attr(name.overload));
    node->set_source_range(place);
    for (std::size_t i = 0; i < schema.results.size(); ++i) {
      node->output(i)->set_type(runtime_type(*schema.results[i].type));
    }
    graph_->insert_node(node);
    resolve(*node);
    define_outputs(node, json);
  }

  // Of an empty list the type cannot be seen.
  static TypePtr runtime_list(const Type& type) {
    TypePtr wanted = runtime_type(type);
    return wanted->kind() == TypeKind::List ? wanted : TypePtr();
  }

  void convert_size_function(const char* builtin, const Json& json, const SourceRange& place) {
    std::vector<Value*> inputs;
    for (const Json& input : require_array(member(json, "inputs"), what_)) {
      inputs.push_back(values_.argument(member(input, "arg"), *base_type(TypeKind::Any)));
    }
    Node* const node = graph_->create(Symbol::from_qual_string(builtin), inputs, 1);
    node->set_source_range(place);
    std::vector<TypePtr> types;
    for (const Value* const input : inputs) types.push_back(input->type());
    graph_->insert_node(node);
    node->output()->set_type(result_types(resolve(*node).schema(), types).front());
    define_outputs(node, json);
  }

  // See [Checks].
  void convert_assertion(const std::string& target, const Json& json) {
    const Json& inputs = require_array(member(json, "inputs"), what_);
    if (target == "torch.ops.aten._assert_scalar.default") {
      OPYARD_CHECK(inputs.size() == 2, BadValue,
                   fmt::format("{}: an assertion without text", what_));
      Value* const truth = values_.argument(member(inputs[0], "arg"), *base_type(TypeKind::Any));
      raise_unless(truth, text(member(inputs[1], "arg"), "as_string"));
    } else if (target != "torch.ops.aten._assert_tensor_metadata.default") {
      Value* size = nullptr;
      for (const Json& input : inputs) {
        const std::string& name = text(input, "name");
        Value* const value = values_.argument(member(input, "arg"), *base_type(TypeKind::Any));
        if (name == "size") size = value;
        if (size == nullptr || value->type()->kind() != TypeKind::Int) continue;
        if (name == "min")
          raise_unless(compare("aten::ge", size, value), "a size is below its range");
        if (name == "max")
          raise_unless(compare("aten::le", size, value), "a size is above its range");
      }
    }
  }

  Value* compare(const char* function, Value* left, Value* right) {
    Node* const node = graph_->create(Symbol::from_qual_string(function), {left, right}, 1);
    node->output()->set_type(base_type(TypeKind::Bool));
    graph_->insert_node(node);
    return node->output();
  }

  void raise_unless(Value* truth, const std::string& message) {
    OPYARD_CHECK(truth->type()->kind() == TypeKind::Bool, Unsupported, "asserts what is no bool");
    Node* const branch = graph_->create(prim::If, {truth}, 0);
    graph_->insert_node(branch);
    branch->add_block();
    Block* const otherwise = branch->add_block();
    Node* const said = otherwise->append_node(graph_->create_constant(opyard::Value(message)));
    otherwise->append_node(graph_->create(prim::RaiseException, {said->output()}, 0));
  }

  // ---- what nodes give

  void define_outputs(Node* node, const Json& json) {
    const Json& outputs = require_array(member(json, "outputs"), what_);
    OPYARD_CHECK(
        outputs.size() <= node->outputs().size(), Unsupported,
        fmt::format("gives {} results there, and {} here", outputs.size(), node->outputs().size()));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto [kind, value] = kind_and_value(outputs[i], what_);
      if (kind == "as_tensors") {
        define_items(node->output(i), *value);
      } else if (kind == "as_tensor") {
        values_.define(text(*value, "name"), node->output(i));
      } else if (kind == "as_sym_int" || kind == "as_sym_bool" || kind == "as_sym_float") {
        values_.define(text(*value, "as_name"), node->output(i));
      } else {
        OPYARD_CHECK(kind == "as_none", Unsupported, "gives a result of the kind " + kind);
      }
    }
  }

  void define_items(Value* list, const Json& names) {
    require_array(names, what_);
    Node* const items = graph_->create(prim::ListUnpack, {list}, names.size());
    graph_->insert_node(items);
    for (std::size_t i = 0; i < names.size(); ++i)
      values_.define(text(names[i], "name"), items->output(i));
  }

  // Names of what a node that was refused would give.
  void refuse_outputs(const Json& node) {
    for (const Json& output : require_array(member(node, "outputs"), what_))
      collect_names(output, refused_);
  }
  bool has_refused_input(const Json& node) const {
    if (refused_.empty()) return false;
    std::set<std::string> names;
    for (const Json& input : require_array(member(node, "inputs"), what_)) {
      collect_names(member(input, "arg"), names);
    }
    return std::any_of(names.begin(), names.end(),
                       [this](const std::string& name) { return refused_.contains(name); });
  }
  static void collect_names(const Json& json, std::set<std::string>& names) {
    for (const auto& [key, value] : json.items()) {
      if (value.is_structured()) {
        collect_names(value, names);
      } else if ((key == "name" || key == "as_name") && value.is_string()) {
        names.insert(value.get<std::string>());
      }
    }
  }

  // ---- outputs

  void read_outputs() {
    std::vector<Value*> outputs;
    for (const Json& spec : require_array(member(signature_, "output_specs"), what_)) {
      const auto [kind, value] = kind_and_value(spec, what_);
      const Json& argument = member(*value, "arg");
      if (kind == "user_output") {
        outputs.push_back(values_.argument(argument, *base_type(TypeKind::Any)));
      } else if (kind == "loss_output") {
        outputs.push_back(values_.require(member(argument, "name")));
      } else if (kind == "buffer_mutation") {
        write_back(state_, text(*value, "buffer_name"), argument);
      } else if (kind == "parameter_mutation") {
        write_back(state_, text(*value, "parameter_name"), argument);
      } else if (kind == "user_input_mutation") {
        write_back(passed_, text(*value, "user_input_name"), argument);
      } else {
        fail(ErrorKind::Unsupported,
             fmt::format("{} has an output of the kind {}", what_, Json(kind).dump()));
      }
    }
    for (Value* const output : outputs) graph_->register_output(output);
  }

  void write_back(const std::map<std::string, Value*>& targets, const std::string& name,
                  const Json& argument) {
    const auto found = targets.find(name);
    OPYARD_CHECK(found != targets.end(), BadValue,
                 fmt::format("{} writes \"{}\", which it does not have", what_, name));
    Value* const value = values_.require(member(argument, "name"));
    graph_->insert_node(
        graph_->create(Symbol::from_qual_string("aten::copy_"), {found->second, value}, 1));
  }

  void read_trees() {
    const Json& calls = require_array(member(module_, "module_call_graph"), what_);
    for (const Json& call : calls) {
      const Json* const signature = find_member(call, "signature");
      if (!text(call, "fqn").empty() || signature == nullptr || signature->is_null()) continue;
      model_.input_tree = convert_tree(text(*signature, "in_spec"), what_ + ": in_spec");
      model_.output_tree = convert_tree(text(*signature, "out_spec"), what_ + ": out_spec");
    }
  }

  const std::string& what_;
  const Json& program_;
  const Json& module_;
  const Json& graph_json_;
  const Json& signature_;
  GraphPtr graph_;
  ExportedValues values_;
  Model model_;
  std::map<std::string, Value*> state_;   // by the name of the weight
  std::map<std::string, Value*> passed_;  // by the name of the input
  Refusals refusals_;
  std::set<std::string> refused_;
};

}  // namespace

Model convert_program(const Json& program, const std::string& what) {
  return Converter(program, what).convert();
}

}  // namespace opyard::jit
