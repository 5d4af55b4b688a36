// slot/modes.cpp: a thread's stack of modes, and the key that leads calls to it.
#include "opyard/slot/modes.h"

#include <algorithm>
#include <iterator>

namespace opyard {
namespace {

// `added` is what the modes put into the include set: a guard may have put the key there before. The
// list always has room for the hidden ones, so that they come back without memory.
struct ThreadModes {
  std::vector<ModePtr> list;
  std::uint64_t added = 0;
  std::size_t hidden = 0;
};
constinit thread_local ThreadModes modes;

// Lets the include set follow the list. The list must have changed only by way of this.
void follow(ThreadModes& ours) noexcept {
  if (!ours.list.empty()) {
    if (ours.added != 0) return;
    ours.added = DispatchKeySet(DispatchKey::Python).raw() & ~detail::local_block.include;
    detail::local_block.include |= ours.added;
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

Mode::~Mode() = default;

const std::vector<ModePtr>& thread_modes() noexcept { return modes.list; }

void push_mode(ModePtr mode) {
  ThreadModes& ours = modes;
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
  ThreadModes& ours = modes;
  OPYARD_CHECK(!ours.list.empty(), BadRegistration, "Trying to pop empty mode stack");
  return remove_mode(ours.list.size() - 1);
}

ModePtr remove_mode(std::size_t position) noexcept {
  ThreadModes& ours = modes;
  const auto at = ours.list.begin() + std::ptrdiff_t(position);
  ModePtr mode = std::move(*at);
  ours.list.erase(at);
  follow(ours);
  return mode;
}

std::vector<ModePtr> exchange_modes(std::vector<ModePtr> fresh) {
  ThreadModes& ours = modes;
  fresh.reserve(fresh.size() + ours.hidden);
  std::swap(ours.list, fresh);
  follow(ours);
  return fresh;
}

std::uint64_t detail::key_added_by_modes() noexcept { return modes.added; }

HideModes::HideModes(std::size_t left) {
  ThreadModes& ours = modes;
  if (left >= ours.list.size()) return;
  hidden_ = ours.list.size() - left;
  if (hidden_ > 1) {
    others_.reserve(hidden_ - 1);
    std::move(ours.list.begin() + std::ptrdiff_t(left), ours.list.end() - 1,
              std::back_inserter(others_));
  }
  innermost_ = std::move(ours.list.back());
  ours.list.resize(left);
  ours.hidden += hidden_;
  follow(ours);
}

HideModes::~HideModes() {
  if (hidden_ == 0) return;
  ThreadModes& ours = modes;
  for (ModePtr& mode : others_) ours.list.push_back(std::move(mode));
  ours.list.push_back(std::move(innermost_));
  ours.hidden -= hidden_;
  follow(ours);
}

}  // namespace opyard
