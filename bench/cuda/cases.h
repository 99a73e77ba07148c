// The measured cases: graphs with their inputs, and the definitions of their results.
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
  std::vector<std::int64_t> products = {1024, 2048, 4096, 8192};  // rows = columns = depth
  std::vector<std::int64_t> batches = {1, 32};
  std::vector<std::string> networks = {"resnet50", "mobilenet_v2", "bert_base"};  // from the zoo
  std::int64_t image = 224, sequence = 128;  // for networks that have one, and for the convolutions
  std::int64_t rows = 4096;                  // for the chains
};

// A graph and one set of inputs. Memory for both is allocated when the case is created.
struct Case {
  graph::Graph graph;
  Arrays inputs;
  double operations = 0;  // a multiply-add is two
  bool tf32 = false;      // float32 factors may be rounded
  // Compares some hundred elements of the outputs with their definition, evaluated in binary64 or integers. Null for a
  // case without a definition: its outputs are compared with each other and with the reference on a smaller network.
  std::function<Result<void>(const Arrays& outputs, Rounding rounding)> check = nullptr;
};

enum class Group : std::uint8_t { product, convolution, chain, network };
std::string_view name(Group group);

struct CaseRow {
  Group group;
  std::string name;    // "product 1024", "resnet50, batch 32"
  std::string number;  // type of the factors: float32, tf32, float16, bfloat16, int8
  int count = 1;       // number of such convolutions in the network
  std::function<Case()> make;
  // The same network at a size that the reference evaluates in a second; null: `make` includes a check.
  std::function<Case()> make_small = nullptr;
};
// Error: unknown network, or a size that it does not have.
Result<std::vector<CaseRow>> all_cases(const Sizes& sizes);

}  // namespace dovetail::bench
