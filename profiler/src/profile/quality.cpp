// profiler/profile/quality.cpp: the data-quality report.
#include "opyard/profiler/quality.h"

#include <algorithm>
#include <memory>

#include "json.h"

namespace opyard::profiler {
namespace {

// The cheapest of a few rounds of clock and store, into memory of its own.
double measure_event_cost() {
  constexpr int kEvents = 1000;
  const auto memory = std::make_unique<Event[]>(kEvents);
  std::uint64_t least = ~std::uint64_t{0};
  for (int round = 0; round < 5; ++round) {
    const std::uint64_t begin = read_clock_pair().monotonic_ns;
    for (int n = 0; n < kEvents; ++n) {
      memory[n] = {now_ticks(), std::uint32_t(n), enter_of(SpanKind::Python), 0, 0};
      __asm__ volatile("" ::"r"(&memory[n]) : "memory");
    }
    least = std::min(least, read_clock_pair().monotonic_ns - begin);
  }
  return double(least) / kEvents;
}

}  // namespace

void Quality::add(const Quality& other) {
  for (std::uint64_t Quality::* const number :
       {&Quality::events, &Quality::lost, &Quality::dropped_exits, &Quality::clamped,
        &Quality::open_before, &Quality::open_after, &Quality::backwards, &Quality::broken}) {
    this->*number += other.*number;
  }
  for (const auto& [note, number] : other.notes) {
    const auto found = std::find_if(notes.begin(), notes.end(),
                                    [&](const auto& known) { return known.first == note; });
    if (found == notes.end()) {
      notes.emplace_back(note, number);
    } else {
      found->second += number;
    }
  }
}

double event_cost_ns() {
  static const double cost = measure_event_cost();
  return cost;
}

std::string quality_json(const Profile& profile) {
  const Quality& quality = profile.quality;
  std::string out = "{";
  const auto count = [&](const char* name, std::uint64_t number) {
    append_quoted(out, name);
    out += ": ";
    append_number(out, number);
    out += ", ";
  };
  count("events", quality.events);
  count("lost", quality.lost);
  count("dropped exits", quality.dropped_exits);
  count("clamped", quality.clamped);
  count("open before", quality.open_before);
  count("open after", quality.open_after);
  count("backwards", quality.backwards);
  count("broken", quality.broken);
  if (!profile.processes.empty()) count("processes", profile.processes.size() + 1);
  for (const auto& [note, number] : quality.notes) count(note.c_str(), number);
  out += "\"clock\": ";
  append_quoted(out, clock_name());
  out += ", \"threads comparable to ns\": 200, \"event cost ns\": ";
  append_number(out, std::int64_t(event_cost_ns() + 0.5));
  out += "}";
  return out;
}

}  // namespace opyard::profiler
