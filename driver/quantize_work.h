// Support for long quantization: a memory limit, and sums that outlive an interrupted command.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/import/onnx.h"
#include "compiler/quantize/quantize.h"

namespace dovetail::driver {

// `text`: "2GiB", "512MiB", bytes; nullopt: base/memory_limit.h. The model and its samples are in memory already.
Result<quantize::MemoryBudget> quantize_budget(const std::optional<std::string>& text, const graph::Graph& model);

// Everything that the sums of quantizing depend on.
struct QuantizeInputs {
  const import::Imported& model;
  const std::string& path;
  const std::map<std::string, NdArray>& samples;
  const quantize::Options& options;
  Json shapes;  // as given
};

// A file in the user's cache, under a hash of the inputs. It is written periodically, in a small share of the time, and
// whenever `stopping` returns true: the work is about to end.
class QuantizeSums {
 public:
  // Error: the model cannot be read, or there is no folder.
  static Result<QuantizeSums> of(const QuantizeInputs& inputs, std::function<bool()> stopping);

  // The sums of interrupted work; nothing if they are missing, damaged or another user's.
  bool found() const { return !parts_.empty(); }
  void forget();              // the sums that were found
  quantize::Keeper keeper();  // this object outlives it
  void remove();              // the work is done
  // Why sums could not be written; later ones are not either. Empty: they could.
  const Diagnostics& problem() const { return problem_; }

 private:
  using Clock = std::chrono::steady_clock;
  void keep(std::string_view part, const std::function<Json()>& sums);

  std::filesystem::path file_;
  Json parts_ = Json::object();
  std::function<bool()> stopping_;
  Clock::time_point next_;
  Diagnostics problem_;
};

}  // namespace dovetail::driver
