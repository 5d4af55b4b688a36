// text/operator_file.cpp: parser of files of operators.
#include "opyard/jit/operator_file.h"

#include <fmt/format.h>

#include <map>

#include "opyard/detail/text/literal.h"
#include "opyard/detail/text/near_names.h"
#include "opyard/schema/parse.h"
#include "text/graph_language.h"
#include "text/line_counter.h"

namespace opyard::jit {
namespace {

using namespace detail;  // NOLINT: the tokens of the language

// Those of schemas and of expressions.
constexpr std::string_view kFileSymbols[] = {
    "->", "::", "**", "//", "==", "!=", "<=", ">=", "(", ")", "[", "]", "{", "}", ",",
    ";",  "=",  "+",  "-",  "*",  "/",  "%",  "@",  "<", ">", ".", "!", "?", "|"};
constexpr Language kFileLanguage = {.what = "file of operators",
                                    .nodes = "words and symbols",
                                    .error = ErrorKind::BadGraph,
                                    .symbols = kFileSymbols};
constexpr TextLimits kFileLimits = {.nodes = 1 << 20, .bytes = std::size_t{4} << 20, .faults = 1};

class OperatorFileParser {
 public:
  OperatorFileParser(std::string_view text, const std::string& source, OperatorFileUse use,
                     Faults& faults)
      : cursor_(text, kFileLanguage, kFileLimits, faults), lines_(text, source), use_(use) {}

  OperatorFile parse() {
    if (!cursor_.take_if_name("namespace")) {
      cursor_.fail_expected("'namespace', with which a file of operators begins");
    }
    file_.name_space = cursor_.expect_name("the name of a namespace").text;
    while (cursor_.peek().kind != TokenKind::End) parse_block();
    return std::move(file_);
  }

 private:
  using Line = void (OperatorFileParser::*)(OperatorBlock& block);
  struct Word {
    std::string_view word;
    Line parse;
    OperatorFileUse use = OperatorFileUse::Loaded;  // the lines of files that are compiled alone
  };

  void parse_block() {
    if (!cursor_.take_if_name("operator")) cursor_.fail_expected("'operator' or the end");
    OperatorBlock block;
    const Span span = pass_until("{");
    block.schema = placed(span);
    try {
      note_name(to_string(parse_schema(block.schema.text).name), span);
    } catch (const Error& error) {
      cursor_.fail_at(span, error.what());
    }
    cursor_.expect("{");
    seen_.clear();
    while (!cursor_.take_if("}")) parse_line(block);
    check_kernel(block, span);
    file_.blocks.push_back(std::move(block));
  }

  void note_name(const std::string& name, Span span) {
    const auto [known, is_new] = names_.emplace(name, lines_.at(span.begin).line);
    if (is_new) return;
    cursor_.fail_at(span, fmt::format("{} has a block already, in line {}", name, known->second));
  }

  void parse_line(OperatorBlock& block) {
    constexpr OperatorFileUse kCompiled = OperatorFileUse::Compiled;
    static constexpr Word kWords[] = {{"doc", &OperatorFileParser::parse_doc},
                                      {"tags", &OperatorFileParser::parse_tags},
                                      {"derivative", &OperatorFileParser::parse_derivative},
                                      {"tangent", &OperatorFileParser::parse_tangent},
                                      {"body", &OperatorFileParser::parse_body},
                                      {"kernel", &OperatorFileParser::parse_kernel, kCompiled},
                                      {"numpy", &OperatorFileParser::parse_numpy, kCompiled},
                                      {"scipy", &OperatorFileParser::parse_scipy, kCompiled},
                                      {"inplace", &OperatorFileParser::parse_in_place, kCompiled},
                                      {"out", &OperatorFileParser::parse_out, kCompiled}};
    const Token token = cursor_.expect_name("a word such as 'body', or '}'");
    std::vector<std::string_view> known;
    for (const Word& each : kWords) {
      if (each.use == kCompiled && use_ != kCompiled) continue;
      if (each.word == token.text) return (this->*each.parse)(block);
      known.push_back(each.word);
    }
    const std::string_view meant = opyard::detail::near_name(token.text, known);
    std::string list;
    for (const std::string_view word : known) {
      list += list.empty() ? "" : word == known.back() ? " and " : ", ";
      list += word;
    }
    cursor_.fail_at(
        token.span(),
        fmt::format("no line begins with {}; lines of a block begin with {}{}", describe(token),
                    list, meant.empty() ? "" : fmt::format("; '{}' may be meant", meant)));
  }

  // Each but a derivative and a tangent is there once.
  void require_first(std::string_view word, bool is_there) {
    if (!is_there) return;
    cursor_.fail_at(cursor_.peek().span(), fmt::format("a block has one '{}'", word));
  }

  void parse_doc(OperatorBlock& block) {
    require_first("doc", !block.doc.empty());
    if (cursor_.peek().kind != TokenKind::Text) cursor_.fail_expected("a text in quotes");
    // Several in a row are one.
    while (cursor_.peek().kind == TokenKind::Text) {
      cursor_.count_node();
      opyard::detail::Unquoted read = opyard::detail::unquote(cursor_.take());
      if (read.wrong) cursor_.fail_at(*read.wrong, "this escape is unknown");
      block.doc += (block.doc.empty() ? "" : " ") + read.text;
    }
  }

  void parse_tags(OperatorBlock& block) {
    require_first("tags", !block.tags.empty());
    do {
      cursor_.count_node();
      block.tags.emplace_back(cursor_.expect_name("the name of a tag").text);
    } while (cursor_.take_if(","));
  }

  void parse_derivative(OperatorBlock& block) {
    std::string of;
    do {
      cursor_.count_node();
      const Token name = cursor_.expect_name("the name of an argument");
      if (!seen_.emplace(name.text, true).second) {
        cursor_.fail_at(name.span(), fmt::format("{} has a derivative already", describe(name)));
      }
      of += of.empty() ? "" : ", ";
      of += name.text;
    } while (cursor_.take_if(","));
    block.derivatives.emplace_back(std::move(of), parse_braces());
  }

  // Of one argument; with its word, as Library::derivative() takes it.
  void parse_tangent(OperatorBlock& block) {
    cursor_.count_node();
    const Token name = cursor_.expect_name("the name of an argument");
    std::string of = "tangent " + std::string(name.text);
    if (!seen_.emplace(of, true).second) {
      cursor_.fail_at(name.span(), fmt::format("{} has a tangent already", describe(name)));
    }
    block.derivatives.emplace_back(std::move(of), parse_braces());
  }

  void parse_body(OperatorBlock& block) {
    require_first("body", block.body.has_value());
    block.body = parse_braces();
  }

  // As "kernel linspace at CompositeExplicitAutograd".
  void parse_kernel(OperatorBlock& block) {
    require_first("kernel", block.compiled.kernel.has_value());
    const Span span = cursor_.expect_name("the name of a C++ function").span();
    block.compiled.kernel = placed(span);
    if (!cursor_.take_if_name("at")) return;
    do {
      cursor_.count_node();
      block.compiled.keys.emplace_back(cursor_.expect_name("a dispatch key").text);
    } while (cursor_.take_if(","));
  }
  void parse_numpy(OperatorBlock& block) { set_answer(block, "numpy"); }
  void parse_scipy(OperatorBlock& block) { set_answer(block, "scipy"); }
  void set_answer(OperatorBlock& block, std::string_view by) {
    require_first("numpy' or 'scipy", !block.compiled.answered_by.empty());
    block.compiled.answered_by = by;
  }
  void parse_in_place(OperatorBlock& block) {
    require_first("inplace", block.compiled.in_place);
    block.compiled.in_place = true;
  }
  // As "out", or as "out int_out" for another name of that overload.
  void parse_out(OperatorBlock& block) {
    require_first("out", block.compiled.out.has_value());
    const Token next = cursor_.peek();
    const bool is_named = next.kind == TokenKind::Name && next.text.ends_with("_out");
    block.compiled.out = is_named ? cursor_.take().text : "out";
  }
  // One of the ways in which an operator may get its kernel, or none.
  void check_kernel(const OperatorBlock& block, Span span) {
    const CompiledLines& compiled = block.compiled;
    const int ways = int(block.body.has_value()) + int(compiled.kernel.has_value()) +
                     int(!compiled.answered_by.empty());
    if (ways > 1) {
      cursor_.fail_at(span, "a block has one of 'body', 'kernel', 'numpy' and 'scipy'");
    }
  }

  // What is between a pair of braces.
  PlacedText parse_braces() {
    cursor_.expect("{");
    const Span span = pass_until("}");
    cursor_.expect("}");
    return placed(span);
  }

  // Passes up to this symbol, over braces in pairs.
  Span pass_until(std::string_view symbol) {
    const std::size_t begin = cursor_.peek().offset;
    std::size_t open = 0;
    std::size_t end = begin;
    while (open > 0 || !cursor_.peek().is(symbol)) {
      if (cursor_.peek().kind == TokenKind::End) {
        cursor_.fail_expected(fmt::format("'{}'", symbol));
      }
      cursor_.count_node();
      if (cursor_.peek().is("{")) ++open;
      if (cursor_.peek().is("}") && open-- == 0) cursor_.fail_expected(fmt::format("'{}'", symbol));
      end = cursor_.take().end();
    }
    return {begin, end};
  }

  PlacedText placed(Span span) {
    const SourceRange at = lines_.at(span.begin);
    return {std::string(cursor_.text(span)), at.line, at.column};
  }

  Cursor cursor_;
  LineCounter lines_;
  const OperatorFileUse use_;
  OperatorFile file_;
  std::map<std::string, std::uint32_t> names_;     // of blocks, and their lines
  std::map<std::string, bool, std::less<>> seen_;  // arguments that have a derivative
};

}  // namespace

OperatorFile parse_operator_file(std::string_view text, const std::string& source,
                                 OperatorFileUse use) {
  Faults faults(text, kFileLanguage, kFileLimits);
  OperatorFile file;
  try {
    file = OperatorFileParser(text, source, use, faults).parse();
  } catch (const GiveUp&) {
    // What ended the reading is among the faults.
  }
  try {
    faults.raise_if_any();
  } catch (const Error& error) {
    opyard::fail(error.kind(), fmt::format("{}:{}", source, error.what()));
  }
  return file;
}

}  // namespace opyard::jit
