// plugin/registrar.cpp: registrars of libraries that are linked, not loaded.
//
// A block that is listed while no loader is at work on this thread is run at once. Its library
// lives as long as the process, unless load_library() is called for its file afterwards: the plugin
// then takes it over. What a block throws is stored and shown, since a static initialiser has no
// one to tell.
#include "opyard/plugin/registrar.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "opyard/detail/base/mutex.h"
#include "opyard/detail/registry/formula_check.h"
#include "opyard/plugin/plugin.h"
#include "opyard/registry/library.h"
#include "plugin/loader.h"

namespace opyard {
namespace {

struct LinkedLibraries {
  Mutex mutex{LockRank::LinkedLibraries};  // guards both
  std::vector<std::pair<const detail::Registrar*, std::unique_ptr<Library>>> libraries;
  std::vector<std::string> errors;

  static LinkedLibraries& instance() {
    static auto* const linked = new LinkedLibraries;
    return *linked;
  }
};

// Made when libopyard is loaded, so that no fork() meets it half made.
[[maybe_unused]] const Status made_linked_libraries = guarded([] { LinkedLibraries::instance(); });

}  // namespace

constinit thread_local WaitingBlocks* waiting_blocks = nullptr;

std::unique_ptr<Library> run_block(const detail::Registrar& registrar) {
  auto library = std::make_unique<Library>(registrar.kind, registrar.name_space, registrar.key,
                                           registrar.file, registrar.line);
  try {
    registrar.block(*library);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    fail(ErrorKind::Foreign,
         fmt::format("the block of namespace {} at {}:{} threw something that is no "
                     "std::exception; nothing of it is registered",
                     registrar.name_space, registrar.file, registrar.line));
  }
  return library;
}

std::unique_ptr<Library> take_linked_library(const detail::Registrar& registrar) {
  LinkedLibraries& linked = LinkedLibraries::instance();
  const std::lock_guard lock(linked.mutex);
  const auto found = std::find_if(linked.libraries.begin(), linked.libraries.end(),
                                  [&](const auto& entry) { return entry.first == &registrar; });
  if (found == linked.libraries.end()) return nullptr;
  std::unique_ptr<Library> library = std::move(found->second);
  linked.libraries.erase(found);
  return library;
}

void run_linked_block(const detail::Registrar& registrar) {
  const detail::LateFormulaChecks never;  // blocks that are linked, too, may come later
  const Status status = guarded([&] {
    LinkedLibraries& linked = LinkedLibraries::instance();
    std::unique_ptr<Library> library = run_block(registrar);
    const std::lock_guard lock(linked.mutex);
    linked.libraries.emplace_back(&registrar, std::move(library));
  });
  if (status == Status::Ok) return;
  const std::optional<Error> error = take_error();
  const char* const reason = error ? error->what() : "out of memory";
  std::fprintf(stderr, "opyard: the block of namespace %s at %s:%d was not registered: %s\n",
               registrar.name_space, registrar.file, registrar.line, reason);
  static_cast<void>(guarded([&] {
    LinkedLibraries& linked = LinkedLibraries::instance();
    const std::lock_guard lock(linked.mutex);
    linked.errors.emplace_back(reason);
  }));
}

void detail::Registrar::announce(const Registrar& registrar) {
  if (waiting_blocks == nullptr) return run_linked_block(registrar);
  // This is a static initialiser inside dlopen(), which must not throw.
  const Status status = guarded([&] { waiting_blocks->blocks.push_back(&registrar); });
  if (status != Status::Ok) waiting_blocks->lost = true;
}

std::vector<std::string> linked_library_errors() {
  LinkedLibraries& linked = LinkedLibraries::instance();
  const std::lock_guard lock(linked.mutex);
  return linked.errors;
}

}  // namespace opyard
