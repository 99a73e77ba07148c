#include "compiler/assemble/combine_shapes.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace dovetail {

Result<bundle::Bundle> combine_shapes(std::vector<bundle::Bundle> programs) {
  DOVETAIL_CHECK(!programs.empty(), "a bundle holds a program");
  std::multimap<std::string_view, bundle::Constant> known;  // by bytes, which the constants themselves keep
  for (bundle::Bundle& program : programs)
    for (bundle::Tensor& tensor : program.tensors) {
      if (!tensor.constant) continue;
      const auto bytes = tensor.constant->bytes();
      const std::string_view key(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      const auto [begin, end] = known.equal_range(key);
      const auto same = std::find_if(begin, end, [&](const auto& entry) { return entry.second == tensor.constant; });
      if (same != end) tensor.constant = same->second;
      else known.emplace(key, tensor.constant);
    }
  bundle::Bundle first = std::move(programs.front());
  for (std::size_t i = 1; i < programs.size(); ++i) first.other_shapes.push_back(std::move(programs[i]));
  DOVETAIL_TRY(bundle::verify(first));
  return first;
}

}  // namespace dovetail
