// The messages of the ONNX serialization format that are read and written here, with the format's public field numbers.
// Differences from the official schema are deliberate: enumerations are plain integers, so that unknown values arrive
// and can be diagnosed; names are bytes, because real files contain names that are not UTF-8; fields that are not read
// here are omitted and skipped by the reader (compiler/import/wire.h).
//
// Each message calls `visit` with the number and the member of each of its fields, in the order of the numbers.
// Optional fields whose absence means the same as 0 or "" are plain members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dovetail::onnx {

// An optional message, of a type that may be incomplete here: copied with its owner.
template <typename T>
class Boxed {
 public:
  explicit operator bool() const { return !held_.empty(); }
  T& operator*() { return held_.front(); }
  const T& operator*() const { return held_.front(); }
  T* operator->() { return &held_.front(); }
  const T* operator->() const { return &held_.front(); }
  // The message, made if it is absent.
  T& ensure() { return held_.empty() ? held_.emplace_back() : held_.front(); }

 private:
  std::vector<T> held_;  // at most one
};

struct KeyValue {
  std::string key, value;

  static void fields(auto& self, auto&& visit) { visit(1, self.key), visit(2, self.value); }
};

struct Tensor {
  std::vector<std::int64_t> dims;
  std::int32_t data_type = 0;
  std::vector<float> float_data;
  std::vector<std::int32_t> int32_data;  // also 8- and 16-bit integers, bool, and the bits of 16-bit floats
  std::vector<std::string> string_data;
  std::vector<std::int64_t> int64_data;
  std::string name;
  std::optional<std::string_view> raw_data;  // little-endian; in the bytes that were read
  std::vector<double> double_data;
  std::vector<std::uint64_t> uint64_data;  // also uint32
  std::vector<KeyValue> external_data;     // location, offset, length
  std::int32_t data_location = 0;          // 1: external

  static void fields(auto& self, auto&& visit) {
    visit(1, self.dims), visit(2, self.data_type), visit(4, self.float_data), visit(5, self.int32_data);
    visit(6, self.string_data), visit(7, self.int64_data), visit(8, self.name), visit(9, self.raw_data);
    visit(10, self.double_data), visit(11, self.uint64_data), visit(13, self.external_data);
    visit(14, self.data_location);
  }
};

struct SparseTensor {
  Tensor values;

  static void fields(auto& self, auto&& visit) { visit(1, self.values); }
};

struct Dimension {
  std::optional<std::int64_t> value;
  std::string param;

  static void fields(auto& self, auto&& visit) { visit(1, self.value), visit(2, self.param); }
};

struct TensorShape {
  std::vector<Dimension> dims;

  static void fields(auto& self, auto&& visit) { visit(1, self.dims); }
};

struct TensorType {
  std::int32_t elem_type = 0;
  std::optional<TensorShape> shape;

  static void fields(auto& self, auto&& visit) { visit(1, self.elem_type), visit(2, self.shape); }
};

struct Type {
  std::optional<TensorType> tensor_type;  // absent: of another kind

  static void fields(auto& self, auto&& visit) { visit(1, self.tensor_type); }
};

struct ValueInfo {
  std::string name;
  Type type;

  static void fields(auto& self, auto&& visit) { visit(1, self.name), visit(2, self.type); }

  // An empty one if the type is of another kind.
  const TensorType& tensor_type() const {
    static const TensorType kNone;
    return type.tensor_type ? *type.tensor_type : kNone;
  }
  // Empty if there is no shape.
  const std::vector<Dimension>& dims() const {
    static const TensorShape kNone;
    return tensor_type().shape ? tensor_type().shape->dims : kNone.dims;
  }
};

struct Graph;

struct Attribute {
  std::string name;
  std::optional<float> f;
  std::optional<std::int64_t> i;
  std::optional<std::string> s;
  Boxed<Tensor> t;
  Boxed<Graph> g;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  std::vector<Graph> graphs;
  std::int32_t type = 0;
  std::string ref_attr_name;

  static void fields(auto& self, auto&& visit) {
    visit(1, self.name), visit(2, self.f), visit(3, self.i), visit(4, self.s), visit(5, self.t), visit(6, self.g);
    visit(7, self.floats), visit(8, self.ints), visit(9, self.strings), visit(11, self.graphs), visit(20, self.type);
    visit(21, self.ref_attr_name);
  }
};

struct Node {
  std::vector<std::string> inputs, outputs;
  std::string name, op_type;
  std::vector<Attribute> attributes;
  std::string domain, overload;

  static void fields(auto& self, auto&& visit) {
    visit(1, self.inputs), visit(2, self.outputs), visit(3, self.name), visit(4, self.op_type);
    visit(5, self.attributes), visit(7, self.domain), visit(8, self.overload);
  }
};

struct Graph {
  std::vector<Node> nodes;
  std::string name;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<SparseTensor> sparse_initializers;

  static void fields(auto& self, auto&& visit) {
    visit(1, self.nodes), visit(2, self.name), visit(5, self.initializers), visit(11, self.inputs);
    visit(12, self.outputs), visit(15, self.sparse_initializers);
  }
};

struct OperatorSet {
  std::string domain;
  std::int64_t version = 0;

  static void fields(auto& self, auto&& visit) { visit(1, self.domain), visit(2, self.version); }
};

struct Function {
  std::string name;
  std::vector<std::string> inputs, outputs;
  std::vector<Node> nodes;
  std::vector<OperatorSet> opset_imports;
  std::string domain;
  std::vector<Attribute> attributes;  // with a default
  std::string overload;

  static void fields(auto& self, auto&& visit) {
    visit(1, self.name), visit(4, self.inputs), visit(5, self.outputs), visit(7, self.nodes);
    visit(9, self.opset_imports), visit(10, self.domain), visit(11, self.attributes), visit(13, self.overload);
  }
};

struct Model {
  std::int64_t ir_version = 0;
  std::string producer_name, producer_version;
  std::optional<Graph> graph;
  std::vector<OperatorSet> opset_imports;
  std::vector<KeyValue> metadata_props;
  std::vector<Function> functions;

  static void fields(auto& self, auto&& visit) {
    visit(1, self.ir_version), visit(2, self.producer_name), visit(3, self.producer_version), visit(7, self.graph);
    visit(8, self.opset_imports), visit(14, self.metadata_props), visit(25, self.functions);
  }
};

}  // namespace dovetail::onnx
