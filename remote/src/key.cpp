// remote/key.cpp: the backend "remote": which operators are recorded, and copies between devices.
//
// [Which] A fallback at the dense key takes what has no kernel for all backends. Views have one,
// CompositeExplicitAutograd, and run here, on sizes alone. Those that write, or make tensors, have
// one too if they are defined so; they are recorded as one call each, by kernels at the key itself.
// So is a composition that has a derivative, which the tape asks instead of its parts; any other
// one runs as its parts, or its gradient would be lost.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "opyard/detail/keys/named_keys.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"
#include "opyard/remote/recorder.h"
#include "places.h"

namespace opyard::remote {
namespace {

using Find = CountedPtr<Recorder> (*)(std::int16_t);

constinit std::atomic<int> remote_backend{-1};
constinit std::atomic<Find> find_worker{nullptr};

// Null without the plugin that has them.
constinit std::atomic<const Operator*> operator_to_copy{nullptr};
constinit std::atomic<const Operator*> operator_copy{nullptr};

constexpr const char* kProvenance = "opyard_remote: calls on tensors of workers";
constexpr const char* kToCopy = "aten::_to_copy";
// Positions in its schema.
constexpr std::size_t kDType = 1, kDevice = 3;

CountedPtr<Recorder> require_recorder(Device device) {
  if (device.index < 0) {
    fail(ErrorKind::BadValue,
         "device 'remote' names no worker; name one, as \"remote:0\", which is worker 0 of the "
         "current session");
  }
  return find_worker.load(std::memory_order_acquire)(device.index);
}

// `tensor` is on the CPU.
Tensor converted(const Operator& op, const Tensor& tensor, std::span<const Value> options) {
  if (options[kDType].is_none() || options[kDType].to<DType>() == tensor.dtype()) return tensor;
  InlineStack<8> stack;
  stack.push(tensor);
  for (std::size_t i = 1; i < options.size(); ++i) {
    stack.push(i == kDevice ? Value() : options[i]);
  }
  op.call_boxed(stack);
  return stack.pop().take_tensor();
}

// aten::_to_copy from or to a worker.
void copy_to(const Operator& op, Stack& stack) {
  const std::size_t count = op.schema().arguments.size();
  const std::span<const Value> arguments = stack.top(count);
  const Tensor self = arguments[0].to_tensor();
  const Device there =
      arguments[kDevice].is_none() ? self.device() : arguments[kDevice].to_device();
  const auto from = CountedPtr<Recorder>::share(find_recorder(self));
  if (from && there == from->device()) return from->call(op, stack);
  if (there.backend == Backend::Meta) {
    const DType dtype = arguments[kDType].is_none() ? self.dtype() : arguments[kDType].to<DType>();
    return stack.replace(count, Value(Tensor::empty(self.sizes(), dtype, there)));
  }
  if (!is_remote(there) && !there.is_cpu()) {
    fail(ErrorKind::Unsupported,
         fmt::format("{}: self is {} on {}, and device is {}; a worker's tensors are copied to the "
                     "cpu and to other workers",
                     kToCopy, describe(self), to_string(self.device()), to_string(there)));
  }
  if (!from && !self.device().is_cpu()) {
    fail(ErrorKind::Unsupported,
         fmt::format("{}: self is {} on {}, and device is {}; only tensors of the cpu are copied "
                     "to a worker: go by way of the cpu",
                     kToCopy, describe(self), to_string(self.device()), to_string(there)));
  }
  Tensor here = converted(op, from ? from->read(self) : self, arguments);
  stack.replace(count, is_remote(there) ? Value(require_recorder(there)->import(here))
                                        : Value(std::move(here)));
}

// A tensor of the CPU takes the elements of one on a worker.
void copy_from_worker(const Operator& op, Stack& stack) {
  const std::size_t count = op.schema().arguments.size();
  std::vector<Value> arguments;
  for (const Value& argument : stack.top(count)) arguments.push_back(argument);
  const Tensor source = arguments[1].to_tensor();
  arguments[1] = Value(find_recorder(source)->read(source));
  stack.drop(count);
  for (Value& argument : arguments) stack.push(std::move(argument));
  op.call_boxed(stack);
}

bool is_on_cpu(const Value& value) {
  return value.is_tensor() && value.tensor_unchecked().defined() &&
         value.tensor_unchecked().device().is_cpu();
}

void record_call(const Operator& op, DispatchKeySet, Stack& stack) {
  const std::span<const Value> arguments = stack.top(op.schema().arguments.size());
  if (&op == operator_to_copy.load(std::memory_order_relaxed)) return copy_to(op, stack);
  if (&op == operator_copy.load(std::memory_order_relaxed) && is_on_cpu(arguments[0])) {
    return copy_from_worker(op, stack);
  }
  // One that holds the tensor may let go of it meanwhile.
  auto recorder = CountedPtr<Recorder>::share(find_recorder(arguments));
  if (!recorder) {
    const std::optional<std::size_t> at = op.schema().find_argument("device");
    if (!at || !arguments[*at].is_device()) {
      fail(
          ErrorKind::Unsupported,
          fmt::format("{}: was called at the key of workers, and no argument is a tensor of one or "
                      "names one as its device",
                      to_string(op.name())));
    }
    recorder = require_recorder(arguments[*at].to_device());
  }
  recorder->call(op, stack);
}

bool is_recorded(const OperatorName& name) {
  const Operator* const op = Registry::instance().find(name);
  if (op == nullptr) return false;
  const Schema& schema = op->schema();
  const std::vector<std::string> tags = inspect::tags(name);
  if (std::find(tags.begin(), tags.end(), "inplace_view") != tags.end()) return false;
  if (schema.is_mutable()) return true;
  for (const Argument& result : schema.results) {
    if (result.alias) return false;
  }
  return true;
}

// They stay as long as the process lives, as the backend's name does.
std::vector<Registration>& registrations() {
  static auto& all = *new std::vector<Registration>;
  return all;
}

}  // namespace

bool is_remote(Device device) noexcept {
  return int(device.backend) == remote_backend.load(std::memory_order_relaxed);
}

void register_key(CountedPtr<Recorder> (*find)(std::int16_t worker)) {
  static std::mutex& mutex = *new std::mutex;
  find_worker.store(find, std::memory_order_release);
  const std::lock_guard lock(mutex);
  if (remote_backend.load(std::memory_order_relaxed) >= 0) return;
  const Backend backend = register_backend("remote");
  const DispatchKey key = instance_of(DispatchKey::Dense, backend);
  Registry& registry = Registry::instance();
  operator_to_copy.store(registry.find({kToCopy, ""}), std::memory_order_relaxed);
  operator_copy.store(registry.find({"aten::copy_", ""}), std::memory_order_relaxed);
  registrations().push_back(
      registry.implement_fallback(key, Kernel::boxed(&record_call), kProvenance));
  const auto record = [&](DispatchKey alias, const auto& is_meant) {
    for (const OperatorName& name : inspect::names_at(alias)) {
      if (!is_recorded(name) || !is_meant(name)) continue;
      registrations().push_back(
          registry.implement(name, key, Kernel::boxed(&record_call), kProvenance));
    }
  };
  record(DispatchKey::CompositeExplicitAutograd, [](const OperatorName&) { return true; });
  record(DispatchKey::CompositeImplicitAutograd, [](const OperatorName& name) {
    return inspect::derivative(name) != nullptr &&
           !inspect::has_kernel_at(name, DispatchKey::CompositeExplicitAutograd);
  });
  remote_backend.store(int(backend), std::memory_order_relaxed);
}

std::string explain_recording(const Operator& op) {
  const std::string name = to_string(op.name());
  const inspect::Resolution at_meta = inspect::resolve(op, DispatchKey::Meta);
  if (std::string_view(at_meta.rule) == "missing") {
    return fmt::format(
        "{}: on tensors of a worker it ends the block and is called there by itself, since it has "
        "no kernel at Meta that says what sizes it gives",
        name);
  }
  const std::vector<std::string> tags = inspect::tags(op.name());
  for (const char* const tag : {"dynamic_output_shape", "data_dependent_output"}) {
    if (std::find(tags.begin(), tags.end(), tag) == tags.end()) continue;
    return fmt::format(
        "{}: on tensors of a worker it ends the block and is called there by itself, since what it "
        "gives depends on elements ({})",
        name, tag);
  }
  return fmt::format(
      "{}: on tensors of a worker it is recorded into a block; its kernel at Meta "
      "says what sizes it gives ({})",
      name, at_meta.rule);
}

}  // namespace opyard::remote
