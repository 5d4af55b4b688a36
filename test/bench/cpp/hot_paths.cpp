// test/bench/cpp/hot_paths.cpp: one hot path so many times, for counting instructions.
//
//   hot_paths <path> <times>      runs it; without arguments lists the paths
//
// Counted by callgrind (test/bench/instructions.py), which neighbours and the clock do not disturb.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hot_graphs.h"
#include "opyard/ffi/c_function.h"
#include "opyard/library.h"
#include "opyard/observe/observer.h"

namespace opyard::bench {
namespace {

using K = DispatchKey;

// The compiler must neither see through a value nor leave out what makes it.
template <typename T>
[[gnu::always_inline]] inline void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

const Tensor& by_reference(const Tensor& x) { return x; }
Tensor counted(const Tensor& x, const Tensor&) { return x; }
Tensor four(const Tensor& x, const Tensor&, const Tensor&, const Tensor&) { return x; }
std::int64_t number(const Tensor&, std::int64_t n) { return n; }
Tensor listed(const std::vector<Tensor>& x) { return x.front(); }
double half(double x) { return x / 2; }
int look(const dlpack::DLTensor*, const dlpack::DLTensor*) { return OPYARD_OK; }
void pass_boxed(const Operator&, DispatchKeySet, Stack&) {}
void go_on(const Operator& op, DispatchKeySet keys, Stack& stack) {
  op.redispatch_boxed(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, K::Tracer), stack);
}
const Tensor& layer(DispatchKeySet keys, const Tensor& x) {
  static const auto op = require_operator("hot::hop").typed<const Tensor&(const Tensor&)>();
  return op.redispatch(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, K::AutogradCPU), x);
}

class Quiet : public Observer {
 public:
  void on_enter(const Operator&, DispatchKeySet, const Stack*) noexcept override {}
  void on_exit(const Operator&, bool, const Stack*) noexcept override {}
};

// The operators, and a tensor to call them with.
struct Subjects {
  Subjects() {
    const auto define = [this](const char* name, const char* arguments, auto&& kernel) {
      library.def(std::string(name) + arguments);
      library.impl(name, K::CPU, std::forward<decltype(kernel)>(kernel));
    };
    define("reference", "(Tensor x) -> Tensor", &by_reference);
    define("counted", "(Tensor x, Tensor y) -> Tensor", &counted);
    define("four", "(Tensor a, Tensor b, Tensor c, Tensor d) -> Tensor", &four);
    define("number", "(Tensor x, int n) -> int", &number);
    define("listed", "(Tensor[] x) -> Tensor", &listed);
    define("boxed", "(Tensor x) -> Tensor", &pass_boxed);
    define("hop", "(Tensor x) -> Tensor", &by_reference);
    library.impl("hop", K::AutogradCPU, &layer);
    define("fallback", "(Tensor x) -> Tensor", &by_reference);
    library.impl("fallback", K::Tracer, &go_on);
  }
  template <typename Signature>
  static TypedOperator<Signature> find(const char* name) {
    return require_operator(std::string("hot::") + name).typed<Signature>();
  }

  Library library{LibraryKind::Def, "hot"};
  const Tensor x = [] {
    const std::int64_t sizes[] = {4};
    return Tensor::empty(sizes);
  }();
};

using Unary = const Tensor&(const Tensor&);

void typed_reference(const Subjects& s, long times) {
  const auto op = s.find<Unary>("reference");
  while (times-- > 0) keep(op.call(s.x));
}
void typed_counted(const Subjects& s, long times) {
  const auto op = s.find<Tensor(const Tensor&, const Tensor&)>("counted");
  while (times-- > 0) keep(op.call(s.x, s.x));
}
void typed_four(const Subjects& s, long times) {
  const auto op =
      s.find<Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&)>("four");
  while (times-- > 0) keep(op.call(s.x, s.x, s.x, s.x));
}
void typed_number(const Subjects& s, long times) {
  const auto op = s.find<std::int64_t(const Tensor&, std::int64_t)>("number");
  while (times-- > 0) keep(op.call(s.x, times));
}
void typed_list(const Subjects& s, long times) {
  const auto op = s.find<Tensor(const std::vector<Tensor>&)>("listed");
  const std::vector<Tensor> list{s.x, s.x};
  while (times-- > 0) keep(op.call(list));
}
void typed_to_boxed(const Subjects& s, long times) {
  const auto op = s.find<Tensor(const Tensor&)>("boxed");
  while (times-- > 0) keep(op.call(s.x));
}
void redispatch(const Subjects& s, long times) {
  const auto op = s.find<Unary>("hop");
  while (times-- > 0) keep(op.call(s.x));
}
void boxed(const Subjects& s, long times) {
  const Operator& op = require_operator("hot::counted");
  while (times-- > 0) {
    InlineStack<2> stack;
    stack.borrow(s.x);
    stack.borrow(s.x);
    op.call_boxed(stack);
    keep(stack);
  }
}
void boxed_unchecked(const Subjects& s, long times) {
  const Operator& op = require_operator("hot::counted");
  while (times-- > 0) {
    InlineStack<2> stack;
    stack.borrow(s.x);
    stack.borrow(s.x);
    op.call_boxed_unchecked(stack);
    keep(stack);
  }
}
void registers(const Subjects& s, long times) {
  const Operator& op = require_operator("hot::counted");
  const Value x = s.x;
  Value result;
  while (times-- > 0) {
    const Value* const arguments[] = {&x, &x};
    Value* const results[] = {&result};
    op.call_from_registers({arguments, results});
    keep(result);
  }
}
void boxed_fallback(const Subjects& s, long times) {
  const Operator& op = require_operator("hot::fallback");
  const IncludeDispatchKeyGuard include(K::Tracer);
  while (times-- > 0) {
    InlineStack<1> stack;
    stack.borrow(s.x);
    op.call_boxed(stack);
    keep(stack);
  }
}
void guards(const Subjects&, long times) {
  while (times-- > 0) {
    const IncludeDispatchKeyGuard include(K::Tracer);
    const ExcludeDispatchKeyGuard exclude(K::AutogradFunctionality);
    keep(include);
  }
}
void observed(const Subjects& s, long times) {
  const auto op = s.find<Unary>("reference");
  Quiet observer;
  const ObserverGuard guard(observer);
  while (times-- > 0) keep(op.call(s.x));
}

const Operator& serve_by_c(const char* schema, const void* function) {
  auto& library = *new Library(LibraryKind::Fragment, "hot");  // for ever
  const Operator& op = Registry::instance().require(library.def(schema));
  library.impl(to_string(op.name()), c_kernel(op, function, "a function of hot_paths"));
  return op;
}
void c_function_number(const Subjects&, long times) {
  const Operator& op =
      serve_by_c("c_number(float x) -> float", reinterpret_cast<const void*>(&half));
  while (times-- > 0) {
    InlineStack<1> stack;
    stack.push(Value(1.0));
    op.call_boxed(stack);
    keep(stack);
  }
}
void c_function_tensors(const Subjects& s, long times) {
  const Operator& op =
      serve_by_c("c_tensors(Tensor x, Tensor y) -> ()", reinterpret_cast<const void*>(&look));
  while (times-- > 0) {
    InlineStack<2> stack;
    stack.borrow(s.x);
    stack.borrow(s.x);
    op.call_boxed(stack);
    keep(stack);
  }
}
void callback(const Subjects&, long times) {
  const CFunction made(
      serve_by_c("c_callback(float x) -> float", reinterpret_cast<const void*>(&half)));
  const auto function = made.as<double(double)>();
  while (times-- > 0) keep(function(1.0));
}

void graph_operator(const Subjects& s, long times) { run_graph_operator(s.x, times); }
void graph_int(const Subjects&, long times) { run_graph_int(times); }
void graph_enter(const Subjects& s, long times) { run_graph_enter(s.x, times); }

struct Path {
  const char* name;
  void (*run)(const Subjects&, long);
};
#define PATH(name) {#name, name}
constexpr Path kPaths[] = {
    PATH(typed_reference), PATH(typed_counted),     PATH(typed_four),         PATH(typed_number),
    PATH(typed_list),      PATH(typed_to_boxed),    PATH(redispatch),         PATH(boxed),
    PATH(boxed_unchecked), PATH(registers),         PATH(boxed_fallback),     PATH(guards),
    PATH(observed),        PATH(c_function_number), PATH(c_function_tensors), PATH(callback),
    PATH(graph_operator),  PATH(graph_int),         PATH(graph_enter)};
#undef PATH

int main(int count, char** words) {
  if (count == 1) {
    for (const Path& path : kPaths) std::puts(path.name);
    return 0;
  }
  const Subjects subjects;
  for (const Path& path : kPaths) {
    if (count == 3 && std::strcmp(path.name, words[1]) == 0) {
      path.run(subjects, std::atol(words[2]));
      return 0;
    }
  }
  std::fprintf(stderr, "usage: %s [path times]\n", words[0]);
  return 2;
}

}  // namespace
}  // namespace opyard::bench

int main(int count, char** words) { return opyard::bench::main(count, words); }
