// test_c_function.cpp: protects C functions as kernels, registered from the schema alone.
// Suspect dispatcher/src/ffi/c_kernel.cpp and c_signature.cpp.
#include <gtest/gtest.h>

#include <thread>

#include "c_functions.h"
#include "opyard/inspect/inspect.h"

namespace opyard::test_c_function {
namespace {

using K = DispatchKey;

Value ints(std::initializer_list<int> numbers) {
  std::vector<Value> items;
  for (const int number : numbers) items.emplace_back(number);
  return Value::list(std::move(items));
}

TEST(CFunction, AFunctionOfTheSystemServesAnOperator) {
  Library library(LibraryKind::Fragment, "t");
  library.def("cosine(float x) -> float");
  impl_c(library, "cosine", "libm.so.6", "cos");
  EXPECT_EQ(require_operator("t::cosine").typed<double(double)>().call(0.0), 1.0);
  EXPECT_EQ(call_boxed(require_operator("t::cosine"), {Value(0.0)})[0], Value(1.0));
}

TEST(CFunction, NumbersGoByValueAndASingleOneComesBack) {
  EXPECT_EQ(ServedByC("add(int a, int b) -> int", "c_add").call(40, 2)[0], Value(42));
  const ServedByC both("both(bool a, bool b) -> bool", "c_both");
  EXPECT_EQ(both.call(true, true)[0], Value(true));
  EXPECT_EQ(both.call(true, false)[0], Value(false));
  const ServedByC mixed("mixed(int a, float x, *, bool b, float y=1.0) -> float", "c_mixed");
  EXPECT_EQ(mixed.call(3, 2.0, true, 0.5)[0], Value(6.5));
  EXPECT_EQ(mixed.call(-3, 2.0, false, 0.5)[0], Value(-6.5));
  EXPECT_EQ(ServedByC("nothing() -> int", "c_nothing").call()[0], Value(42));
  const ServedByC turn("turn(complex z, float scale) -> complex", "c_turn");
  EXPECT_EQ(turn.call(std::complex<double>(1, 2), 3.0)[0].to_complex(),
            std::complex<double>(-6, 3));
}

TEST(CFunction, TypesThatAreNumbersAtRunTimeAreNumbers) {
  const ServedByC add("add(ScalarType a, SymInt b) -> DeviceIndex", "c_add");
  EXPECT_EQ(add.call(6, 7)[0], Value(13));
}

TEST(CFunction, ParametersMayBeMoreThanRegisters) {
  const ServedByC seven("seven(int a, int b, int c, int d, int e, int f, int g) -> int", "c_seven");
  EXPECT_EQ(seven.call(1, 2, 3, 4, 5, 6, 7)[0], Value(7654321));
  const ServedByC nine(
      "nine(float a, float b, float c, float d, float e, float f, float g, float h, float i, bool "
      "negative) -> float",
      "c_nine");
  EXPECT_EQ(nine.call(1., 1., 1., 1., 1., 1., 1., 1., 2., true)[0], Value(-54.));
  const ServedByC five("five(complex a, complex b, complex c, complex d, complex e) -> complex",
                       "c_five");
  const std::complex<double> i(1, 1);
  EXPECT_EQ(five.call(i, i, i, i, i)[0].to_complex(), std::complex<double>(15, 15));
  const std::string schema =
      "(int a, int b, int c, int d, int e, int f, bool g, float h, float i, float j, float k, "
      "float l, "
      "float m, float n, float o, float p, float q, str r, int[] s, bool u, int v) -> float";
  const ServedByC twenty("twenty" + schema, "c_twenty");  // eight words on the stack
  EXPECT_EQ(twenty.call(1, 2, 3, 4, 5, 6, true, 1., 1., 1., 1., 1., 1., 1., 1., 1., 3., "four",
                        ints({5, 6}), true, 9)[0],
            Value(75. + 1000 * 98 + 4e6 + 7e7 + 1e9 + 9e10));
}

TEST(CFunction, TensorsAreBorrowedAsTheyAre) {
  const ServedByC sum("sum(Tensor x) -> float", "c_sum");
  const Tensor x = doubles({1, 2, 3, 4});
  EXPECT_EQ(sum.call(x)[0], Value(10.0));
  const std::int64_t size = 2;
  const std::int64_t stride = 2;
  const Tensor every_second = x.as_strided({&size, 1}, {&stride, 1}, 1);
  EXPECT_EQ(sum.call(every_second)[0], Value(6.0));
  EXPECT_EQ(x.impl()->owner_count(), 1u);
}

TEST(CFunction, WrittenTensorsAreWrittenInPlaceAndAreTheirOwnResult) {
  const ServedByC scale("scale_(Tensor(a!) x, float factor) -> Tensor(a!)", "c_scale");
  const Tensor x = doubles({1, 2, 3});
  const std::uint32_t version = x.impl()->storage()->version();
  const Value result = scale.call(x, 2.0)[0];
  EXPECT_TRUE(result.to_tensor().same(x));
  EXPECT_EQ(numbers_of(x), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(x.impl()->storage()->version(), version + 1);

  const ServedByC nothing("scale_nothing_(Tensor(a!) x, float factor) -> ()", "c_scale");
  EXPECT_TRUE(nothing.call(x, 0.5).empty());
  const ServedByC without("scale_void_(Tensor(a!) x, float factor) -> ()", "c_scale_void",
                          CForm::Void);
  EXPECT_TRUE(without.call(x, 3.0).empty());
  EXPECT_EQ(numbers_of(x), (std::vector<double>{3, 6, 9}));
}

TEST(CFunction, ATensorThatTheFunctionMadeIsGivenBackOnce) {
  const auto alive = c_symbol<std::int64_t()>("c_tensors_alive");
  const ServedByC add("add_tensors(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor",
                      "c_add_tensors");
  {
    const Tensor sum = add.call(doubles({1, 2}), doubles({3, 4}), 10.0)[0].to_tensor();
    EXPECT_EQ(numbers_of(sum), (std::vector<double>{31, 42}));
    EXPECT_EQ(alive(), 1);
  }
  EXPECT_EQ(alive(), 0);
}

TEST(CFunction, ListsAreAPointerAndALength) {
  const ServedByC dot("dot(float[] a, float[3] b) -> float", "c_dot");
  const Value list = Value::list({Value(1.0), Value(2.0), Value(3.0)});
  EXPECT_EQ(dot.call(list, list)[0], Value(14.0));
  EXPECT_EQ(dot.call(list, Value::list({}))[0], Value(0.0));
  EXPECT_EQ(ServedByC("count_true(bool[] flags) -> int", "c_count_true")
                .call(Value::list({Value(true), Value(false), Value(true)}))[0],
            Value(2));
  EXPECT_EQ(ServedByC("total(str[] texts) -> int", "c_total_length")
                .call(Value::list({Value("ab"), Value("cde")}))[0],
            Value(5));
  EXPECT_EQ(ServedByC("sum_all(Tensor?[] tensors) -> float", "c_sum_all")
                .call(Value::list({Value(doubles({1, 2})), Value(), Value(doubles({3}))}))[0],
            Value(6.0));
}

TEST(CFunction, LongListsFindRoomToo) {
  std::vector<Value> many(100000, Value(1.0));
  const Value list = Value::list(many);
  const ServedByC dot("dot(float[] a, float[] b) -> float", "c_dot");
  const std::size_t blocks = live_allocations().blocks;
  EXPECT_EQ(dot.call(list, list)[0], Value(100000.0));
  EXPECT_EQ(live_allocations().blocks, blocks);
}

TEST(CFunction, NoneIsANullPointer) {
  const ServedByC there(
      "there(Tensor? x, float? scale, str? text, int[]? sizes, Capsule? context) -> int",
      "c_which_are_there");
  EXPECT_EQ(there.call(Value(), Value(), Value(), Value(), Value())[0], Value(0));
  int context = 0;
  const Value capsule(CapsuleObject::adopt(&context, "t.context", nullptr, nullptr));
  EXPECT_EQ(there.call(doubles({1}), 0.0, "", Value::list({}), capsule)[0], Value(31));
  EXPECT_EQ(there.call(Value(), Value(), Value(), ints({4, 5, 6}), Value())[0], Value(308));
  EXPECT_EQ(there.call(Tensor(), Value(), Value(), Value(), Value())[0], Value(0));
}

TEST(CFunction, TextsEndWithAZeroByte) {
  const ServedByC length("length(str text) -> int", "c_length");
  EXPECT_EQ(length.call("")[0], Value(0));
  EXPECT_EQ(length.call(std::string(5000, 'x'))[0], Value(5000));
  EXPECT_EQ(ServedByC("greet(str name) -> str", "c_greet").call("C")[0], Value("Hello, C"));
  const ServedByC devices("device(Device device) -> Device", "c_devices");
  EXPECT_EQ(devices.call(Device{Backend::CUDA, 1})[0].to_device(), (Device{Backend::CUDA, 1}));
}

TEST(CFunction, SeveralResultsComeThroughOutPointers) {
  const ServedByC divide("divide(int a, int b) -> (int quotient, int remainder, bool exact)",
                         "c_divide");
  EXPECT_EQ(divide.call(17, 5), (std::vector<Value>{Value(3), Value(2), Value(false)}));
  EXPECT_EQ(divide.call(15, 5), (std::vector<Value>{Value(3), Value(0), Value(true)}));
  const ServedByC range("range(int size) -> int[]", "c_range");
  EXPECT_EQ(range.call(4)[0], ints({0, 1, 2, 3}));
  EXPECT_EQ(range.call(0)[0], ints({}));
}

TEST(CFunction, AnErrorOfTheFunctionIsRaisedAndAnEarlierOneIsNot) {
  const ServedByC root("root(float x) -> float", "c_root");
  opyard_set_error(OPYARD_ERROR_BadShape, "from before");
  EXPECT_EQ(root.call(4.0)[0], Value(2.0));
  EXPECT_STREQ(opyard_last_error(), "from before");
  EXPECT_THROW(root.call(-4.0), Error);
  EXPECT_STREQ(opyard_last_error(), "from before");
  opyard_clear_error();
  EXPECT_THROW(root.call(-4.0), Error);
  EXPECT_EQ(opyard_last_error(), nullptr);
  EXPECT_EQ(root.call(4.0)[0], Value(2.0));
}

TEST(CFunction, RegistrationsStandAtAKeyAndEndWithTheirLibrary) {
  ServedByC sum("sum(Tensor x) -> float");
  {
    Library library(LibraryKind::Impl, "t", K::CPU, "c.cpp", 2);
    impl_c(library, "t::sum", c_functions(), "c_sum");
    EXPECT_EQ(sum.call(doubles({1, 2}))[0], Value(3.0));
    EXPECT_TRUE(inspect::has_kernel_at(sum.op().name(), K::CPU));
    EXPECT_EQ(inspect::dump(sum.op().name()).find("c.cpp:2") != std::string::npos, true);
  }
  EXPECT_FALSE(inspect::has_kernel(sum.op().name()));
  EXPECT_THROW(sum.call(doubles({1, 2})), Error);
}

TEST(CFunction, ManyThreadsCallAtOnce) {
  const ServedByC nine(
      "nine(float a, float b, float c, float d, float e, float f, float g, float h, float i, bool "
      "negative) -> float",
      "c_nine");
  const ServedByC divide("divide(int a, int b) -> (int quotient, int remainder, bool exact)",
                         "c_divide");
  const ServedByC root("root(float x) -> float", "c_root");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 1; i <= 2000; ++i) {
        ASSERT_EQ(nine.call(1., 0., 0., 0., 0., 0., 0., 0., double(i), false)[0],
                  Value(1. + 9. * i));
        ASSERT_EQ(divide.call(i * 7 + thread, 7)[1], Value(thread));
        ASSERT_THROW(root.call(-1.0), Error);
        ASSERT_EQ(opyard_last_error(), nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CFunction, ThePrototypeSaysWhatTheFunctionLooksLike) {
  const auto prototype = [](const char* schema, CForm form = CForm::Standard) {
    const ServedByC op(schema);
    return c_prototype(op.op(), form);
  };
  EXPECT_EQ(prototype("cosine(float x) -> float"), "double cosine(double x)");
  EXPECT_EQ(prototype("f() -> ()"), "int f(void)");
  EXPECT_EQ(prototype("f() -> ()", CForm::Void), "void f(void)");
  EXPECT_EQ(prototype("less(float a, float b) -> int", CForm::Comparator),
            "int less(const double* a, const double* b)");
  EXPECT_EQ(prototype("scale.out(Tensor x, float factor, *, Tensor(a!) out) -> Tensor(a!)"),
            "int scale_out(const DLTensor* x, double factor, DLTensor* out)");
  EXPECT_EQ(
      prototype("f(Tensor? x, int? n, str? s, Device d, Capsule c, bool b=True) -> (Tensor, str)"),
      "int f(const DLTensor* x, const int64_t* n, const char* s, const char* d, void* c, bool b, "
      "DLManagedTensorVersioned** result0, char** result1)");
  EXPECT_EQ(
      prototype("f(int[2] sizes, str[] names, Tensor[] xs, Tensor(a!)[] ys, complex[]? z) -> "
                "(int[] shape, complex sum)"),
      "int f(const int64_t* sizes, int64_t sizes_size, const char* const* names, int64_t "
      "names_size, const DLTensor* const* xs, int64_t xs_size, DLTensor* const* ys, int64_t "
      "ys_size, const double _Complex* z, int64_t z_size, int64_t** shape, int64_t* shape_size, "
      "double _Complex* sum)");
}

}  // namespace
}  // namespace opyard::test_c_function
