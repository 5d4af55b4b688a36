// exported/names.h: targets and source locations of exported nodes.
//
// Depends on: files/json.h, jit/source_range.h, schema/schema.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "files/json.h"
#include "opyard/jit/source_range.h"
#include "opyard/schema/schema.h"

namespace opyard::jit {

// The built-in function that a function on sizes is here, "aten::add" for "_operator.add", or null.
const char* find_size_function(const std::string& target);

// "torch.ops.aten.add.Tensor" is aten::add.Tensor; nothing for another form.
std::optional<OperatorName> operator_name(std::string_view target);

// The last place in the model's own source, "model.py", 12, of a stack as Python prints it.
SourceRange source_range_of(const Json& node);
// The modules that the call is made in, "Net/features/0"; empty if the file does not say.
std::string scope_of(const Json& node);

}  // namespace opyard::jit
