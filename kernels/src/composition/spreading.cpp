// kernels/composition/spreading.cpp: tensors expanded to sizes that they share: meshgrid and
// broadcast_tensors, whose blocks are in kernels/operators/creation.ops.
#include <string>
#include <string_view>
#include <utility>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"

namespace opyard::kernels {
namespace {

using namespace ops;

std::string item_name(std::size_t i) { return text_of({"tensors[", i, "]"}); }

// Raises BadArgument for an undefined tensor.
void require_all_defined(const char* op, const Tensors& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    require_defined(op, item_name(i).c_str(), tensors[i]);
  }
}

// Each along the dimension of its number.
Tensors mesh(const char* op, const Tensors& tensors) {
  if (tensors.empty()) {
    refuse(ErrorKind::BadArgument, {op, ": tensors is an empty list; at least one is needed"});
  }
  require_all_defined(op, tensors);
  DimVector sizes;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dim() > 1 || tensors[i].dtype() != tensors[0].dtype()) {
      refuse(ErrorKind::BadShape,
             {op, ": tensors[", i, "] is ", tensors[i],
              "; at most one dimension, and the dtype of tensors[0], which is ", tensors[0],
              ", are accepted"});
    }
    sizes.push_back(tensors[i].numel());
  }
  Tensors spread;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    DimVector own(sizes.size(), 1);
    own[i] = sizes[i];
    spread.push_back(ops::expand(reshape(tensors[i], own), sizes));
  }
  return spread;
}

}  // namespace

Tensors meshgrid(const Tensors& tensors) { return mesh("aten::meshgrid", tensors); }

Tensors meshgrid_indexing(const Tensors& tensors, std::string_view indexing) {
  constexpr const char* kOp = "aten::meshgrid.indexing";
  if (indexing != "ij" && indexing != "xy") {
    refuse(ErrorKind::BadValue,
           {kOp, ": indexing is \"", indexing, "\"; accepted are \"ij\" and \"xy\""});
  }
  if (indexing == "ij" || tensors.size() < 2) return mesh(kOp, tensors);
  Tensors turned = tensors;
  std::swap(turned[0], turned[1]);
  Tensors spread = mesh(kOp, turned);
  std::swap(spread[0], spread[1]);
  return spread;
}

Tensors broadcast_tensors(const Tensors& tensors) {
  constexpr const char* kOp = "aten::broadcast_tensors";
  require_all_defined(kOp, tensors);
  DimVector sizes;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::optional<DimVector> joined = find_broadcast(sizes, tensors[i].sizes());
    if (!joined) {
      const ClashingPair pair =
          find_clashing_pair(tensors.size(), [&](std::size_t a, std::size_t b) {
            return find_clash<std::int64_t>(tensors[a].sizes(), tensors[b].sizes());
          });
      refuse_broadcast(kOp, {item_name(pair.first), tensors[pair.first]},
                       {item_name(pair.second), tensors[pair.second]}, pair.clash);
    }
    sizes = *joined;
  }
  Tensors spread;
  for (const Tensor& each : tensors) spread.push_back(ops::expand(each, sizes));
  return spread;
}

}  // namespace opyard::kernels
