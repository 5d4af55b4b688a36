// files/json.h: JSON reader for untrusted files, with limits and errors that name members.
//
// Depends on: nlohmann/json.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace opyard::jit {

using Json = nlohmann::json;

inline constexpr int kMostJsonNesting = 64;

// Raises BadValue for what is no JSON, is nested deeper than kMostJsonNesting, or has one name
// twice in an object. `what` names the text: "the header of x.safetensors".
Json parse_json(std::string_view text, const std::string& what);

// The member of an object. Raises BadValue if `object` is none, or has no such member.
const Json& require_member(const Json& object, const char* name, const std::string& what);
// Null if there is none.
const Json* find_member(const Json& object, const char* name);
// Each raises BadValue for a value of another kind; an integer must fit.
const Json& require_array(const Json& value, const std::string& what);
const Json& require_object(const Json& value, const std::string& what);
const std::string& require_text(const Json& value, const std::string& what);
std::int64_t require_int(const Json& value, const std::string& what);
bool require_bool(const Json& value, const std::string& what);

}  // namespace opyard::jit
