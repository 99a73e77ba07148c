#include "compiler/assemble/combine_shapes.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace dovetail {

namespace {

// Shares one copy of equal contents.
template <typename Content>
class Pool {
 public:
  // `bytes`: the data of `content`, which owns them.
  void share(Content& content, std::span<const std::byte> bytes) {
    const std::string_view key(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto [begin, end] = known_.equal_range(key);
    const auto same = std::find_if(begin, end, [&](const auto& entry) { return entry.second == content; });
    if (same != end) content = same->second;
    else known_.emplace(key, content);
  }

 private:
  std::multimap<std::string_view, Content> known_;
};

}  // namespace

Result<bundle::Bundle> combine_shapes(std::vector<bundle::Bundle> programs) {
  DOVETAIL_CHECK(!programs.empty(), "a bundle needs a program");
  Pool<bundle::Constant> constants;
  Pool<bundle::Blob> data;
  const std::function<void(bundle::Bundle&)> share = [&](bundle::Bundle& program) {
    for (bundle::Tensor& tensor : program.tensors)
      if (tensor.constant) constants.share(tensor.constant, tensor.constant->bytes());
    for (bundle::Step& step : program.steps) {
      for (bundle::Blob& piece : step.data) data.share(piece, piece.bytes());
      for (bundle::Bundle& inner : step.programs) share(inner);
    }
  };
  for (bundle::Bundle& program : programs) share(program);
  bundle::Bundle first = std::move(programs.front());
  for (std::size_t i = 1; i < programs.size(); ++i) first.other_shapes.push_back(std::move(programs[i]));
  DOVETAIL_TRY(bundle::verify(first));
  return first;
}

}  // namespace dovetail
