// test_autograd.cpp: protects gradients from C++: taped calls, and results of a backward.
// Suspect autograd/src/tape/tape.cpp and engine.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>

#include "../aten.h"
#include "opyard/autograd.h"
#include "opyard/autograd/saved_hooks.h"
#include "opyard/inspect/inspect.h"
#include "opyard/keys/local.h"
#include "opyard/library.h"
#include "opyard/value/list.h"

namespace opyard::test_autograd {
namespace {

using autograd::backward;
using autograd::gradient_of;
using autograd::require_gradient;

Tensor vector_of(std::initializer_list<float> values) {
  Tensor tensor = Tensor::empty(std::array{std::int64_t(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutable_data<float>());
  return tensor;
}

std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.data<float>()[i]);
  return values;
}

class Autograd : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { load_library(kKernelsLibrary); }

  static Tensor mul(const Tensor& a, const Tensor& b) {
    return require_operator("aten::mul.Tensor")
        .typed<Tensor(const Tensor&, const Tensor&)>()
        .call(a, b);
  }
  static Tensor sum(const Tensor& a) {
    return require_operator("aten::sum")
        .typed<Tensor(const Tensor&, std::optional<DType>)>()
        .call(a, std::nullopt);
  }
};

TEST_F(Autograd, G1_the_square_of_a_leaf_has_twice_it_as_gradient) {
  const Tensor x = vector_of({1, 2, 3});
  require_gradient(x);
  backward(sum(mul(x, x)));
  EXPECT_EQ(values_of(gradient_of(x)), (std::vector<float>{2, 4, 6}));
}

TEST_F(Autograd, G1_a_function_has_as_many_inputs_as_its_call_had_outputs) {
  const Tensor x = vector_of({1, 2, 3});
  require_gradient(x);
  const autograd::Edge one = autograd::history_of(mul(x, x));
  EXPECT_EQ(one.input, 0U);
  EXPECT_EQ(one.function->input_count(), 1U);
  const auto parts = require_operator("aten::unbind.int")
                         .typed<std::vector<Tensor>(const Tensor&, std::int64_t)>()
                         .call(x, 0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const autograd::Edge edge = autograd::history_of(parts[i]);
    EXPECT_EQ(edge.input, i);
    EXPECT_EQ(edge.function->input_count(), 3U);
  }
}

TEST_F(Autograd, G9_a_second_backward_says_that_what_was_saved_is_freed) {
  const Tensor x = vector_of({1, 2});
  require_gradient(x);
  const Tensor y = sum(mul(x, x));
  backward(y);
  try {
    backward(y);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("backward through the graph a second time"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Autograd, G17_the_depth_of_a_run_ends_with_it) {
  const Tensor x = vector_of({1});
  require_gradient(x);
  std::vector<int> depths;
  const auto run = [&](bool fails) {
    auto function = autograd::make_function("Noting", {&x, 1}, [&](autograd::Gradients g) {
      depths.push_back(autograd::run_depth());
      OPYARD_CHECK(!fails, BadValue, "planted");
      return g;
    });
    const Tensor y = vector_of({1});
    autograd::set_history(y, {function, function->add_input(autograd::Expected(y))});
    backward(y);
  };
  run(false);
  EXPECT_EQ(autograd::run_depth(), 0);
  EXPECT_THROW(run(true), Error);
  EXPECT_EQ(autograd::run_depth(), 0);
  run(false);
  EXPECT_EQ(depths, (std::vector<int>{1, 1, 1}));
}

TEST_F(Autograd, G12_a_run_that_is_taped_keeps_the_graph) {
  const Tensor x = vector_of({3});
  require_gradient(x);
  const Tensor y = mul(x, mul(x, x));
  autograd::BackwardOptions options;
  options.create_graph = true;
  const autograd::Gradients first = autograd::grad({&y, 1}, {&x, 1}, {}, options);
  EXPECT_EQ(values_of(first[0]), std::vector<float>{27});
  const autograd::Gradients second = autograd::grad({&first[0], 1}, {&x, 1}, {}, options);
  EXPECT_EQ(values_of(second[0]), std::vector<float>{18});
  EXPECT_NO_THROW(backward(y)) << "neither run freed what the graph saved";
}

// Runs inside each other: where each was, how deep, and with which keys.
TEST_F(Autograd, G17_a_run_sixty_deep_goes_on_on_a_fresh_thread_with_the_context) {
  constexpr DispatchKeySet kLayer{DispatchKey::Tracer};
  std::vector<std::thread::id> threads;
  std::vector<int> depths;
  bool with_keys = true;
  std::function<void(int)> run = [&](int more) {
    const Tensor x = vector_of({1});
    require_gradient(x);
    auto function = autograd::make_function("Deeper", {&x, 1}, [&, more](autograd::Gradients g) {
      threads.push_back(std::this_thread::get_id());
      depths.push_back(autograd::run_depth());
      with_keys = with_keys && local_keys().exclude.has(DispatchKey::Tracer);
      OPYARD_CHECK(more != 1, BadValue, "planted at the end");
      run(more - 1);
      return g;
    });
    const Tensor y = vector_of({1});
    autograd::set_history(y, {function, function->add_input(autograd::Expected(y))});
    backward(y);
  };
  const ExcludeDispatchKeyGuard layer(kLayer);
  EXPECT_THROW(run(130), Error) << "an error comes out of the threads";
  ASSERT_EQ(threads.size(), 130u);
  const std::vector<std::size_t> changes = [&] {
    std::vector<std::size_t> at;
    for (std::size_t i = 1; i < threads.size(); ++i) {
      if (threads[i] != threads[i - 1]) at.push_back(i);
    }
    return at;
  }();
  EXPECT_EQ(threads[0], std::this_thread::get_id());
  EXPECT_EQ(changes, (std::vector<std::size_t>{60, 120}));
  EXPECT_EQ(depths[59], 60);
  EXPECT_EQ(depths[60], 1);
  EXPECT_TRUE(with_keys);
  EXPECT_EQ(autograd::run_depth(), 0);
}

TEST_F(Autograd, G17_a_chain_of_a_million_functions_runs_and_ends_without_recursion) {
  const Tensor x = vector_of({1});
  require_gradient(x);
  Tensor y = x;
  for (int i = 0; i < 1'000'000; ++i) {
    auto function =
        autograd::make_function("Same", {&y, 1}, [](autograd::Gradients g) { return g; });
    y = vector_of({1});
    autograd::set_history(y, {function, function->add_input(autograd::Expected(y))});
  }
  backward(y);
  EXPECT_EQ(values_of(gradient_of(x)), std::vector<float>{1});
}

TEST_F(Autograd, G5_what_arrives_at_a_dummy_is_captured_and_it_is_never_run) {
  const autograd::FunctionPtr dummy = autograd::make_dummy();
  const Tensor x = vector_of({1, 2});
  autograd::set_history(x, {dummy, dummy->add_input(x)});
  const Tensor y = sum(mul(x, x));
  const Tensor one = vector_of({1});
  const autograd::Edge edge = autograd::edge_of(y);
  autograd::Run run;
  run.keep_graph = true;
  run.inputs = {{dummy, 0}, {autograd::make_dummy(), 0}};
  const Tensor begin =
      require_operator("aten::reshape").typed<Tensor(const Tensor&, IntSpan)>().call(one, {});
  autograd::Gradients found = autograd::execute({{edge, begin}}, run);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(values_of(found[0]), (std::vector<float>{2, 4}));
  EXPECT_FALSE(found[1].defined());  // nothing led there
  try {
    autograd::execute({{edge, begin}}, {});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("DummyFunction::apply() called, but it should be "
                        "blocked by a callback returning false"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Autograd, X31_a_formula_keeps_a_list_as_it_was_in_the_call) {
  const Tensor x = Tensor::empty(std::array{std::int64_t{2}, std::int64_t{3}, std::int64_t{4}});
  std::fill_n(x.mutable_data<float>(), 24, 1.0F);
  require_gradient(x);
  const List<std::int64_t> dims{1, 2, 0};
  Stack stack;
  stack.push(Value(x));
  stack.push(dims.value());
  require_operator("aten::permute").call_boxed(stack);
  for (const std::size_t i : {0, 1, 2}) dims.set(i, std::int64_t(i));
  backward(sum(stack.pop().take_tensor()));
  EXPECT_EQ(values_of(gradient_of(x)), std::vector<float>(24, 1));
}

TEST_F(Autograd, X31_a_wrong_formula_is_refused_where_it_is_registered) {
  const bool former = autograd::check_formulas_at_registration(true);
  Library library(LibraryKind::Def, "wrong_formula");
  library.def("one(Tensor x) -> Tensor");
  try {
    library.derivative("one", {{"x", "grad * y"}});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* part : {"wrong_formula::one", "grad * y", "^", "OPYARD_CHECK_FORMULAS"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
    }
  }
  EXPECT_FALSE(inspect::derivative(parse_operator_name("wrong_formula::one")));
  library.derivative("one", {{"x", "grad * 2"}});
  EXPECT_TRUE(autograd::check_formulas_at_registration(false));
  library.derivative("one", {{"x", "grad * y"}});
  autograd::check_formulas_at_registration(former);
}

TEST_F(Autograd, a_view_of_another_dtype_may_be_asked_for_its_function_and_gives_no_gradient) {
  const Tensor x = vector_of({1, 2});
  require_gradient(x);
  const Tensor buffer = vector_of({0, 0});
  const Tensor bits(make_counted<TensorImpl>(buffer.impl()->storage(), DType::Int32, buffer.sizes(),
                                             buffer.strides(), 0, buffer.keys()));
  Tensor row = buffer;
  require_operator("aten::copy_")
      .typed<Tensor&(Tensor&, const Tensor&, bool)>()
      .call(row, x, false);
  EXPECT_EQ(autograd::history_of(bits).function->name(), "ViewOfAnotherDTypeBackward");
  EXPECT_THROW(static_cast<void>(autograd::edge_of(bits)), Error);
}

TEST_F(Autograd, views_in_programs_are_refused_where_a_gradient_would_be_lost) {
  const Tensor x = vector_of({1, 2});
  require_gradient(x);
  const auto refused = [](const Tensor& tensor) {
    int count = 0;
    for (const auto& view : {+[](const Tensor& t) { return t.alias(); },
                             +[](const Tensor& t) { return t.select(0, 0); }}) {
      try {
        view(tensor);
      } catch (const Error& error) {
        count += std::string(error.what()).find("which needs a gradient") != std::string::npos;
      }
    }
    return count;
  };
  EXPECT_EQ(refused(x), 2);
  EXPECT_EQ(refused(mul(x, x)), 2);
  EXPECT_EQ(refused(vector_of({1, 2})), 0);
  const auto detach = require_operator("aten::detach").typed<Tensor(const Tensor&)>();
  const Tensor buffer = vector_of({1, 2});
  Tensor apart = detach.call(buffer), alias = buffer.alias();
  EXPECT_EQ(refused(apart), 0);
  Tensor row = buffer;
  require_operator("aten::copy_")
      .typed<Tensor&(Tensor&, const Tensor&, bool)>()
      .call(row, x, false);
  EXPECT_EQ(refused(alias), 2) << "the memory has a history";
  EXPECT_EQ(refused(apart), 0) << "not for a detached tensor";
  EXPECT_EQ(refused(detach.call(mul(x, x))), 0);
  Tensor view_of_apart = apart.select(0, 0);
  require_operator("aten::mul_.Tensor").typed<Tensor&(Tensor&, const Tensor&)>().call(apart, x);
  EXPECT_TRUE(autograd::edge_of(view_of_apart)) << "it was written through what it shows";
  EXPECT_EQ(refused(view_of_apart), 1) << "select has nothing to select from";
  const GradientModeGuard off(GradientMode::NoGradients);
  EXPECT_EQ(refused(x), 0);
}

class NoHooks final : public autograd::SavedHooks {
 public:
  CountedPtr<autograd::Packed> pack(const Tensor&) override { return {}; }
};

// Else calls of all threads would be taped the long way as long as the process lives.
TEST_F(Autograd, HooksOfSavedTensorsEndWithTheirThread) {
  EXPECT_EQ(autograd::saved_hooks_in_use(), 0u);
  std::thread([] {
    autograd::push_saved_hooks(make_counted<NoHooks>());
    autograd::push_saved_hooks(make_counted<NoHooks>());
    EXPECT_EQ(autograd::saved_hooks_in_use(), 2u);
  }).join();
  EXPECT_EQ(autograd::saved_hooks_in_use(), 0u);
}

}  // namespace
}  // namespace opyard::test_autograd
