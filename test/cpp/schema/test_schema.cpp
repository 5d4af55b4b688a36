// test_schema.cpp: protects queries of a schema.
// Suspect dispatcher/src/schema/schema.cpp and relations.cpp.
#include "opyard/schema/schema.h"

#include <gtest/gtest.h>

#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/schema/parse.h"
#include "opyard/schema/relations.h"

namespace opyard::test_schema {
namespace {

constexpr Place argument(std::size_t index) { return {Side::Argument, index}; }
constexpr Place result(std::size_t index) { return {Side::Result, index}; }

TEST(Schema, C8_ArgumentsTellTheirAliasSetsAndProperties) {
  const Schema schema = parse_schema(
      "f(Tensor(a) x, Tensor(b!)[] y, int[2] n=1, *, ScalarType? d=None, Tensor(c! -> d) out) "
      "-> Tensor(a)");
  const Argument& x = schema.arguments[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_FALSE(x.is_write());
  EXPECT_FALSE(x.is_out());
  EXPECT_EQ(x.alias->before, std::vector<std::string>{"a"});
  EXPECT_EQ(x.alias->after, std::vector<std::string>{"a"});
  EXPECT_FALSE(x.alias->is_write);
  const Argument& y = schema.arguments[1];
  EXPECT_TRUE(y.is_write()) << "what is in the list is written";
  EXPECT_FALSE(y.alias->is_write);
  EXPECT_FALSE(y.alias->has_sets());
  EXPECT_TRUE(y.alias->contained.at(0).is_write);
  const Argument& n = schema.arguments[2];
  EXPECT_EQ(n.type->size_hint(), 2);
  EXPECT_EQ(*n.default_value, Value::list({Value(1), Value(1)}));
  EXPECT_FALSE(n.keyword_only);
  EXPECT_FALSE(n.alias.has_value());
  const Argument& d = schema.arguments[3];
  EXPECT_TRUE(d.keyword_only);
  EXPECT_TRUE(d.default_value.has_value());
  EXPECT_EQ(to_string(*d.type), "ScalarType?");
  EXPECT_EQ(runtime_text(*d.type), "int?");
  const Argument& out = schema.arguments[4];
  EXPECT_TRUE(out.is_out());
  EXPECT_FALSE(out.default_value.has_value());
  EXPECT_EQ(out.alias->before, std::vector<std::string>{"c"});
  EXPECT_EQ(out.alias->after, std::vector<std::string>{"d"});
}

TEST(Schema, FindsArgumentsByName) {
  const Schema schema = parse_schema("f(int a, *, int b) -> int c");
  EXPECT_EQ(schema.find_argument("a"), 0u);
  EXPECT_EQ(schema.find_argument("b"), 1u);
  EXPECT_FALSE(schema.find_argument("c").has_value()) << "results are no arguments";
  EXPECT_FALSE(schema.find_argument("").has_value());
}

TEST(Schema, C21_IsMutableWhereAnArgumentIsWritten) {
  EXPECT_FALSE(parse_schema("f(Tensor x) -> Tensor").is_mutable());
  EXPECT_FALSE(parse_schema("f(Tensor(a) x) -> Tensor(a)").is_mutable());
  EXPECT_TRUE(parse_schema("f(Tensor(a!) x) -> ()").is_mutable());
  EXPECT_TRUE(parse_schema("f(Tensor(a!)[] x) -> ()").is_mutable());
  EXPECT_TRUE(parse_schema("f(Tensor(a!)? x) -> ()").is_mutable());
  EXPECT_TRUE(parse_schema("f((int, Tensor(a!)[]) x) -> ()").is_mutable());
  const Schema schema = parse_schema("f(Tensor x, Tensor(a!) y) -> Tensor(a!)");
  EXPECT_FALSE(is_mutable(schema, argument(0)));
  EXPECT_TRUE(is_mutable(schema, argument(1)));
  EXPECT_TRUE(is_mutable(schema, result(0)));
}

TEST(Schema, C21_IsAViewWhereAResultSharesWithAnArgumentThatIsNotWritten) {
  EXPECT_TRUE(parse_schema("view(Tensor(a) x) -> Tensor(a)").is_view());
  EXPECT_TRUE(parse_schema("split(Tensor(a) x, int n) -> Tensor(a)[]").is_view());
  EXPECT_TRUE(parse_schema("f(Tensor(a) x, Tensor(b!) y) -> (Tensor(b!), Tensor(a))").is_view());
  EXPECT_FALSE(parse_schema("add_(Tensor(a!) x) -> Tensor(a!)").is_view());
  EXPECT_FALSE(parse_schema("f(Tensor(a) x) -> Tensor").is_view());
  EXPECT_FALSE(parse_schema("f(Tensor(a) x) -> Tensor(b)").is_view());
  EXPECT_FALSE(parse_schema("add(Tensor x, Tensor y) -> Tensor").is_view());
  EXPECT_TRUE(parse_schema("f(Tensor(a -> b) x) -> Tensor(b)").is_view());
  EXPECT_FALSE(parse_schema("f(Tensor(a -> b) x) -> Tensor(a)").is_view());
}

TEST(Schema, C21_ValuesAliasWhereTheyShareASetAndTheirTypesAllowIt) {
  const Schema schema = parse_schema(
      "f(Tensor(a) x, Tensor(b|c) y, Tensor(b)[] z, int(a) n, Tensor(d -> e) w) -> "
      "(Tensor(a|b), Tensor, Tensor(e), Tensor(d))");
  EXPECT_TRUE(is_aliasing(schema, argument(0)));
  EXPECT_TRUE(is_aliasing(schema, argument(2)));
  EXPECT_FALSE(is_aliasing(schema, result(1)));
  EXPECT_TRUE(may_alias(schema, argument(0), result(0)));
  EXPECT_TRUE(may_alias(schema, result(0), argument(1)));
  EXPECT_FALSE(may_alias(schema, argument(0), argument(1)));
  EXPECT_FALSE(may_alias(schema, argument(0), argument(3))) << "an int is never shared";
  EXPECT_FALSE(may_alias(schema, argument(2), result(0))) << "the list is no tensor";
  EXPECT_TRUE(may_contain_alias(schema, argument(2), result(0)));
  EXPECT_TRUE(may_contain_alias(schema, result(0), argument(2)));
  EXPECT_FALSE(may_contain_alias(schema, argument(2), argument(0)));
  EXPECT_TRUE(may_alias(schema, argument(4), result(2))) << "the set behind the arrow counts";
  EXPECT_FALSE(may_alias(schema, argument(4), result(3)));
  EXPECT_TRUE(has_alias_sets(schema));
  EXPECT_FALSE(has_alias_sets(parse_schema("f(Tensor x) -> Tensor")));
}

TEST(Schema, C21_AnOptionalOrAUnionAliasesWhatIsInIt) {
  const Schema schema =
      parse_schema("f(Tensor(a)? x, Union(Tensor, int)(a) y, Any(a) z, int[](a) l) -> Tensor(a)");
  EXPECT_TRUE(may_alias(schema, argument(0), result(0)));
  EXPECT_TRUE(may_alias(schema, argument(1), result(0)));
  EXPECT_TRUE(may_alias(schema, argument(2), result(0)));
  EXPECT_FALSE(may_alias(schema, argument(3), result(0)));
  EXPECT_TRUE(may_alias(schema, argument(2), argument(3)));
}

// A list keeps what is put into it, and gives it out again.
TEST(Schema, C21_AContainerMayHoldWhatNoSetTellsApartFromItsElements) {
  const Schema append =
      parse_schema("append(Tensor[](a!) self, Tensor(c -> *) el) -> Tensor[](a!)");
  EXPECT_FALSE(may_alias(append, argument(0), argument(1)));
  EXPECT_TRUE(may_contain(append, argument(0), argument(1)));
  EXPECT_FALSE(may_contain(append, argument(1), argument(0))) << "a tensor holds nothing";
  EXPECT_TRUE(may_contain_alias(append, argument(0), argument(1)));
  EXPECT_TRUE(may_contain_alias(append, argument(1), result(0)));
  EXPECT_TRUE(may_alias(append, argument(0), result(0)));

  const Schema wildcard = parse_schema("f(Tensor(*) x) -> (Tensor[], Tensor, int[])");
  EXPECT_FALSE(may_alias(wildcard, result(0), argument(0)));
  EXPECT_TRUE(may_contain(wildcard, result(0), argument(0)));
  EXPECT_FALSE(may_contain(wildcard, argument(0), result(0)));
  EXPECT_FALSE(may_contain_alias(wildcard, result(0), result(1))) << "a fresh tensor is in no set";
  EXPECT_FALSE(may_contain_alias(wildcard, result(2), argument(0))) << "an int is no tensor";

  const Schema lists = parse_schema("f(Tensor[] x, Dict(str, (int, Tensor)[]?) y) -> Tensor[]");
  EXPECT_FALSE(may_alias(lists, argument(0), result(0)));
  EXPECT_TRUE(may_contain(lists, argument(0), result(0)));
  EXPECT_TRUE(may_contain(lists, argument(1), argument(0))) << "at any depth";

  const Schema partly = parse_schema("f((Tensor(a), Tensor) x, Tensor(*) y) -> ()");
  EXPECT_TRUE(may_contain(partly, argument(0), argument(1)))
      << "an element without a set beside one that has one";
  const Schema either = parse_schema("f(Union(Tensor, int) x, Tensor(*) y) -> ()");
  EXPECT_FALSE(may_contain(either, argument(0), argument(1)))
      << "it is one of them, and holds none";

  const Schema told =
      parse_schema("f(Tensor(a)[] x, Tensor(b)[] y, int[] n) -> (int[], Tensor(b))");
  EXPECT_FALSE(may_contain_alias(told, argument(0), argument(1))) << "their sets tell them apart";
  EXPECT_FALSE(may_contain_alias(told, argument(2), result(0))) << "an int is never shared";
  EXPECT_TRUE(may_contain_alias(told, argument(1), result(1)));
  EXPECT_FALSE(may_contain_alias(told, argument(0), result(1)));
}

TEST(Schema, C21_APlaceThatDoesNotExistIsRefused) {
  const Schema schema = parse_schema("ns::f.ov(Tensor x) -> Tensor");
  EXPECT_THROWN(is_mutable(schema, argument(1)), BadIndex,
                "ns::f.ov has 1 arguments; there is none at position 1");
  EXPECT_THROWN(is_aliasing(schema, result(7)), BadIndex,
                "ns::f.ov has 1 results; there is none at position 7");
  EXPECT_THROWN(may_alias(schema, argument(0), argument(2)), BadIndex,
                "ns::f.ov has 1 arguments; there is none at position 2");
  EXPECT_THROWN(may_contain_alias(schema, result(1), argument(0)), BadIndex,
                "ns::f.ov has 1 results; there is none at position 1");
  EXPECT_THROWN(may_contain(schema, argument(0), result(9)), BadIndex,
                "ns::f.ov has 1 results; there is none at position 9");
  EXPECT_THROWN(may_contain(schema, argument(1), result(0)), BadIndex,
                "ns::f.ov has 1 arguments; there is none at position 1");
}

TEST(Schema, C21_CountsItsOutArguments) {
  EXPECT_EQ(out_argument_count(parse_schema("f(Tensor(a!) x) -> ()")), 0u);
  EXPECT_EQ(out_argument_count(parse_schema("f(*, Tensor x) -> ()")), 0u);
  EXPECT_EQ(out_argument_count(parse_schema(
                "f(*, int n, Tensor(a!) o, Tensor(b!)[] p) -> (Tensor(a!), Tensor(b!)[])")),
            2u);
}

TEST(Schema, C21_TheDumpTellsWhetherTheAliasAnalysisIsTheDefault) {
  const auto kind_line = [](bool is_default) {
    Definition definition;
    definition.schema = parse_schema("t::kind(Tensor(a) x) -> Tensor(a)");
    definition.alias_analysis_is_default = is_default;
    const Registration op = registry().define(std::move(definition));
    const std::string text = dump("t::kind");
    return text.substr(text.find("alias analysis kind: "));
  };
  EXPECT_TRUE(Definition().alias_analysis_is_default);
  EXPECT_EQ(kind_line(true), "alias analysis kind: FROM_SCHEMA (default)\n");
  EXPECT_EQ(kind_line(false), "alias analysis kind: FROM_SCHEMA\n");
}

TEST(Schema, C24_IsFunctionalWhereItOnlyComputes) {
  EXPECT_TRUE(is_functional(parse_schema("foo(Tensor x) -> Tensor")));
  EXPECT_TRUE(is_functional(parse_schema("foo(Tensor(a) x) -> Tensor")));
  EXPECT_TRUE(is_functional(parse_schema("foo(Tensor(a) x) -> Tensor(b)")));
  EXPECT_TRUE(is_functional(parse_schema("foo() -> int")));
  EXPECT_FALSE(is_functional(parse_schema("foo(Tensor(a!) x) -> Tensor")));
  EXPECT_FALSE(is_functional(parse_schema("foo(Tensor! x) -> Tensor")));
  EXPECT_FALSE(is_functional(parse_schema("foo(Tensor(a!)[] x) -> Tensor")));
  EXPECT_FALSE(is_functional(parse_schema("foo(Tensor(a) x) -> Tensor(a)")));
  EXPECT_FALSE(is_functional(parse_schema("foo(Tensor(a)[] x) -> (int, Tensor(a))")));
  EXPECT_FALSE(is_functional(parse_schema("foo(Tensor x) -> ()")));
}

TEST(Schema, C23_EqualityComparesEverythingThatIsWritten) {
  const char* const texts[] = {
      "f(Tensor x) -> Tensor",        "g(Tensor x) -> Tensor",       "f.o(Tensor x) -> Tensor",
      "n::f(Tensor x) -> Tensor",     "f(Tensor y) -> Tensor",       "f(Tensor? x) -> Tensor",
      "f(*, Tensor x) -> Tensor",     "f(Tensor(a) x) -> Tensor",    "f(Tensor(a!) x) -> Tensor",
      "f(Tensor x, ...) -> Tensor",   "f(Tensor x) -> ...",          "f(Tensor x) -> Tensor r",
      "f(Tensor x) -> (Tensor, int)", "f(int x) -> Tensor",          "f(int x=1) -> Tensor",
      "f(int x=2) -> Tensor",         "f(float x=0.) -> Tensor",     "f(float x=-0.) -> Tensor",
      "f(int[2] x) -> Tensor",        "f(int[3] x) -> Tensor",       "f(SymInt x) -> Tensor",
      "f(int[] x=[1]) -> Tensor",     "f(float[] x=[nan]) -> Tensor"};
  for (const char* a : texts) {
    for (const char* b : texts) {
      EXPECT_EQ(parse_schema(a) == parse_schema(b), std::string_view(a) == b) << a << "\n" << b;
    }
  }
}

TEST(Schema, C23_DifferencesAreToldAndNamesDefaultsAndAliasesIgnored) {
  const auto difference = [](const char* a, const char* b) {
    return find_difference(parse_schema(a), parse_schema(b)).value_or("none");
  };
  EXPECT_EQ(difference("f(Tensor(a!) x, int n=1) -> Tensor(a!)",
                       "n::g.o(Tensor y, *, int m) -> Tensor r"),
            "none");
  EXPECT_EQ(difference("f(ScalarType d, SymInt[2] s) -> SymInt", "f(int d, int[] s) -> int"),
            "none");
  EXPECT_EQ(difference("f(int a, int b) -> ()", "f(int a) -> ()"),
            "The number of arguments is different. 2 vs 1.");
  EXPECT_EQ(difference("f() -> (int, int)", "f() -> int"),
            "The number of returns is different. 2 vs 1.");
  EXPECT_EQ(difference("f(int a) -> ()", "f(Tensor a) -> ()"),
            "Type mismatch in argument 1: int vs Tensor");
  EXPECT_EQ(difference("f(Tensor a, SymInt[2] b) -> ()", "f(Tensor a, float b) -> ()"),
            "Type mismatch in argument 2: int[] vs float");
  EXPECT_EQ(difference("f() -> (int, Scalar)", "f() -> (int, Tensor?)"),
            "Type mismatch in return 2: number vs Tensor?");
  EXPECT_EQ(difference("f(...) -> ()", "f() -> ()"),
            "The first takes further arguments ('...') and the other does not.");
  EXPECT_EQ(difference("f() -> ()", "f() -> ..."),
            "The second has any number of results ('...') and the other does not.");
}

TEST(Schema, OperatorNamesAreOrderedAndPrinted) {
  const OperatorName plain{"ns::f", ""};
  const OperatorName overload{"ns::f", "out"};
  EXPECT_EQ(to_string(plain), "ns::f");
  EXPECT_EQ(to_string(overload), "ns::f.out");
  EXPECT_LT(plain, overload);
  EXPECT_NE(plain, overload);
}

}  // namespace
}  // namespace opyard::test_schema
