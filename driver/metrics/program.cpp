// A user's own metric: a program gets a folder with labels.npy and outputs/NAME.npy, and prints a JSON object of
// numbers.
#include <filesystem>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "base/temporary.h"
#include "driver/metrics/kinds.h"
#include "driver/tensor_files.h"

namespace dovetail::driver {

namespace {

namespace fs = std::filesystem;

Diagnostic failed(const std::string& file, std::string why, std::string hint) {
  return {"cannot measure by a program", file, std::move(why), std::move(hint), Cause::work};
}

}  // namespace

Result<std::vector<Figure>> run_metric_program(const Metric& metric, const MetricInputs& inputs) {
  const auto given = metric.options.find("file");
  if (given == metric.options.end())
    return Diagnostic{"cannot read the metric", "program", "the program's file is missing", "write program:file=FILE"};
  const std::string& file = given->second;
  if (!fs::exists(file))
    return Diagnostic{"cannot measure by a program", file, "the file does not exist", "give the path of a program"};
  DOVETAIL_ASSIGN(const TemporaryPath folder, make_temporary_folder("metric"));
  DOVETAIL_TRY(write_npy(folder.path() / "labels.npy", inputs.labels));
  std::error_code error;
  fs::create_directory(folder.path() / "outputs", error);
  DOVETAIL_ASSIGN(const auto written, write_outputs(folder.path() / "outputs", inputs.outputs));
  // A path without a slash would be looked up in PATH.
  ChildProcess child{.script = file.ends_with(".py") ? R"(exec python3 "$METRIC" "$ARRAYS" >"$ARRAYS/figures.json")"
                                                     : R"(exec "$METRIC" "$ARRAYS" >"$ARRAYS/figures.json")",
                     .variables = {{"METRIC", fs::absolute(file).string()}, {"ARRAYS", folder.path().string()}},
                     .log = folder.path() / "log"};
  DOVETAIL_ASSIGN(const ChildEnd end, run_child(child));
  if (end.exit != 0) {
    const auto log = read_text_file(folder.path() / "log");
    return failed(
        file,
        fmt::format("the program ended with {}{}",
                    end.exit < 0 ? fmt::format("signal {}", end.signal) : fmt::format("exit code {}", end.exit),
                    log.ok() && !log->empty() ? ": " + *log : ""),
        "try the program with a folder that has labels.npy and outputs/NAME.npy");
  }
  DOVETAIL_ASSIGN(const Json json, read_json_file(folder.path() / "figures.json"));
  std::vector<Figure> figures;
  if (!json.is_object())
    return failed(file, "the program's output is not a JSON object", R"(print for example {"f1": 0.91})");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_number())
      return failed(file, fmt::format("{} is not a number", key), R"(print for example {"f1": 0.91})");
    figures.push_back(number_figure(key, key, value.get<double>()));
  }
  return figures;
}

}  // namespace dovetail::driver
