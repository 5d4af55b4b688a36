// test_jit_trace.cpp: protects traces of a thread's calls, without Python.
// Suspect jit/src/trace/trace.cpp.
#include <gtest/gtest.h>

#include <thread>

#include "../jit.h"
#include "opyard/inspect/inspect.h"
#include "opyard/jit/trace.h"

namespace opyard::jit::test_jit_trace {
namespace {

Tensor call(const char* name, std::vector<opyard::Value> arguments) {
  load_operators();
  Stack stack;
  for (opyard::Value& argument : arguments) stack.push(std::move(argument));
  require_operator(name).call_boxed(stack);
  return stack.pop().to_tensor();
}
Tensor mul(const Tensor& x, const Tensor& y) { return call("aten::mul.Tensor", {x, y}); }

TEST(Trace, H16_OperatorsBecomeNodesAndTheGraphGivesWhatTheyGave) {
  const std::vector<Tensor> inputs = {f32({2}, {1, 2}), f32({2}, {3, 4})};
  const GraphPtr graph = trace(
      [](std::span<const Tensor> given) {
        return std::vector<Tensor>{mul(mul(given[0], given[1]), given[0]), given[1]};
      },
      inputs);
  EXPECT_EQ(text_of(compile(graph)->run(Values{f32({2}, {2, 3}), f32({2}, {1, 1})})),
            "float32[2] 4 9; float32[2] 1 1");
}

TEST(Trace, H16_ATensorThatIsNotKnownIsOneConstant) {
  const Tensor weight = f32({1}, {3});
  const std::vector<Tensor> inputs = {f32({1}, {1})};
  const GraphPtr graph = trace(
      [&](std::span<const Tensor> given) {
        return std::vector<Tensor>{mul(mul(given[0], weight), weight)};
      },
      inputs);
  EXPECT_EQ(graph->node_count(), 3u) << to_string(*graph);
  EXPECT_EQ(text_of(compile(graph)->run(Values{f32({1}, {2})})), "float32[1] 18");
}

TEST(Trace, AThrowEndsTheCallAndLeavesTheGraphWithoutTheCall) {
  Trace trace;
  const Tensor x = f32({2}, {1, 2});
  trace.add_input(x, "x");
  {
    const TraceGuard guard(trace);
    EXPECT_THROW(mul(x, f32({3}, {1, 2, 3})), Error);
    mul(x, x);
  }
  EXPECT_EQ(trace.finish()->node_count(), 1u);
  EXPECT_EQ(current_trace(), nullptr);
  EXPECT_FALSE(local_keys().include.has(DispatchKey::Tracer));
  EXPECT_FALSE(inspect::has_fallback(DispatchKey::Tracer));
}

TEST(Trace, ATraceIsOfOneThreadAndIsUsedOnce) {
  Trace trace;
  const Tensor x = f32({1}, {2});
  trace.add_input(x);
  EXPECT_THROW(trace.add_input(x), Error) << "the two could not be told apart";
  {
    const TraceGuard guard(trace);
    Trace other;
    EXPECT_THROW(TraceGuard{other}, Error);
    const LocalKeys keys = local_keys();
    std::string message;
    std::thread([&] {
      set_local_keys(keys);
      try {
        mul(x, x);
      } catch (const Error& error) {
        message = error.what();
      }
    }).join();
    EXPECT_NE(message.find("another thread than the one that traces"), std::string::npos)
        << message;
  }
  trace.finish();
  EXPECT_THROW(trace.finish(), Error);
  EXPECT_THROW(TraceGuard{trace}, Error);
}

}  // namespace
}  // namespace opyard::jit::test_jit_trace
