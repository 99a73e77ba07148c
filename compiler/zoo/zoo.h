// Known topologies with pseudo-random weights: models of realistic shape for compilers, simulators and benchmarks,
// without a trained file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::zoo {

struct Choices {
  std::uint64_t seed = 1;  // of the weights only, not of inputs
  std::int64_t batch = 1;
  std::optional<std::int64_t> image;     // rows and columns of a square image
  std::optional<std::int64_t> sequence;  // positions of a transformer
};

struct Model {
  graph::Graph graph;  // float32, ONNX operators, types inferred
  std::int64_t parameters =
      0;  // trainable: weights, biases, scales; neither running statistics nor constants of the topology
  std::int64_t macs = 0;  // of convolutions and matrix products, for the whole batch
};

// A size option of a family.
struct Range {
  std::int64_t standard = 0, least = 0, greatest = 0;  // all 0: the family has no such option
  bool chosen() const { return standard != 0; }
};

class Builder;

struct Row {
  std::string_view name;
  std::string_view summary;  // for `dovetail zoo list`
  Range image, sequence;
  std::int64_t parameters, macs;                       // at batch 1 and standard sizes; checked by a test
  void (*build)(Builder& builder, std::int64_t size);  // `size`: of the image or the sequence
};

// All models, in the order of the list.
std::span<const Row> all();

// Errors: an unknown name, a size out of range, or one that the model does not have.
Result<Model> make(std::string_view name, const Choices& choices = {});

}  // namespace dovetail::zoo
