// profiler/profile/samples.cpp: folding samples into a tree of bounded size.
#include "opyard/profiler/samples.h"

#include <algorithm>
#include <utility>

#include "opyard/profiler/clock.h"
#include "opyard/profiler/names.h"
#include "profile/sample_spans.h"

namespace opyard::profiler {
namespace {

constexpr std::size_t kFirstTable = 1024;

std::size_t hash_of(std::uint32_t parent, std::uint32_t key) noexcept {
  std::uint64_t mixed = (std::uint64_t{parent} << 32 | key) * 0x9E37'79B9'7F4A'7C15u;
  mixed ^= mixed >> 29;
  return std::size_t(mixed);
}

std::uint32_t key_of_text(const char* text) {
  Name name;
  name.text = text;
  name.kind = "sampler";
  return add_name(std::move(name));
}

}  // namespace

SampleTree::SampleTree(const SampleBounds& bounds, std::int64_t period_ns)
    : bounds_(bounds),
      period_ns_(period_ns),
      begin_(std::int64_t(read_clock_pair().monotonic_ns)),
      unix_begin_ns_(unix_time_ns()),
      table_(kFirstTable, 0),
      slice_ns_(bounds.first_slice_ns),
      slice_begin_(begin_) {
  add_node(0, 0, SpanKind::Python);  // of number 0, which no table has
}

std::uint32_t SampleTree::add_node(std::uint32_t parent, std::uint32_t key, SpanKind kind) {
  // One more than there are nodes, if memory ran out here before.
  if (current_.size() == nodes_.size()) current_.emplace_back();
  nodes_.push_back({parent, key, kind});
  return std::uint32_t(nodes_.size() - 1);
}

std::uint32_t SampleTree::add_thread(std::uint64_t handle, std::int64_t native_id) {
  if (threads_.size() == bounds_.threads) {
    ++beyond_threads_;
    return threads_.back().root;
  }
  const std::uint32_t root = add_node(0, 0, SpanKind::Python);
  threads_.push_back({root, handle, native_id});
  return root;
}

std::uint32_t SampleTree::overflow_of(std::uint32_t root) {
  const auto [at, is_new] = overflows_.emplace(root, 0);
  if (is_new) {
    at->second = add_node(root, key_of_text("[stacks beyond the bound of the sampler's memory]"),
                          SpanKind::Annotation);
  }
  return at->second;
}

void SampleTree::grow_table() {
  std::vector<std::uint32_t> larger(table_.size() * 2, 0);
  for (const std::uint32_t node : table_) {
    if (node == 0) continue;
    std::size_t at = hash_of(nodes_[node].parent, nodes_[node].key) & (larger.size() - 1);
    while (larger[at] != 0) at = (at + 1) & (larger.size() - 1);
    larger[at] = node;
  }
  table_.swap(larger);
}

// 0 if there is no room for another node.
std::uint32_t SampleTree::child(std::uint32_t parent, const SampledFrame& frame) {
  std::size_t at = hash_of(parent, frame.key) & (table_.size() - 1);
  for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1)) {
    const Node& node = nodes_[table_[at]];
    if (node.parent == parent && node.key == frame.key) return table_[at];
  }
  if (nodes_.size() >= bounds_.nodes) return 0;
  const std::uint32_t made = add_node(parent, frame.key, frame.kind);
  table_[at] = made;
  if (nodes_.size() * 2 > table_.size()) grow_table();
  return made;
}

std::uint32_t SampleTree::find(std::uint32_t root, std::span<const SampledFrame> stack) {
  std::uint32_t node = root;
  for (const SampledFrame& frame : stack) {
    node = child(node, frame);
    if (node != 0) continue;
    ++beyond_nodes_;
    return overflow_of(root);
  }
  return node;
}

void SampleTree::add_lines(std::span<const SampledFrame> stack, std::int64_t wall,
                           std::int64_t cpu) {
  for (std::size_t n = stack.size(); n-- > 0;) {
    const SampledFrame& frame = stack[n];
    if (frame.line <= 0) continue;
    const std::uint64_t place = std::uint64_t{frame.key} << 32 | std::uint32_t(frame.line);
    auto at = lines_.find(place);
    if (at == lines_.end()) {
      if (lines_.size() >= bounds_.lines) {
        ++beyond_lines_;
        continue;
      }
      at = lines_.emplace(place, Line()).first;
    }
    Line& line = at->second;
    if (line.last_sample != samples_) line.total += wall;
    line.last_sample = samples_;
    if (n + 1 != stack.size()) continue;
    line.self.wall += wall;
    line.self.cpu += cpu;
  }
}

void SampleTree::add(std::uint32_t node, std::span<const SampledFrame> stack, std::int64_t wall,
                     std::int64_t cpu, std::int64_t now) {
  if (now - slice_begin_ >= slice_ns_) end_slice(now);
  ++samples_;
  wall = std::max<std::int64_t>(wall, 0);
  cpu = std::clamp<std::int64_t>(cpu, 0, wall);
  Time& time = current_[node];
  if (time.wall == 0 && wall > 0) touched_.push_back(node);
  time.wall += wall;
  time.cpu += cpu;
  add_lines(stack, wall, cpu);
}

void SampleTree::end_slice(std::int64_t now) {
  Slice slice{slice_begin_, {}};
  slice.entries.reserve(touched_.size());
  std::sort(touched_.begin(), touched_.end());
  for (const std::uint32_t node : touched_) {
    slice.entries.push_back({node, std::exchange(current_[node], Time())});
  }
  entries_ += slice.entries.size();
  touched_.clear();
  if (!slice.entries.empty()) slices_.push_back(std::move(slice));
  slice_begin_ = now;
  while (slices_.size() > 1 && (slices_.size() > bounds_.slices || entries_ > bounds_.entries)) {
    merge_slices();
  }
}

// Neighbours become one: half as many, each twice as long.
void SampleTree::merge_slices() {
  std::vector<Slice> merged;
  merged.reserve(slices_.size() / 2 + 1);
  entries_ = 0;
  for (std::size_t n = 0; n < slices_.size(); n += 2) {
    Slice& first = slices_[n];
    if (n + 1 < slices_.size()) {
      const std::vector<Entry> one = std::move(first.entries);
      const std::vector<Entry> other = std::move(slices_[n + 1].entries);
      first.entries.clear();
      first.entries.reserve(std::max(one.size(), other.size()));
      auto left = one.begin();
      auto right = other.begin();
      while (left != one.end() || right != other.end()) {
        if (right == other.end() || (left != one.end() && left->node < right->node)) {
          first.entries.push_back(*left++);
        } else if (left == one.end() || right->node < left->node) {
          first.entries.push_back(*right++);
        } else {
          first.entries.push_back(*left++);
          first.entries.back().time.wall += right->time.wall;
          first.entries.back().time.cpu += right++->time.cpu;
        }
      }
    }
    entries_ += first.entries.size();
    merged.push_back(std::move(first));
  }
  slices_.swap(merged);
  slice_ns_ *= 2;
}

std::size_t SampleTree::bytes() const noexcept {
  constexpr std::size_t kMapped = 32;  // what a map takes beside an entry, about
  return nodes_.capacity() * sizeof(Node) + table_.capacity() * sizeof(std::uint32_t) +
         current_.capacity() * sizeof(Time) + entries_ * sizeof(Entry) +
         threads_.capacity() * sizeof(Thread) + lines_.size() * (sizeof(Line) + kMapped);
}

Profile SampleTree::finish(std::int64_t now) {
  end_slice(now);
  Profile profile;
  profile.sample_period_ns = period_ns_;
  profile.duration = now - begin_;
  profile.monotonic_begin_ns = std::uint64_t(begin_);
  profile.unix_begin_ns = unix_begin_ns_;
  profile.quality.events = samples_;
  std::vector<std::uint32_t> track_of(nodes_.size(), 0);  // of roots
  for (const Thread& thread : threads_) {
    track_of[thread.root] = std::uint32_t(profile.tracks.size());
    profile.tracks.emplace_back().native_id = thread.native_id;
  }
  SampleSpans spans(profile);
  for (const Slice& slice : slices_) {
    spans.begin_slice(slice.begin - begin_);
    for (const Entry& entry : slice.entries) {
      spans.add(entry.node, entry.time.wall, entry.time.cpu);
    }
    spans.end_slice([&](std::uint32_t node) -> SampledNode {
      const Node& known = nodes_[node];
      return {known.parent, known.key, known.kind, known.parent == 0 ? track_of[node] : 0};
    });
  }
  for (const auto& [place, line] : lines_) {
    profile.sampled_lines.push_back({std::uint32_t(place >> 32), std::int32_t(place),
                                     line.self.wall, line.self.cpu, line.total});
  }
  std::sort(profile.sampled_lines.begin(), profile.sampled_lines.end(),
            [](const SampledLine& a, const SampledLine& b) {
              return std::pair(a.key, a.line) < std::pair(b.key, b.line);
            });
  const std::pair<const char*, std::uint64_t> notes[] = {
      {"samples beyond the bound of stacks", beyond_nodes_},
      {"lines beyond the bound of lines", beyond_lines_},
      {"threads beyond the bound of threads", beyond_threads_}};
  for (const auto& [note, number] : notes) {
    if (number != 0) profile.quality.notes.emplace_back(note, number);
  }
  return profile;
}

}  // namespace opyard::profiler
