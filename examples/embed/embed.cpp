// examples/embed/embed.cpp: a C++ program whose kernels are Python functions, one interpreter a thread.
//
// Each thread begins an interpreter of its own, runs the same Python text there, and then calls the
// operator from C++. The operator is one; the function that a call runs is that of the interpreter
// that the thread is in. All read one array, without a copy.
//
//   ./embed [threads [calls]]
#include <opyard/embed.h>
#include <opyard/library.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace {

// The operator is the program's own; no C++ kernel is below it.
OPYARD_LIBRARY(host, m) { m.def("score(Tensor x, int round) -> float"); }

constexpr const char* kKernel = R"(
from opyard.library import Library

library = Library("host", "IMPL", "CPU")
seen = 0

def score(x, round):
    global seen
    seen += 1
    total = 0
    for n in range(500):      # what only Python can do, at great length
        total += n * round % 7
    return x[0].item() + total

library.impl("score", score)
)";

// What one thread does with its interpreter.
double work(opyard::embed::Interpreter& interpreter, const opyard::Tensor& shared, int calls) {
  interpreter.run(kKernel);
  const opyard::embed::Inside inside(interpreter);
  // A tensor belongs to the interpreter that sees it, so each one sees an alias. The memory is the
  // same.
  const opyard::Tensor mine = shared.alias();
  const auto score =
      opyard::require_operator("host::score").typed<double(const opyard::Tensor&, std::int64_t)>();
  double sum = 0;
  for (int round = 0; round < calls; ++round) sum += score.call(mine, round);
  return sum;
}

int run(int threads, int calls) {
  opyard::embed::Python python;  // the libpython of OPYARD_LIBPYTHON, or the newest one there is
  const auto gil = python.can_isolate() ? opyard::embed::Gil::Own : opyard::embed::Gil::Shared;
  const opyard::Tensor shared = opyard::Tensor::empty(std::vector<std::int64_t>{4});
  for (int i = 0; i < 4; ++i) shared.mutable_data<float>()[i] = 1;

  std::vector<double> sums(static_cast<std::size_t>(threads));
  std::vector<std::thread> pool;
  const auto begin = std::chrono::steady_clock::now();
  for (double& sum : sums) {
    pool.emplace_back([&] {
      try {
        opyard::embed::Interpreter own(python, gil);
        sum = work(own, shared, calls);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        std::exit(1);
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("Python %s, %d interpreters, %d calls each: %.0f ms\n", python.version().c_str(),
              threads, calls, took.count() * 1000);
  for (const double sum : sums) std::printf("%.1f\n", sum);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const int threads = count > 1 ? std::atoi(arguments[1]) : 2;
  const int calls = count > 2 ? std::atoi(arguments[2]) : 1000;
  try {
    return run(threads, calls);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
