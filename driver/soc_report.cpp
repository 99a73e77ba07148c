#include "driver/soc_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "isa/spec/registers.h"
#include "simulator/soc/driver_results.h"

namespace dovetail::driver {

namespace {

std::string error_name(std::uint64_t code) {
  for (const isa::spec::ErrorCodeInfo& row : isa::spec::kErrorCodes)
    if (static_cast<std::uint64_t>(row.code) == code) return std::string(row.name);
  return fmt::format("error {}", code);
}

template <typename Number>
bool read_number(std::string_view word, Number& number, int base = 10) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  return error == std::errc() && end == word.data() + word.size();
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

bool read_bytes(std::string_view digits, std::vector<std::byte>& bytes) {
  if (digits.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    std::uint8_t value = 0;
    if (!read_number(digits.substr(i, 2), value, 16)) return false;
    bytes.push_back(std::byte{value});
  }
  return true;
}

class Reader {
 public:
  explicit Reader(SocRun& run) : run_(run) {}

  // Whether the line is one of the report.
  bool read(const std::vector<std::string>& words) {
    const std::string& kind = words.front();
    const auto number = [&](std::size_t i, auto& to) { return i < words.size() && read_number(words[i], to); };
    if (kind == "step") {
      std::int64_t result = 0;
      return words.size() == 4 && number(2, result) && number(3, words[1] == "load" ? run_.load_cycles : run_end_);
    }
    if (kind == "output") {
      outputs_.emplace_back();
      return words.size() <= 3 && (words.size() < 3 || read_bytes(words[2], outputs_.back()));
    }
    if (kind == "data") return words.size() == 2 && !outputs_.empty() && read_bytes(words[1], outputs_.back());
    if (kind == "launch") {
      SocLaunch& launch = run_.launches.emplace_back();
      return words.size() == 4 && number(1, launch.begin) && number(2, launch.count) && number(3, launch.cycles);
    }
    if (kind == "interrupts") return words.size() == 2 && number(1, run_.interrupts);
    if (kind == "error") {
      std::uint64_t code = 0;
      if (words.size() != 3 || !number(1, code)) return false;
      run_.status.detail = fmt::format("{} at instruction {}", error_name(code), words[2]);
      return true;
    }
    if (kind == "fault" && words.size() == 3) {
      fault_ = "bus_fault";
      run_.status.detail = fmt::format("{} {} 0x{}", words[1], words[1] == "read" ? "from" : "to", words[2]);
      return true;
    }
    if (kind == "trap" && words.size() == 2) {
      fault_ = "trap";
      run_.status.detail = fmt::format("before 0x{}", words[1]);
      return true;
    }
    if (kind == "end") {
      has_ended_ = words.size() == 2 && number(1, run_.status.result);
      return has_ended_;
    }
    return false;
  }
  bool finish() {
    run_.run_cycles = run_end_ - std::min(run_end_, run_.load_cycles);
    if (!fault_.empty()) run_.status.text = fault_;
    else if (const auto known = simulator::soc::driver_result(run_.status.result); !known.empty())
      run_.status.text = known;
    else if (run_.status.result != 0) run_.status.text = fmt::format("result {}", run_.status.result);
    return has_ended_;
  }
  const std::vector<std::vector<std::byte>>& outputs() const { return outputs_; }

 private:
  SocRun& run_;
  std::vector<std::vector<std::byte>> outputs_;
  std::uint64_t run_end_ = 0;
  std::string fault_;
  bool has_ended_ = false;
};

// Elements whose bits differ; a NaN equals a NaN.
std::uint64_t different_elements(const NdArray& a, const NdArray& b) {
  std::uint64_t different = 0;
  const std::size_t bytes = static_cast<std::size_t>(size_bytes(a.dtype()));
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * bytes;
    if (std::memcmp(&a.bytes()[at], &b.bytes()[at], bytes) == 0) continue;
    if (!is_floating(a.dtype()) || !std::isnan(a.as_double(i)) || !std::isnan(b.as_double(i))) ++different;
  }
  return different;
}

}  // namespace

std::string last_line(std::string_view serial) {
  const std::size_t end = serial.find_last_not_of('\n');
  if (end == std::string_view::npos) return "";
  serial = serial.substr(0, end + 1);
  const std::size_t begin = serial.rfind('\n');
  return printable(serial.substr(begin == std::string_view::npos ? 0 : begin + 1));
}

Result<void> read_report(std::string_view serial, const Exported& exported, const std::vector<SocLaunch>& expected,
                         SocRun& run) {
  const auto bad = [&](std::string_view line) {
    return Diagnostic{"the firmware's report is wrong", exported.plan.model,
                      fmt::format("the line \"{}\" is not one of a report", printable(line)),
                      "report the run: the system on chip, or the model of it, is at fault", Cause::work};
  };
  Reader reader(run);
  std::istringstream stream{std::string(serial)};
  for (std::string line; std::getline(stream, line);)
    if (const auto words = words_of(line); !words.empty() && !reader.read(words)) return bad(line);
  if (!reader.finish()) return bad(last_line(serial));
  for (std::size_t i = 0; i < std::min(expected.size(), run.launches.size()); ++i)
    if (expected[i].begin == run.launches[i].begin && expected[i].count == run.launches[i].count)
      run.launches[i].expected = expected[i].cycles;
  if (run.status.result != 0) return {};
  if (reader.outputs().size() != exported.plan.outputs.size()) return bad(last_line(serial));
  for (std::size_t i = 0; i < exported.plan.outputs.size(); ++i) {
    const exporting::Port& port = exported.plan.outputs[i];
    const NdArray& expected_value = exported.golden.outputs.at(port.tensor);
    const std::vector<std::byte>& bytes = reader.outputs()[i];
    if (bytes.size() != expected_value.bytes().size()) return bad(fmt::format("output {}", i));
    NdArray found(expected_value.dtype(), expected_value.shape(), bytes);
    const std::uint64_t different = different_elements(expected_value, found);
    run.outputs.push_back({port.tensor, std::move(found), different});
  }
  return {};
}

bool SocRun::is_right() const { return problems("").empty(); }

Diagnostics SocRun::problems(const std::string& title) const {
  Diagnostics problems;
  if (status.result != 0) {
    problems.push_back({"the firmware ended with an error", title,
                        status.detail.empty() ? status.text : fmt::format("{}: {}", status.text, status.detail),
                        "docs/howto/system-on-chip.md lists what ends a run", Cause::work});
    return problems;
  }
  for (const SocOutput& output : outputs)
    if (output.different > 0)
      problems.push_back(
          {"the system computed other values", output.name,
           fmt::format("{} of {} elements differ from the reference's", output.different, output.found.count()),
           "run the model on the accelerator's engines to find the first that differs", Cause::work});
  for (const SocLaunch& launch : launches)
    if (launch.expected != launch.cycles)
      problems.push_back(
          {"the system took other cycles",
           fmt::format("instructions {} to {}", launch.begin, launch.begin + launch.count - 1),
           launch.expected ? fmt::format("{} cycles, and the cycle engine {}", launch.cycles, *launch.expected)
                           : "the cycle engine has no such launch",
           "the memory's port was shared with the processor, or the design differs from its contract", Cause::work});
  return problems;
}

}  // namespace dovetail::driver
