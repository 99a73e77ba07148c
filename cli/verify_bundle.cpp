#include "cli/verify_bundle.h"

#include <algorithm>

#include <fmt/format.h>

namespace dovetail::cli {

namespace {

// The image before the first launch: segments in place, inputs still zero. Micro-ops and instructions are segments.
std::vector<std::byte> initial_image(const bundle::AccelStep& step) {
  std::vector<std::byte> image(step.dram_bytes);
  for (const bundle::Segment& segment : step.segments)
    std::copy(segment.bytes.begin(), segment.bytes.end(),
              image.begin() + static_cast<std::ptrdiff_t>(segment.address - step.dram_base));
  return image;
}

}  // namespace

VerifiedBundle verify_programs(const bundle::Bundle& bundle) {
  VerifiedBundle verified;
  std::size_t programs = 0, instructions = 0;
  for (const bundle::Step& step : bundle.steps) {
    const auto* accel = std::get_if<bundle::AccelStep>(&step);
    if (accel == nullptr) continue;
    const std::vector<std::byte> image = initial_image(*accel);
    isa::VerifyOptions options;
    options.launches = accel->launches;
    options.dram = isa::DramImage{accel->dram_base, image};
    options.program_base = accel->program_base;
    const isa::VerifyReport report = isa::verify(accel->config, accel->program, options);
    for (const isa::Finding& finding : report.findings) {
      verified.problems.push_back(finding.diagnostic);
      verified.problems.back().where = fmt::format("step {}, {}", accel->name, finding.diagnostic.where);
    }
    ++programs;
    instructions += accel->program.size();
  }
  verified.summary =
      fmt::format("{} program{}, {} instructions: no race, no deadlock, no leftover token, no undefined read", programs,
                  programs == 1 ? "" : "s", instructions);
  return verified;
}

}  // namespace dovetail::cli
