// code/watch.cpp: budgets, timing and last-use checks of a run.
#include "code/watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/builtins.h"
#include "opyard/detail/value/dict_object.h"

namespace opyard::jit {
namespace {

// Of an entry of a dict: key, value, and its place in the table.
constexpr std::size_t kEntryBytes = 4 * sizeof(Register);

// What one value holds at most, shared or not: the bytes of a tensor's storage, of a text, of a
// list's items, of a dict's entries.
std::size_t bytes_of(const Register& value) {
  switch (value.kind()) {
    case Kind::Tensor: {
      const Tensor& tensor = value.tensor_unchecked();
      return tensor.defined() ? std::size_t(tensor.numel()) * item_size(tensor.dtype()) : 0;
    }
    case Kind::String:
      return value.to_string_view().size();
    case Kind::List:
    case Kind::Tuple:
      return value.items_unchecked().size() * sizeof(Register);
    case Kind::Dict:
      return value.to_dict().size() * kEntryBytes;
    default:
      return 0;
  }
}

void add_written(const Frame& frame, std::uint32_t operand, std::size_t& bytes) {
  if ((operand & kConstant) != 0 || (operand & kIndex) == kNoRegister) return;
  bytes += bytes_of(frame.bases[0][operand & kIndex]);
}

// Of what goes in, only lists and dicts can have grown.
void add_grown(const Frame& frame, std::uint32_t operand, std::size_t& bytes) {
  if ((operand & kConstant) != 0) return;
  const Register& value = frame.read(operand);
  if (value.is_list() || value.is_dict()) add_written(frame, operand, bytes);
}

// The bytes that an instruction has written; a list that it has changed is counted anew.
std::size_t written_by(const Frame& frame, const Instruction* done) {
  const Opcode opcode = frame.code->origins[frame.code->index_of(done)].opcode;
  std::size_t bytes = 0;
  switch (opcode) {
    case Opcode::CallOperator1:
    case Opcode::CallOperator2:
    case Opcode::CallOperator3:
      add_written(frame, done->a, bytes);
      add_grown(frame, done->b, bytes);
      if (opcode != Opcode::CallOperator1) add_grown(frame, done->c, bytes);
      if (opcode == Opcode::CallOperator3) add_grown(frame, done->d, bytes);
      return bytes;
    case Opcode::CallBuiltin:
    case Opcode::CallOperator:
    case Opcode::CallOperation:
    case Opcode::CallGroup:
    case Opcode::MakeList:
    case Opcode::MakeTuple:
    case Opcode::MakeDict:
    case Opcode::Unpack: {
      const auto& site = *static_cast<const CallSite*>(done->context);
      const std::uint32_t* const operands = frame.code->operands.data() + done->d;
      for (std::uint32_t i = 0; i < site.inputs; ++i) add_grown(frame, operands[i], bytes);
      for (std::uint32_t i = 0; i < site.outputs; ++i) {
        add_written(frame, operands[site.inputs + i], bytes);
      }
      return bytes;
    }
    case Opcode::CopyConstant:
      add_written(frame, done->a, bytes);
      return bytes;
    default:
      return 0;
  }
}

// Whether the next instruction repeats a list past so many bytes: the one that can make much out of
// little.
bool repeats_past(const Frame& frame, std::size_t bytes) {
  if (frame.code->origins[frame.code->index_of(frame.at)].opcode != Opcode::CallBuiltin)
    return false;
  const auto& site = *static_cast<const CallSite*>(frame.at->context);
  if (site.builtin->run != &detail::repeated_list) return false;
  const std::uint32_t* const operands = frame.code->operands.data() + frame.at->d;
  const std::size_t once = frame.read(operands[0]).to_list().size() * sizeof(Register);
  const std::int64_t times = frame.read(operands[1]).to_int();
  return times > 0 && once != 0 && std::size_t(times) > bytes / once;
}

[[noreturn]] OPYARD_COLD void refuse_register(const Frame& frame, std::size_t index) {
  const Value* const value = frame.code->registers[index].value;
  const std::string name =
      value != nullptr ? "%" + value->printed_name() : fmt::format("register {}", index);
  fail(ErrorKind::Internal, fmt::format("{} is held behind its last use", name));
}

void check_registers(const Frame& frame, const std::vector<bool>& live) {
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (!frame.code->registers[i].owns) continue;
    const Register& held = frame.bases[0][i];
    // An undefined tensor or None owns nothing, so it may be there or not.
    const bool owns = is_heap(held.kind()) && held.object_unchecked() != nullptr;
    if (owns && !live[i]) refuse_register(frame, i);
  }
}

}  // namespace

const Watch::Clock::time_point* Watch::find_deadline() const {
  return budget && budget->time != std::chrono::nanoseconds::max() ? &deadline : nullptr;
}

void refuse_time() { fail(ErrorKind::TimedOut, "the budget of time of this run is used up"); }

void Watch::before(const Frame& frame) {
  if (plan) check_registers(frame, (*plan)[frame.code->index_of(frame.at)]);
  if (!budget) return;
  OPYARD_CHECK(budget->steps > 0, BadGraph, "the budget of steps of this run is used up");
  OPYARD_CHECK(budget->bytes > 0 && !repeats_past(frame, budget->bytes), BadGraph,
               "the budget of memory of this run is used up");
  const Clock::time_point* const end = find_deadline();
  if (end != nullptr && Clock::now() >= *end) refuse_time();
}

void Watch::after(const Frame& frame, const Instruction* done, Clock::duration took) {
  if (!times.empty()) {
    InstructionTime& time = times[frame.code->index_of(done)];
    ++time.count;
    time.nanoseconds +=
        std::uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
  }
  if (!budget) return;
  --budget->steps;
  const std::size_t written = written_by(frame, done);
  budget->bytes -= std::min(written, budget->bytes);
}

const Instruction* run_one_watched(Frame& frame, Watch& watch) {
  try {
    watch.before(frame);
  } catch (const Error& error) {
    throw error.with_context("before " + location_of(*frame.code, frame.at));
  }
  const Instruction* const at = frame.at;
  const Watch::Clock::time_point begin =
      watch.times.empty() ? Watch::Clock::time_point() : Watch::Clock::now();
  const Instruction* const next = run_one(frame);
  watch.after(frame, at,
              watch.times.empty() ? Watch::Clock::duration() : Watch::Clock::now() - begin);
  return next;
}

void run_watched(Frame& frame, Watch& watch) {
  for (const Instruction* next = frame.at; next != nullptr;) {
    frame.at = next;
    next = run_one_watched(frame, watch);
  }
}

}  // namespace opyard::jit
