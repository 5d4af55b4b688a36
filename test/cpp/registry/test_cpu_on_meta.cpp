// test_cpu_on_meta.cpp: protects meta calls of operators that have a CPU kernel alone. Suspect
// registry/operator_entry.cpp and registry/cpu_on_meta.cpp.
#include <gtest/gtest.h>

#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/detail/registry/watch.h"
#include "opyard/inspect/explain.h"
#include "opyard/kernel.h"

namespace opyard::test_cpu_on_meta {
namespace {

using K = DispatchKey;

Tensor on_meta() {
  const std::int64_t size = 2;
  return Tensor::empty({&size, 1}, DType::Float32, {Backend::Meta});
}
Tensor called(const char* name, const Tensor& x) {
  return registry().require(name).typed<Tensor(const Tensor&)>().call(x);
}
std::string meta_line(const char* name) {
  const std::string table = dump_table(name);
  const std::size_t at = table.find("\nMeta: ");
  if (at == std::string::npos) return "";
  return table.substr(at + 1, table.find('\n', at + 1) - at - 1);
}
Tensor twice(const Tensor& x) {
  const Tensor y = empty_like(x);
  transform(y, [](float a) { return 2 * a; }, x);
  return y;
}
Tensor first(const Tensor& x) {
  const Tensor y = empty_like(x);
  y.mutable_data<float>()[0] = x.data<float>()[0];
  return y;
}

Tensor noexcept_same(const Tensor& x) noexcept { return x; }

TEST(CpuOnMeta, X37_TheKernelForTheCpuMakesResultsOnMeta) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration cpu = implement("t::f", K::CPU, Kernel::from(&twice), "registered at k.cpp:1");
  EXPECT_EQ(meta_line("t::f"), "Meta: registered at k.cpp:1 [from CPU]");
  EXPECT_EQ(dump("t::f").find("Meta"), std::string::npos) << "none is registered there";
  const Tensor y = called("t::f", on_meta());
  EXPECT_TRUE(is_meta(y));
  EXPECT_EQ(describe(y), "float32[2]");
  const Value argument(on_meta());
  const Explanation explained = explain(registry().require("t::f"), {&argument, 1});
  EXPECT_EQ(explained.considered.back().reason, "from CPU");
  EXPECT_EQ(explained.kernel, "registered at k.cpp:1");
  EXPECT_TRUE(explained.has_kernel);
  inspect::check_invariants();
}

TEST(CpuOnMeta, X37_WhatElseServesMetaComesFirst) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration cpu = implement("t::f", K::CPU, echo("cpu"));
  EXPECT_EQ(who_ran("t::f", {K::Meta}), "cpu");
  {
    const Registration meta = implement("t::f", K::Meta, echo("meta"));
    EXPECT_EQ(who_ran("t::f", {K::Meta}), "meta");
  }
  for (const K composite : {K::CompositeExplicitAutograd, K::CompositeImplicitAutograd,
                            K::CompositeExplicitAutogradNonFunctional}) {
    const Registration all = implement("t::f", composite, echo("composite"));
    EXPECT_EQ(who_ran("t::f", {K::Meta}), "composite") << to_string(composite);
    inspect::check_invariants();
  }
  {
    const Registration fallback = registry().implement_fallback(
        K::Meta, Kernel::boxed([](const Operator&, DispatchKeySet, Stack&) { last_ran = "back"; }),
        "registered at b.cpp:1");
    EXPECT_EQ(who_ran("t::f", {K::Meta}), "back");
  }
  EXPECT_EQ(who_ran("t::f", {K::Meta}), "cpu");
}

TEST(CpuOnMeta, X37_FollowsWhatIsRegisteredAtCpu) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  EXPECT_EQ(meta_line("t::f"), "");
  EXPECT_EQ(who_ran("t::f", {K::Meta}), "no kernel");
  {
    const Registration older = implement("t::f", K::CPU, echo("older"));
    EXPECT_EQ(who_ran("t::f", {K::Meta}), "older");
    {
      const CaughtWarnings overridden;
      const Registration newer = implement("t::f", K::CPU, echo("newer"));
      EXPECT_EQ(who_ran("t::f", {K::Meta}), "newer");
    }
    EXPECT_EQ(who_ran("t::f", {K::Meta}), "older");
    {
      const CaughtWarnings overridden;
      const Registration none = implement("t::f", K::CPU, cpu_only(&twice));
      EXPECT_EQ(who_ran("t::f", {K::Meta}), "no kernel");
    }
    {
      const CaughtWarnings overridden;
      const Registration none = implement("t::f", K::CPU, Kernel::fallthrough());
      EXPECT_EQ(who_ran("t::f", {K::Meta}), "no kernel");
    }
  }
  EXPECT_EQ(who_ran("t::f", {K::Meta}), "no kernel");
  const Registration elsewhere = implement("t::f", K::CUDA, echo("cuda"));
  EXPECT_EQ(who_ran("t::f", {K::Meta}), "no kernel");
}

TEST(CpuOnMeta, X37_WhichKernelsServe) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const auto serves = [](Kernel kernel) {
    const Registration cpu = implement("t::f", K::CPU, std::move(kernel));
    return !meta_line("t::f").empty();
  };
  const BoxedKernel in_place = [](const Operator&, DispatchKeySet, Stack&) {};
  EXPECT_TRUE(serves(Kernel::from(&twice)));
  EXPECT_TRUE(serves(Kernel::from<&twice>()));
  EXPECT_TRUE(serves(Kernel::from([](const Tensor& x) { return x; })));
  EXPECT_TRUE(serves(Kernel::from([](DispatchKeySet, const Tensor& x) { return x; })));
  EXPECT_TRUE(serves(releases_gil(&twice)));
  EXPECT_TRUE(serves(Kernel::boxed(in_place)));
  EXPECT_FALSE(serves(cpu_only(&twice)));
  EXPECT_FALSE(serves(cpu_only([](const Tensor& x) { return x; })));
  EXPECT_FALSE(serves(cpu_only(releases_gil(&twice))));
  EXPECT_FALSE(serves(cpu_only(in_place)));
  EXPECT_FALSE(serves(Kernel::from<&noexcept_same>())) << "which could not raise";
  EXPECT_FALSE(serves(detail::as_kernel(&noexcept_same)));
  EXPECT_FALSE(serves(detail::as_kernel([](const Tensor& x) noexcept { return x; })));
  EXPECT_FALSE(serves(boxed_echo("another language's"))) << "one with a context of its own";
}

TEST(CpuOnMeta, X37_WhatAnotherLanguageCoversServesOn) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration cpu = implement("t::f", K::CPU, echo("of C++"), "registered at k.cpp:1");
  const CaughtWarnings overridden;
  const auto changes = inspect::what_if(parse_operator_name("t::f"), K::CPU, WhatIf::Foreign);
  ASSERT_EQ(changes.size(), 1u) << "Meta stays as it is";
  EXPECT_EQ(changes[0].key, K::CPU);
  const Registration over = implement("t::f", K::CPU, boxed_echo("another language's"));
  const Registration twice_over = implement("t::f", K::CPU, boxed_echo("another one's"));
  EXPECT_EQ(who_ran("t::f", {K::CPU}), "another one's");
  EXPECT_EQ(who_ran("t::f", {K::Meta}), "of C++");
  EXPECT_EQ(meta_line("t::f"), "Meta: registered at k.cpp:1 [from CPU]");
  inspect::check_invariants();
  const Registration refusing = implement("t::f", K::CPU, cpu_only(&twice));
  EXPECT_EQ(who_ran("t::f", {K::Meta}), "no kernel");
}

TEST(CpuOnMeta, X37_AKernelThatTouchesElementsIsNamed) {
  const Registration inner = define("t::inner(Tensor x) -> Tensor");
  const Registration outer = define("t::outer(Tensor x) -> Tensor");
  const Registration of_inner =
      implement("t::inner", K::CPU, Kernel::from(&first), "registered at i.cpp:1");
  const Registration of_outer = implement(
      "t::outer", K::CPU, Kernel::from([](const Tensor& x) { return called("t::inner", x); }),
      "registered at o.cpp:2");
  const Thrown thrown = thrown_by([] { called("t::outer", on_meta()); });
  EXPECT_EQ(thrown.kind, ErrorKind::Unsupported);
  EXPECT_EQ(
      thrown.text,
      std::string(
          "t::inner (its kernel at CPU, registered at i.cpp:1), called by t::outer (its kernel "
          "at CPU, registered at o.cpp:2): data() of float32[2] on meta, which has sizes and a "
          "dtype but no elements. A kernel returns its results before it touches elements if "
          "opyard::is_meta(x), or the operator gets a kernel of its own at Meta"));
  EXPECT_EQ(thrown_by([] { static_cast<void>(on_meta().raw()); }).text.rfind("data()", 0), 0u)
      << "names are of calls that run";
}

TEST(CpuOnMeta, X37_AKernelGetsTheKeysOfTheCall) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  DispatchKeySet seen;
  const Registration cpu =
      implement("t::f", K::CPU, Kernel::from([&seen](DispatchKeySet keys, const Tensor& x) {
                  seen = keys;
                  return x;
                }));
  called("t::f", on_meta());
  EXPECT_EQ(seen.highest(), K::Meta);
}

TEST(CpuOnMeta, X37_AResultOnTheCpuIsRefused) {
  const Registration one = define("t::one(Tensor x) -> Tensor");
  const Registration many = define("t::many(Tensor x) -> Tensor[]");
  const auto make = [] { return Tensor::empty(IntSpan{}); };
  const Registration of_one =
      implement("t::one", K::CPU, Kernel::from([=](const Tensor&) { return make(); }));
  const Registration of_many =
      implement("t::many", K::CPU,
                Kernel::from([=](const Tensor& x) { return std::vector<Tensor>{x, make()}; }));
  EXPECT_EQ(thrown_by([] { called("t::one", on_meta()); }).text,
            std::string("t::one (its kernel at CPU, registered at impl.cpp:1): a result of a call "
                        "with meta tensors is float32[] on cpu; make results with empty_like(x) or "
                        "where x.device() is, or keep meta tensors away by cpu_only()"));
  const Registration dict = define("t::dict(Tensor x) -> Dict(str, Tensor)");
  const Registration of_dict =
      implement("t::dict", K::CPU, Kernel::boxed([](const Operator&, Stack& stack) {
                  stack.drop(1);
                  stack.push(Value::dict({{Value("a"), Value(Tensor::empty(IntSpan{}))}}));
                }));
  for (const char* const name : {"t::many", "t::dict"}) {
    InlineStack<2> stack;
    stack.push(Value(on_meta()));
    const Thrown thrown = thrown_by([&] { registry().require(name).call_boxed(stack); });
    EXPECT_EQ(thrown.kind, ErrorKind::Unsupported) << name;
    EXPECT_NE(thrown.text.find("a result of a call with meta tensors is float32[] on cpu"),
              std::string::npos);
  }
}

TEST(CpuOnMeta, X37_MemoryIsNotWrittenTo) {
  const Registration op = define("t::f(Tensor x, Tensor(a!) out) -> ()");
  const Registration cpu = implement(
      "t::f", K::CPU, Kernel::from([](const Tensor&, const Tensor& out) { fill(out, 7.0f); }));
  const auto write = [](const Tensor& x, const Tensor& out) {
    registry().require("t::f").typed<void(const Tensor&, const Tensor&)>().call(x, out);
  };
  const Tensor here = zeros(IntSpan{});
  EXPECT_EQ(thrown_by([&] { write(on_meta(), here); }).text,
            std::string("t::f (its kernel at CPU, registered at impl.cpp:1): 'out', which a call "
                        "with meta tensors would write to, is float32[] on cpu; give one on meta"));
  EXPECT_EQ(*here.data<float>(), 0);
  const Tensor there = on_meta();
  write(here, there);
  EXPECT_EQ(there.impl()->storage()->version(), 1u) << "a write is counted";
}

// Lives for ever, as watchers have to.
class Counting final : public Watcher {
 public:
  int calls = 0;
  void on_enter(const KernelRun&, std::span<const Value>) noexcept override { ++calls; }
  void on_exit(const KernelRun&) noexcept override {}
};

TEST(CpuOnMeta, X37_WatchersAreToldOnce) {
  static Counting& counting = *new Counting;
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration cpu = implement("t::f", K::CPU, echo("cpu"));
  start_watching(counting);
  called("t::f", on_meta());
  stop_watching(counting);
  EXPECT_EQ(counting.calls, 1);
  EXPECT_EQ(last_ran, "cpu");
  inspect::check_invariants();
}

}  // namespace
}  // namespace opyard::test_cpu_on_meta
