// test_schema_corpus.cpp: protects the schemas that people have already written.
// Suspect dispatcher/src/schema/parse.cpp and print.cpp.
//
// The first table is accepted and printed as given, the second refused with the sentence that
// is beside each text.
#include <gtest/gtest.h>

#include "../thrown_by.h"
#include "opyard/schema/parse.h"

namespace opyard::test_schema_corpus {
namespace {

constexpr const char* kAccepted[] = {
    "foo(Tensor x) -> Tensor",
    "ns::foo.ov(Tensor x) -> Tensor",
    "foo(Tensor(a!) x) -> Tensor(a!)",
    "foo(...) -> ...",
    "foo(Tensor x, ...) -> Tensor",
    "foo(*, int x) -> int",
    "foo(Tensor?[] x) -> Tensor",
    "foo(Dict(str, int) d) -> Dict(int, Tensor)",
    "foo((int, Tensor) t) -> (int, (Tensor, float))",
    "foo(t[] x, t el) -> t[]",
    "foo(Future(t) x) -> Future(Tensor)",
    "foo(Any a, AnyEnumType e) -> Any",
    "foo(SymInt s, SymInt[] t) -> SymInt",
    "foo(int[][] x) -> int[]",
    "foo(Tensor(a!)[] x) -> ()",
    "foo(Tensor[](a!) x) -> ()",
    "foo(Tensor(a!)? x=None) -> ()",
    "foo(Tensor x) -> Tensor extra",
    "foo(Await(Tensor) x) -> ()",  // only the oldest of those who have this language refuse it
};

struct Refused {
  const char* text;
  const char* message;
};

constexpr const char kCommon[] =
    "; common types are Tensor, int, float, bool, str, Scalar, SymInt, Device, ScalarType, and "
    "T[] or T? of them; opyard/schema/types.def lists all";

constexpr Refused kRefused[] = {
    {"foo(Tensor x", "1:13: expected ',' or ')' but found the end"},
    {"foo(Tensor x) -> ", "1:18: expected a type but found the end"},
    {"foo Tensor", "1:5: expected '(' but found 'Tensor'"},
    {"foo(Foo x) -> Tensor", "1:5: unknown type 'Foo'"},
    {"foo(int[] x=1) -> int",
     "1:13: default value 1 does not fit type 'int[]'; write a list in brackets, each element a "
     "whole number such as 1; one value alone fills a list only where the type gives its size, "
     "as in int[3]"},
    {"foo.a.b(Tensor x) -> Tensor", "1:6: expected '(' but found '.'"},
    {"foo.default(Tensor x) -> Tensor", "1:5: default is not a legal overload name"},
    {"foo.(Tensor x) -> Tensor", "1:5: expected an overload name after '.' but found '('"},
    {"foo.__init__(Tensor x) -> Tensor", "1:5: __init__ is not a legal overload name"},
    {"1foo(Tensor x) -> Tensor", "1:1: '1foo' is neither a number nor a name"},
    {"a::b::foo(Tensor x) -> Tensor",
     "1:5: found a second '::'; an operator name has one namespace"},
    {"foo(Enum x) -> ()", "1:5: unknown type 'Enum'"},
    {"foo(__torch__.torch.classes.a.B x) -> ()",
     "1:5: Unknown custom class type a.B. Please ensure it is registered."},
};

TEST(SchemaCorpus, C30_EachTextIsAcceptedAndPrintedOrRefusedWithItsReason) {
  for (const char* text : kAccepted) {
    SCOPED_TRACE(text);
    Schema schema;
    ASSERT_NO_THROW(schema = parse_schema(text));
    EXPECT_EQ(to_string(schema), text);
  }
  for (const auto& [text, message] : kRefused) {
    SCOPED_TRACE(text);
    const Thrown thrown = thrown_by([&] { parse_schema(text); });
    EXPECT_EQ(thrown.kind, ErrorKind::BadSchema);
    const std::string line = thrown.text.substr(0, thrown.text.find('\n'));
    const bool unknown = line.find("unknown type") != std::string::npos;
    EXPECT_EQ(line, std::string(message) + (unknown ? kCommon : ""));
    EXPECT_NE(thrown.text.find(std::string("\n") + text + "\n"), std::string::npos)
        << "the source line is below the message";
  }
}

}  // namespace
}  // namespace opyard::test_schema_corpus
