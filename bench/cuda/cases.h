// What is measured: graphs with their inputs, and what their results must be.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "bench/cuda/definitions.h"
#include "compiler/graph/graph.h"

namespace dovetail::bench {

using Arrays = std::map<std::string, NdArray>;

struct Sizes {
  std::vector<std::int64_t> products = {1024, 2048, 4096, 8192};  // rows, columns and depth alike
  std::vector<std::int64_t> batches = {1, 32};
  std::vector<std::string> networks = {"resnet50", "mobilenet_v2", "bert_base"};  // of the zoo
  std::int64_t image = 224, sequence = 128;  // of networks that have one, and of the convolutions
  std::int64_t rows = 4096;                  // of the chains
};

// A graph and one set of inputs. Memory for both is taken when the case is made.
struct Case {
  graph::Graph graph;
  Arrays inputs;
  double operations = 0;  // a multiply-add is two
  bool tf32 = false;      // factors of float32 may be rounded
  // Holds outputs to their definition, evaluated in binary64 or integers, at some hundred elements; null: there is
  // none, and outputs are held to each other's and to the reference of a smaller network.
  std::function<Result<void>(const Arrays& outputs, Rounding rounding)> check = nullptr;
};

enum class Group : std::uint8_t { product, convolution, chain, network };
std::string_view name(Group group);

struct CaseRow {
  Group group;
  std::string name;    // "product 1024", "resnet50, batch 32"
  std::string number;  // what is multiplied: float32, tf32, float16, bfloat16, int8
  int count = 1;       // how often the network has such a convolution
  std::function<Case()> make;
  // The same network at a size that the reference evaluates in a second; null: `make` has its own check.
  std::function<Case()> make_small = nullptr;
};
// Error: there is no such network, or it has no such size.
Result<std::vector<CaseRow>> all_cases(const Sizes& sizes);

}  // namespace dovetail::bench
