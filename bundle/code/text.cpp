#include "bundle/code/text.h"

#include <span>

#include <fmt/format.h>

namespace dovetail::bundle {

std::vector<std::byte> text_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> json_bytes(const Json& json) {
  // Names come from models and need not be UTF-8; JSON must be.
  return text_bytes(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string_view code_text(const Step& step) {
  return {reinterpret_cast<const char*>(step.code.data()), step.code.size()};
}

std::string code_place(const Step& step) { return fmt::format("code of step {}", step.name); }

}  // namespace dovetail::bundle
