// exported/pickle.h: the pickles of torch.save(), decoded without a name being looked up or called.
//
// [Steps] A pickle is a program for a machine with a stack. Of its instructions those are taken
// that torch.save() writes for tensors, tuples, lists, dicts, numbers, texts and None. Those that
// name a function only make one of four known things: a tensor's memory, a tensor on it, a
// parameter, and an empty dict. The class and attributes of a tensor are left out. Each instruction
// makes at most one item, so a pickle takes memory in proportion to its length; items may have
// items that have them, and who walks them bounds the walk.
//
// Depends on: exported/zip.h, value/value.h.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exported/zip.h"
#include "opyard/value/value.h"

namespace opyard::jit {

struct PickleItem {
  enum class Kind { Plain, Tuple, List, Dict, Name, Memory };
  Kind kind = Kind::Plain;
  opyard::Value value;                   // Plain: a tensor, number, text or None
  std::vector<const PickleItem*> items;  // Tuple and List; of a Dict keys and values in turn
  std::string name;                      // Name: "module name"; Memory: the entry with its bytes
  std::optional<DType> dtype;            // Memory; empty for plain bytes
};

using PickleKind = PickleItem::Kind;

class Pickle {
 public:
  // The pickle in an archive of torch.save(), which it keeps. Raises BadValue for one that is
  // broken, and Unsupported for what is not in [Steps].
  explicit Pickle(CountedPtr<FileBytes> archive);

  const PickleItem& top() const noexcept { return *top_; }

 private:
  const ZipArchive archive_;
  std::deque<PickleItem> items_;
  const PickleItem* top_ = nullptr;
};

}  // namespace opyard::jit
