// test_autograd_search.cpp: protects the search for the inputs of a run.
// Suspect find_needed() of autograd/src/tape/engine.cpp, and topological numbers in function.h.
#include <gtest/gtest.h>

#include "../aten.h"
#include "../counting_new.h"
#include "opyard/autograd.h"

namespace opyard::test_autograd_search {
namespace {

using namespace autograd;  // NOLINT: this file is about it

Tensor one() {
  const Tensor tensor = Tensor::empty(std::array{std::int64_t{1}});
  *tensor.mutable_data<float>() = 1;
  return tensor;
}

// A tensor whose function hands its gradient to each of `inputs`.
Tensor after(std::span<const Tensor> inputs) {
  const auto function = make_function("Same", inputs, [count = inputs.size()](Gradients given) {
    Gradients all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(given[0]);
    return all;
  });
  const Tensor result = one();
  set_history(result, {function, function->add_input(result)});
  return result;
}

Tensor chain(Tensor tensor, int length) {
  for (int i = 0; i < length; ++i) tensor = after({&tensor, 1});
  return tensor;
}

std::uint32_t number_of(const Tensor& tensor) {
  return edge_of(tensor).function->topological_number();
}

Tensor leaf() { return require_gradient(one()); }

class AutogradSearch : public testing::Test {
 protected:
  static void SetUpTestSuite() { load_library(kKernelsLibrary); }
};

TEST_F(AutogradSearch, G3_a_topological_number_is_above_all_that_the_edges_lead_to) {
  const Tensor x = leaf();
  EXPECT_EQ(number_of(x), 0U) << "of AccumulateGrad, which leads nowhere";
  const Tensor near = chain(x, 1);
  const Tensor far = chain(x, 5);
  EXPECT_EQ(number_of(near), 1U);
  EXPECT_EQ(number_of(far), 5U);
  const std::array both{near, far};
  EXPECT_EQ(number_of(after(both)), 6U);
  const std::array turned{far, near};
  EXPECT_EQ(number_of(after(turned)), 6U);
  const std::array without{one()};
  EXPECT_EQ(number_of(require_gradient(one())), 0U);
  const auto function = make_function("Same", without, [](Gradients given) { return given; });
  EXPECT_EQ(function->topological_number(), 0U) << "an edge to no function";
}

TEST_F(AutogradSearch, G3_what_is_below_all_inputs_is_not_looked_at) {
  const auto requests_with_below = [](int below) {
    const Tensor x = leaf();
    const Tensor input = chain(x, below);
    const Tensor result = chain(input, 3);
    const BackwardOptions keep{.keep_graph = true};
    long requests = 0;
    for (int i = 0; i < 3; ++i) {  // the first runs take what later ones reuse
      requests = counting::requests_of([&] {
        const Gradients found = grad({&result, 1}, {&input, 1}, {}, keep);
        EXPECT_EQ(*found[0].data<float>(), 1);
      });
    }
    return requests;
  };
  const long few = requests_with_below(10);
  EXPECT_EQ(requests_with_below(50'000), few);
  EXPECT_GT(few, 0);
}

TEST_F(AutogradSearch, G3_an_input_is_found_by_every_way_to_it) {
  const Tensor x = leaf();
  const Tensor low = chain(x, 2);
  const Tensor input = chain(low, 1);
  const std::array ways{chain(input, 7), chain(low, 1), input, chain(leaf(), 1), chain(input, 1)};
  const Tensor result = after(ways);
  const Gradients found = grad({&result, 1}, {&input, 1});
  EXPECT_EQ(*found[0].data<float>(), 3) << "two through functions, one at once";

  const std::array again{chain(input, 7), chain(low, 1), input};
  const Tensor last = after(again);
  const std::array inputs{input, low, x};
  const Gradients all = grad({&last, 1}, inputs);
  EXPECT_EQ(*all[0].data<float>(), 2);
  EXPECT_EQ(*all[1].data<float>(), 3);
  EXPECT_EQ(*all[2].data<float>(), 3);
}

}  // namespace
}  // namespace opyard::test_autograd_search
