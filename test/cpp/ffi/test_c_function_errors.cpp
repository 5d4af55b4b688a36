// test_c_function_errors.cpp: protects the errors for schemas without a C signature, of libraries
// and symbols that are not there, and of functions that fail or leave what cannot be taken.
// Suspect dispatcher/src/ffi/c_signature.cpp and c_library.cpp.
#include <gtest/gtest.h>

#include <fstream>

#include "../thrown_by.h"
#include "c_functions.h"
#include "opyard/inspect/inspect.h"

namespace opyard::test_c_function_errors {
namespace {

std::string refusal(const std::string& schema, CForm form = CForm::Standard) {
  const ServedByC op(schema);
  const Thrown thrown = thrown_by([&] { c_prototype(op.op(), form); });
  EXPECT_EQ(thrown.kind, ErrorKind::Unsupported);
  const std::string declaration = ".\nDeclaration: t::" + schema;
  const std::size_t end = thrown.text.find(declaration);
  EXPECT_EQ(end + declaration.size(), thrown.text.size()) << thrown.text;
  return thrown.text.substr(0, end);
}

TEST(CFunctionErrors, ASchemaWithoutACSignatureSaysWhichArgumentAndWhatToDo) {
  EXPECT_EQ(
      refusal("f(Tensor x, Scalar n) -> Tensor"),
      "t::f has no C signature: argument 'n' at position 1 is of type Scalar, and a number of any "
      "kind has no fixed C type; take int, float, bool or complex");
  constexpr const char* kNone =
      ", and no C type stands for it; take its parts as arguments, or register a C++ or Python "
      "kernel";
  for (const std::string type : {"Generator", "Storage", "Stream", "Any", "Dict(str, int)",
                                 "(int, int)", "int[][]", "Union(int, str)", "t", "Capsule[]"}) {
    const std::string printed =
        to_string(*parse_schema("f(" + type + " x) -> ()").arguments[0].type);
    EXPECT_EQ(refusal("f(" + printed + " x) -> ()"),
              "t::f has no C signature: argument 'x' at position 0 is of type " + printed + kNone);
  }
  EXPECT_EQ(
      refusal("f(int?[] x) -> ()"),
      "t::f has no C signature: argument 'x' at position 0 is of type int?[], and a list of "
      "numbers is in C without gaps and has no room for None; take a list of numbers and one of "
      "bool");
  EXPECT_EQ(
      refusal("f(int[](a!) x) -> ()"),
      "t::f has no C signature: argument 'x' at position 0 is of type int[], and C functions write "
      "to tensors only; return the new value as a result");
  EXPECT_EQ(
      refusal("f(Tensor[](a!) x) -> ()"),
      "t::f has no C signature: argument 'x' at position 0 is of type Tensor[], and C functions "
      "cannot change the length of a list; write to its tensors, as in Tensor(a!)[]");
  EXPECT_EQ(
      refusal("f(int n, ...) -> ()"),
      "t::f has no C signature: it takes or gives any number of values, and a C function a fixed "
      "one");
}

TEST(CFunctionErrors, AResultWithoutACTypeSaysWhichAndWhatToDo) {
  EXPECT_EQ(
      refusal("f(Tensor(a) x) -> Tensor(a)"),
      "t::f has no C signature: result 0 is of type Tensor, and it is a view of an argument, whose "
      "memory a C function cannot keep; return a tensor of its own, or the argument that is "
      "written to, as in (Tensor(a!) x) -> Tensor(a!)");
  EXPECT_EQ(refusal("f(Tensor x) -> (int, Tensor[])"),
            "t::f has no C signature: result 1 is of type Tensor[], and lists come back from C of "
            "numbers only; make each element a result of its own");
  EXPECT_EQ(
      refusal("f() -> int[]?"),
      "t::f has no C signature: result 0 is of type int[]?, and a null pointer is the empty list "
      "here, so None cannot come back; return a bool beside the list");
  EXPECT_EQ(
      refusal("f() -> int?"),
      "t::f has no C signature: result 0 is of type int?, and a number that may be missing cannot "
      "come back from C; return a bool beside it");
  EXPECT_EQ(refusal("f() -> Capsule"),
            "t::f has no C signature: result 0 is of type Capsule, and no one would know whose the "
            "pointer is and how it is given back; take it as an argument");
}

TEST(CFunctionErrors, AComparatorTakesTwoNumbersOfOneType) {
  for (const char* schema :
       {"f(int a, float b) -> int", "f(int a) -> int", "f(int a, int b) -> bool",
        "f(Tensor a, Tensor b) -> int", "f(int? a, int? b) -> int"}) {
    EXPECT_EQ(
        refusal(schema, CForm::Comparator),
        "t::f has no C signature of the form Comparator: a comparator takes two numbers of one "
        "type and returns an int, as in (float a, float b) -> int");
  }
}

TEST(CFunctionErrors, WhatIsNotThereIsNamedAndNothingIsRegistered) {
  ServedByC op("f(int n) -> int");
  const auto impl = [&](const std::string& name, const std::string& file,
                        const std::string& symbol) { impl_c(op.library(), name, file, symbol); };
  EXPECT_THROWN(
      impl("g", c_functions(), "c_nothing"), NotFound,
      "impl_c(\"g\"): t::g is not defined, and a C function is called as its schema says; "
      "define it first");
  EXPECT_THROWN(impl("f", "/no/such/file.so", "c_nothing"), BadPlugin,
                "t::f: cannot load /no/such/file.so: No such file or directory");
  EXPECT_THROWN(impl("f", "", "c_nothing"), BadPlugin,
                "t::f: a shared library is opened by its path or name, and an empty text is none");
  EXPECT_THROWN(
      impl("f", std::string("a\0b", 3), "c_nothing"), BadPlugin,
      "t::f: a shared library is opened by its path or name, and a text with a zero byte in it "
      "is none");
  EXPECT_THROWN(
      impl("f", "libm.so.6", "cosinus"), NotFound,
      "t::f: libm.so.6 has no function \"cosinus\"; nm -D lists what a shared library offers");
  EXPECT_THROWN(impl("f", "libm.so.6", ""), NotFound,
                "t::f: libm.so.6 has no function \"\"; nm -D lists what a shared library offers");
  const std::string file = c_functions();
  EXPECT_THROWN(impl("f", file, "c_counter"), NotFound,
                "t::f: \"c_counter\" of " + file + " is data, and a kernel is a function");
  EXPECT_THROWN(impl("f", file, "c_table"), NotFound,
                "t::f: \"c_table\" of " + file + " is data, and a kernel is a function");
  EXPECT_THROWN(c_kernel(op.op(), nullptr, "f of nothing"), BadArgument,
                "t::f: the C function f of nothing has a null address");
  EXPECT_FALSE(inspect::has_kernel(op.op().name()));

  ServedByC without("without(Scalar n) -> int");
  EXPECT_THROW(without.serve("c_nothing"), Error);
  EXPECT_FALSE(inspect::has_kernel(without.op().name()));
}

TEST(CFunctionErrors, AFileThatIsCutShortIsRefused) {
  const std::string file = testing::TempDir() + "cut_short.so";
  {
    std::ifstream whole(c_functions(), std::ios::binary);
    std::string bytes(1024, '\0');
    whole.read(bytes.data(), 1024);
    std::ofstream(file, std::ios::binary) << bytes;
  }
  ServedByC op("f(int n) -> int");
  const Thrown thrown = thrown_by([&] { impl_c(op.library(), "f", file, "c_nothing"); });
  EXPECT_EQ(thrown.kind, ErrorKind::BadPlugin);
  EXPECT_EQ(thrown.text.rfind("t::f: cannot load " + file + ": the file is cut short; ", 0), 0u)
      << thrown.text;
}

TEST(CFunctionErrors, AnotherSchemaOfTheNameDoesNotReachTheFunction) {
  Library definitions(LibraryKind::Fragment, "t");
  Library kernels(LibraryKind::Impl, "t");
  definitions.def("changes(int a, int b) -> int");
  impl_c(kernels, "changes", c_functions(), "c_add");
  definitions.reset();
  definitions.def("changes(str a) -> int");
  EXPECT_THROWN(
      call_boxed(require_operator("t::changes"), {Value("text")}), BadSignature,
      "t::changes: the C function c_add of test_c_functions.so was registered for another "
      "schema and cannot serve this one; register it anew.\n"
      "  registered for: t::changes(int a, int b) -> int\n"
      "  called as:      t::changes(str a) -> int");
}

TEST(CFunctionErrors, ArgumentsThatHaveNoFormInCAreNamed) {
  const ServedByC length("length(str text) -> int", "c_length");
  EXPECT_THROWN(
      length.call(std::string_view("a\0b", 3)), BadValue,
      "t::length: argument 'text' at position 0: the text has a zero byte at position 1, where "
      "it would end in C; take the zero byte out");
  const ServedByC sum("sum(Tensor x) -> float", "c_sum");
  EXPECT_THROWN(
      sum.call(Tensor()), BadArgument,
      "t::sum: argument 'x' at position 0: the tensor is undefined, and a C function is given "
      "one that is there; write Tensor? in the schema to give it a null pointer");
  const std::int64_t size = 2;
  EXPECT_THROWN(sum.call(Tensor::empty({&size, 1}, DType::Float64, Device{Backend::Meta})),
                Unsupported,
                "t::sum: argument 'x' at position 0: float64[2] is on meta and cannot be handed to "
                "another library; only memory of the cpu is exchanged");
  const ServedByC scale("scale_(Tensor(a!) x, float factor) -> Tensor(a!)", "c_scale");
  double constant[2] = {1, 2};
  const std::int64_t stride = 1;
  const Tensor read_only =
      Tensor::adopt(constant, {&size, 1}, {&stride, 1}, DType::Float64, {}, nullptr, nullptr, true);
  const Thrown thrown = thrown_by([&] { scale.call(read_only, 2.0); });
  EXPECT_EQ(thrown.kind, ErrorKind::BadValue);
  EXPECT_EQ(thrown.text.rfind("t::scale_: argument 'x' at position 0: ", 0), 0u) << thrown.text;
  EXPECT_EQ(constant[1], 2.0);
}

TEST(CFunctionErrors, AStatusIsTheErrorOfItsKind) {
  const ServedByC op("status(int status) -> (int, int)", "c_status");
  EXPECT_EQ(op.call(0).size(), 2u);
  EXPECT_THROWN(op.call(5), BadValue,
                "t::status: the C function c_status of test_c_functions.so failed with status 5 "
                "(BadValue) and left no text");
  const std::string behind_the_last = std::to_string(OPYARD_STATUS_COUNT);
  for (const char* status : {behind_the_last.c_str(), "77", "-1"}) {
    EXPECT_THROWN(
        op.call(std::atoi(status)), BadReturn,
        std::string("t::status: the C function c_status of test_c_functions.so returned ") +
            status +
            ", which is no status. A function of this schema returns an int: 0 for success, or "
            "1 to 22 as in opyard/ffi/c_error.h; one that returns nothing is registered with "
            "the form Void");
  }
  const ServedByC divide("divide(int a, int b) -> (int quotient, int remainder, bool exact)",
                         "c_divide");
  EXPECT_THROWN(divide.call(1, 0), BadValue,
                "division by zero\nin t::divide, served by the C function c_divide of "
                "test_c_functions.so");
  const ServedByC root("root(float x) -> float", "c_root");
  EXPECT_THROWN(root.call(-1.0), BadValue,
                "root of a negative number\nin t::root, served by the C function c_root of "
                "test_c_functions.so");
}

TEST(CFunctionErrors, AResultThatCannotBeTakenIsNamedAndNothingLeaks) {
  const auto alive = c_symbol<std::int64_t()>("c_tensors_alive");
  const ServedByC bad("bad(int how) -> (Tensor, Tensor)", "c_bad_tensor");
  constexpr const char* kLeft =
      "t::bad: result 1: the C function c_bad_tensor of test_c_functions.so left ";
  EXPECT_THROWN(bad.call(0), BadReturn,
                kLeft + std::string("a null pointer, but the schema says Tensor"));
  EXPECT_THROWN(bad.call(1), BadShape,
                kLeft + std::string("what cannot be taken: a foreign array claims -1 dimensions; "
                                    "accepted are 0 to 64"));
  for (const auto& [how, kind] : {std::pair{2, ErrorKind::Unsupported},
                                  {3, ErrorKind::Unsupported},
                                  {4, ErrorKind::BadValue}}) {
    const Thrown thrown = thrown_by([&, how = how] { bad.call(how); });
    EXPECT_EQ(thrown.kind, kind);
    EXPECT_EQ(thrown.text.rfind(kLeft + std::string("what cannot be taken: "), 0), 0u)
        << thrown.text;
  }
  EXPECT_EQ(alive(), 0);
  EXPECT_EQ(bad.call(5).size(), 2u);
  EXPECT_EQ(alive(), 0);

  const ServedByC list("list(int size) -> int[]", "c_null_list");
  for (const int size : {1, 3}) {
    EXPECT_THROWN(list.call(size), BadReturn,
                  "t::list: result 0: the C function c_null_list of test_c_functions.so left a "
                  "null pointer as a list of length " +
                      std::to_string(size) + ", but the schema says int[]");
  }
  EXPECT_TRUE(list.call(0)[0].to_list().empty());
  EXPECT_THROWN(
      ServedByC("range(int size) -> int[]", "c_range").call(-2), BadReturn,
      "t::range: result 0: the C function c_range of test_c_functions.so left a list of length "
      "-2, but the schema says int[]");
  EXPECT_THROWN(ServedByC("text() -> str", "c_null_text").call(), BadReturn,
                "t::text: result 0: the C function c_null_text of test_c_functions.so left a null "
                "pointer, but the schema says str");
  EXPECT_EQ(ServedByC("maybe() -> str?", "c_null_text").call()[0], Value());
}

// Functions with C signatures that were written in C++ may throw, on every way they are called.
double throw_number(double) { throw 42; }
int throw_error(const dlpack::DLTensor*) { fail(ErrorKind::BadIndex, "from below"); }
double throw_past_many(double, double, double, double, double, double, double, double, double,
                       double, double, double, double, double, double, double, double) {
  throw std::runtime_error("from far below");
}

TEST(CFunctionErrors, AnExceptionOfACxxFunctionPassesThrough) {
  const auto serve = [](ServedByC& op, auto* function) {
    op.library().impl(to_string(op.op().name()),
                      c_kernel(op.op(), reinterpret_cast<const void*>(function), "f"));
  };
  opyard_set_error(OPYARD_ERROR_BadShape, "from before");
  ServedByC number("number(float x) -> float");
  serve(number, &throw_number);
  EXPECT_THROW(number.call(1.0), int);
  ServedByC error("error(Tensor x) -> ()");
  serve(error, &throw_error);
  EXPECT_THROWN(error.call(doubles({1})), BadIndex, "from below");
  std::string schema = "many(float a";
  for (int i = 0; i < 16; ++i) schema += ", float a" + std::to_string(i);
  ServedByC many(schema + ") -> float");  // through libffi
  serve(many, &throw_past_many);
  EXPECT_THROW(call_boxed(many.op(), std::vector<Value>(17, Value(1.0))), std::runtime_error);
  EXPECT_STREQ(opyard_last_error(), "from before");
  opyard_clear_error();
}

}  // namespace
}  // namespace opyard::test_c_function_errors
