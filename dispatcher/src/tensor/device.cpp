// tensor/device.cpp: the text of a device, both ways.
#include "opyard/tensor/device.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "opyard/tensor/dtype.h"

namespace opyard {
namespace {

std::string lower_case_name(Backend backend) {
  std::string name = to_string(backend);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  }
  return name;
}

// One that no plugin has given a name.
bool has_no_name(Backend backend) {
  const std::string name = to_string(backend);
  return name.starts_with("PrivateUse") || name.starts_with("UserBackend");
}

std::optional<Backend> find_backend(std::string_view name) {
  for (int i = 0; i < kBackendCount; ++i) {
    if (lower_case_name(Backend(i)) == name) return Backend(i);
  }
  return std::nullopt;
}

// A decimal number from 0 to 32767, without sign and without leading zeros.
std::optional<std::int16_t> parse_index(std::string_view digits) {
  std::int16_t index = 0;
  if (digits.empty() || digits.front() == '-') return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return index;
}

}  // namespace

std::string to_string(Device device) {
  const std::string name = lower_case_name(device.backend);
  return device.index < 0 ? name : fmt::format("{}:{}", name, device.index);
}

Device parse_device(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::optional<Backend> backend = find_backend(text.substr(0, colon));
  if (!backend) {
    if (find_dtype(text)) {
      fail(ErrorKind::BadValue,
           fmt::format("'{0}' names no device but a dtype; in Python that is given as opyard.{0}",
                       text));
    }
    std::string names;
    for (int i = 0; i < kBackendCount; ++i) {
      if (has_no_name(Backend(i))) continue;
      names += (names.empty() ? "" : ", ") + lower_case_name(Backend(i));
    }
    fail(ErrorKind::BadValue,
         fmt::format("'{}' names no device; write a backend and an index where it needs one, as in "
                     "'cpu' or 'cuda:1'. The backends are {} and those that no plugin has named",
                     text, names));
  }
  if (colon == std::string_view::npos) return {*backend, -1};
  const std::optional<std::int16_t> index = parse_index(text.substr(colon + 1));
  if (!index) {
    fail(ErrorKind::BadValue,
         fmt::format("'{}' has no valid device index; after the colon comes a number from 0 to {}",
                     text, std::numeric_limits<std::int16_t>::max()));
  }
  return {*backend, *index};
}

}  // namespace opyard
