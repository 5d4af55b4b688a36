// profiler/profile/thread_times.cpp: CPU time of spans, from readings that are a millisecond apart.
//
// Between two readings a thread waited for so long as the time between them is longer than the CPU
// time between them. Which calls waited is not read. A thread that waits makes no events, so the
// waits are taken to be where the time between two events is longest: the longest such gap first,
// as far as the wait goes. What is left of a gap is spread over it evenly.
#include "profile/thread_times.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "profile/in_order.h"

namespace opyard::profiler {
namespace {

struct Gap {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t waited = 0;

  std::int64_t length() const { return end - begin; }
};

// What the thread had waited by any moment: a sum of gaps, in the order of time.
class Waits {
 public:
  explicit Waits(const std::vector<ThreadTime>& readings) : readings_(readings) {}

  // Times of events, which never decrease.
  void add_event(std::int64_t time) {
    while (next_ < readings_.size() && readings_[next_].time <= time) {
      add_gap(readings_[next_].time);
      end_slice();
    }
    add_gap(time);
  }
  void finish() {
    while (next_ < readings_.size()) {
      add_gap(readings_[next_].time);
      end_slice();
    }
  }

  const std::vector<Gap>& gaps() const { return gaps_; }

 private:
  void add_gap(std::int64_t time) {
    if (first_ < 0) first_ = last_ = time;
    if (time > last_) slice_.push_back({last_, time});
    last_ = std::max(last_, time);
  }

  // Before the first reading the thread took at most what it had taken in all.
  void end_slice() {
    const std::size_t n = next_++;
    std::vector<Gap> slice;
    slice.swap(slice_);
    const ThreadTime former = n == 0 ? ThreadTime{first_, 0} : readings_[n - 1];
    if (readings_[n].taken < former.taken) return;
    const auto taken = std::int64_t(readings_[n].taken - former.taken);
    std::int64_t left = readings_[n].time - former.time - taken;
    if (left <= 0) return;
    std::sort(slice.begin(), slice.end(),
              [](const Gap& a, const Gap& b) { return a.length() > b.length(); });
    std::size_t used = 0;
    for (; used < slice.size() && left > 0; ++used) {
      slice[used].waited = std::min(left, slice[used].length());
      left -= slice[used].waited;
    }
    slice.resize(used);
    std::sort(slice.begin(), slice.end(),
              [](const Gap& a, const Gap& b) { return a.begin < b.begin; });
    gaps_.insert(gaps_.end(), slice.begin(), slice.end());
  }

  const std::vector<ThreadTime>& readings_;
  std::size_t next_ = 0;     // the reading that ends the slice
  std::int64_t first_ = -1;  // the time of the first event or reading
  std::int64_t last_ = 0;
  std::vector<Gap> slice_;
  std::vector<Gap> gaps_;
};

// How long it had waited by a time; asked for times that never decrease.
class WaitedBy {
 public:
  explicit WaitedBy(const std::vector<Gap>& gaps) : gaps_(gaps) {}

  std::int64_t operator()(std::int64_t time) {
    while (next_ < gaps_.size() && gaps_[next_].end <= time) before_ += gaps_[next_++].waited;
    if (next_ == gaps_.size() || gaps_[next_].begin >= time) return before_;
    const Gap& gap = gaps_[next_];
    const double part = double(time - gap.begin) / double(gap.length());
    return before_ + std::int64_t(part * double(gap.waited));
  }

 private:
  const std::vector<Gap>& gaps_;
  std::size_t next_ = 0;
  std::int64_t before_ = 0;
};

}  // namespace

std::vector<std::int64_t> thread_times_of(const Track& track) {
  std::vector<std::int64_t> times(track.spans.size());
  Waits waits(track.thread_times);
  const auto each_event = [&](const auto& begin, const auto& end) {
    in_order(
        track, [&](std::uint32_t n) { begin(n, track.spans[n].start); },
        [&](std::uint32_t n) { end(n, track.spans[n].end); });
  };
  const auto add = [&](std::uint32_t, std::int64_t time) { waits.add_event(time); };
  if (!track.thread_times.empty()) each_event(add, add);
  waits.finish();
  WaitedBy waited_by(waits.gaps());
  each_event([&](std::uint32_t n, std::int64_t time) { times[n] = waited_by(time); },
             [&](std::uint32_t n, std::int64_t time) {
               times[n] = track.spans[n].duration() - (waited_by(time) - times[n]);
             });
  return times;
}

}  // namespace opyard::profiler
