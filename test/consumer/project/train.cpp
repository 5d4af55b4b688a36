// train.cpp: a program that uses gradients and the profiler from outside: it loads the library that
// it is given, and prints the gradient of an operator of it, and whether a profile saw the calls.
#include <opyard/autograd.h>
#include <opyard/detail/registry/typed.h>
#include <opyard/library.h>
#include <opyard/plugin/plugin.h>
#include <opyard/profiler/profile.h>
#include <opyard/profiler/session.h>

#include <cstdio>

int main(int, char** arguments) {
  opyard::load_library(arguments[1]);
  const auto halve =
      opyard::require_operator("consumer::halve").typed<opyard::Tensor(const opyard::Tensor&)>();
  const std::int64_t sizes[] = {1};
  const opyard::Tensor x = opyard::Tensor::empty(sizes), one = opyard::Tensor::empty(sizes);
  x.mutable_data<float>()[0] = 3;
  one.mutable_data<float>()[0] = 1;
  opyard::autograd::require_gradient(x);
  opyard::profiler::Session session({});
  const opyard::Tensor y = halve.call(x);
  opyard::autograd::backward({&y, 1}, {&one, 1});
  const opyard::profiler::Profile profile = opyard::profiler::replay(session.end());
  std::printf("gradient %g, calls %s\n", opyard::autograd::gradient_of(x).data<float>()[0],
              profile.span_count() > 1 ? "seen" : "missed");
}
