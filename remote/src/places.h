// remote/places.h: devices of arguments, and the arguments at Meta. Not public.
//
// Depends on: remote/recorder.h.
#pragma once

#include <span>

#include "opyard/remote/recorder.h"

namespace opyard::remote {

Memory* find_memory(const Tensor& tensor) noexcept;
// What its storage has as its address. Above all addresses of programs, so that code which takes
// the elements for memory of the CPU ends at once; and those of two are far apart.
void* address_of(const Memory& memory) noexcept;
bool has_geometry_of(const Tensor& tensor, const Tensor& meta) noexcept;

// The first recorder among arguments, or null.
Recorder* find_recorder(std::span<const Value> arguments) noexcept;

// Raises Unsupported for a tensor that is neither the recorder's nor one of the CPU that goes
// along: one without dimensions, indices, or any if the operator is for them. And for values that
// belong to this process.
void check_places(const Operator& op, std::span<const Value> arguments, const Recorder& recorder,
                  bool takes_cpu);

// An argument for the kernel at Meta.
Value at_meta(const Value& argument);
Tensor meta_tensor(IntSpan sizes, IntSpan strides, std::int64_t offset, DType dtype);
// Contiguous, with memory of its own.
Tensor snapshot(const Tensor& tensor);

}  // namespace opyard::remote
