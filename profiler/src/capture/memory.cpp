// profiler/capture/memory.cpp: event sources: tensor memory, and device events.
//
// [Totals] What a device holds is counted from the start of the session: memory that was taken
// before and is given back meanwhile makes it less than nothing. It is counted in the order in
// which threads came to count, so on two threads at once a total may be that of a moment before.
#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "opyard/detail/profiler/memory.h"
#include "opyard/observe/gpu_trace.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/session.h"
#include "opyard/tensor/memory_listener.h"

namespace opyard::profiler {
namespace {

constexpr std::size_t kIndices = 16;  // more devices of one backend share the last total
constinit std::array<std::atomic<std::int64_t>, 16 * kIndices> totals{};

std::size_t device_number(Device device) noexcept {
  const auto index = device.index < 0 ? 0 : std::size_t(device.index);
  return std::size_t(device.backend) % 16 * kIndices + (index < kIndices ? index : kIndices - 1);
}

void append_memory_mark(MarkKind kind, std::uint32_t key, std::uint16_t detail, Payload first,
                        Payload second) noexcept {
  Stream* const stream = Stream::current();
  if (stream == nullptr) return;
  const Payload words[] = {first, second};
  stream->append(event_of(kind), key, detail, words, 2);
}

void capture_memory(MarkKind kind, const void* address, std::int64_t bytes, Device device,
                    std::int64_t counted) noexcept {
  const std::int64_t total =
      totals[device_number(device)].fetch_add(counted, std::memory_order_relaxed) + counted;
  const MemoryFacts facts{reinterpret_cast<std::uintptr_t>(address), bytes, total, device};
  append_memory_mark(kind, 0, 0, facts.first(), facts.second());
}

void memory_taken(const void* address, std::size_t bytes, Device device) noexcept {
  const auto count = std::int64_t(bytes);
  capture_memory(MarkKind::Memory, address, count, device, count);
}
void given_back(const void* address, std::size_t bytes, Device device) noexcept {
  const auto count = -std::int64_t(bytes);
  capture_memory(MarkKind::Memory, address, count, device, count);
}
void refused(std::size_t bytes, Device device) noexcept {
  capture_memory(MarkKind::OutOfMemory, nullptr, std::int64_t(bytes), device, 0);
}
constexpr MemoryListener kListener{memory_taken, given_back, refused};

bool wants_memory(const SessionOptions& options) { return options.memory; }
void start_memory(Window&, const SessionOptions&) {
  for (auto& total : totals) total.store(0, std::memory_order_relaxed);
  memory_listener.store(&kListener, std::memory_order_relaxed);
}
void stop_memory(SourceReport&) { memory_listener.store(nullptr, std::memory_order_relaxed); }

// The words are those of the event, then the backend.
void capture_device(const char* what, Backend backend, std::uintptr_t first,
                    std::uintptr_t second) noexcept {
  std::uint32_t key = 0;
  try {
    Name name;
    name.text = to_string(backend) + " " + what;
    name.kind = "device";
    key = add_name(std::move(name));
  } catch (const std::bad_alloc&) {  // an event without a name, then
  }
  append_memory_mark(MarkKind::Device, key, 0, {first, second}, {std::uint64_t(backend), 0});
}

bool wants_devices(const SessionOptions& options) { return options.devices; }
void start_devices(Window&, const SessionOptions&) { GpuTrace::listen(&capture_device); }
void stop_devices(SourceReport&) { GpuTrace::listen(nullptr); }

constexpr Source kMemorySource{"memory", wants_memory, start_memory, stop_memory};
constexpr Source kDeviceSource{"devices", wants_devices, start_devices, stop_devices};
[[maybe_unused]] const bool memory_registered =
    (register_source(&kMemorySource), register_source(&kDeviceSource), true);

}  // namespace
}  // namespace opyard::profiler
