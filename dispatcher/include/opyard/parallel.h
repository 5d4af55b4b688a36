// opyard/parallel.h: running on several threads: loops, tasks, and the pool that both share.
//
// Depends on: pool/parallel_for.h, value/task.h.
#pragma once

#include "opyard/pool/parallel_for.h"
#include "opyard/pool/pool.h"
#include "opyard/value/task.h"
