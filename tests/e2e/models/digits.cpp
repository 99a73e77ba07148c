// The digits models compared with goldens that a separate implementation computed from the definition of the integer
// form (examples/digits).
#include "compiler/import/onnx.h"
#include "compiler/passes/list.h"
#include "compiler/reference/reference.h"
#include "tests/e2e/models/sample.h"

namespace dovetail {
namespace {

NdArray read(const test::fs::path& path) {
  auto array = read_npy(path);
  if (!array) FAIL(to_string(array.errors()));
  return *std::move(array);
}

}  // namespace

TEST_CASE("digits in integers equal the golden logits on all images") {
  const test::fs::path folder = test::fs::path(DOVETAIL_SOURCE_DIR) / "examples" / "digits";
  const std::string model = GENERATE("int8", "int8_pow2");
  INFO(model);
  auto imported = import::import_onnx_file(folder / ("digits_" + model + ".onnx"));
  if (!imported) FAIL(to_string(imported.errors()));
  const auto lowered = passes::lower_qdq(imported->graph);
  if (!lowered) FAIL(to_string(lowered.errors()));
  CHECK(lowered->notes.empty());
  const auto reference = Reference::make(imported->graph);
  if (!reference) FAIL(to_string(reference.errors()));

  const NdArray images = read(folder / "test_images.npy"),
                golden = read(folder / ("expected_" + model + "_logits.npy")),
                labels = read(folder / "test_labels.npy");
  REQUIRE(images.shape() == Shape{360, 1, 8, 8});
  REQUIRE(golden.shape() == Shape{360, 10});
  std::int64_t different = 0, right = 0;
  for (std::int64_t n = 0; n < 360; ++n) {
    NdArray image(DType::float32, {1, 1, 8, 8});
    for (std::int64_t i = 0; i < 64; ++i) image.set_double(i, images.as_double(n * 64 + i));
    const auto outputs = reference->run({{"image", image}});
    if (!outputs) FAIL(to_string(outputs.errors()));
    const NdArray& logits = outputs->at("logits_q");
    for (std::int64_t k = 0; k < 10; ++k) different += logits.as_int64(k) != golden.as_int64(n * 10 + k);
    right += test::arg_max(outputs->at("logits")) == labels.as_int64(n);
  }
  CHECK(different == 0);
  CHECK(right == 359);
}

}  // namespace dovetail
