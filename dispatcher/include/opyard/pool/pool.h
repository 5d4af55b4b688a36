// opyard/pool/pool.h: the threads of the process that kernels, forks of graphs and users share.
//
// There is one pool in a process. It is made at its first use, and nothing of it exists before.
// Loops go through opyard/pool/parallel_for.h, single functions through opyard/value/task.h.
//
// Its size is how many threads compute at a time: a loop runs on its caller and size - 1 others,
// tasks on up to `size` threads. It is what set_thread_count() said, else OPYARD_NUM_THREADS, else
// the number of processors that this process may use. While a thread of the pool sleeps until
// another task is done, another one takes its place.
//
// [Fork] The child of a fork has no thread of the pool and starts afresh. What was queued in the
// parent runs in the child only if someone waits for it there; waiting for what a thread of the
// parent was running raises BadFuture.
//
// [Exit] Nothing waits for the pool's threads when the process ends; they end with it.
//
// Any function may be called on any thread, with or without the lock of an interpreter.
//
// Depends on: base/export.h.
#pragma once

#include "opyard/base/export.h"

namespace opyard {

// Raises BadValue if OPYARD_NUM_THREADS is no number from 1 to 1024.
OPYARD_API int thread_count();
// Applies to what begins afterwards. Raises BadValue for a count that is not from 1 to 1024.
OPYARD_API void set_thread_count(int count);

}  // namespace opyard
