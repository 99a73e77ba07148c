// One model on one piece of hardware: compiled, written, loaded, run on every test image, and compared.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bundle/code/program_summary.h"
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
  dovetail::simulator::Counters counters;  // for one image; every image executes the same instructions
  std::uintmax_t bundle_bytes = 0;
  std::vector<std::filesystem::path> files;  // files written
  std::vector<Stage> stages;
  std::vector<Stage> compile_stages;  // the parts of "compile"
  std::size_t images = 0, logits = 0;
  std::size_t reference_correct = 0, accelerator_correct = 0;
  std::size_t equal_to_reference = 0, equal_to_golden = 0;  // number of equal ones among `logits`

  bool agrees() const { return logits > 0 && equal_to_reference == logits && equal_to_golden == logits; }
};

dovetail::Result<Demonstration> demonstrate(const Variant& variant, const TestSet& test_set,
                                            const std::filesystem::path& output_folder);

// The number of correct answers of the float model, evaluated by the reference; adds its time to `stages`.
dovetail::Result<std::size_t> evaluate_float(const TestSet& test_set, std::vector<Stage>& stages);

// The same bundle on the RTL: SystemVerilog, compiled by Verilator into a program that runs it cycle by cycle.
struct OnDesign {
  std::string hardware;
  std::string skipped;  // why the RTL was not run, and the remedy; the other fields are then unused
  std::size_t images = 0, logits = 0, equal_to_functional = 0, equal_to_cycle = 0;
  std::size_t equal_times =
      0;  // images with every instruction issued, started and ended in the same cycle as on the cycle simulator
  std::uint64_t instructions = 0, cycles = 0;                       // for one image
  double build_seconds = 0, design_seconds = 0, cycle_seconds = 0;  // for all images
  bool agrees() const {
    return logits > 0 && equal_to_functional == logits && equal_to_cycle == logits && equal_times == images;
  }
};
// Runs the bundle written by demonstrate() on `images` of the test set. Builds the RTL model if Verilator is installed
// and the model does not exist yet.
dovetail::Result<OnDesign> run_on_design(const Demonstration& demonstration, const TestSet& test_set,
                                         std::size_t images);

dovetail::Json to_json(const Demonstration& demonstration);
dovetail::Json to_json(const OnDesign& design);

}  // namespace digits
