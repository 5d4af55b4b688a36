// test_registration_order.cpp: protects that a table does not remember how it came about (B27).
// Suspect dispatcher/src/registry/operator_entry.cpp.
//
// For each set of registrations, every order of making them and every order of taking them
// back is played. After each step the stored table must equal the computed one, the computed
// one must be that of the registrations that are there, and calls must go where they go when
// the same registrations are made afresh.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "../registering.h"

namespace opyard::test_registration_order {
namespace {

using K = DispatchKey;
using Make = std::function<Registration()>;
using Set = std::vector<Make>;

constexpr const char* kSchema = "t::f(Tensor x) -> Tensor";

Make definition() {
  return [] { return define(kSchema); };
}
Make kernel(K key) {
  return [key] { return implement("t::f", key, echo(to_string(key)), to_string(key)); };
}
Make boxed(K key) {
  return [key] { return implement("t::f", key, boxed_echo(to_string(key)), to_string(key)); };
}
Make passing(K key) {
  return [key] { return implement("t::f", key, Kernel::fallthrough(), "passing"); };
}
Make fallback(K key) {
  return [key] { return registry().implement_fallback(key, boxed_echo("fallback"), "fallback"); };
}
Make passing_fallback(K key) {
  return [key] { return registry().implement_fallback(key, Kernel::fallthrough(), "passing"); };
}

// All that can be seen of the operator: dump, table, and where calls go.
std::string picture() {
  inspect::check_invariants();
  std::string text = dump("t::f") + dump_table("t::f");
  if (registry().find({"t::f", ""}) == nullptr) return text;
  for (const DispatchKeySet keys :
       {DispatchKeySet(), DispatchKeySet{K::CPU}, DispatchKeySet{K::CPU, K::AutogradCPU},
        DispatchKeySet{K::XLA, K::AutogradXLA}, DispatchKeySet{K::SparseCPU, K::AutogradOther},
        DispatchKeySet{K::QuantizedCPU},
        DispatchKeySet{K::NestedTensorCPU, K::AutogradNestedTensor},
        DispatchKeySet{K::CPU, K::Batched, K::Tracer}}) {
    text += to_string(keys) + " -> " + who_ran("t::f", keys) + "\n";
  }
  return text;
}

// One set, and what each part of it looks like when it is made afresh in the order written.
class Player {
 public:
  explicit Player(Set set) : set_(std::move(set)), live_(set_.size()) {
    for (std::size_t part = 0; part < std::size_t{1} << set_.size(); ++part) {
      std::vector<Registration> made;
      for (std::size_t i = 0; i < set_.size(); ++i) {
        if ((part >> i & 1) != 0) made.push_back(set_[i]());
      }
      expected_.push_back(picture());
    }
  }

  void play(const std::vector<std::size_t>& making, const std::vector<std::size_t>& taking) {
    const bool seen = !std::is_sorted(taking.begin(), taking.end());  // this order of making
    for (const std::size_t i : making) {
      live_[i] = set_[i]();
      if (!seen) check(making, taking, true);
    }
    for (const std::size_t i : taking) {
      live_[i].undo();
      check(making, taking, false);
    }
  }

  // Every order of making with every order of taking back; only the former with one of the
  // latter, and the other way round, where `both` is false.
  void play_all(bool both) {
    std::vector<std::size_t> first(set_.size());
    std::iota(first.begin(), first.end(), 0);
    std::vector<std::size_t> making = first;
    do {
      if (!both) {
        play(making, first);
        play(first, making);
        continue;
      }
      std::vector<std::size_t> taking = first;
      do {
        play(making, taking);
      } while (std::next_permutation(taking.begin(), taking.end()) && !testing::Test::HasFailure());
    } while (std::next_permutation(making.begin(), making.end()) && !testing::Test::HasFailure());
  }

 private:
  void check(const std::vector<std::size_t>& making, const std::vector<std::size_t>& taking,
             bool while_making) {
    std::size_t part = 0;
    for (std::size_t i = 0; i < live_.size(); ++i) part |= std::size_t{bool(live_[i])} << i;
    EXPECT_EQ(picture(), expected_[part])
        << "made in the order " << testing::PrintToString(making) << ", unregistered in the order "
        << testing::PrintToString(taking)
        << (while_making ? ", while making" : ", while taking back");
  }

  const Set set_;
  std::vector<Registration> live_;
  std::vector<std::string> expected_;
};

struct NamedSet {
  const char* name;
  Set set;
};
void PrintTo(const NamedSet& set, std::ostream* out) { *out << set.name; }

std::vector<NamedSet> sets() {
  return {
      {"BackendAndAutograd",
       {definition(), kernel(K::CPU), kernel(K::AutogradCPU), kernel(K::Autograd)}},
      {"MathAndABackend",
       {definition(), kernel(K::CompositeImplicitAutograd), kernel(K::CPU), kernel(K::Autograd)}},
      {"MathAndASparseBackend",
       {definition(), kernel(K::CompositeImplicitAutograd), kernel(K::SparseCPU),
        kernel(K::AutogradOther)}},
      {"MathAndAQuantizedBackend",
       {definition(), kernel(K::CompositeImplicitAutograd), kernel(K::QuantizedCPU),
        kernel(K::CPU)}},
      {"MathAndExplicit",
       {definition(), kernel(K::CompositeImplicitAutograd), kernel(K::CompositeExplicitAutograd),
        kernel(K::Autograd)}},
      {"AllComposites",
       {definition(), kernel(K::CompositeImplicitAutograd), kernel(K::CompositeExplicitAutograd),
        kernel(K::CompositeExplicitAutogradNonFunctional)}},
      {"NestedAndMath",
       {definition(), kernel(K::CompositeImplicitAutogradNestedTensor),
        kernel(K::CompositeImplicitAutograd), kernel(K::NestedTensorCPU)}},
      {"NestedAndExplicit",
       {definition(), kernel(K::CompositeImplicitAutogradNestedTensor),
        kernel(K::CompositeExplicitAutograd), fallback(K::NestedTensorCPU)}},
      {"FallbackAndKernel",
       {definition(), fallback(K::CPU), kernel(K::CPU), kernel(K::CompositeExplicitAutograd)}},
      {"FallbackOverBuiltIn",
       {definition(), fallback(K::AutogradCPU), kernel(K::CPU), passing_fallback(K::Batched)}},
      {"FallthroughOnOneBackend",
       {definition(), passing(K::AutogradCPU), kernel(K::Autograd), kernel(K::CPU)}},
      {"FallthroughOfALayer",
       {definition(), passing(K::Tracer), fallback(K::Tracer), kernel(K::CPU)}},
      {"FallthroughComposite",
       {definition(), passing(K::CompositeExplicitAutograd), kernel(K::CompositeImplicitAutograd),
        boxed(K::CPU)}},
      {"Batched",
       {definition(), kernel(K::BatchedDecomposition), fallback(K::Batched), kernel(K::Batched)}},
      {"BoxedAndUnboxed",
       {definition(), boxed(K::CPU), kernel(K::XLA), boxed(K::CompositeImplicitAutograd)}},
      {"FiveWithMath",
       {definition(), kernel(K::CompositeImplicitAutograd), kernel(K::CompositeExplicitAutograd),
        kernel(K::SparseCPU), kernel(K::AutogradOther)}},
      {"FiveWithFallbacks",
       {definition(), fallback(K::CPU), passing_fallback(K::AutogradXLA), kernel(K::Autograd),
        passing(K::XLA)}},
  };
}

class RegistrationOrder : public testing::TestWithParam<NamedSet> {};

TEST_P(RegistrationOrder, B27_TheTableIsTheSameAfterEveryOrder) {
  Player player(GetParam().set);
  player.play_all(GetParam().set.size() < 5);
}

INSTANTIATE_TEST_SUITE_P(Sets, RegistrationOrder, testing::ValuesIn(sets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace opyard::test_registration_order
