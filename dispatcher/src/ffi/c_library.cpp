// ffi/c_library.cpp: C functions as kernels, from a file and a symbol.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <filesystem>

#include "base/shared_library.h"
#include "opyard/base/file_error.h"
#include "opyard/ffi/c_function.h"

namespace opyard {
namespace {

// What opens the library: a file that is there by its own path, other names as they are.
std::string path_of(const std::string& file) {
  if (file.empty() || file.find('\0') != std::string::npos) {
    fail(ErrorKind::BadPlugin,
         fmt::format("a shared library is opened by its path or name, and {} is none",
                     file.empty() ? "an empty text" : "a text with a zero byte in it"));
  }
  std::error_code error;
  const auto canonical = std::filesystem::canonical(file, error);
  return error ? file : canonical.string();
}

// Whether code is at an address: not in data, wherever the symbol says it is.
bool is_code(const void* address) {
  struct Search {
    std::uintptr_t address;
    bool found;
  } search{reinterpret_cast<std::uintptr_t>(address), false};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        auto& wanted = *static_cast<Search*>(context);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & segment = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
              wanted.address - begin < segment.p_memsz) {
            wanted.found = true;
          }
        }
        return int(wanted.found);
      },
      &search);
  if (!search.found) return false;
  // Old linkers put constants beside the code. A function that is picked when it is first wanted
  // (IFUNC) has an address that no symbol has.
  Dl_info info{};
  ElfW(Sym)* symbol = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0) return true;
  return symbol == nullptr || info.dli_saddr != address ||
         ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT;
}

const void* require_function(const std::string& file, const std::string& symbol) {
  void* const handle = open_shared_library(path_of(file));
  const void* const address =
      symbol.find('\0') == std::string::npos ? dlsym(handle, symbol.c_str()) : nullptr;
  if (address == nullptr) {
    fail(ErrorKind::NotFound,
         fmt::format("{} has no function \"{}\"; nm -D lists what a shared library offers", file,
                     symbol));
  }
  if (!is_code(address)) {
    fail(ErrorKind::NotFound,
         fmt::format("\"{}\" of {} is data, and a kernel is a function", symbol, file));
  }
  return address;
}

}  // namespace

namespace detail {

const Operator& require_for_c(const Library& library, std::string_view name) {
  OperatorName full = parse_operator_name(name);
  if (full.name_space().empty()) full.name = library.name_space() + "::" + full.name;
  const Operator* const op = Registry::instance().find(full);
  if (op != nullptr) return *op;
  fail(ErrorKind::NotFound,
       fmt::format(
           "impl_c(\"{}\"): {} is not defined, and a C function is called as its schema says; "
           "define it first",
           name, to_string(full)));
}

const void* require_c_function(const Operator& op, const std::string& file,
                               const std::string& symbol) {
  try {
    return require_function(file, symbol);
  } catch (const Error& error) {
    const std::string text = fmt::format("{}: {}", to_string(op.name()), error.what());
    const FileError* const failed = find_file_error(error);
    if (failed == nullptr) fail(error.kind(), text);
    throw Error(error.kind(), text,
                make_counted<FileError>(failed->number(), failed->path(), text));
  }
}

std::string show_c_function(const std::string& file, const std::string& symbol) {
  return fmt::format("{} of {}", symbol, std::filesystem::path(file).filename().string());
}

}  // namespace detail

void impl_c(Library& library, std::string_view name, const std::string& file,
            const std::string& symbol, std::optional<DispatchKey> key, CForm form) {
  const Operator& op = detail::require_for_c(library, name);
  const void* const function = detail::require_c_function(op, file, symbol);
  library.implement(name, key, c_kernel(op, function, detail::show_c_function(file, symbol), form),
                    false);
}

}  // namespace opyard
