// test/python/plugins/faulty_calls.c: calls of the system on the files of one folder, one of which fails.
//
// Loaded in front of the C library (LD_PRELOAD). A test names the folder, the call, which of them
// fails, and how: with an error number, or, if that is 0, by doing half of what was asked for.
// Files that were opened elsewhere are let alone, so the interpreter itself never notices.
//
// Threads: armed and read by one, counted by any.
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS  // which would make one of open() and open64()
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { kMostFiles = 4096, kMostName = 4096 };

static char folder[kMostName];
static char wanted[32];
static long fails_at;
static int error_number;
static atomic_long counted;
static atomic_bool watched[kMostFiles];

EXPORT void faulty_arm(const char* where, const char* call, long at, int number) {
  snprintf(folder, sizeof folder, "%s", where);
  snprintf(wanted, sizeof wanted, "%s", call);
  fails_at = at;
  error_number = number;
  atomic_store(&counted, 0);
}

// How many of the calls there were.
EXPORT long faulty_disarm(void) {
  wanted[0] = '\0';
  return atomic_load(&counted);
}

static bool is_within(const char* path) {
  return folder[0] != '\0' && path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}
static bool is_watched(int file) {
  return file >= 0 && file < kMostFiles && atomic_load(&watched[file]);
}
static int watch(int file, const char* path) {
  if (file >= 0 && file < kMostFiles) atomic_store(&watched[file], is_within(path));
  return file;
}

// Whether this call is the one.
static bool fails(const char* call, bool is_ours) {
  if (!is_ours || strcmp(call, wanted) != 0) return false;
  return atomic_fetch_add(&counted, 1) + 1 == fails_at;
}
static int fail(void) {
  errno = error_number;
  return -1;
}

// ISO C has no way from an address to a function.
#define REAL(name) (__extension__((__typeof__(&name))dlsym(RTLD_NEXT, #name)))

#define OPEN(name, FIRST, ARGUMENTS)                          \
  EXPORT int name FIRST {                                     \
    mode_t mode = 0;                                          \
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) != 0) { \
      va_list more;                                           \
      va_start(more, flags);                                  \
      mode = va_arg(more, mode_t);                            \
      va_end(more);                                           \
    }                                                         \
    if (fails("open", is_within(path))) return fail();        \
    return watch(REAL(name) ARGUMENTS, path);                 \
  }
OPEN(open, (const char* path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char* path, int flags, ...), (path, flags, mode))
OPEN(openat, (int at, const char* path, int flags, ...), (at, path, flags, mode))
OPEN(openat64, (int at, const char* path, int flags, ...), (at, path, flags, mode))

#define FOPEN(name)                                       \
  EXPORT FILE* name(const char* path, const char* mode) { \
    if (fails("open", is_within(path))) {                 \
      fail();                                             \
      return NULL;                                        \
    }                                                     \
    FILE* const file = REAL(name)(path, mode);            \
    if (file != NULL) watch(fileno(file), path);          \
    return file;                                          \
  }
FOPEN(fopen)
FOPEN(fopen64)

// With 0 for an error number, half of it.
#define TRANSFER(name, call, PARAMETERS, size, WHOLE, HALF)      \
  EXPORT ssize_t name PARAMETERS {                               \
    if (!fails(call, is_watched(file))) return REAL(name) WHOLE; \
    if (error_number != 0 || size < 2) return fail();            \
    return REAL(name) HALF;                                      \
  }
TRANSFER(read, "read", (int file, void* to, size_t size), size, (file, to, size),
         (file, to, size / 2))
TRANSFER(pread, "read", (int file, void* to, size_t size, off_t at), size, (file, to, size, at),
         (file, to, size / 2, at))
TRANSFER(pread64, "read", (int file, void* to, size_t size, off64_t at), size, (file, to, size, at),
         (file, to, size / 2, at))
TRANSFER(readv, "read", (int file, const struct iovec* to, int count), count, (file, to, count),
         (file, to, count / 2))
TRANSFER(write, "write", (int file, const void* from, size_t size), size, (file, from, size),
         (file, from, size / 2))
TRANSFER(pwrite, "write", (int file, const void* from, size_t size, off_t at), size,
         (file, from, size, at), (file, from, size / 2, at))
TRANSFER(pwrite64, "write", (int file, const void* from, size_t size, off64_t at), size,
         (file, from, size, at), (file, from, size / 2, at))
TRANSFER(writev, "write", (int file, const struct iovec* from, int count), count,
         (file, from, count), (file, from, count / 2))

#define MAP(name, offset)                                                                  \
  EXPORT void* name(void* at, size_t size, int access, int flags, int file, offset from) { \
    if (fails("mmap", is_watched(file))) {                                                 \
      fail();                                                                              \
      return MAP_FAILED;                                                                   \
    }                                                                                      \
    return REAL(name)(at, size, access, flags, file, from);                                \
  }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

EXPORT int rename(const char* from, const char* to) {
  return fails("rename", is_within(to)) ? fail() : REAL(rename)(from, to);
}
EXPORT int renameat(int from_at, const char* from, int to_at, const char* to) {
  return fails("rename", is_within(to)) ? fail() : REAL(renameat)(from_at, from, to_at, to);
}
EXPORT int mkdir(const char* path, mode_t mode) {
  return fails("mkdir", is_within(path)) ? fail() : REAL(mkdir)(path, mode);
}

#define RESIZE(name, offset)                                                    \
  EXPORT int name(int file, offset size) {                                      \
    return fails("resize", is_watched(file)) ? fail() : REAL(name)(file, size); \
  }
RESIZE(ftruncate, off_t)
RESIZE(ftruncate64, off64_t)
#define ALLOCATE(name, offset)                                                            \
  EXPORT int name(int file, offset at, offset size) {                                     \
    return fails("resize", is_watched(file)) ? error_number : REAL(name)(file, at, size); \
  }
ALLOCATE(posix_fallocate, off_t)
ALLOCATE(posix_fallocate64, off64_t)

// A file is closed even if that fails, as by Linux.
EXPORT int close(int file) {
  const bool this_one = fails("close", is_watched(file));
  if (file >= 0 && file < kMostFiles) atomic_store(&watched[file], false);
  const int result = REAL(close)(file);
  return this_one ? fail() : result;
}
EXPORT int fsync(int file) { return fails("sync", is_watched(file)) ? fail() : REAL(fsync)(file); }
EXPORT int fdatasync(int file) {
  return fails("sync", is_watched(file)) ? fail() : REAL(fdatasync)(file);
}
