// plugin/registrar.cpp: blocks of libraries that nobody loads by hand.
//
// A block that is recorded while no loader is at work on this thread is run at once. Its
// library lives as long as the process. What it throws is kept and shown, since a static
// initialiser has nobody to tell.
#include "opyard/plugin/registrar.h"

#include <cstdio>
#include <mutex>

#include "opyard/registry/library.h"
#include "opyard/plugin/plugin.h"
#include "plugin/loader.h"

namespace opyard {
namespace {

struct LinkedLibraries {
  std::mutex mutex;  // guards both
  std::vector<std::unique_ptr<Library>> libraries;
  std::vector<std::string> errors;

  static LinkedLibraries& instance() {
    static auto* const linked = new LinkedLibraries;
    return *linked;
  }
};

}  // namespace

constinit thread_local bool loader_at_work = false;

std::unique_ptr<Library> run_block(const detail::Registrar& registrar) {
  auto library = std::make_unique<Library>(registrar.kind, registrar.name_space, registrar.key,
                                           registrar.file, registrar.line);
  registrar.block(*library);
  return library;
}

void detail::Registrar::announce(const Registrar& registrar) {
  if (loader_at_work) return;
  LinkedLibraries& linked = LinkedLibraries::instance();
  std::unique_ptr<Library> library;
  const Status status = guarded([&] {
    library = run_block(registrar);
    const std::lock_guard lock(linked.mutex);
    linked.libraries.push_back(std::move(library));
  });
  if (status == Status::Ok) return;
  const std::optional<Error> error = take_error();
  const char* const reason = error ? error->what() : "out of memory";
  std::fprintf(stderr, "opyard: the block of namespace %s at %s:%d was not registered: %s\n",
               registrar.name_space, registrar.file, registrar.line, reason);
  static_cast<void>(guarded([&] {
    const std::lock_guard lock(linked.mutex);
    linked.errors.emplace_back(reason);
  }));
}

std::vector<std::string> linked_library_errors() {
  LinkedLibraries& linked = LinkedLibraries::instance();
  const std::lock_guard lock(linked.mutex);
  return linked.errors;
}

}  // namespace opyard
