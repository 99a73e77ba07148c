#include "tests/torture/space_coverage.h"

#include <variant>

#include <fmt/format.h>

#include "isa/spec/config.h"

namespace dovetail::test {

namespace {

constexpr std::array<std::string_view, 2> kEndNames{"least", "most"};
constexpr std::array<std::string_view, 2> kEncodingNames{"compact", "wide"};
constexpr std::array<std::string_view, 9> kMemoryTraits{"memory ideal",
                                                        "memory perturbed",
                                                        "memory of one burst at a time",
                                                        "memory of any number of bursts",
                                                        "memory after 1,000 cycles",
                                                        "memory slower than the bus",
                                                        "memory faster than the bus",
                                                        "memory as fast as the bus",
                                                        "memory of a fractional rate"};

std::string end_bin(std::string_view parameter, RangeEnd end) {
  return fmt::format("{} {}", parameter, kEndNames[static_cast<std::size_t>(end)]);
}
std::string encoding_bin(isa::Encoding encoding) {
  return fmt::format("encoding {}", kEncodingNames[static_cast<std::size_t>(encoding)]);
}
// Bit i of the subset stands for row i of the table.
std::string extensions_bin(std::size_t subset) {
  std::string text = "extensions";
  for (std::size_t i = 0; i < isa::spec::kExtensions.size(); ++i)
    if ((subset >> i & 1) != 0) text += fmt::format(" {}", isa::spec::kExtensions[i].key);
  return subset == 0 ? text + " none" : text;
}
std::string bank_bin(std::string_view standard) { return fmt::format("memory bank:{}", standard); }
std::string clock_bin(std::int64_t clock_ps) { return fmt::format("memory bank at {} ps", clock_ps); }
std::string verdict_bin(Verdict verdict) { return fmt::format("verdict {}", name(verdict)); }
std::string timed_bin(Verdict verdict) { return fmt::format("times compared up to a {}", name(verdict)); }
std::string mutation_bin(Mutation mutation) {
  return fmt::format("mutation {}", kMutationNames[static_cast<std::size_t>(mutation)]);
}
std::string code_bin(isa::spec::ErrorCode code) {
  for (const isa::spec::ErrorCodeInfo& row : isa::spec::kErrorCodes)
    if (row.code == code) return fmt::format("error code {}", row.name);
  return fmt::format("error code {}", static_cast<int>(code));
}

}  // namespace

SpaceCoverage::SpaceCoverage(const DesignLimits& limits, const Engines& engines, bool wrong)
    : limits_(limits), rtl_(engines.rtl) {
  for (const isa::spec::Parameter& row : isa::spec::kParameters)
    for (const RangeEnd end : {RangeEnd::least, RangeEnd::most}) bins_[end_bin(row.key, end)];
  for (const isa::Encoding encoding : {isa::Encoding::compact, isa::Encoding::wide}) bins_[encoding_bin(encoding)];
  for (std::size_t subset = 0; subset < std::size_t{1} << isa::spec::kExtensions.size(); ++subset)
    bins_[extensions_bin(subset)];
  for (const std::string_view trait : kMemoryTraits) bins_[std::string(trait)];
  for (const simulator::DramStandard& standard : simulator::dram_standards()) bins_[bank_bin(standard.name)];
  for (const std::int64_t clock_ps : kBankClocksPs) bins_[clock_bin(clock_ps)];
  if (rtl_) bins_["any AXI4 slave"];
  if (!wrong) return;
  for (std::size_t m = 0; m < kMutationNames.size(); ++m) bins_[mutation_bin(static_cast<Mutation>(m))];
  for (std::size_t v = 0; v < kVerdictNames.size(); ++v) bins_[verdict_bin(static_cast<Verdict>(v))];
  for (const Verdict verdict : {Verdict::deadlock, Verdict::leftover}) bins_[timed_bin(verdict)];
  // No engine starts a launch beyond the address space: its host refuses it, before the design could.
  if (rtl_)
    for (const isa::spec::ErrorCodeInfo& row : isa::spec::kErrorCodes)
      if (row.code != isa::spec::ErrorCode::address_space) bins_[code_bin(row.code)];
}

void SpaceCoverage::add(const isa::HardwareConfig& config) {
  for (const isa::spec::Parameter& row : isa::spec::kParameters)
    if (const auto end = range_end(config, row.key, limits_)) ++bins_[end_bin(row.key, *end)];
  ++bins_[encoding_bin(config.encoding())];
  std::size_t subset = 0;
  for (std::size_t i = 0; i < isa::spec::kExtensions.size(); ++i)
    if (config.*isa::spec::kExtensions[i].member) subset |= std::size_t{1} << i;
  ++bins_[extensions_bin(subset)];
}

void SpaceCoverage::add(const isa::HardwareConfig& config, const TortureCase& how) {
  if (how.slave && rtl_) ++bins_["any AXI4 slave"];
  std::int64_t latency = 0, outstanding = 0;
  if (const auto* bank = std::get_if<simulator::BankMemory>(&how.memory)) {
    ++bins_[bank_bin(bank->standard.name)];
    ++bins_[clock_bin(bank->clock_ps)];
    outstanding = bank->outstanding;
  } else {
    const auto* ideal = std::get_if<simulator::IdealMemory>(&how.memory);
    ++bins_[ideal != nullptr ? "memory ideal" : "memory perturbed"];
    if (ideal == nullptr) ideal = &std::get<simulator::PerturbedMemory>(how.memory).base;
    latency = ideal->latency, outstanding = ideal->outstanding;
    const double bytes = ideal->bytes_per_cycle.value(), bus = static_cast<double>(config.bus_bytes);
    ++bins_[bytes == 0 || bytes == bus ? "memory as fast as the bus"
            : bytes < bus              ? "memory slower than the bus"
                                       : "memory faster than the bus"];
    if (!ideal->bytes_per_cycle.is_whole()) ++bins_["memory of a fractional rate"];
  }
  if (latency >= 1000) ++bins_["memory after 1,000 cycles"];
  if (outstanding == 1) ++bins_["memory of one burst at a time"];
  if (outstanding == 65536) ++bins_["memory of any number of bursts"];
}

void SpaceCoverage::add(Mutation mutation, const Observed& observed) {
  ++bins_[mutation_bin(mutation)];
  ++bins_[verdict_bin(observed.judgment.verdict)];
  if (observed.timed) ++bins_[timed_bin(observed.judgment.verdict)];
  if (rtl_) ++bins_[code_bin(observed.code)];
}

void SpaceCoverage::add_slave_error() { ++bins_[code_bin(isa::spec::ErrorCode::slave_error)]; }

std::vector<std::string> SpaceCoverage::missing() const {
  std::vector<std::string> names;
  for (const auto& [bin, count] : bins_)
    if (count == 0) names.push_back(bin);
  return names;
}

std::string SpaceCoverage::report() const {
  std::string text;
  for (const auto& [bin, count] : bins_) text += fmt::format("  {:6}    {}\n", count, bin);
  return text;
}

}  // namespace dovetail::test
