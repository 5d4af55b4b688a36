// opyard/profiler/labels.h: display names of spans.
//
// A Python function is "path(line): name", with the line of its definition and the path without the
// first prefix that it begins with; an instance "nn.Module: Linear_0", numbered per class in the
// order of first appearance.
//
// Depends on: profiler/profile.h, profiler/names.h.
#pragma once

#include <string>
#include <vector>

#include "opyard/profiler/names.h"
#include "opyard/profiler/profile.h"

namespace opyard::profiler {

// Made for one export; looks each name up once.
class OPYARD_API Labels {
 public:
  Labels(const Profile& profile, std::vector<std::string> prefixes);

  const std::string& label(const Span& span) { return label(span.key); }
  const std::string& label(std::uint32_t key);
  const Name& name(std::uint32_t key) { return entry(key).name; }
  // What a range of the program's was given beside its name, or "".
  const std::string& arguments(const Track& track, const Span& span);
  // Of an instance, -1 for others.
  int instance_number(std::uint32_t key) { return entry(key).instance; }
  std::string trimmed(const std::string& file) const;

 private:
  struct Entry {
    bool known = false;
    int instance = -1;
    Name name;
    std::string label;
  };
  Entry& entry(std::uint32_t key);
  void number_instances(const Profile& profile);

  std::vector<Entry> entries_;
  std::vector<std::string> prefixes_;
};

// Python's calls are numbered from 1 in the order of their starts, over all threads: by track and
// span, 0 for spans of other kinds.
OPYARD_API std::vector<std::vector<std::uint32_t>> number_calls(const Profile& profile);

// What of a span is not as it was, or "".
OPYARD_API const char* cut_of(const Span& span);

inline bool is_python_call(SpanKind kind) { return int(kind) <= int(SpanKind::Optimizer); }

}  // namespace opyard::profiler
