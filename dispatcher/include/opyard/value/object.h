// opyard/value/object.h: base class of user-defined objects in values.
//
//   struct Counter : opyard::Object { std::int64_t count = 0; };
//   opyard::register_class<Counter>("demo.Counter");            value/user_type.h
//   opyard::Value value(opyard::make_counted<Counter>());
//   value.to<opyard::CountedPtr<Counter>>()->count += 1;        value/cast.h
//
// A kernel takes a CountedPtr<Counter> if its schema says demo.Counter. The class is exactly
// the one registered: an object of a derived class is of another class.
//
// Depends on: value/user_type.h.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "opyard/base/counted.h"
#include "opyard/value/user_type.h"

namespace opyard {

class CopyMemo;
class Value;

class OPYARD_API Object : public Counted {
 public:
  // What the object's C++ class is registered as. Raises BadRegistration if it is not.
  const UserType& type() const {
    const UserType* const known = type_.load(std::memory_order_acquire);
    return __builtin_expect(known != nullptr, 1) ? *known : find_type();
  }

  // For deep_copy(): an object that shares nothing with this one that can change. Values that it
  // holds are copied with the memo it is given. Raises Unsupported unless a class says otherwise.
  virtual CountedPtr<Object> copy(CopyMemo& memo) const;
  // For to_string(): "<demo.Counter object>" unless a class says otherwise.
  virtual std::string text() const;
  // For sub_values(): appends the values that the object holds; none unless a class says so.
  virtual void append_values(std::vector<Value>& values) const;

 private:
  const UserType& find_type() const;

  mutable std::atomic<const UserType*> type_{nullptr};  // found once
};

}  // namespace opyard
