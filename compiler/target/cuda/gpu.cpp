#include "compiler/target/cuda/gpu.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace dovetail::cuda {

namespace {

bool is_architecture(std::string_view word) {
  if (!word.starts_with("sm_")) return false;
  word.remove_prefix(3);
  if (!word.empty() && (word.back() == 'a' || word.back() == 'f')) word.remove_suffix(1);
  return word.size() >= 2 && word.size() <= 3 && word.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

int architecture_number(std::string_view architecture) {
  int number = 0;
  std::from_chars(architecture.data() + std::min<std::size_t>(3, architecture.size()),
                  architecture.data() + architecture.size(), number);
  return number;
}

Result<Gpu> parse_gpu(std::string_view option, std::string_view text) {
  Gpu gpu;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string word(text.substr(begin, end - begin));
    const auto bad = [&](std::string why) {
      return Diagnostic{fmt::format("bad value of {}", option), std::string(text), std::move(why),
                        fmt::format("list architectures by name, as in {}", kDefaultArchitectures)};
    };
    if (!is_architecture(word)) return bad(fmt::format("\"{}\" is no name of an architecture", word));
    if (std::ranges::find(gpu.architectures, word) != gpu.architectures.end())
      return bad(fmt::format("{} is listed twice", word));
    gpu.architectures.push_back(std::move(word));
    begin = end + 1;
  }
  return gpu;
}

bool has_tensor_cores(const Gpu& gpu) {
  constexpr int kTensorCores = 80;
  return std::ranges::all_of(gpu.architectures,
                             [](const std::string& name) { return architecture_number(name) >= kTensorCores; });
}

}  // namespace dovetail::cuda
