// files/json.cpp: non-recursive JSON reader with limits, on nlohmann's parser.
#include "files/json.h"

#include <limits>
#include <utility>
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

// Builds the values while they are read, and keeps the limits. nlohmann's own parser with a
// callback goes through all members of an object again whenever one of them ends: a time that grows
// with the square of their number.
class LimitedReader final : public nlohmann::json_sax<Json> {
 public:
  explicit LimitedReader(const std::string& what) : what_(what) {}

  Json take() { return std::move(root_); }

  bool null() override { return put(Json()); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(value); }
  bool number_unsigned(std::uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }  // not in JSON
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    auto& members = open_.back()->get_ref<Json::object_t&>();
    const auto [place, is_new] = members.try_emplace(name);
    OPYARD_CHECK(is_new, BadValue, fmt::format("{} has the name \"{}\" twice", what_, name));
    member_ = &place->second;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    const auto* const place = dynamic_cast<const Json::parse_error*>(&error);
    fail(ErrorKind::BadValue, place != nullptr
                                  ? fmt::format("{} is no JSON: byte {}", what_, place->byte)
                                  : fmt::format("{} is no JSON: {}", what_, error.what()));
  }

 private:
  Json& place() {
    if (open_.empty()) return root_;
    return open_.back()->is_array() ? open_.back()->emplace_back() : *member_;
  }
  bool put(Json value) {
    place() = std::move(value);
    return true;
  }
  bool open(Json empty) {
    OPYARD_CHECK(open_.size() < std::size_t(kMostJsonNesting), BadValue,
                 fmt::format("{} is nested deeper than {} levels", what_, kMostJsonNesting));
    Json& value = place();
    value = std::move(empty);
    open_.push_back(&value);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& what_;
  Json root_;
  std::vector<Json*> open_;  // whose addresses stay: what is around them does not grow meanwhile
  Json* member_ = nullptr;   // what the last name of an object is the name of
};

}  // namespace

Json parse_json(std::string_view text, const std::string& what) {
  LimitedReader reader(what);
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
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
