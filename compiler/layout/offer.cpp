#include "compiler/layout/offer.h"

#include "compiler/layout/layout.h"

namespace dovetail {

using graph::NodeId;
using graph::ValueId;

const std::string& ChosenLayouts::read(NodeId kernel, ValueId value) const {
  const auto it = reads.find({kernel, value});
  return it == reads.end() ? kPlainLayout : it->second;
}
const std::string& ChosenLayouts::write(ValueId value) const {
  const auto it = writes.find(value);
  return it == writes.end() ? kPlainLayout : it->second;
}

}  // namespace dovetail
