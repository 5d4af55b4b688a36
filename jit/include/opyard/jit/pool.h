// opyard/jit/pool.h: arena of objects of one type.
//
// Depends on: base/alloc.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "opyard/base/alloc.h"

namespace opyard::jit {

template <typename T>
class Pool {
 public:
  Pool() noexcept = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (const Piece& piece : pieces_) {
      for (std::size_t i = 0; i < piece.used; ++i) piece.objects[i].~T();
      deallocate(piece.objects, piece.capacity * sizeof(T), alignof(T));
    }
  }

  template <typename... Args>
  T* make(Args&&... args) {
    if (pieces_.empty() || pieces_.back().used == pieces_.back().capacity) grow();
    Piece& piece = pieces_.back();
    T* const made =
        new (static_cast<void*>(piece.objects + piece.used)) T(std::forward<Args>(args)...);
    ++piece.used;
    ++size_;
    return made;
  }
  std::size_t size() const noexcept { return size_; }
  // In order of making.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Piece& piece : pieces_) {
      for (std::size_t i = 0; i < piece.used; ++i) visit(piece.objects + i);
    }
  }

 private:
  struct Piece {
    T* objects;
    std::size_t used;
    std::size_t capacity;
  };

  void grow() {
    const std::size_t capacity =
        pieces_.empty() ? 8 : std::min<std::size_t>(pieces_.back().capacity * 2, 1024);
    if (pieces_.size() == pieces_.capacity()) pieces_.reserve(2 * pieces_.size() + 1);
    T* const objects = static_cast<T*>(allocate(capacity * sizeof(T), alignof(T)));
    pieces_.push_back({objects, 0, capacity});
  }

  std::vector<Piece> pieces_;
  std::size_t size_ = 0;
};

}  // namespace opyard::jit
