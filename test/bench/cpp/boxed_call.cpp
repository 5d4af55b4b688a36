// test/bench/cpp/boxed_call.cpp: journeys 2 and 7, calling an unboxed kernel with boxes and from registers.
//
// The floor is the cheapest boxed call that a hand can write: two 16-byte values on the C stack
// that only borrow their tensors, a wrapper that takes them apart for a kernel it knows by
// pointer and moves the result into the first of them, and a caller that lets the result go.
// What remains are the two counts of a result that someone owns.
#include "bench.h"

namespace opyard::bench {
namespace {

Tensor pass_first(const Tensor& x, const Tensor&) { return x; }
using Pair = Tensor(const Tensor&, const Tensor&);

// Floor.
struct Box {
  std::uint64_t kind;
  TensorImpl* pointer;
};
constexpr std::uint64_t kTensorBox = 1;

// A handle on what a box points to, without an owner of its own.
const Tensor& borrowed(const Box& box) { return reinterpret_cast<const Tensor&>(box.pointer); }

void run_boxes(void* function, Box* boxes) {
  if (boxes[0].kind != kTensorBox || boxes[1].kind != kTensorBox) __builtin_trap();
  Tensor result = reinterpret_cast<Pair*>(function)(borrowed(boxes[0]), borrowed(boxes[1]));
  boxes[0] = {kTensorBox, result.release_impl()};
}

void boxed_floor(benchmark::State& state) {
  const Tensor x = small_tensor();
  const Tensor y = small_tensor();
  void (*const run)(void*, Box*) = hidden(&run_boxes);
  void* const function = hidden(reinterpret_cast<void*>(&pass_first));
  measure(state, [&] {
    Box boxes[2] = {{kTensorBox, x.impl().get()}, {kTensorBox, y.impl().get()}};
    run(function, boxes);
    benchmark::DoNotOptimize(boxes[0].pointer);
    CountedPtr<TensorImpl>::steal(boxes[0].pointer).reset();
  });
}

// Ours.
const Operator& pair_operator() {
  static const Operator& op = []() -> const Operator& {
    auto& library = *new Library(LibraryKind::Def, "bench_boxed");  // for ever
    library.def("pair(Tensor x, Tensor y) -> Tensor");
    library.impl("pair", DispatchKey::CPU, &pass_first);
    return require_operator("bench_boxed::pair");
  }();
  return op;
}

template <void (Operator::*call)(Stack&) const>
void boxed_ours(benchmark::State& state) {
  const Operator& op = pair_operator();
  const Tensor x = small_tensor();
  const Tensor y = small_tensor();
  measure(state, [&] {
    InlineStack<2> stack;
    stack.borrow(x);
    stack.borrow(y);
    (op.*call)(stack);
    benchmark::DoNotOptimize(stack[0]);
  });
}

// From registers: what a graph does for each of its instructions. The floor is the record's own
// function, known by pointer and called with the same values: it takes the tensors out, calls the
// kernel and writes its result. What remains is the dispatch. The result of the call before is
// dropped in both.
template <typename Call>
void from_registers(benchmark::State& state, const Call& call) {
  const Value x = small_tensor();
  const Value y = small_tensor();
  Value result;
  measure(state, [&] {
    const Value* const arguments[] = {hidden(&x), hidden(&y)};
    Value* const results[] = {hidden(&result)};
    call(RegisterCall{arguments, results});
    benchmark::DoNotOptimize(result);
  });
}
void registers_floor(benchmark::State& state) {
  constexpr DispatchKeySet kKeys(DispatchKey::CPU);
  const Record& record = pair_operator().record(kKeys);
  const RegisterFunction function = hidden(record.from_registers);
  const TypedFunction typed = hidden(record.typed);
  from_registers(state,
                 [&](const RegisterCall& call) { function(typed, record.context, kKeys, call); });
}
void registers_ours(benchmark::State& state) {
  const Operator& op = pair_operator();
  from_registers(state, [&](const RegisterCall& call) { op.call_from_registers(call); });
}

BENCHMARK(registers_floor)->Name("registers/floor");
BENCHMARK(registers_ours)->Name("registers/ours");
BENCHMARK(boxed_floor)->Name("boxed/floor");
BENCHMARK(boxed_ours<&Operator::call_boxed>)->Name("boxed/ours");
BENCHMARK(boxed_floor)->Name("boxed_unchecked/floor");
BENCHMARK(boxed_ours<&Operator::call_boxed_unchecked>)->Name("boxed_unchecked/ours");

}  // namespace
}  // namespace opyard::bench
