// profiler/profile/tasks.cpp: tracks of tasks.
#include "opyard/detail/profiler/tasks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "opyard/profiler/names.h"

namespace opyard::profiler {
namespace {

// Above every number that Linux gives to threads.
constexpr std::int64_t kFirstTaskId = 1'000'000'000;

struct Run {
  std::int64_t start;
  std::int64_t end;
};
struct Task {
  CoroutineFacts facts;
  std::uint32_t function;  // the key of the coroutine function
  std::vector<Run> runs;
};

std::map<std::uint64_t, Task> find_tasks(const Profile& profile) {
  std::map<std::uint64_t, Task> tasks;  // in the order in which they first ran
  for (const Track& track : profile.tracks) {
    for (const Span& span : track.spans) {
      if (span.kind != SpanKind::Python || span.payload == kNoSpan) continue;
      const CoroutineFacts facts = CoroutineFacts::read(track.words_of(span.payload)[0]);
      if (facts.task == 0) continue;
      Task& task = tasks.try_emplace(facts.identity, Task{facts, span.key, {}}).first->second;
      task.runs.push_back({span.start, span.end});
    }
  }
  return tasks;
}

std::string name_of_task(const Task& task) {
  std::string name = name_of(task.facts.task).text;
  if (task.facts.number != 0) name += "-" + std::to_string(task.facts.number);
  return name + " (" + name_of(task.function).text + ")";
}

}  // namespace

void add_task_tracks(Profile& profile) {
  std::map<std::uint64_t, Task> tasks = find_tasks(profile);
  Name awaiting;
  awaiting.text = "awaiting";
  awaiting.kind = "task";
  const std::uint32_t awaiting_key = tasks.empty() ? 0 : add_name(std::move(awaiting));
  std::int64_t id = kFirstTaskId;
  for (auto& [identity, task] : tasks) {
    // Two threads are not exact to each other, so a task that changes its thread may seem to
    // overlap itself.
    std::sort(task.runs.begin(), task.runs.end(),
              [](const Run& a, const Run& b) { return a.start < b.start; });
    Track track;
    track.native_id = id++;
    track.name = name_of_task(task);
    track.is_derived = true;
    std::int64_t end = task.runs.front().start;
    for (const Run& run : task.runs) end = std::max(end, run.end);
    track.spans.push_back(
        {task.runs.front().start, end, task.facts.task, kNoSpan, kNoSpan, SpanKind::Task, 0, 0});
    std::int64_t last = task.runs.front().end;
    for (const Run& run : task.runs) {
      if (run.start > last) {
        track.spans.push_back(
            {last, run.start, awaiting_key, 0, kNoSpan, SpanKind::Awaiting, 0, 0});
      }
      last = std::max(last, run.end);
    }
    profile.tracks.push_back(std::move(track));
  }
}

}  // namespace opyard::profiler
