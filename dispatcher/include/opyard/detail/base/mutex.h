// opyard/detail/base/mutex.h: mutexes of the process, and their lock order.
//
// Every lock of ours has a rank. A thread that holds one may only take another of a higher
// rank, and holds none while it takes a GIL or runs code of a user: so no two threads can wait
// for each other. A build with assertions checks both.
//
// [Fork] The child of a fork has one thread. fork() takes all locks first, in order of rank, so
// the child finds none held by a thread that is not there, and nothing half changed.
//
// Depends on: base/error.h.
#pragma once

#include <mutex>

#include "opyard/base/error.h"
#include "opyard/base/export.h"

namespace opyard {

// One lock each, in the order in which they may be taken.
enum class LockRank : int {
  Plugins,          // the loaded plugins
  LinkedLibraries,  // libraries that no one loaded by hand
  MappedFiles,      // what files looked like when they were opened
  Traces,           // how many traces are active
  Registry,         // definitions, kernels, tables
  Reclaimer,        // threads that call, and retired records
  KeyNames,         // who names a dispatch key
  UserTypes,        // classes and enums of users
  Symbols,          // the names that graphs use
  Pool,             // what is queued for the process's threads, and who sleeps
  WeakPointers,     // who watches which object: objects may die under any other lock
  ProfilerSources,  // who captures what
  ProfilerNames,    // names of what is captured
  ProfilerStreams,  // threads of a capture, and windows: events may come under any other lock
  Gradients,        // gradients that are accumulated, and hooks
  SecondStorages,   // memory with two storages: storages may die under any other lock
  CachedMemory,     // the lists of freed memory of all threads: memory may be wanted under any lock
  kCount,
};

// A lock; at most one of each rank. For std::lock_guard and std::unique_lock.
class OPYARD_API Mutex {
 public:
  // `in_child` runs in the child of a fork, by its only thread, while all locks are held.
  // Raises OutOfMemory if the process has no room for fork handlers.
  explicit Mutex(LockRank rank, void (*in_child)() = nullptr);
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  ~Mutex();

  void lock();
  void unlock();

 private:
  struct Fork;

  std::mutex mutex_;
  const LockRank rank_;
  void (*const in_child_)();
};

// Asserts that this thread holds no lock of ours; for code that is about to wait for a GIL or to
// run code of a user.
OPYARD_API void assert_no_lock_held();

}  // namespace opyard
