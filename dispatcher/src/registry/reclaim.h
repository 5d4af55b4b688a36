// registry/reclaim.h: deferred freeing of records that calls may still read.
//
// The registry retires a record once no slot leads to it; the reclaimer frees it once no
// thread can be inside a call that read it. reclaim.cpp explains how.
//
// Depends on: registry/record.h.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "opyard/detail/registry/record.h"

namespace opyard {

// A chain of records that nothing refers to any more.
class RecordChain {
 public:
  RecordChain() = default;
  RecordChain(RecordChain&& other) noexcept : first_(std::exchange(other.first_, nullptr)) {}
  RecordChain& operator=(RecordChain&& other) noexcept {
    std::swap(first_, other.first_);
    return *this;
  }
  // Destroys the records and their contexts, so not under a lock.
  ~RecordChain();

  void add(std::unique_ptr<Record> record) noexcept;
  void add(RecordChain other) noexcept;
  bool empty() const noexcept { return first_ == nullptr; }
  std::size_t count() const noexcept;
  void list_provenances(std::vector<std::string>& to) const;

 private:
  Record* first_ = nullptr;
};

// Makes what retiring needs. Raises bad_alloc.
void prepare_reclaimer();

// Takes records that no slot leads to any more. Never throws, never allocates.
void retire(std::unique_ptr<Record> record) noexcept;

// Gives out the retired records that no call can be reading. The caller destroys them when
// it holds no lock.
RecordChain collect_retired() noexcept;

std::size_t retired_record_count() noexcept;

// Where the retired records that are not freed yet came from.
std::vector<std::string> retired_provenances();

}  // namespace opyard
