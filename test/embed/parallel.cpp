// test/embed/parallel.cpp: two isolated interpreters of four threads each, which override one operator and
// read one array, while interpreters come and go.
#include "opyard/embed.h"
#include "opyard/inspect/inspect.h"

#include <atomic>
#include <thread>
#include <vector>

#include "check.h"
#include "opyard/library.h"

using opyard::Tensor;
using opyard::embed::Gil;
using opyard::embed::Inside;
using opyard::embed::Interpreter;
using opyard::embed::Python;

namespace {

Tensor sum(const Tensor& x, const Tensor& y) {
  Tensor result = Tensor::empty(x.sizes());
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    result.mutable_data<float>()[i] = x.data<float>()[i] + y.data<float>()[i];
  }
  return result;
}

OPYARD_LIBRARY(parallel, m) {
  m.def("sum(Tensor x, Tensor y) -> Tensor", &sum);
  m.def("add(Tensor x, Tensor y) -> Tensor", &sum);
}

// Adds a number of its own.
std::string kernel(int number) {
  return "import opyard\n"
         "from opyard.library import Library\n"
         "own = opyard.tensor([float(" +
         std::to_string(number) +
         ")] * 8)\n"
         "library = Library('parallel', 'IMPL', 'CPU')\n"
         "library.impl('add', lambda x, y: opyard.ops.parallel.sum("
         "opyard.ops.parallel.sum(x, y), own))\n";
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 300;
  Python python;
  const Gil gil = python.can_isolate() ? Gil::Own : Gil::Shared;
  const Tensor shared = Tensor::empty(std::vector<std::int64_t>{8});
  for (int i = 0; i < 8; ++i) shared.mutable_data<float>()[i] = 1;
  {
    Interpreter first(python, gil);
    Interpreter second(python, gil);
    first.run(kernel(10));
    second.run(kernel(20));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int n = 0; n < 8; ++n) {
      threads.emplace_back([&, n] {
        Interpreter& place = n % 2 == 0 ? first : second;
        const float want = n % 2 == 0 ? 12 : 22;
        const auto add =
            opyard::require_operator("parallel::add").typed<Tensor(const Tensor&, const Tensor&)>();
        for (int round = 0; round < rounds; ++round) {
          const Inside inside(place);
          const Tensor mine = shared.alias();
          if (add.call(mine, mine).data<float>()[7] != want) ++wrong;
        }
      });
    }
    for (int n = 0; n < 5; ++n) {
      Interpreter guest(python, gil);
      guest.run(kernel(30));
      const Inside inside(guest);
      const Tensor mine = shared.alias();
      const auto add =
          opyard::require_operator("parallel::add").typed<Tensor(const Tensor&, const Tensor&)>();
      if (add.call(mine, mine).data<float>()[0] != 32) ++wrong;
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
  opyard::inspect::check_invariants();
  std::puts("fine");
}
