// consumer.cpp: the smallest program that uses Opyard and a library of operators from outside: it
// loads the library that it is given, calls an operator of it, and prints the version and the
// result.
#include <opyard/detail/registry/typed.h>
#include <opyard/library.h>
#include <opyard/plugin/plugin.h>
#include <opyard/version.h>

#include <cstdio>

int main(int, char** arguments) {
  opyard::load_library(arguments[1]);
  const auto halve =
      opyard::require_operator("consumer::halve").typed<opyard::Tensor(const opyard::Tensor&)>();
  const std::int64_t sizes[] = {2};
  const opyard::Tensor x = opyard::Tensor::empty(sizes);
  x.mutable_data<float>()[0] = 3;
  x.mutable_data<float>()[1] = 5;
  const opyard::Tensor y = halve.call(x);
  std::printf("%s: %g %g\n", opyard::version(), y.data<float>()[0], y.data<float>()[1]);
}
