// kernels/common/builds.cpp: loading the builds of the loops, and choosing one.
//
// The names are found beside this library's own file, since a search by the system would find
// another version's. Nothing is ever closed: calls may be in the middle of a loop.
#include "common/builds.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "common/block_functions.h"
#include "common/text.h"

namespace opyard::kernels {
namespace {

using Entry = const LoopBuild*();
using ChainsEntry = const ChainLoops*();

struct Known {
  const char* name;
  bool (*runs)();
};

#if defined(__x86_64__)
// A processor of these has the rest of its level; the system keeps the registers, too.
bool runs_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
bool runs_v4() {
  return runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#else
bool runs_v3() { return false; }
bool runs_v4() { return false; }
#endif

constexpr std::array<Known, 3> kBuilds = {
    {{"baseline", [] { return true; }}, {"v3", &runs_v3}, {"v4", &runs_v4}}};

// OPYARD_BUILDS is how many of them were compiled: see kernels/loops/meson.build.
std::vector<const char*> runnable() {
  std::vector<const char*> names;
  for (int i = 0; i < OPYARD_BUILDS; ++i) {
    if (kBuilds[std::size_t(i)].runs()) names.push_back(kBuilds[std::size_t(i)].name);
  }
  return names;
}

std::string joined_names(const std::vector<const char*>& names) {
  std::string text;
  for (const char* const name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

const char* choose() {
  const std::vector<const char*> names = runnable();
  const char* const asked = secure_getenv("OPYARD_CPU");
  if (asked == nullptr || *asked == '\0') return names.back();
  for (const char* const name : names) {
    if (std::strcmp(name, asked) == 0) return name;
  }
  for (const Known& known : kBuilds) {
    if (std::strcmp(known.name, asked) != 0) continue;
    refuse(ErrorKind::BadValue,
           {"OPYARD_CPU is '", asked, "', and this ",
            known.runs() ? "installation has no such build of the operators"
                         : "processor does not run that build of the operators",
            "; accepted here are ", joined_names(names), ", or leave it unset"});
  }
  refuse(ErrorKind::BadValue, {"OPYARD_CPU is '", asked, "', which names no build of the operators",
                               "; accepted here are ", joined_names(names), ", or leave it unset"});
}

std::string folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&kBuilds), &info) == 0 || info.dli_fname == nullptr) {
    return "";
  }
  const std::string file = info.dli_fname;
  return file.substr(0, file.rfind('/') + 1);
}

struct Opened {
  const LoopBuild& build;
  const ChainLoops& chains;
};

Opened open(const char* name) {
  const std::string path = folder() + "opyard_loops_" + name + ".so";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const reason = dlerror();
    refuse(ErrorKind::BadPlugin,
           {"the operators' loops cannot be opened: ", reason == nullptr ? path.c_str() : reason,
            "; the file belongs beside opyard_kernels.so, so install Opyard again"});
  }
  auto* const entry = reinterpret_cast<Entry*>(dlsym(library, "opyard_loops_v1"));
  auto* const chains = reinterpret_cast<ChainsEntry*>(dlsym(library, "opyard_loop_chains_v1"));
  const LoopBuild* const build = entry == nullptr ? nullptr : entry();
  if (build == nullptr || build->bytes != sizeof(LoopBuild) || chains == nullptr) {
    refuse(ErrorKind::BadPlugin, {path,
                                  " is of another version than opyard_kernels.so beside it; "
                                  "install Opyard again"});
  }
  return {*build, *chains()};
}

// The build's functions, and the baseline's for those that it does not have.
struct Chosen {
  LoopTable table;
  const char* name;
  const ChainLoops* chains;

  Chosen() : table(open("baseline").build.table), name(choose()) {
    const Opened opened = open(name);
    const LoopBuild& best = opened.build;
    chains = &opened.chains;
    using Function = void (*)();
    constexpr std::size_t kFunctions = sizeof(LoopTable) / sizeof(Function);
    std::array<Function, kFunctions> mine, theirs;
    std::memcpy(mine.data(), &table, sizeof(LoopTable));
    std::memcpy(theirs.data(), &best.table, sizeof(LoopTable));
    for (std::size_t i = 0; i < kFunctions; ++i) {
      if (theirs[i] != nullptr) mine[i] = theirs[i];
    }
    std::memcpy(static_cast<void*>(&table), mine.data(), sizeof(LoopTable));
  }
};

const Chosen& chosen() {
  static const Chosen instance;
  return instance;
}

}  // namespace

const LoopTable& loops() { return chosen().table; }
const ChainLoops& chain_loops() { return *chosen().chains; }
const char* build_name() { return chosen().name; }
std::string known_builds() { return joined_names(runnable()); }

void name_build(Library& library, std::source_location at) {
  library.set_source_location(text_of({at.file_name(), ":", at.line(), ", loops ", build_name()}));
}

// First in the plugin, so that a failure leaves nothing registered.
OPYARD_LIBRARY_FRAGMENT(opyard_kernels, m) {
  loops();
  m.def("cpu_build() -> str", [] { return std::string(build_name()); });
  m.def("cpu_builds() -> str", [] { return known_builds(); });
}

}  // namespace opyard::kernels
