// embed/embed.cpp: the life of an interpreter that a C++ program begins.
//
// [Owner] CPython wants an interpreter to end on the thread on which it began: the module threading
// takes that one for its main thread. So each has a thread of its own, which begins it, waits, and
// ends it; programs may then let go of it anywhere.
//
// [Lock] Beginning and ending take one lock of the process, since CPython 3.12 fails now and then
// if two threads do it at once. It is the one lock of ours under which a GIL is taken, so no one
// may come to it from inside an interpreter, and none of our other locks is taken before it.
#include "opyard/embed.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "embed/library.h"
#include "opyard/base/warning.h"
#include "opyard/detail/base/mutex.h"

namespace opyard::embed {
namespace {

std::mutex& life_mutex() {
  static auto* const mutex = new std::mutex;  // see [Lock]
  return *mutex;
}

constexpr int kFileInput = 257;

// Gives the traceback, or None.
constexpr const char* kHelper =
    "def run(text):\n"
    "    import traceback, __main__\n"
    "    try:\n"
    "        exec(compile(text, '<opyard::embed>', 'exec'), __main__.__dict__)\n"
    "    except BaseException:\n"
    "        return traceback.format_exc()\n";

// A text as Python writes it.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') result += '\\';
    result += c;
  }
  return result + "'";
}

// Inside the interpreter. Raises Error of the kind Python.
void run_inside(const PythonLibrary& python, const std::string& who, const std::string& text) {
  const auto failed = [&](const std::string& what) {
    python.PyErr_Clear();
    fail(ErrorKind::Python, who + ": " + what);
  };
  void* const names = python.PyModule_GetDict(python.PyImport_AddModule("_opyard_embed"));
  void* run = python.PyDict_GetItemString(names, "run");
  if (run == nullptr) {
    void* const done = python.PyRun_String(kHelper, kFileInput, names, names);
    run = done == nullptr ? nullptr : python.PyDict_GetItemString(names, "run");
    if (done != nullptr) python.Py_DecRef(done);
  }
  if (run == nullptr) failed("Python cannot run the text");
  void* const given = python.PyUnicode_FromStringAndSize(text.data(), std::ptrdiff_t(text.size()));
  if (given == nullptr) failed("the text is no UTF-8");
  void* const result = python.PyObject_CallFunctionObjArgs(run, given, static_cast<void*>(nullptr));
  python.Py_DecRef(given);
  if (result == nullptr) failed("Python cannot run the text");
  const char* const traceback = python.PyUnicode_AsUTF8(result);
  const std::string said = traceback == nullptr ? "" : traceback;
  python.PyErr_Clear();  // None is no text
  python.Py_DecRef(result);
  if (!said.empty()) failed(said);
}

}  // namespace

// An interpreter, and the thread that owns it.
class detail::EmbeddedInterpreter {
 public:
  using Work = std::function<void()>;

  EmbeddedInterpreter(const PythonLibrary& python, std::string who)
      : python_(python), who_(std::move(who)) {}
  ~EmbeddedInterpreter() {
    if (owner_.joinable()) owner_.join();
  }

  const PythonLibrary& python() const noexcept { return python_; }
  const std::string& who() const noexcept { return who_; }

  void refuse_from_inside(const char* what) const {
    if (python_.attached_state() == nullptr) return;
    fail(ErrorKind::BadRegistration,
         std::string(what) +
             " was wanted on a thread that is in an interpreter, which would wait for "
             "itself; do it on a thread that is in none");
  }

  // Runs `begin` on the owner's thread, and keeps `end` for later. See [Owner] and [Lock].
  void start(const Work& begin, Work end) {
    refuse_from_inside("the beginning of an interpreter");
    assert_no_lock_held();
    std::unique_lock lock(mutex_);
    std::exception_ptr failed;
    bool begun = false;
    owner_ = std::thread([&, end = std::move(end)] {
      try {
        const std::lock_guard life(life_mutex());
        begin();
      } catch (...) {
        failed = std::current_exception();
      }
      const bool lives = failed == nullptr;
      std::unique_lock inner(mutex_);
      begun = true;
      changed_.notify_all();
      if (!lives) return;
      wait_until(inner, [this] { return ending_; });
      inner.unlock();
      const std::lock_guard life(life_mutex());
      end();
    });
    wait_until(lock, [&] { return begun; });
    lock.unlock();
    if (failed == nullptr) return;
    owner_.join();
    std::rethrow_exception(failed);
  }

  bool lives() const noexcept { return owner_.joinable(); }

  void end() {
    if (!lives()) return;
    refuse_from_inside("the end of " + who_);
    {
      const std::lock_guard lock(mutex_);
      if (guests_ != 0) {
        fail(ErrorKind::BadRegistration, who_ + " cannot end while a thread is inside (" +
                                             std::to_string(guests_) + " of them)");
      }
      ending_ = true;
    }
    changed_.notify_all();
    owner_.join();
  }
  void refuse_from_inside(const std::string& what) const { refuse_from_inside(what.c_str()); }

  void* enter() {
    {
      const std::lock_guard lock(mutex_);
      if (!lives() || ending_) fail(ErrorKind::InterpreterGone, who_ + " has ended");
      refuse_from_inside("entering " + who_);
      ++guests_;
    }
    void* const state = python_.PyThreadState_New(interpreter);
    python_.PyEval_RestoreThread(state);
    return state;
  }
  void leave(void* state) noexcept {
    python_.PyThreadState_Clear(state);
    python_.PyThreadState_DeleteCurrent();
    const std::lock_guard lock(mutex_);
    --guests_;
  }

  void run(const std::string& text) {
    void* const attached = python_.attached_state();
    if (attached != nullptr && python_.PyThreadState_GetInterpreter(attached) == interpreter) {
      return run_inside(python_, who_, text);
    }
    void* const state = enter();
    try {
      run_inside(python_, who_, text);
    } catch (...) {
      leave(state);
      throw;
    }
    leave(state);
  }

  void* interpreter = nullptr;
  void* first_state = nullptr;  // with which it ends

 private:
  // wait() has a new version since GCC 12, with which no older libstdc++ would do.
  template <typename Holds>
  void wait_until(std::unique_lock<std::mutex>& lock, const Holds& holds) {
    while (!changed_.wait_for(lock, std::chrono::hours(1), holds)) {
    }
  }

  const PythonLibrary& python_;
  const std::string who_;
  std::thread owner_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool ending_ = false;
  int guests_ = 0;
};

namespace {

std::atomic<bool> has_python{false};
std::vector<std::string> import_path;  // written while there is no Python object
std::atomic<int> interpreters{0};

std::string import_text() {
  std::string text = "import sys\n";
  for (std::size_t i = 0; i < import_path.size(); ++i) {
    text += "sys.path.insert(" + std::to_string(i) + ", " + quoted(import_path[i]) + ")\n";
  }
  return text + "import opyard\n";
}

void end_quietly(detail::EmbeddedInterpreter& embedded, const std::function<void()>& end) noexcept {
  try {
    end();
  } catch (const std::exception& error) {
    try {
      warn(embedded.who() + " goes on without its object: " + error.what());
    } catch (...) {  // a handler of warnings may throw
    }
  }
}

void begin_python(detail::EmbeddedInterpreter& embedded, const Options& options) {
  const PythonLibrary& python = embedded.python();
  if (!options.executable.empty()) {
    python.Py_SetProgramName(python.Py_DecodeLocale(options.executable.c_str(), nullptr));
  }
  python.Py_InitializeEx(0);
  embedded.interpreter = python.PyInterpreterState_Main();
  try {
    run_inside(python, embedded.who(), import_text());
  } catch (...) {
    python.Py_FinalizeEx();
    throw;
  }
  embedded.first_state = python.PyEval_SaveThread();
}

void end_python(detail::EmbeddedInterpreter& embedded) {
  embedded.python().PyEval_RestoreThread(embedded.first_state);
  embedded.python().Py_FinalizeEx();
}

// The current thread state is then that of the new interpreter, or null with the reason in
// `failure`.
void* make_interpreter(const PythonLibrary& python, Gil gil, std::string& failure) {
  if (!python.can_isolate()) return python.Py_NewInterpreter();
  const bool own = gil == Gil::Own;
  const InterpreterConfig config = {.use_main_obmalloc = own ? 0 : 1,
                                    .allow_fork = own ? 0 : 1,
                                    .allow_exec = own ? 0 : 1,
                                    .allow_threads = 1,
                                    .allow_daemon_threads = own ? 0 : 1,
                                    .check_multi_interp_extensions = own ? 1 : 0,
                                    .gil = own ? 2 : 1};
  void* state = nullptr;
  const PythonStatus status = python.Py_NewInterpreterFromConfig(&state, &config);
  if (status.type != 0 && status.message != nullptr) failure = status.message;
  return status.type == 0 ? state : nullptr;
}

// Ends the interpreter whose thread state is the current one.
void finish_interpreter(const PythonLibrary& python, void* state) {
  if (python.can_isolate()) return python.Py_EndInterpreter(state);
  // There the GIL is held afterwards, by no one.
  void* const main_state = python.PyThreadState_New(python.PyInterpreterState_Main());
  python.Py_EndInterpreter(state);
  python.PyThreadState_Swap(main_state);
  python.PyThreadState_Clear(main_state);
  python.PyThreadState_DeleteCurrent();
}

void begin_interpreter(detail::EmbeddedInterpreter& embedded, Gil gil) {
  const PythonLibrary& python = embedded.python();
  void* const main_state = python.PyThreadState_New(python.PyInterpreterState_Main());
  python.PyEval_RestoreThread(main_state);
  std::string failure;
  void* const state = make_interpreter(python, gil, failure);
  const auto leave_main = [&] {
    python.PyThreadState_Clear(main_state);
    python.PyThreadState_DeleteCurrent();
  };
  if (state == nullptr) {
    leave_main();
    fail(ErrorKind::Python,
         "CPython cannot make an interpreter" + (failure.empty() ? std::string() : ": " + failure));
  }
  embedded.interpreter = python.PyThreadState_GetInterpreter(state);
  std::exception_ptr failed;
  try {
    run_inside(python, embedded.who(), import_text());
  } catch (...) {
    failed = std::current_exception();
    finish_interpreter(python, state);
  }
  if (failed == nullptr) embedded.first_state = python.PyEval_SaveThread();
  python.PyEval_RestoreThread(main_state);
  leave_main();
  if (failed != nullptr) std::rethrow_exception(failed);
}

void end_interpreter(detail::EmbeddedInterpreter& embedded) {
  embedded.python().PyEval_RestoreThread(embedded.first_state);
  finish_interpreter(embedded.python(), embedded.first_state);
}

}  // namespace

Python::Python(const Options& options) {
  const PythonLibrary& python = require_library(options.library);
  if (has_python.exchange(true)) {
    fail(ErrorKind::BadRegistration, "there is a Python object in this process already");
  }
  try {
    import_path = options.path;
    embedded_ = std::make_unique<detail::EmbeddedInterpreter>(python, "the main interpreter");
    detail::EmbeddedInterpreter& embedded = *embedded_;
    if (python.Py_IsInitialized() != 0) {
      // Someone else's, who ends it as well.
      embedded.interpreter = python.PyInterpreterState_Main();
      embedded.start([] {}, [] {});
      embedded.run(import_text());
      return;
    }
    embedded.start([&] { begin_python(embedded, options); }, [&embedded] { end_python(embedded); });
  } catch (...) {
    has_python = false;
    throw;
  }
}

void Python::end() {
  if (!embedded_->lives()) return;
  if (interpreters != 0) {
    fail(ErrorKind::BadRegistration, "Python cannot end while " + std::to_string(interpreters) +
                                         " further interpreters live; end them first");
  }
  embedded_->end();
  has_python = false;
}

Python::~Python() {
  end_quietly(*embedded_, [this] { end(); });
  if (embedded_->lives()) static_cast<void>(embedded_.release());
}

void Python::run(const std::string& text) { embedded_->run(text); }
std::string Python::version() const { return embedded_->python().version; }
bool Python::can_isolate() const { return embedded_->python().can_isolate(); }

Interpreter::Interpreter(Python& python, Gil gil) {
  const PythonLibrary& library = python.embedded_->python();
  if (gil == Gil::Own && !library.can_isolate()) {
    fail(ErrorKind::Unsupported,
         "interpreters with a GIL of their own need CPython 3.12, and this is " + library.version +
             "; ask for Gil::Shared");
  }
  if (!python.embedded_->lives()) fail(ErrorKind::InterpreterGone, "Python has ended");
  static std::atomic<int> count{0};
  embedded_ = std::make_unique<detail::EmbeddedInterpreter>(
      library, "embedded interpreter " + std::to_string(++count));
  detail::EmbeddedInterpreter& embedded = *embedded_;
  embedded.start([&] { begin_interpreter(embedded, gil); },
                 [&embedded] { end_interpreter(embedded); });
  ++interpreters;
}

void Interpreter::end() {
  if (!embedded_->lives()) return;
  embedded_->end();
  --interpreters;
}

Interpreter::~Interpreter() {
  end_quietly(*embedded_, [this] { end(); });
  if (embedded_->lives()) static_cast<void>(embedded_.release());
}

void Interpreter::run(const std::string& text) { embedded_->run(text); }
std::int64_t Interpreter::number() const {
  if (!embedded_->lives()) fail(ErrorKind::InterpreterGone, embedded_->who() + " has ended");
  return embedded_->python().PyInterpreterState_GetID(embedded_->interpreter);
}

Inside::Inside(detail::EmbeddedInterpreter* embedded)
    : embedded_(*embedded), state_(embedded->enter()) {}
Inside::Inside(Python& python) : Inside(python.embedded_.get()) {}
Inside::Inside(Interpreter& interpreter) : Inside(interpreter.embedded_.get()) {}
Inside::~Inside() { embedded_.leave(state_); }

}  // namespace opyard::embed
