// xla/publications.cpp: the list of published operators.
#include "xla/publications.h"

#include <map>
#include <memory>
#include <mutex>

namespace opyard::xla {
namespace {

struct Publications {
  std::mutex mutex;  // held for no call of anyone else
  std::map<std::string, std::unique_ptr<Publication>, std::less<>> by_declaration;
};

// Never ends: programs of XLA may be destroyed after static objects are.
Publications& publications() {
  static auto* const all = new Publications;
  return *all;
}

}  // namespace

Publication& publication_of(std::string_view declaration) {
  Publications& all = publications();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_declaration.find(declaration);
  if (found != all.by_declaration.end()) return *found->second;
  auto made = std::make_unique<Publication>();
  made->declaration = declaration;
  Publication& publication = *made;
  all.by_declaration.emplace(publication.declaration, std::move(made));
  return publication;
}

}  // namespace opyard::xla
