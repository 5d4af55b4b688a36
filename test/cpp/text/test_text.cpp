// test_text.cpp: the tokens of a language that is not the schema's, literals, and faults of
// another kind; what graphs and formulas rely on. The schema's own texts are in test_schema_*.
// Suspect dispatcher/src/text/.
#include <gtest/gtest.h>

#include <opyard/detail/text/cursor.h>
#include <opyard/detail/text/literal.h>

#include <limits>
#include <string>
#include <vector>

namespace opyard::detail::test_text {
namespace {

constexpr std::string_view kSymbols[] = {"->", "::", "==", "**", "(", ")", "[", "]", "{",
                                         "}",  ",",  ":",  "=",  "+", "-", "*", "/", "%"};
constexpr Language kGraph = {.what = "graph",
                             .nodes = "nodes",
                             .error = ErrorKind::BadValue,
                             .symbols = kSymbols,
                             .variable_mark = '%'};
constexpr Language kFormula = {
    .what = "formula", .nodes = "operations", .error = ErrorKind::BadArgument, .symbols = kSymbols};

char letter_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::End:
      return '$';
    case TokenKind::Name:
      return 'n';
    case TokenKind::Variable:
      return 'v';
    case TokenKind::Integer:
      return 'i';
    case TokenKind::Real:
      return 'r';
    case TokenKind::Complex:
      return 'j';
    case TokenKind::Text:
      return 't';
    case TokenKind::Symbol:
      return 's';
    case TokenKind::Comment:
      return 'c';
    case TokenKind::Wrong:
      return '?';
  }
  return ' ';
}

// "v:%x s:= n:prim ..."; a token that begins a line has a bar before it.
std::string tokens_of(std::string_view text, const Language& language) {
  Lexer lexer(text, language, 64);
  std::string out;
  for (;;) {
    const Token token = lexer.next();
    if (token.kind == TokenKind::End) return out;
    if (!out.empty()) out += ' ';
    if (token.begins_line) out += '|';
    out += letter_of(token.kind);
    out += ':';
    out += token.text;
  }
}

TEST(Text, AGraphsLineIsSplit) {
  EXPECT_EQ(tokens_of("graph(%x.1 : Float(2, strides=[3, 1], device=cpu)):\n"
                      "  %2 : int = prim::Constant[value=-1]()  # f.py:3\n"
                      "  %self.w_1.grad, %b = aten::chunk(%x.1, %2)",
                      kGraph),
            "|n:graph s:( v:%x.1 s:: n:Float s:( i:2 s:, n:strides s:= s:[ i:3 s:, i:1 s:] s:, "
            "n:device s:= n:cpu s:) s:) s:: "
            "|v:%2 s:: n:int s:= n:prim s::: n:Constant s:[ n:value s:= s:- i:1 s:] s:( s:) "
            "|v:%self.w_1.grad s:, v:%b s:= n:aten s::: n:chunk s:( v:%x.1 s:, v:%2 s:)");
}

TEST(Text, AMarkNeedsANameBehindItAndALanguageThatHasIt) {
  EXPECT_EQ(tokens_of("%a % b %.", kGraph), "|v:%a s:% n:b s:% ?:.");
  EXPECT_EQ(tokens_of("a%b", kFormula), "|n:a s:% n:b");
  EXPECT_EQ(tokens_of("%a..b %a-b-.c %c. %d-", kGraph), "|v:%a..b v:%a-b-.c v:%c ?:. v:%d s:-");
}

TEST(Text, AVariableHasTheLimitOfANameWithItsMark) {
  EXPECT_EQ(tokens_of('%' + std::string(63, 'a'), kGraph), "|v:%" + std::string(63, 'a'));
  EXPECT_EQ(tokens_of('%' + std::string(64, 'a'), kGraph), "|?:%" + std::string(64, 'a'));
}

TEST(Text, InAFormulaASignBetweenNumbersIsAnOperator) {
  EXPECT_EQ(tokens_of("2**x-1.5-2j*a==b", kFormula),
            "|i:2 s:** n:x s:- r:1.5 s:- j:2j s:* n:a s:== n:b");
}

TEST(Text, CommentsAreSkippedKeptOrUnknown) {
  Language language = kGraph;
  EXPECT_EQ(tokens_of("a # b\n# c\nd", language), "|n:a |n:d");
  language.keep_comments = true;
  EXPECT_EQ(tokens_of("a # b\n# c\nd #", language), "|n:a c:# b |c:# c |n:d c:#");
  language.comment = 0;
  EXPECT_EQ(tokens_of("a # b", language), "|n:a ?:# n:b");
}

TEST(Text, AByteThatIsNoTextIsWrongEvenIfTheLanguageHasNoMarks) {
  Language language = kFormula;
  language.comment = 0;
  EXPECT_EQ(tokens_of(std::string_view("a\0b", 3), language),
            std::string("|n:a ?:") + '\0' + " n:b");
}

// What reading a text with `read` raises: its kind and its message.
template <typename Read>
std::string error_of(std::string_view text, const Language& language, Read read,
                     const TextLimits& limits = {}) {
  Faults faults(text, language, limits);
  try {
    Cursor cursor(text, language, limits, faults);
    read(cursor);
  } catch (const GiveUp&) {
  }
  try {
    faults.raise_if_any();
  } catch (const Error& error) {
    return std::string(name_of(error.kind())) + ": " + error.what();
  }
  return "";
}

TEST(Text, FaultsAreOfTheLanguagesKindAndName) {
  const auto nothing = [](Cursor&) {};
  TextLimits limits;
  limits.bytes = 3;
  EXPECT_EQ(error_of("a b c", kGraph, nothing, limits),
            "BadValue: 1:1: a graph of 5 bytes is too long; the limit is 3\na b c\n^");
  EXPECT_EQ(error_of(std::string_view("a\0", 2), kFormula, nothing),
            "BadArgument: 1:2: byte \\x00 is not allowed in a formula\na\\x00\n ^~~~");
  limits = {};
  limits.nodes = 1;
  const auto count = [](Cursor& cursor) {
    cursor.count_node();
    cursor.take();
    cursor.count_node();
  };
  EXPECT_EQ(error_of("a b", kGraph, count, limits),
            "BadValue: 1:3: too many nodes; the limit is 1\na b\n  ^");
}

TEST(Text, TheCursorSeesTwoTokensAhead) {
  EXPECT_EQ(error_of("a = b c", kGraph,
                     [](Cursor& cursor) {
                       EXPECT_TRUE(cursor.peek_second().is("="));
                       EXPECT_TRUE(cursor.peek().is_name("a"));
                       EXPECT_FALSE(cursor.take_if_name("b"));
                       EXPECT_TRUE(cursor.take_if_name("a"));
                       EXPECT_TRUE(cursor.take_if("="));
                       cursor.take();
                       EXPECT_EQ(cursor.peek_second().kind, TokenKind::End);
                       cursor.expect_end();
                     }),
            "BadValue: 1:7: expected the end but found 'c'\na = b c\n      ^");
}

TEST(Text, LiteralsAreReadAsTheyAreWritten) {
  const std::string error = error_of("[-1, [inf], \"a\", 2j] 3", kGraph, [](Cursor& cursor) {
    const Literal list = parse_literal(cursor, "a value");
    ASSERT_EQ(list.items.size(), 4u);
    EXPECT_TRUE(list.list);
    EXPECT_EQ(cursor.text(list.span), "[-1, [inf], \"a\", 2j]");
    EXPECT_TRUE(list.items[0].negative && list.items[0].is_number());
    EXPECT_TRUE(list.items[1].list && list.items[1].items[0].is_name("inf"));
    EXPECT_EQ(unquote(list.items[2].token).text, "a");
    EXPECT_EQ(list.items[3].token.kind, TokenKind::Complex);
    cursor.expect_end();
  });
  EXPECT_EQ(error,
            "BadValue: 1:22: expected the end but found '3'\n[-1, [inf], \"a\", 2j] 3\n"
            "                     ^");
  EXPECT_EQ(error_of("[%x]", kGraph, [](Cursor& cursor) { parse_literal(cursor, "a value"); }),
            "BadValue: 1:2: expected a value but found '%x'\n[%x]\n ^~");
}

TEST(Text, DigitsAreReadWithTheirSignOrNotAtAll) {
  EXPECT_EQ(read_integer("9223372036854775808", true), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(read_integer("9223372036854775808"), std::nullopt);
  EXPECT_EQ(read_integer("1.5"), std::nullopt);
  EXPECT_EQ(read_real("1.5e3", true), -1500.0);
  EXPECT_EQ(read_real("1e999"), std::nullopt);
}

TEST(Text, AComplexTokenHasOneOrTwoParts) {
  const auto parts = [](std::string_view text) {
    const ComplexDigits digits = split_complex({TokenKind::Complex, text, 0});
    return std::string(digits.real) + (digits.imaginary_negative ? " minus " : " plus ") +
           std::string(digits.imaginary);
  };
  EXPECT_EQ(parts("1.5-2j"), "1.5 minus 2");
  EXPECT_EQ(parts("1e-3+.5j"), "1e-3 plus .5");
  EXPECT_EQ(parts("2.j"), " plus 2.");
}

}  // namespace
}  // namespace opyard::detail::test_text
