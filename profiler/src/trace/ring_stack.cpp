// profiler/trace/ring_stack.cpp: the stack at the begin of a ring's recording.
#include "trace/ring_stack.h"

#include <algorithm>
#include <iterator>

namespace opyard::profiler {
namespace {

struct Entry {
  SpanKind kind;
  std::uint32_t key;
};

// As replay.cpp pairs enters and exits, but for exits of what was open before.
struct Stacks {
  std::vector<Entry> open;
  std::vector<Entry> left;  // of what was open before, innermost first

  void read(const Event& event) {
    if (is_mark(event.kind)) return;
    const Entry entry{span_of(event.kind), event.key};
    if (!is_exit(event.kind)) return open.push_back(entry);
    const auto found = std::find_if(open.rbegin(), open.rend(), [&](const Entry& at) {
      return at.kind == entry.kind && at.key == entry.key;
    });
    if (found == open.rend()) {
      open.clear();  // what is inside lost its exit
      left.push_back(entry);
    } else {
      open.erase(std::prev(found.base()), open.end());
    }
  }
};

bool is_of_python(SpanKind kind) {
  return kind == SpanKind::Python || kind == SpanKind::Module || kind == SpanKind::Optimizer;
}

}  // namespace

StartStack stack_of_ring(const StartStack& live, const std::vector<Slice>& slices) {
  Stacks stacks;
  for (const Slice& slice : slices) {
    for (std::uint32_t n = slice.begin; n < slice.end; ++n) {
      const Event& event = slice.block->events[n];
      stacks.read(event);
      n += event.payload;
    }
  }
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
