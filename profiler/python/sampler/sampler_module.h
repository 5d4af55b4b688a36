// sampler/sampler_module.h: the sampler's functions of opyard._tracer.
//
// Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/python.h"

namespace opyard::python {

// why_unreadable() -> str, start_sampling(period_ns, slices, with_gil, index),
// sample_now(frames), sampler_bytes(), is_sampling(),
// is_main_interpreter()
extern PyMethodDef sampler_functions[];

}  // namespace opyard::python
