// opyard/thread/modes.h: the dispatch modes of a thread.
//
// A mode is an object of an interpreter that sees every call of its thread before the kernels do.
// The modes of a thread form a stack; the innermost is asked first. While there is one, the key
// Python is in the thread's include set, and its slot leads to them (registry/handlers.h). A thread
// without modes pays nothing.
//
//   outermost                                   innermost
//   Fake   Proxy   Functional   user   user … user         each of the first three at most once
//
// Modes with a fixed place serve programs that trace or imitate calls: they see what the modes of
// users above them let through, in the same order, whichever is entered first.
//
// A mode is hidden while its handler runs, with all that are inside of it: what the handler calls
// goes to the modes around. New threads have no modes; see thread/thread_context.h for taking them
// along.
//
// Depends on: interpreter/interpreter_object.h, keys/local.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "opyard/base/counted.h"
#include "opyard/interpreter/interpreter_object.h"
#include "opyard/keys/local.h"

namespace opyard {

// Where a mode is, outermost first.
enum class ModePlace : std::uint8_t { Fake, Proxy, Functional, User };

// An object of another language that is asked for each call of a thread.
class OPYARD_API Mode final : public Counted {
 public:
  Mode(InterpreterObject handler, ModePlace place) noexcept
      : handler_(std::move(handler)), place_(place) {}

  const InterpreterObject& handler() const noexcept { return handler_; }
  ModePlace place() const noexcept { return place_; }

 private:
  ~Mode() override;

  const InterpreterObject handler_;
  const ModePlace place_;
};
using ModePtr = CountedPtr<const Mode>;

namespace detail {

// `added` is what the modes put into the include set: a guard may have put the key there before.
// The list always has room for the hidden ones, so that they come back without memory.
struct ThreadModes {
  std::vector<ModePtr> list;
  std::uint64_t added = 0;
  std::size_t hidden = 0;
};

// Null before a thread's first mode. Found like the thread's key sets (keys/local.h): calls look
// here.
extern OPYARD_API __thread ThreadModes* thread_modes __attribute__((tls_model("initial-exec")));
extern OPYARD_API const std::vector<ModePtr> no_modes;

}  // namespace detail

// The modes of this thread, outermost first. The list is borrowed until the next change.
inline const std::vector<ModePtr>& thread_modes() noexcept {
  return detail::thread_modes == nullptr ? detail::no_modes : detail::thread_modes->list;
}

// Makes it the innermost one of its place. Raises BadRegistration if a fixed place is taken.
OPYARD_API void push_mode(ModePtr mode);
// Takes the innermost one away. Raises BadRegistration if there is none.
OPYARD_API ModePtr pop_mode();
// Takes away the mode at a place of the list.
OPYARD_API ModePtr remove_mode(std::size_t position) noexcept;
// Replaces all of them; gives the former ones, which come back without fail.
OPYARD_API std::vector<ModePtr> exchange_modes(std::vector<ModePtr> modes);

// Hides all modes but the outermost `left` for a scope. Those that are pushed meanwhile and not
// taken away are outside of the hidden ones afterwards.
class OPYARD_API HideModes {
 public:
  explicit HideModes(std::size_t left);
  HideModes(const HideModes&) = delete;
  HideModes& operator=(const HideModes&) = delete;
  ~HideModes();

  // The outermost of those that are hidden: the one whose handler runs. There has to be one.
  const Mode& outermost() const noexcept { return others_.empty() ? *innermost_ : *others_[0]; }

 private:
  std::size_t hidden_ = 0;
  ModePtr innermost_;            // most often the only one
  std::vector<ModePtr> others_;  // outermost first
};

namespace detail {
// The bit of the key Python, if this thread's modes put it into the include set.
OPYARD_API std::uint64_t key_added_by_modes() noexcept;
}  // namespace detail

}  // namespace opyard
