// test_schema_parse.cpp: protects the parser of schemas.
// Suspect dispatcher/src/schema/parse.cpp and parse_type.cpp.
#include "opyard/schema/parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../thrown_by.h"

namespace opyard::test_schema_parse {
namespace {

// The one argument of f(<text>) -> ().
Argument argument(const std::string& text) {
  Schema schema = parse_schema("f(" + text + ") -> ()");
  EXPECT_EQ(schema.arguments.size(), 1u) << text;
  return schema.arguments.at(0);
}

// The printed default value of f(<type> x=<text>) -> ().
std::string default_text(const std::string& type, const std::string& text) {
  const std::string printed = to_string(parse_schema("f(" + type + " x=" + text + ") -> ()"));
  const std::size_t begin = printed.find('=') + 1;
  return printed.substr(begin, printed.rfind(") -> ()") - begin);
}

bool refuses(const std::string& text) {
  try {
    parse_schema(text);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadSchema);
    return true;
  }
}

TEST(SchemaParse, C1_NamesHaveANamespaceAndAnOverload) {
  const Schema schema = parse_schema("  ns :: foo . ov\n(\tTensor\r\n x )->Tensor # and so on");
  EXPECT_EQ(schema.name.name, "ns::foo");
  EXPECT_EQ(schema.name.overload, "ov");
  EXPECT_EQ(schema.name.name_space(), "ns");
  EXPECT_EQ(schema.name.base_name(), "foo");
  EXPECT_EQ(to_string(schema), "ns::foo.ov(Tensor x) -> Tensor");
  const Schema bare = parse_schema("# first\nfoo(# second\n) -> ()");
  EXPECT_EQ(bare.name.name_space(), "");
  EXPECT_EQ(bare.name.base_name(), "foo");
  EXPECT_EQ(bare.name.overload, "");
  EXPECT_TRUE(refuses("a::b::foo() -> ()"));
  EXPECT_TRUE(refuses("::foo() -> ()"));
  EXPECT_TRUE(refuses("a::() -> ()"));
  EXPECT_EQ(parse_schema("aten::__and__.Tensor() -> ()").name.base_name(), "__and__");
}

TEST(SchemaParse, C2_ListsHaveAKeywordOnlyPartAndVariadicForms) {
  const Schema schema = parse_schema("f(int a, *, int b, int c=1) -> (int, Tensor x)");
  ASSERT_EQ(schema.arguments.size(), 3u);
  EXPECT_FALSE(schema.arguments[0].keyword_only);
  EXPECT_TRUE(schema.arguments[1].keyword_only);
  EXPECT_TRUE(schema.arguments[2].keyword_only);
  ASSERT_EQ(schema.results.size(), 2u);
  EXPECT_EQ(schema.results[0].name, "");
  EXPECT_EQ(schema.results[1].name, "x");
  EXPECT_TRUE(parse_schema("f() -> ()").results.empty());
  EXPECT_TRUE(parse_schema("f(int a, ...) -> ()").variadic_arguments);
  EXPECT_TRUE(parse_schema("f(...) -> (...)").variadic_results);
  EXPECT_EQ(to_string(parse_schema("f(...) -> (...)")), "f(...) -> ...");
  EXPECT_EQ(to_string(parse_schema("f(...) -> ...")), "f(...) -> ...");
  EXPECT_TRUE(refuses("f(..., int a) -> ()"));
  EXPECT_TRUE(refuses("f(int a,) -> ()"));
  EXPECT_TRUE(refuses("f() -> (int, ...)"));
  EXPECT_TRUE(refuses("f() -> (int"));
  EXPECT_TRUE(refuses("f() -> int int int"));
}

TEST(SchemaParse, C3_AnArgumentHasATypeASizeANameAndADefault) {
  const Argument sized = argument("int[3] size=[1, 2, 3]");
  EXPECT_EQ(sized.type->kind(), TypeKind::List);
  EXPECT_EQ(sized.type->size_hint(), 3);
  EXPECT_EQ(sized.name, "size");
  EXPECT_EQ(*sized.default_value, Value::list({Value(1), Value(2), Value(3)}));
  for (const char* name : {"self", "from", "in", "class", "None", "int", "Tensor", "inf", "_"}) {
    EXPECT_EQ(argument(std::string("Tensor ") + name).name, name);
  }
  EXPECT_TRUE(refuses("f(Tensor) -> ()"));
  EXPECT_TRUE(refuses("f(Tensor 1) -> ()"));
  EXPECT_TRUE(refuses("f(Tensor a-b) -> ()"));
  EXPECT_TRUE(refuses("f(Tensor x=) -> ()"));
  EXPECT_TRUE(refuses("f(int[0] x) -> ()"));
}

TEST(SchemaParse, C4_BaseTypesAreKnownByTheirNames) {
#define OPYARD_BASE_TYPE(kind_name, text, ...)                      \
  EXPECT_EQ(argument(text " x").type->kind(), TypeKind::kind_name); \
  EXPECT_EQ(to_string(*argument(text " x").type), text);
#include "opyard/schema/types.def"
#undef OPYARD_BASE_TYPE
  for (const char* name :
       {"Tensor",   "int",          "float",   "bool",    "complex",    "str",    "Scalar",
        "number",   "SymInt",       "SymBool", "Device",  "SymFloat",   "Layout", "ScalarType",
        "QScheme",  "MemoryFormat", "Dimname", "Storage", "Generator",  "Stream", "DeviceIndex",
        "NoneType", "AnyClassType", "Any",     "Capsule", "AnyEnumType"}) {
    const Argument found = argument(std::string(name) + " x");
    EXPECT_EQ(to_string(*found.type), name == std::string_view("number") ? "Scalar" : name);
  }
  EXPECT_EQ(runtime_text(*argument("Scalar x").type), "number");
  EXPECT_EQ(runtime_text(*argument("number x").type), "number");
  EXPECT_EQ(runtime_text(*argument("Dimname x").type), "str");
  EXPECT_EQ(runtime_text(*argument("DeviceIndex x").type), "int");
  for (const char* variable : {"t", "t1", "tVal"}) {
    const Argument found = argument(std::string(variable) + " x");
    EXPECT_EQ(found.type->kind(), TypeKind::Variable);
    EXPECT_EQ(found.type->name(), variable);
  }
  EXPECT_TRUE(refuses("f(tensor x) -> ()")) << "a misspelt Tensor is no type variable";
  EXPECT_TRUE(refuses("f(u x) -> ()"));
  EXPECT_TRUE(refuses("f(T x) -> ()"));
  EXPECT_TRUE(refuses("f(__torch__.torch.classes.a.B x) -> ()"));
}

TEST(SchemaParse, C5_CompoundTypesNestAndPrintAsGiven) {
  const char* const types[] = {
      "int[]",
      "int[3]",
      "int[][]",
      "int[2][3]",
      "Tensor?",
      "Tensor?[]",
      "Tensor[]?",
      "Tensor?[]?",
      "int[1]?",
      "(int, Tensor)",
      "(int)",
      "(int, (t, str))",
      "(int, str)[]",
      "Dict(str, (int, Tensor)[])",
      "Future(int[])",
      "RRef(t)",
      "Union(int, str)",
      "Union(Tensor, int)[]?",
      "Dict(int, Dict(str, float?))",
  };
  for (const char* type : types) {
    EXPECT_EQ(to_string(*argument(std::string(type) + " x").type), type);
  }
  const Argument nested = argument("Tensor?[]? x");
  EXPECT_EQ(nested.type->kind(), TypeKind::Optional);
  EXPECT_EQ(nested.type->element().kind(), TypeKind::List);
  EXPECT_EQ(nested.type->element().element().kind(), TypeKind::Optional);
  EXPECT_EQ(to_string(*argument("Union(str, int, Tensor) x").type), "Union(Tensor, int, str)");
  EXPECT_EQ(to_string(*argument("Union(str, Union(int, str)) x").type), "Union(int, str)");
  for (const char* wrong : {"int??", "()", "Dict(int)", "Dict(int, int, int)", "Future(int, int)",
                            "Union(int)", "Union(int, int)", "Dict", "Future()", "int[", "int[-1]",
                            "int[1.5]", "int[x]", "int[2147483648]", "Union(Tensor(a), int)"}) {
    EXPECT_TRUE(refuses("f(" + std::string(wrong) + " x) -> ()")) << wrong;
  }
}

TEST(SchemaParse, C6_TypesThatAreIntAtRunTimeKeepTheirNameInPrint) {
  for (const char* type : {"ScalarType", "Layout", "MemoryFormat", "QScheme", "SymInt"}) {
    const Argument found = argument(std::string(type) + " d");
    EXPECT_EQ(to_string(*found.type), type);
    EXPECT_EQ(runtime_text(*found.type), "int");
    EXPECT_EQ(runtime_type(*found.type)->kind(), TypeKind::Int);
  }
  EXPECT_EQ(runtime_text(*argument("SymInt[2]? x").type), "int[]?");
  EXPECT_EQ(runtime_text(*argument("Dimname[] x").type), "str[]");
  EXPECT_EQ(runtime_text(*argument("Scalar x").type), "number");
  EXPECT_EQ(runtime_text(*argument("Union(int, SymInt) x").type), "int");
  EXPECT_EQ(to_string(parse_schema("f(ScalarType d, ScalarType? e) -> ()")),
            "f(ScalarType d, ScalarType? e) -> ()");
}

TEST(SchemaParse, C6_SymbolicTypesArePlainUnlessTheKernelTakesThem) {
  const Schema schema =
      parse_schema("f(SymInt[2] s, SymBool? b, (SymFloat, Layout) p, Tensor(a!) x) -> SymInt[]");
  EXPECT_EQ(to_string(with_runtime_types(schema)),
            "f(int[] s, bool? b, (float, int) p, Tensor(a!) x) -> int[]");
  EXPECT_EQ(to_string(with_runtime_types(schema, Symbolic::AsSymbolic)),
            "f(SymInt[] s, SymBool? b, (SymFloat, int) p, Tensor(a!) x) -> SymInt[]");
}

TEST(SchemaParse, C7_AliasSetsBelongToTheTypeTheyStandBehind) {
  const AliasInfo read = *argument("Tensor(a) x").alias;
  EXPECT_EQ(read, (AliasInfo{false, {"a"}, {"a"}, {}}));
  const AliasInfo write = *argument("Tensor(a!) x").alias;
  EXPECT_EQ(write, (AliasInfo{true, {"a"}, {"a"}, {}}));
  EXPECT_EQ(*argument("Tensor(a!)? x").alias, write);
  EXPECT_EQ(*argument("Tensor(b|a) x").alias, (AliasInfo{false, {"b", "a"}, {"b", "a"}, {}}));
  EXPECT_EQ(*argument("Tensor(a -> *) x").alias, (AliasInfo{false, {"a"}, {"*"}, {}}));
  EXPECT_EQ(*argument("Tensor(*) x").alias, (AliasInfo{false, {"*"}, {"*"}, {}}));
  EXPECT_EQ(*argument("Tensor(a! -> b|c) x").alias, (AliasInfo{true, {"a"}, {"b", "c"}, {}}));
  EXPECT_EQ(*argument("Tensor(a!)[] x").alias, (AliasInfo{false, {}, {}, {write}}));
  EXPECT_EQ(*argument("Tensor[](a!) x").alias, write);
  EXPECT_EQ(*argument("Tensor(a)[](a!) x").alias, (AliasInfo{true, {"a"}, {"a"}, {read}}));
  EXPECT_EQ(*argument("(Tensor(a), int) x").alias, (AliasInfo{false, {}, {}, {read, AliasInfo{}}}));
  EXPECT_FALSE(argument("Tensor x").alias.has_value());
  for (const char* wrong : {"Tensor()", "Tensor(a", "Tensor(!)", "Tensor(a|)", "Tensor(a ->)",
                            "Tensor(a|a)", "Tensor(a)(b)", "Tensor?(a)", "Tensor(a -> b!)"}) {
    EXPECT_TRUE(refuses("f(" + std::string(wrong) + " x) -> ()")) << wrong;
  }
}

TEST(SchemaParse, C7_EveryBareWriteMarkIsASetOfItsOwn) {
  const Schema schema = parse_schema("f(Tensor! x, Tensor!? y, Tensor![] z) -> Tensor!");
  EXPECT_EQ(*schema.arguments[0].alias, (AliasInfo{true, {"$0"}, {"$0"}, {}}));
  EXPECT_EQ(*schema.arguments[1].alias, (AliasInfo{true, {"$1"}, {"$1"}, {}}));
  EXPECT_EQ(schema.arguments[2].alias->contained.at(0).before.at(0), "$2");
  EXPECT_EQ(schema.results[0].alias->before.at(0), "$3");
  EXPECT_TRUE(schema.is_mutable());
  EXPECT_EQ(to_string(schema), "f(Tensor! x, Tensor!? y, Tensor![] z) -> Tensor!");
}

TEST(SchemaParse, C11_DefaultValuesAreReadByTheTypeOfTheirArgument) {
  EXPECT_EQ(*argument("int x=-7").default_value, Value(-7));
  EXPECT_EQ(*argument("float x=-7").default_value, Value(-7.0));
  EXPECT_EQ(*argument("Scalar x=1").default_value, Value(1));
  EXPECT_EQ(*argument("Scalar x=1.").default_value, Value(1.0));
  EXPECT_EQ(*argument("Scalar x=True").default_value, Value(true));
  EXPECT_EQ(*argument("float x=1.5e-3").default_value, Value(1.5e-3));
  EXPECT_EQ(*argument("float x=.5").default_value, Value(0.5));
  EXPECT_EQ(*argument("float x=123456789012345678901234567890").default_value,
            Value(123456789012345678901234567890.0));
  EXPECT_EQ(*argument("bool x=False").default_value, Value(false));
  EXPECT_EQ(*argument("Tensor? x=None").default_value, Value());
  EXPECT_EQ(*argument("float? x=2").default_value, Value(2.0));
  EXPECT_EQ(*argument("int[] x=[]").default_value, Value::list({}));
  EXPECT_EQ(*argument("float[] x=[1, 2.5]").default_value, Value::list({Value(1.0), Value(2.5)}));
  EXPECT_EQ(*argument("int[][] x=[[1], []]").default_value,
            Value::list({Value::list({Value(1)}), Value::list({})}));
  EXPECT_EQ(*argument("Device x=cpu").default_value, Value(Device{}));
  EXPECT_EQ(*argument("Device? x=\"cuda:1\"").default_value, Value(Device{Backend::CUDA, 1}));
  EXPECT_EQ(*argument("Any x=\"a\"").default_value, Value("a"));
  EXPECT_EQ(*argument("Union(int, str) x=\"a\"").default_value, Value("a"));
  EXPECT_EQ(*argument("Union(str, float) x=3").default_value, Value(3.0));
  EXPECT_EQ(*argument("int x=9223372036854775807").default_value,
            Value(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(*argument("int x=-9223372036854775808").default_value,
            Value(std::numeric_limits<std::int64_t>::min()));
}

TEST(SchemaParse, C11_ComplexNumbersMayBeSums) {
  using Complex = std::complex<double>;
  EXPECT_EQ(*argument("complex x=1j").default_value, Value(Complex(0, 1)));
  EXPECT_EQ(*argument("complex x=-2.5j").default_value, Value(Complex(0, -2.5)));
  EXPECT_EQ(*argument("complex x=1+2j").default_value, Value(Complex(1, 2)));
  EXPECT_EQ(*argument("complex x=-1.5-1e-3j").default_value, Value(Complex(-1.5, -1e-3)));
  EXPECT_EQ(*argument("complex x=1e+2-3e-4j").default_value, Value(Complex(1e2, -3e-4)));
  EXPECT_EQ(*argument("complex x=3").default_value, Value(Complex(3, 0)));
  EXPECT_EQ(*argument("complex? x=None").default_value, Value());
  EXPECT_EQ(*argument("complex[2] x=1j").default_value,
            Value::list({Value(Complex(0, 1)), Value(Complex(0, 1))}));
  EXPECT_EQ(*argument("complex[] x=[1, 2j]").default_value,
            Value::list({Value(Complex(1, 0)), Value(Complex(0, 2))}));
  EXPECT_EQ(*argument("Scalar x=2-1j").default_value, Value(Complex(2, -1)));
  EXPECT_EQ(*argument("Any x=1j").default_value, Value(Complex(0, 1)));
  EXPECT_TRUE(refuses("f(float x=1j) -> ()"));
  EXPECT_TRUE(refuses("f(int x=1+2j) -> ()"));
  EXPECT_TRUE(refuses("f(complex x=1j+2) -> ()"));
  EXPECT_TRUE(refuses("f(complex x=1+-2j) -> ()"));
  EXPECT_TRUE(refuses("f(complex x=1+j) -> ()"));
  EXPECT_TRUE(refuses("f(complex x=1+.j) -> ()"));
  EXPECT_TRUE(refuses("f(complex x=1+2j3) -> ()"));
  EXPECT_TRUE(refuses("f(complex x=True) -> ()"));
}

TEST(SchemaParse, C11_SymbolicDefaultsBecomeTheirNumbers) {
  EXPECT_EQ(default_text("ScalarType", "float"), "6");
  EXPECT_EQ(default_text("ScalarType?", "long"), "4");
  EXPECT_EQ(default_text("ScalarType", "int64"), "4");
  EXPECT_EQ(default_text("ScalarType", "bool"), "11");
  EXPECT_EQ(default_text("ScalarType", "6"), "6");
  EXPECT_EQ(default_text("Layout", "strided"), "0");
  EXPECT_EQ(default_text("MemoryFormat", "contiguous_format"), "0");
  EXPECT_EQ(default_text("MemoryFormat?", "preserve_format"), "1");
  EXPECT_EQ(default_text("int", "Mean"), "1");
  EXPECT_TRUE(refuses("f(int x=strided) -> ()"));
  EXPECT_TRUE(refuses("f(Layout x=float) -> ()"));
}

TEST(SchemaParse, C11_EveryNameOfANumberStandsForItsOwn) {
  constexpr std::pair<const char*, DType> kDTypes[] = {
      {"byte", DType::UInt8},          {"char", DType::Int8},
      {"short", DType::Int16},         {"int", DType::Int32},
      {"long", DType::Int64},          {"half", DType::Half},
      {"float", DType::Float32},       {"double", DType::Float64},
      {"cfloat", DType::ComplexFloat}, {"cdouble", DType::ComplexDouble},
  };
  for (const auto& [name, dtype] : kDTypes) {
    EXPECT_EQ(default_text("ScalarType", name), std::to_string(int(dtype))) << name;
  }
  constexpr std::pair<const char*, Layout> kLayouts[] = {
      {"strided", Layout::Strided}, {"sparse", Layout::Sparse}, {"sparse_coo", Layout::Sparse}};
  for (const auto& [name, layout] : kLayouts) {
    EXPECT_EQ(default_text("Layout", name), std::to_string(int(layout))) << name;
  }
  constexpr std::pair<const char*, MemoryFormat> kFormats[] = {
      {"contiguous_format", MemoryFormat::Contiguous},
      {"preserve_format", MemoryFormat::Preserve},
      {"channels_last", MemoryFormat::ChannelsLast},
      {"channels_last_3d", MemoryFormat::ChannelsLast3d}};
  for (const auto& [name, format] : kFormats) {
    EXPECT_EQ(default_text("MemoryFormat", name), std::to_string(int(format))) << name;
  }
  EXPECT_EQ(default_text("SymInt", "Sum"), "2");
}

TEST(SchemaParse, C11_TextsHaveEscapes) {
  EXPECT_EQ(argument(R"(str x="a\"b\\c\n\t\r\'\x41é")").default_value->to_string_view(),
            "a\"b\\c\n\t\r'Aé");
  EXPECT_EQ(argument(R"(str x="\x4a\x4A")").default_value->to_string_view(), "JJ");
  EXPECT_EQ(argument(R"(str x="\x00.\x7f")").default_value->to_string_view(),
            std::string_view("\0.\x7f", 3));
  EXPECT_EQ(argument("str x=\"# no comment\"").default_value->to_string_view(), "# no comment");
  for (const char* wrong :
       {R"("\q")", R"("\x4")", R"("\xff")", R"("\x80")", R"("\x4g")", "\"", R"("\")", "\"a\nb\""}) {
    EXPECT_TRUE(refuses("f(str x=" + std::string(wrong) + ") -> ()")) << wrong;
  }
}

TEST(SchemaParse, C12_OneNumberFillsASizedListAndNoOther) {
  EXPECT_EQ(default_text("int[3]", "1"), "[1, 1, 1]");
  EXPECT_EQ(default_text("float[2]", "1"), "[1., 1.]");
  EXPECT_EQ(default_text("bool[2]", "True"), "[True, True]");
  EXPECT_EQ(default_text("SymInt[1]?", "5"), "[5]");
  EXPECT_EQ(default_text("int[2]", "[]"), "[]") << "a size hint does not bind a list";
  EXPECT_TRUE(refuses("f(int[] x=1) -> ()"));
  EXPECT_TRUE(refuses("f(int[256] x=1) -> ()")) << "past the limit";
  EXPECT_TRUE(refuses("f(int[9][9] x=1) -> ()"));
  EXPECT_TRUE(refuses("f(int[2] x=1.5) -> ()"));
  EXPECT_TRUE(refuses("f(Tensor?[2] x=None) -> ()"));
}

TEST(SchemaParse, C13_ListsOfTextsBoolsAndTensorsHaveDefaults) {
  EXPECT_EQ(default_text("str[]", "[\"a\", \"b c\"]"), "[\"a\", \"b c\"]");
  EXPECT_EQ(default_text("str[]", "[]"), "[]");
  EXPECT_EQ(default_text("bool[]", "[True, False]"), "[True, False]");
  EXPECT_EQ(default_text("Tensor[]", "[]"), "[]");
  EXPECT_EQ(default_text("Tensor?[]", "[None, None]"), "[None, None]");
  EXPECT_TRUE(refuses("f(Tensor[] x=[None]) -> ()"));
  EXPECT_TRUE(refuses("f(str[] x=[1]) -> ()"));
}

TEST(SchemaParse, C14_FloatsMayBeInfiniteOrNotANumber) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(*argument("float x=inf").default_value, Value(infinity));
  EXPECT_EQ(*argument("float x=-inf").default_value, Value(-infinity));
  EXPECT_TRUE(std::isnan(argument("float x=nan").default_value->to_double()));
  EXPECT_EQ(default_text("float", "inf"), "inf");
  EXPECT_EQ(default_text("float?", "-inf"), "-inf");
  EXPECT_EQ(default_text("Scalar", "nan"), "nan");
  EXPECT_EQ(default_text("float[]", "[inf, -inf, nan]"), "[inf, -inf, nan]");
  EXPECT_EQ(parse_schema("f(float x=nan) -> ()"), parse_schema("f(float x=nan) -> ()"));
  EXPECT_TRUE(refuses("f(int x=inf) -> ()"));
  EXPECT_TRUE(refuses("f(float x=-nan) -> ()"));
}

}  // namespace
}  // namespace opyard::test_schema_parse
