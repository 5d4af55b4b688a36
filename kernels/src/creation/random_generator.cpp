// kernels/creation/random_generator.cpp: the generators that numbers are drawn from.
//
// See random.h [Stream].
#include <opyard/library.h>
#include <pthread.h>

#include <array>
#include <mutex>
#include <random>

#include "common/check.h"
#include "creation/random.h"

namespace opyard::kernels {
namespace {

// One lock for all generators, which is held for a few instructions; no user code runs under it.
// The child of a fork finds it free.
std::mutex& all_generators();

// SplitMix64's last steps: words that differ in a bit give words that differ in half of them.
std::uint64_t mixed(std::uint64_t word) {
  word += 0x9E3779B97F4A7C15;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
  return word ^ (word >> 31);
}

struct Place {
  std::uint64_t seed;
  std::uint64_t next;
};

class PhiloxGenerator final : public Generator {
 public:
  // What a generator of PyTorch begins with before it is seeded.
  static constexpr std::uint64_t kFirstSeed = 67280421310721;

  explicit PhiloxGenerator(Place place = {kFirstSeed, 0}) : Generator(Device{}), place_(place) {}

  std::uint64_t seed() const override { return place().seed; }
  void set_seed(std::uint64_t seed) override { set_place({seed, 0}); }
  CountedPtr<Generator> clone() const override { return make_counted<PhiloxGenerator>(place()); }

  // Where the next `count` numbers begin.
  Place take(std::uint64_t count) {
    const std::lock_guard lock(all_generators());
    seed_if_needed();
    const Place begin = place_;
    place_.next += count;
    return begin;
  }

  Place place() const {
    const std::lock_guard lock(all_generators());
    seed_if_needed();
    return place_;
  }
  void set_place(Place place) {
    const std::lock_guard lock(all_generators());
    place_ = place;
    children_ = 0;
    needs_seed_ = false;
  }

  static PhiloxGenerator& of_process();

  // See random.h [Children].
  static void before_fork() {
    all_generators().lock();
    ++of_process().children_;
  }
  static void after_fork() { all_generators().unlock(); }
  static void in_child() {
    PhiloxGenerator& own = of_process();
    own.place_ = {mixed(own.place_.seed ^ mixed(own.children_)), 0};
    own.children_ = 0;
    all_generators().unlock();
  }

 private:
  // Of the system's own, for the process's generator until it is seeded. With the lock held.
  void seed_if_needed() const {
    if (!needs_seed_) return;
    std::random_device device;
    place_.seed = std::uint64_t(device()) << 32 | device();
    needs_seed_ = false;
  }

  // As all of these, guarded by all_generators().
  mutable Place place_;
  mutable bool needs_seed_ = false;
  std::uint64_t children_ = 0;  // of this process since it was seeded
};

PhiloxGenerator& PhiloxGenerator::of_process() {
  static PhiloxGenerator& one = *[] {
    auto made = make_counted<PhiloxGenerator>(Place{0, 0});
    made->needs_seed_ = true;
    return made.release();  // never ends: threads may draw at exit
  }();
  return one;
}

std::mutex& all_generators() {
  static std::mutex& one = *[] {
    pthread_atfork(&PhiloxGenerator::before_fork, &PhiloxGenerator::after_fork,
                   &PhiloxGenerator::in_child);
    return new std::mutex;  // never ends, as the generator of the process
  }();
  return one;
}

PhiloxGenerator& require_own(const char* op, const MaybeGenerator& generator) {
  if (!generator || !*generator) return PhiloxGenerator::of_process();
  auto* const own = dynamic_cast<PhiloxGenerator*>(generator->get());
  if (own == nullptr) {
    refuse(ErrorKind::Unsupported,
           {op, ": generator is on ", to_string((*generator)->device()),
            " and of another backend; accepted is an opyard.Generator on cpu, or None"});
  }
  return *own;
}

using AnyGenerator = CountedPtr<Generator>;

AnyGenerator new_generator(std::optional<Device> device) {
  if (device && !device->is_cpu()) {
    refuse(ErrorKind::Unsupported, {"opyard::new_generator: device is ", to_string(*device),
                                    "; generators of these kernels are on cpu"});
  }
  return make_counted<PhiloxGenerator>();
}

// Two words, the lowest byte first.
constexpr std::int64_t kStateBytes = 16;

Tensor generator_state(const MaybeGenerator& generator) {
  const Place place = require_own("opyard::generator_state", generator).place();
  const Tensor state = Tensor::empty(std::array{kStateBytes}, DType::UInt8);
  std::byte* to = bytes_of(state);
  for (const std::uint64_t word : {place.seed, place.next}) {
    for (int shift = 0; shift < 64; shift += 8) *to++ = std::byte(word >> shift);
  }
  return state;
}
// None is the process's.
void set_generator_state(const MaybeGenerator& generator, const Tensor& state) {
  constexpr const char* kOp = "opyard::set_generator_state";
  PhiloxGenerator& own = require_own(kOp, generator);
  require_cpu(kOp, "state", state);
  if (is_meta(state) || state.dtype() != DType::UInt8 || state.dim() != 1 ||
      state.numel() != kStateBytes || !state.is_contiguous()) {
    refuse(ErrorKind::BadValue,
           {kOp, ": state is ", state, "; accepted are the 16 bytes that get_state() gave"});
  }
  std::uint64_t words[2] = {};
  for (std::int64_t i = 0; i < kStateBytes; ++i) {
    words[i / 8] |= std::uint64_t(bytes_of(state)[i]) << (i % 8 * 8);
  }
  own.set_place({words[0], words[1]});
}

}  // namespace

RandomNumbers::RandomNumbers(const char* op, std::int64_t count, const MaybeGenerator& generator) {
  const Place begin = require_own(op, generator).take(std::uint64_t(count));
  seed_ = begin.seed;
  first_ = begin.next;
}

std::array<std::uint32_t, 4> RandomNumbers::bits(std::int64_t i) const {
  const std::uint64_t at = first_ + std::uint64_t(i);
  std::array<std::uint32_t, 4> x = {std::uint32_t(at), std::uint32_t(at >> 32), 0, 0};
  auto low = std::uint32_t(seed_), high = std::uint32_t(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0], b = std::uint64_t{0xCD9E8D57} * x[2];
    x = {std::uint32_t(b >> 32) ^ x[1] ^ low, std::uint32_t(b),
         std::uint32_t(a >> 32) ^ x[3] ^ high, std::uint32_t(a)};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return x;
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("seed_random_numbers(int seed) -> ()",
        [](std::int64_t seed) { PhiloxGenerator::of_process().set_seed(std::uint64_t(seed)); });
  m.def("new_generator(Device? device=None) -> Generator", &new_generator);
  m.def("clone_generator(Generator g) -> Generator",
        [](const AnyGenerator& g) { return g->clone(); });
  m.def("seed_generator(Generator g, int seed) -> ()",
        [](const AnyGenerator& g, std::int64_t seed) { g->set_seed(std::uint64_t(seed)); });
  m.def("generator_seed(Generator g) -> int",
        [](const AnyGenerator& g) { return std::int64_t(g->seed()); });
  m.def("generator_device(Generator g) -> Device",
        [](const AnyGenerator& g) { return g->device(); });
  m.def("generator_identity(Generator g) -> int", [](const AnyGenerator& g) {
    return std::int64_t(reinterpret_cast<std::uintptr_t>(g.get()));
  });
  m.def("generator_state(Generator? g) -> Tensor", &generator_state);
  m.def("set_generator_state(Generator? g, Tensor state) -> ()", &set_generator_state);
}

}  // namespace opyard::kernels
