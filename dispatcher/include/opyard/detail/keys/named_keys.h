// opyard/detail/keys/named_keys.h: giving keys the names that a program knows them by.
//
// Eight backends and eight layers have no meaning of their own; a program takes one by naming it.
// The three PrivateUse backends can be renamed, for code that relies on their numbers. A key keeps
// its name as long as the process lives: table slots, tensors and messages may refer to it.
//
//   const Backend npu = register_backend("npu");       // keys npu, Quantizednpu, …, Autogradnpu
//   const DispatchKey audit = register_layer("Audit", LayerGap::OnTop);
//
// Depends on: keys/dispatch_key.h.
#pragma once

#include <string_view>

#include "opyard/keys/dispatch_key.h"

namespace opyard {

// Between which layers a named one may be. Each gap has room for two; the one that is named
// first is below.
enum class LayerGap { AboveBackendSelect, AboveADInplaceOrView, AboveAutograd, OnTop };

// Takes a free backend and names it. Devices are called the same in lower case: "npu:0".
//
// Raises BadValue for a name that is no identifier, or that would make two keys or two devices
// share a name; BadRegistration if all eight are taken.
OPYARD_API Backend register_backend(std::string_view name);

// Renames PrivateUse1, 2 or 3. Once: doing it again with the same name changes nothing. Raises
// BadRegistration for another backend and for a second name; else what register_backend() raises.
OPYARD_API void rename_backend(Backend backend, std::string_view name);

// Takes a free layer of the gap and names it. A layer that has no kernel for an operator falls
// through. Raises BadValue as register_backend(), BadRegistration if both are taken.
OPYARD_API DispatchKey register_layer(std::string_view name, LayerGap gap);

}  // namespace opyard
