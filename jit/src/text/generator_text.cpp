// text/generator_text.cpp: generator constants: made by the operator that opyard.Generator calls.
#include "text/generator_text.h"

#include <fmt/format.h>

#include <charconv>

#include "opyard/detail/text/literal.h"
#include "opyard/registry/registry.h"
#include "opyard/value/stack.h"

namespace opyard::jit::detail {
namespace {

opyard::Value new_generator(Device device) {
  Stack stack;
  stack.push(opyard::Value(device));
  require_operator("opyard::new_generator").call_boxed(stack);
  return opyard::Value(stack.pop());
}

void expect_word(Cursor& cursor, std::string_view word) {
  if (!cursor.take_if_name(word)) cursor.fail_expected(fmt::format("'{}'", word));
}

Device parse_device_text(Cursor& cursor) {
  const Token token = cursor.take();
  if (token.kind != TokenKind::Text) cursor.fail_at(token.span(), "expected a device as \"cpu\"");
  try {
    return parse_device(opyard::detail::unquote(token).text);
  } catch (const Error& error) {
    cursor.fail_at(token.span(), error.what());
  }
}

std::uint64_t parse_seed(Cursor& cursor) {
  const Token token = cursor.take();
  std::uint64_t seed = 0;
  const auto [end, fault] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), seed);
  if (fault != std::errc() || end != token.text.data() + token.text.size()) {
    cursor.fail_at(token.span(), "expected a seed, which is a number from 0 to 2**64 - 1");
  }
  return seed;
}

}  // namespace

bool begins_generator(const Cursor& cursor) {
  return cursor.peek().is_name("torch") && cursor.peek_second().is(".");
}

opyard::Value parse_generator(Cursor& cursor) {
  const std::size_t begin = cursor.peek().offset;
  expect_word(cursor, "torch");
  cursor.expect(".");
  expect_word(cursor, "Generator");
  cursor.expect("(");
  expect_word(cursor, "device");
  cursor.expect("=");
  const Device device = parse_device_text(cursor);
  cursor.expect(",");
  expect_word(cursor, "seed");
  cursor.expect("=");
  const std::uint64_t seed = parse_seed(cursor);
  cursor.expect_close(")");
  try {
    opyard::Value generator = new_generator(device);
    generator.to_generator().set_seed(seed);
    return generator;
  } catch (const Error& error) {
    cursor.fail_at({begin, cursor.last_end()}, error.what());
  }
}

std::string generator_text(const opyard::Value& value) {
  const Generator& generator = value.to_generator();
  return fmt::format("torch.Generator(device=\"{}\", seed={})",
                     opyard::to_string(generator.device()), generator.seed());
}

}  // namespace opyard::jit::detail
