#include "simulator/functional/core.h"

#include <utility>
#include <variant>

#include "isa/semantics/window.h"

namespace dovetail::simulator {

namespace {

TileLayout tile_layout(const isa::HardwareConfig& config) {
  return {.batch = static_cast<std::size_t>(config.batch),
          .block_in = static_cast<std::size_t>(config.block_in),
          .block_out = static_cast<std::size_t>(config.block_out)};
}

}  // namespace

Core::Core(const isa::HardwareConfig& config, const FunctionalOptions& options)
    : config_(config),
      bus_(config),
      check_undefined_reads_(options.check_undefined_reads),
      macs_per_uop_(static_cast<std::uint64_t>(config.macs_per_uop())),
      kernels_(select_kernels(options.kernel_level.value_or(best_kernel_level()), tile_layout(config))),
      sram_(config, kernels_),
      push_only_(isa::semantics::push_only(config)),
      window_(config.window ? sram_.layout().batch * sram_.layout().groups() * sram_.layout().block_out : 0),
      epilogue_bias_(config.epilogue ? sram_.layout().acc_words() : 0),
      epilogue_scale_(epilogue_bias_.size()),
      meter_(options.work) {
  for (std::size_t i = 0; i < depth_.size(); ++i) {
    depth_[i] = static_cast<std::uint64_t>(config.depth(static_cast<isa::Memory>(i)));
    element_bytes_[i] = static_cast<std::uint64_t>(config.element_bytes(static_cast<isa::Memory>(i)));
  }
  prepare_sram();
}

void Core::reset() {
  sram_ = Sram(config_, kernels_);
  prepare_sram();
}

void Core::prepare_sram() {
  if (!check_undefined_reads_) sram_.define_all();
  gemm_arguments_ = {.layout = sram_.layout(),
                     .acc = sram_.acc(),
                     .inp = sram_.inp(),
                     .compensation = sram_.compensation(),
                     .wgt = sram_.wgt()};
  alu_arguments_ = {.vectors = sram_.layout().vectors(),
                    .batch = sram_.layout().batch,
                    .block_out = sram_.layout().block_out,
                    .acc = sram_.acc(),
                    .operands = sram_.acc(),
                    .table = sram_.table()};
}

bool Core::execute(const isa::Instruction& instruction, Dram& dram, Counters& counters) {
  return meter_.advance(1) && std::visit([&](const auto& body) { return run(body, dram, counters); }, instruction.body);
}

bool Core::fail(std::string why, std::string hint) {
  fault_ = {std::move(why), std::move(hint)};
  return false;
}

}  // namespace dovetail::simulator
