// test/bench/cpp/hand_written.cpp: the cheapest dispatch that a hand can write, over a plain indirect call.
//
// No budget is kept here; the rows say what dispatching costs on this machine at all, so that the
// differences of Opyard's own rows can be read on another one. Two forms:
//
//   function   keys | include, & keep, & mask, two bit scans, a table of functions
//   record     the same, with a table of records, and a depth that is raised and lowered
#include "bench.h"

namespace opyard::bench {
namespace {

struct Record {
  const Tensor& (*function)(const void* context, std::uint64_t keys, const Tensor& x);
  const void* context;
};

const Tensor& pass(const void*, std::uint64_t, const Tensor& x) { return x; }
const Tensor& pass_plain(const Tensor& x) { return x; }
constexpr Record kRecord{&pass, nullptr};

struct Block {
  std::uint64_t include;
  std::uint64_t keep;
  std::uint64_t depth;
};
__thread Block block __attribute__((tls_model("initial-exec"))) = {0, ~std::uint64_t{0}, 0};

constexpr int kSlots = 8 * 16;

struct alignas(64) Table {
  std::uint64_t mask = ~std::uint64_t{0};
  decltype(Record::function) functions[kSlots];
  const Record* records[kSlots];

  Table() {
    for (auto& function : functions) function = &pass;
    for (auto& record : records) record = &kRecord;
  }
};

std::uint64_t highest_bit(std::uint64_t bits) { return 63u ^ unsigned(__builtin_clzll(bits)); }

enum class Form { Plain, Function, Record };

template <Form form, bool serialised>
void dispatch(benchmark::State& state) {
  const Tensor x = small_tensor();
  static const Table storage;
  const Table* const table = hidden(&storage);
  auto* const plain = hidden(&pass_plain);
  const auto slot = [&] {
    const std::uint64_t keys =
        (x.impl()->keys().raw() | block.include) & (block.keep & table->mask);
    return std::pair((highest_bit(keys) & 7) * 16 + highest_bit((keys & 0xffff) | 1), keys);
  };
  measure(state, [&] {
    if constexpr (form == Form::Plain) {
      benchmark::DoNotOptimize(&plain(x));
    } else if constexpr (form == Form::Function) {
      const auto [index, keys] = slot();
      benchmark::DoNotOptimize(&table->functions[index](nullptr, keys, x));
    } else {
      ++block.depth;
      const auto [index, keys] = slot();
      const Record& record = *table->records[index];
      benchmark::DoNotOptimize(&record.function(record.context, keys, x));
      --block.depth;
    }
    if constexpr (serialised) _mm_lfence();
  });
}

BENCHMARK(dispatch<Form::Plain, false>)->Name("hand_function/floor");
BENCHMARK(dispatch<Form::Function, false>)->Name("hand_function/ours");
BENCHMARK(dispatch<Form::Plain, true>)->Name("hand_function_serialised/floor");
BENCHMARK(dispatch<Form::Function, true>)->Name("hand_function_serialised/ours");
BENCHMARK(dispatch<Form::Plain, false>)->Name("hand_record/floor");
BENCHMARK(dispatch<Form::Record, false>)->Name("hand_record/ours");
BENCHMARK(dispatch<Form::Plain, true>)->Name("hand_record_serialised/floor");
BENCHMARK(dispatch<Form::Record, true>)->Name("hand_record_serialised/ours");

}  // namespace
}  // namespace opyard::bench
