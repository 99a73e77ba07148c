#include "simulator/memory/memory.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simulator/memory/bank.h"
#include "simulator/memory/ideal.h"

namespace dovetail::simulator {

namespace {

struct Key {
  std::string_view name;
  std::int64_t* value;
  std::int64_t minimum, maximum;
};

Diagnostic bad(std::string_view text, std::string why, std::string hint) {
  return {"cannot read the memory model", std::string(text), std::move(why), std::move(hint)};
}

// Parses "key=value,key=value" into `keys`.
Result<void> read_keys(std::string_view text, std::string_view list, const std::vector<Key>& keys) {
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
    const std::string_view digits = item.substr(equals + 1);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < found->minimum ||
        value > found->maximum)
      return bad(text,
                 fmt::format("{} is \"{}\", but must be a number from {} to {}", found->name, digits, found->minimum,
                             found->maximum),
                 "write a decimal number");
    *found->value = value;
  }
  return {};
}

// Empty: the clock of the standard.
std::string dram_clock_text(const DramStandard& standard) {
  for (const DramStandard& row : kDramStandards)
    if (row.name == standard.name && row.clock_ps == standard.clock_ps) return {};
  return fmt::format("dram-ps={},", standard.clock_ps);
}

constexpr std::int64_t kMostCycles = 1'000'000;
constexpr std::int64_t kMostBursts = 65536;

std::vector<Key> keys_of(IdealMemory& memory) {
  return {{"latency", &memory.latency, 1, kMostCycles},
          {"bytes", &memory.bytes_per_cycle, 0, 1 << 20},
          {"outstanding", &memory.outstanding, 1, kMostBursts}};
}

}  // namespace

Result<MemorySpec> parse_memory(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
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
                            {"bytes", &memory.base.bytes_per_cycle, 0, 1 << 20},
                            {"outstanding", &memory.base.outstanding, 1, kMostBursts}}));
    memory.seed = static_cast<std::uint64_t>(seed);
    return MemorySpec(memory);
  }
  if (kind == "bank") {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    std::vector<std::string_view> names;
    for (const DramStandard& standard : kDramStandards) {
      names.push_back(standard.name);
      if (standard.name != name) continue;
      BankMemory memory{.standard = standard};
      DOVETAIL_TRY(read_keys(text, rest,
                             {{"clock-ps", &memory.clock_ps, 1, 1'000'000},
                              {"dram-ps", &memory.standard.clock_ps, 1, 1'000'000},
                              {"controller", &memory.controller_cycles, 0, kMostCycles},
                              {"outstanding", &memory.outstanding, 1, kMostBursts}}));
      return MemorySpec(memory);
    }
    return bad(text, fmt::format("there is no DRAM standard \"{}\"", name),
               fmt::format("write bank:NAME with one of {}", fmt::join(names, ", ")));
  }
  return bad(text, fmt::format("there is no memory model \"{}\"", kind),
             "use ideal, bank:STANDARD or perturbed, with key=value after a colon");
}

std::string to_string(const MemorySpec& spec) {
  if (const auto* ideal = std::get_if<IdealMemory>(&spec))
    return fmt::format("ideal:latency={},bytes={},outstanding={}", ideal->latency, ideal->bytes_per_cycle,
                       ideal->outstanding);
  if (const auto* bank = std::get_if<BankMemory>(&spec))
    return fmt::format("bank:{},clock-ps={},{}controller={},outstanding={}", bank->standard.name, bank->clock_ps,
                       dram_clock_text(bank->standard), bank->controller_cycles, bank->outstanding);
  const auto& perturbed = std::get<PerturbedMemory>(spec);
  return fmt::format("perturbed:seed={},latency={},refusal={},base-latency={},bytes={},outstanding={}", perturbed.seed,
                     perturbed.most_latency, perturbed.most_refusal, perturbed.base.latency,
                     perturbed.base.bytes_per_cycle, perturbed.base.outstanding);
}

std::unique_ptr<Memory> make_memory(const MemorySpec& spec, std::int64_t bus_bytes) {
  if (const auto* ideal = std::get_if<IdealMemory>(&spec)) return std::make_unique<IdealModel>(*ideal, bus_bytes);
  if (const auto* bank = std::get_if<BankMemory>(&spec)) return std::make_unique<BankModel>(*bank, bus_bytes);
  return std::make_unique<PerturbedModel>(std::get<PerturbedMemory>(spec), bus_bytes);
}

}  // namespace dovetail::simulator
