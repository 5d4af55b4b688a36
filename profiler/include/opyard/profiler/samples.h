// opyard/profiler/samples.h: SampleTree: stacks of threads, sampled and folded in bounded memory.
//
// A sample says what a thread did for how long. Equal stacks are one node of a tree, and a node
// has the time that was sampled at it, for each slice of time:
//
//   nodes   thread 7 ─ main ─ load ─ read          slices  0 s    1 s    2 s
//                          └─ train ─ step           read  0.8 s  -      -
//                                                    step  0.1 s  1.0 s  0.9 s
//
// [Bounds] Slices are as many as a reader wants, and merged in pairs when there are more, or when
// they have too many entries. What is beyond the last node goes to a node of its thread that says
// so; times stay right.
//
// finish() makes a Profile, so that all tables, exports and pages of exact ones show it: within
// each slice a call is a span for each node, as long as its time, with its children first.
//
// Threads: one at a time. Depends on: profiler/profile.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "opyard/base/export.h"
#include "opyard/profiler/profile.h"

namespace opyard::profiler {

struct SampledFrame {
  std::uint32_t key = 0;
  SpanKind kind = SpanKind::Python;
  std::int32_t line = 0;  // 0 if it is not known

  bool operator==(const SampledFrame&) const = default;
};

struct SampleBounds {
  std::size_t nodes = 400'000;
  std::size_t entries = 500'000;  // of all slices
  std::size_t lines = 100'000;
  std::size_t threads = 10'000;
  std::size_t slices = 128;
  std::int64_t first_slice_ns = 50'000'000;
};

class OPYARD_API SampleTree {
 public:
  // Begins now. Throws std::bad_alloc, as the others do.
  SampleTree(const SampleBounds& bounds, std::int64_t period_ns);

  // The root of a thread's stacks. Beyond the bound all threads have the last one.
  std::uint32_t add_thread(std::uint64_t handle, std::int64_t native_id);
  // The node of a stack, outermost first. May add nodes.
  std::uint32_t find(std::uint32_t root, std::span<const SampledFrame> stack);
  // What a thread did up to `now`: times in nanoseconds. The stack is that of the node.
  void add(std::uint32_t node, std::span<const SampledFrame> stack, std::int64_t wall,
           std::int64_t cpu, std::int64_t now);

  std::size_t nodes() const noexcept { return nodes_.size(); }
  std::size_t bytes() const noexcept;
  // Once.
  Profile finish(std::int64_t now);

 private:
  struct Node {
    std::uint32_t parent;
    std::uint32_t key;
    SpanKind kind;
  };
  struct Time {
    std::int64_t wall = 0;
    std::int64_t cpu = 0;
  };
  struct Entry {
    std::uint32_t node;
    Time time;
  };
  struct Slice {
    std::int64_t begin;
    std::vector<Entry> entries;  // in the order of nodes
  };
  struct Thread {
    std::uint32_t root;
    std::uint64_t handle;
    std::int64_t native_id;
  };
  struct Line {
    Time self;
    std::int64_t total = 0;
    std::uint64_t last_sample = 0;  // so that a recursion counts once
  };

  std::uint32_t child(std::uint32_t parent, const SampledFrame& frame);
  std::uint32_t overflow_of(std::uint32_t root);
  std::uint32_t add_node(std::uint32_t parent, std::uint32_t key, SpanKind kind);
  void grow_table();
  void end_slice(std::int64_t now);
  void merge_slices();
  void add_lines(std::span<const SampledFrame> stack, std::int64_t wall, std::int64_t cpu);

  const SampleBounds bounds_;
  const std::int64_t period_ns_;
  const std::int64_t begin_;
  const std::uint64_t unix_begin_ns_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> table_;    // of nodes by parent and key, open addressing; 0: none
  std::vector<Time> current_;           // of each node, in the slice that is open
  std::vector<std::uint32_t> touched_;  // those that have any
  std::vector<Slice> slices_;
  std::size_t entries_ = 0;
  std::int64_t slice_ns_;
  std::int64_t slice_begin_;
  std::vector<Thread> threads_;
  std::unordered_map<std::uint32_t, std::uint32_t> overflows_;  // by the root of their thread
  std::unordered_map<std::uint64_t, Line> lines_;               // by key and line
  std::uint64_t samples_ = 0;
  std::uint64_t beyond_nodes_ = 0;
  std::uint64_t beyond_lines_ = 0;
  std::uint64_t beyond_threads_ = 0;
};

}  // namespace opyard::profiler
