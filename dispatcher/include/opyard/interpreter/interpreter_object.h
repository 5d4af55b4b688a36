// opyard/interpreter/interpreter_object.h: an owned object of an interpreter.
//
//   InterpreterObject        owns, and gives back through the tag, on any thread
//   InterpreterHandle        looks, owns nothing
//   InterpreterObjectOf<T>   owns, and the object is a T of that interpreter's headers
//
// object(us) gives the object to the interpreter it belongs to, and raises InterpreterGone, naming
// both, for any other. The caller holds the lock of `us`.
//
// Depends on: interpreter/interpreter.h.
#pragma once

#include <utility>

#include "opyard/interpreter/interpreter.h"

namespace opyard {

namespace detail {

// Raises InterpreterGone, naming both.
[[noreturn]] OPYARD_API OPYARD_COLD void refuse_other_interpreter(Interpreter* us,
                                                                  Interpreter* other);

}  // namespace detail

class InterpreterHandle {
 public:
  InterpreterHandle() noexcept = default;
  InterpreterHandle(Interpreter* tag, void* object) noexcept : tag_(tag), object_(object) {}

  void* object(Interpreter* us) const {
    if (object_ != nullptr && tag_ != us) detail::refuse_other_interpreter(us, tag_);
    return object_;
  }
  Interpreter* tag() const noexcept { return tag_; }
  // For comparing addresses only.
  void* address() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  Interpreter* tag_ = nullptr;
  void* object_ = nullptr;
};

class InterpreterObject {
 public:
  InterpreterObject() noexcept = default;
  // Takes over an owner of the object.
  static InterpreterObject steal(Interpreter* tag, void* object) noexcept {
    InterpreterObject owner;
    owner.handle_ = {tag, object};
    return owner;
  }
  InterpreterObject(InterpreterObject&& other) noexcept
      : handle_(std::exchange(other.handle_, InterpreterHandle())) {}
  InterpreterObject& operator=(InterpreterObject other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  InterpreterObject(const InterpreterObject&) = delete;
  ~InterpreterObject() {
    if (handle_) handle_.tag()->decref(handle_.address(), false);
  }

  // One more owner. Takes the interpreter's lock if the thread does not hold it.
  InterpreterObject share() const {
    if (handle_) handle_.tag()->incref(handle_.address());
    return steal(handle_.tag(), handle_.address());
  }

  void* object(Interpreter* us) const { return handle_.object(us); }
  Interpreter* tag() const noexcept { return handle_.tag(); }
  void* address() const noexcept { return handle_.address(); }
  InterpreterHandle handle() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return bool(handle_); }
  // Leaves the owner to the caller.
  [[nodiscard]] void* release() noexcept {
    return std::exchange(handle_, InterpreterHandle()).address();
  }

 private:
  InterpreterHandle handle_;
};

// The same for the objects of one C type.
template <typename T>
class InterpreterObjectOf {
 public:
  InterpreterObjectOf() noexcept = default;
  static InterpreterObjectOf steal(Interpreter* tag, T* object) noexcept {
    return InterpreterObjectOf(InterpreterObject::steal(tag, object));
  }

  InterpreterObjectOf share() const { return InterpreterObjectOf(owner_.share()); }
  T* object(Interpreter* us) const { return static_cast<T*>(owner_.object(us)); }
  Interpreter* tag() const noexcept { return owner_.tag(); }
  explicit operator bool() const noexcept { return bool(owner_); }
  [[nodiscard]] T* release() noexcept { return static_cast<T*>(owner_.release()); }

 private:
  explicit InterpreterObjectOf(InterpreterObject owner) noexcept : owner_(std::move(owner)) {}

  InterpreterObject owner_;
};

}  // namespace opyard
