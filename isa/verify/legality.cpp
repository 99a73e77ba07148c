#include "isa/verify/legality.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/verify/accesses.h"

namespace dovetail::isa {
namespace {

std::string_view field_name(std::uint32_t Uop::*field) {
  return field == &Uop::dst ? "dst" : field == &Uop::src ? "src" : "wgt";
}
std::string_view operand_memory_name(Memory memory) {
  return memory == Memory::inp ? "INP" : memory == Memory::wgt ? "WGT" : "ACC";
}

void check_index(const HardwareConfig& config, std::span<const Instruction> program, std::size_t instruction,
                 const UopLoop& loop, const IndexUse& use, const UopBuffer& uops, FindingSet& findings) {
  // Factors are not negative, so the last trip of both loops reaches furthest, with the largest micro-op.
  std::optional<std::size_t> furthest;
  const std::size_t end = std::min<std::size_t>(loop.uop_end, uops.size());
  for (std::size_t k = loop.uop_begin; k < end; ++k)
    if (uops.known(k) && use.is_of(uops[k]) && (!furthest || uops[k].*use.field > uops[*furthest].*use.field))
      furthest = k;
  if (!furthest) return;
  const std::uint64_t base = uops[*furthest].*use.field;
  const std::uint64_t y = loop.iter_out - 1;
  const std::uint64_t x = loop.iter_in - 1;
  const std::uint64_t last = base + y * use.factor_out + x * use.factor_in + use.span - 1;
  const auto depth = static_cast<std::uint64_t>(config.depth(use.memory));
  if (last < depth || !findings.admit(instruction)) return;
  std::string why =
      fmt::format("{} reaches {} element {} of {}: micro-op {} names {}, plus {} x {} (outer) plus {} x {} (inner)",
                  field_name(use.field), operand_memory_name(use.memory), last, depth, *furthest, base, y,
                  use.factor_out, x, use.factor_in);
  if (use.span != 1) why += ", plus 1 for the bias";
  findings.add(
      illegal_finding(program, instruction, std::move(why), "lower the micro-op, the trip counts or the factors"));
}

void check_parameters(const HardwareConfig& config, std::span<const Instruction> program, std::size_t instruction,
                      std::size_t uop, const UopBuffer& uops, FindingSet& findings) {
  const auto depth = static_cast<std::uint64_t>(config.depth(Memory::wgt));
  if (uop >= uops.size() || !uops.known(uop) || uops[uop].wgt < depth || !findings.admit(instruction)) return;
  findings.add(
      illegal_finding(program, instruction,
                      fmt::format("the epilogue's parameters are WGT element {} of {}, selected by micro-op {}",
                                  uops[uop].wgt, depth, uop),
                      "name an element that exists in the micro-op after the loop"));
}

}  // namespace

void check_indices(const HardwareConfig& config, std::span<const Instruction> program, std::size_t instruction,
                   const UopBuffer& uops, FindingSet& findings) {
  const UopLoop& loop = *uop_loop(program[instruction]);
  if (zero_trip(loop)) return;
  const std::vector<Extent> holes = uops.undefined(loop.uop_begin, end_of_uops(program[instruction]));
  if (!holes.empty() && findings.admit(instruction))
    findings.add(undefined_finding(program, instruction, Memory::uop, holes));
  if (!uops.contents_known()) return;
  const IndexUses uses = index_uses(config, program[instruction]);
  for (const IndexUse& use : uses.all()) check_index(config, program, instruction, loop, use, uops, findings);
  if (has_epilogue(program[instruction])) check_parameters(config, program, instruction, loop.uop_end, uops, findings);
}

StaticRules::StaticRules(const HardwareConfig& config, const std::optional<DramImage>& image)
    : config_(config), image_(image), rules_(config), codec_(config) {}

bool StaticRules::check(std::span<const Instruction> program, std::size_t instruction, FindingSet& findings) {
  const auto report = [&](Diagnostics errors) {
    for (Diagnostic& error : errors)
      if (findings.admit(instruction))
        findings.add(illegal_finding(program, instruction, std::move(error.why), std::move(error.hint)));
  };
  const Instruction& what = program[instruction];
  bool trusted = true;
  if (!rules_.is_legal(what)) [[unlikely]] {
    report(rules_.check(what));
    Instruction without_flags = what;
    without_flags.flags = {};
    trusted = rules_.is_legal(without_flags);
  }
  // Values that do not fit a field, and extensions that are off: an instruction that cannot be encoded cannot be
  // executed.
  encoded_.clear();
  if (auto encoded = codec_.encode(what, encoded_); !encoded.ok()) [[unlikely]] {
    report(encoded.errors());
    trusted = false;
  }
  if (trusted) check_image(program, instruction, findings);
  return trusted;
}

void StaticRules::check_image(std::span<const Instruction> program, std::size_t instruction,
                              FindingSet& findings) const {
  const DramAccess access = dram_access(config_, program[instruction]);
  if (!image_ || access.empty()) return;
  const Extent hull = access.hull();
  const std::uint64_t end = image_->base + image_->bytes.size();
  if ((hull.begin >= image_->base && hull.end <= end) || !findings.admit(instruction)) return;
  std::string image =
      image_->bytes.empty() ? std::string("is empty") : fmt::format("covers {:#x}..{:#x}", image_->base, end - 1);
  findings.add(illegal_finding(
      program, instruction,
      fmt::format("the instruction {} DRAM bytes {:#x}..{:#x}, but the memory image {}",
                  access.write ? "writes" : "reads", hull.begin, hull.end - 1, image),
      "dram_base counts elements from physical address 0; check it, the sizes, and the image's base and length"));
}

}  // namespace dovetail::isa
