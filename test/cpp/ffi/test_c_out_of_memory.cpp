// test_c_out_of_memory.cpp: protects that C functions and callbacks fail cleanly when an allocation
// does: nothing is lost, nothing is half made, and the next call works.
// Suspect dispatcher/src/ffi/.
//
// Memory that C frees is taken with malloc(), which no allocator of ours sees: that is
// made to fail by a limit of the whole process.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "../counting_new.h"
#include "c_functions.h"
#include "opyard/inspect/inspect.h"

namespace opyard::test_c_out_of_memory {
namespace {

// Runs a scenario with its first request failing, then its second, and so on until none fails;
// gives their number. It says by throwing bad_alloc, or by false, that it has failed.
template <typename Scenario>
long fail_each(const Scenario& scenario) {
  EXPECT_TRUE(scenario());
  for (const bool once : {true, false}) {
    for (long n = 0;; ++n) {
      const std::size_t blocks = live_allocations().blocks;
      bool worked = false;
      {
        const counting::Failure failure(n, once);
        try {
          worked = scenario();
        } catch (const std::bad_alloc&) {
        }
      }
      opyard_clear_error();
      EXPECT_EQ(live_allocations().blocks, blocks) << "request " << n;
      EXPECT_TRUE(scenario()) << "after request " << n;
      if (!counting::refused) {
        EXPECT_TRUE(worked);
        if (!once) return n;
        break;
      }
      EXPECT_FALSE(worked) << "request " << n << " was refused and no one was told";
      if (testing::Test::HasFailure()) return n;
    }
  }
  return 0;
}

TEST(COutOfMemory, ARegistrationLeavesNothingBehind) {
  Library definitions(LibraryKind::Fragment, "t");
  definitions.def("long_name_of_an_operator(int[] sizes, Tensor x, str name) -> (Tensor, int)");
  const Operator& op = require_operator("t::long_name_of_an_operator");
  EXPECT_GT(fail_each([&] {
              Library kernels(LibraryKind::Impl, "t");
              kernels.impl("long_name_of_an_operator",
                           c_kernel(op, &op, "a_function_with_a_long_name of libsomewhere.so"));
              return true;
            }),
            5);
  EXPECT_FALSE(inspect::has_kernel(op.name()));
}

TEST(COutOfMemory, ACallGivesBackWhatItTook) {
  const auto alive = c_symbol<std::int64_t()>("c_tensors_alive");
  const ServedByC add("add_tensors(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor",
                      "c_add_tensors");
  const Tensor x = doubles({1, 2});
  const auto call = [&](const ServedByC& served, std::initializer_list<Value> arguments,
                        std::size_t results) {
    InlineStack<4> stack;
    for (const Value& argument : arguments) stack.push(argument);
    served.op().call_boxed(stack);
    return stack.size() == results;
  };
  EXPECT_GT(fail_each([&] { return call(add, {Value(x), Value(x), Value(1.0)}, 1); }), 1);
  EXPECT_EQ(alive(), 0);
  const ServedByC dot("dot(float[] a, float[] b) -> float", "c_dot");
  const Value many = Value::list(std::vector<Value>(500, Value(1.0)));
  EXPECT_GT(fail_each([&] { return call(dot, {many, many}, 1); }), 1);
  const ServedByC range("range(int size) -> int[]", "c_range");
  EXPECT_GT(fail_each([&] { return call(range, {Value(100)}, 1); }), 1);
  const ServedByC greet("greet(str name) -> str", "c_greet");
  const Value name("a name that is not inside of its string");
  EXPECT_GT(fail_each([&] { return call(greet, {name}, 1); }), 0);
}

TEST(COutOfMemory, ACallbackFailsWithItsStatus) {
  Library library(LibraryKind::Fragment, "t");
  const OperatorName name = library.def(
      "many(Tensor x, int[] sizes, str text) -> (Tensor, int[], str)",
      [](const Tensor& x, const std::vector<std::int64_t>& sizes, const std::string& text) {
        return std::tuple(Tensor::empty(x.sizes()), sizes, text);
      });
  const Operator& op = Registry::instance().require(name);
  EXPECT_GT(fail_each([&] { return CFunction(op).address() != nullptr; }), 5);

  const CFunction f = c_function(op);
  const auto call =
      f.as<int(const dlpack::DLTensor*, const std::int64_t*, std::int64_t, const char*,
               dlpack::DLManagedTensorVersioned**, std::int64_t**, std::int64_t*, char**)>();
  double data[] = {1};
  std::int64_t shape[] = {1};
  const dlpack::DLTensor x{data, {dlpack::kCPU, 0}, 1, {2, 64, 1}, shape, nullptr, 0};
  EXPECT_GT(fail_each([&] {
              dlpack::DLManagedTensorVersioned* tensor = nullptr;
              std::int64_t* numbers = nullptr;
              std::int64_t size = 0;
              char* text = nullptr;
              const int status = call(&x, shape, 1, "a text of a certain length, for a string",
                                      &tensor, &numbers, &size, &text);
              if (status != OPYARD_OK) {
                EXPECT_EQ(status, OPYARD_ERROR_OutOfMemory);
                EXPECT_TRUE(tensor == nullptr && numbers == nullptr && text == nullptr);
                return false;
              }
              tensor->deleter(tensor);
              std::free(numbers);
              std::free(text);
              return true;
            }),
            5);
}

// As much address space as there is now, and so much more.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t more) {
    getrlimit(RLIMIT_AS, &former_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit limit{pages * std::size_t(getpagesize()) + more, former_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &former_); }

 private:
  rlimit former_;
};

TEST(COutOfMemory, AResultThatDoesNotFitAnyMoreIsAnErrorOfTheCallback) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes more address space than any limit leaves it";
#endif
  static constexpr std::size_t kBytes = std::size_t{256} << 20;
  Library library(LibraryKind::Fragment, "t");
  static Value result;
  library.def("long_text() -> str");
  library.impl("long_text", Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) {
                 stack.push(result);
               }));
  result = Value(std::string_view(std::string(kBytes, 'x')));
  const CFunction f = c_function(require_operator("t::long_text"));
  const auto call = f.as<int(char**)>();
  char* text = nullptr;
  {
    const MemoryLimit limit(kBytes / 2);
    EXPECT_EQ(call(&text), OPYARD_ERROR_OutOfMemory);
    EXPECT_EQ(text, nullptr);
  }
  opyard_clear_error();
  EXPECT_EQ(call(&text), OPYARD_OK);
  std::free(text);
  result = Value();
}

TEST(COutOfMemory, NumbersAndTensorsTakeNoMemoryAtAll) {
  const ServedByC nine(
      "nine(float a, float b, float c, float d, float e, float f, float g, float h, float i, bool "
      "negative) -> float",
      "c_nine");
  const ServedByC sum("sum(Tensor x) -> float", "c_sum");
  const ServedByC root("root(float x) -> float", "c_root");
  const CFunction f = c_function(root.op());
  const auto call = f.as<double(double)>();
  const Tensor x = doubles({1, 2});
  EXPECT_EQ(counting::requests_of([&] {
              InlineStack<10> stack;
              for (int i = 0; i < 9; ++i) stack.push(Value(1.0));
              stack.push(Value(true));
              nine.op().call_boxed(stack);
              EXPECT_EQ(stack[0].to_double(), -45.0);
            }),
            0);
  EXPECT_EQ(counting::requests_of([&] {
              InlineStack<1> stack;
              stack.borrow(x);
              sum.op().call_boxed(stack);
              EXPECT_EQ(stack[0].to_double(), 3.0);
            }),
            0);
  EXPECT_EQ(counting::requests_of([&] { EXPECT_EQ(call(8.0), 4.0); }), 0);
}

}  // namespace
}  // namespace opyard::test_c_out_of_memory
