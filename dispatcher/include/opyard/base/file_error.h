// opyard/base/file_error.h: errors of files: the file name and the system's reason.
//
//   fail_file(errno, path, "cannot open " + path);
//   catch (const Error& error) { if (const FileError* file = find_file_error(error)) … }
//
// In Python such an error is the OSError of its number, FileNotFoundError for ENOENT, with
// `filename` as of open(); its text is a note of it.
//
// Depends on: base/error.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "opyard/base/error.h"

namespace opyard {

// What an error of fail_file() carries.
class OPYARD_API FileError final : public CarriedException {
 public:
  FileError(int number, std::string path, std::string text)
      : number_(number), path_(std::move(path)), text_(std::move(text)) {}

  int number() const noexcept { return number_; }  // an errno
  const std::string& path() const noexcept { return path_; }
  const std::string& text() const noexcept { return text_; }

  // Raises it in a language, with its lock held. Put in by the language's plugin. Gives the former.
  using Raise = bool (*)(const FileError& error) noexcept;
  static Raise set_raise(Raise raise) noexcept;
  bool restore_with_lock_held() const noexcept override;

 private:
  ~FileError() override;

  const int number_;
  const std::string path_;
  const std::string text_;
};

// Throws an error whose text is "<what>: <the system's reason>". BadValue is NotFound if there is
// no such file.
[[noreturn]] OPYARD_API OPYARD_COLD void fail_file(int number, std::string path,
                                                   std::string_view what,
                                                   ErrorKind kind = ErrorKind::BadValue);

// What an error of fail_file() carries; null for another one. Lives as long as the error.
OPYARD_API const FileError* find_file_error(const Error& error) noexcept;

}  // namespace opyard
