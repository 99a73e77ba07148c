// One model on one piece of hardware: compiled, written, loaded, run on every test image, and compared.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bundle/summary.h"
#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "examples/digits/demo/data.h"
#include "simulator/simulator.h"

namespace digits {

struct Variant {
  std::string model;     // in examples/digits
  std::string hardware;  // a named configuration
  std::string golden;    // expected int8 logits
};

struct Stage {
  std::string name;
  double seconds = 0;
};

struct Demonstration {
  Variant variant;
  dovetail::isa::HardwareConfig hardware;
  dovetail::import::ImportReport import;
  std::vector<dovetail::NodePlacement> placement;
  dovetail::bundle::ProgramSummary program;
  dovetail::simulator::Counters counters;  // of one image; every image executes the same instructions
  std::uintmax_t bundle_bytes = 0;
  std::vector<std::filesystem::path> files;  // written
  std::vector<Stage> stages;
  std::vector<Stage> compile_stages;  // what "compile" consists of
  std::size_t images = 0, logits = 0;
  std::size_t reference_correct = 0, accelerator_correct = 0;
  std::size_t equal_to_reference = 0, equal_to_golden = 0;  // of `logits`

  bool agrees() const { return logits > 0 && equal_to_reference == logits && equal_to_golden == logits; }
};

dovetail::Result<Demonstration> demonstrate(const Variant& variant, const TestSet& test_set,
                                            const std::filesystem::path& output_folder);

// Correct answers of the float model, evaluated by the reference; adds its time to `stages`.
dovetail::Result<std::size_t> evaluate_float(const TestSet& test_set, std::vector<Stage>& stages);

dovetail::Json to_json(const Demonstration& demonstration);

}  // namespace digits
