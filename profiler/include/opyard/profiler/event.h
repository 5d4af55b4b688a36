// opyard/profiler/event.h: events: 16 bytes each.
//
//   byte 0              8          12       13        14     16
//        ┌──────────────┬──────────┬────────┬─────────┬──────┐
//        │ ticks        │ key      │ kind   │ payload │ detail│
//        └──────────────┴──────────┴────────┴─────────┴──────┘
//
// `ticks` is a time of profiler/clock.h, `key` a name of profiler/names.h, or 0. An exit carries
// the key of its enter: so a lost event is noticed, and costs nothing but itself. `payload` counts
// the 16-byte words behind the event that belong to it, which are not events.
//
// Depends on: profiler/event_kinds.def.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace opyard::profiler {

enum class SpanKind : std::uint8_t {
#define OPYARD_SPAN(name, category, meaning) name,
#define OPYARD_MARK(name, category, meaning)
#include "opyard/profiler/event_kinds.def"
  kCount
};

enum class MarkKind : std::uint8_t {
#define OPYARD_SPAN(name, category, meaning)
#define OPYARD_MARK(name, category, meaning) name,
#include "opyard/profiler/event_kinds.def"
  kCount
};

inline constexpr int kSpanKinds = int(SpanKind::kCount);
inline constexpr int kMarkKinds = int(MarkKind::kCount);

// What an event holds as its kind: a span's enter and exit are neighbours, marks follow them.
enum class EventKind : std::uint8_t {};
constexpr EventKind enter_of(SpanKind span) { return EventKind(2 * int(span)); }
constexpr EventKind exit_of(SpanKind span) { return EventKind(2 * int(span) + 1); }
constexpr EventKind event_of(MarkKind mark) { return EventKind(2 * kSpanKinds + int(mark)); }
constexpr bool is_mark(EventKind kind) { return int(kind) >= 2 * kSpanKinds; }
constexpr bool is_exit(EventKind kind) { return !is_mark(kind) && (int(kind) & 1) != 0; }
// The kind of span, or of mark, that an event is of.
constexpr SpanKind span_of(EventKind kind) { return SpanKind(int(kind) / 2); }
constexpr MarkKind mark_of(EventKind kind) { return MarkKind(int(kind) - 2 * kSpanKinds); }
static_assert(2 * kSpanKinds + kMarkKinds <= 256);

// What is recorded: 16 bytes, in the order in which it happened on a thread.
struct Event {
  std::uint64_t ticks;
  std::uint32_t key;
  EventKind kind;
  std::uint8_t payload;
  std::uint16_t detail;  // what it means depends on the kind
};
static_assert(sizeof(Event) == 16);

// All of an event but its time, if it has neither words nor a detail.
enum class EventHalf : std::uint64_t {};
constexpr EventHalf half_of(EventKind kind, std::uint32_t key) {
  return EventHalf(std::bit_cast<std::array<std::uint64_t, 2>>(Event{0, key, kind, 0, 0})[1]);
}
// An enter, or its exit. Without a branch.
constexpr EventHalf exit_if(bool is_exit, EventHalf enter) {
  constexpr auto kExit = std::uint64_t(half_of(EventKind(1), 0));
  return EventHalf(std::uint64_t(enter) | std::uint64_t{is_exit} * kExit);
}
static_assert(exit_if(true, half_of(enter_of(SpanKind::C), 7)) == half_of(exit_of(SpanKind::C), 7));
// In one store.
inline void set_half(Event& event, EventHalf half) noexcept {
  std::memcpy(reinterpret_cast<char*>(&event) + offsetof(Event, key), &half, sizeof half);
}

// A word behind an event.
struct Payload {
  std::uint64_t first;
  std::uint64_t second;
};
static_assert(sizeof(Payload) == sizeof(Event));

// What event_kinds.def says of a kind.
struct KindInfo {
  const char* name;
  const char* category;
  const char* meaning;
};
// By the number of the kind.
inline constexpr KindInfo kSpanInfo[] = {
#define OPYARD_SPAN(name, category, meaning) {#name, category, meaning},
#define OPYARD_MARK(name, category, meaning)
#include "opyard/profiler/event_kinds.def"
};
inline constexpr KindInfo kMarkInfo[] = {
#define OPYARD_SPAN(name, category, meaning)
#define OPYARD_MARK(name, category, meaning) {#name, category, meaning},
#include "opyard/profiler/event_kinds.def"
};
// Whether it is an operator or a kernel of one; and what event_kinds.def says of it.
constexpr bool is_operator(SpanKind kind) {
  return kind == SpanKind::Operator || kind == SpanKind::Kernel;
}
constexpr const KindInfo& info_of(SpanKind kind) { return kSpanInfo[int(kind)]; }
constexpr const KindInfo& info_of(MarkKind kind) { return kMarkInfo[int(kind)]; }

}  // namespace opyard::profiler
