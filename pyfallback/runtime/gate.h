// runtime/gate.h: the way into an interpreter, and its closing.
//
// A thread that takes the GIL while Python shuts down is ended or crashes. So threads that
// come from outside pass a gate first. Closing it turns later ones away with an error and
// waits, two seconds at most, for those that are between the check and holding the GIL.
//
// It also counts the threads from outside that are within: an interpreter beside the main one can
// end only after the last of them has left, and CPython up to 3.13 may crash if it ends threads in
// the middle of Python code, so the main one gives them a moment as well.
//
// Depends on: nothing of ours.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace opyard::python {

class Gate {
 public:
  // True: the thread is inside and must leave() once it holds the GIL. False: closed.
  bool enter() noexcept {
    entering_.fetch_add(1, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return true;
    leave();
    return false;
  }
  void leave() noexcept { entering_.fetch_sub(1, std::memory_order_seq_cst); }

  // Of those that have come in with a thread state made for that, until they give it back.
  void count_guest(int change) noexcept { guests_.fetch_add(change, std::memory_order_seq_cst); }

  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  // Turns away all who come from now on. Never waits.
  void close() noexcept { closed_.store(true, std::memory_order_seq_cst); }

  // Waits until no one is between enter() and leave(). Without the GIL, since that is what
  // they wait for.
  void wait_until_quiet() const noexcept { wait_for_none(entering_, std::chrono::seconds(2)); }
  // Waits until the last guest has left, so long at most. Without the GIL.
  void wait_until_empty(std::chrono::milliseconds most) const noexcept {
    wait_for_none(guests_, most);
  }

 private:
  static void wait_for_none(const std::atomic<int>& count,
                            std::chrono::milliseconds most) noexcept {
    const auto deadline = std::chrono::steady_clock::now() + most;
    while (count.load(std::memory_order_seq_cst) != 0 &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  }

  std::atomic<int> entering_{0};
  std::atomic<int> guests_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace opyard::python
