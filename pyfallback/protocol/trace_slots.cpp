// protocol/trace_slots.cpp: what happens on a device, for Python's callbacks.
#include "protocol/slots.h"

namespace opyard::python {

void slots::trace_gpu_event_creation(Interpreter&, Backend, std::uintptr_t) {
  refuse_slot("trace_gpu_event_creation");
}
void slots::trace_gpu_event_deletion(Interpreter&, Backend, std::uintptr_t) {
  refuse_slot("trace_gpu_event_deletion");
}
void slots::trace_gpu_event_record(Interpreter&, Backend, std::uintptr_t, std::uintptr_t) {
  refuse_slot("trace_gpu_event_record");
}
void slots::trace_gpu_event_wait(Interpreter&, Backend, std::uintptr_t, std::uintptr_t) {
  refuse_slot("trace_gpu_event_wait");
}
void slots::trace_gpu_memory_allocation(Interpreter&, Backend, std::uintptr_t) {
  refuse_slot("trace_gpu_memory_allocation");
}
void slots::trace_gpu_memory_deallocation(Interpreter&, Backend, std::uintptr_t) {
  refuse_slot("trace_gpu_memory_deallocation");
}
void slots::trace_gpu_stream_creation(Interpreter&, Backend, std::uintptr_t) {
  refuse_slot("trace_gpu_stream_creation");
}
void slots::trace_gpu_device_synchronization(Interpreter&, Backend) {
  refuse_slot("trace_gpu_device_synchronization");
}
void slots::trace_gpu_stream_synchronization(Interpreter&, Backend, std::uintptr_t) {
  refuse_slot("trace_gpu_stream_synchronization");
}
void slots::trace_gpu_event_synchronization(Interpreter&, Backend, std::uintptr_t) {
  refuse_slot("trace_gpu_event_synchronization");
}

}  // namespace opyard::python
