// test/embed/life.cpp: beginning, using and ending interpreters, and refused uses.
#include "opyard/embed.h"

#include <thread>
#include <vector>

#include "check.h"
#include "opyard/library.h"

using opyard::ErrorKind;
using opyard::embed::Gil;
using opyard::embed::Inside;
using opyard::embed::Interpreter;
using opyard::embed::Python;

OPYARD_LIBRARY(life, m) { m.def("f(Tensor x) -> Tensor"); }

namespace {

constexpr const char* kKernel = R"(
from opyard.library import Library
library = Library("life", "IMPL", "CPU")
library.impl("f", lambda x: x + 1)
)";

opyard::Tensor call(const opyard::Tensor& x) {
  return opyard::require_operator("life::f").typed<opyard::Tensor(const opyard::Tensor&)>().call(x);
}

}  // namespace

int main() {
  Python python;
  const Gil gil = python.can_isolate() ? Gil::Own : Gil::Shared;
  CHECK(thrown(ErrorKind::BadRegistration, [] { const Python second; }) ==
        "there is a Python object in this process already");
  if (!python.can_isolate()) {
    CHECK(
        thrown(ErrorKind::Unsupported, [&] {
          const Interpreter own(python);
        }).starts_with("interpreters with a GIL of their own need CPython 3.12, and this is 3.1"));
  }
  python.run("main = 1");
  const std::string failed = thrown(ErrorKind::Python, [&] { python.run("1 / 0"); });
  CHECK(failed.starts_with("the main interpreter: Traceback (most recent call last):"));
  CHECK(failed.ends_with("ZeroDivisionError: division by zero\n"));

  Interpreter first(python, gil);
  Interpreter second(python, gil);
  CHECK(first.number() > 0 && second.number() != first.number());
  first.run("assert 'main' not in globals()");
  first.run(kKernel);
  opyard::Tensor x = opyard::Tensor::empty(std::vector<std::int64_t>{1});
  x.mutable_data<float>()[0] = 1;
  CHECK(call(x.alias()).data<float>()[0] == 2);  // on a thread in none: enters the kernel's owner
  {
    const Inside inside(first);
    CHECK(call(x.alias()).data<float>()[0] == 2);
    first.run("assert library is not None");  // on this thread, which is inside already
    for (const auto& wrong : {std::string("the beginning of an interpreter"),
                              std::string("entering embedded interpreter")}) {
      const std::string said = thrown(ErrorKind::BadRegistration, [&] {
        if (wrong.starts_with("the")) {
          const Interpreter third(python, gil);
        } else {
          const Inside twice(second);
        }
      });
      CHECK(said.starts_with(wrong));
      CHECK(
          said.ends_with(" was wanted on a thread that is in an interpreter, which would wait for "
                         "itself; do it on a thread that is in none"));
    }
    CHECK(thrown(ErrorKind::BadRegistration, [&] {
            first.end();
          }).starts_with("the end of embedded"));
    std::thread([&] {
      CHECK(thrown(ErrorKind::BadRegistration, [&] {
              first.end();
            }).ends_with(" cannot end while a thread is inside (1 of them)"));
    }).join();
  }
  {
    const Inside inside(second);
    CHECK(
        thrown(ErrorKind::NoKernel, [&] { call(x.alias()); }).starts_with("life::f has no kernel"));
  }
  CHECK(thrown(ErrorKind::BadRegistration, [&] { python.end(); }) ==
        "Python cannot end while 2 further interpreters live; end them first");
  first.end();
  first.end();  // once is enough
  CHECK(thrown(ErrorKind::InterpreterGone, [&] { first.run("1"); }).ends_with(" has ended"));
  CHECK(thrown(ErrorKind::NoKernel, [&] { call(x.alias()); }).starts_with("life::f has no kernel"));
  std::puts("fine");
}
