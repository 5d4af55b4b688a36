// opyard/tensor/c_device.h: a device as one struct of functions, which a plugin fills in. C99 and C++.
//
// A backend whose memory is not the CPU's needs one: tensors are then made on it, and copied to it
// and from it. Work is put into streams, queues that run by themselves; who needs its result waits.
//
//   static const opyard_device_functions functions = {sizeof(functions), "sim", NULL, allocate, …};
//   opyard_register_device("PrivateUse1", &functions);      C, opyard/c_api.h
//   register_device(Backend::PrivateUse1, functions);       C++, opyard/tensor/device_functions.h
//
// Every function may be called on any thread, at once on several, and throws nothing. Those that
// give an int give OPYARD_OK or a status, with opyard_set_error() if there is a reason to tell.
//
// Depends on: nothing else of ours.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// In place of a device's index: the memory of the CPU.
#define OPYARD_HOST (-1)

typedef struct opyard_device_functions {
  size_t bytes;      // sizeof(opyard_device_functions)
  const char* name;  // tells who registers: the same name replaces, another is refused
  void* context;     // is given to every function
  // Memory of a device, aligned to 64 bytes; null if there is none left. `size` is not 0.
  void* (*allocate)(void* context, int32_t index, size_t size);
  // Gives it back. Work under way that uses it is the device's concern, as on its current stream.
  void (*release)(void* context, int32_t index, void* memory, size_t size);
  // Puts a copy into a stream and returns. One of the indices may be OPYARD_HOST, whose memory is
  // touched no later than when the stream has been synchronised.
  int (*copy)(void* context, void* to, int32_t to_index, const void* from, int32_t from_index,
              size_t size, int64_t stream);
  // Where this thread's work on a device goes; 0 is its default stream.
  int64_t (*current_stream)(void* context, int32_t index);
  // Lets what is put into `stream` from now on begin after what `other` has now; returns at once.
  int (*wait)(void* context, int32_t index, int64_t stream, int64_t other);
  // Returns when all that is in the stream is done.
  int (*synchronise)(void* context, int32_t index, int64_t stream);
  // Makes a device this thread's current one, and gives the former; with -1 it only tells.
  int32_t (*exchange_device)(void* context, int32_t index);
} opyard_device_functions;

#ifdef __cplusplus
}
#endif
