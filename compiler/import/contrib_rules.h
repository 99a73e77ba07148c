// The rules of contrib.h, by file. Attributes and the number of operands were checked against the table.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/import/node_writer.h"
#include "compiler/ops/signature.h"

namespace dovetail::import {

// One operator: its name with its domain, what of it is taken, and how it is written out.
struct ContribRow {
  std::string_view op;
  Result<void> (*write)(NodeWriter&);
  std::vector<ops::AttributeRule> attributes = {};
  std::size_t inputs = 1, required = 1;  // the most, and how many of the first must be there
  std::vector<std::size_t> values = {};  // positions of inputs whose values the rule looks at
};

std::vector<ContribRow> contrib_elementwise_rows();
std::vector<ContribRow> contrib_normalization_rows();
std::vector<ContribRow> contrib_product_rows();
std::vector<ContribRow> contrib_attention_rows();
std::vector<ContribRow> contrib_quantized_rows();

}  // namespace dovetail::import
