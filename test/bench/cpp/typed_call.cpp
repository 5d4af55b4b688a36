// test/bench/cpp/typed_call.cpp: journey 1, calling an operator from C++ through a typed handle.
//
// The floor of each row is a call through a function pointer that the compiler cannot see
// through. Three settings, because in a plain loop the predictor hides a dispatch entirely:
// predicted, serialised by lfence, and 32 operators with a kernel each in random order.
#include <array>
#include <string>
#include <utility>

#include "bench.h"

namespace opyard::bench {
namespace {

constexpr int kOperators = 32;

const Tensor& pass_reference(const Tensor& x) { return x; }
Tensor pass_counted(const Tensor& x) { return x; }

// Distinct functions, so that random order means random targets.
template <int index>
const Tensor& pass_one_of_many(const Tensor& x) {
  benchmark::DoNotOptimize(index);
  return x;
}

using Reference = const Tensor&(const Tensor&);
using Counted_ = Tensor(const Tensor&);

// The operators of this file. Handles are made once, as a caller would.
class Operators {
 public:
  static const Operators& instance() {
    static const Operators& operators = *new Operators;  // for ever, like the registry
    return operators;
  }

  TypedOperator<Reference> reference() const { return *reference_; }
  TypedOperator<Reference> direct() const { return *direct_; }
  TypedOperator<Counted_> counted() const { return *counted_; }
  TypedOperator<Reference> hop() const { return *hop_; }
  TypedOperator<Reference> direct_hop() const { return *direct_hop_; }
  const std::vector<TypedOperator<Reference>>& many() const { return many_; }
  const std::array<Reference*, kOperators>& functions() const { return functions_; }

 private:
  Operators() : library_(LibraryKind::Def, "bench_typed") {
    reference_ = define<Reference>("reference", &pass_reference);
    direct_ = define<Reference>("direct", Kernel::from<&pass_reference>());
    counted_ = define<Counted_>("counted", &pass_counted);
    hop_ = define<Reference>("hop", &pass_reference);
    library_.impl("hop", DispatchKey::AutogradCPU, &hop_on);
    direct_hop_ = define<Reference>("direct_hop", &pass_reference);
    library_.impl("direct_hop", DispatchKey::AutogradCPU, Kernel::from<&direct_hop_on>());
    define_many(std::make_integer_sequence<int, kOperators>());
  }

  template <typename Signature, typename F>
  std::optional<TypedOperator<Signature>> define(const std::string& name, F&& kernel) {
    library_.def(name + "(Tensor x) -> Tensor");
    library_.impl(name, DispatchKey::CPU, std::forward<F>(kernel));
    return require_operator("bench_typed::" + name).typed<Signature>();
  }
  template <int... index>
  void define_many(std::integer_sequence<int, index...>) {
    functions_ = {&pass_one_of_many<index>...};
    for (int i = 0; i < kOperators; ++i) {
      many_.push_back(*define<Reference>("many" + std::to_string(i), functions_[std::size_t(i)]));
    }
  }
  // A layer as a user writes one: look, mask, go on below.
  static const Tensor& hop_on(DispatchKeySet keys, const Tensor& x) {
    constexpr DispatchKeySet below(DispatchKeySet::FULL_AFTER, DispatchKey::AutogradCPU);
    return hop_->redispatch(keys & below, x);
  }
  static const Tensor& direct_hop_on(DispatchKeySet keys, const Tensor& x) {
    constexpr DispatchKeySet below(DispatchKeySet::FULL_AFTER, DispatchKey::AutogradCPU);
    return direct_hop_->redispatch(keys & below, x);
  }

  static inline std::optional<TypedOperator<Reference>> hop_;
  static inline std::optional<TypedOperator<Reference>> direct_hop_;
  Library library_;
  std::optional<TypedOperator<Reference>> reference_;
  std::optional<TypedOperator<Reference>> direct_;
  std::optional<TypedOperator<Counted_>> counted_;
  std::vector<TypedOperator<Reference>> many_;
  std::array<Reference*, kOperators> functions_;
};

void call_pointer(benchmark::State& state) {
  const Tensor x = small_tensor();
  Reference* const function = hidden(&pass_reference);
  measure(state, [&] { benchmark::DoNotOptimize(&function(x)); });
}
void call_operator(benchmark::State& state, const TypedOperator<Reference>& op) {
  const Tensor x = small_tensor();
  benchmark::DoNotOptimize(&op.call(x));  // a thread's first call enters it
  measure(state, [&] { benchmark::DoNotOptimize(&op.call(x)); });
}

void reference_floor(benchmark::State& state) { call_pointer(state); }
void reference_ours(benchmark::State& state) {
  call_operator(state, Operators::instance().reference());
}
BENCHMARK(reference_floor)->Name("typed_reference/floor");
BENCHMARK(reference_ours)->Name("typed_reference/ours");

void direct_ours(benchmark::State& state) { call_operator(state, Operators::instance().direct()); }
BENCHMARK(reference_floor)->Name("typed_direct/floor");
BENCHMARK(direct_ours)->Name("typed_direct/ours");

// The same in a program that has 10,000 operators.
void among_many_ours(benchmark::State& state) {
  static Library& many = [&]() -> Library& {
    auto& library = *new Library(LibraryKind::Def, "bench_among_many");  // for ever
    for (int i = 0; i < 10'000; ++i) {
      const std::string name = "op" + std::to_string(i);
      library.def(name + "(Tensor x) -> Tensor");
      library.impl(name, DispatchKey::CPU, &pass_reference);
    }
    return library;
  }();
  benchmark::DoNotOptimize(&many);
  call_operator(state, require_operator("bench_among_many::op7777").typed<Reference>());
}
BENCHMARK(reference_floor)->Name("typed_among_many/floor");
BENCHMARK(among_many_ours)->Name("typed_among_many/ours");

void two_threads_floor(benchmark::State& state) {
  pin_thread(state.thread_index());
  call_pointer(state);
}
void two_threads_ours(benchmark::State& state) {
  pin_thread(state.thread_index());
  call_operator(state, Operators::instance().reference());
}
BENCHMARK(two_threads_floor)->Name("typed_two_threads/floor")->Threads(2);
BENCHMARK(two_threads_ours)->Name("typed_two_threads/ours")->Threads(2);

void serialised_floor(benchmark::State& state) {
  const Tensor x = small_tensor();
  Reference* const function = hidden(&pass_reference);
  measure_serialised(state, [&] { benchmark::DoNotOptimize(&function(x)); });
}
void serialised_ours(benchmark::State& state) {
  const TypedOperator<Reference> op = Operators::instance().reference();
  const Tensor x = small_tensor();
  measure_serialised(state, [&] { benchmark::DoNotOptimize(&op.call(x)); });
}
BENCHMARK(serialised_floor)->Name("typed_serialised/floor");
BENCHMARK(serialised_ours)->Name("typed_serialised/ours");

// One operator after the other, in an order that no predictor has learned.
template <typename Call>
void in_random_order(benchmark::State& state, Call&& call) {
  const std::vector<std::uint8_t> order = random_order(kOperators);
  std::uint16_t at = 0;
  measure(state, [&] { call(order[at++]); });
}
void random_floor(benchmark::State& state) {
  const Tensor x = small_tensor();
  const auto& functions = Operators::instance().functions();
  in_random_order(state, [&](std::size_t i) { benchmark::DoNotOptimize(&functions[i](x)); });
}
void random_ours(benchmark::State& state) {
  const Tensor x = small_tensor();
  const auto& many = Operators::instance().many();
  in_random_order(state, [&](std::size_t i) { benchmark::DoNotOptimize(&many[i].call(x)); });
}
BENCHMARK(random_floor)->Name("typed_random/floor");
BENCHMARK(random_ours)->Name("typed_random/ours");

void counted_floor(benchmark::State& state) {
  const Tensor x = small_tensor();
  Counted_* const function = hidden(&pass_counted);
  measure(state, [&] { benchmark::DoNotOptimize(function(x)); });
}
void counted_ours(benchmark::State& state) {
  const TypedOperator<Counted_> op = Operators::instance().counted();
  const Tensor x = small_tensor();
  measure(state, [&] { benchmark::DoNotOptimize(op.call(x)); });
}
BENCHMARK(counted_floor)->Name("typed_counted/floor");
BENCHMARK(counted_ours)->Name("typed_counted/ours");

void hop_ours(benchmark::State& state) { call_operator(state, Operators::instance().hop()); }
BENCHMARK(reference_ours)->Name("redispatch/floor");
BENCHMARK(hop_ours)->Name("redispatch/ours");

void direct_hop_ours(benchmark::State& state) {
  call_operator(state, Operators::instance().direct_hop());
}
BENCHMARK(reference_ours)->Name("redispatch_direct/floor");
BENCHMARK(direct_hop_ours)->Name("redispatch_direct/ours");

}  // namespace
}  // namespace opyard::bench
