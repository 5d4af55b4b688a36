// tensor/device_functions.cpp: devices that plugins bring.
//
// Threads: the functions of a backend are found by one atomic load. Who registers puts a new node
// in front of the former, which stays: memory may have come from it.
#include "opyard/tensor/device_functions.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "base/versioned_struct.h"
#include "opyard/observe/gpu_trace.h"
#include "opyard/tensor/memory_listener.h"

namespace opyard {
namespace {

struct Registered {
  opyard_device_functions functions;
  std::string name;
  const Registered* former = nullptr;
};

constinit std::array<std::atomic<const Registered*>, kBackendCount> registered{};

const opyard_device_functions* find(Backend backend) noexcept {
  const Registered* const found = registered[std::size_t(backend)].load(std::memory_order_acquire);
  return found == nullptr ? nullptr : &found->functions;
}
const opyard_device_functions& require(Device device) {
  const opyard_device_functions* const found = find(device.backend);
  if (found != nullptr) return *found;
  fail(ErrorKind::Unsupported,
       fmt::format("the backend of device {} has no device functions; load the plugin that brings "
                   "them, or call register_device()",
                   to_string(device)));
}

// Raises what a function of a device said.
void check(int status, const char* what, Device device) {
  if (status == 0) return;
  if (const std::optional<Error> error = take_error()) throw *error;
  fail(ErrorKind::Foreign, fmt::format("{} on device {} failed with status {} and left no text",
                                       what, to_string(device), status));
}

void check_complete(const opyard_device_functions& f) {
  const bool complete = f.allocate != nullptr && f.release != nullptr && f.copy != nullptr &&
                        f.current_stream != nullptr && f.wait != nullptr &&
                        f.synchronise != nullptr && f.exchange_device != nullptr;
  if (f.name == nullptr || !complete) {
    fail(ErrorKind::BadArgument,
         "an opyard_device_functions has a null pointer: it needs a name and every function");
  }
}

std::uintptr_t word_of(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address);
}

// What gives a storage's memory back.
struct DeviceMemory {
  const opyard_device_functions& functions;
  Backend backend;
  std::int32_t index;
  void* memory;
  std::size_t bytes;

  static void give_back(void* context) {
    const std::unique_ptr<DeviceMemory> self(static_cast<DeviceMemory*>(context));
    tell_given_back(self->memory, self->bytes, {self->backend, std::int16_t(self->index)});
    trace_gpu(&Interpreter::trace_gpu_memory_deallocation, self->backend, word_of(self->memory));
    self->functions.release(self->functions.context, self->index, self->memory, self->bytes);
  }
};

void check_alike(const Tensor& to, const Tensor& from) {
  const auto wanted = to.sizes();
  const auto given = from.sizes();
  if (!std::equal(wanted.begin(), wanted.end(), given.begin(), given.end())) {
    fail(ErrorKind::BadShape, fmt::format("a tensor of sizes {} cannot take the elements of {}",
                                          describe_sizes(wanted), describe_sizes(given)));
  }
  if (to.dtype() != from.dtype()) {
    fail(ErrorKind::BadArgument, fmt::format("a {} tensor cannot take the elements of a {} one",
                                             name_of(to.dtype()), name_of(from.dtype())));
  }
  if (!to.is_contiguous() || !from.is_contiguous()) {
    fail(ErrorKind::BadValue, "elements are copied between contiguous tensors only");
  }
}

}  // namespace

void register_device(Backend backend, const opyard_device_functions& given) {
  const opyard_device_functions functions = read_sized(&given, "opyard_device_functions");
  check_complete(functions);
  if (backend == Backend::CPU || backend == Backend::Meta) {
    fail(ErrorKind::BadRegistration,
         fmt::format("{} is served by Opyard itself and takes no device functions",
                     to_string(backend)));
  }
  auto node = std::make_unique<Registered>(Registered{functions, functions.name});
  node->functions.name = node->name.c_str();
  auto& place = registered[std::size_t(backend)];
  const Registered* former = place.load(std::memory_order_acquire);
  do {
    if (former != nullptr && former->name != node->name) {
      fail(ErrorKind::BadRegistration,
           fmt::format("{} has device functions of {} already; {} cannot serve it, too",
                       to_string(backend), former->name, node->name));
    }
    node->former = former;
  } while (!place.compare_exchange_weak(former, node.get(), std::memory_order_acq_rel));
  static_cast<void>(node.release());
}

bool has_device_functions(Backend backend) noexcept { return find(backend) != nullptr; }

CountedPtr<Storage> detail::allocate_on_device(std::size_t bytes, Device device) {
  const opyard_device_functions* const found = find(device.backend);
  if (found == nullptr) return nullptr;
  if (device.index < 0) {
    device.index = std::int16_t(found->exchange_device(found->context, -1));
  }
  if (bytes == 0) return Storage::adopt(nullptr, 0, device, nullptr, nullptr);
  auto memory = std::make_unique<DeviceMemory>(
      DeviceMemory{*found, device.backend, device.index, nullptr, bytes});
  memory->memory = found->allocate(found->context, device.index, bytes);
  if (memory->memory == nullptr) {
    tell_refused(bytes, device);
    fail(ErrorKind::OutOfMemory,
         fmt::format("device {} has no {} bytes left", to_string(device), bytes));
  }
  void* const data = memory->memory;
  tell_taken(data, bytes, device);
  trace_gpu(&Interpreter::trace_gpu_memory_allocation, device.backend, word_of(data));
  return Storage::adopt(data, bytes, device, memory.release(), &DeviceMemory::give_back);
}

void copy_elements(const Tensor& to, const Tensor& from) {
  check_alike(to, from);
  const Device there = to.device();
  const Device here = from.device();
  const std::size_t bytes = std::size_t(to.numel()) * item_size(to.dtype());
  void* const data = to.mutable_raw();
  if (bytes == 0) return;
  if (there.is_cpu() && here.is_cpu()) {
    std::memmove(data, from.raw(), bytes);
    return;
  }
  const Device device = there.is_cpu() ? here : there;
  if (!there.is_cpu() && !here.is_cpu() && there.backend != here.backend) {
    fail(ErrorKind::Unsupported, fmt::format("elements are not copied from device {} to {}; go by "
                                             "way of the cpu",
                                             to_string(here), to_string(there)));
  }
  const opyard_device_functions& f = require(device);
  check(f.copy(f.context, data, there.is_cpu() ? OPYARD_HOST : there.index, from.raw(),
               here.is_cpu() ? OPYARD_HOST : here.index, bytes,
               f.current_stream(f.context, device.index)),
        "a copy", device);
}

Stream current_stream(Device device) {
  if (device.is_cpu()) return {device, 0};
  const opyard_device_functions& f = require(device);
  return {device, f.current_stream(f.context, device.index)};
}

void wait(Stream stream, Stream other) {
  if (stream.device != other.device) {
    fail(ErrorKind::BadArgument, fmt::format("{} cannot wait for {}: they are of two devices",
                                             to_string(stream), to_string(other)));
  }
  if (stream.device.is_cpu()) return;
  const opyard_device_functions& f = require(stream.device);
  check(f.wait(f.context, stream.device.index, stream.id, other.id), "a wait", stream.device);
}

void synchronise(Stream stream) {
  if (stream.device.is_cpu()) return;
  const opyard_device_functions& f = require(stream.device);
  trace_gpu(&Interpreter::trace_gpu_stream_synchronization, stream.device.backend,
            std::uintptr_t(stream.id));
  check(f.synchronise(f.context, stream.device.index, stream.id), "synchronising", stream.device);
}

DeviceGuard::DeviceGuard(Device device) : functions_(device.is_cpu() ? nullptr : &require(device)) {
  if (functions_ != nullptr) {
    former_ = functions_->exchange_device(functions_->context, device.index);
  }
}

DeviceGuard::~DeviceGuard() {
  if (functions_ != nullptr) functions_->exchange_device(functions_->context, former_);
}

}  // namespace opyard
