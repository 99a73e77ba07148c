// digits_demo OUTPUT_DIR [--images N]
//
// Two quantized models of the digits example, compiled for two accelerators, executed instruction by instruction on the
// functional simulator for every test image, and compared bit for bit with two other implementations; then, if
// Verilator is installed, on the RTL, with its values and cycles compared too. Exit code 0: all agree; 1: something
// differs; 2: bad usage or a file that cannot be read. demonstrate.cpp shows how to compile, bundle and run a model
// from C++.
#include <charconv>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "base/file.h"
#include "examples/digits/demo/demonstrate.h"
#include "examples/digits/demo/print.h"

namespace {

using namespace dovetail;

int fail(int exit, const Diagnostics& diagnostics) {
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", to_string(diagnostics));
  return exit;
}

// The extensions requantize in one instruction; the base instruction set composes the same arithmetic from shifts, sums
// and products, with less work if all scales are powers of two.
const std::vector<digits::Variant> kVariants{{"digits_int8.onnx", "1x16x16-ext", "expected_int8_logits.npy"},
                                             {"digits_int8.onnx", "1x16x16", "expected_int8_logits.npy"},
                                             {"digits_int8_pow2.onnx", "1x16x16", "expected_int8_pow2_logits.npy"}};

constexpr std::size_t kImagesOnDesign = 20;

int run(const std::filesystem::path& output_folder, std::size_t images) {
  const auto test_set = digits::load_test_set(DIGITS_FOLDER, images);
  if (!test_set.ok()) return fail(2, test_set.errors());
  fmt::print(
      "Handwritten digits, from ONNX to accelerator instructions: {} test images, each model executed on the "
      "functional simulator\n\n",
      test_set->images.size());

  std::vector<digits::Demonstration> demos;
  Json report{{"kind", "digits_demo"}, {"models", Json::array()}};
  for (const digits::Variant& variant : kVariants) {
    auto demo = digits::demonstrate(variant, *test_set, output_folder);
    if (!demo.ok()) return fail(1, demo.errors());
    digits::print_demonstration(*demo);
    report["models"].push_back(digits::to_json(*demo));
    demos.push_back(*std::move(demo));
  }
  std::vector<digits::Stage> stages;
  const auto float_correct = digits::evaluate_float(*test_set, stages);
  if (!float_correct.ok()) return fail(1, float_correct.errors());
  report["float_correct"] = *float_correct;
  digits::print_verdict(demos, *float_correct, stages);

  // The RTL is last: building its model takes longer than everything before, and the other results are already printed.
  fmt::print(
      "Next, the RTL; if its model does not exist yet, Verilator, if installed, builds it in about ten "
      "seconds.\n\n");
  std::fflush(stdout);
  const auto design = digits::run_on_design(demos.front(), *test_set, kImagesOnDesign);
  if (!design.ok()) return fail(1, design.errors());
  digits::print_on_design(*design, demos.front().variant.model);
  report["design"] = digits::to_json(*design);

  const std::filesystem::path path = output_folder / "report.json";
  if (const auto written = write_text_file(path, report.dump(2) + "\n"); !written.ok())
    return fail(2, written.errors());
  fmt::print("Report: {}\n", path.string());
  Diagnostics problems;
  for (const digits::Demonstration& demo : demos)
    if (!demo.agrees())
      problems.push_back(
          {"the accelerator disagrees", demo.variant.model,
           fmt::format("{} of {} logits equal the integer reference, {} the numpy one", demo.equal_to_reference,
                       demo.logits, demo.equal_to_golden),
           fmt::format("dovetail run examples/digits/{} --target accel --hw {} --check names the first node",
                       demo.variant.model, demo.variant.hardware)});
  if (design->skipped.empty() && !design->agrees())
    problems.push_back({"the design disagrees", design->hardware,
                        fmt::format("{} of {} logits equal the functional simulator's, and the times of {} of {} "
                                    "images equal the cycle simulator's",
                                    design->equal_to_functional, design->logits, design->equal_times, design->images),
                        "dovetail trace diff names the first instruction that diverges"});
  if (!problems.empty()) return fail(1, problems);
  fmt::print("All agree, bit for bit.\n");
  return 0;
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::size_t images = SIZE_MAX;
  bool usage = argument_count == 2 || argument_count == 4;
  if (argument_count == 4) {
    const char* end = arguments[3] + std::strlen(arguments[3]);
    const auto [parsed, error] = std::from_chars(arguments[3], end, images);
    usage = std::strcmp(arguments[2], "--images") == 0 && error == std::errc{} && parsed == end && images > 0;
  }
  if (!usage || arguments[1][0] == '-')
    return fail(
        2, {{"bad usage of digits_demo", "", "it needs a folder for its files, and optionally the number of images",
             "digits_demo OUTPUT_DIR [--images N]"}});
  return run(arguments[1], images);
}
