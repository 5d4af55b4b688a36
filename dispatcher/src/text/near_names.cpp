// text/near_names.cpp: names that are nearly equal.
#include "opyard/detail/text/near_names.h"

#include <algorithm>

namespace opyard::detail {

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

bool one_slip(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  const std::size_t same =
      std::size_t(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
  if (b.size() == a.size() + 1) return a.substr(same) == b.substr(same + 1);
  if (b.size() != a.size() || same == a.size()) return false;
  if (a.substr(same + 1) == b.substr(same + 1)) return true;
  return same + 1 < a.size() && a[same] == b[same + 1] && a[same + 1] == b[same] &&
         a.substr(same + 2) == b.substr(same + 2);
}

std::string_view near_name(std::string_view name, std::span<const std::string_view> known,
                           std::size_t free_begin) {
  for (const std::string_view each : known) {
    if (same_letters(name, each)) return each;
  }
  if (name.size() < 3) return {};
  std::string_view other;  // that begins otherwise, which is less likely
  for (const std::string_view each : known) {
    if (!one_slip(name, each)) continue;
    if (each.front() == name.front()) return each;
    if (other.empty() && name.size() >= free_begin) other = each;
  }
  return other;
}

}  // namespace opyard::detail
