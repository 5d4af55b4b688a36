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
  OperatorFileParser(std::string_view text, const std::string& source, Faults& faults)
      : cursor_(text, kFileLanguage, kFileLimits, faults), lines_(text, source) {}

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
    file_.blocks.push_back(std::move(block));
  }

  void note_name(const std::string& name, Span span) {
    const auto [known, is_new] = names_.emplace(name, lines_.at(span.begin).line);
    if (is_new) return;
    cursor_.fail_at(span, fmt::format("{} has a block already, in line {}", name, known->second));
  }

  void parse_line(OperatorBlock& block) {
    static constexpr Word kWords[] = {{"doc", &OperatorFileParser::parse_doc},
                                      {"tags", &OperatorFileParser::parse_tags},
                                      {"derivative", &OperatorFileParser::parse_derivative},
                                      {"body", &OperatorFileParser::parse_body}};
    const Token token = cursor_.expect_name("a word such as 'body', or '}'");
    std::vector<std::string_view> known;
    for (const Word& each : kWords) {
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

  // Each but a derivative is there once.
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

  void parse_body(OperatorBlock& block) {
    require_first("body", block.body.has_value());
    block.body = parse_braces();
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
  OperatorFile file_;
  std::map<std::string, std::uint32_t> names_;     // of blocks, and their lines
  std::map<std::string, bool, std::less<>> seen_;  // arguments that have a derivative
};

}  // namespace

OperatorFile parse_operator_file(std::string_view text, const std::string& source) {
  Faults faults(text, kFileLanguage, kFileLimits);
  OperatorFile file;
  try {
    file = OperatorFileParser(text, source, faults).parse();
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
