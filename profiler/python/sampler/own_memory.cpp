// sampler/own_memory.cpp: checked copies by process_vm_readv().
#include "sampler/own_memory.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace opyard::python {
namespace {

constinit thread_local pid_t own_process = 0;

// Asked of the kernel once in a thread: in the child of a fork its only thread is told by
// why_memory_is_unreadable(), which each start of a sampler calls.
pid_t known_process() noexcept {
  if (own_process == 0) own_process = getpid();
  return own_process;
}

}  // namespace

bool read_memory(Address from, void* to, std::size_t size) noexcept {
  const iovec local{to, size};
  const iovec remote{reinterpret_cast<void*>(from), size};
  return process_vm_readv(known_process(), &local, 1, &remote, 1, 0) == ssize_t(size);
}

std::size_t read_pieces(const iovec* to, const iovec* from, std::size_t count) noexcept {
  ssize_t copied = process_vm_readv(known_process(), to, count, from, count, 0);
  std::size_t whole = 0;
  for (; whole < count && copied >= ssize_t(from[whole].iov_len); ++whole) {
    copied -= ssize_t(from[whole].iov_len);
  }
  return whole;
}

std::string why_memory_is_unreadable() {
  own_process = getpid();
  const int written = 0x5a5a;
  int read = 0;
  if (read_value(Address(&written), read) && read == written) return {};
  const int error = errno;
  return error == 0 ? "the kernel copied nothing" : std::strerror(error);
}

}  // namespace opyard::python
