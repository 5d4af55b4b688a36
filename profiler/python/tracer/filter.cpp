// tracer/filter.cpp: patterns of files and modules.
#include "tracer/filter.h"

#include <fnmatch.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace opyard::python {

Filter::Pattern Filter::read(std::string text) {
  if (text.find_first_of("*?[") != std::string::npos) {
    return {Pattern::Kind::Shell, std::move(text), {}, {}};
  }
  if (text.find('/') != std::string::npos || text.ends_with(".py") || text.starts_with('<')) {
    return {Pattern::Kind::Beginning, std::move(text), {}, {}};
  }
  std::string path = "/" + text;
  std::replace(path.begin(), path.end(), '.', '/');
  return {Pattern::Kind::Module, std::move(text), path + ".py", path + "/"};
}

bool Filter::fits(const Pattern& pattern, const std::string& file) {
  switch (pattern.kind) {
    case Pattern::Kind::Beginning:
      return file.starts_with(pattern.text);
    case Pattern::Kind::Shell:
      return fnmatch(pattern.text.c_str(), file.c_str(), 0) == 0;
    case Pattern::Kind::Module:
      return file.ends_with(pattern.file) || file.find(pattern.folder) != std::string::npos ||
             file == pattern.file.substr(1) || file.starts_with(pattern.folder.substr(1)) ||
             file == "<frozen " + pattern.text + ">";
  }
  return false;
}

void Filter::set(std::vector<std::string> include, std::vector<std::string> exclude,
                 std::vector<std::string> lines) {
  std::vector<Pattern> included;
  std::vector<Pattern> excluded;
  for (std::string& text : include) included.push_back(read(std::move(text)));
  for (std::string& text : exclude) excluded.push_back(read(std::move(text)));
  include_ = std::move(included);
  exclude_ = std::move(excluded);
  lines_ = std::move(lines);
  static std::atomic<std::uint32_t> last{0};
  // Codes keep 22 bits of it.
  number_ = !leaves_out_any() && lines_.empty() ? 0 : last.fetch_add(1) % 0x3F'FFFF + 1;
}

bool Filter::leaves_out_file(std::string_view file) const {
  const std::string name(file);
  const auto fits_name = [&](const Pattern& pattern) { return fits(pattern, name); };
  if (!include_.empty() && std::none_of(include_.begin(), include_.end(), fits_name)) return true;
  return std::any_of(exclude_.begin(), exclude_.end(), fits_name);
}

bool Filter::leaves_out_callable(std::string_view name) const {
  return std::any_of(exclude_.begin(), exclude_.end(), [&](const Pattern& pattern) {
    if (pattern.kind != Pattern::Kind::Module || !name.starts_with(pattern.text)) return false;
    return name.size() == pattern.text.size() || name[pattern.text.size()] == '.';
  });
}

bool Filter::chooses_lines(const profiler::Name& name) const {
  const std::string& function = name.qualified.empty() ? name.text : name.qualified;
  const auto fits_text = [](const std::string& pattern, const std::string& text) {
    return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
  };
  return std::any_of(lines_.begin(), lines_.end(), [&](const std::string& pattern) {
    if (pattern.find('/') != std::string::npos || pattern.ends_with(".py")) {
      return fits(read(pattern), name.file);
    }
    if (fits_text(pattern, name.text) || fits_text(pattern, function)) return true;
    for (std::size_t dot = pattern.find('.'); dot != std::string::npos;
         dot = pattern.find('.', dot + 1)) {
      const std::string module = pattern.substr(0, dot);
      const bool is_name = !module.empty() && module.find_first_of("*?[") == std::string::npos;
      if (is_name && fits_text(pattern.substr(dot + 1), function) &&
          fits(read(module), name.file)) {
        return true;
      }
    }
    return false;
  });
}

}  // namespace opyard::python
