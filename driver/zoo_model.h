// Models of the zoo as ONNX files, float or quantized: for `dovetail zoo` and the C interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/report_progress.h"
#include "base/result.h"
#include "compiler/quantize/quantize.h"
#include "compiler/zoo/zoo.h"

namespace dovetail::driver {

struct ZooOptions {
  zoo::Choices choices = {};
  bool int8 = false;  // quantized in QDQ form, with ranges calibrated on seeded samples
  std::string calibration = "min-max";
  std::int64_t samples = 8;           // for the calibration
  int weight_bits = 8;                // or 4
  ReportProgress progress = nullptr;  // of quantizing
};

struct ZooModel {
  std::string name;
  std::uint64_t seed = 1;
  std::int64_t parameters = 0, macs = 0;
  std::size_t nodes = 0;
  std::optional<quantize::Quantized> quantized = {};
  std::vector<std::byte> file = {};  // ONNX

  Json to_json(const Json& file_name) const;  // docs/schema/zoo.json
};
// Errors: an unknown name, a size or option out of range.
Result<ZooModel> make_zoo_model(const std::string& name, const ZooOptions& options);

// The rows of docs/schema/zoo-list.json.
Json zoo_list();

}  // namespace dovetail::driver
