// The runs for quantization: sums over all samples, per tensor, within a memory limit. Interrupted work continues from
// its stored sums.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "compiler/quantize/forward.h"
#include "compiler/quantize/memory.h"

namespace dovetail::quantize {

// Where sums are kept until the work is done.
struct Keeper {
  // The stored sums of a part from interrupted work with the same model, samples and options; null: none.
  std::function<Json(std::string_view part)> find;
  // Called after each run; `sums` returns the sums, to be called when they should be stored.
  std::function<Result<void>(std::string_view part, const std::function<Json()>& sums)> keep;
};

// What is summed over the samples for one tensor or layer.
struct Sum {
  std::string name;                            // unique among the sums of a part
  std::function<Result<void>()> add;           // adds the run of a sample
  std::function<Json()> to_json;               // exact
  std::function<void(const Json&)> from_json;  // Json::exception: it is not what to_json returns
  std::int64_t samples = 0;                    // those that are added, the first ones
};

class Runs {
 public:
  // All outlive this object.
  Runs(const Samples& samples, const Progress& progress, const Keeper& keeper, const MemoryBudget& budget,
       std::vector<std::string_view> parts)
      : samples_(samples), progress_(progress), keeper_(keeper), budget_(budget), parts_(std::move(parts)) {}

  // Prepares the run of a sample for a range of the sums. The sample exists until its sums are added.
  using Run = std::function<Result<void>(const Values& sample)>;
  using MakeRun = std::function<Result<Run>(Range sums)>;
  // `bytes_of`: the memory of a run for a range of the sums (memory.h).
  Result<void> sum(std::string_view part, std::vector<Sum>& sums, const std::string& model,
                   const std::function<std::uint64_t(Range)>& bytes_of, const MakeRun& make) const;

  // For parts other than sums over all samples. `sums` are stored if the caller cancels.
  Result<void> report(std::string_view part, Step step, const std::function<Json()>& sums) const;
  Json kept(std::string_view part) const { return keeper_.find ? keeper_.find(part) : Json(); }
  Result<void> keep(std::string_view part, const std::function<Json()>& sums) const {
    return keeper_.keep ? keeper_.keep(part, sums) : Result<void>{};
  }
  const Samples& samples() const { return samples_; }
  const MemoryBudget& budget() const { return budget_; }

 private:
  const Samples& samples_;
  const Progress& progress_;
  const Keeper& keeper_;
  const MemoryBudget& budget_;
  const std::vector<std::string_view> parts_;
};

}  // namespace dovetail::quantize
