// profiler/files/files.cpp: loading captures from a folder.
//
// [Keys] Each process gave its own keys, so all are replaced by keys of this one: of events, of
// stacks, and in the words behind the events that have some.
//
// [Clock] The processes of a machine share its clocks, so the rate comes from the two pairs of all
// of them that are furthest apart.
#include "opyard/detail/profiler/files.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <unordered_map>

#include "capture/file_blocks.h"
#include "files/journal_reader.h"
#include "opyard/base/file_error.h"

namespace opyard::profiler {
namespace {

namespace fs = std::filesystem;

// See [Keys].
class Keys {
 public:
  explicit Keys(const Journal& journal) {
    for (std::size_t n = 0; n < journal.names.size(); ++n) {
      Name name = journal.names[n].second;
      name.group = (*this)(journal.groups[n]);  // came before
      // Another process has another object at the same address.
      if (name.identity != 0) name.identity ^= std::uint64_t(journal.process.id) << 42;
      if (!name.extra.empty()) name.extra = to_valid_utf8(name.extra);
      keys_.insert_or_assign(journal.names[n].first, add_name(std::move(name)));
    }
  }
  std::uint32_t operator()(std::uint64_t key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? 0 : found->second;
  }
  // `event` and the words behind it.
  void replace(Event* event) const {
    event->key = (*this)(event->key);
    if (event->payload == 0 || is_mark(event->kind) || is_exit(event->kind)) return;
    const SpanKind kind = span_of(event->kind);
    Payload word;
    std::memcpy(&word, event + 1, sizeof word);
    constexpr std::uint64_t kLow = 0xffff'ffff;
    if (kind == SpanKind::Module || kind == SpanKind::Optimizer) word.first = (*this)(word.first);
    if (kind == SpanKind::Python) {  // as in profiler/tasks.h
      word.first = (word.first & ~kLow) | (*this)(word.first & kLow);
    }
    std::memcpy(static_cast<void*>(event + 1), &word, sizeof word);
  }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> keys_;
};

// Replaces the keys; says where the events end, and when the last one was.
std::uint32_t prepare(Event* events, const Keys& keys, std::uint64_t end, std::uint64_t& last) {
  std::uint32_t n = 0;
  while (n < Block::kEvents) {
    Event& event = events[n];
    if (event.ticks == 0 || event.ticks > end || n + event.payload >= Block::kEvents) break;
    keys.replace(&event);
    last = std::max(last, event.ticks);
    n += 1u + event.payload;
  }
  return n;
}

void read_blocks(Journal& journal, std::uint64_t& last) {
  Capture& capture = journal.process.capture;
  const std::uint64_t end = journal.end ? journal.end->ticks : ~std::uint64_t{0};
  const Keys keys(journal);
  for (const JournalStack& raw : journal.stacks) {
    StartStack stack{raw.handle, raw.native_id, {}, {}};
    for (const JournalFrame& frame : raw.frames) {
      stack.keys.push_back(keys(frame.key));
      stack.kinds.push_back(frame.kind < std::uint64_t(kSpanKinds) ? SpanKind(frame.kind)
                                                                   : SpanKind::Python);
    }
    capture.start_stacks.push_back(std::move(stack));
  }
  std::map<std::uint64_t, std::size_t> streams;  // by number, in `capture`
  const auto data = std::make_unique<BlockData>();
  std::ifstream file(journal.blocks, std::ios::binary);
  while (file.read(reinterpret_cast<char*>(data.get()), sizeof(BlockData))) {
    if (data->magic != BlockData::kMagic) continue;
    const auto [at, is_new] = streams.emplace(data->stream, capture.streams.size());
    if (is_new) {
      capture.streams.push_back({data->native_id, data->handle, 0, {}});
    }
    StreamCapture& stream = capture.streams[at->second];
    const std::uint32_t used = prepare(data->events, keys, end, last);
    stream.slices.reserve(stream.slices.size() + 1);
    Block* const block = make_memory_block();
    block->pair = data->pair;
    std::copy_n(data->events, used, block->events);
    stream.slices.push_back({block, 0, used});
  }
}

// See [Clock].
struct Rate {
  ClockPair first{~std::uint64_t{0}, 0};
  ClockPair last{};
  void add(const ClockPair& pair) {
    if (pair.ticks < first.ticks) first = pair;
    if (pair.ticks > last.ticks) last = pair;
  }
  void add(const Journal& journal) {
    add(journal.process.capture.first_pair);
    add(journal.process.capture.begin);
    if (journal.end) add(*journal.end);
    for (const StreamCapture& stream : journal.process.capture.streams) {
      for (const Slice& slice : stream.slices) add(slice.block->pair);
    }
  }
};

std::vector<Journal> read_journals(const std::string& folder) {
  std::vector<Journal> journals;
  std::error_code failure;
  fs::directory_iterator entries(folder, failure);
  if (failure) {
    fail_file(failure.value(), folder,
              "cannot read " + folder + ", and a capture is a folder of files of its processes");
  }
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().extension() != kJournalEnding) continue;
    Journal journal = read_journal(entry.path());
    if (journal.is_known()) journals.push_back(std::move(journal));
  }
  std::sort(journals.begin(), journals.end(), [](const Journal& a, const Journal& b) {
    return a.process.capture.begin.monotonic_ns < b.process.capture.begin.monotonic_ns;
  });
  return journals;
}

}  // namespace

std::vector<ProcessCapture> load_captures(const std::string& folder, std::int64_t without) {
  std::vector<Journal> journals = read_journals(folder);
  std::vector<std::uint64_t> last_ticks;
  std::map<std::uint64_t, Rate> rates;  // by clock
  for (Journal& journal : journals) {
    std::uint64_t last = journal.process.capture.begin.ticks;
    if (journal.process.id != without) read_blocks(journal, last);
    last_ticks.push_back(journal.end ? journal.end->ticks : last);
    rates[journal.clock].add(journal);
  }
  std::vector<ProcessCapture> loaded;
  for (std::size_t n = 0; n < journals.size(); ++n) {
    if (journals[n].process.id == without) continue;
    ProcessCapture process = std::move(journals[n].process);
    const Rate& rate = rates[journals[n].clock];
    const TickConverter converter(rate.first, rate.last);
    process.capture.first_pair = rate.first;
    process.capture.end = {last_ticks[n], std::uint64_t(converter.monotonic_ns(last_ticks[n]))};
    loaded.push_back(std::move(process));
  }
  return loaded;
}

void add_process(Profile& profile, const ProcessCapture& process) {
  Profile other = replay(process.capture);
  const auto shift = std::int64_t(other.monotonic_begin_ns - profile.monotonic_begin_ns);
  profile.processes.push_back({process.id, process.parent, process.program});
  for (Track& track : other.tracks) {
    track.process = std::uint32_t(profile.processes.size());
    for (Span& span : track.spans) {
      span.start += shift;
      span.end += shift;
    }
    for (Mark& mark : track.marks) mark.time += shift;
    for (ThreadTime& reading : track.thread_times) reading.time += shift;
    profile.tracks.push_back(std::move(track));
  }
  profile.duration = std::max(profile.duration, other.duration + shift);
  profile.quality.add(other.quality);
}

}  // namespace opyard::profiler
