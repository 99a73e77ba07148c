// Attributes of an ONNX node as graph attributes.
#pragma once

#include <string>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/import/external_data.h"

namespace dovetail::onnx {
struct Node;
}

namespace dovetail::import {

// AttributeProto.AttributeType: the numbers that the format defines.
enum AttributeKind : int {
  undefined = 0,
  float_kind = 1,
  int_kind,
  string_kind,
  tensor_kind,
  graph_kind,
  floats_kind,
  ints_kind,
  strings_kind,
  tensors_kind,
  graphs_kind
};

// Subgraphs of control flow are skipped: control_flow.h reads them. Errors (all of a node's errors are reported): other
// subgraphs, references to function attributes, sparse tensors and type attributes, duplicates, damaged tensors.
Result<graph::Attributes> read_attributes(const onnx::Node& node, const std::string& where, ExternalData& external);

// The value of a Constant with these attributes.
Result<NdArray> constant_value(const graph::Attributes& attributes, const std::string& where);

}  // namespace dovetail::import
