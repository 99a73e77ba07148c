// Many samples for a model that takes a batch at a time: arrays whose first axis is longer than the model's are run row
// by row, and what comes out is stacked again.
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
  // `tensors` by the names of the program's inputs. Those with more rows than the program takes have the same number of
  // rows; the others are the same in all runs. Error: arrays of another number, type or shape.
  static Result<Samples> make(const bundle::Bundle& program, std::map<std::string, NdArray> tensors);

  std::int64_t runs() const { return runs_; }
  std::int64_t rows() const { return rows_; }    // in all: samples
  std::int64_t batch() const { return batch_; }  // rows of a run
  // Of the last run, rows that are missing are copies of the last one.
  std::map<std::string, NdArray> inputs(std::int64_t run) const;

  // The results of all runs, as one array: along the first axis where that is the batch, and only the rows that were
  // given; else along a new one.
  NdArray stacked(const std::vector<NdArray>& results) const;

 private:
  std::map<std::string, NdArray> tensors_;
  std::map<std::string, bool> many_;
  std::int64_t runs_ = 1, rows_ = 1, batch_ = 1;
};

}  // namespace dovetail::driver
