#include "driver/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/difference.h"

namespace dovetail::driver {

namespace {

double difference_of(const NdArray& expected, const NdArray& actual, std::int64_t index) {
  const double a = expected.as_double(index), b = actual.as_double(index);
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::abs(a - b);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  DOVETAIL_CHECK(!samples.empty(), "a spread needs samples");
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  const auto at = [&](double part) {
    return samples[static_cast<std::size_t>(std::llround(part * static_cast<double>(n - 1)))];
  };
  return {.median = (samples[(n - 1) / 2] + samples[n / 2]) / 2, .low = at(0.1), .high = at(0.9), .runs = n};
}

Agreement agreement_of(const std::map<std::string, NdArray>& expected, const std::map<std::string, NdArray>& actual,
                       double float_tolerance) {
  Agreement agreement;
  agreement.accepted = true;
  for (const auto& [name, exact] : expected) {
    const NdArray& tensor = actual.at(name);
    DOVETAIL_CHECK(exact.shape() == tensor.shape(), "outputs with different shapes: " + name);
    agreement.elements += static_cast<std::size_t>(exact.count());
    agreement.accepted &= exact.dtype() == tensor.dtype() && !find_difference(exact, tensor, {float_tolerance});
    for (std::int64_t i = 0; i < exact.count(); ++i)
      if (const double difference = difference_of(exact, tensor, i); difference > 0) {
        ++agreement.different;
        agreement.largest = std::max(agreement.largest, difference);
      }
  }
  return agreement;
}

double speed_up(const ComparedModel& model, const ComparedRow& row) {
  double slowest = row.seconds / row.samples();
  for (const ComparedRow& other : model.rows)
    if (other.available()) slowest = std::max(slowest, other.seconds / other.samples());
  return row.seconds > 0 ? slowest * row.samples() / row.seconds : 1;
}

std::optional<double> accelerator_time_share(const ComparedRow& row) {
  if (!row.accelerator || !(row.seconds > 0)) return std::nullopt;
  return row.accelerator->seconds / row.seconds;
}

}  // namespace dovetail::driver
