// test_call_path.cpp: protects the typed path: no lock instruction, no allocation and no pthread
// call is on it. Suspect opyard/detail/registry/typed.h.
//
// call_path_subject.cpp is compiled, optimised and without sanitizers, and objdump takes it apart.
// A function is clean where it and all that it calls directly are free of what is forbidden.
// The ways off the path (a thread's first call, a kernel that needs boxes, an exception) are
// known by name, and not followed. Functions with a planted fault show that the checker sees.
#include <gtest/gtest.h>
#include <stdio.h>

#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace opyard::test_call_path {
namespace {

// One instruction: its text, and the symbol it refers to, if any.
struct Instruction {
  std::string text;
  std::string symbol;
};
using Code = std::map<std::string, std::vector<Instruction>>;  // by function

Code disassemble(const std::string& file) {
  const std::string command = "objdump -dr --no-show-raw-insn '" + file + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), &pclose);
  const std::regex function("[0-9a-f]+ <(.+)>:\n");
  const std::regex instruction("\\s+[0-9a-f]+:\t(.*)\n");
  const std::regex target("<([^>+]+)>\\s*$");  // without an offset: the start of a function
  const std::regex relocation("\\s+[0-9a-f]+: R_X86_64_\\w+\t(.+?)([-+]0x[0-9a-f]+)?\n");
  Code code;
  std::vector<Instruction>* current = nullptr;
  char line[4096];
  while (output != nullptr && fgets(line, sizeof line, output.get()) != nullptr) {
    std::cmatch match;
    if (std::regex_match(line, match, function)) {
      current = &code[match[1]];
    } else if (current != nullptr && std::regex_match(line, match, relocation)) {
      if (!current->empty()) current->back().symbol = match[1];
    } else if (current != nullptr && std::regex_match(line, match, instruction)) {
      current->push_back({match[1], ""});
      std::smatch named;
      if (std::regex_search(current->back().text, named, target)) {
        current->back().symbol = named[1];
      }
    }
  }
  return code;
}

bool leads_off_the_path(const std::string& symbol) {
  for (const char* way : {"run_otherwise", "redispatch_first", "enter_thread", "_Unwind_Resume",
                          ".cold", ".text.unlikely"}) {
    if (symbol.find(way) != std::string::npos) return true;
  }
  return false;
}

class Checker {
 public:
  explicit Checker(Code code) : code_(std::move(code)) {}

  // What is forbidden on the path that begins at a function, a line each; empty where nothing.
  std::vector<std::string> faults_of(const std::string& function) {
    faults_.clear();
    visited_.clear();
    visit(function);
    return faults_;
  }
  // Calls through a register or a slot, in the function itself.
  int indirect_calls_of(const std::string& function) const {
    int count = 0;
    for (const Instruction& at : code_.at(function)) count += is_call(at) && at.symbol.empty();
    return count;
  }
  // How often a function looks up where a variable is.
  int references_to(const std::string& variable, const std::string& function) const {
    int count = 0;
    for (const Instruction& at : code_.at(function)) {
      count += at.symbol.find(variable) != std::string::npos;
    }
    return count;
  }
  bool has(const std::string& function) const { return code_.count(function) != 0; }
  // The functions whose names contain a word.
  std::vector<std::string> find(const std::string& word) const {
    std::vector<std::string> names;
    for (const auto& [name, instructions] : code_) {
      if (name.find(word) != std::string::npos && !leads_off_the_path(name)) names.push_back(name);
    }
    return names;
  }

 private:
  static bool is_call(const Instruction& at) {
    return std::regex_search(at.text, std::regex("\\b(call|jmp)\\b")) &&
           (!at.symbol.empty() || at.text.find('*') != std::string::npos);
  }

  void visit(const std::string& function) {
    if (!visited_.insert(function).second) return;
    const auto found = code_.find(function);
    if (found == code_.end()) {
      faults_.push_back("calls " + function);
      return;
    }
    const std::regex locked("^lock\\b|^xchg.*\\(|fence\\b");
    for (const Instruction& at : found->second) {
      if (std::regex_search(at.text, locked)) faults_.push_back(function + ": " + at.text);
      if (!is_call(at) || at.symbol.empty() || at.symbol == function) continue;
      if (!leads_off_the_path(at.symbol)) visit(at.symbol);
    }
  }

  const Code code_;
  std::vector<std::string> faults_;
  std::set<std::string> visited_;
};

class CallPath : public testing::Test {
 protected:
  static Checker& checker() {
    static Checker checker(disassemble(OPYARD_TEST_SUBJECT));
    return checker;
  }
  void SetUp() override {
    ASSERT_TRUE(checker().has("subject_call"))
        << "objdump (of binutils) gave no disassembly of " << OPYARD_TEST_SUBJECT;
  }
};

TEST_F(CallPath, ATypedCallTakesNoLockAllocatesNothingAndCallsNoPthread) {
  for (const char* function :
       {"subject_call", "subject_call_with_a_number", "subject_redispatch"}) {
    EXPECT_EQ(checker().faults_of(function), std::vector<std::string>()) << function;
  }
  EXPECT_EQ(checker().indirect_calls_of("subject_call"), 2)
      << "a function, one that takes keys; others are further on";
}

TEST_F(CallPath, A34_AGuardLooksTheThreadsSetsUpOnceOnTheWayInAndOnceOut) {
  EXPECT_EQ(checker().faults_of("subject_guards"), std::vector<std::string>{"calls subject_sink"});
  EXPECT_LE(checker().references_to("local_block", "subject_guards"), 2);
  EXPECT_GE(checker().references_to("local_block", "subject_guards"), 1)
      << "else the test sees nothing";
}

TEST_F(CallPath, E31_SizesStridesDeviceAndLayoutOfAPlainTensorTakeNoVirtualCall) {
  EXPECT_EQ(checker().indirect_calls_of("subject_geometry"), 0);
  EXPECT_EQ(checker().indirect_calls_of("planted_virtual_call"), 1) << "else the test sees nothing";
}

TEST_F(CallPath, NorDoTheThunksItCalls) {
  const std::vector<std::string> constant = checker().find("ThunkOf");
  int thunks = 0;
  for (const std::string& function : constant) {
    if (function.find("direct") == std::string::npos &&
        function.find("through_pointer") == std::string::npos) {
      continue;
    }
    ++thunks;
    EXPECT_EQ(checker().faults_of(function), std::vector<std::string>()) << function;
  }
  EXPECT_EQ(thunks, 2);
}

TEST_F(CallPath, TheCheckerFindsWhatIsPlanted) {
  const auto only_fault = [&](const std::string& function) {
    const std::vector<std::string> faults = checker().faults_of(function);
    return faults.empty() ? "nothing" : faults.front();
  };
  EXPECT_EQ(only_fault("planted_lock").find("planted_lock: lock"), 0u)
      << only_fault("planted_lock");
  EXPECT_EQ(only_fault("planted_exchange").find("planted_exchange: xchg"), 0u)
      << only_fault("planted_exchange");
  EXPECT_EQ(only_fault("planted_allocation"), "calls _Znwm");
  EXPECT_EQ(only_fault("planted_mutex"), "calls pthread_mutex_lock");
  EXPECT_EQ(only_fault("planted_thread_local"), "calls __tls_get_addr");
  EXPECT_NE(only_fault("planted_further_down").find(": lock"), std::string::npos)
      << only_fault("planted_further_down");
}

}  // namespace
}  // namespace opyard::test_call_path
