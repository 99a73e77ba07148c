#include "driver/quantize_work.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/memory_limit.h"
#include "base/saturating.h"
#include "base/sha256.h"
#include "base/user_folder.h"
#include "compiler/quantize/ranges.h"
#include "driver/compiled_cache.h"

namespace dovetail::driver {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
// The memory that compilation needs in addition to its graph, measured on networks of 60 to 900 nodes: the code
// generator, and copies of the constants, which are folded, packed and stored.
constexpr std::uint64_t kCompiler = 96 * kMebi, kCopiesOfConstants = 4;
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;
constexpr auto kFirstPause = std::chrono::seconds(1);
constexpr int kPausesPerWrite = 20;  // writing takes at most a twentieth of the time

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
}

std::uint64_t constant_bytes(const graph::Graph& model) {
  std::uint64_t bytes = 0;
  for (const graph::Value& value : model.values)
    if (value.constant) bytes += value.constant->bytes().size();
  return bytes;
}

std::string hash_of(std::span<const std::byte> bytes) { return sha256(bytes); }

}  // namespace

Result<quantize::MemoryBudget> quantize_budget(const std::optional<std::string>& text, const graph::Graph& model) {
  quantize::MemoryBudget budget;
  if (text) {
    const auto bytes = parse_bytes(*text);
    if (!bytes)
      return Diagnostic{"invalid memory limit", *text, "the limit must be a number of bytes",
                        "write it as 512MiB, 8GiB or 1073741824"};
    budget.limit = *bytes;
  } else {
    DOVETAIL_ASSIGN(budget.limit, memory_limit());
  }
  budget.used = resident_bytes() + kCompiler + kCopiesOfConstants * constant_bytes(model);
  return budget;
}

Result<QuantizeSums> QuantizeSums::of(const QuantizeInputs& inputs, std::function<bool()> stopping) {
  QuantizeSums sums;
  sums.stopping_ = std::move(stopping);
  DOVETAIL_ASSIGN(fs::path folder, user_folder(UserFolder::cache));
  folder /= "quantize";
  DOVETAIL_TRY(make_private_folder(folder));
  DOVETAIL_ASSIGN(const std::vector<std::byte> model, import::read_onnx_file(inputs.path));
  Json data = Json::array(), samples = Json::object();
  for (const fs::path& file : inputs.model.report.data_files) {
    DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(file));
    data.push_back(hash_of(bytes));
  }
  for (const auto& [name, array] : inputs.samples)
    samples[name] = {array.shape(), static_cast<int>(array.dtype()), hash_of(array.bytes())};
  const quantize::Options& options = inputs.options;
  const Json content{{"program", program_files()},
                     {"model", hash_of(model)},
                     {"data", data},
                     {"samples", samples},
                     {"shapes", inputs.shapes},
                     {"method", quantize::name(options.method)},
                     {"tail", options.tail},
                     {"weights", static_cast<int>(options.weights)},
                     {"weight_bits", options.weight_bits},
                     {"grid", {static_cast<int>(options.grid.zero_point), static_cast<int>(options.grid.scales)}},
                     {"keep_float", options.keep_float},
                     {"equalize", options.equalize},
                     {"correct_biases", options.correct_biases},
                     {"layer_samples", options.layer_samples}};
  const std::string text = content.dump();
  sums.file_ = folder / (hash_of(std::as_bytes(std::span(text))) + ".cbor");
  sums.next_ = Clock::now() + kFirstPause;
  std::error_code error;
  if (!fs::is_regular_file(sums.file_, error) || other_hands(sums.file_)) return sums;
  const auto bytes = read_file(sums.file_);
  if (!bytes.ok()) return sums;
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes->data());
  Json parts = Json::from_cbor(first, first + bytes->size(), true, false);
  if (parts.is_object()) sums.parts_ = std::move(parts);
  return sums;
}

void QuantizeSums::forget() { parts_ = Json::object(); }

quantize::Keeper QuantizeSums::keeper() {
  return {.find =
              [this](std::string_view part) {
                const auto row = parts_.find(std::string(part));
                return row == parts_.end() ? Json() : *row;
              },
          .keep =
              [this](std::string_view part, const std::function<Json()>& sums) {
                keep(part, sums);
                return Result<void>{};
              }};
}

void QuantizeSums::keep(std::string_view part, const std::function<Json()>& sums) {
  const Clock::time_point start = Clock::now();
  if (!problem_.empty() || (start < next_ && !stopping_())) return;
  parts_[std::string(part)] = sums();
  const std::vector<std::uint8_t> bytes = Json::to_cbor(parts_);
  if (const auto written = write_file(file_, std::as_bytes(std::span(bytes))); !written.ok())
    problem_ = written.errors();
  keep_recent_files(file_, kMostBytes);
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(kFirstPause, kPausesPerWrite * (end - start));
}

void QuantizeSums::remove() {
  std::error_code error;
  fs::remove(file_, error);  // a file that stays is found to be complete, and costs no more than its place
}

}  // namespace dovetail::driver
