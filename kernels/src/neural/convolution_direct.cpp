// kernels/neural/convolution_direct.cpp: convolution of floats without columns.
//
// Overview. The result is cut into strips, a few lines of one image and group. For each of them the
// lines of the image that it needs are copied into planes (loops/convolution.h): padded, and split
// into phases, which are the places that are the same modulo the stride. A weight then meets
// neighbours, and the build's loop adds up tiles of channels and places.
//
//   stride 2, kernel 3      line   a b c d e f g      phase 0   a c e g     weights 0 and 2
//                                                     phase 1   b d f       weight 1
//
// Images of three dimensions have as many planes for a channel as the kernel is deep, and a strip
// is in one depth of the result. Sums have one order (loops/convolution.cpp [Order]), so that the
// bits of a result depend neither on strips nor on threads.
#include <memory>
#include <vector>

#include "common/builds.h"
#include "neural/convolution_parts.h"
#include "neural/convolution_plan.h"

namespace opyard::kernels {
namespace {

// Of the planes of a strip: they stay in the second cache.
constexpr std::int64_t kPlaneElements = 1 << 16;
constexpr std::int64_t kLeastLines = 4;

// Phases and shifts of the kernel in one dimension.
struct Taps {
  std::vector<std::int64_t> phases;  // those that are met
  std::vector<std::int64_t> phase;   // for each place of the kernel: the index in `phases`
  std::vector<std::int64_t> shift;   // and how many places it is further

  Taps(std::int64_t kernel, std::int64_t stride, std::int64_t dilation) {
    for (std::int64_t i = 0; i < kernel; ++i) {
      const std::int64_t at = i * dilation % stride;
      const auto found = std::ranges::find(phases, at);
      phase.push_back(found - phases.begin());
      if (found == phases.end()) phases.push_back(at);
      shift.push_back(i * dilation / stride);
    }
  }
  std::int64_t count() const { return std::int64_t(phases.size()); }
  std::int64_t reach() const { return shift.back(); }
};

// One line of a phase: of `pitch` places, those from `first` to `stop` are in the image.
struct PhaseLine {
  std::int64_t begin, first, stop, step;

  PhaseLine(const Windows& w, std::int64_t phase, std::int64_t pitch)
      : begin(phase - w.padding[2]), step(w.stride[2]) {
    const std::int64_t after = w.image[2] - begin;
    first = std::clamp<std::int64_t>(begin < 0 ? (step - 1 - begin) / step : 0, 0, pitch);
    stop = std::clamp<std::int64_t>(after <= 0 ? 0 : (after + step - 1) / step, first, pitch);
  }
  template <typename T>
  void copy(const T* line, T* to, std::int64_t pitch) const {
    std::fill(to, to + first, T(0));
    std::fill(to + stop, to + pitch, T(0));
    if (first == stop) return;
    const T* const from = line + begin + first * step;
    const std::int64_t count = stop - first;
    to += first;
    if (step == 1) {
      std::copy(from, from + count, to);
    } else if (step == 2) {
      OPYARD_IVDEP
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[step * i];
    }
  }
};

template <typename T>
class DirectConvolution {
 public:
  DirectConvolution(const ConvolutionPlan& plan, const T* images, const T* weight, const T* bias,
                    const T* addend, T smallest, T largest, T* result)
      : plan_(plan),
        images_(images),
        weight_(weight),
        bias_(bias),
        added_(addend),
        least_(smallest),
        most_(largest),
        result_(result) {
    const Windows& w = plan.windows;
    pitch_ = w.count[2] + across_.reach();
    for (const std::int64_t phase : across_.phases) phase_lines_.emplace_back(w, phase, pitch_);
    const std::int64_t planes = plan.in * w.kernel[0] * down_.count() * across_.count();
    const std::int64_t fitting = kPlaneElements / std::max<std::int64_t>(planes * pitch_, 1);
    const std::int64_t most = std::max(fitting - down_.reach(), kLeastLines);
    strips_ = (w.count[1] + most - 1) / most;
    lines_ = (w.count[1] + strips_ - 1) / strips_;
    plane_ = (lines_ + down_.reach()) * pitch_;
    elements_ = planes * plane_;
    for (std::int64_t plane = 0; plane < plan.in * w.kernel[0]; ++plane) {
      for (std::size_t i = 0; i < down_.phase.size(); ++i) {
        for (std::size_t j = 0; j < across_.phase.size(); ++j) {
          const std::int64_t split =
              (plane * down_.count() + down_.phase[i]) * across_.count() + across_.phase[j];
          offsets_.push_back(split * plane_ + down_.shift[i] * pitch_ + across_.shift[j]);
        }
      }
    }
  }

  void run(StripLoop<T> loop) const {
    const Windows& w = plan_.windows;
    const std::int64_t parts = plan_.batch * plan_.groups * w.count[0] * strips_;
    const double products = double(lines_ * w.count[2]) * double(plan_.depth() * plan_.out);
    products_by_parts(parts, products, [&](std::int64_t begin, std::int64_t end) {
      const std::unique_ptr<T[]> room(new T[std::size_t(elements_ + kPastPlanes + kStripRoom)]);
      std::fill_n(room.get() + elements_, kPastPlanes, T(0));
      for (std::int64_t i = begin; i < end; ++i) part(loop, i, room.get());
    });
  }

 private:
  void part(StripLoop<T> loop, std::int64_t number, T* room) const {
    const Windows& w = plan_.windows;
    const std::int64_t line = number % strips_ * lines_, depth = number / strips_ % w.count[0];
    const std::int64_t page = number / strips_ / w.count[0], group = page % plan_.groups;
    const std::int64_t here = std::min(lines_, w.count[1] - line);
    if (here <= 0) return;
    fill_planes(images_ + page * plan_.in * plan_.image_count(), depth, line, here, room);
    const std::int64_t all = plan_.window_count();
    const std::int64_t at = page * plan_.out * all + (depth * w.count[1] + line) * w.count[2];
    loop({.planes = room,
          .offsets = offsets_.data(),
          .depth = plan_.depth(),
          .lines = here,
          .pitch = pitch_,
          .wide = w.count[2],
          .weight = weight_ + group * plan_.out * plan_.depth(),
          .bias = bias_ == nullptr ? nullptr : bias_ + group * plan_.out,
          .channels = plan_.out,
          .result = result_ + at,
          .channel_stride = all,
          .room = room + elements_ + kPastPlanes,
          .added = added_ == nullptr ? nullptr : added_ + at,
          .least = least_,
          .most = most_});
  }
  // What the lines from `line` on need of each channel.
  void fill_planes(const T* image, std::int64_t depth, std::int64_t line, std::int64_t lines,
                   T* to) const {
    const Windows& w = plan_.windows;
    for (std::int64_t plane = 0; plane < plan_.in * w.kernel[0]; ++plane) {
      const std::int64_t z =
          depth * w.stride[0] - w.padding[0] + plane % w.kernel[0] * w.dilation[0];
      const bool is_inside = z >= 0 && z < w.image[0];
      const T* const from = image + (plane / w.kernel[0] * w.image[0] + (is_inside ? z : 0)) *
                                        w.image[1] * w.image[2];
      for (const std::int64_t phase : down_.phases) {
        for (const PhaseLine& phase_line : phase_lines_) {
          fill_plane(from, is_inside, line * w.stride[1] - w.padding[1] + phase,
                     lines + down_.reach(), phase_line, to);
          to += plane_;
        }
      }
    }
  }
  void fill_plane(const T* from, bool is_inside, std::int64_t y, std::int64_t lines,
                  const PhaseLine& phase_line, T* to) const {
    const Windows& w = plan_.windows;
    for (std::int64_t i = 0; i < lines; ++i, y += w.stride[1], to += pitch_) {
      if (is_inside && y >= 0 && y < w.image[1]) {
        phase_line.copy(from + y * w.image[2], to, pitch_);
      } else {
        std::fill(to, to + pitch_, T(0));
      }
    }
  }

  const ConvolutionPlan& plan_;
  const T* images_;
  const T* weight_;
  const T* bias_;
  const T* added_;
  T least_, most_;
  T* result_;
  const Taps down_{plan_.windows.kernel[1], plan_.windows.stride[1], plan_.windows.dilation[1]};
  const Taps across_{plan_.windows.kernel[2], plan_.windows.stride[2], plan_.windows.dilation[2]};
  std::vector<PhaseLine> phase_lines_;
  std::vector<std::int64_t> offsets_;
  std::int64_t pitch_ = 0, strips_ = 0, lines_ = 0, plane_ = 0, elements_ = 0;
};

}  // namespace

bool is_direct(const ConvolutionPlan& plan, DType dtype) {
  const Windows& w = plan.windows;
  if (w.are_places() || (dtype != DType::Float32 && dtype != DType::Float64)) return false;
  // Windows far apart, or of a large kernel, would have planes of little but padding.
  const auto lines = [&](std::size_t dim) {
    const double reach = double(w.kernel[dim] - 1) * double(w.dilation[dim]);
    return double(w.count[dim]) + reach / double(w.stride[dim]);
  };
  const auto phases = [&](std::size_t dim) { return std::min(w.kernel[dim], w.stride[dim]); };
  const double elements = lines(1) * lines(2) * double(phases(1)) * double(phases(2));
  constexpr double kMostPadding = 4, kSmall = 1 << 14;
  return elements <= kMostPadding * double(w.image[1]) * double(w.image[2]) + kSmall;
}

void convolve_directly(const ConvolutionPlan& plan, const Tensor& images, const Tensor& weight,
                       const Tensor* bias, const Tensor& to, const ConvolutionStore& store) {
  visit_floats(to, [&](auto sample) {
    using T = decltype(sample);
    const DirectConvolution<T> direct(
        plan, elements_of<const T>(images), elements_of<const T>(weight),
        bias == nullptr ? nullptr : elements_of<const T>(*bias),
        store.added == nullptr ? nullptr : elements_of<const T>(*store.added), T(store.least),
        T(store.most), elements_of<T>(to));
    if constexpr (std::is_same_v<T, float>) {
      direct.run(loops().convolution.float32);
    } else {
      direct.run(loops().convolution.float64);
    }
  });
}

}  // namespace opyard::kernels
