// test/embed/cycles.cpp: memory that is left after Python, or an interpreter, has begun and ended again and
// again. Prints the bytes in use after each cycle.
//
//   cycles KIND COUNT                     cycles that use Opyard: python, legacy or isolated
//   cycles compare COUNT CONTROL PROGRAM  cycles of Python alone that run CONTROL, then as many that run PROGRAM
#include "opyard/embed.h"

#include <malloc.h>

#include <dlfcn.h>

#include "check.h"

namespace {

constexpr const char* kUse =
    "from opyard.library import Library\n"
    "library = Library('cycles', 'DEF')\n"
    "library.define('f(Tensor x) -> Tensor')\n"
    "library.impl('f', lambda x: x + 1, 'CPU')\n"
    "assert opyard.ops.cycles.f(opyard.tensor([1.0])).tolist() == [2.0]\n";

template <typename Function>
Function* find(const char* name) {
  auto* const function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  CHECK(function != nullptr);
  return function;
}

void report() {
  const struct mallinfo2 now = mallinfo2();
  std::printf("%zu\n", now.uordblks + now.hblkhd);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "python";
  const int cycles = count > 2 ? std::atoi(arguments[2]) : 12;
  if (what == "compare") {
    CHECK(count == 5);
    CHECK(dlopen(std::getenv("OPYARD_LIBPYTHON"), RTLD_NOW | RTLD_GLOBAL) != nullptr);
    for (int n = 0; n < 2 * cycles; ++n) {
      find<void(int)>("Py_InitializeEx")(0);
      CHECK(find<int(const char*, void*)>("PyRun_SimpleStringFlags")(arguments[n < cycles ? 3 : 4],
                                                                     nullptr) == 0);
      CHECK(find<int()>("Py_FinalizeEx")() == 0);
      report();
    }
    return 0;
  }
  if (what == "python") {
    for (int n = 0; n < cycles; ++n) {
      opyard::embed::Python python;
      python.run("import opyard\n" + std::string(kUse));
      python.end();
      report();
    }
    return 0;
  }
  opyard::embed::Python python;
  using opyard::embed::Gil;
  const Gil gil = python.can_isolate() && what == "isolated" ? Gil::Own : Gil::Shared;
  for (int n = 0; n < cycles; ++n) {
    opyard::embed::Interpreter interpreter(python, gil);
    interpreter.run("import opyard\n" + std::string(kUse));
    interpreter.end();
    report();
  }
}
