#include "driver/samples.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "runtime/executor.h"

namespace dovetail::driver {

namespace {

std::size_t row_bytes(const NdArray& array) {
  return array.bytes().size() / static_cast<std::size_t>(std::max<std::int64_t>(1, array.shape().front()));
}

// Whether the array has rows for the tensor, but another number of rows than the tensor. Zero rows do not count.
bool has_other_rows(const NdArray& array, const bundle::Tensor& tensor) {
  const Shape& have = array.shape();
  return array.dtype() == tensor.dtype && !have.empty() && have.size() == tensor.shape.size() &&
         std::equal(have.begin() + 1, have.end(), tensor.shape.begin() + 1) && have[0] != tensor.shape[0] &&
         have[0] > 0 && tensor.shape[0] > 0;
}

}  // namespace

Result<Samples> Samples::make(const bundle::Bundle& program, std::map<std::string, NdArray> tensors) {
  Samples samples;
  std::string first;
  std::map<std::string, NdArray> as_taken;
  for (const bundle::TensorIndex index : program.inputs) {
    const bundle::Tensor& tensor = program.tensors[static_cast<std::size_t>(index)];
    const auto given = tensors.find(tensor.name);
    if (given == tensors.end() || !has_other_rows(given->second, tensor)) continue;
    const std::int64_t rows = given->second.shape()[0], batch = tensor.shape[0];
    if (!first.empty() && (rows != samples.rows_ || batch != samples.batch_))
      return Diagnostic{"cannot run the samples", "input " + tensor.name,
                        fmt::format("the input has {} rows for a batch of {}, but {} has {} rows for a batch of {}",
                                    rows, batch, first, samples.rows_, samples.batch_),
                        "give every input the same number of rows"};
    first = tensor.name;
    samples.rows_ = rows;
    samples.batch_ = batch;
    samples.many_[tensor.name] = true;
  }
  samples.tensors_ = std::move(tensors);
  if (first.empty()) {
    // There is one run, with as many samples as the first input has rows.
    for (const bundle::TensorIndex index : program.inputs)
      if (const Shape& shape = program.tensors[static_cast<std::size_t>(index)].shape; !shape.empty()) {
        samples.rows_ = samples.batch_ = shape[0];
        break;
      }
  } else {
    samples.runs_ = (samples.rows_ + samples.batch_ - 1) / samples.batch_;
  }
  if (samples.runs_ > 1 && !program.extents.empty())
    return Diagnostic{
        "cannot run the samples",
        "output " + program.tensors[static_cast<std::size_t>(program.extents.front().output)].name,
        fmt::format("the number of elements depends on values, so the outputs of {} runs cannot be stacked",
                    samples.runs_),
        "give samples for one batch"};
  DOVETAIL_TRY(runtime::check_inputs(program, samples.inputs(0)));
  return samples;
}

std::map<std::string, NdArray> Samples::inputs(std::int64_t run) const {
  std::map<std::string, NdArray> inputs;
  for (const auto& [name, array] : tensors_) {
    if (!many_.contains(name)) {
      inputs.emplace(name, array);
      continue;
    }
    Shape shape = array.shape();
    shape[0] = batch_;
    NdArray rows(array.dtype(), shape);
    const std::size_t bytes = row_bytes(array);
    for (std::int64_t r = 0; r < batch_; ++r) {
      const std::int64_t from = std::min(run * batch_ + r, rows_ - 1);
      std::memcpy(rows.bytes().data() + static_cast<std::size_t>(r) * bytes,
                  array.bytes().data() + static_cast<std::size_t>(from) * bytes, bytes);
    }
    inputs.emplace(name, std::move(rows));
  }
  return inputs;
}

NdArray Samples::stacked(const std::vector<NdArray>& results) const {
  const NdArray& one = results.front();
  Shape shape = one.shape();
  const bool by_rows = !many_.empty() && !shape.empty() && shape[0] == batch_;
  if (runs_ == 1 && !by_rows) return one;
  if (by_rows) shape[0] = rows_;
  else shape.insert(shape.begin(), static_cast<std::int64_t>(results.size()));
  NdArray all(one.dtype(), shape);
  std::size_t at = 0;
  for (const NdArray& result : results) {
    const std::size_t bytes = std::min(result.bytes().size(), all.bytes().size() - at);
    std::memcpy(all.bytes().data() + at, result.bytes().data(), bytes);
    at += bytes;
  }
  return all;
}

}  // namespace dovetail::driver
