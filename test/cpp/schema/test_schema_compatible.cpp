// test_schema_compatible.cpp: protects callers from a schema that changed below them.
// Suspect dispatcher/src/schema/compatible.cpp.
#include <gtest/gtest.h>

#include "opyard/schema/parse.h"
#include "opyard/schema/relations.h"

namespace opyard::test_schema_compatible {
namespace {

std::string backward(const char* fresh, const char* old, Callers callers = Callers::All) {
  return why_not_backward_compatible(parse_schema(fresh), parse_schema(old), callers)
      .value_or("yes");
}

std::string forward(const char* fresh, const char* old, Callers callers = Callers::All) {
  return why_not_forward_compatible(parse_schema(fresh), parse_schema(old), callers)
      .value_or("yes");
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
  EXPECT_EQ(backward("n::f(Tensor x, int n=1, *, float p, int m=2, str s=\"\") -> Tensor", kOld),
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

// A boxed call gives keyword-only arguments by position too, and would give them to others.
TEST(SchemaCompatible, C22_ForCallsByNameAloneAndForBoxedOnes) {
  struct Row {
    const char* fresh;
    const char* old;
    const char* reason;
  };
  const Row moved[] = {
      {"f(*, int b, int a) -> int", "f(*, int a, int b) -> int",
       "Argument 'a' is at position 1 and was at 0, where boxed calls give it; calls that name it "
       "still work."},
      {"f(int n=0, *, int a) -> int", "f(*, int a) -> int",
       "Argument 'a' is at position 1 and was at 0, where boxed calls give it; calls that name it "
       "still work."},
  };
  for (const Row& row : moved) {
    EXPECT_EQ(backward(row.fresh, row.old), row.reason) << row.fresh;
    EXPECT_EQ(backward(row.fresh, row.old, Callers::ByName), "yes") << row.fresh;
  }
  const Row swapped[] = {
      {"f(*, int b, int a) -> int", "f(*, int a, int b) -> int",
       "Argument 'b' is where 'a' was, so that boxed calls are read otherwise; calls by name still "
       "work."},
      {"f(*, int b=2) -> int", "f(*, int a=1) -> int",
       "Argument 'b' is where 'a' was, so that boxed calls are read otherwise; calls by name still "
       "work."},
  };
  for (const Row& row : swapped) {
    EXPECT_EQ(forward(row.fresh, row.old), row.reason) << row.fresh;
    EXPECT_EQ(forward(row.fresh, row.old, Callers::ByName), "yes") << row.fresh;
  }
}

TEST(SchemaCompatible, C22_ForwardWhereADefaultedArgumentWasDropped) {
  EXPECT_EQ(forward("f(Tensor x) -> Tensor", "f(Tensor x, int n=1) -> Tensor"), "yes");
  EXPECT_EQ(forward("f(Tensor x, *, int q) -> Tensor", "f(Tensor x, *, int p=1, int q) -> Tensor"),
            "yes");
  EXPECT_EQ(forward("f(int m=2) -> Tensor", "f(int n=1, int m=2) -> Tensor"),
            "Argument 'n' is not as it was; only new ones may be added, behind it.")
      << "a call that gives m by position";
  EXPECT_EQ(forward("f(Tensor x) -> Tensor", "f(Tensor x, *, int n) -> Tensor"),
            "Argument 'n' is missing and had no default value.");
}

TEST(SchemaCompatible, C22_ForwardWhereAnArgumentBecameKeywordOnlyOrNoLongerIsIt) {
  EXPECT_EQ(forward("f(int n=1) -> int", "f(*, int n=1) -> int"),
            "Argument 'n' may be given by position, and was keyword-only.");
  EXPECT_EQ(forward("f(int x, int n=1, *, int m) -> int", "f(int x, *, int m, int n=1) -> int"),
            "Argument 'n' may be given by position, and was keyword-only.");
  EXPECT_EQ(forward("f(*, int n=1) -> int", "f(int n=1) -> int"), "yes");
  EXPECT_EQ(forward("f(int x, *, int n=1) -> int", "f(int x, int n=1) -> int"), "yes");
  EXPECT_EQ(forward("f(*, int n=2) -> int", "f(int n=1) -> int"),
            "Argument 'n' is not as it was; only new ones may be added, behind it.")
      << "a call that leaves it out";
  EXPECT_EQ(forward("f(*, int n) -> int", "f(int n) -> int"),
            "Argument 'n' is missing and had no default value.");
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
  EXPECT_EQ(forward("f(int n=1, *, Tensor(a!) out) -> Tensor(a!)", kOld),
            "Argument 'x' is not as it was; only new ones may be added, behind it.");
  EXPECT_EQ(forward("f(*, Tensor(a!) out) -> Tensor(a!)", kOld),
            "Argument 'x' is missing and had no default value.");
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
}  // namespace opyard::test_schema_compatible
