#include "compiler/schedule/parameter_layouts.h"

#include <algorithm>

namespace dovetail::schedule {

Result<void> ParameterLayouts::take(const Step& resolved, const loops::Program& written) {
  if (resolved.primitive != "transform_layout") return {};
  const std::string& parameter = resolved.arguments[0];
  const auto known = std::ranges::find_if(written.parameters,
                                          [&](const loops::Parameter& each) { return each.buffer->name == parameter; });
  if (known == written.parameters.end()) return {};
  const auto before = maps_.find(parameter);
  const Shape shape = before == maps_.end() ? known->buffer->shape : before->second.physical_shape();
  DOVETAIL_ASSIGN(IndexMap map, parse_index_map(resolved.arguments[1], shape));
  if (before != maps_.end()) {
    DOVETAIL_ASSIGN(map, compose(before->second, map));
  }
  maps_.insert_or_assign(parameter, std::move(map));
  return {};
}

std::string ParameterLayouts::text(const std::string& parameter) const {
  const auto found = maps_.find(parameter);
  return found == maps_.end() ? "" : to_string(found->second);
}

std::map<std::string, std::string> ParameterLayouts::texts() const {
  std::map<std::string, std::string> all;
  for (const auto& [parameter, map] : maps_) all.emplace(parameter, to_string(map));
  return all;
}

}  // namespace dovetail::schedule
