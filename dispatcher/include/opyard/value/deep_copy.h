// opyard/value/deep_copy.h: deep copies of values.
//
// Lists, dicts and tuples are copied with what is in them, a tensor with its memory: tensors
// that are views of one memory become views of one copy. What is in several containers, or inside
// itself, is copied once, and the copies are joined in the same way. What cannot change is shared.
//
// Depends on: value/value.h.
#pragma once

#include <memory>

#include "opyard/value/value.h"

namespace opyard {

// What was copied already, and into what. It keeps both alive. Used by one thread at a time.
class OPYARD_API CopyMemo {
 public:
  CopyMemo();
  CopyMemo(const CopyMemo&) = delete;
  CopyMemo& operator=(const CopyMemo&) = delete;
  ~CopyMemo();

 private:
  friend class DeepCopy;
  struct State;
  std::unique_ptr<State> state_;
};

// Raises Unsupported for tensors and storages outside of cpu and meta, for capsules,
// futures and objects of an interpreter, for generators and objects of users whose class cannot be
// copied, and for an object that holds itself; std::bad_alloc. Nothing of a copy that failed is
// left behind.
OPYARD_API Value deep_copy(const Value& value);
// The same, as part of a larger copy.
OPYARD_API Value deep_copy(const Value& value, CopyMemo& memo);

}  // namespace opyard
