// files/json.cpp: nlohmann's parser, which does not recurse, with limits of ours in its callback.
#include "files/json.h"

#include <limits>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

[[noreturn]] void refuse_kind(const Json& value, const char* wanted, const std::string& what) {
  fail(ErrorKind::BadValue,
       fmt::format("{} is {} {}, and {} is taken", what,
                   value.is_array() || value.is_object() ? "an" : "a", value.type_name(), wanted));
}

// Counts levels, and the names of each object that is open.
class Limits {
 public:
  explicit Limits(const std::string& what) : what_(what) {}

  bool operator()(int, Json::parse_event_t event, Json& value) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        open_.emplace_back();
        OPYARD_CHECK(open_.size() <= std::size_t(kMostJsonNesting), BadValue,
                     fmt::format("{} is nested deeper than {} levels", what_, kMostJsonNesting));
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        open_.pop_back();
        break;
      case Json::parse_event_t::key:
        OPYARD_CHECK(open_.back().insert(value.get<std::string>()).second, BadValue,
                     fmt::format("{} has the name \"{}\" twice", what_, value.get<std::string>()));
        break;
      case Json::parse_event_t::value:
        break;
    }
    return true;
  }

 private:
  const std::string& what_;
  std::vector<std::set<std::string>> open_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& what) {
  try {
    Limits limits(what);
    return Json::parse(text.begin(), text.end(), std::ref(limits));
  } catch (const Json::parse_error& error) {
    fail(ErrorKind::BadValue, fmt::format("{} is no JSON: byte {}", what, error.byte));
  } catch (const Json::exception& error) {  // a number out of every range
    fail(ErrorKind::BadValue, fmt::format("{} is no JSON: {}", what, error.what()));
  }
}

const Json* find_member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

const Json& require_member(const Json& object, const char* name, const std::string& what) {
  require_object(object, what);
  const Json* const found = find_member(object, name);
  OPYARD_CHECK(found != nullptr, BadValue, fmt::format("{} has no \"{}\"", what, name));
  return *found;
}

const Json& require_array(const Json& value, const std::string& what) {
  if (!value.is_array()) refuse_kind(value, "an array", what);
  return value;
}
const Json& require_object(const Json& value, const std::string& what) {
  if (!value.is_object()) refuse_kind(value, "an object", what);
  return value;
}
const std::string& require_text(const Json& value, const std::string& what) {
  if (!value.is_string()) refuse_kind(value, "a string", what);
  return value.get_ref<const std::string&>();
}
std::int64_t require_int(const Json& value, const std::string& what) {
  if (!value.is_number_integer()) refuse_kind(value, "an integer", what);
  OPYARD_CHECK(
      !value.is_number_unsigned() ||
          value.get<std::uint64_t>() <= std::uint64_t(std::numeric_limits<std::int64_t>::max()),
      BadValue, fmt::format("{} is {}, which does not fit 64 bits", what, value.dump()));
  return value.get<std::int64_t>();
}
bool require_bool(const Json& value, const std::string& what) {
  if (!value.is_boolean()) refuse_kind(value, "true or false", what);
  return value.get<bool>();
}

}  // namespace opyard::jit
