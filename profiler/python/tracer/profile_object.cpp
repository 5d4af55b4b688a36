// tracer/profile_object.cpp: the Python class Profile.
//
// The file is one piece: the methods of one class, each a few lines over what profiler/ has, and
// their table at the end.
#include "tracer/profile_object.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/detail/profiler/calls.h"
#include "opyard/detail/profiler/files.h"
#include "opyard/detail/profiler/links.h"
#include "opyard/detail/profiler/lives.h"
#include "opyard/detail/profiler/memory.h"
#include "opyard/detail/profiler/shapes.h"
#include "opyard/profiler/averages.h"
#include "opyard/profiler/call_tree.h"
#include "opyard/profiler/labels.h"
#include "opyard/profiler/profile.h"
#include "opyard/profiler/quality.h"
#include "opyard/profiler/waits.h"
#include "tracer/border.h"
#include "tracer/text.h"

namespace opyard::python {
namespace {

struct ProfileContents {
  profiler::Capture capture;
  std::vector<profiler::ProcessCapture> others;  // of further processes
  profiler::ProcessOfProfile process;            // whose `capture` is, if it is another one
  std::unique_ptr<profiler::Profile> profile;
  std::unique_ptr<profiler::Labels> labels;
  std::unique_ptr<profiler::MemoryLives> lives;
  std::vector<profiler::LineTime> lines;
  std::string line_texts;  // the same as a page takes them, see profiler/report.h
  std::vector<std::string> prefixes;
  profiler::FoldRules folding;
};

struct ProfileObject {
  PyObject_HEAD ProfileContents* contents;
};

ProfileContents& contents_of(PyObject* self) {
  return *reinterpret_cast<ProfileObject*>(self)->contents;
}

}  // namespace

profiler::Profile& profile_of(PyObject* self) {
  ProfileContents& contents = contents_of(self);
  if (contents.profile == nullptr) {
    auto profile = std::make_unique<profiler::Profile>(profiler::replay(contents.capture));
    for (const profiler::ProcessCapture& other : contents.others) {
      profiler::add_process(*profile, other);
    }
    contents.profile = std::move(profile);
    contents.capture = profiler::Capture();
    contents.others.clear();
  }
  return *contents.profile;
}

const std::vector<std::string>& prefixes_of(PyObject* self) { return contents_of(self).prefixes; }
const profiler::FoldRules& folding_of(PyObject* self) { return contents_of(self).folding; }
const std::string& line_texts_of(PyObject* self) { return contents_of(self).line_texts; }

namespace {

profiler::Labels& labels_of(PyObject* self) {
  profiler::Profile& profile = profile_of(self);
  ProfileContents& contents = contents_of(self);
  if (contents.labels == nullptr) {
    contents.labels = std::make_unique<profiler::Labels>(profile, contents.prefixes);
  }
  return *contents.labels;
}

const profiler::Track& track_of(PyObject* self, Py_ssize_t index) {
  profiler::Profile& profile = profile_of(self);
  if (index < 0 || std::size_t(index) >= profile.tracks.size()) {
    PyErr_Format(PyExc_IndexError, "the profile has %zu tracks, and no number %zd",
                 profile.tracks.size(), index);
    throw PythonErrorSet();
  }
  return profile.tracks[std::size_t(index)];
}

// The words of an event as bytes, or None; a new reference.
PyObject* words_of(const profiler::Track& track, std::uint32_t payload) {
  if (payload == profiler::kNoSpan) Py_RETURN_NONE;
  const profiler::Payload* const words = &track.words[payload];
  return checked_new(
      PyBytes_FromStringAndSize(reinterpret_cast<const char*>(words + 1),
                                Py_ssize_t(words->first * sizeof(profiler::Payload))));
}

// Takes the item, which may be null; throws away the list if that fails.
void append_to(PyObject* list, PyObject* item) {
  const bool added = item != nullptr && PyList_Append(list, item) == 0;
  Py_XDECREF(item);
  if (added) return;
  Py_DECREF(list);
  throw PythonErrorSet();
}

Py_ssize_t number_or_minus_one(std::uint32_t span) {
  return span == profiler::kNoSpan ? Py_ssize_t(-1) : Py_ssize_t(span);
}

const profiler::Span& span_of(const profiler::Track& track, Py_ssize_t index) {
  if (index < 0 || std::size_t(index) >= track.spans.size()) {
    PyErr_Format(PyExc_IndexError, "the track has %zu spans, and no number %zd", track.spans.size(),
                 index);
    throw PythonErrorSet();
  }
  return track.spans[std::size_t(index)];
}

// set_files(prefixes, libraries, own), tuples of beginnings of file names: what names leave out,
// and what folded() goes by.
PyObject* set_files(PyObject* self, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* prefixes = nullptr;
    PyObject* libraries = nullptr;
    PyObject* own = nullptr;
    if (PyArg_ParseTuple(args, "O!O!O!", &PyTuple_Type, &prefixes, &PyTuple_Type, &libraries,
                         &PyTuple_Type, &own) == 0) {
      throw PythonErrorSet();
    }
    ProfileContents& contents = contents_of(self);
    contents.prefixes = texts_of(prefixes);
    contents.folding = {texts_of(libraries), texts_of(own)};
    contents.labels.reset();
    Py_RETURN_NONE;
  });
}

// folded() -> Profile without the calls inside of libraries; see profiler/fold.h.
PyObject* folded(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    const profiler::Profile& whole = profile_of(self);
    const ProfileContents& of = contents_of(self);
    auto profile = std::make_unique<profiler::Profile>(profiler::fold(whole, of.folding));
    PyObject* const made = make_profile(Py_TYPE(self), profiler::Capture());
    ProfileContents& contents = contents_of(made);
    contents.profile = std::move(profile);
    contents.process = of.process;
    contents.prefixes = of.prefixes;
    contents.folding = of.folding;
    return made;
  });
}

// name_thread(ident, native id, name), before the profile is looked at, or of a sampled one.
PyObject* name_thread(PyObject* self, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    unsigned long long ident = 0;
    long long native_id = 0;
    PyObject* name = nullptr;
    if (PyArg_ParseTuple(args, "KLU", &ident, &native_id, &name) == 0) throw PythonErrorSet();
    ProfileContents& contents = contents_of(self);
    if (contents.profile == nullptr) {
      contents.capture.thread_names.push_back(
          {std::uint64_t(ident), std::int64_t(native_id), text_of(name)});
      Py_RETURN_NONE;
    }
    for (profiler::Track& track : contents.profile->tracks) {
      if (native_id != 0 && track.native_id == native_id) track.name = text_of(name);
    }
    Py_RETURN_NONE;
  });
}

// add_processes(folder, id): what the others than this process have written there, before the
// profile is looked at.
PyObject* add_processes(PyObject* self, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* folder = nullptr;
    long long process_id = 0;
    if (PyArg_ParseTuple(args, "OL", &folder, &process_id) == 0) throw PythonErrorSet();
    contents_of(self).others = profiler::load_captures(path_of(folder), process_id);
    Py_RETURN_NONE;
  });
}

// note(text, number): for the report on the data's quality.
PyObject* note_text(PyObject* self, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* text = nullptr;
    unsigned long long number = 0;
    if (PyArg_ParseTuple(args, "UK", &text, &number) == 0) throw PythonErrorSet();
    ProfileContents& contents = contents_of(self);
    if (contents.profile == nullptr) {
      contents.capture.notes.emplace_back(text_of(text), number);
    } else {  // a child may have noted the same
      profiler::Quality noted;
      noted.notes.emplace_back(text_of(text), number);
      contents.profile->quality.add(noted);
    }
    Py_RETURN_NONE;
  });
}

// process() -> (id, name) of a recovered profile, or None
PyObject* process(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    const profiler::ProcessOfProfile& process = contents_of(self).process;
    if (process.id == 0) Py_RETURN_NONE;
    return Py_BuildValue("Ls#", static_cast<long long>(process.id), process.name.data(),
                         Py_ssize_t(process.name.size()));
  });
}

// processes() -> [(id, parent's id, name)], further ones
PyObject* processes(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* const list = checked_new(PyList_New(0));
    for (const profiler::ProcessOfProfile& other : profile_of(self).processes) {
      append_to(list, Py_BuildValue("LLs#", static_cast<long long>(other.id),
                                    static_cast<long long>(other.parent), other.name.data(),
                                    Py_ssize_t(other.name.size())));
    }
    return list;
  });
}

// call_tree() -> [(parent, label, count, self ns, CPU ns of that)], the root first.
PyObject* call_tree(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* const list = checked_new(PyList_New(0));
    for (const profiler::CallNode& node : profiler::call_tree(profile_of(self))) {
      const std::string& label = labels_of(self).label(node.key);
      append_to(list,
                Py_BuildValue("Is#KLL", unsigned(node.parent), label.data(),
                              Py_ssize_t(label.size()), static_cast<unsigned long long>(node.count),
                              static_cast<long long>(node.self),
                              static_cast<long long>(node.thread_time)));
    }
    return list;
  });
}

// calls() -> [(key, caller key or 0, count, outermost, self ns, total ns)]
PyObject* calls(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* const list = checked_new(PyList_New(0));
    for (const profiler::CallRow& row : profiler::calls(profile_of(self))) {
      append_to(list,
                Py_BuildValue("IIKKLL", unsigned(row.key), unsigned(row.caller),
                              static_cast<unsigned long long>(row.count),
                              static_cast<unsigned long long>(row.outermost),
                              static_cast<long long>(row.self), static_cast<long long>(row.total)));
    }
    return list;
  });
}

// tracks() -> [(native_id, name, spans, marks, is_derived)]
PyObject* tracks(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* const list = checked_new(PyList_New(0));
    for (const profiler::Track& track : profile_of(self).tracks) {
      PyObject* const item =
          Py_BuildValue("Ls#nnO", static_cast<long long>(track.native_id), track.name.data(),
                        Py_ssize_t(track.name.size()), Py_ssize_t(track.spans.size()),
                        Py_ssize_t(track.marks.size()), track.is_derived ? Py_True : Py_False);
      append_to(list, item);
    }
    return list;
  });
}

// span(track, index) -> (kind, label, start_ns, end_ns, parent, flags, key, detail, words)
PyObject* span(PyObject* self, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    Py_ssize_t track = 0;
    Py_ssize_t index = 0;
    if (PyArg_ParseTuple(args, "nn", &track, &index) == 0) throw PythonErrorSet();
    const profiler::Span& found = span_of(track_of(self, track), index);
    const std::string& label = labels_of(self).label(found);
    return Py_BuildValue("ss#LLnIIIN", profiler::info_of(found.kind).name, label.data(),
                         Py_ssize_t(label.size()), static_cast<long long>(found.start),
                         static_cast<long long>(found.end), number_or_minus_one(found.parent),
                         unsigned(found.flags), unsigned(found.key), unsigned(found.detail),
                         words_of(track_of(self, track), found.payload));
  });
}

// parents(track) -> bytes: of each span the number of its parent, 32 bits each, all ones for none.
PyObject* parents(PyObject* self, PyObject* number) {
  return enter_tracer([&]() -> PyObject* {
    const Py_ssize_t index = PyLong_AsSsize_t(number);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    std::vector<std::uint32_t> all;
    for (const profiler::Span& span : track_of(self, index).spans) all.push_back(span.parent);
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(all.data()),
                                     Py_ssize_t(all.size() * sizeof(std::uint32_t)));
  });
}

// averages(stack, shapes, keys, lines) -> [(kind, label, count, total, self, longest, memory,
// self_memory, track, example, thread_time, self_thread_time, python_calls, other_calls,
// hidden_python_calls, hidden_other_calls, what it waits for)]
PyObject* averages(PyObject* self, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    profiler::Grouping grouping;
    int shapes = 0;
    int keys = 0;
    int lines = 0;
    if (PyArg_ParseTuple(args, "ippp", &grouping.stack, &shapes, &keys, &lines) == 0) {
      throw PythonErrorSet();
    }
    grouping.lines = lines != 0;
    grouping.shapes = shapes != 0;
    grouping.keys = keys != 0;
    PyObject* const list = checked_new(PyList_New(0));
    for (const profiler::AverageRow& row : profiler::average(profile_of(self), grouping)) {
      const std::string& label = labels_of(self).label(row.key);
      const std::string_view waits = profiler::waited_for(row);
      PyObject* const item = Py_BuildValue(
          "ss#KLLLLLIILLKKKKs#", profiler::info_of(row.kind).name, label.data(),
          Py_ssize_t(label.size()), static_cast<unsigned long long>(row.count),
          static_cast<long long>(row.total), static_cast<long long>(row.self),
          static_cast<long long>(row.longest), static_cast<long long>(row.memory),
          static_cast<long long>(row.self_memory), unsigned(row.track), unsigned(row.example),
          static_cast<long long>(row.thread_time), static_cast<long long>(row.self_thread_time),
          static_cast<unsigned long long>(row.python_calls),
          static_cast<unsigned long long>(row.other_calls),
          static_cast<unsigned long long>(row.hidden_python_calls),
          static_cast<unsigned long long>(row.hidden_other_calls), waits.data(),
          Py_ssize_t(waits.size()));
      append_to(list, item);
    }
    return list;
  });
}

// lines() -> [(key, line, self, self_thread_time, total)], of a sampled profile
PyObject* lines(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* const list = checked_new(PyList_New(0));
    for (const profiler::SampledLine& line : profile_of(self).sampled_lines) {
      append_to(list, Py_BuildValue("IiLLL", unsigned(line.key), int(line.line),
                                    static_cast<long long>(line.self),
                                    static_cast<long long>(line.self_thread_time),
                                    static_cast<long long>(line.total)));
    }
    return list;
  });
}

// sample_period() -> nanoseconds; 0 if it is not a sampled profile
PyObject* sample_period(PyObject* self, PyObject*) {
  return enter_tracer(
      [&]() -> PyObject* { return PyLong_FromLongLong(profile_of(self).sample_period_ns); });
}

// keys() -> [(dispatch key, calls, redispatches, self ns)]
PyObject* keys(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* const list = checked_new(PyList_New(0));
    for (const profiler::KeyRow& row : profiler::time_by_key(profile_of(self))) {
      append_to(list, Py_BuildValue("sKKL", to_string(row.key).c_str(),
                                    static_cast<unsigned long long>(row.calls),
                                    static_cast<unsigned long long>(row.redispatches),
                                    static_cast<long long>(row.self)));
    }
    return list;
  });
}

// arguments(track, index) -> (sizes, types, strides, values, addresses) of an operator's, as JSON;
// or None.
PyObject* arguments(PyObject* self, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    Py_ssize_t number = 0;
    Py_ssize_t index = 0;
    if (PyArg_ParseTuple(args, "nn", &number, &index) == 0) throw PythonErrorSet();
    const profiler::Track& track = track_of(self, number);
    const profiler::Span& found = span_of(track, index);
    if (!profiler::is_operator(found.kind) || found.payload == profiler::kNoSpan) Py_RETURN_NONE;
    const profiler::ShapeTexts texts = profiler::read_shapes(track.words_of(found.payload));
    return Py_BuildValue("sssss", texts.sizes.c_str(), texts.types.c_str(), texts.strides.c_str(),
                         texts.values.c_str(), texts.addresses.c_str());
  });
}

// memory(track) -> [(time, parent, address, bytes, total, device)] of memory taken and given back;
// of what was not to be had the address is None.
PyObject* memory(PyObject* self, PyObject* number) {
  return enter_tracer([&]() -> PyObject* {
    const Py_ssize_t index = PyLong_AsSsize_t(number);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    const profiler::Track& track = track_of(self, index);
    PyObject* const list = checked_new(PyList_New(0));
    for (const profiler::Mark& mark : track.marks) {
      const bool is_memory =
          mark.kind == profiler::MarkKind::Memory || mark.kind == profiler::MarkKind::OutOfMemory;
      if (!is_memory || mark.payload == profiler::kNoSpan) continue;
      const profiler::MemoryFacts facts(track.words_of(mark.payload));
      PyObject* const address = mark.kind == profiler::MarkKind::Memory
                                    ? PyLong_FromUnsignedLongLong(facts.address)
                                    : Py_NewRef(Py_None);
      append_to(list, Py_BuildValue("LnNLLs", static_cast<long long>(mark.time),
                                    number_or_minus_one(mark.parent), address,
                                    static_cast<long long>(facts.bytes),
                                    static_cast<long long>(facts.total),
                                    to_string(facts.device).c_str()));
    }
    return list;
  });
}

// line_times() -> [(key, line, count, ns)]
PyObject* line_times(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* const list = checked_new(PyList_New(0));
    for (const profiler::LineTime& line : contents_of(self).lines) {
      append_to(list, Py_BuildValue("IiKK", unsigned(line.key), int(line.line),
                                    static_cast<unsigned long long>(line.count),
                                    static_cast<unsigned long long>(line.time)));
    }
    return list;
  });
}

// set_line_texts(JSON), as opyard/profiler/report.h has it
PyObject* set_line_texts(PyObject* self, PyObject* text) {
  return enter_tracer([&]() -> PyObject* {
    contents_of(self).line_texts = text_of(text);
    Py_RETURN_NONE;
  });
}

// life(address, time) -> int: see profiler/lives.h.
PyObject* life(PyObject* self, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    unsigned long long address = 0;
    long long time = 0;
    if (PyArg_ParseTuple(args, "KL", &address, &time) == 0) throw PythonErrorSet();
    const profiler::Profile& profile = profile_of(self);
    std::unique_ptr<profiler::MemoryLives>& lives = contents_of(self).lives;
    if (lives == nullptr) lives = std::make_unique<profiler::MemoryLives>(profile);
    return PyLong_FromUnsignedLongLong(lives->at(address, time));
  });
}

// marks(track) -> [(kind, time, parent, key, detail, words)], words as bytes
PyObject* marks(PyObject* self, PyObject* number) {
  return enter_tracer([&]() -> PyObject* {
    const Py_ssize_t index = PyLong_AsSsize_t(number);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    const profiler::Track& track = track_of(self, index);
    PyObject* const list = checked_new(PyList_New(0));
    for (const profiler::Mark& mark : track.marks) {
      PyObject* const item =
          Py_BuildValue("sLnIIN", profiler::info_of(mark.kind).name,
                        static_cast<long long>(mark.time), number_or_minus_one(mark.parent),
                        unsigned(mark.key), unsigned(mark.detail), words_of(track, mark.payload));
      append_to(list, item);
    }
    return list;
  });
}

// functions(track) -> [(span, number, link, tid)] of calls and runs of functions of gradients: of
// runs with the thread of the call, else with -1.
PyObject* function_rows(PyObject* self, PyObject* number) {
  return enter_tracer([&]() -> PyObject* {
    const Py_ssize_t index = PyLong_AsSsize_t(number);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    static_cast<void>(track_of(self, index));
    const profiler::Links links(profile_of(self));
    PyObject* const list = checked_new(PyList_New(0));
    for (const profiler::LinkEnd& end : links.of(std::size_t(index))) {
      const std::uint32_t caller = end.is_run ? links.track_of_call(end.link) : profiler::kNoSpan;
      append_to(list, Py_BuildValue(
                          "IKKL", unsigned(end.span), static_cast<unsigned long long>(end.sequence),
                          static_cast<unsigned long long>(end.link),
                          caller == profiler::kNoSpan
                              ? -1LL
                              : static_cast<long long>(profile_of(self).tracks[caller].native_id)));
    }
    return list;
  });
}

// name(key) -> (text, qualified, file, line, kind, extra)
PyObject* name(PyObject*, PyObject* number) {
  return enter_tracer([&]() -> PyObject* {
    const unsigned long key = PyLong_AsUnsignedLong(number);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    const profiler::Name& found = profiler::name_of(std::uint32_t(key));
    const auto size = [](const std::string& text) { return Py_ssize_t(text.size()); };
    return Py_BuildValue("s#s#s#iss#", found.text.data(), size(found.text), found.qualified.data(),
                         size(found.qualified), found.file.data(), size(found.file),
                         int(found.line), found.kind.c_str(), found.extra.data(),
                         size(found.extra));
  });
}

// dropped_exits() -> int
PyObject* dropped_exits(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    return PyLong_FromUnsignedLongLong(profile_of(self).quality.dropped_exits);
  });
}

// quality() -> str: the report on the data's quality, as JSON.
PyObject* quality(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    const std::string text = profiler::quality_json(profile_of(self));
    return PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size()));
  });
}

// times() -> (begin in ns since 1970, duration in ns)
PyObject* times(PyObject* self, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    const profiler::Profile& profile = profile_of(self);
    return Py_BuildValue("KL", static_cast<unsigned long long>(profile.unix_begin_ns),
                         static_cast<long long>(profile.duration));
  });
}

PyMethodDef profile_methods[] = {
    {"set_files", set_files, METH_VARARGS, "set_files(prefixes, libraries, own)"},
    {"folded", folded, METH_NOARGS, "folded() -> Profile"},
    {"chrome", export_chrome, METH_VARARGS, "chrome(write, metadata, process_name, process_id)"},
    {"perfetto", export_perfetto, METH_VARARGS,
     "perfetto(write, metadata, process_name, process_id)"},
    {"pprof", export_pprof, METH_VARARGS, "pprof(write, metadata, process_name, process_id)"},
    {"speedscope", export_speedscope, METH_VARARGS,
     "speedscope(write, metadata, process_name, process_id)"},
    {"report", export_report, METH_VARARGS,
     "report(write, metadata, process_name, process_id, deflate, most_bars)"},
    {"add_processes", add_processes, METH_VARARGS, "add_processes(folder, process id)"},
    {"note", note_text, METH_VARARGS, "note(text, number)"},
    {"process", process, METH_NOARGS, "process() -> (id, name) or None"},
    {"processes", processes, METH_NOARGS, "processes() -> [(id, parent, name)]"},
    {"stacks", export_stacks, METH_VARARGS, "stacks(write, metadata, process_name, process_id)"},
    {"calls", calls, METH_NOARGS, "calls() -> [(key, caller, count, outermost, self, total)]"},
    {"tracks", tracks, METH_NOARGS, "tracks() -> [(native_id, name, spans, marks, is_derived)]"},
    {"span", span, METH_VARARGS,
     "span(track, index) -> (kind, label, start, end, parent, flags, key, detail, words)"},
    {"name_thread", name_thread, METH_VARARGS, "name_thread(ident, native id, name)"},
    {"call_tree", call_tree, METH_NOARGS,
     "call_tree() -> [(parent, label, count, self ns, CPU ns)]"},
    {"parents", parents, METH_O, "parents(track) -> bytes of 32-bit numbers"},
    {"averages", averages, METH_VARARGS, "averages(stack, shapes, keys, lines) -> [row]"},
    {"lines", lines, METH_NOARGS, "lines() -> [(key, line, self, self_thread_time, total)]"},
    {"sample_period", sample_period, METH_NOARGS, "sample_period() -> nanoseconds, or 0"},
    {"keys", keys, METH_NOARGS, "keys() -> [(dispatch key, calls, redispatches, self)]"},
    {"arguments", arguments, METH_VARARGS,
     "arguments(track, index) -> (sizes, types, strides, values, addresses) or None"},
    {"memory", memory, METH_O, "memory(track) -> [(time, parent, address, bytes, total, device)]"},
    {"marks", marks, METH_O, "marks(track) -> [(kind, time, parent, key, detail, words)]"},
    {"line_times", line_times, METH_NOARGS, "line_times() -> [(key, line, count, ns)]"},
    {"set_line_texts", set_line_texts, METH_O, "set_line_texts(JSON)"},
    {"life", life, METH_VARARGS, "life(address, time) -> int"},
    {"functions", function_rows, METH_O, "functions(track) -> [(span, number, link, tid of call)]"},
    {"name", name, METH_O, "name(key) -> (text, qualified, file, line, kind, extra)"},
    {"dropped_exits", dropped_exits, METH_NOARGS, "dropped_exits() -> int"},
    {"quality", quality, METH_NOARGS, "quality() -> JSON"},
    {"times", times, METH_NOARGS, "times() -> (begin_unix_ns, duration_ns)"},
    {nullptr, nullptr, 0, nullptr}};

void free_profile(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  delete reinterpret_cast<ProfileObject*>(self)->contents;
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot profile_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(free_profile)},
                               {Py_tp_methods, profile_methods},
                               {0, nullptr}};
PyType_Spec profile_spec = {"opyard._tracer.Profile", sizeof(ProfileObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, profile_slots};

}  // namespace

PyTypeObject* make_profile_type(PyObject* module) {
  return reinterpret_cast<PyTypeObject*>(
      checked_new(PyType_FromModuleAndSpec(module, &profile_spec, nullptr)));
}

PyObject* make_profile(PyTypeObject* type, profiler::Capture capture) {
  auto contents = std::make_unique<ProfileContents>();
  contents->capture = std::move(capture);
  contents->lines = std::move(contents->capture.lines);
  auto* const object = PyObject_New(ProfileObject, type);
  if (object == nullptr) throw PythonErrorSet();
  object->contents = contents.release();
  return reinterpret_cast<PyObject*>(object);
}

PyObject* make_profile(PyTypeObject* type, profiler::Profile profile) {
  auto made = std::make_unique<profiler::Profile>(std::move(profile));
  PyObject* const object = make_profile(type, profiler::Capture());
  contents_of(object).profile = std::move(made);
  return object;
}

PyObject* recovered_profile(PyTypeObject* type, const std::string& folder) {
  std::vector<profiler::ProcessCapture> all = profiler::load_captures(folder);
  OPYARD_CHECK(!all.empty(), BadValue, "no process has written a capture to " + folder);
  const auto killed = std::uint64_t(
      std::count_if(all.begin(), all.end(), [](const auto& one) { return !one.has_ended; }));
  PyObject* const made = make_profile(type, std::move(all.front().capture));
  ProfileContents& contents = contents_of(made);
  contents.process = {all.front().id, all.front().parent, all.front().program};
  contents.capture.notes.emplace_back("processes that did not end their capture", killed);
  all.erase(all.begin());
  contents.others = std::move(all);
  return made;
}

}  // namespace opyard::python
