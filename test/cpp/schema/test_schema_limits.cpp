// test_schema_limits.cpp: protects the process from the text of a schema: bytes that are no text,
// depth, length, and whatever a mutation makes of it.
// Suspect dispatcher/src/schema/parse.cpp and dispatcher/src/text/cursor.cpp.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "../failing_allocator.h"
#include "opyard/schema/parse.h"
#include "schema_error.h"

namespace opyard::test_schema_limits {
namespace {

TEST(SchemaLimits, BytesThatAreNoTextAreShownEscaped) {
  EXPECT_EQ(error_of(std::string_view("f(\0int x) -> ()", 15)),
            "1:3: byte \\x00 is not allowed in a schema\n"
            "f(\\x00int x) -> ()\n"
            "  ^~~~");
  EXPECT_EQ(error_of("f(\xff\xfeint x) -> ()"),
            "1:3: byte \\xff is not UTF-8 text\n"
            "f(\\xff\\xfeint x) -> ()\n"
            "  ^~~~");
  for (const char* wrong : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    const std::string text = std::string("f(str x=\"") + wrong + "\") -> ()";
    EXPECT_NE(error_of(text).find("is not UTF-8 text"), std::string::npos);
  }
  EXPECT_EQ(error_of("f(\x01 x) -> ()"), "1:3: unexpected '\\x01'\nf(\\x01 x) -> ()\n  ^~~~");
}

TEST(SchemaLimits, TheFirstAndLastCharacterOfEachLengthAreText) {
  const auto text = [](const char* character) {
    return std::string("f(str x=\"") + character + "\") -> ()";
  };
  for (const char* right :
       {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(parse_schema(text(right)).arguments[0].default_value->to_string_view(), right);
  }
  for (const char* wrong : {"\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xf5\x80\x80\x80"}) {
    EXPECT_NE(error_of(text(wrong)).find("is not UTF-8 text"), std::string::npos);
  }
}

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(SchemaLimits, ALineThatFitsIsShownWhole) {
  const std::string line = "f(int[] x=[" + repeated("1, ", 34) + "1], Bad last) -> ()";
  ASSERT_GT(line.find("Bad"), 100u);
  EXPECT_EQ(error_of(line).find("unknown type 'Bad'"), 7u);
  EXPECT_NE(error_of(line).find("\n" + line + "\n" + repeated(" ", int(line.find("Bad"))) + "^~~"),
            std::string::npos);
}

TEST(SchemaLimits, NoCharacterIsCutWhereALongLineIs) {
  for (const char* blanks : {"", " "}) {
    const std::string error =
        error_of("f(str x=\"" + std::string(blanks) + repeated("é", 100) + "\", Bad y) -> ()");
    EXPECT_NE(error.find("\n...é"), std::string::npos) << error;
    EXPECT_EQ(error.find("\\x"), std::string::npos) << error;
  }
}

TEST(SchemaLimits, ALongWordIsShownInPart) {
  const std::string sixty = repeated("n", 60);
  EXPECT_NE(error_of("f(" + sixty + " x) -> ()").find("unknown type '" + sixty + "';"),
            std::string::npos);
  EXPECT_NE(error_of("f(" + sixty + "n x) -> ()").find("unknown type '" + sixty + "...';"),
            std::string::npos);
}

TEST(SchemaLimits, ALongLineIsShownAroundTheCaretOnly) {
  std::string text = "f(";
  for (int i = 0; i < 100; ++i) text += "Tensor argument" + std::to_string(i) + ", ";
  text += "Bad, ";
  for (int i = 0; i < 50; ++i) text += "Tensor more" + std::to_string(i) + ", ";
  text += "int last) -> ()";
  const std::string error = error_of(text);
  EXPECT_LT(error.size(), 600u);
  const std::size_t second = error.find('\n') + 1;
  const std::size_t third = error.find('\n', second) + 1;
  const std::string line = error.substr(second, third - second - 1);
  EXPECT_EQ(line.substr(error.find('^', third) - third, 3), "Bad");
  EXPECT_TRUE(error.ends_with("^~~"));
  EXPECT_TRUE(line.starts_with("..."));
  EXPECT_TRUE(line.ends_with("..."));
}

TEST(SchemaLimits, EveryLimitIsKeptAndNamed) {
  const auto tuples = [](int levels) {
    return "f(" + repeated("(", levels - 1) + "int" + repeated(")", levels - 1) + " x) -> ()";
  };
  EXPECT_NO_THROW(parse_schema(tuples(256)));
  EXPECT_NE(error_of(tuples(257)).find("nested too deeply; the limit is 256"), std::string::npos);
  EXPECT_NE(error_of(tuples(400'000)).find("nested too deeply"), std::string::npos);

  const auto lists = [](int levels) { return "f(int" + repeated("[]", levels - 1) + " x) -> ()"; };
  EXPECT_NO_THROW(parse_schema(lists(256)));
  EXPECT_NE(error_of(lists(257)).find("nested too deeply"), std::string::npos);

  const auto values = [](int levels) {
    return "f(int" + repeated("[]", levels) + " x=" + repeated("[", levels) +
           repeated("]", levels) + ") -> ()";
  };
  EXPECT_NO_THROW(parse_schema(values(255)));
  EXPECT_NE(error_of("f(int x=" + repeated("[", 257)).find("nested too deeply"), std::string::npos);

  const auto arguments = [](int count) {
    std::string text = "f(int a0";
    for (int i = 1; i < count; ++i) text += ", int a" + std::to_string(i);
    return text + ") -> ()";
  };
  EXPECT_EQ(parse_schema(arguments(255)).arguments.size(), 255u);
  EXPECT_NE(error_of(arguments(256)).find("too many arguments; the limit is 255"),
            std::string::npos);
  EXPECT_NE(error_of("f() -> (int" + repeated(", int", 255) + ")").find("too many results"),
            std::string::npos);

  EXPECT_NO_THROW(parse_schema(repeated("n", 1024) + "() -> ()"));
  EXPECT_NE(error_of(repeated("n", 1025) + "() -> ()")
                .find("a name of 1025 bytes is too long; the limit is 1024"),
            std::string::npos);

  EXPECT_NE(error_of("f(int[] x=[1" + repeated(",1", 1 << 14) + "]) -> ()").find("too many types"),
            std::string::npos);
  std::string broadcast = "int[255] x=1";
  for (int i = 0; i < 70; ++i) broadcast += ", int[255] x" + std::to_string(i) + "=1";
  EXPECT_NE(error_of("f(" + broadcast + ") -> ()").find("too many types"), std::string::npos)
      << "each repeated value counts";
  EXPECT_NE(error_of(repeated(" ", (1 << 20) + 1)).find("1048577 bytes is too long"),
            std::string::npos);
  EXPECT_NO_THROW(parse_schema("f() -> ()" + repeated(" ", (1 << 20) - 9)));
  EXPECT_NE(error_of("f(n." + repeated("n", 1023) + " x) -> ()")
                .find("a name of 1025 bytes is too long; the limit is 1024"),
            std::string::npos);
}

TEST(SchemaLimits, LimitsMayBeChangedButNotPastWhatTheStackBears) {
  SchemaLimits limits;
  limits.nesting = 2;
  EXPECT_NO_THROW(parse_schema("f(int[] x) -> ()", limits));
  EXPECT_NE(error_of("f(int[][] x) -> ()", limits).find("the limit is 2"), std::string::npos);
  limits.nesting = 3;
  EXPECT_NO_THROW(parse_schema("f((int, int)[] x) -> ()", limits));
  EXPECT_NE(error_of("f((int[], int)[] x) -> ()", limits).find("the limit is 3"), std::string::npos)
      << "the deepest element counts, wherever it is";
  EXPECT_NE(error_of("f((int, int[])[] x) -> ()", limits).find("the limit is 3"),
            std::string::npos);
  limits.nodes = 2;
  EXPECT_NO_THROW(parse_schema("f(int x, int y) -> ()", limits));
  EXPECT_NE(error_of("f(int x, int y) -> int", limits).find("too many types"), std::string::npos);
  limits = {};
  limits.items = 2;
  EXPECT_NO_THROW(parse_schema("f(Tensor(a|b) x, int y) -> ()", limits));
  EXPECT_NE(
      error_of("f(Tensor(a|b|c) x) -> ()", limits).find("too many alias sets; the limit is 2"),
      std::string::npos);
  limits.nesting = std::size_t(-1);
  EXPECT_NE(error_of("f(" + repeated("(", 100'000), limits).find("the limit is 512"),
            std::string::npos);
}

TEST(SchemaLimits, AnErrorLeavesNothingBehind) {
  const auto parse_both = [] {
    parse_schema("f(Union(int, (Tensor, str)[])? x=None, str y=\"text\") -> Dict(str, t)");
    try {
      parse_schema("f(Union(int, (Tensor, str)[])? x=None, str y=\"text\", Foo z) -> ()");
    } catch (const Error&) {
    }
  };
  parse_both();  // the base types are made once and stay
  EXPECT_GT(fail_every_allocation(parse_both), 5);
}

bool ends_in_a_mark_or_fix(const std::string& error) {
  const std::string last = error.substr(error.rfind('\n') + 1);
  return last.starts_with("fix: ") || last.starts_with("The first ") ||
         (last.find_first_not_of(" ^~") == std::string::npos &&
          last.find('^') != std::string::npos);
}

// Every text that is made from a good one by changing, removing or repeating some bytes is
// either refused as BadSchema or means what its print means.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kHostileRounds = 15'000;  // each takes ten times as long
#else
constexpr int kHostileRounds = 60'000;
#endif

TEST(SchemaLimits, HostileBytesAreRefusedOrUnderstood) {
  const std::string seeds[] = {
      "ns::foo.ov(Tensor(a!) self, int[3] size=1, *, float? alpha=-1.5e-3) -> Tensor(a!)",
      "foo(Union(int, str)[] x, (Tensor(a)[], t1) y, ...) -> (int, (Tensor, float) z)",
      "foo(str[] a=[\"x\\n\", \"\\x41\"], Device d=\"cuda:1\", ScalarType? t=float) -> ...",
      "foo(Dict(str, Future(t)[](b|c! -> *)) x, Tensor! y) -> ()  # comment",
  };
  std::mt19937 random(20240229);
  const auto below = [&](std::size_t n) { return std::size_t(random() % n); };
  const std::string_view alphabet = "()[]{}<>,=?!|*-:.#\"'\\ \n\tazTt019_ej$\x7f\x01\xff\xc3\xa9";
  int understood = 0;
  for (int round = 0; round < kHostileRounds; ++round) {
    std::string text = seeds[below(std::size(seeds))];
    for (std::size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = alphabet[below(alphabet.size())];
          break;
        case 1:
          text.erase(at, 1 + below(4));
          break;
        case 2:
          text.insert(at, text.substr(below(text.size()), 1 + below(12)));
          break;
        case 3:
          text[at] = char(random());
          break;
        default:
          text.resize(at);
          break;
      }
    }
    try {
      const Schema schema = parse_schema(text);
      const std::string printed = to_string(schema);
      ASSERT_EQ(parse_schema(printed), schema) << text;
      ASSERT_EQ(to_string(parse_schema(printed)), printed) << text;
      ++understood;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::BadSchema) << text;
      ASSERT_TRUE(ends_in_a_mark_or_fix(error.what())) << error.what();
    }
  }
  EXPECT_GT(understood, kHostileRounds / 60) << "the loop must reach good texts as well";
}

}  // namespace
}  // namespace opyard::test_schema_limits
