// exported/graph.cpp: the inputs, nodes and outputs of an exported program as a graph.
//
// [Order] The state comes first among the graph's inputs, then what is passed. Buffers and inputs
// that the program gives back changed are written at the end, by aten::copy_, before it returns.
#include <array>

#include <fmt/format.h>

#include "exported/arguments.h"
#include "exported/checks.h"
#include "exported/nodes.h"
#include "exported/program.h"
#include "exported/tree.h"
#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

class Converter {
 public:
  Converter(const Json& program, const std::string& what)
      : what_(what),
        program_(program),
        module_(require_member(program, "graph_module", what)),
        graph_json_(require_member(module_, "graph", what)),
        signature_(require_member(module_, "signature", what)),
        graph_(make_graph()),
        values_(*graph_, what),
        nodes_(*graph_, what) {
    model_.graph = graph_;
  }

  Model convert() {
    read_inputs();
    model_.ranges = read_ranges(program_, what_);
    nodes_.convert_nodes(graph_json_, values_);
    nodes_.refusals().raise_if_any();
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
        model_.inputs.push_back(read_input_check(graph_json_, name, what_));
      } else if (form == "as_sym_int") {
        const std::string& name = text(*argument, "as_name");
        values_.define(name, graph_->add_input({}, base_type(TypeKind::Int)));
        model_.inputs.push_back(read_int_check(graph_json_, name, what_));
      } else {
        add_fixed_input("", member(*value, "arg"));
      }
    } else if (kind != "parameter" && kind != "buffer" && kind != "tensor_constant") {
      nodes_.refusals().add(kind, {}, "an input of this kind is not taken");
    }
  }

  // A number, text or None that the program was exported with: no other may be passed.
  void add_fixed_input(const std::string& name, const Json& value) {
    graph_->add_input({}, base_type(TypeKind::Any));
    const auto [form, given] = kind_and_value(value, what_);
    model_.inputs.push_back({name, {}, {}, form == "as_none" ? "null" : given->dump()});
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
  NodeConverter nodes_;
  Model model_;
  std::map<std::string, Value*> state_;   // by the name of the weight
  std::map<std::string, Value*> passed_;  // by the name of the input
};

}  // namespace

Model convert_program(const Json& program, const std::string& what) {
  return Converter(program, what).convert();
}

}  // namespace opyard::jit
