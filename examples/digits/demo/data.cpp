#include "examples/digits/demo/data.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/npy.h"

namespace digits {

using dovetail::Diagnostic;
using dovetail::NdArray;
using dovetail::Result;

Result<TestSet> load_test_set(const std::filesystem::path& folder, std::size_t most_images) {
  DOVETAIL_ASSIGN(const NdArray images, dovetail::read_npy(folder / "test_images.npy"));
  DOVETAIL_ASSIGN(const NdArray labels, dovetail::read_npy(folder / "test_labels.npy"));
  if (images.dtype() != dovetail::DType::float32 || images.rank() != 4 || labels.rank() != 1 ||
      labels.shape()[0] != images.shape()[0])
    return Diagnostic{
        "cannot use the test set", folder.string(),
        fmt::format("images {}, labels {}", dovetail::to_string(images.shape()), dovetail::to_string(labels.shape())),
        "create it again with examples/digits/train.py"};
  TestSet set;
  dovetail::Shape one = images.shape();
  one[0] = 1;
  const auto image_bytes = static_cast<std::size_t>(dovetail::element_count(one)) * sizeof(float);
  const std::size_t total = std::min(static_cast<std::size_t>(images.shape()[0]), most_images);
  for (std::size_t i = 0; i < total; ++i) {
    const auto bytes = images.bytes().subspan(i * image_bytes, image_bytes);
    set.images.emplace_back(images.dtype(), one, std::vector<std::byte>(bytes.begin(), bytes.end()));
    set.labels.push_back(labels.as_int64(static_cast<std::int64_t>(i)));
  }
  return set;
}

Result<Logits> load_golden(const std::filesystem::path& file, std::size_t images) {
  DOVETAIL_ASSIGN(const NdArray array, dovetail::read_npy(file));
  if (array.rank() != 2 || array.shape()[0] < static_cast<std::int64_t>(images))
    return Diagnostic{"cannot use the expected logits", file.string(),
                      fmt::format("shape {} for {} images", dovetail::to_string(array.shape()), images),
                      "create them again with examples/digits/check.py --accept"};
  const std::vector<double> all = row_of(array);
  Logits logits;
  const auto classes = array.shape()[1];
  for (std::size_t i = 0; i < images; ++i) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i) * classes;
    logits.emplace_back(begin, begin + classes);
  }
  return logits;
}

std::vector<double> row_of(const NdArray& array) {
  std::vector<double> row;
  for (std::int64_t i = 0; i < array.count(); ++i) row.push_back(array.as_double(i));
  return row;
}

std::size_t count_correct(const Logits& logits, const std::vector<std::int64_t>& labels) {
  std::size_t correct = 0;
  for (std::size_t i = 0; i < logits.size(); ++i)
    correct += std::max_element(logits[i].begin(), logits[i].end()) - logits[i].begin() == labels[i];
  return correct;
}

std::size_t count_equal(const Logits& a, const Logits& b) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    for (std::size_t j = 0; j < std::min(a[i].size(), b[i].size()); ++j) equal += a[i][j] == b[i][j];
  return equal;
}

std::size_t count(const Logits& logits) {
  std::size_t total = 0;
  for (const auto& row : logits) total += row.size();
  return total;
}

}  // namespace digits
