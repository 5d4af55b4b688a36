// thread/modes.cpp: stack of dispatch modes of a thread.
#include "opyard/thread/modes.h"

#include <algorithm>
#include <iterator>

namespace opyard {
namespace {

using detail::ThreadModes;

// Gives a thread its list, and takes it away when the thread ends.
struct Holder {
  ThreadModes modes;
  Holder() noexcept { detail::thread_modes = &modes; }
  ~Holder() {
    detail::thread_modes = nullptr;  // what dies here may call operators
  }
};
ThreadModes& own_modes() {
  if (detail::thread_modes != nullptr) return *detail::thread_modes;
  static thread_local Holder holder;
  return holder.modes;
}

// Lets the include set follow the list. The list must have changed only by way of this.
void follow(ThreadModes& ours) noexcept {
  if (!ours.list.empty()) {
    // The whole include set may have been replaced meanwhile.
    const std::uint64_t missing =
        DispatchKeySet(DispatchKey::Python).raw() & ~detail::local_block.include;
    ours.added |= missing;
    detail::local_block.include |= missing;
  } else {
    detail::local_block.include &= ~ours.added;
    ours.added = 0;
  }
}

// Behind the last mode of its place or of one further out.
auto place_for(ThreadModes& ours, const Mode& mode) {
  auto at = ours.list.end();
  while (at != ours.list.begin() && (*std::prev(at))->place() > mode.place()) --at;
  return at;
}

}  // namespace

__thread ThreadModes* detail::thread_modes = nullptr;
const std::vector<ModePtr> detail::no_modes;

Mode::~Mode() = default;

void push_mode(ModePtr mode) {
  ThreadModes& ours = own_modes();
  const auto at = place_for(ours, *mode);
  if (mode->place() != ModePlace::User && at != ours.list.begin() &&
      (*std::prev(at))->place() == mode->place()) {
    constexpr const char* kNames[] = {"Fake", "Proxy", "Functional"};
    fail(ErrorKind::BadRegistration,
         std::string("this thread has a mode at the fixed place ") +
             kNames[std::size_t(mode->place())] +
             " already, which holds one; leave that one first, or take it away for a while");
  }
  const auto position = at - ours.list.begin();
  ours.list.reserve(ours.list.size() + ours.hidden + 1);
  ours.list.insert(ours.list.begin() + position, std::move(mode));
  follow(ours);
}

ModePtr pop_mode() {
  ThreadModes& ours = own_modes();
  OPYARD_CHECK(!ours.list.empty(), BadRegistration, "Trying to pop empty mode stack");
  return remove_mode(ours.list.size() - 1);
}

ModePtr remove_mode(std::size_t position) noexcept {
  ThreadModes& ours = own_modes();
  const auto at = ours.list.begin() + std::ptrdiff_t(position);
  ModePtr mode = std::move(*at);
  ours.list.erase(at);
  follow(ours);
  return mode;
}

std::vector<ModePtr> exchange_modes(std::vector<ModePtr> fresh) {
  ThreadModes& ours = own_modes();
  fresh.reserve(fresh.size() + ours.hidden);
  std::swap(ours.list, fresh);
  follow(ours);
  return fresh;
}

std::uint64_t detail::key_added_by_modes() noexcept {
  return thread_modes == nullptr ? 0 : thread_modes->added;
}

HideModes::HideModes(std::size_t left) {
  if (left >= thread_modes().size()) return;
  ThreadModes& ours = *detail::thread_modes;
  hidden_ = ours.list.size() - left;
  if (hidden_ > 1) {
    others_.reserve(hidden_ - 1);
    std::move(ours.list.begin() + std::ptrdiff_t(left), ours.list.end() - 1,
              std::back_inserter(others_));
  }
  innermost_ = std::move(ours.list.back());
  ours.list.erase(ours.list.begin() + std::ptrdiff_t(left), ours.list.end());
  ours.hidden += hidden_;
  follow(ours);
}

HideModes::~HideModes() {
  if (hidden_ == 0) return;
  ThreadModes& ours = *detail::thread_modes;
  for (ModePtr& mode : others_) ours.list.push_back(std::move(mode));
  ours.list.push_back(std::move(innermost_));
  ours.hidden -= hidden_;
  follow(ours);
}

}  // namespace opyard
