// The rules of domain_operators.h, by file. They are called after attributes and the number of operands were checked.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/import/node_writer.h"
#include "compiler/ops/signature.h"

namespace dovetail::import {

// One operator: its name with its domain, the supported attributes and inputs, and the function that expands it.
struct DomainRow {
  std::string_view op;
  Result<void> (*write)(NodeWriter&);
  std::vector<ops::AttributeRule> attributes = {};
  std::size_t inputs = 1, required = 1;  // the most inputs, and how many leading ones are required
  std::vector<std::size_t> values = {};  // positions of inputs whose values the rule reads
};

std::vector<DomainRow> contrib_elementwise_rows();
std::vector<DomainRow> contrib_normalization_rows();
std::vector<DomainRow> contrib_product_rows();
std::vector<DomainRow> contrib_n_bits_rows();
std::vector<DomainRow> contrib_attention_rows();
std::vector<DomainRow> contrib_quantized_rows();
std::vector<DomainRow> ml_feature_rows();
std::vector<DomainRow> ml_linear_rows();
std::vector<DomainRow> ml_tree_rows();

}  // namespace dovetail::import
