// objects/tensor/leak_check.cpp: leak report: counting objects.
//
// Py_AtExit() functions run when the interpreter has ended, and its memory is still there. Of
// Python objects the report says what was written down; of tensors, which are C++ objects, what
// they are.
#include "objects/tensor/leak_check.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "objects/tensor/tensor.h"

namespace opyard::python {
namespace {

struct LeakEntry {
  LeakCheck::Kind kind;
  std::string text;
  std::string notes;
};

std::mutex leak_mutex;
std::map<const void*, LeakEntry>& entries() {
  static auto* const all = new std::map<const void*, LeakEntry>;  // outlives the end of the process
  return *all;
}

std::string text_of(const void* object, const LeakEntry& entry) {
  if (entry.kind == LeakCheck::Kind::Tensor) {
    const auto& wrapper = *static_cast<const TensorObject*>(object);
    const Tensor tensor = wrapper.tensor.defined() || wrapper.keeper == nullptr
                              ? wrapper.tensor
                              : Tensor(CountedPtr<TensorImpl>::share(wrapper.keeper));
    return tensor.defined() ? describe(tensor) : "undefined";
  }
  return entry.notes.empty() ? entry.text : entry.text + " (" + entry.notes + ")";
}

void report_at_exit() { leak_check->report(); }

}  // namespace

void LeakCheck::add(Kind kind, const void* object, std::string text) noexcept {
  const std::lock_guard lock(leak_mutex);
  entries()[object] = {kind, std::move(text), ""};
}

void LeakCheck::note(const void* object, const std::string& more) noexcept {
  const std::lock_guard lock(leak_mutex);
  const auto found = entries().find(object);
  if (found == entries().end()) return;
  std::string& notes = found->second.notes;
  notes += (notes.empty() ? "" : ", ") + more;
}

void LeakCheck::remove(const void* object) noexcept {
  const std::lock_guard lock(leak_mutex);
  entries().erase(object);
}

std::vector<const void*> LeakCheck::objects(Kind kind) const {
  const std::lock_guard lock(leak_mutex);
  std::vector<const void*> found;
  for (const auto& [object, entry] : entries()) {
    if (entry.kind == kind) found.push_back(object);
  }
  return found;
}

void LeakCheck::report() const noexcept {
  const std::lock_guard lock(leak_mutex);
  constexpr const char* kNames[] = {"tensor", "library", "Python function"};
  int counts[3] = {};
  for (const auto& [object, entry] : entries()) ++counts[int(entry.kind)];
  if (entries().empty()) return;
  std::fprintf(stderr, "opyard: left at the end: %d tensors, %d libraries, %d Python functions\n",
               counts[0], counts[1], counts[2]);
  for (const Kind kind : {Kind::Tensor, Kind::Library, Kind::Function}) {
    for (const auto& [object, entry] : entries()) {
      if (entry.kind != kind) continue;
      std::fprintf(stderr, "  %s %s\n", kNames[int(kind)], text_of(object, entry).c_str());
    }
  }
}

void begin_leak_check() {
  const char* const wanted = std::getenv("OPYARD_LEAKCHECK");
  if (wanted == nullptr || std::strcmp(wanted, "1") != 0 || leak_check != nullptr) return;
  leak_check = new LeakCheck;  // lives as long as the process
  if (Py_AtExit(report_at_exit) < 0) {
    std::fputs("opyard: OPYARD_LEAKCHECK: CPython has no room for another function at its end\n",
               stderr);
  }
}

}  // namespace opyard::python
