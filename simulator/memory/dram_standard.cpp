#include "simulator/memory/dram_standard.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/check.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "isa/nearest.h"
#include "simulator/memory/dram_presets.h"

namespace dovetail::simulator {

namespace {

constexpr std::string_view kWhat = "cannot read a DRAM file";
constexpr std::int64_t kMostFileBytes = 1 << 20;
constexpr std::int64_t kMostBanks = 65536;  // of all channels and ranks

struct Size {
  std::string_view key;
  std::int64_t DramStandard::*value;
  std::int64_t most;
  bool power_of_two;
};
constexpr std::array<Size, 7> kSizes{{
    {"channels", &DramStandard::channels, 1024, true},
    {"ranks", &DramStandard::ranks, 64, true},
    {"bank_groups", &DramStandard::bank_groups, 64, true},
    {"banks_per_group", &DramStandard::banks_per_group, 1024, true},
    {"row_bytes", &DramStandard::row_bytes, 1 << 20, true},
    {"access_bytes", &DramStandard::access_bytes, 4096, true},
    {"access_clocks", &DramStandard::access_clocks, 1024, false},
}};

struct Time {
  std::string_view key;
  std::int64_t DramStandard::*value;
  std::int64_t least, most;
};
constexpr std::int64_t kMostClocks = 1'000'000, kMostRefresh = 1'000'000'000;
constexpr std::array<Time, 17> kTimes{{
    {"tCL", &DramStandard::cl, 1, kMostClocks},
    {"tCWL", &DramStandard::cwl, 1, kMostClocks},
    {"tRCD", &DramStandard::rcd, 1, kMostClocks},
    {"tRP", &DramStandard::rp, 1, kMostClocks},
    {"tRAS", &DramStandard::ras, 1, kMostClocks},
    {"tCCD_S", &DramStandard::ccd_s, 1, kMostClocks},
    {"tCCD_L", &DramStandard::ccd_l, 1, kMostClocks},
    {"tRRD_S", &DramStandard::rrd_s, 1, kMostClocks},
    {"tRRD_L", &DramStandard::rrd_l, 1, kMostClocks},
    {"tFAW", &DramStandard::faw, 1, kMostClocks},
    {"tWR", &DramStandard::wr, 1, kMostClocks},
    {"tRTP", &DramStandard::rtp, 1, kMostClocks},
    {"tWTR_S", &DramStandard::wtr_s, 1, kMostClocks},
    {"tWTR_L", &DramStandard::wtr_l, 1, kMostClocks},
    {"tRTRS", &DramStandard::rtrs, 0, kMostClocks},
    {"tRFC", &DramStandard::rfc, 1, kMostClocks},
    {"tREFI", &DramStandard::refi, 1, kMostRefresh},
}};

// Times that contradict each other: `shorter` must not exceed `longer`.
struct Order {
  std::string_view shorter, longer;
};
constexpr std::array<Order, 5> kOrders{
    {{"tRCD", "tRAS"}, {"tRRD_S", "tFAW"}, {"tCCD_S", "tCCD_L"}, {"tRRD_S", "tRRD_L"}, {"tWTR_S", "tWTR_L"}}};

template <typename Rows>
std::vector<std::string_view> keys_of(const Rows& rows, std::vector<std::string_view> keys = {}) {
  for (const auto& row : rows) keys.push_back(row.key);
  return keys;
}

// Collects the errors of one file.
class Reader {
 public:
  Reader(const Json& json, std::string_view where) : json_(json), where_(where) {}

  DramStandard read() {
    DramStandard dram;
    if (!check_keys(json_, keys_of(kSizes, {"name", "about", "source", "clock_mhz", "timing", "energy"}), ""))
      return dram;
    dram.name = text(json_, "name", "", R"(name the DRAM, for example "my-lpddr5")");
    if (!std::ranges::all_of(dram.name,
                             [](char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; }))
      wrong("name", fmt::format("\"{}\" has other characters than letters, digits, '-', '_' and '.'", dram.name),
            "choose a name without them");
    if (dram.name.size() > 64) wrong("name", "it is longer than 64 characters", "choose a shorter name");
    text(json_, "source", "", "name the data sheet or the standard of the numbers");
    read_clock(dram);
    for (const Size& row : kSizes) read_size(row, dram);
    if (!json_.contains("timing")) missing("timing");
    else if (check_keys(json_["timing"], keys_of(kTimes), "timing"))
      for (const Time& row : kTimes) read_time(row, json_["timing"], dram);
    if (json_.contains("energy")) read_energies(json_["energy"], dram);
    if (problems_.empty()) check_orders(dram);
    return dram;
  }
  std::array<std::optional<DramEnergySource>, kDramEnergies.size()> sources{};
  const Diagnostics& problems() const { return problems_; }

 private:
  void wrong(std::string_view place, std::string why, std::string hint) {
    problems_.push_back({std::string(kWhat),
                         place.empty() ? std::string(where_) : fmt::format("{}, \"{}\"", where_, place), std::move(why),
                         std::move(hint)});
  }
  void missing(std::string_view key) {
    wrong(key, "the key is missing", "see docs/reference/memory-models.md, or begin with a preset's file");
  }
  std::string text(const Json& json, std::string_view key, std::string_view place, std::string_view hint) {
    if (json.contains(key) && json[key].is_string() && !json[key].get_ref<const std::string&>().empty())
      return json[key].get<std::string>();
    wrong(place.empty() ? std::string(key) : fmt::format("{}.{}", place, key), "it is missing or not text",
          std::string(hint));
    return {};
  }
  // Whether it is an object.
  bool check_keys(const Json& json, const std::vector<std::string_view>& known, std::string_view place) {
    if (!json.is_object()) {
      wrong(place, "expected a JSON object", "see docs/reference/memory-models.md");
      return false;
    }
    for (const auto& [key, value] : json.items())
      if (std::ranges::find(known, key) == known.end())
        wrong(place.empty() ? key : fmt::format("{}.{}", place, key), "the key is unknown",
              isa::suggestion(key, known));
    return true;
  }
  // Other members of an object that has a number: texts.
  void check_texts(const Json& json, std::string_view place, std::vector<std::string_view> numbers) {
    numbers.insert(numbers.end(), {"source", "scaling"});
    check_keys(json, numbers, place);
    for (const std::string_view key : {"source", "scaling"})
      if (json.contains(key)) text(json, key, place, "give text, or leave it out");
  }
  // The number of `json`, which is a number or {"value": number, "source": text}.
  std::optional<double> number(const Json& json, std::string_view place) {
    if (json.is_object()) check_texts(json, place, {"value"});
    const Json& value = json.is_object() && json.contains("value") ? json["value"] : json;
    if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
    wrong(place, fmt::format("{} is not a number", value.is_null() ? "it" : value.dump()),
          "write a number without quotes");
    return std::nullopt;
  }
  std::optional<double> member_number(std::string_view key) {
    if (json_.contains(key)) return number(json_[key], key);
    missing(key);
    return std::nullopt;
  }
  std::optional<std::int64_t> integer(double value, std::string_view place, std::int64_t least, std::int64_t most) {
    if (value == std::floor(value) && value >= static_cast<double>(least) && value <= static_cast<double>(most))
      return static_cast<std::int64_t>(value);
    wrong(place, fmt::format("{:g} is not an integer from {} to {}", value, least, most),
          fmt::format("choose {} in this range", place));
    return std::nullopt;
  }

  void read_clock(DramStandard& dram) {
    const auto mhz = member_number("clock_mhz");
    if (!mhz) return;
    if (!(*mhz >= 1 && *mhz <= 100'000)) {
      wrong("clock_mhz", fmt::format("{:g} MHz is not from 1 to 100000", *mhz),
            "write the frequency of the command clock in MHz, half the data rate of a DDR device");
      return;
    }
    mhz_ = *mhz;
    dram.clock_ps = dram.nominal_clock_ps = std::llround(1e6 / *mhz);
  }
  void read_size(const Size& row, DramStandard& dram) {
    const auto read = member_number(row.key);
    const auto value = read ? integer(*read, row.key, 1, row.most) : std::nullopt;
    if (!value) return;
    if (row.power_of_two && !std::has_single_bit(static_cast<std::uint64_t>(*value)))
      return wrong(row.key, fmt::format("{} is not a power of two", *value),
                   fmt::format("choose {} or {}", std::bit_floor(static_cast<std::uint64_t>(*value)),
                               std::bit_ceil(static_cast<std::uint64_t>(*value))));
    dram.*row.value = *value;
  }
  // Clocks, or {"ns": time, "clocks": the least number of clocks}: either or both.
  void read_time(const Time& row, const Json& times, DramStandard& dram) {
    const std::string place = fmt::format("timing.{}", row.key);
    if (!times.contains(row.key))
      return wrong(place, "the key is missing", R"(write clocks, or {"ns": 18, "clocks": 4})");
    const Json& json = times[row.key];
    double clocks = 0;
    if (json.is_object()) {
      check_texts(json, place, {"ns", "clocks"});
      if (!json.contains("ns") && !json.contains("clocks"))
        return wrong(place, "it has neither \"ns\" nor \"clocks\"", R"(write {"ns": 18, "clocks": 4})");
      if (json.contains("clocks")) {
        const auto least = number(json["clocks"], place + ".clocks");
        const auto whole = least ? integer(*least, place + ".clocks", 0, row.most) : std::nullopt;
        if (!whole) return;
        clocks = static_cast<double>(*whole);
      }
      if (json.contains("ns")) {
        const auto ns = number(json["ns"], place + ".ns");
        if (!ns) return;
        if (!(*ns >= 0)) return wrong(place + ".ns", fmt::format("{:g} ns is below 0", *ns), "write nanoseconds");
        // Rounded up to whole clocks; the tolerance is that of a decimal number.
        const double rounded = std::ceil(*ns * mhz_ * 1e-3 - 1e-6);
        clocks = std::max(clocks, rounded);
      }
    } else {
      const auto value = number(json, place);
      if (!value) return;
      clocks = *value;
    }
    if (const auto value = integer(clocks, place, row.least, row.most)) dram.*row.value = *value;
  }
  void read_energies(const Json& json, DramStandard& dram) {
    if (!check_keys(json, keys_of(kDramEnergies), "energy")) return;
    for (std::size_t i = 0; i < kDramEnergies.size(); ++i) {
      const DramEnergyInfo& row = kDramEnergies[i];
      if (!json.contains(row.key)) continue;
      const std::string place = fmt::format("energy.{}", row.key);
      const Json& energy = json[row.key];
      if (!energy.is_object()) {
        wrong(place, "it is not a JSON object",
              fmt::format(R"(write {{"value": 1, "unit": "{}", "source": "..."}})", row.unit));
        continue;
      }
      check_texts(energy, place, {"value", "unit", "voltage"});
      DramEnergySource& source = sources[i].emplace();
      source.source = text(energy, "source", place, "name the source of the number: a data sheet, a paper");
      if (energy.contains("scaling") && energy["scaling"].is_string()) source.scaling = energy["scaling"];
      if (energy.contains("voltage")) source.voltage = number(energy["voltage"], place + ".voltage");
      if (const std::string unit = text(energy, "unit", place, fmt::format("it is \"{}\"", row.unit));
          !unit.empty() && unit != row.unit)
        wrong(place, fmt::format("the unit is \"{}\", but must be \"{}\"", unit, row.unit), "convert the value");
      const auto value = number(energy.contains("value") ? energy["value"] : Json(), place + ".value");
      if (!value) continue;
      if (!(*value >= row.least && *value <= row.most))
        wrong(place,
              fmt::format("{:g} {} is outside {:g} to {:g}, the range for this energy", *value, row.unit, row.least,
                          row.most),
              fmt::format("check the unit: values are in {}", row.unit));
      dram.energy.*row.value = source.value = *value;
    }
  }

  void check_orders(const DramStandard& dram) {
    const auto clocks = [&](std::string_view key) { return dram.*std::ranges::find(kTimes, key, &Time::key)->value; };
    for (const auto& [shorter, longer] : kOrders)
      if (clocks(shorter) > clocks(longer))
        wrong(fmt::format("timing.{}", longer),
              fmt::format("{} clocks are less than the {} of {}", clocks(longer), clocks(shorter), shorter),
              fmt::format("{} must be at least {}", longer, shorter));
    if (dram.refi <= dram.rfc + dram.rp)
      wrong("timing.tREFI",
            fmt::format("{} clocks are not more than the {} of tRFC and tRP: the DRAM would always refresh", dram.refi,
                        dram.rfc + dram.rp),
            "tREFI is typically ten to thirty times tRFC");
    if (dram.row_bytes < dram.access_bytes)
      wrong("row_bytes", fmt::format("{} bytes are less than the {} of an access", dram.row_bytes, dram.access_bytes),
            "row_bytes is the row of a bank in all devices of a rank together");
    const std::int64_t banks = dram.channels * dram.ranks * dram.bank_groups * dram.banks_per_group;
    if (banks > kMostBanks)
      wrong("channels", fmt::format("all channels have {} banks, more than {}", banks, kMostBanks),
            "reduce channels, ranks, bank_groups or banks_per_group");
  }

  const Json& json_;
  std::string_view where_;
  double mhz_ = 0;
  Diagnostics problems_;
};

// Of all numbers that times and energies depend on.
std::string hash_of(const DramStandard& dram) {
  Hash hash;
  hash.add(dram.name);
  hash.add(fmt::format("{}", dram.nominal_clock_ps));
  for (const Size& row : kSizes) hash.add(fmt::format("{}", dram.*row.value));
  for (const Time& row : kTimes) hash.add(fmt::format("{}", dram.*row.value));
  for (const DramEnergyInfo& row : kDramEnergies)
    hash.add(dram.energy.*row.value ? fmt::format("{}", *(dram.energy.*row.value)) : "");
  return hash.text();
}

using EnergySources = std::array<std::optional<DramEnergySource>, kDramEnergies.size()>;

Result<DramStandard> parse(std::string_view text, std::string_view where, EnergySources* sources) {
  DOVETAIL_ASSIGN(const Json json, parse_json(text, where));
  Reader reader(json, where);
  DramStandard dram = reader.read();
  if (!reader.problems().empty()) return reader.problems();
  dram.hash = hash_of(dram);
  if (sources != nullptr) *sources = reader.sources;
  return dram;
}

struct Presets {
  std::vector<DramStandard> standards;
  std::vector<EnergySources> sources;
};
const Presets& presets() {
  static const Presets all = [] {
    Presets read;
    for (const DramPreset& preset : dram_presets()) {
      auto dram = parse(preset.text, preset.path, &read.sources.emplace_back());
      DOVETAIL_CHECK(dram.ok(), to_string(dram.errors()));
      read.standards.push_back(*std::move(dram));
    }
    return read;
  }();
  return all;
}

}  // namespace

const std::vector<DramStandard>& dram_standards() { return presets().standards; }
const std::vector<EnergySources>& dram_energy_sources() { return presets().sources; }

Result<DramStandard> parse_dram(std::string_view json, std::string_view where) { return parse(json, where, nullptr); }

Result<DramStandard> read_dram_file(const std::string& path) {
  DOVETAIL_ASSIGN(const std::string text, read_text_file(path, kMostFileBytes));
  DOVETAIL_ASSIGN(DramStandard dram, parse_dram(text, path));
  dram.file = path;
  return dram;
}

bool is_dram_file(std::string_view name) { return name.ends_with(".json") || name.find('/') != std::string_view::npos; }

}  // namespace dovetail::simulator
