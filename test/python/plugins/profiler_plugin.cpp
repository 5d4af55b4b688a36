// test/python/plugins/profiler_plugin.cpp: sessions that C++ starts, and futures that it completes, in a Python process.
#include <string>
#include <thread>

#include "opyard/library.h"
#include "opyard/profiler/futures.h"
#include "opyard/profiler/session.h"

namespace {

using opyard::profiler::Session;
using opyard::profiler::SessionOptions;

// What a thread without the GIL is told that wants Python's calls captured.
std::string start_without_gil() {
  std::string said = "it started";
  std::thread starter([&] {
    try {
      Session(SessionOptions{}).end();
    } catch (const opyard::Error& error) {
      said = error.what();
    }
  });
  starter.join();
  return said;
}

// Completed on a thread of its own.
opyard::Future<std::int64_t> watched(const std::string& name) {
  opyard::Future<std::int64_t> future;
  opyard::profiler::watch_future(future, name);
  std::thread([future] { future.set_value(42); }).detach();
  return future;
}

OPYARD_LIBRARY(test_profiler, m) {
  m.def("start_without_gil() -> str", opyard::releases_gil(&start_without_gil));
  m.def("watched(str name) -> Future(int)", &watched);
}

}  // namespace
