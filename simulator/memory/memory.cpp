#include "simulator/memory/memory.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simulator/memory/bank.h"
#include "simulator/memory/ideal.h"

namespace dovetail::simulator {

namespace {

constexpr std::int64_t kMostCycles = 1'000'000;
constexpr std::int64_t kMostBursts = 65536;
constexpr std::int64_t kMostPorts = 64;

struct Key {
  std::string_view name;
  std::variant<std::int64_t*, ByteRate*, std::string*> value;
  std::int64_t minimum = 0, maximum = 0;  // of a number
};

Diagnostic bad(std::string_view text, std::string why, std::string hint) {
  return {"cannot read the memory model", std::string(text), std::move(why), std::move(hint)};
}

// Parses "key=value,key=value" into `keys`.
Result<void> read_keys(std::string_view text, std::string_view list, const std::vector<Key>& keys) {
  std::vector<const Key*> seen;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    const std::size_t equals = item.find('=');
    const Key* found = nullptr;
    std::vector<std::string_view> names;
    for (const Key& key : keys) {
      names.push_back(key.name);
      if (key.name == item.substr(0, equals)) found = &key;
    }
    if (found == nullptr || equals == std::string_view::npos)
      return bad(text, fmt::format("\"{}\" is not a key=value setting of this model", item),
                 fmt::format("the keys are {}", fmt::join(names, ", ")));
    if (std::ranges::find(seen, found) != seen.end())
      return bad(text, fmt::format("{} is set twice", found->name), "set it once");
    seen.push_back(found);
    const std::string_view given = item.substr(equals + 1);
    const auto wrong = [&](std::string must, std::string hint) {
      return bad(text, fmt::format("{} is \"{}\", but must be {}", found->name, given, must), std::move(hint));
    };
    if (auto* const* const string = std::get_if<std::string*>(&found->value)) {
      **string = given;
    } else if (auto* const* const rate = std::get_if<ByteRate*>(&found->value)) {
      const auto read = parse_byte_rate(given);
      if (!read)
        return wrong(fmt::format("a number from 0 to {} with at most {} decimals", kMostRate, kRateDecimals),
                     "write a decimal number; 0 is the width of the bus");
      **rate = *read;
    } else {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
      if (error != std::errc() || end != given.data() + given.size() || value < found->minimum ||
          value > found->maximum)
        return wrong(fmt::format("a number from {} to {}", found->minimum, found->maximum), "write a decimal number");
      *std::get<std::int64_t*>(found->value) = value;
    }
  }
  return {};
}

// The preset or the file of that name.
Result<DramStandard> find_dram(std::string_view text, std::string_view name) {
  std::vector<std::string_view> names;
  for (const DramStandard& standard : dram_standards()) {
    if (standard.name == name) return standard;
    names.push_back(standard.name);
  }
  if (is_dram_file(name)) return read_dram_file(std::string(name));
  return bad(text, fmt::format("there is no DRAM standard \"{}\"", name),
             fmt::format("write bank:NAME with one of {}, or bank:FILE.json", fmt::join(names, ", ")));
}

Result<MemorySpec> parse_bank(std::string_view text, std::string_view rest) {
  const std::size_t comma = rest.find(',');
  DOVETAIL_ASSIGN(DramStandard standard, find_dram(text, rest.substr(0, comma)));
  BankMemory memory{.standard = std::move(standard)};
  std::string hash = memory.standard.hash;
  std::vector<Key> keys{{"clock-ps", &memory.clock_ps, 1, 1'000'000},
                        {"dram-ps", &memory.standard.clock_ps, 1, 1'000'000},
                        {"controller", &memory.controller_cycles, 0, kMostCycles},
                        {"outstanding", &memory.outstanding, 1, kMostBursts},
                        {"ports", &memory.ports, 1, kMostPorts}};
  if (!memory.standard.file.empty()) keys.push_back({"hash", &hash});
  DOVETAIL_TRY(read_keys(text, comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1), keys));
  if (hash != memory.standard.hash)
    return bad(text,
               fmt::format("the numbers of the file have changed: its hash is {}, not {}", memory.standard.hash, hash),
               "restore the file, or leave out hash to use the file as it is");
  return MemorySpec(std::move(memory));
}

// Where the DRAM comes from, and its clock if it is not that of the standard.
std::string dram_text(const DramStandard& dram) {
  return dram.file.empty() ? dram.name : fmt::format("{},hash={}", dram.file, dram.hash);
}
std::string dram_clock_text(const DramStandard& dram) {
  return dram.clock_ps == dram.nominal_clock_ps ? "" : fmt::format("dram-ps={},", dram.clock_ps);
}

std::vector<Key> keys_of(IdealMemory& memory) {
  return {{"latency", &memory.latency, 1, kMostCycles},
          {"bytes", &memory.bytes_per_cycle},
          {"outstanding", &memory.outstanding, 1, kMostBursts},
          {"ports", &memory.ports, 1, kMostPorts}};
}

std::string ports_text(std::int64_t ports) { return ports == 1 ? "" : fmt::format(",ports={}", ports); }

}  // namespace

Result<MemorySpec> parse_memory(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (kind == "ideal") {
    IdealMemory memory;
    DOVETAIL_TRY(read_keys(text, rest, keys_of(memory)));
    return MemorySpec(memory);
  }
  if (kind == "perturbed") {
    PerturbedMemory memory;
    std::int64_t seed = 0;
    DOVETAIL_TRY(read_keys(text, rest,
                           {{"seed", &seed, 0, INT64_MAX},
                            {"latency", &memory.most_latency, 0, kMostCycles},
                            {"refusal", &memory.most_refusal, 0, kMostCycles},
                            {"base-latency", &memory.base.latency, 1, kMostCycles},
                            {"bytes", &memory.base.bytes_per_cycle},
                            {"outstanding", &memory.base.outstanding, 1, kMostBursts},
                            {"ports", &memory.base.ports, 1, kMostPorts}}));
    memory.seed = static_cast<std::uint64_t>(seed);
    return MemorySpec(memory);
  }
  if (kind == "bank") return parse_bank(text, rest);
  return bad(text, fmt::format("there is no memory model \"{}\"", kind),
             "use ideal, bank:STANDARD or perturbed, with key=value after a colon");
}

std::string to_string(const MemorySpec& spec) {
  if (const auto* ideal = std::get_if<IdealMemory>(&spec))
    return fmt::format("ideal:latency={},bytes={},outstanding={}{}", ideal->latency, to_string(ideal->bytes_per_cycle),
                       ideal->outstanding, ports_text(ideal->ports));
  if (const auto* bank = std::get_if<BankMemory>(&spec))
    return fmt::format("bank:{},clock-ps={},{}controller={},outstanding={}{}", dram_text(bank->standard),
                       bank->clock_ps, dram_clock_text(bank->standard), bank->controller_cycles, bank->outstanding,
                       ports_text(bank->ports));
  const auto& perturbed = std::get<PerturbedMemory>(spec);
  return fmt::format("perturbed:seed={},latency={},refusal={},base-latency={},bytes={},outstanding={}{}",
                     perturbed.seed, perturbed.most_latency, perturbed.most_refusal, perturbed.base.latency,
                     to_string(perturbed.base.bytes_per_cycle), perturbed.base.outstanding,
                     ports_text(perturbed.base.ports));
}

std::int64_t ports_of(const MemorySpec& spec) {
  if (const auto* ideal = std::get_if<IdealMemory>(&spec)) return ideal->ports;
  if (const auto* bank = std::get_if<BankMemory>(&spec)) return bank->ports;
  return std::get<PerturbedMemory>(spec).base.ports;
}

MemorySpec with_absolute_file(MemorySpec spec) {
  if (auto* bank = std::get_if<BankMemory>(&spec); bank != nullptr && !bank->standard.file.empty())
    bank->standard.file = std::filesystem::absolute(bank->standard.file).lexically_normal().string();
  return spec;
}

std::unique_ptr<Memory> make_memory(const MemorySpec& spec, std::int64_t bus_bytes) {
  if (const auto* ideal = std::get_if<IdealMemory>(&spec)) return std::make_unique<IdealModel>(*ideal, bus_bytes);
  if (const auto* bank = std::get_if<BankMemory>(&spec)) return std::make_unique<BankModel>(*bank, bus_bytes);
  return std::make_unique<PerturbedModel>(std::get<PerturbedMemory>(spec), bus_bytes);
}

}  // namespace dovetail::simulator
