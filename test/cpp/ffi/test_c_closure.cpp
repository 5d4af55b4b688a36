// test_c_closure.cpp: protects operators as C functions: callbacks of C libraries, and all that
// goes through pointers. Suspect dispatcher/src/ffi/c_closure.cpp and entry_points.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "../thrown_by.h"
#include "c_functions.h"
#include "opyard/base/warning.h"

namespace opyard::test_c_closure {
namespace {

using dlpack::DLManagedTensorVersioned;
using dlpack::DLTensor;

// An operator in the namespace t, with a C++ kernel.
template <typename F>
struct InCxx {
  InCxx(std::string_view schema, F kernel) : name(library.def(schema, std::move(kernel))) {}
  const Operator& op() const { return Registry::instance().require(name); }
  CFunction function(CForm form = CForm::Standard) const { return c_function(op(), form); }

  Library library{LibraryKind::Fragment, "t"};
  OperatorName name;
};

std::string last_error() {
  const char* const text = opyard_last_error();
  const std::string copy = text == nullptr ? "" : text;
  opyard_clear_error();
  return copy;
}

DLTensor view(double* data, std::int64_t* shape) {
  return {data, {dlpack::kCPU, 0}, 1, {2, 64, 1}, shape, nullptr, 0};
}

TEST(CClosure, AnOperatorIsACallbackOfANumericalLibrary) {
  const auto integrate =
      c_symbol<double(double (*)(double), double, double, std::int64_t)>("c_integrate");
  const InCxx square("square(float x) -> float", [](double x) { return x * x; });
  const CFunction f = square.function();
  EXPECT_EQ(f.prototype(), "double square(double x)");
  EXPECT_NEAR(integrate(f.as<double(double)>(), 0.0, 3.0, 1000), 9.0, 1e-4);
}

TEST(CClosure, AnOperatorIsAComparatorOfQsort) {
  const InCxx descending("descending(float a, float b) -> int", [](double a, double b) {
    return std::int64_t(a < b ? 3000000000 : a > b ? -3000000000 : 0);
  });
  const CFunction f = descending.function(CForm::Comparator);
  double numbers[] = {2, 7, 1, 8, 2, 8};
  qsort(numbers, 6, sizeof(double), f.as<int(const void*, const void*)>());
  EXPECT_EQ(std::vector<double>(numbers, numbers + 6), (std::vector<double>{8, 8, 7, 2, 2, 1}));

  const InCxx ascending("ascending(int a, int b) -> int",
                        [](std::int64_t a, std::int64_t b) { return a - b; });
  std::int64_t more[] = {5, -3, 4};
  qsort(more, 3, sizeof(std::int64_t),
        ascending.function(CForm::Comparator).as<int(const void*, const void*)>());
  EXPECT_EQ(std::vector<std::int64_t>(more, more + 3), (std::vector<std::int64_t>{-3, 4, 5}));
}

TEST(CClosure, NumbersGoBothWays) {
  const InCxx mixed("mixed(int a, bool b, float c, complex d) -> complex",
                    [](std::int64_t a, bool b, double c, std::complex<double> d) {
                      return double(a) * c * (b ? d : -d);
                    });
  struct Complex {  // as double _Complex is passed and returned
    double real, imaginary;
  };
  const CFunction f = mixed.function();
  EXPECT_EQ(f.letters(), "clbdc");
  const auto call = reinterpret_cast<Complex (*)(std::int64_t, bool, double, Complex)>(f.address());
  EXPECT_EQ(call(2, false, 0.5, {1, 4}).imaginary, -4.0);
  const InCxx both("both(bool a, bool b) -> bool", [](bool a, bool b) { return a && b; });
  EXPECT_TRUE(both.function().as<bool(bool, bool)>()(true, true));
  EXPECT_FALSE(both.function().as<bool(bool, bool)>()(true, false));
  const InCxx nothing("nothing() -> int", [] { return std::int64_t{1} << 40; });
  EXPECT_EQ(nothing.function().as<std::int64_t()>()(), std::int64_t{1} << 40);
}

TEST(CClosure, WhatItIsServedByDoesNotMatter) {
  ServedByC add("add(int a, int b) -> int", "c_add");
  EXPECT_EQ(c_function(add.op()).as<std::int64_t(std::int64_t, std::int64_t)>()(40, 2), 42);
}

TEST(CClosure, ItGoesThroughDispatch) {
  const InCxx below("layered(float x) -> float", [](double x) { return x; });
  Library layer(LibraryKind::Impl, "t", DispatchKey::Tracer);
  layer.impl("layered", [](DispatchKeySet keys, double x) {
    const auto op = require_operator("t::layered").typed<double(double)>();
    return 10 *
           op.redispatch(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, DispatchKey::Tracer), x);
  });
  const CFunction f = below.function();
  const auto call = f.as<double(double)>();
  EXPECT_EQ(call(2.0), 2.0);
  const IncludeDispatchKeyGuard include(DispatchKey::Tracer);
  EXPECT_EQ(call(2.0), 20.0);
}

TEST(CClosure, TensorsAreBorrowedAndResultsHandedOver) {
  const InCxx twice("twice(Tensor x) -> Tensor", [](const Tensor& x) {
    Tensor result = Tensor::empty(x.sizes(), DType::Float64);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      result.mutable_data<double>()[i] = 2 * x.data<double>()[i];
    }
    return result;
  });
  double data[] = {1, 2, 3};
  std::int64_t shape[] = {3};
  const DLTensor x = view(data, shape);
  DLManagedTensorVersioned* result = nullptr;
  const CFunction f = twice.function();
  ASSERT_EQ(f.as<int(const DLTensor*, DLManagedTensorVersioned**)>()(&x, &result), OPYARD_OK);
  EXPECT_EQ(static_cast<double*>(result->dl_tensor.data)[2], 6.0);
  result->deleter(result);
}

TEST(CClosure, WrittenTensorsAreWrittenAndOthersReadOnly) {
  const InCxx fill("fill_(Tensor(a!) x, Tensor y) -> Tensor(a!)",
                   [](const Tensor& x, const Tensor& y) {
                     x.mutable_data<double>()[0] = y.data<double>()[0];
                     if (y.data<double>()[0] < 0) y.mutable_data<double>()[0] = 0;
                     return x;
                   });
  double to[] = {0};
  double from[] = {5};
  std::int64_t shape[] = {1};
  DLTensor x = view(to, shape);
  const DLTensor y = view(from, shape);
  const CFunction f = fill.function();
  const auto call = f.as<int(DLTensor*, const DLTensor*)>();
  EXPECT_EQ(call(&x, &y), OPYARD_OK);
  EXPECT_EQ(to[0], 5.0);
  from[0] = -1;
  EXPECT_EQ(call(&x, &y), OPYARD_ERROR_BadValue);
  EXPECT_EQ(from[0], -1.0);
  EXPECT_NE(last_error(), "");
}

TEST(CClosure, ListsTextsAndOptionalsGoBothWays) {
  const InCxx op(
      "many(int[] sizes, str[] names, float? scale, Tensor?[] xs, str? text, Device d) -> "
      "(int[] back, str text, Device d, Tensor? none)",
      [](const std::vector<std::int64_t>& sizes, const std::vector<std::string>& names,
         std::optional<double> scale, const std::vector<std::optional<Tensor>>& xs,
         std::optional<std::string> text, Device d) {
        std::vector<std::int64_t> back(sizes.rbegin(), sizes.rend());
        back.push_back(std::int64_t(xs.size()));
        return std::tuple(
            back, names.at(1) + text.value_or("-") + (scale ? std::to_string(int(*scale)) : "?"), d,
            std::optional<Tensor>());
      });
  const CFunction f = op.function();
  const auto call =
      f.as<int(const std::int64_t*, std::int64_t, const char* const*, std::int64_t, const double*,
               const DLTensor* const*, std::int64_t, const char*, const char*, std::int64_t**,
               std::int64_t*, char**, char**, DLManagedTensorVersioned**)>();
  const std::int64_t sizes[] = {1, 2, 3};
  const char* names[] = {"a", "b"};
  const double scale = 7;
  double data[] = {1};
  std::int64_t shape[] = {1};
  const DLTensor x = view(data, shape);
  const DLTensor* xs[] = {&x, nullptr};
  std::int64_t* back = nullptr;
  std::int64_t back_size = 0;
  char* text = nullptr;
  char* device = nullptr;
  auto* none = reinterpret_cast<DLManagedTensorVersioned*>(&shape);
  ASSERT_EQ(call(sizes, 3, names, 2, &scale, xs, 2, "x", "cuda:1", &back, &back_size, &text,
                 &device, &none),
            OPYARD_OK)
      << opyard_last_error();
  EXPECT_EQ(std::vector<std::int64_t>(back, back + back_size),
            (std::vector<std::int64_t>{3, 2, 1, 2}));
  EXPECT_STREQ(text, "bx7");
  EXPECT_STREQ(device, "cuda:1");
  EXPECT_EQ(none, nullptr);
  std::free(back);
  std::free(text);
  std::free(device);
  ASSERT_EQ(call(nullptr, 0, names, 2, nullptr, nullptr, 0, nullptr, "cpu", &back, &back_size,
                 &text, &device, &none),
            OPYARD_OK)
      << opyard_last_error();
  EXPECT_EQ(back_size, 1);
  EXPECT_STREQ(text, "b-?");
  std::free(back);
  std::free(text);
  std::free(device);
}

TEST(CClosure, AFailureIsAStatusOrANumberAndTheThreadsError) {
  const InCxx real("real(float x) -> float",
                   [](double) -> double { fail(ErrorKind::BadIndex, "no such number"); });
  EXPECT_TRUE(std::isnan(real.function().as<double(double)>()(1.0)));
  EXPECT_EQ(opyard_last_status(), OPYARD_ERROR_BadIndex);
  EXPECT_EQ(last_error(), "no such number");
  const InCxx integer("integer(int x) -> int",
                      [](std::int64_t) -> std::int64_t { throw 42; });  // NOLINT
  EXPECT_EQ(integer.function().as<std::int64_t(std::int64_t)>()(1), 0);
  EXPECT_EQ(opyard_last_status(), OPYARD_ERROR_Foreign);
  EXPECT_EQ(last_error(), "something was thrown that is no std::exception");
  const InCxx none("none(int x) -> ()", [](std::int64_t) { throw std::bad_alloc(); });
  EXPECT_EQ(none.function().as<int(std::int64_t)>()(1), OPYARD_ERROR_OutOfMemory);
  EXPECT_EQ(last_error(), "out of memory");
  none.function(CForm::Void).as<void(std::int64_t)>()(1);
  EXPECT_EQ(last_error(), "out of memory");
  const InCxx compare(
      "compare(int a, int b) -> int",
      [](std::int64_t, std::int64_t) -> std::int64_t { throw std::runtime_error("x"); });
  std::int64_t numbers[] = {2, 1};
  qsort(numbers, 2, 8, compare.function(CForm::Comparator).as<int(const void*, const void*)>());
  EXPECT_EQ(numbers[0], 2);
  EXPECT_EQ(last_error(), "x");
}

TEST(CClosure, ATextWithAZeroByteIsNoText) {
  const InCxx op("text(int at) -> str", [](std::int64_t at) {
    return std::string("abc").replace(std::size_t(at), 1, 1, '\0');
  });
  char* text = nullptr;
  for (const int at : {0, 2}) {
    EXPECT_EQ(op.function().as<int(std::int64_t, char**)>()(at, &text), OPYARD_ERROR_BadReturn);
    EXPECT_NE(last_error().find("the text has a zero byte at position " + std::to_string(at)),
              std::string::npos);
  }
}

TEST(CClosure, ASuccessLeavesTheThreadsErrorAlone) {
  const InCxx same("same(float x) -> float", [](double x) { return x; });
  opyard_set_error(OPYARD_ERROR_BadShape, "from before");
  EXPECT_EQ(same.function().as<double(double)>()(1.0), 1.0);
  EXPECT_EQ(last_error(), "from before");
}

TEST(CClosure, AFailureInACallbackFailsTheKernelThatCalledTheLibrary) {
  const InCxx picky("picky(float x) -> float", [](double x) {
    if (x > 0.5) fail(ErrorKind::BadValue, "half is enough");
    return x;
  });
  const CFunction f = picky.function();
  const ServedByC integrate("integrate(Capsule f, float a, float b, int steps) -> float",
                            "c_integrate");
  const Value callback(CapsuleObject::adopt(f.address(), "t.function", nullptr, nullptr));
  EXPECT_EQ(integrate.call(callback, 0.0, 0.5, 4)[0], Value(0.125));
  EXPECT_THROWN(integrate.call(callback, 0.0, 1.0, 4), BadValue,
                "half is enough\nin t::integrate, served by the C function c_integrate of "
                "test_c_functions.so");
  EXPECT_EQ(opyard_last_error(), nullptr);
  const ServedByC forgives("forgives(Capsule f) -> int", "c_forgives");
  EXPECT_EQ(forgives.call(callback)[0], Value(int(OPYARD_ERROR_BadValue)));
}

TEST(CClosure, AKernelInsideDoesNotLoseTheErrorOfAnEarlierCallback) {
  ServedByC inner("inner(float x) -> float", "c_root");  // fails below 0 only
  const CFunction f = c_function(inner.op());
  const ServedByC integrate("integrate(Capsule f, float a, float b, int steps) -> float",
                            "c_integrate");
  const Value callback(CapsuleObject::adopt(f.address(), "t.function", nullptr, nullptr));
  // The first point fails, those after it do not.
  EXPECT_THROWN(integrate.call(callback, -1.0, 5.0, 2), BadValue,
                "root of a negative number\nin t::inner, served by the C function c_root of "
                "test_c_functions.so\nin t::integrate, served by the C function c_integrate of "
                "test_c_functions.so");
}

TEST(CClosure, WhatComesOverTheBorderIsChecked) {
  const InCxx op("f(Tensor x, str s, int[] n) -> (Tensor, int)",
                 [](const Tensor& x, const std::string&, const std::vector<std::int64_t>&) {
                   return std::tuple(Tensor::empty(x.sizes()), std::int64_t{1});
                 });
  const CFunction f = op.function();
  const auto call = f.as<int(const DLTensor*, const char*, const std::int64_t*, std::int64_t,
                             DLManagedTensorVersioned**, std::int64_t*)>();
  double data[] = {1};
  std::int64_t shape[] = {1};
  DLTensor x = view(data, shape);
  DLManagedTensorVersioned* tensor = nullptr;
  std::int64_t number = 5;
  EXPECT_EQ(call(nullptr, "", nullptr, 0, &tensor, &number), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(
      last_error(),
      "t::f: argument 'x' at position 0: a null pointer came, and the schema has no None here; "
      "write T? for what may be null");
  EXPECT_EQ(call(&x, nullptr, nullptr, 0, &tensor, &number), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(last_error().rfind("t::f: argument 's' at position 1: ", 0), 0u);
  EXPECT_EQ(call(&x, "", nullptr, 2, &tensor, &number), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(last_error(),
            "t::f: argument 'n' at position 2: a list of length 2 came as a null pointer");
  EXPECT_EQ(call(&x, "", shape, -1, &tensor, &number), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(last_error(), "t::f: argument 'n' at position 2: a list of length -1 came");
  EXPECT_EQ(call(&x, "", shape, 1, nullptr, &number), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(last_error(), "t::f: result 0: the pointer to where it goes is null");
  x.dtype.bits = 3;
  EXPECT_EQ(call(&x, "", shape, 1, &tensor, &number), OPYARD_ERROR_Unsupported);
  EXPECT_EQ(last_error().rfind("t::f: argument 'x' at position 0: ", 0), 0u);
  EXPECT_EQ(tensor, nullptr);
  EXPECT_EQ(number, 5);
}

TEST(CClosure, MemoryThatWasBorrowedCannotBeKept) {
  Tensor kept;
  const InCxx keep("keep(Tensor x) -> int", [&](const Tensor& x) {
    kept = x;
    return std::int64_t{1};
  });
  const InCxx same("same(Tensor x) -> Tensor", [](const Tensor& x) { return x; });
  double data[] = {1};
  std::int64_t shape[] = {1};
  const DLTensor x = view(data, shape);
  constexpr const char* kHeld =
      ": argument 'x' at position 0: its memory was borrowed for this call, and is still held: by "
      "a "
      "tensor "
      "that the kernel holds, or by a result that is a view of it; hold or return a clone()";
  EXPECT_EQ(keep.function().as<std::int64_t(const DLTensor*)>()(&x), 0);
  EXPECT_EQ(last_error(), std::string("t::keep") + kHeld);
  kept = Tensor();
  DLManagedTensorVersioned* result = nullptr;
  EXPECT_EQ((same.function().as<int(const DLTensor*, DLManagedTensorVersioned**)>()(&x, &result)),
            OPYARD_ERROR_BadReturn);
  EXPECT_EQ(last_error(), std::string("t::same") + kHeld);
  EXPECT_EQ(result, nullptr);
}

TEST(CClosure, AnotherTypeIsRefused) {
  const InCxx op("f(float x) -> float", [](double x) { return x; });
  const CFunction f = op.function();
  EXPECT_THROWN(f.as<float*(double)>(), BadSignature,
                "t::f as a C function is double f(double x), and was asked for as float* (double)");
  EXPECT_THROWN(
      f.as<double(double, double)>(), BadSignature,
      "t::f as a C function is double f(double x), and was asked for as double (double, double)");
}

TEST(CClosure, FailsOnceItsOperatorIsGoneAndWorksAgainWithIt) {
  auto op = std::make_unique<InCxx<double (*)(double)>>("gone(float x) -> float",
                                                        [](double x) { return x + 1; });
  const CFunction f = op->function();
  const auto call = f.as<double(double)>();
  EXPECT_EQ(call(1.0), 2.0);
  op.reset();
  EXPECT_TRUE(std::isnan(call(1.0)));
  EXPECT_EQ(opyard_last_status(), OPYARD_ERROR_OperatorGone);
  opyard_clear_error();
  op = std::make_unique<InCxx<double (*)(double)>>("gone(float x) -> float",
                                                   [](double x) { return x + 2; });
  EXPECT_EQ(call(1.0), 3.0);
}

TEST(CClosure, MovesAndCanBeKept) {
  const InCxx op("f(float x) -> float", [](double x) { return x; });
  CFunction first = op.function();
  const auto call = first.as<double(double)>();
  CFunction second = std::move(first);
  EXPECT_EQ(second.address(), reinterpret_cast<void*>(call));
  CFunction third = op.function();
  third = std::move(second);
  EXPECT_EQ(call(4.0), 4.0);
  third.keep();
  {
    const CFunction last = std::move(third);
  }
  EXPECT_EQ(call(5.0), 5.0);
}

TEST(CClosure, ManyThreadsCallOne) {
  const InCxx square("square(float x) -> float", [](double x) { return x * x; });
  const CFunction f = square.function();
  const auto call = f.as<double(double)>();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) ASSERT_EQ(call(i), double(i) * i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CClosure, ThereAreAsManyAsOneWants) {
  const InCxx square("square(float x) -> float", [](double x) { return x * x; });
  const InCxx add("add(int a, int b, int c) -> int",
                  [](std::int64_t a, std::int64_t b, std::int64_t c) { return a + b + c; });
  const InCxx length("length(str s) -> int",
                     [](const std::string& s) { return std::int64_t(s.size()); });
  std::vector<CFunction> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(square.function());
    all.push_back(add.function());
    all.push_back(length.function());
  }
  for (std::size_t i = 0; i < all.size(); i += 3) {
    ASSERT_EQ(all[i].as<double(double)>()(3.0), 9.0);
    ASSERT_EQ((all[i + 1].as<std::int64_t(std::int64_t, std::int64_t, std::int64_t)>()(1, 2, 3)),
              6);
    ASSERT_EQ(all[i + 2].as<std::int64_t(const char*)>()("four"), 4);
    for (std::size_t j = i + 3; j < all.size(); ++j) ASSERT_NE(all[i].address(), all[j].address());
  }
}

TEST(CClosure, ParametersMayBeMoreThanRegisters) {
  const InCxx nine(
      "nine(float a, float b, float c, float d, float e, float f, float g, float h, float "
      "i, bool negative) -> float",
      [](double a, double b, double c, double d, double e, double f, double g, double h, double i,
         bool negative) {
        const double sum = a + b + c + d + e + f + g + 10 * h + 100 * i;
        return negative ? -sum : sum;
      });
  const CFunction f = nine.function();
  const auto call =
      f.as<double(double, double, double, double, double, double, double, double, double, bool)>();
  EXPECT_EQ(call(1, 1, 1, 1, 1, 1, 1, 2, 3, true), -327.0);
}

TEST(CClosure, AFunctionThatWasGivenBackFails) {
  const InCxx square("square(float x) -> float", [](double x) { return x * x; });
  auto f = std::make_unique<CFunction>(square.op());
  const auto call = f->as<double(double)>();
  EXPECT_EQ(call(3.0), 9.0);
  f.reset();
  EXPECT_TRUE(std::isnan(call(3.0)));
  EXPECT_EQ(last_error(), "a C function was called after the object that it belonged to had ended");
  const InCxx pair("pair(int a) -> (int, int)", [](std::int64_t a) { return std::tuple(a, a); });
  const auto status = pair.function().as<int(std::int64_t, std::int64_t*, std::int64_t*)>();
  EXPECT_EQ(status(1, nullptr, nullptr), OPYARD_ERROR_OperatorGone);
  opyard_clear_error();
}

TEST(CClosure, ManyThreadsMakeAndEndThem) {
  const InCxx square("square(float x) -> float", [](double x) { return x * x; });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const CFunction first = square.function();
        const CFunction second = square.function();
        ASSERT_EQ(first.as<double(double)>()(i), double(i) * i);
        ASSERT_EQ(second.as<double(double)>()(2.0), 4.0);
        ASSERT_NE(first.address(), second.address());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace opyard::test_c_closure
