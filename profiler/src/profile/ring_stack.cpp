// profiler/profile/ring_stack.cpp: open spans at the begin of a ring's capture.
//
// [Unknown exits] An exit whose entry is not in the ring is mostly of what was open before, and
// then nothing else is open: what is inside ended earlier. If something is, either the exit's entry
// was not captured, as if a profile without calls of C ends within one, or exits were lost. The
// stack that is live now decides: if what is open by the events is the inner part of it, exits that
// come between are ignored.
#include "profile/ring_stack.h"

#include <algorithm>
#include <iterator>

namespace opyard::profiler {
namespace {

struct Entry {
  SpanKind kind;
  std::uint32_t key;
};

bool is_of_python(SpanKind kind) {
  return kind == SpanKind::Python || kind == SpanKind::Module || kind == SpanKind::Optimizer;
}

// As replay.cpp pairs enters and exits, but for exits of what was open before.
struct Stacks {
  const bool ignores;  // exits that are unknown while something is open; see [Unknown exits]
  std::vector<Entry> open;
  std::vector<Entry> left;  // of what was open before, innermost first

  Stacks(const std::vector<Slice>& slices, bool ignores_unknown) : ignores(ignores_unknown) {
    for (const Slice& slice : slices) {
      for (std::uint32_t n = slice.begin; n < slice.end; ++n) {
        const Event& event = slice.block->events[n];
        read(event);
        n += event.payload;
      }
    }
  }

  void read(const Event& event) {
    if (is_mark(event.kind)) return;
    const Entry entry{span_of(event.kind), event.key};
    if (!is_exit(event.kind)) return open.push_back(entry);
    const auto found = std::find_if(open.rbegin(), open.rend(), [&](const Entry& at) {
      return at.kind == entry.kind && at.key == entry.key;
    });
    if (found != open.rend()) {
      open.erase(std::prev(found.base()), open.end());
    } else if (open.empty() || !ignores) {
      open.clear();  // what is inside lost its exit
      left.push_back(entry);
    }
  }

  bool is_inner_part_of(const StartStack& live) const {
    std::size_t n = live.keys.size();
    for (auto at = open.rbegin(); at != open.rend(); ++at) {
      if (!is_of_python(at->kind)) continue;
      if (n-- == 0 || live.keys[n] != at->key || live.kinds[n] != at->kind) return false;
    }
    return true;
  }
};

}  // namespace

bool has_switches(const std::vector<Slice>& slices) {
  for (const Slice& slice : slices) {
    for (std::uint32_t n = slice.begin; n < slice.end; ++n) {
      const Event& event = slice.block->events[n];
      if (event.kind == event_of(MarkKind::Switch)) return true;
      n += event.payload;
    }
  }
  return false;
}

StartStack stack_of_ring(const StartStack& live, const std::vector<Slice>& slices) {
  const Stacks ignoring(slices, true);
  const Stacks stacks = ignoring.is_inner_part_of(live) ? ignoring : Stacks(slices, false);
  const auto entered =
      std::size_t(std::count_if(stacks.open.begin(), stacks.open.end(),
                                [](const Entry& at) { return is_of_python(at.kind); }));
  StartStack stack;
  stack.handle = live.handle;
  stack.native_id = live.native_id;
  const std::size_t outer = live.keys.size() - std::min(entered, live.keys.size());
  stack.keys.assign(live.keys.begin(), live.keys.begin() + std::ptrdiff_t(outer));
  stack.kinds.assign(live.kinds.begin(), live.kinds.begin() + std::ptrdiff_t(outer));
  for (auto at = stacks.left.rbegin(); at != stacks.left.rend(); ++at) {
    stack.keys.push_back(at->key);
    stack.kinds.push_back(at->kind);
  }
  return stack;
}

}  // namespace opyard::profiler
