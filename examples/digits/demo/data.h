// The labeled test images, and the results of an independent implementation.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"

namespace digits {

struct TestSet {
  std::vector<dovetail::NdArray> images;  // float32 [1, 1, 8, 8] each
  std::vector<std::int64_t> labels;
};
dovetail::Result<TestSet> load_test_set(const std::filesystem::path& folder, std::size_t most_images);

// Logits of images, one row of ten each.
using Logits = std::vector<std::vector<double>>;
// int8 [n, 10], computed by examples/digits/integer_form.py with numpy; the first `images` rows.
dovetail::Result<Logits> load_golden(const std::filesystem::path& file, std::size_t images);

std::vector<double> row_of(const dovetail::NdArray& array);
std::size_t count_correct(const Logits& logits, const std::vector<std::int64_t>& labels);
// The number of equal logits, and the total number.
std::size_t count_equal(const Logits& a, const Logits& b);
std::size_t count(const Logits& logits);

}  // namespace digits
