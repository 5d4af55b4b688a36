// kernels/blocks/literals.cpp: writer of the C++ that registers blocks.
#include "blocks/literals.h"

#include <algorithm>
#include <cctype>

#include "opyard/base/error.h"
#include "opyard/jit/operator_file.h"
#include "opyard/schema/parse.h"

namespace opyard::blocks {
namespace {

constexpr std::string_view kNull = "nullptr";

std::string literal(std::string_view text) {
  // A string literal has at most 64 KiB, and so has a body.
  std::string delimiter = "ops";
  while (text.find(')' + delimiter + '"') != std::string_view::npos) delimiter += '_';
  return "R\"" + delimiter + '(' + std::string(text) + ')' + delimiter + '"';
}
std::string literal_or_null(std::string_view text) {
  return text.empty() ? std::string(kNull) : literal(text);
}

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) || letter == '_';
}

// Whether a source may have this function: its name and a parenthesis.
bool has_function(std::string_view source, const std::string& name) {
  const std::string called = name + '(';
  for (std::size_t i = source.find(called); i != std::string_view::npos;
       i = source.find(called, i + 1)) {
    if (i == 0 || !is_word(source[i - 1])) return true;
  }
  return false;
}

class Writer {
 public:
  explicit Writer(const std::vector<std::string>& kernels) {
    for (const std::string& path : kernels) texts_.push_back(read_text(path));
  }

  std::string write(const std::vector<OperatorSource>& sources) {
    for (const OperatorSource& source : sources) write_file(source);
    return "// Tables of kernels/operators/*.ops, made by kernels/blocks; do not edit.\n"
           "#include \"registering/blocks.h\"\n#include \"common/options.h\"\n\n"
           "namespace opyard::kernels {\n\n" +
           declarations_ + "\nnamespace {\n\n" + tables_ + "}  // namespace\n\n" + fragments_ +
           "}  // namespace opyard::kernels\n";
  }

 private:
  void write_file(const OperatorSource& source) {
    const std::string table = "k_" + source.family;
    std::string rows;
    for (std::size_t i = 0; i < source.file.blocks.size(); ++i) {
      rows += row(source, source.file.blocks[i], table + '_' + std::to_string(i));
    }
    tables_ += "constexpr Block " + table + "[] = {\n" + rows + "};\n\n";
    fragments_ += "OPYARD_LIBRARY_FRAGMENT(" + source.file.name_space +
                  ", m) { register_blocks(m, " + table + "); }\n";
  }

  std::string row(const OperatorSource& source, const jit::OperatorBlock& block,
                  const std::string& name) {
    std::string tags;
    for (const std::string& tag : block.tags) tags += (tags.empty() ? "" : " ") + tag;
    const std::string place = source.shown + ':' + std::to_string(block.schema.line);
    const jit::CompiledLines& compiled = block.compiled;
    return "    {" + literal(place) + ",\n     " + literal(block.schema.text) + ",\n     " +
           literal_or_null(block.doc) + ", " + literal_or_null(tags) + ",\n     " +
           literal_or_null(block.body ? block.body->text : "") + ", " +
           kernel(source, block, name) + ", " + formulas(block, name) + ", " +
           (compiled.answered_by.empty() ? "false" : "true") + ", " +
           (compiled.in_place ? "true" : "false") + ", " +
           literal_or_null(compiled.out.value_or("")) + "},\n";
  }

  std::string formulas(const jit::OperatorBlock& block, const std::string& name) {
    if (block.derivatives.empty()) return "{}";
    tables_ += "constexpr BlockFormula " + name + "_formulas[] = {";
    for (const auto& [of, text] : block.derivatives) {
      tables_ += '{' + literal(of) + ", " + literal(text.text) + "}, ";
    }
    tables_ += "};\n";
    return name + "_formulas";
  }

  // A function that registers the kernel.
  std::string kernel(const OperatorSource& source, const jit::OperatorBlock& block,
                     const std::string& name) {
    if (!block.compiled.kernel) return std::string(kNull);
    const jit::PlacedText& function = *block.compiled.kernel;
    const bool is_there = std::any_of(texts_.begin(), texts_.end(), [&](const std::string& text) {
      return has_function(text, function.text);
    });
    if (!is_there) {
      fail_at(source, function, "no source of kernels/src has a function " + function.text + "()");
    }
    const Schema schema = parse_schema(block.schema.text);
    jit::CppSignature signature;
    try {
      signature = jit::cpp_signature(schema);
    } catch (const Error& error) {
      fail_at(source, block.schema, error.what());
    }
    std::string parameters;
    for (const std::string& type : signature.parameters) {
      parameters += (parameters.empty() ? "" : ", ") + type;
    }
    declarations_ +=
        signature.result + ' ' + function.text + '(' + parameters + ");  // " + source.shown + '\n';
    std::vector<std::string> keys = block.compiled.keys;
    if (keys.empty()) keys = {"CPU", "Meta"};
    tables_ += "void " + name + "_kernel(Library& m) {\n";
    for (const std::string& key : keys) {
      tables_ += "  m.impl(" + literal(to_string(schema.name)) + ", DispatchKey::" + key +
                 ", static_cast<" + signature.result + " (*)(" + parameters + ")>(&" +
                 function.text + "));\n";
    }
    tables_ += "}\n";
    return '&' + name + "_kernel";
  }

  std::vector<std::string> texts_;
  std::string declarations_, tables_, fragments_;
};

}  // namespace

std::string literals(const std::vector<OperatorSource>& sources,
                     const std::vector<std::string>& kernels) {
  return Writer(kernels).write(sources);
}

}  // namespace opyard::blocks
