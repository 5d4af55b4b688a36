// tensor/broadcast.cpp: errors of sizes that do not broadcast.
#include "opyard/tensor/broadcast.h"

#include <fmt/format.h>

namespace opyard {
namespace {

std::string count_dims(std::size_t dims) {
  return fmt::format("{} dimension{}", dims, dims == 1 ? "" : "s");
}

[[noreturn]] void refuse_fit(std::string_view op, const ShownOperand& source,
                             const ShownOperand& target, std::string_view why) {
  fail(ErrorKind::BadShape, fmt::format("{}: {} is {} and does not fit {}, which is {}: {}", op,
                                        source.name, source.text, target.name, target.text, why));
}

}  // namespace

ShownOperand::ShownOperand(std::string_view shown, const Tensor& tensor)
    : name(shown), text(describe(tensor)), dims(std::size_t(tensor.dim())) {}
ShownOperand::ShownOperand(std::string_view shown, IntSpan sizes)
    : name(shown), text(describe_sizes(sizes)), dims(sizes.size()) {}
ShownOperand::ShownOperand(std::string_view shown, const DimVector& sizes)
    : ShownOperand(shown, IntSpan(sizes)) {}
ShownOperand::ShownOperand(std::string_view shown, std::string shown_text, std::size_t count)
    : name(shown), text(std::move(shown_text)), dims(count) {}

void refuse_broadcast(std::string_view op, const ShownOperand& first, const ShownOperand& second,
                      const SizeClash& clash) {
  fail(ErrorKind::BadShape,
       fmt::format("{}: {} is {} and {} is {}, which do not broadcast: dimension {} is {} in one "
                   "and {} in the other, and must be equal or 1 in one of them",
                   op, first.name, first.text, second.name, second.text, clash.dim, clash.of_first,
                   clash.of_second));
}

void refuse_misfit(std::string_view op, const ShownOperand& source, const ShownOperand& target,
                   const SizeClash& misfit) {
  const std::string why =
      misfit.of_second < 0
          ? fmt::format("{} has {}, and must have at most {}", source.name, count_dims(source.dims),
                        target.dims)
          : fmt::format("dimension {} of {} is {}, and must be {}{}", misfit.dim, source.name,
                        misfit.of_first, misfit.of_second, misfit.of_second == 1 ? "" : " or 1");
  refuse_fit(op, source, target, why);
}

void refuse_target(std::string_view op, const ShownOperand& source, const ShownOperand& target,
                   const SizeClash& difference) {
  const std::string why =
      source.dims != target.dims
          ? fmt::format("{} has {}, and must have {}", target.name, count_dims(target.dims),
                        source.dims)
          : fmt::format("dimension {} of {} is {}, and must be {}", difference.dim, target.name,
                        difference.of_second, difference.of_first);
  refuse_fit(op, source, target, why);
}

Tensor expand_to(std::string_view op, const Tensor& self, IntSpan size) {
  DimVector to(size), strides;
  keep_sizes(to, self.sizes());
  if (const SizeClash misfit = find_misfit(self.sizes(), IntSpan(to))) {
    refuse_misfit(op, {"self", self}, {"size", size}, misfit);
  }
  for (const std::int64_t each : to) {
    if (each < 0) {
      fail(
          ErrorKind::BadShape,
          fmt::format("{}: size is {} and self is {}; a size must be 0 or more, or -1, which keeps "
                      "that of a dimension of self",
                      op, describe_sizes(size), describe(self)));
    }
  }
  expand_strides(self.sizes(), self.strides(), IntSpan(to), strides);
  return self.as_strided(to, strides, self.storage_offset());
}

}  // namespace opyard
