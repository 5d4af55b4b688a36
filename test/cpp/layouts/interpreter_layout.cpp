// interpreter_layout.cpp: frozen layouts that plugins of other languages have compiled in. Nothing runs.
//
// A plugin brings a table of functions, InterpreterVTable, and libopyard calls through it. When a
// line stops building, do not edit the line: a slot that moved or changed its signature breaks
// every plugin that is out there. New slots go to the end, with a new line here and the new size.
#include <cstddef>
#include <type_traits>

#include "opyard/interpreter/interpreter.h"

namespace opyard {

#define OPYARD_SLOT_AT(position, name, ...)                                      \
  static_assert(offsetof(InterpreterVTable, name) == (position) * sizeof(void*), \
                "slots do not move");                                            \
  static_assert(std::is_same_v<decltype(InterpreterVTable::name), __VA_ARGS__>,  \
                "slots do not change their signature")

using Self = const TensorImpl&;
using Words = std::span<const std::int64_t>;
using SymWords = std::span<const SymInt>;
using Word = std::uintptr_t;

static_assert(sizeof(InterpreterVTable) == 34 * sizeof(void*));

OPYARD_SLOT_AT(0, name, const char* (*)(Interpreter&));
OPYARD_SLOT_AT(1, incref, void (*)(Interpreter&, void*));
OPYARD_SLOT_AT(2, decref, void (*)(Interpreter&, void*, bool));
OPYARD_SLOT_AT(3, detach, void (*)(Interpreter&, Self, Tensor&));
OPYARD_SLOT_AT(4, dispatch, void (*)(Interpreter&, const Operator&, Stack&));
OPYARD_SLOT_AT(5, report_error_callback, void (*)(Interpreter&, void*, DispatchKey));
OPYARD_SLOT_AT(6, python_op_registration_trampoline,
               void (*)(Interpreter&, const Operator&, DispatchKey, DispatchKeySet, Stack&, bool,
                        bool));
OPYARD_SLOT_AT(7, throw_abstract_impl_not_imported_error,
               void (*)(Interpreter&, const char*, const char*, const char*));
OPYARD_SLOT_AT(8, python_dispatcher,
               void (*)(Interpreter&, const Operator&, DispatchKeySet, Stack&));
OPYARD_SLOT_AT(9, is_contiguous, bool (*)(Interpreter&, Self, MemoryFormat));
OPYARD_SLOT_AT(10, is_strides_like, bool (*)(Interpreter&, Self, MemoryFormat));
OPYARD_SLOT_AT(11, is_non_overlapping_and_dense, bool (*)(Interpreter&, Self));
OPYARD_SLOT_AT(12, device, void (*)(Interpreter&, Self, Device&));
OPYARD_SLOT_AT(13, dim, std::int64_t (*)(Interpreter&, Self));
OPYARD_SLOT_AT(14, strides, Words (*)(Interpreter&, Self));
OPYARD_SLOT_AT(15, sizes, Words (*)(Interpreter&, Self));
OPYARD_SLOT_AT(16, sym_sizes, void (*)(Interpreter&, Self, SymWords&));
OPYARD_SLOT_AT(17, layout, Layout (*)(Interpreter&, Self));
OPYARD_SLOT_AT(18, numel, std::int64_t (*)(Interpreter&, Self));
OPYARD_SLOT_AT(19, sym_numel, void (*)(Interpreter&, Self, SymInt&));
OPYARD_SLOT_AT(20, sym_strides, void (*)(Interpreter&, Self, SymWords&));
OPYARD_SLOT_AT(21, sym_storage_offset, void (*)(Interpreter&, Self, SymInt&));
OPYARD_SLOT_AT(22, trace_gpu_event_creation, void (*)(Interpreter&, Backend, Word));
OPYARD_SLOT_AT(23, trace_gpu_event_deletion, void (*)(Interpreter&, Backend, Word));
OPYARD_SLOT_AT(24, trace_gpu_event_record, void (*)(Interpreter&, Backend, Word, Word));
OPYARD_SLOT_AT(25, trace_gpu_event_wait, void (*)(Interpreter&, Backend, Word, Word));
OPYARD_SLOT_AT(26, trace_gpu_memory_allocation, void (*)(Interpreter&, Backend, Word));
OPYARD_SLOT_AT(27, trace_gpu_memory_deallocation, void (*)(Interpreter&, Backend, Word));
OPYARD_SLOT_AT(28, trace_gpu_stream_creation, void (*)(Interpreter&, Backend, Word));
OPYARD_SLOT_AT(29, trace_gpu_device_synchronization, void (*)(Interpreter&, Backend));
OPYARD_SLOT_AT(30, trace_gpu_stream_synchronization, void (*)(Interpreter&, Backend, Word));
OPYARD_SLOT_AT(31, trace_gpu_event_synchronization, void (*)(Interpreter&, Backend, Word));
OPYARD_SLOT_AT(32, reset_backward_hooks, void (*)(Interpreter&, Self));
OPYARD_SLOT_AT(33, is_current, bool (*)(Interpreter&));

}  // namespace opyard
