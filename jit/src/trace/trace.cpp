// trace/trace.cpp: the tracer: the fallback at the key Tracer, and values of tensors.
#include "opyard/jit/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "opyard/detail/base/mutex.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/kernel.h"
#include "opyard/registry/registry.h"
#include "opyard/thread/modes.h"
#include "opyard/value/deep_copy.h"
#include "trace/trace_data.h"

namespace opyard::jit {
namespace {

constinit thread_local Trace* current = nullptr;
constinit std::atomic<int> active_count{0};  // traces of all threads

DispatchKeySet below_tracer(DispatchKeySet keys) {
  return keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, DispatchKey::Tracer);
}

void run_traced(const Operator& op, DispatchKeySet keys, Stack& stack) {
  if (current != nullptr) return current->call(op, keys, stack);
  // The key came here with the context of the thread that traces, else someone included it by hand.
  if (active_count.load(std::memory_order_relaxed) == 0) {
    return op.redispatch_boxed(below_tracer(keys), stack);
  }
  fail(ErrorKind::Unsupported,
       fmt::format("{}: was called on another thread than the one that traces, with its context; a "
                   "trace holds the calls of one thread. Call it on that thread, or trace what is "
                   "done on this one by itself",
                   to_string(op.name())));
}

// The fallback is there from the begin of the first active trace to the end of the last.
struct ActiveTraces {
  Mutex mutex{LockRank::Traces};
  std::size_t count = 0;  // guarded by `mutex`
  Registration fallback;  // guarded by `mutex`
};
ActiveTraces& active_traces() {
  static ActiveTraces& traces = *new ActiveTraces;  // lives as long as the process
  return traces;
}

void begin_trace() {
  ActiveTraces& traces = active_traces();
  const std::lock_guard lock(traces.mutex);
  if (traces.count == 0) {
    traces.fallback = Registry::instance().implement_fallback(
        DispatchKey::Tracer, Kernel::boxed(&run_traced), "opyard_jit: a trace");
  }
  ++traces.count;
  active_count.store(int(traces.count), std::memory_order_relaxed);
}

void end_trace() noexcept {
  ActiveTraces& traces = active_traces();
  const std::lock_guard lock(traces.mutex);
  if (--traces.count == 0) traces.fallback.undo();
  active_count.store(int(traces.count), std::memory_order_relaxed);
}

void check_may_begin(const Trace& trace, const TraceData& data) {
  OPYARD_CHECK(!data.finished, BadValue, "this trace is finished; begin another one");
  if (current == nullptr) return;
  fail(ErrorKind::Unsupported,
       current == &trace ? "this trace is active already"
                         : "a trace is active on this thread already; a function that is traced "
                           "cannot trace another one, but it can call what was traced before");
}

// Whether what runs are calls of other operators, also if it is taped.
bool is_composed(const Operator& op) {
  return inspect::has_kernel_at(op.name(), DispatchKey::CompositeImplicitAutograd) &&
         !inspect::has_kernel_at(op.name(), DispatchKey::CPU) && !inspect::derivative(op.name());
}

bool is_number_result(const opyard::Value& result) {
  return result.is_int() || result.is_double() || result.is_bool() || result.is_complex();
}

// A node that its call has not come back from; in no block, and destroyed unless it is kept.
class Begun {
 public:
  explicit Begun(Node* node) noexcept : node_(node) {}
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;
  ~Begun() {
    if (node_ != nullptr) node_->destroy();
  }
  Node* keep() noexcept { return std::exchange(node_, nullptr); }

 private:
  Node* node_;
};

// The bytes that a tensor reaches; nothing for one without elements or without plain memory.
std::pair<const std::byte*, const std::byte*> reach_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if (impl.has_policy(TensorImpl::kCustomSizes | TensorImpl::kCustomStrides |
                      TensorImpl::kSymbolic)) {
    return {};
  }
  const auto* const start = static_cast<const std::byte*>(impl.storage()->data());
  if (start == nullptr || impl.storage()->bytes() == 0) return {};
  return {start, start + impl.storage()->bytes()};
}

std::uint32_t version_of(const Tensor& tensor) {
  return tensor.impl()->storage()->shared_version();
}

}  // namespace

void TraceData::learn(const Tensor& tensor, Value* value) {
  if (!tensor.defined()) return;
  tensors[tensor.impl().get()] = {tensor, value};
  if (constant_memory.contains(tensor.impl()->storage().get())) return;
  const auto [begin, end] = reach_of(tensor);
  if (begin != nullptr) memory.try_emplace(begin, Memory{end, value});
}

Value* TraceData::find(const Tensor& tensor) const noexcept {
  if (!tensor.defined()) return nullptr;
  const auto found = tensors.find(tensor.impl().get());
  return found == tensors.end() ? nullptr : found->second.value;
}

Value* TraceData::value_of(const Tensor& tensor) {
  if (!tensor.defined()) return append(graph->create(prim::Undefined))->output();
  if (Value* const known = find(tensor)) return known;
  Known& entry = tensors[tensor.impl().get()];
  if (entry.made) {
    Node* const original = append(graph->create_constant(deep_copy(entry.tensor)));
    constants.push_back(original);
    Node* const copy =
        graph->create(Symbol::from_qual_string("aten::clone"),
                      {original->output(), constant({}, *base_type(TypeKind::None))});
    append(copy)->output()->set_type(original->output()->type());
    copies.push_back(copy);
    return entry.value = copy->output();
  }
  const auto [begin, end] = reach_of(tensor);
  if (begin != nullptr) {
    auto beside = memory.lower_bound(end);
    if (beside != memory.begin() && (--beside)->second.end > begin) {
      tensors.erase(tensor.impl().get());
      fail(ErrorKind::Unsupported,
           fmt::format(
               "a tensor is in the memory of %{}, which is another one at each run, but no "
               "operator "
               "gave it: it went by an array of another library, or by a function that is no "
               "operator. "
               "The graph would hold the numbers of the example; use operators on Tensors instead",
               beside->second.value->printed_name()));
    }
  }
  entry.tensor = tensor;
  constant_memory.insert(tensor.impl()->storage().get());
  Node* const node = append(graph->create_constant(opyard::Value(tensor)));
  constants.push_back(node);
  return entry.value = node->output();
}

Node* TraceData::append(Node* node) {
  if (options.where) node->set_source_range(options.where());
  if (options.scope) node->set_scope(options.scope());
  return graph->append_node(node);
}

Trace::Trace(TraceOptions options) : data_(std::make_unique<TraceData>(std::move(options))) {}
Trace::~Trace() = default;

Value* Trace::add_input(const Tensor& tensor, std::string_view name) {
  OPYARD_CHECK(tensor.defined(), BadArgument, "an input of a trace is undefined");
  if (Value* const known = data_->find(tensor)) {
    fail(ErrorKind::BadArgument,
         fmt::format("input %{} of a trace was given twice; give alias() of it, else the two "
                     "could not be told apart",
                     known->printed_name()));
  }
  Value* const value = data_->graph->add_input(name, type_of_tensor(tensor));
  data_->learn(tensor, value);
  return value;
}

void Trace::add_made(const Tensor& tensor) {
  if (!tensor.defined() || data_->finished) return;
  data_->tensors[tensor.impl().get()] = {tensor, nullptr, true};
}

Value* Trace::find(const Tensor& tensor) const noexcept { return data_->find(tensor); }
Value* Trace::value_of(const Tensor& tensor) { return data_->value_of(tensor); }

void Trace::register_output(const Tensor& tensor) {
  data_->graph->register_output(data_->value_of(tensor));
}

const Graph& Trace::graph() const noexcept { return *data_->graph; }

GraphPtr Trace::finish() {
  OPYARD_CHECK(!data_->finished, BadValue, "this trace is finished");
  data_->drop_unused_constants();
  data_->finished = true;
  data_->tensors.clear();
  lint(*data_->graph);
  return data_->graph;
}

const std::string& Trace::failure() const noexcept { return data_->failure; }
bool Trace::observes() const noexcept { return data_->options.observes; }
void Trace::give_up(std::string why) {
  if (data_->failure.empty()) data_->failure = std::move(why);
}

void TraceData::check_modes(const std::string& name) const {
  if (thread_modes().size() <= modes) return;
  fail(ErrorKind::Unsupported,
       fmt::format("{}: was called in a mode that the traced function enters; a graph holds "
                   "operators, and no modes. Enter the mode around the trace, and around the runs "
                   "of the graph",
                   name));
}

void TraceData::check_may_call(const Operator& op) const {
  const Schema& schema = op.schema();
  if (schema.variadic_arguments || schema.variadic_results) {
    fail(ErrorKind::Unsupported,
         fmt::format("{}: cannot be traced, since its schema leaves open what it takes or gives",
                     to_string(op.name())));
  }
  check_modes(to_string(op.name()));
  if (!options.observes) return;
  if (gradient_mode() != gradients) {
    fail(ErrorKind::Unsupported,
         fmt::format("{}: was called where gradients are {}, other than around the function; a "
                     "graph does not hold that",
                     to_string(op.name()), gradients_enabled() ? "enabled again" : "disabled"));
  }
  if (!(local_keys() == keys)) {
    fail(ErrorKind::Unsupported,
         fmt::format("{}: was called with dispatch keys that the function includes or excludes, as "
                     "autocast does; a graph does not hold that",
                     to_string(op.name())));
  }
}

void Trace::call(const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Schema& schema = op.schema();
  const auto call_untraced = [&] {
    const ExcludeDispatchKeyGuard quiet(DispatchKey::Tracer);
    op.redispatch_boxed(below_tracer(keys), stack);
  };
  if (!data_->failure.empty()) return call_untraced();
  Node* begun_node = nullptr;
  try {
    data_->check_may_call(op);
    if (!data_->options.parts || !is_composed(op)) {
      begun_node = data_->create_node(op, stack.top(schema.arguments.size()));
    }
  } catch (const Error& error) {
    if (!data_->options.observes || error.kind() != ErrorKind::Unsupported) throw;
    give_up(error.what());
    return call_untraced();
  }
  if (begun_node == nullptr) return op.redispatch_boxed(below_tracer(keys), stack);
  Begun begun(begun_node);
  call_untraced();
  const auto results = stack.top(schema.results.size());
  data_->take_results(data_->append(begun.keep()), schema, results);
  if (data_->options.observes && std::any_of(results.begin(), results.end(), &is_number_result)) {
    give_up(fmt::format("{}: gives a number, which may be another one at the next run",
                        to_string(op.name())));
  }
}

std::vector<Tensor> Trace::call(const FunctionCall& function) {
  if (!data_->failure.empty()) return function.run();
  data_->check_modes(function.name);
  std::vector<Value*> inputs;
  std::vector<std::uint32_t> versions;
  for (const Tensor& input : function.inputs) {
    inputs.push_back(data_->value_of(input));
    versions.push_back(version_of(input));
  }
  Begun begun(function.create(*data_->graph, inputs));
  std::vector<Tensor> outputs;
  {
    const ExcludeDispatchKeyGuard quiet(DispatchKey::Tracer);
    outputs = function.run();
  }
  std::vector<std::int64_t> written;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (version_of(function.inputs[i]) != versions[i]) written.push_back(std::int64_t(i));
  }
  Node* const node = data_->append(begun.keep());
  if (!written.empty()) node->is_(Symbol::attr("writes"), std::move(written));
  for (const Tensor& output : outputs) {
    Value* const value = node->add_output();
    if (!output.defined()) continue;
    value->set_type(type_of_tensor(output));
    data_->learn(output, value);
  }
  return outputs;
}

TraceGuard::TraceGuard(Trace& trace) {
  check_may_begin(trace, *trace.data_);
  begin_trace();
  trace.data_->modes = thread_modes().size();
  trace.data_->gradients = gradient_mode();
  current = &trace;
  include_.emplace(DispatchKey::Tracer);
  trace.data_->keys = local_keys();
}

TraceGuard::~TraceGuard() {
  include_.reset();
  current = nullptr;
  end_trace();
}

Trace* current_trace() noexcept { return current; }
Trace* trace_of_calls() noexcept {
  if (current == nullptr || !current->failure().empty()) return nullptr;
  const LocalKeys keys = local_keys();
  return (keys.include - keys.exclude).has(DispatchKey::Tracer) ? current : nullptr;
}

GraphPtr trace(const std::function<std::vector<Tensor>(std::span<const Tensor>)>& function,
               std::span<const Tensor> inputs, TraceOptions options) {
  Trace trace(std::move(options));
  for (const Tensor& input : inputs) trace.add_input(input);
  std::vector<Tensor> outputs;
  {
    const TraceGuard guard(trace);
    outputs = function(inputs);
  }
  for (const Tensor& output : outputs) trace.register_output(output);
  return trace.finish();
}

}  // namespace opyard::jit
