// remote/append.cpp: constants in the key of a block.
#include "append.h"

namespace opyard::remote {

// By content, and each with its kind, so that no two lists of constants are alike.
void append_constant(std::string& key, const Value& value) {
  key += 'k';
  key += char(value.kind());
  switch (value.kind()) {
    case Kind::None:
      return;
    case Kind::Bool:
      key += value.bool_unchecked() ? '1' : '0';
      return;
    case Kind::Int:
      return append_word(key, value.int_unchecked());
    case Kind::Double:
      return append_word(key, value.double_unchecked());
    case Kind::String: {
      const std::string_view text = value.to_string_view();
      append_word(key, text.size());
      key += text;
      return;
    }
    case Kind::List:
    case Kind::Tuple:
      append_word(key, value.items_unchecked().size());
      for (const Value& item : value.items_unchecked()) append_constant(key, item);
      return;
    default: {
      const std::string text = repr(value);
      append_word(key, text.size());
      key += text;
    }
  }
}

}  // namespace opyard::remote
