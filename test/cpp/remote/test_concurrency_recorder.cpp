// test/cpp/remote/test_concurrency_recorder.cpp: protects blocks of recorded calls: what closes
// one, which graph it is, that threads record side by side, and that no value stays. Suspect
// remote/src/.
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "../aten.h"
#include "opyard/jit/print.h"
#include "opyard/remote/recorder.h"

namespace opyard::test_concurrency_recorder {
namespace {

using remote::Answer;
using remote::Block;
using remote::Recorder;

// Takes blocks as a session does, and answers reads with zeros.
class Double final : public remote::Sender {
 public:
  void send(Recorder& recorder) override {
    const std::lock_guard lock(mutex);
    while (std::shared_ptr<Block> block = recorder.take()) {
      for (const Block::Output& output : block->outputs) outputs += output.number != 0 ? 1 : 0;
      calls += block->calls.size();
      last_size = block->calls.size();
      last_key = block->key;
      last_text = to_string(*block->graph());
      ++blocks;
      recorder.sent(*block);
      recorder.answered();
    }
  }
  std::vector<Answer> wait(Recorder& recorder, std::uint64_t) override {
    send(recorder);
    Answer answer;
    answer.value = f32({2}, {0, 0});
    return {answer};
  }
  void refuse(Recorder&) override { fail(ErrorKind::BadValue, "it has ended"); }

  std::mutex mutex;
  std::size_t blocks = 0, calls = 0, outputs = 0, last_size = 0;
  std::string last_key, last_text;
};

CountedPtr<Recorder> no_worker(std::int16_t) { fail(ErrorKind::NotFound, "no worker"); }

struct Worker {
  Worker() {
    aten("zeros", {ints({1})});  // loads the kernels
    remote::register_key(&no_worker);
    Device device = parse_device("remote");
    device.index = 0;
    recorder = make_counted<Recorder>(sender, device);
  }
  ~Worker() { recorder->close(); }
  CountedPtr<Double> sender = make_counted<Double>();
  CountedPtr<Recorder> recorder;
};

Tensor plus(const Tensor& x, double number) {
  return aten_tensor("add.Scalar", {Value(x), Value(number)});
}

TEST(Recorder, X35_ClosesABlockWithSixtyFourCalls) {
  Worker worker;
  Tensor x = worker.recorder->import(f32({2}, {1, 2}));
  EXPECT_EQ(to_string(x.device()), "remote:0");
  for (int i = 0; i < 62; ++i) x = plus(x, 1);
  EXPECT_EQ(worker.sender->blocks, 0u);
  x = plus(x, 1);
  EXPECT_EQ(worker.sender->blocks, 1u);
  EXPECT_EQ(worker.sender->last_size, 64u);
  // Of all values only one still has a tensor, and the one that is given up for it meanwhile.
  EXPECT_LE(worker.sender->outputs, 2u);
  x = plus(x, 1);
  worker.recorder->flush();
  EXPECT_EQ(worker.sender->last_size, 1u);
}

TEST(Recorder, X35_NumbersAreInputsOfTheGraph) {
  Worker worker;
  const Tensor x = worker.recorder->import(f32({2}, {1, 2}));
  worker.recorder->flush();
  Tensor y = plus(x, 2);
  worker.recorder->flush();
  const std::string key = worker.sender->last_key;
  EXPECT_NE(worker.sender->last_text.find("aten::add.Scalar"), std::string::npos);
  y = plus(x, 3);
  worker.recorder->flush();
  EXPECT_EQ(worker.sender->last_key, key);
  y = aten_tensor("sum.dim_IntList", {Value(x), ints({0})});
  worker.recorder->flush();
  EXPECT_NE(worker.sender->last_key, key);
}

TEST(Recorder, X35_ViewsAreNoCallsUntilTheyAreUsed) {
  Worker worker;
  const Tensor x = worker.recorder->import(f32({2, 3}, {1, 2, 3, 4, 5, 6}));
  worker.recorder->flush();
  const Tensor row = aten_tensor("select.int", {Value(x), 0, 1});
  worker.recorder->flush();
  EXPECT_EQ(worker.sender->blocks, 1u);
  const Tensor y = plus(row, 1);
  worker.recorder->flush();
  EXPECT_NE(worker.sender->last_text.find("aten::as_strided"), std::string::npos);
}

TEST(Recorder, X35_RefusesTensorsOfTheCpuAndEverythingOnceClosed) {
  Worker worker;
  const Tensor x = worker.recorder->import(f32({2}, {1, 2}));
  EXPECT_EQ(thrown_by([&] { aten("add.Tensor", {Value(x), f32({2}, {1, 2})}); }).kind,
            ErrorKind::Unsupported);
  worker.recorder->close();
  EXPECT_EQ(thrown_by([&] { plus(x, 1); }).kind, ErrorKind::BadValue);
}

TEST(Recorder, X35_ThreadsRecordSideBySideAndLeaveNoValue) {
  Worker worker;
  constexpr int kThreads = 4, kCalls = 300;
  Tensor x = worker.recorder->import(f32({2}, {1, 2}));
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n) {
    threads.emplace_back([&, n] {
      Tensor y = x;
      for (int i = 0; i < kCalls; ++i) y = plus(y, n);
      EXPECT_EQ(worker.recorder->read(y).numel(), 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  x = Tensor();
  worker.recorder->flush();
  EXPECT_EQ(worker.sender->calls, std::size_t(kThreads * kCalls + 1));
  EXPECT_EQ(worker.recorder->take_dropped().size(), worker.sender->outputs);
}

}  // namespace
}  // namespace opyard::test_concurrency_recorder
