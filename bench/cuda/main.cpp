// The kit's CUDA kernels compared with cuBLAS, cuDNN and ONNX Runtime on this machine's GPU: products, the convolutions
// of ResNet-50, chains of elementwise operators and normalizations, whole networks. docs/results/benchmarks.md
// describes the method.
//
// Usage: bench_cuda [OPTIONS]. Prints one JSON document. Exit code 1: a result was wrong, or a program failed; 2: a
// requirement is not installed, or an option is wrong.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "bench/cuda/cases.h"
#include "bench/cuda/contender.h"
#include "bench/cuda/measure.h"
#include "bench/cuda/onnxruntime.h"
#include "compiler/reference/reference.h"

namespace dovetail::bench {
namespace {

constexpr const char* kUsage =
    "bench_cuda [--filter TEXT] [--number NAME]... [--samples N] [--warm SECONDS] [--sizes N,...] [--batches N,...] "
    "[--networks NAME,...] [--image N] [--sequence N] [--rows N] [--onnxruntime PYTHON [--provider NAME]] "
    "[--results FOLDER]";
constexpr const char* kOurs = "cuda";  // the contender that runs the kit's kernels
constexpr double kMostApart = 1e-3;    // difference of outputs, relative to the largest element

struct Settings {
  Sizes sizes;
  Effort effort;
  std::string filter;                // a substring of "GROUP NAME"
  std::vector<std::string> numbers;  // empty: all
  std::optional<OnnxRuntime> onnxruntime;
  std::string results;  // a folder for a file whose name has the date and the device
};

Diagnostic misused(std::string_view option, std::string why) {
  return {"bad usage of bench_cuda", std::string(option), std::move(why), kUsage};
}

template <typename Number>
Result<Number> number_of(std::string_view option, std::string_view text, Number least) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least)
    return misused(option, fmt::format("\"{}\" must be a number >= {}", text, least));
  return value;
}
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}
Result<std::vector<std::int64_t>> numbers_of(std::string_view option, std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (const std::string& word : words_of(text)) {
    DOVETAIL_ASSIGN(const std::int64_t number, number_of<std::int64_t>(option, word, 1));
    numbers.push_back(number);
  }
  return numbers;
}

Result<Settings> settings_of(const std::vector<std::string>& arguments) {
  Settings settings;
  std::string python, provider;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& option = arguments[i];
    if (i + 1 == arguments.size()) return misused(option, "missing value, or unknown option");
    const std::string& value = arguments[i + 1];
    if (option == "--filter") settings.filter = value;
    else if (option == "--number") settings.numbers.push_back(value);
    else if (option == "--onnxruntime") python = value;
    else if (option == "--provider") provider = value;
    else if (option == "--results") settings.results = value;
    else if (option == "--networks") settings.sizes.networks = words_of(value);
    else if (option == "--sizes") {
      DOVETAIL_ASSIGN(settings.sizes.products, numbers_of(option, value));
    } else if (option == "--batches") {
      DOVETAIL_ASSIGN(settings.sizes.batches, numbers_of(option, value));
    } else if (option == "--warm") {
      DOVETAIL_ASSIGN(settings.effort.warm_seconds, number_of<double>(option, value, 0));
    } else if (option == "--samples") {
      DOVETAIL_ASSIGN(settings.effort.samples, number_of<int>(option, value, 1));
      settings.effort.least_samples = std::min(settings.effort.least_samples, settings.effort.samples);
    } else if (option == "--image") {
      DOVETAIL_ASSIGN(settings.sizes.image, number_of<std::int64_t>(option, value, 1));
    } else if (option == "--sequence") {
      DOVETAIL_ASSIGN(settings.sizes.sequence, number_of<std::int64_t>(option, value, 1));
    } else if (option == "--rows") {
      DOVETAIL_ASSIGN(settings.sizes.rows, number_of<std::int64_t>(option, value, 1));
    } else {
      return misused(option, "unknown option");
    }
  }
  if (!python.empty()) {
    settings.onnxruntime = OnnxRuntime{python};
    if (!provider.empty()) settings.onnxruntime->provider = provider;
  } else if (!provider.empty()) {
    return misused("--provider", "it needs --onnxruntime");
  }
  return settings;
}

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

Result<void> check_equal(const Arrays& outputs, const Arrays& expected, const std::string& whose) {
  for (const auto& [name, tensor] : expected) {
    const auto found = outputs.find(name);
    if (found == outputs.end() || found->second.shape() != tensor.shape())
      return Diagnostic{"wrong result", whose, name + " is missing, or has another shape", ""};
    double largest = 0, apart = 0;
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      largest = std::max(largest, std::abs(tensor.as_double(i)));
      const double difference = std::abs(tensor.as_double(i) - found->second.as_double(i));
      apart = difference <= apart ? apart : difference;  // NaN counts
    }
    if (!(apart <= kMostApart * largest))
      return Diagnostic{"wrong result", whose,
                        fmt::format("{}: difference {} at values up to {}", name, apart, largest),
                        "the contender computes a different function"};
  }
  return {};
}

class Bench {
 public:
  Bench(const Settings& settings, bool has_libraries) : settings_(settings), has_libraries_(has_libraries) {}

  // The row of a case, or of a failure in it.
  Json row(const CaseRow& row) {
    Json json{{"group", name(row.group)}, {"name", row.name}, {"number", row.number}};
    if (row.count > 1) json["count"] = row.count;
    if (auto measured = measure(row, json); !measured) {
      std::fprintf(stderr, "bench: %s, %s: %s\n", row.name.c_str(), row.number.c_str(),
                   to_string(measured.errors()).c_str());
      json["failure"] = to_string(measured.errors());
      failed_ = true;
    }
    return json;
  }
  bool failed() const { return failed_; }

 private:
  std::vector<Targets> targets_of(const CaseRow& row) const {
    std::vector<Targets> list{{kOurs, {"cuda"}}};
    if (!has_libraries_) return list;
    list.push_back({"vendor", {"cudnn", "cublas", "cuda"}, row.group != Group::chain});
    return list;
  }
  Result<std::vector<Contender>> contenders_of(const CaseRow& row, const Case& one, Json* json) {
    std::vector<Contender> contenders;
    for (const Targets& targets : targets_of(row)) {
      DOVETAIL_ASSIGN(Contender contender, make_contender(one, targets));
      contenders.push_back(std::move(contender));
    }
    if (!settings_.onnxruntime || row.group != Group::network) return contenders;
    // A peer that does not run a model is not a failure of ours.
    if (auto peer = make_contender(one, *settings_.onnxruntime)) contenders.push_back(*std::move(peer));
    else if (json != nullptr) (*json)["missing"]["onnxruntime"] = to_string(peer.errors());
    return contenders;
  }

  // Compares each contender with the reference, at a size that the reference evaluates in a second.
  Result<void> check_small(const CaseRow& row) {
    const Case small = row.make_small();
    DOVETAIL_ASSIGN(const Reference reference, Reference::make(small.graph));
    DOVETAIL_ASSIGN(const Arrays values, reference.run(small.inputs));
    Arrays expected;
    for (const graph::ValueId output : small.graph.outputs) {
      const std::string& name = small.graph.value(output).name;
      expected.emplace(name, values.at(name));
    }
    DOVETAIL_ASSIGN(const std::vector<Contender> contenders, contenders_of(row, small, nullptr));
    for (const Contender& contender : contenders) {
      DOVETAIL_ASSIGN(const Arrays outputs, contender.outputs());
      DOVETAIL_TRY(check_equal(outputs, expected, contender.name + ", compared with the reference"));
    }
    return {};
  }
  static Result<void> check_values(const Case& one, const std::string& whose, const Arrays& outputs) {
    const auto right = one.check(outputs, whose == kOurs ? Rounding::once : Rounding::each_step);
    if (right.ok()) return {};
    Diagnostics errors = right.errors();
    for (Diagnostic& error : errors) error.where = whose + ", " + error.where;
    return errors;
  }
  static Result<void> check(const Case& one, const std::vector<Contender>& contenders) {
    Arrays first;
    for (const Contender& contender : contenders) {
      DOVETAIL_ASSIGN(Arrays outputs, contender.outputs());
      if (one.check) DOVETAIL_TRY(check_values(one, contender.name, outputs));
      else if (first.empty()) first = std::move(outputs);
      else DOVETAIL_TRY(check_equal(outputs, first, contender.name + ", compared with the first contender"));
    }
    return {};
  }

  Result<void> measure(const CaseRow& row, Json& json) {
    if (row.make_small) DOVETAIL_TRY(check_small(row));
    const Case one = row.make();
    DOVETAIL_ASSIGN(const std::vector<Contender> contenders, contenders_of(row, one, &json));
    DOVETAIL_TRY(check(one, contenders));
    DOVETAIL_ASSIGN(const std::vector<Timing> timings, measure_alternating(contenders, settings_.effort));
    json["checked"] =
        one.check ? "elements against the definition" : "against the reference at a smaller size, and each other";
    if (one.operations > 0) json["gop"] = rounded(one.operations * 1e-9);
    for (std::size_t i = 0; i < contenders.size(); ++i)
      json["contenders"][contenders[i].name] = to_json(contenders[i], timings[i], one.operations);
    add_ratios(contenders, timings, json);
    return {};
  }

  static Json to_json(const Contender& contender, const Timing& timing, double operations) {
    Json json{{"latency_ms", timing.latency_seconds * 1e3}, {"samples", timing.samples}};
    if (timing.kernel_seconds > 0) {
      json["kernel_ms"] = timing.kernel_seconds * 1e3;
      json["kernel_low_ms"] = timing.kernel_low * 1e3;
      json["kernel_high_ms"] = timing.kernel_high * 1e3;
      if (operations > 0) json["tflop_per_s"] = rounded(operations / timing.kernel_seconds * 1e-12);
    }
    if (contender.device_bytes) json["device_bytes"] = *contender.device_bytes;
    if (contender.steps > 0) {
      json["steps"] = contender.steps;
      json["steps_elsewhere"] = contender.elsewhere;
      json["compile_seconds"] = rounded(contender.compile_seconds);
    }
    return json;
  }
  // Our speedups: above 1, ours is faster.
  static void add_ratios(const std::vector<Contender>& contenders, const std::vector<Timing>& timings, Json& json) {
    for (std::size_t i = 1; i < contenders.size(); ++i) {
      Json& ratio = json["faster_than"][contenders[i].name];
      if (timings[0].kernel_seconds > 0 && timings[i].kernel_seconds > 0)
        ratio["kernels"] = rounded(timings[i].kernel_seconds / timings[0].kernel_seconds);
      ratio["latency"] = rounded(timings[i].latency_seconds / timings[0].latency_seconds);
    }
  }

  const Settings& settings_;
  bool has_libraries_;
  bool failed_ = false;
};

// Geometric means of a group's kernel speedups, or latency speedups if a peer does not report its kernels.
Json summary_of(const Json& rows) {
  std::map<std::string, std::pair<double, int>> sums;
  for (const Json& row : rows) {
    if (!row.contains("faster_than")) continue;
    for (const auto& [peer, ratio] : row["faster_than"].items()) {
      const char* const key = ratio.contains("kernels") ? "kernels" : "latency";
      auto& [sum, count] = sums[fmt::format("{} {} against {}, {}", row["group"].get<std::string>(),
                                            row["number"].get<std::string>(), peer, key)];
      sum += std::log(ratio[key].get<double>());
      ++count;
    }
  }
  Json summary = Json::object();
  for (const auto& [name, sum] : sums)
    summary[name] = {{"geometric_mean", rounded(std::exp(sum.first / sum.second))}, {"rows", sum.second}};
  return summary;
}

Result<void> write_result(const std::string& folder, const Json& report) {
  std::string device = report["machine"]["device"].get<std::string>(), words;
  for (const char c : device) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain) words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!words.empty() && words.back() != '-') words += '-';
  }
  while (words.ends_with('-')) words.pop_back();
  const std::string text = report.dump(1) + "\n";
  return write_file(fmt::format("{}/{}-cuda-{}.json", folder, report["date"].get<std::string>(), words),
                    std::as_bytes(std::span(text)));
}

Result<int> run(const std::vector<std::string>& arguments) {
  DOVETAIL_ASSIGN(const Settings settings, settings_of(arguments));
  DOVETAIL_ASSIGN(const std::vector<CaseRow> cases, all_cases(settings.sizes));
  std::vector<const CaseRow*> chosen;
  for (const CaseRow& row : cases)
    if (fmt::format("{} {}", name(row.group), row.name).find(settings.filter) != std::string::npos &&
        (settings.numbers.empty() || std::ranges::count(settings.numbers, row.number) > 0))
      chosen.push_back(&row);
  if (chosen.empty()) return misused("--filter", "no case has this name and number");
  DOVETAIL_ASSIGN(Json machine, describe_machine());
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  Json report{{"benchmark", "CUDA kernels and their peers"},
              {"date", fmt::format("{:%Y-%m-%d}", now)},
              {"machine", machine},
              {"time",
               "medians of alternating runs: kernel_ms is all steps' by the device's events, latency_ms a run as the "
               "host sees it"}};
  const auto missing = missing_libraries();
  for (const auto& [name, why] : missing) report["missing"][name] = why;
  if (!settings.onnxruntime) report["missing"]["onnxruntime"] = "not asked for: --onnxruntime PYTHON";
  Bench bench(settings, missing.empty());
  report["rows"] = Json::array();
  for (const CaseRow* const row : chosen) {
    std::fprintf(stderr, "bench: %s, %s\n", row->name.c_str(), row->number.c_str());
    report["rows"].push_back(bench.row(*row));
    report["summary"] = summary_of(report["rows"]);
    // Written after every case, so that results survive a later failure.
    if (!settings.results.empty()) DOVETAIL_TRY(write_result(settings.results, report));
  }
  std::puts(report.dump(2).c_str());
  return bench.failed() ? 1 : 0;
}

}  // namespace
}  // namespace dovetail::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a peer's process may exit
  const auto status = dovetail::bench::run({argv + 1, argv + argc});
  if (status.ok()) return *status;
  std::fprintf(stderr, "%s\n", dovetail::to_string(status.errors()).c_str());
  return 2;
}
