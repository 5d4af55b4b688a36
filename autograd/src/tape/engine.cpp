// autograd/tape/engine.cpp: the backward engine: dependencies, required inputs, order of functions.
//
// [Order] A function is ready when all that lead to it have run. Of those that are ready the one
// with the highest number runs. Counting goes over edges with a list of its own, so that no graph
// is too deep.
//
// [Wanted] With inputs, a function is needed if an input, or something needed, can be reached from
// it; found in the reverse of an order in which functions come before those they lead to. Functions
// below all inputs by their topological numbers lead to none, and are not looked at.
//
// All that a run counts and collects is in the run, none of it in functions.
#include "opyard/autograd/engine.h"

#include <fmt/format.h>

#include <cxxabi.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <queue>
#include <thread>

#include "functions/calls.h"
#include "functions/fit_gradient.h"
#include "functions/pointer_map.h"
#include "opyard/autograd/accumulate.h"
#include "opyard/autograd/anomaly.h"
#include "opyard/autograd/hooks.h"
#include "opyard/autograd/saved_hooks.h"
#include "opyard/interpreter/error_class.h"
#include "opyard/interpreter/gil.h"
#include "opyard/interpreter/interruption.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/observe/function_listener.h"
#include "opyard/thread/thread_context.h"

namespace opyard::autograd {
namespace {

constexpr int kDeepestOfThread = 60;
constexpr int kDeepest = 6000;

struct RunState;
constinit thread_local RunState* current_run = nullptr;
constinit thread_local int depth = 0;
// The runs of other threads that wait for the first run of this one.
constinit thread_local int waiting = 0;
// How many functions the last run of this thread had: in a training loop the next one has as many.
constinit thread_local std::size_t usual_count = 0;
constexpr std::size_t kMostUsual = 1024;

struct Task {
  explicit Task(Function* of) : function(of) {}

  Function* function;
  std::uint32_t dependencies = 0;
  bool needed = true;
  bool is_wanted = false;
  std::size_t targets = 0;  // where the numbers of those that its edges lead to begin
  Gradients gradients;      // one for each of the function's inputs
};

constexpr std::uint32_t kNobody = ~std::uint32_t{0};

struct WantedGradient {
  std::uint32_t task;
  std::uint32_t input;
  std::size_t position;
  bool operator<(const WantedGradient& other) const noexcept { return task < other.task; }
};

[[noreturn]] OPYARD_COLD void refuse_depth() {
  fail_as("RecursionError",
          fmt::format("{} backwards are inside of each other, each begun by a function or hook of "
                      "the one before, and no more can be; does one begin itself?",
                      kDeepest));
}

[[noreturn]] OPYARD_COLD void refuse_count(const Function& function, std::size_t count) {
  fail(ErrorKind::BadReturn,
       fmt::format("function {} returned an incorrect number of gradients (expected {}, got {})",
                   function.name(), function.edge_count(), count));
}

// Tells a listener that a function runs.
class Telling {
 public:
  explicit Telling(const Function& function) noexcept
      : listener_(function_listener.load(std::memory_order_acquire)) {
    if (__builtin_expect(listener_ == nullptr, 1)) return;
    told_ = {function.note(), &function, function.sequence(), &name_of_told};
    listener_(told_, FunctionMoment::Begins);
  }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  ~Telling() {
    if (__builtin_expect(listener_ != nullptr, 0)) listener_(told_, FunctionMoment::Ends);
  }

 private:
  static std::string name_of_told(const ToldFunction& told) {
    return static_cast<const Function*>(told.identity)->name();
  }
  const FunctionListener listener_;
  ToldFunction told_{};
};

struct RunState {
  RunState(std::vector<Root> roots_of, const Run& run_of)
      : roots(std::move(roots_of)), run(run_of) {}

  std::vector<Root> roots;
  const Run& run;
  std::uint64_t number = 0;  // once someone asks: see run_number()
  const Anomaly mode = anomaly();
  PointerMap<Function, std::uint32_t> numbers;
  std::vector<Task> tasks;
  std::vector<std::uint32_t> targets;  // by task and edge; kNobody for an edge to no one
  std::vector<WantedGradient> wanted;  // by task
  Gradients wanted_results;
  std::vector<std::function<void()>> at_end;

  bool runs(const Function& function) const {
    const std::uint32_t* const found = numbers.find(const_cast<Function*>(&function));
    return found != nullptr && (tasks[*found].needed || tasks[*found].is_wanted);
  }

  Gradients go() {
    wanted_results.resize(run.inputs.size());
    count();
    if (!run.inputs.empty()) find_needed();
    start();
    work();
    for (std::size_t i = 0; i < at_end.size(); ++i) at_end[i]();
    return std::move(wanted_results);
  }

 private:
  std::uint32_t number_of(Function* function) {
    const auto [number, is_new] = numbers.insert(function, std::uint32_t(tasks.size()));
    if (is_new) tasks.emplace_back(function);
    return number;
  }

  // The lowest topological number that a function needs to lead to an input, or to be one.
  std::uint32_t lowest_input() const {
    if (run.inputs.empty()) return 0;
    std::uint32_t lowest = ~std::uint32_t{0};
    for (const Edge& input : run.inputs) {
      if (input) lowest = std::min(lowest, input.function->topological_number());
    }
    return lowest;
  }

  void count() {
    tasks.reserve(usual_count);
    targets.reserve(2 * usual_count);
    numbers.reserve(usual_count);
    for (const Root& root : roots) {
      if (root.edge) number_of(root.edge.function.get());
    }
    const std::uint32_t lowest = lowest_input();
    for (std::size_t at = 0; at < tasks.size(); ++at) {  // grows meanwhile
      const Function& function = *tasks[at].function;
      tasks[at].targets = targets.size();
      for (std::size_t i = 0; i < function.edge_count(); ++i) {
        Function* const next = function.edge(i).function.get();
        const bool leads_nowhere = next == nullptr || next->topological_number() < lowest;
        const std::uint32_t number = leads_nowhere ? kNobody : number_of(next);
        targets.push_back(number);
        if (number != kNobody) ++tasks[number].dependencies;
      }
    }
    usual_count = std::min(tasks.size(), kMostUsual);
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      Function* const function = run.inputs[i].function.get();
      if (function == nullptr) continue;
      if (const std::uint32_t* const number = numbers.find(function)) {
        wanted.push_back({*number, run.inputs[i].input, i});
        tasks[*number].is_wanted = true;
      }
    }
    std::sort(wanted.begin(), wanted.end());
  }

  template <typename Visit>
  void each_next(std::size_t number, const Visit& visit) const {
    const std::size_t count = tasks[number].function->edge_count();
    for (std::size_t i = 0; i < count; ++i) {
      if (const std::uint32_t next = targets[tasks[number].targets + i]; next != kNobody) {
        visit(next);
      }
    }
  }

  // See [Wanted].
  void find_needed() {
    std::vector<std::uint32_t> left;
    std::vector<std::size_t> order;
    left.reserve(tasks.size());
    order.reserve(tasks.size());
    for (const Task& task : tasks) left.push_back(task.dependencies);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (left[i] == 0) order.push_back(i);
      tasks[i].needed = false;
    }
    for (std::size_t at = 0; at < order.size(); ++at) {
      each_next(order[at], [&](std::uint32_t next) {
        if (--left[next] == 0) order.push_back(next);
      });
    }
    for (std::size_t at = order.size(); at-- > 0;) {
      const std::size_t i = order[at];
      each_next(i, [&](std::uint32_t next) {
        if (tasks[next].is_wanted || tasks[next].needed) tasks[i].needed = true;
      });
    }
    if (!run.accumulate) return;
    for (const WantedGradient& one : wanted) tasks[one.task].needed = true;
  }

  void give(std::uint32_t number, std::uint32_t input, Tensor gradient) {
    Task& task = tasks[number];
    if (task.gradients.size() <= input) {
      task.gradients.resize(std::max<std::size_t>(task.function->input_count(), input + 1));
    }
    Tensor& there = task.gradients[input];
    if (!gradient.defined()) return;
    if (!there.defined()) {
      there = std::move(gradient);
    } else {
      there = calls::add(there, gradient);
    }
  }

  struct Ready {
    std::uint64_t sequence;
    std::uint32_t number;
    bool operator<(const Ready& other) const noexcept {
      return sequence != other.sequence ? sequence < other.sequence : number > other.number;
    }
  };
  std::priority_queue<Ready> ready;

  void make_ready(std::uint32_t number) {
    ready.push({tasks[number].function->sequence(), number});
  }

  void start() {
    for (Root& root : roots) {
      if (!root.edge) continue;
      give(*numbers.find(root.edge.function.get()), root.edge.input, std::move(root.gradient));
    }
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].dependencies == 0) make_ready(i);
    }
  }

  void work() {
    while (!ready.empty()) {
      check_interruption();
      const std::uint32_t number = ready.top().number;
      ready.pop();
      const Task& task = tasks[number];
      Function& function = *task.function;
      Gradients results = task.needed || task.is_wanted ? run_one(number) : Gradients();
      for (std::size_t i = 0; i < function.edge_count(); ++i) {
        const std::uint32_t next = targets[task.targets + i];
        if (next == kNobody) continue;
        if (i < results.size()) {
          give(next, function.edge(i).input, std::move(results[i]));
        }
        if (--tasks[next].dependencies == 0) make_ready(next);
      }
    }
  }

  // The gradients for its edges.
  Gradients run_one(std::uint32_t number) {
    const Task& task = tasks[number];
    Function& function = *task.function;
    Gradients gradients = std::move(tasks[number].gradients);
    if (gradients.size() < function.input_count()) gradients.resize(function.input_count());
    const Hooks* const hooks = function.find_hooks();
    try {
      if (__builtin_expect(hooks != nullptr, 0)) hooks->run_of_tensors(function, gradients);
      if (task.is_wanted && !run.accumulate) keep_wanted(number, gradients);
      if (!task.needed) return {};
      if (__builtin_expect(hooks != nullptr, 0)) {
        if (!hooks->run_before(function, gradients)) return {};
      }
      if (__builtin_expect(!run.before.empty(), 0)) {
        const auto found = run.before.find(&function);
        if (found != run.before.end() && !found->second(function, gradients)) return {};
      }
      return apply(function, hooks, gradients);
    } catch (const Error& error) {
      throw_from(function, error);
    }
  }

  void keep_wanted(std::uint32_t number, const Gradients& gradients) {
    const auto [first, last] =
        std::equal_range(wanted.begin(), wanted.end(), WantedGradient{number, 0, 0});
    for (auto one = first; one != last; ++one) {
      if (one->input < gradients.size()) wanted_results[one->position] = gradients[one->input];
    }
  }

  Gradients apply_told(Function& function, Gradients& gradients) const {
    const Telling telling(function);
    return run.keep_graph ? function.apply(std::move(gradients))
                          : function.apply_last(std::move(gradients));
  }

  Gradients apply(Function& function, const Hooks* hooks, Gradients& gradients) {
    Gradients given;
    if (__builtin_expect(hooks != nullptr, 0)) given = gradients;
    Gradients results = apply_told(function, gradients);
    if (hooks != nullptr) hooks->run_after(function, results, given);
    while (results.size() > function.edge_count()) {
      if (results.back().defined()) refuse_count(function, results.size());
      results.pop_back();
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Edge& edge = function.edge(i);
      if (!results[i].defined()) continue;
      if (!edge) {
        results[i] = Tensor();
        continue;
      }
      if (edge.input < edge.function->input_count()) {
        fit_gradient(function, i, results[i], edge.function->input(edge.input));
      }
      if (__builtin_expect(mode.on, 0) && mode.check_nan) check_nan(function, i, results[i]);
    }
    return results;
  }

  static void check_nan(const Function& function, std::size_t index, const Tensor& gradient) {
    const GradientModeGuard off(GradientMode::NoGradients);
    if (!is_floating_point(gradient.dtype()) || !calls::has_nan(gradient)) return;
    fail(ErrorKind::BadValue, fmt::format("Function '{}' returned nan values in its {}th output.",
                                          function.name(), index));
  }

  [[noreturn]] OPYARD_COLD static void throw_from(const Function& function, const Error& error) {
    std::string line = "in the backward function " + function.name();
    if (!function.call_site().empty()) {
      line += ", of a call that was made here:\n" + function.call_site();
    }
    throw error.with_context(line);
  }
};

Gradients run_here(std::vector<Root> roots, const Run& run) {
  RunState state(std::move(roots), run);
  struct Scope {
    RunState* const outer = current_run;
    explicit Scope(RunState& inner) {
      current_run = &inner;
      ++depth;
    }
    ~Scope() {
      current_run = outer;
      --depth;
    }
  } scope(state);
  const GradientModeGuard mode(run.create_graph ? GradientMode::Gradients
                                                : GradientMode::NoGradients);
  return state.go();
}

// On a thread that begins with an empty stack, and with this thread's context.
Gradients run_on_fresh_thread(std::vector<Root> roots, const Run& run) {
  const ThreadContext context = ThreadContext::capture();
  const ThreadSavedHooks hooks = copy_saved_hooks();
  const int waiting_for_fresh = waiting + depth;
  Gradients results;
  std::exception_ptr failure;
  std::thread fresh([&] {
    waiting = waiting_for_fresh;
    const ThreadContextScope scope(context);
    exchange_saved_hooks(hooks);
    try {
      results = run_here(std::move(roots), run);
    } catch (abi::__forced_unwind&) {
      throw;  // the thread is being ended
    } catch (...) {
      failure = std::current_exception();
    }
    exchange_saved_hooks({});
  });
  without_gil([&] { fresh.join(); });
  if (failure) std::rethrow_exception(failure);
  return results;
}

class Dummy final : public Function {
 public:
  Gradients apply(Gradients) override {
    fail(ErrorKind::Internal,
         "DummyFunction::apply() called, but it should be blocked by a callback returning false");
  }
  std::string name() const override { return "DummyFunction"; }
};

}  // namespace

Gradients execute(std::vector<Root> roots, const Run& run) {
  if (__builtin_expect(depth >= kDeepestOfThread, 0)) {
    if (waiting + depth >= kDeepest) refuse_depth();
    return run_on_fresh_thread(std::move(roots), run);
  }
  return run_here(std::move(roots), run);
}

void at_end_of_run(std::function<void()> call) {
  OPYARD_CHECK(current_run != nullptr, BadValue,
               "a callback for the end of a backward can be added while one runs on this thread: "
               "from a function, or a hook");
  current_run->at_end.push_back(std::move(call));
}

bool is_in_run(const Function& function) {
  OPYARD_CHECK(current_run != nullptr, BadValue,
               "a function can be in a run while one goes backward on this thread: ask from a "
               "function, or a hook");
  return current_run->runs(function);
}

std::uint64_t run_number() noexcept {
  static constinit std::atomic<std::uint64_t> last{0};
  if (current_run == nullptr) return 0;
  if (current_run->number == 0) current_run->number = last.fetch_add(1) + 1;
  return current_run->number;
}

bool run_has_inputs() noexcept {
  return current_run != nullptr && !current_run->run.inputs.empty();
}

int run_depth() noexcept { return depth; }

FunctionPtr make_dummy() { return make_counted<Dummy>(); }

}  // namespace opyard::autograd
