#include "driver/expectation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/names.h"
#include "driver/value_text.h"

namespace dovetail::driver {

namespace {

// In the integer form, uint8 tensors are int8: zero points and values are smaller by 128.
NdArray as_int8(const NdArray& array) {
  NdArray shifted(DType::int8, array.shape());
  for (std::int64_t i = 0; i < array.count(); ++i) shifted.set_int64(i, array.as_int64(i) - 128);
  return shifted;
}

ComparedTensor compare_one(const NdArray& given, const KeptTensor& tensor, const dovetail::Tolerance& tolerance) {
  ComparedTensor result{tensor.name, tensor.step, given.count()};
  const bool shifted = given.dtype() == DType::uint8 && tensor.array.dtype() == DType::int8;
  const NdArray expected = shifted ? as_int8(given) : given;
  if (expected.dtype() != tensor.array.dtype() || expected.shape() != tensor.array.shape()) {
    result.beyond = given.count();
    result.why = fmt::format("the tensor is {}, expected {}", type_text(tensor.array.dtype(), tensor.array.shape()),
                             type_text(given.dtype(), given.shape()));
    return result;
  }
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double exact = expected.as_double(i), actual = tensor.array.as_double(i);
    if (std::isfinite(exact)) result.largest_expected = std::max(result.largest_expected, std::abs(exact));
    if (exact == actual || (std::isnan(exact) && std::isnan(actual))) continue;
    const double difference = std::abs(exact - actual);
    result.largest =
        std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(result.largest, difference);
  }
  if (const auto difference = find_difference(expected, tensor.array, tolerance)) {
    result.beyond = difference->count;
    result.why = to_string(*difference, expected, tensor.array);
  }
  return result;
}

}  // namespace

const ComparedTensor* Expectation::first() const {
  const auto found = std::ranges::find_if(tensors, [](const ComparedTensor& tensor) { return !tensor.why.empty(); });
  return found == tensors.end() ? nullptr : &*found;
}

Result<Expectation> compare(const std::map<std::string, NdArray>& expected, const std::vector<KeptTensor>& tensors,
                            const dovetail::Tolerance& tolerance) {
  Expectation result{tolerance, {}, {}};
  std::map<std::string, const NdArray*> by_file;
  for (const auto& [name, array] : expected) by_file.emplace(plain_name(name), &array);
  std::set<std::string> found;
  for (const KeptTensor& tensor : tensors) {
    const auto given = by_file.find(plain_name(tensor.name));
    if (given == by_file.end()) continue;
    found.insert(given->first);
    result.tensors.push_back(compare_one(*given->second, tensor, tolerance));
  }
  for (const auto& [name, array] : expected)
    if (!found.contains(plain_name(name))) result.missing.push_back(name);
  if (result.tensors.empty())
    return Diagnostic{"cannot compare the run", fmt::format("{}", fmt::join(result.missing, ", ")),
                      "the run has no tensor of these names",
                      "--dump-tensors DIR writes the tensors of the run, and index.json with their names"};
  return result;
}

}  // namespace dovetail::driver
