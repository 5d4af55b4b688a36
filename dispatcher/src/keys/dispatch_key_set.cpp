// keys/dispatch_key_set.cpp: iteration and printing of key sets.
#include "opyard/keys/dispatch_key_set.h"

namespace opyard {

DispatchKeySet::Iterator::Iterator(std::uint64_t bits, int layer) : bits_(bits), layer_(layer) {
  if (layer < 0 || layer > kLayerCount) {
    fail(ErrorKind::BadIndex, "a dispatch key set has the layers 0 to " +
                                  std::to_string(kLayerCount - 1) + ", not " +
                                  std::to_string(layer));
  }
  skip_to_key();
}

DispatchKey DispatchKeySet::Iterator::operator*() const noexcept {
  if (layer_ >= kLayerCount) return DispatchKey::Undefined;  // the end names no key
  return instance_of(DispatchKey(1 + layer_), Backend(backend_));
}

DispatchKeySet::Iterator& DispatchKeySet::Iterator::operator++() {
  if (layer_ >= kLayerCount) {
    fail(ErrorKind::BadIndex, "a dispatch key set was stepped through past its end");
  }
  if (detail::per_backend_index(layer_) >= 0) {
    ++backend_;
  } else {
    ++layer_;
  }
  skip_to_key();
  return *this;
}

// Moves forward to the next position that names a member, if this one does not.
void DispatchKeySet::Iterator::skip_to_key() {
  while (layer_ < kLayerCount) {
    const bool present = ((bits_ >> (16 + layer_)) & 1) != 0;
    if (present && detail::per_backend_index(layer_) < 0) break;
    while (present && backend_ < kBackendCount && ((bits_ >> backend_) & 1) == 0) ++backend_;
    if (present && backend_ < kBackendCount) return;
    ++layer_;
    backend_ = 0;
  }
  backend_ = 0;
}

std::string to_string(DispatchKeySet set) {
  std::string text = "DispatchKeySet(";
  const char* separator = "";
  for (const DispatchKey key : set) {
    text += separator;
    text += to_string(key);
    separator = ", ";
  }
  return text + ")";
}

}  // namespace opyard
