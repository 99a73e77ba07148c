// The labeled test images, and what an independent implementation says of them.
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
// int8 [n, 10], made by examples/digits/integer_form.py with numpy; the first `images` rows.
dovetail::Result<Logits> load_golden(const std::filesystem::path& file, std::size_t images);

std::vector<double> row_of(const dovetail::NdArray& array);
std::size_t count_correct(const Logits& logits, const std::vector<std::int64_t>& labels);
// Logits that are the same in both, of how many.
std::size_t count_equal(const Logits& a, const Logits& b);
std::size_t count(const Logits& logits);

}  // namespace digits
