// opyard/schema/relations.h: alias sets of a schema, and backward compatibility of one schema
// with another.
//
// Analyses and rewriters of calls ask the first half; those who change an operator that
// others already call asks the second half.
//
// Depends on: schema/schema.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "opyard/schema/schema.h"

namespace opyard {

// Which side of a schema a type is on.
enum class Side { Argument, Result };

// One argument or result of a schema, by position.
struct Place {
  Side side;
  std::size_t index;
};

// The argument or result at a place. This and all that take a Place raise BadIndex for one
// that the schema does not have.
OPYARD_API const Argument& at(const Schema& schema, Place place);

// The value at the place is written to: its own set or one inside it is a write set.
OPYARD_API bool is_mutable(const Schema& schema, Place place);
// An alias set is on the value or inside it.
OPYARD_API bool is_aliasing(const Schema& schema, Place place);
// The two values may be the same object after the call: they share a set (their sets behind
// the arrow, if there is one), and their types allow it. An int is never shared.
OPYARD_API bool may_alias(const Schema& schema, Place a, Place b);
// Something inside `container`, at any depth, may be `content` or something inside that. What
// is in a container without a set of its own is in the wildcard set, as what is marked
// (a -> *) is after the call: the schema promises nothing for it.
OPYARD_API bool may_contain(const Schema& schema, Place container, Place content);
// They may alias, or one may contain the other or something of the other.
OPYARD_API bool may_contain_alias(const Schema& schema, Place a, Place b);

// An alias set is somewhere in the schema.
OPYARD_API bool has_alias_sets(const Schema& schema);
// Arguments that take a result: keyword-only and written to.
OPYARD_API std::size_t out_argument_count(const Schema& schema);
// The call only computes: no argument is written to, no result shares a set with an argument,
// and there are results.
OPYARD_API bool is_functional(const Schema& schema);

// Whether every value of `narrow` is a value of `wide`: int is a Scalar, T is a T? and an
// Any, an int a SymInt, a tuple of narrower types is a tuple of the wider ones. A size hint
// may be gained but not lost, since int[2] also takes one number. Lists are shared and can be
// written, so their elements must be equal, symbolic ones apart.
OPYARD_API bool is_subtype(const Type& narrow, const Type& wide);

// Who calls. A boxed call gives all arguments by position, keyword-only too: with another number
// of values it is refused, whatever is answered here, and in another order it is read swapped.
enum class Callers { All, ByName };

// Why a call that is written for `old` may fail, or be read otherwise, with `fresh`, as a sentence;
// nothing if none is. The old arguments must come first under their names (for
// Callers::ByName the positional ones only), types of arguments may widen, types of results may
// narrow, defaults and alias sets stay as they are, and every further argument has a default.
OPYARD_API std::optional<std::string> why_not_backward_compatible(const Schema& fresh,
                                                                  const Schema& old,
                                                                  Callers callers = Callers::All);

// Why a call that is written for `fresh` may fail, or be read otherwise, with `old`, if it
// leaves out arguments that equal their defaults. Arguments may be added, behind the old ones and
// in front of the out arguments, each with a default that is no list; and dropped if they had a
// default: the last positional ones, and any that are keyword-only.
OPYARD_API std::optional<std::string> why_not_forward_compatible(const Schema& fresh,
                                                                 const Schema& old,
                                                                 Callers callers = Callers::All);

}  // namespace opyard
