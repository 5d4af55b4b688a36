// kernels/matrix/einsum.cpp: sums of products that an equation names: einsum.
//
// [Labels] A letter is a label, and so is each dimension that an ellipsis skips. A tensor goes
// through here with the labels of its dimensions, each once.
//
// [Pairs] Tensors are joined two at a time. A label that neither the output nor another tensor has
// is summed: before the product if one of the two has it, by the product of matrices if both have.
// A dimension of size 1 that meets a longer one is dropped: its element counts for all places.
//
// Only other operators are called, which have the gradients and run on every backend.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "common/check.h"
#include "common/define.h"
#include "common/ops.h"

namespace opyard::kernels {
namespace {

using namespace ops;

constexpr const char* kOp = "aten::einsum";
using Labels = SmallVector<int, 8>;

// Upper case before lower case, as an output that is not written has them.
constexpr int kLetters = 128;
constexpr int kEllipsis = -1;  // in an equation; its dimensions are kLetters and following

struct Operand {
  Tensor tensor;
  Labels labels;
};

struct Equation {
  std::vector<Labels> inputs;
  std::optional<Labels> output;
};

bool has(const Labels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}
std::int64_t place_of(const Labels& labels, int label) {
  return std::ranges::find(labels, label) - labels.begin();
}
std::string label_name(int label) {
  return label < kLetters ? std::string{'\'', char(label), '\''} : "a dimension of '...'";
}

[[noreturn]] OPYARD_COLD void refuse_equation(std::string_view equation, const std::string& why) {
  refuse(ErrorKind::BadValue,
         {kOp, ": equation is '", equation, "', ", why,
          "; accepted are letters and at most one '...' for each tensor, commas between them, and "
          "'->' before the output"});
}

Labels parse_labels(std::string_view equation, std::string_view part) {
  Labels labels;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == ' ') continue;
    if (part.substr(i).starts_with("...")) {
      if (has(labels, kEllipsis)) refuse_equation(equation, "with two '...' for one tensor");
      labels.push_back(kEllipsis);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(part[i])) != 0) {
      labels.push_back(part[i]);
    } else {
      refuse_equation(equation, std::string("with '") + part[i] + "' in it");
    }
  }
  return labels;
}

Equation parse(std::string_view equation) {
  Equation parsed;
  const std::size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  for (;;) {
    const std::size_t comma = left.find(',');
    parsed.inputs.push_back(parse_labels(equation, left.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (arrow != std::string_view::npos) {
    parsed.output = parse_labels(equation, equation.substr(arrow + 2));
  }
  return parsed;
}

// Takes the diagonal if a label comes twice.
Operand without_repetitions(Operand operand) {
  using Diagonal = Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t);
  static constinit FoundOperator<Diagonal> diagonal("aten::diagonal");
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    for (std::size_t j = operand.labels.size(); --j > i;) {
      if (operand.labels[i] != operand.labels[j]) continue;
      const std::int64_t a = std::int64_t(i), b = std::int64_t(j);
      if (operand.tensor.size(a) != operand.tensor.size(b)) {
        refuse(ErrorKind::BadShape,
               {kOp, ": ", label_name(operand.labels[i]), " comes twice for a tensor that is ",
                operand.tensor, "; dimensions of one letter need one size"});
      }
      operand.tensor = diagonal.call(operand.tensor, 0, a, b);  // the new dimension is the last
      const int label = operand.labels[i];
      Labels left;
      for (std::size_t k = 0; k < operand.labels.size(); ++k) {
        if (k != i && k != j) left.push_back(operand.labels[k]);
      }
      left.push_back(label);
      operand.labels = left;
      return without_repetitions(std::move(operand));
    }
  }
  return operand;
}

// How many dimensions the ellipsis of an input skips.
std::int64_t skipped_by(std::string_view equation, const Labels& labels, const Tensor& tensor) {
  const auto letters =
      std::int64_t(std::ranges::count_if(labels, [](int one) { return one != kEllipsis; }));
  const std::int64_t left = tensor.dim() - letters;
  if (left < 0 || (left > 0 && !has(labels, kEllipsis))) {
    refuse(ErrorKind::BadShape,
           {kOp, ": equation is '", equation, "' and names ", letters,
            letters == 1 ? " dimension" : " dimensions", " of a tensor that is ", tensor});
  }
  return left;
}

// The labels with those of `skipped` dimensions for the ellipsis, of at most `most`.
Labels spelled_out(const Labels& labels, std::int64_t skipped, std::int64_t most) {
  Labels all;
  for (const int label : labels) {
    if (label != kEllipsis) {
      all.push_back(label);
      continue;
    }
    for (std::int64_t i = most - skipped; i < most; ++i) all.push_back(kLetters + int(i));
  }
  return all;
}

// What an equation without '->' gives: the ellipsis, then the letters that come once.
Labels usual_output(const Equation& equation, std::int64_t skipped) {
  Labels output;
  for (std::int64_t i = 0; i < skipped; ++i) output.push_back(kLetters + int(i));
  for (int letter = 0; letter < kLetters; ++letter) {
    std::ptrdiff_t count = 0;
    for (const Labels& labels : equation.inputs) count += std::ranges::count(labels, letter);
    if (count == 1) output.push_back(letter);
  }
  return output;
}

Operand summed(const Operand& operand, const Labels& labels) {
  DimVector dims;
  Operand result;
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    if (has(labels, operand.labels[i])) {
      dims.push_back(std::int64_t(i));
    } else {
      result.labels.push_back(operand.labels[i]);
    }
  }
  result.tensor = dims.empty() ? operand.tensor : sum(operand.tensor, dims);
  return result;
}

Tensor in_label_order(const Operand& operand, const Labels& order) {
  DimVector dims;
  bool moved = false;
  for (const int label : order) {
    dims.push_back(place_of(operand.labels, label));
    moved = moved || dims.back() != std::int64_t(dims.size()) - 1;
  }
  return moved ? ops::permute(operand.tensor, dims) : operand.tensor;
}

// Without the dimensions of size 1 that are longer in the other one. See [Pairs].
Operand operand_without_ones(Operand operand, const Operand& other) {
  for (std::size_t i = operand.labels.size(); i-- > 0;) {
    const int label = operand.labels[i];
    if (!has(other.labels, label)) continue;
    const std::int64_t own = operand.tensor.size(std::int64_t(i));
    const std::int64_t there = other.tensor.size(place_of(other.labels, label));
    if (own == there) continue;
    if (own != 1 && there != 1) {
      refuse(ErrorKind::BadShape, {kOp, ": ", label_name(label), " is ", own, " in one tensor and ",
                                   there, " in another; sizes of one letter must be equal or 1"});
    }
    if (own != 1) continue;
    operand.tensor = squeeze(operand.tensor, std::int64_t(i));
    Labels left;
    for (std::size_t k = 0; k < operand.labels.size(); ++k) {
      if (k != i) left.push_back(operand.labels[k]);
    }
    operand.labels = left;
  }
  return operand;
}

// Lists of labels one behind another.
Labels joined_labels(std::initializer_list<const Labels*> lists) {
  Labels all;
  for (const Labels* const list : lists) {
    for (const int label : *list) all.push_back(label);
  }
  return all;
}

DimVector operand_sizes(const Operand& operand, const Labels& labels) {
  DimVector sizes;
  for (const int label : labels) {
    sizes.push_back(operand.tensor.size(place_of(operand.labels, label)));
  }
  return sizes;
}

std::int64_t count_of_sizes(const DimVector& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

// See [Pairs]. `needed` has the labels that are needed after this.
Operand operand_product(Operand a, Operand b, const Labels& needed) {
  const auto sum_own = [&](const Operand& one, const Operand& other) {
    Labels own;
    for (const int label : one.labels) {
      if (!has(other.labels, label) && !has(needed, label)) own.push_back(label);
    }
    return summed(one, own);
  };
  Operand left = operand_without_ones(a, b), right = operand_without_ones(b, a);
  left = sum_own(left, right);
  right = sum_own(right, left);
  Labels batch, inner, rows, columns;
  for (const int label : left.labels) {
    if (!has(right.labels, label)) {
      rows.push_back(label);
    } else {
      (has(needed, label) ? batch : inner).push_back(label);
    }
  }
  for (const int label : right.labels) {
    if (!has(left.labels, label)) columns.push_back(label);
  }
  const DimVector batch_sizes = operand_sizes(left, batch),
                  inner_sizes = operand_sizes(left, inner), row_sizes = operand_sizes(left, rows),
                  column_sizes = operand_sizes(right, columns);
  const std::int64_t batches = count_of_sizes(batch_sizes), terms = count_of_sizes(inner_sizes),
                     height = count_of_sizes(row_sizes), width = count_of_sizes(column_sizes);
  const std::array<std::int64_t, 3> left_sizes = {batches, height, terms};
  const std::array<std::int64_t, 3> right_sizes = {batches, terms, width};
  const Tensor x =
      reshape(in_label_order(left, joined_labels({&batch, &rows, &inner})), left_sizes);
  const Tensor y =
      reshape(in_label_order(right, joined_labels({&batch, &inner, &columns})), right_sizes);
  DimVector sizes = batch_sizes;
  for (const std::int64_t size : row_sizes) sizes.push_back(size);
  for (const std::int64_t size : column_sizes) sizes.push_back(size);
  const Tensor all = inner.empty() ? x * y : bmm(x, y);
  return {reshape(all, sizes), joined_labels({&batch, &rows, &columns})};
}

// Which two tensors come next: the first two, or what `path` says.
std::pair<std::size_t, std::size_t> next_pair(const std::optional<IntSpan>& path, std::size_t step,
                                              std::size_t count) {
  if (!path) return {0, 1};
  const std::int64_t a = (*path)[2 * step], b = (*path)[2 * step + 1];
  const auto fits = [&](std::int64_t place) { return place >= 0 && place < std::int64_t(count); };
  if (!fits(a) || !fits(b) || a == b) {
    refuse(ErrorKind::BadValue,
           {kOp, ": path is ", *path, ", and its pair ", step, " names ", a, " and ", b, " of ",
            count, " tensors; accepted are two different places from 0 on"});
  }
  return {std::size_t(std::min(a, b)), std::size_t(std::max(a, b))};
}

Operand joined_by_pairs(std::vector<Operand> operands, const Labels& output,
                        const std::optional<IntSpan>& path) {
  for (std::size_t step = 0; operands.size() > 1; ++step) {
    const auto [first, second] = next_pair(path, step, operands.size());
    const Operand a = operands[first], b = operands[second];
    operands.erase(operands.begin() + std::ptrdiff_t(second));
    operands.erase(operands.begin() + std::ptrdiff_t(first));
    Labels needed = output;
    for (const Operand& one : operands) needed = joined_labels({&needed, &one.labels});
    operands.insert(path ? operands.end() : operands.begin(), operand_product(a, b, needed));
  }
  return operands[0];
}

Tensor einsum(std::string_view equation, const std::vector<Tensor>& tensors,
              std::optional<IntSpan> path) {
  const Equation parsed = parse(equation);
  if (tensors.empty() || parsed.inputs.size() != tensors.size()) {
    refuse(ErrorKind::BadArgument,
           {kOp, ": equation is '", equation, "', which names ", parsed.inputs.size(),
            parsed.inputs.size() == 1 ? " tensor" : " tensors", ", and ", tensors.size(),
            tensors.size() == 1 ? " is given" : " are given"});
  }
  if (path && path->size() != 2 * (tensors.size() - 1) && tensors.size() > 1) {
    refuse(ErrorKind::BadValue, {kOp, ": path is ", *path, "; two places are needed for each of ",
                                 tensors.size() - 1, " products"});
  }
  std::int64_t most = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    require_defined(kOp, "tensors", tensors[i]);
    most = std::max(most, skipped_by(equation, parsed.inputs[i], tensors[i]));
  }
  std::vector<Operand> operands;
  Labels given;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Labels& labels = parsed.inputs[i];
    const std::int64_t skipped = skipped_by(equation, labels, tensors[i]);
    operands.push_back(without_repetitions({tensors[i], spelled_out(labels, skipped, most)}));
    given = joined_labels({&given, &operands.back().labels});
  }
  const Labels output =
      parsed.output ? spelled_out(*parsed.output, most, most) : usual_output(parsed, most);
  for (const int label : output) {
    if (!has(given, label) || std::ranges::count(output, label) > 1) {
      refuse_equation(equation, "with " + label_name(label) + " in the output, which " +
                                    (has(given, label) ? "comes twice there" : "no tensor has"));
    }
  }
  const Operand joint = joined_by_pairs(std::move(operands), output, path);
  Labels rest;
  for (const int label : joint.labels) {
    if (!has(output, label)) rest.push_back(label);
  }
  return in_label_order(summed(joint, rest), output);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor");
  m.impl("einsum", &einsum);
}

}  // namespace opyard::kernels
