// base/file_error.cpp: FileError: raising it, and its message.
#include "opyard/base/file_error.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace opyard {
namespace {

constinit std::atomic<FileError::Raise> raise_file_error{nullptr};

}  // namespace

FileError::~FileError() = default;

FileError::Raise FileError::set_raise(Raise raise) noexcept {
  return raise_file_error.exchange(raise, std::memory_order_acq_rel);
}

bool FileError::restore_with_lock_held() const noexcept {
  const Raise raise = raise_file_error.load(std::memory_order_acquire);
  return raise != nullptr && raise(*this);
}

void fail_file(int number, std::string path, std::string_view what, ErrorKind kind) {
  const std::string text = fmt::format("{}: {}", what, std::generic_category().message(number));
  if (number == ENOENT && kind == ErrorKind::BadValue) kind = ErrorKind::NotFound;
  throw Error(kind, text, make_counted<FileError>(number, std::move(path), text));
}

const FileError* find_file_error(const Error& error) noexcept {
  return dynamic_cast<const FileError*>(error.carried().get());
}

}  // namespace opyard
