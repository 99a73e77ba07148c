// Small int8 networks: the digits example, and models of the zoo at small sizes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::test {

struct Net {
  std::string name;
  graph::Graph graph;  // imported
  std::map<std::string, NdArray> inputs;
  graph::Graph integer;                      // what the reference evaluates
  std::map<std::string, NdArray> reference;  // all its values
};

std::vector<std::string_view> net_names();
// Error: there is no net of this name.
Result<Net> make_net(std::string_view name);

}  // namespace dovetail::test
