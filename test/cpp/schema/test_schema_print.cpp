// test_schema_print.cpp: protects the print of a schema: it is what a person would have written,
// and parsing it gives the same schema. Suspect dispatcher/src/schema/print.cpp.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "opyard/schema/parse.h"

namespace opyard::test_schema_print {
namespace {

std::string printed(const std::string& text) { return to_string(parse_schema(text)); }

TEST(SchemaPrint, C10_ResultsStandBareWhereThereIsOne) {
  EXPECT_EQ(printed("f() -> ( Tensor )"), "f() -> Tensor");
  EXPECT_EQ(printed("f() -> (Tensor a)"), "f() -> Tensor a");
  EXPECT_EQ(printed("f() -> (Tensor a,int b)"), "f() -> (Tensor a, int b)");
  EXPECT_EQ(printed("f() -> ()"), "f() -> ()");
  EXPECT_EQ(printed("f() -> ((int, str))"), "f() -> ((int, str))");
  EXPECT_EQ(printed("f() -> ((int, str)[])"), "f() -> ((int, str)[])");
  EXPECT_EQ(printed("f() -> ((int, str) pair)"), "f() -> ((int, str) pair)");
}

TEST(SchemaPrint, C10_DefaultsAreWrittenAsAPersonWould) {
  EXPECT_EQ(printed("f(float a=1, float b=0.50, float c=1e-5, float d=-0.0, float e=1E+22) -> ()"),
            "f(float a=1., float b=0.5, float c=1e-05, float d=-0., float e=1e+22) -> ()");
  EXPECT_EQ(printed("f(bool a=True, bool? b=None, int c=007) -> ()"),
            "f(bool a=True, bool? b=None, int c=7) -> ()");
  EXPECT_EQ(printed("f(str a=\"q\\\"\\\\\\n\\t\\x01\", int[] b=[1,2], ScalarType d=float) -> ()"),
            "f(str a=\"q\\\"\\\\\\n\\t\\x01\", int[] b=[1, 2], ScalarType d=6) -> ()");
  EXPECT_EQ(printed("f(Device d=cpu, str[] s=[\"a\"]) -> ()"),
            "f(Device d=\"cpu\", str[] s=[\"a\"]) -> ()");
  EXPECT_EQ(printed("f(Scalar a=1, Scalar b=1., Scalar c=10000000000.0) -> ()"),
            "f(Scalar a=1, Scalar b=1., Scalar c=10000000000.) -> ()");
  EXPECT_EQ(
      printed("f(complex a=1j, complex b=-2.5-1e-5j, complex c=3, complex d=-0.-0j) -> ()"),
      "f(complex a=0.+1.j, complex b=-2.5-1e-05j, complex c=3.+0.j, complex d=-0.-0.j) -> ()");
  EXPECT_EQ(printed("f(Scalar a=2j, complex[] b=[1j, 2]) -> ()"),
            "f(Scalar a=0.+2.j, complex[] b=[0.+1.j, 2.+0.j]) -> ()");
}

TEST(SchemaPrint, TheStarIsPrintedOnce) {
  EXPECT_EQ(printed("f(*,int a,int b=1,...) -> ()"), "f(*, int a, int b=1, ...) -> ()");
}

TEST(SchemaPrint, C9_SetsArePrintedInSourceOrder) {
  const char* const texts[] = {
      "f(Tensor(b|a|c) x, Tensor(z! -> y|x) y, Tensor(q -> *) z) -> Tensor(c|a)",
      "f(Tensor(a)[](b!) x, (Tensor(a), Tensor(b)[])(c) y) -> Tensor(a)[]?",
      "f(Tensor(a! -> c|b) x, Tensor?[](z|y -> *)? y) -> Tensor(c|a)",
      "f(Dict(str, Tensor(a!))(b) x, Future(Tensor(d))(c) y) -> ()",
  };
  for (const char* text : texts) EXPECT_EQ(printed(text), text);
}

// Writes schemas by the grammar, with blanks, comments and spellings that the print does not have.
class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {}

  std::string schema() {
    std::string text = name("op");
    if (chance(2)) text = name("ns") + blank() + "::" + blank() + text;
    if (chance(3)) text += blank() + "." + blank() + name("ov");
    return text + blank() + "(" + arguments() + ")" + blank() + "->" + blank() + results();
  }

 private:
  std::size_t below(std::size_t n) { return std::size_t(random_() % n); }
  bool chance(std::size_t n) { return below(n) == 0; }
  std::string name(const std::string& stem) { return stem + std::to_string(below(50)); }
  template <std::size_t N>
  std::string one_of(const char* const (&texts)[N]) {
    return texts[below(N)];
  }
  std::string blank() { return one_of({"", "", "", " ", "  ", "\n", "\t", " # note ) \n"}); }
  std::string comma() { return blank() + "," + blank(); }

  std::string set() {
    if (chance(6)) return "*";
    std::string text = "a";
    for (char c = 'b'; c < 'e'; ++c) {
      if (chance(4)) text += blank() + "|" + blank() + c;
    }
    return text;
  }
  // A set of its own, which no other argument reads; a result shares one of those.
  std::string written_set() {
    if (in_results_) return written_[below(written_.size())];
    written_.push_back("w" + std::to_string(written_.size()));
    return written_.back();
  }
  std::string alias() {
    if (!chance(4)) return "";
    if (chance(5)) return "!";
    const bool write = chance(2) && !(in_results_ && written_.empty());
    std::string text = "(" + (write ? written_set() + blank() + "!" : set());
    if (chance(3)) text += blank() + "->" + blank() + set();
    return text + ")";
  }
  std::string list_of_types(std::size_t count, int depth, bool sets) {
    std::string text = type(depth, sets);
    for (; count > 1; --count) text += comma() + type(depth, sets);
    return text;
  }
  std::string type(int depth, bool sets = true) {
    std::string text;
    switch (depth == 0 ? 9 : below(10)) {
      case 0:
        text = "(" + list_of_types(1 + below(3), depth - 1, sets) + ")";
        break;
      case 1:
        text = "Dict(" + list_of_types(2, depth - 1, sets) + ")";
        break;
      case 2:
        text = "Future(" + type(depth - 1, sets) + ")";
        break;
      case 3:
        text = "Union(int," + blank() + "Tensor, " + type(depth - 1, false) + ")";
        break;
      default:
        text = one_of({"Tensor", "int", "float", "bool", "str", "Scalar", "SymInt", "Device",
                       "ScalarType", "Layout", "Any", "t", "t1", "number", "Dimname", "Generator"});
    }
    if (sets) text += alias();
    bool optional = false;
    while (chance(3)) {
      if (!optional && chance(2)) {
        text += "?";
        optional = true;
      } else {
        text += chance(3) ? "[" + std::to_string(1 + below(4)) + "]" : "[" + blank() + "]";
        if (sets) text += alias();
        optional = false;
      }
    }
    return text;
  }

  std::string real() {
    double value = 0;
    const std::uint64_t bits = (std::uint64_t{random_()} << 32) | random_();
    std::memcpy(&value, &bits, sizeof(value));
    return chance(4) ? one_of({"inf", "-inf", "nan", "1", "-0.0", ".25", "1e3"})
                     : float_text(value);
  }
  std::string whole() { return std::to_string(std::int64_t(random_()) - (1 << 30)); }
  std::string text() {
    std::string out = "\"";
    for (std::size_t i = below(8); i > 0; --i) {
      out += one_of({"a", "é", "\\n", "\\\"", "\\\\", "\\x1f", " ", "#", "日", "'", "\t"});
    }
    return out + "\"";
  }
  std::string defaulted() {
    switch (below(13)) {
      case 0:
        return "float x=" + real();
      case 1:
        return "int x=" + whole();
      case 2:
        return "str x=" + text();
      case 3:
        return "bool? x=" + one_of({"None", "True", "False"});
      case 4:
        return "int[3] x=" + whole();
      case 5:
        return "float[] x=[" + real() + comma() + real() + "]";
      case 6:
        return "str[] x=[" + text() + "]";
      case 7:
        return "Scalar x=" + one_of({"1", "1.", "True", "-inf", "2j", "1-.5j"});
      case 8:
        return "ScalarType x=" + one_of({"float", "long", "int64", "11"});
      case 9:
        return "Tensor?[] x=[None]";
      case 10:
        return "Device x=" + one_of({"cpu", "\"cuda:1\"", "\"cpu\""});
      case 11:
        return "complex x=" + one_of({"1j", "-.5j", "1", "-2.5e-7+1e-3j", "0-0j", "-0.-0j"});
      default:
        return "Any x=" + one_of({"None", "\"a\"", "-3", "2.5"});
    }
  }
  // "x" at the end of a default is made unique.
  std::string numbered(std::string text, int number) {
    return text.replace(text.find(" x="), 2, " x" + std::to_string(number));
  }
  std::string arguments() {
    std::string text = blank();
    bool star = false;
    bool defaults = false;
    int number = 0;
    const char* separator = "";
    for (std::size_t i = below(6); i > 0; --i) {
      text += separator;
      separator = " , ";
      if (!star && chance(4)) {
        star = true;
        text += "*" + comma();
      }
      defaults = (defaults && !star) || chance(2);
      ++number;
      text += defaults ? numbered(defaulted(), number)
                       : type(3) + " " + blank() + "x" + std::to_string(number);
    }
    if (chance(6)) text += std::string(separator) + "...";
    return text + blank();
  }
  std::string results() {
    in_results_ = true;
    if (chance(8)) return chance(2) ? "..." : "( ... )";
    std::string text = "(" + blank();
    const char* separator = "";
    for (std::size_t i = below(4); i > 0; --i) {
      text += separator + type(3) + (chance(3) ? " r" + std::to_string(i) : "");
      separator = ",";
    }
    return text + ")";
  }

  std::mt19937 random_;
  std::vector<std::string> written_;
  bool in_results_ = false;
};

TEST(SchemaPrint, C9_ParsingThePrintGivesTheSameSchema) {
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    const std::string text = Writer(seed).schema();
    Schema schema;
    ASSERT_NO_THROW(schema = parse_schema(text)) << "seed " << seed << "\n" << text;
    const std::string once = to_string(schema);
    Schema again;
    ASSERT_NO_THROW(again = parse_schema(once)) << "seed " << seed << "\n" << once;
    ASSERT_TRUE(again == schema) << "seed " << seed << "\n" << text << "\n" << once;
    ASSERT_EQ(to_string(again), once) << "seed " << seed;
  }
}

}  // namespace
}  // namespace opyard::test_schema_print
