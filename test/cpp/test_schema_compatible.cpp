// test_schema_compatible.cpp: protects callers from a schema that changed below them.
#include <gtest/gtest.h>

#include "opyard/schema/parse.h"
#include "opyard/schema/relations.h"

namespace opyard {
namespace {

std::string backward(const char* fresh, const char* old) {
  return why_not_backward_compatible(parse_schema(fresh), parse_schema(old)).value_or("yes");
}

std::string forward(const char* fresh, const char* old) {
  return why_not_forward_compatible(parse_schema(fresh), parse_schema(old)).value_or("yes");
}

bool subtype(const std::string& narrow, const std::string& wide) {
  const auto type = [](const std::string& text) {
    return parse_schema("f(" + text + " x) -> ()").arguments.at(0).type;
  };
  return is_subtype(*type(narrow), *type(wide));
}

TEST(SchemaCompatible, ATypeIsASubtypeOfThoseThatTakeAllItsValues) {
  const std::pair<const char*, const char*> yes[] = {
      {"int", "int"},
      {"int", "int?"},
      {"int", "Any"},
      {"int?", "Any"},
      {"NoneType", "int?"},
      {"int", "Scalar"},
      {"bool", "Scalar"},
      {"int", "SymInt"},
      {"int[]", "SymInt[]"},
      {"int[]", "int[2]"},
      {"int[]", "int[]?"},
      {"(int, str)", "(Scalar, str?)"},
      {"int", "Union(int, str)"},
      {"Union(int, str)", "Union(float, int, str)"},
      {"Future(int)", "Future(Scalar)"},
      {"int?", "Scalar?"},
  };
  const std::pair<const char*, const char*> no[] = {
      {"int?", "int"},
      {"Any", "int"},
      {"Scalar", "int"},
      {"SymInt", "int"},
      {"int", "float"},
      {"int[2]", "int[]"},
      {"int[]", "Scalar[]"},
      {"int[2]", "int[3]"},
      {"(int)", "(int, int)"},
      {"Union(int, str)", "int"},
      {"t", "t1"},
      {"str", "Scalar"},
      {"Dict(str, int)", "Dict(str, Scalar)"},
      {"Union(int, str)", "Union(int, float)"},
  };
  for (const auto& [narrow, wide] : yes)
    EXPECT_TRUE(subtype(narrow, wide)) << narrow << " " << wide;
  for (const auto& [narrow, wide] : no)
    EXPECT_FALSE(subtype(narrow, wide)) << narrow << " " << wide;
}

TEST(SchemaCompatible, C22_BackwardWhereEveryOldCallStillWorks) {
  constexpr const char* kOld = "n::f(Tensor x, int n=1, *, float p) -> Tensor";
  EXPECT_EQ(backward(kOld, kOld), "yes");
  EXPECT_EQ(backward("n::f(Tensor? x, Scalar n=1, *, float? p) -> Tensor", kOld), "yes");
  EXPECT_EQ(backward("n::f(Tensor x, int n=1, int m=2, *, str s=\"\", float p) -> Tensor", kOld),
            "yes");
  EXPECT_EQ(backward("n::f(Tensor x, int n=1, *, float p=1.) -> Tensor", kOld), "yes");
  EXPECT_EQ(backward("n::f(Tensor x, int n=1, float p=1.) -> Tensor", kOld), "yes");
  EXPECT_EQ(backward("n::f(Tensor x, int n=1, *, float p, ...) -> Tensor", kOld), "yes");
  EXPECT_EQ(backward("f() -> Tensor", "f() -> Tensor?"), "yes") << "a result may narrow";
}

TEST(SchemaCompatible, C22_BackwardReasons) {
  constexpr const char* kOld = "n::f(Tensor x, int n=1, *, float p) -> Tensor";
  EXPECT_EQ(backward("n::f.o(Tensor x, int n=1, *, float p) -> Tensor", kOld),
            "The names differ: 'n::f.o' was 'n::f'.");
  EXPECT_EQ(backward("n::f(Tensor x, int n=1, *, float p) -> ()", kOld),
            "The number of results is 0 and was 1.");
  EXPECT_EQ(backward("n::f(Tensor x, *, int n=1, float p) -> Tensor", kOld),
            "Positional argument 'n' is missing.");
  EXPECT_EQ(backward("n::f(Tensor y, int n=1, *, float p) -> Tensor", kOld),
            "Argument 'y' was named 'x'.");
  EXPECT_EQ(backward("n::f(Tensor x, int n=2, *, float p) -> Tensor", kOld),
            "The default value of argument 'n' has changed.");
  EXPECT_EQ(backward("n::f(Tensor x, int n, *, float p) -> Tensor", kOld),
            "The default value of argument 'n' has changed.");
  EXPECT_EQ(backward("n::f(Tensor(a!) x, int n=1, *, float p) -> Tensor", kOld),
            "The alias sets of argument 'x' have changed.");
  EXPECT_EQ(backward("n::f(Tensor x, int n=1) -> Tensor", kOld), "Argument 'p' is missing.");
  EXPECT_EQ(backward("n::f(Tensor x, int n=1, *, float p, int q) -> Tensor", kOld),
            "Argument 'q' is new and has no default value.");
  EXPECT_EQ(backward("n::f(Tensor x, int n=1, *, int p) -> Tensor", kOld),
            "Argument 'p' is of type 'int' and took 'float'.");
  EXPECT_EQ(backward("n::f(Tensor x, int n=1, *, float p) -> Tensor?", kOld),
            "Result 1 is of type 'Tensor?' and was 'Tensor'.");
  EXPECT_EQ(backward("n::f(Tensor x, int n=1, *, float p) -> Tensor(a)", kOld),
            "The alias sets of result 1 have changed.");
  EXPECT_EQ(backward("f(Tensor(a) x) -> Tensor", "f(Tensor(a) x) -> Tensor(a)"),
            "The alias sets of result 1 have changed.");
  EXPECT_EQ(backward("f() -> ()", "f(...) -> ()"),
            "It took further arguments ('...') and does no more.");
  EXPECT_EQ(backward("f() -> ()", "f() -> ..."), "It had or has any number of results ('...').");
}

TEST(SchemaCompatible, C22_ForwardWhereOnlyDefaultedArgumentsWereAdded) {
  constexpr const char* kOld = "f(Tensor x, int n=1, *, Tensor(a!) out) -> Tensor(a!)";
  EXPECT_EQ(forward(kOld, kOld), "yes");
  EXPECT_EQ(forward("f(Tensor x, int n=1, int m=2, *, Tensor(a!) out) -> Tensor(a!)", kOld), "yes");
  EXPECT_EQ(forward("f(Tensor x, int n=1, *, int m=2, Tensor(a!) out) -> Tensor(a!)", kOld), "yes");
  EXPECT_EQ(forward("f(Tensor x, int n=1, int[] m=[], *, Tensor(a!) out) -> Tensor(a!)", kOld),
            "Argument 'm' is new and its default value is a list.");
  EXPECT_EQ(forward("f(Tensor x, int n=1, *, int m, Tensor(a!) out) -> Tensor(a!)", kOld),
            "Argument 'm' is new and has no default value.");
  EXPECT_EQ(forward("f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", kOld),
            "Argument 'n' is missing.");
  EXPECT_EQ(forward("f(Tensor? x, int n=1, *, Tensor(a!) out) -> Tensor(a!)", kOld),
            "Argument 'x' is not as it was; only new ones may be added, behind it.");
  EXPECT_EQ(forward("f(Tensor x, int m=2, int n=1, *, Tensor(a!) out) -> Tensor(a!)", kOld),
            "Argument 'n' is not as it was; only new ones may be added, behind it.");
  EXPECT_EQ(forward("f(Tensor x, int n=1, *, Tensor(a! -> a|b) out) -> Tensor(a!)", kOld),
            "The out arguments have changed.");
  EXPECT_EQ(forward("f(Tensor x, int n=1, *, Tensor(a!) out) -> Tensor?", kOld),
            "The results have changed.");
  EXPECT_EQ(forward("f(...) -> ()", "f() -> ()"),
            "It takes further arguments ('...') and did not.");
}

}  // namespace
}  // namespace opyard
