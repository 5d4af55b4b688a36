// test/cpp/simulated_device.h: a device without hardware, whose work is done later and elsewhere.
//
// Each stream is a queue with a thread of its own. A test may hold a stream back: then nothing of
// it is done until it lets go, so that who reads without waiting reads what was there before, each
// time. Events are tickets: wait() puts into a queue that it goes on once another has come so far.
#pragma once

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "opyard/tensor/device_functions.h"

namespace opyard {

class SimulatedDevice {
 public:
  SimulatedDevice() = default;
  SimulatedDevice(const SimulatedDevice&) = delete;
  ~SimulatedDevice() {
    for (auto& [id, stream] : streams_) {
      put(id, nullptr);
      stream->thread.join();
    }
  }

  opyard_device_functions functions(const char* name) {
    return {sizeof(opyard_device_functions),
            name,
            this,
            allocate,
            release,
            copy,
            current_stream,
            wait,
            synchronise,
            exchange_device};
  }

  // Nothing of the stream is done from now on, until let_go().
  void hold_back(std::int64_t id) {
    change(id, [](Queue& queue) { queue.held = true; });
  }
  void let_go(std::int64_t id) {
    change(id, [](Queue& queue) { queue.held = false; });
  }
  // How much this device has, and how much was never asked of it.
  std::size_t blocks() const { return blocks_.size(); }

  static inline thread_local std::int64_t current = 0;
  static inline thread_local std::int32_t device = 0;
  std::size_t room = std::size_t{1} << 20;

 private:
  struct Queue {
    std::deque<std::function<void()>> work;
    std::uint64_t put = 0;  // tickets
    std::uint64_t done = 0;
    bool held = false;
    std::thread thread;
  };

  Queue& queue(std::int64_t id) {  // with the mutex held
    std::unique_ptr<Queue>& stream = streams_[id];
    if (stream == nullptr) {
      stream = std::make_unique<Queue>();
      stream->thread = std::thread([this, own = stream.get()] { run(*own); });
    }
    return *stream;
  }
  template <typename Change>
  void change(std::int64_t id, const Change& body) {
    const std::lock_guard lock(mutex_);
    body(queue(id));
    changed_.notify_all();
  }
  // A null function ends the queue.
  void put(std::int64_t id, std::function<void()> work) {
    change(id, [&](Queue& stream) {
      stream.work.push_back(std::move(work));
      ++stream.put;
    });
  }
  void run(Queue& own) {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !own.held && !own.work.empty(); });
        work = std::move(own.work.front());
        own.work.pop_front();
      }
      if (!work) return;
      work();
      const std::lock_guard lock(mutex_);
      ++own.done;
      changed_.notify_all();
    }
  }

  static SimulatedDevice& of(void* context) { return *static_cast<SimulatedDevice*>(context); }
  static void* allocate(void* context, std::int32_t, std::size_t size) {
    SimulatedDevice& self = of(context);
    if (size > self.room) return nullptr;
    void* const memory = std::aligned_alloc(64, (size + 63) / 64 * 64);
    const std::lock_guard lock(self.mutex_);
    self.blocks_.insert(memory);
    return memory;
  }
  static void release(void* context, std::int32_t, void* memory, std::size_t) {
    const std::lock_guard lock(of(context).mutex_);
    of(context).blocks_.erase(memory);
    std::free(memory);
  }
  static int copy(void* context, void* to, std::int32_t, const void* from, std::int32_t,
                  std::size_t size, std::int64_t stream) {
    of(context).put(stream, [=] { std::memcpy(to, from, size); });
    return 0;
  }
  static std::int64_t current_stream(void*, std::int32_t) { return current; }
  static int wait(void* context, std::int32_t, std::int64_t stream, std::int64_t other) {
    SimulatedDevice& self = of(context);
    Queue* before = nullptr;
    std::uint64_t ticket = 0;
    self.change(other, [&](Queue& queue) {
      before = &queue;
      ticket = queue.put;
    });
    self.put(stream, [&self, before, ticket] {
      std::unique_lock lock(self.mutex_);
      self.changed_.wait(lock, [&] { return before->done >= ticket; });
    });
    return 0;
  }
  static int synchronise(void* context, std::int32_t, std::int64_t stream) {
    SimulatedDevice& self = of(context);
    std::unique_lock lock(self.mutex_);
    Queue& queue = self.queue(stream);
    const std::uint64_t ticket = queue.put;
    self.changed_.wait(lock, [&] { return queue.done >= ticket; });
    return 0;
  }
  static std::int32_t exchange_device(void*, std::int32_t index) {
    const std::int32_t former = device;
    if (index >= 0) device = index;
    return former;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, std::unique_ptr<Queue>> streams_;
  std::set<void*> blocks_;
};

}  // namespace opyard
