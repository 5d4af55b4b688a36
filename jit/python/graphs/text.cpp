// graphs/text.cpp: parsers in Python: parse_ir, parse_expression, parse_type.
#include "graphs/graphs.h"

#include <utility>

#include "opyard/detail/bind/text.h"
#include "opyard/jit/expression.h"
#include "opyard/jit/operator_file.h"
#include "opyard/jit/parse.h"
#include "opyard/schema/parse.h"

namespace opyard::graphs {
namespace {

using Names = std::vector<std::pair<std::string, std::string>>;

py::object parse(const std::string& text, const py::str& source, const py::list& tensors,
                 bool with_names, bool untrusted, const std::vector<std::string>& allowed) {
  jit::ParseOptions options;
  options.source = python::shown_file(source);
  options.untrusted = untrusted;
  options.allowed = allowed;
  for (const py::handle tensor : tensors) {
    options.tensors.push_back(require_tensor(table(), tensor.ptr()));
  }
  std::unordered_map<std::string, jit::Value*> names;
  if (with_names) options.names = &names;
  const jit::GraphPtr graph = jit::parse_graph(text, options);
  if (!with_names) return py::cast(SharedGraph{graph});
  py::dict values;
  for (const auto& [name, value] : names) values[py::str(name)] = py::cast(share(graph, value));
  return py::make_tuple(SharedGraph{graph}, values);
}

SharedGraph parse_expression(const std::string& text, const Names& inputs,
                             const std::string& name_space) {
  std::vector<jit::ExpressionInput> typed;
  for (const auto& [name, type] : inputs) typed.push_back({name, jit::parse_type(type)});
  jit::ExpressionOptions options;
  options.name_space = name_space;
  return {jit::parse_expression(text, typed, options)};
}

py::tuple placed(const jit::PlacedText& text) {
  return py::make_tuple(text.text, text.line, text.column);
}

// (namespace, [(schema, doc, tags, [(arguments, formula)], body or None)]); each text is with its
// line and column.
py::tuple parse_operator_file(const std::string& text, const py::str& source) {
  const jit::OperatorFile file = jit::parse_operator_file(text, python::shown_file(source));
  py::list blocks;
  for (const jit::OperatorBlock& block : file.blocks) {
    py::list derivatives;
    for (const auto& [of, formula] : block.derivatives) {
      derivatives.append(py::make_tuple(of, placed(formula)));
    }
    const py::object body = block.body ? py::object(placed(*block.body)) : py::none();
    blocks.append(py::make_tuple(placed(block.schema), block.doc, block.tags, derivatives, body));
  }
  return py::make_tuple(file.name_space, blocks);
}

std::string typed_calls_header(const py::str& source, const std::string& name_space,
                               const std::vector<std::string>& names) {
  std::vector<OperatorName> operators;
  for (const std::string& name : names) operators.push_back(parse_operator_name(name));
  return jit::typed_calls_header(python::shown_file(source), name_space, operators);
}

}  // namespace

void add_text(py::module_& module) {
  module.def("parse_ir", &parse, py::arg("text"), py::arg("source"), py::arg("tensors"),
             py::arg("with_names"), py::arg("untrusted"), py::arg("allowed"));
  module.def("parse_expression", &parse_expression, py::arg("text"), py::arg("inputs"),
             py::arg("name_space"));
  module.def("parse_operator_file", &parse_operator_file, py::arg("text"), py::arg("source"));
  module.def("typed_calls_header", &typed_calls_header, py::arg("source"), py::arg("name_space"),
             py::arg("names"));
}

}  // namespace opyard::graphs
