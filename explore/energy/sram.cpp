#include "explore/energy/sram.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

namespace dovetail::explore {

namespace {

constexpr std::size_t kTerms = 4;

std::array<double, kTerms> terms(double bits, double word_bits) {
  const double edge = std::sqrt(bits);
  return {word_bits, edge, word_bits * edge, bits};
}

// Gauss-Jordan elimination with pivots. Precondition: the matrix is regular.
std::vector<double> solve(std::vector<std::vector<double>> rows, std::vector<double> right) {
  const std::size_t size = right.size();
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t pivot = i;
    for (std::size_t k = i; k < size; ++k)
      if (std::abs(rows[k][i]) > std::abs(rows[pivot][i])) pivot = k;
    std::swap(rows[i], rows[pivot]);
    std::swap(right[i], right[pivot]);
    for (std::size_t k = 0; k < size; ++k) {
      if (k == i) continue;
      const double factor = rows[k][i] / rows[i][i];
      for (std::size_t j = i; j < size; ++j) rows[k][j] -= factor * rows[i][j];
      right[k] -= factor * right[i];
    }
  }
  for (std::size_t i = 0; i < size; ++i) right[i] /= rows[i][i];
  return right;
}

SramFit fitted(const std::vector<SramPoint>& points, double SramPoint::*value) {
  std::vector<std::array<double, kTerms>> samples;  // terms divided by the point's value, so that the fit should give 1
  for (const SramPoint& point : points) {
    samples.push_back(terms(8 * point.bytes, point.word_bits));
    for (double& term : samples.back()) term /= point.*value;
  }
  // Terms with a negative coefficient are left out, the most negative first.
  std::vector<std::size_t> used{0, 1, 2, 3};
  std::vector<double> found;
  for (;;) {
    std::vector<std::vector<double>> rows(used.size(), std::vector<double>(used.size()));
    std::vector<double> right(used.size());
    for (const auto& sample : samples)
      for (std::size_t i = 0; i < used.size(); ++i) {
        right[i] += sample[used[i]];
        for (std::size_t j = 0; j < used.size(); ++j) rows[i][j] += sample[used[i]] * sample[used[j]];
      }
    found = solve(std::move(rows), std::move(right));
    const auto least = std::min_element(found.begin(), found.end());
    if (*least >= 0) break;
    used.erase(used.begin() + (least - found.begin()));
  }
  SramFit fit;
  for (std::size_t i = 0; i < used.size(); ++i) fit.coefficients[used[i]] = found[i];
  for (const SramPoint& point : points) {
    const double error = std::abs(fit.at(8 * point.bytes, point.word_bits) / (point.*value) - 1);
    fit.mean_error += error / static_cast<double>(points.size());
    fit.worst_error = std::max(fit.worst_error, error);
  }
  return fit;
}

}  // namespace

double SramFit::at(double bits, double word_bits) const {
  const auto values = terms(bits, word_bits);
  double sum = 0;
  for (std::size_t i = 0; i < kTerms; ++i) sum += coefficients[i] * values[i];
  return sum;
}

double SramModel::split(const SramFit& fit, double bits, double word_bits) const {
  const double macros = std::max(1.0, word_bits / macro_bits);
  return macros * fit.at(bits / macros, word_bits / macros);
}

void fit(SramModel& model) {
  model.read = fitted(model.points, &SramPoint::read_pj);
  model.write = fitted(model.points, &SramPoint::write_pj);
  model.leakage = fitted(model.points, &SramPoint::leakage_mw);
}

}  // namespace dovetail::explore
