// Samples for a model with a smaller batch: arrays whose first axis is longer than the model's are split into batches,
// and the results are stacked again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail::driver {

class Samples {
 public:
  // `tensors` by the names of the program's inputs. Arrays with more rows than the program's input must have the same
  // number of rows; the other arrays are the same in all runs. Error: arrays of another number, type or shape.
  static Result<Samples> make(const bundle::Bundle& program, std::map<std::string, NdArray> tensors);

  std::int64_t runs() const { return runs_; }
  std::int64_t rows() const { return rows_; }    // number of samples
  std::int64_t batch() const { return batch_; }  // rows of one run
  // The inputs of one run. Missing rows of the last run are copies of the last row.
  std::map<std::string, NdArray> inputs(std::int64_t run) const;

  // Concatenates the results of all runs: along the first axis if it is the batch, without the copied rows; else along
  // a new axis.
  NdArray stacked(const std::vector<NdArray>& results) const;

 private:
  std::map<std::string, NdArray> tensors_;
  std::map<std::string, bool> many_;
  std::int64_t runs_ = 1, rows_ = 1, batch_ = 1;
};

}  // namespace dovetail::driver
