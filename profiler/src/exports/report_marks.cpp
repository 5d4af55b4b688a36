// profiler/exports/report_marks.cpp: thinning of frequent marks.
#include "exports/report_marks.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace opyard::profiler {
namespace {

struct Group {
  std::size_t count = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t parts = 0;  // of its time, each of which shows one; as many as marks: all are shown
  std::size_t part = 0;   // that the last one shown is in, plus one
};
using Groups = std::map<std::tuple<std::size_t, MarkKind, std::uint32_t>, Group>;

Groups group_marks(const Profile& profile) {
  Groups groups;
  for (std::size_t n = 0; n < profile.tracks.size(); ++n) {
    for (const Mark& mark : profile.tracks[n].marks) {
      if (mark.kind == MarkKind::Memory) continue;
      Group& group = groups[{n, mark.kind, mark.key}];
      if (group.count++ == 0) group.first = mark.time;
      group.last = std::max(group.last, mark.time);
    }
  }
  return groups;
}

// Room that a rare group does not need is there for the others.
void share_out(Groups& groups, std::size_t room) {
  std::vector<Group*> by_count;
  for (auto& [name, group] : groups) by_count.push_back(&group);
  std::stable_sort(by_count.begin(), by_count.end(),
                   [](const Group* a, const Group* b) { return a->count < b->count; });
  for (std::size_t n = 0; n < by_count.size(); ++n) {
    by_count[n]->parts = std::min(by_count[n]->count, room / (by_count.size() - n));
    room -= by_count[n]->parts;
  }
}

bool is_shown(Group& group, std::int64_t time) {
  if (group.parts == group.count) return true;
  if (group.parts == 0) return false;
  const double whole = double(group.last - group.first) + 1;
  const auto part = std::size_t(double(time - group.first) / whole * double(group.parts));
  if (part < group.part) return false;
  group.part = part + 1;
  return true;
}

}  // namespace

ShownMarks choose_marks(const Profile& profile, std::size_t most) {
  Groups groups = group_marks(profile);
  share_out(groups, most);
  ShownMarks shown;
  shown.tracks.resize(profile.tracks.size());
  for (std::size_t n = 0; n < profile.tracks.size(); ++n) {
    const std::vector<Mark>& marks = profile.tracks[n].marks;
    for (std::uint32_t place = 0; place < marks.size(); ++place) {
      const Mark& mark = marks[place];
      if (mark.kind == MarkKind::Memory) continue;
      if (is_shown(groups[{n, mark.kind, mark.key}], mark.time)) {
        shown.tracks[n].push_back(place);
      } else {
        ++shown.left_out;
      }
    }
  }
  return shown;
}

}  // namespace opyard::profiler
