#include "isa/verify/accesses.h"

#include <algorithm>

#include "isa/semantics/epilogue.h"
#include "isa/semantics/gemm.h"
#include "isa/semantics/load.h"
#include "isa/semantics/store.h"
#include "isa/semantics/window.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/memories.h"

namespace dovetail::isa {
namespace {

std::uint64_t depth(const HardwareConfig& config, Memory memory) {
  return static_cast<std::uint64_t>(config.depth(memory));
}

}  // namespace

DramAccess dram_access(const HardwareConfig& config, const Instruction& instruction) {
  const bool store = instruction.opcode() == Opcode::store;
  const Transfer* transfer = store ? static_cast<const Transfer*>(std::get_if<Store>(&instruction.body))
                                   : static_cast<const Transfer*>(std::get_if<Load>(&instruction.body));
  if (transfer == nullptr || transfer->x_size == 0 || transfer->y_size == 0 || !spec::is_memory(transfer->memory))
    return {};
  const auto element = static_cast<std::uint64_t>(config.element_bytes(transfer->memory));
  // Counted in elements, so that no address overflows 64 bits. A transfer beyond the address space is illegal and
  // accesses nothing.
  const std::uint64_t bytes = config.address_bits >= 64 ? ~std::uint64_t{0} : std::uint64_t{1} << config.address_bits;
  const std::uint64_t last =
      transfer->dram_base + std::uint64_t{transfer->y_size - 1} * transfer->x_stride + transfer->x_size;
  if (last > bytes / element) return {};
  DramAccess access{.write = store,
                    .begin = transfer->dram_base * element,
                    .row_bytes = transfer->x_size * element,
                    .stride_bytes = transfer->x_stride * element,
                    .rows = transfer->y_size};
  // Rows that are adjacent or overlap form one interval.
  if (access.stride_bytes <= access.row_bytes) {
    access.row_bytes += (access.rows - 1) * access.stride_bytes;
    access.rows = 1;
  }
  return access;
}

bool zero_trip(const UopLoop& loop) {
  return loop.iter_out == 0 || loop.iter_in == 0 || loop.uop_begin >= loop.uop_end;
}

std::uint32_t end_of_uops(const Instruction& instruction) {
  return uop_loop(instruction)->uop_end + (has_epilogue(instruction) ? 1 : 0);
}

IndexUses index_uses(const HardwareConfig& config, const Instruction& instruction) {
  IndexUses uses;
  const UopLoop* loop = uop_loop(instruction);
  if (loop == nullptr || zero_trip(*loop)) return uses;
  const auto add = [&](const IndexUse& use) { uses.uses[uses.count++] = use; };
  IndexUse dst{Memory::acc, AccessKind::update, &Uop::dst, loop->dst_factor_out, loop->dst_factor_in, 1};
  if (const ProductLoop* product = product_loop(instruction)) {
    const auto* gemm = std::get_if<Gemm>(&instruction.body);
    const bool reset = gemm != nullptr && gemm->reset;
    if (instruction.opcode() == Opcode::window) dst.unless_wgt = semantics::push_only(config);
    if (!reset) {
      add({Memory::inp, AccessKind::read, &Uop::src, product->src_factor_out, product->src_factor_in, 1});
      add({Memory::wgt, AccessKind::read, &Uop::wgt, product->wgt_factor_out, product->wgt_factor_in, 1,
           dst.unless_wgt});
    }
    if (reset || product->overwrite) dst.kind = AccessKind::write;
  } else {
    const auto& alu = std::get<Alu>(instruction.body);
    if (const std::uint32_t elements = spec::source_elements(alu); elements != 0)
      add({Memory::acc, AccessKind::read, &Uop::src, alu.src_factor_out, alu.src_factor_in, elements});
  }
  add(dst);
  return uses;
}

AccessFinder::AccessFinder(const HardwareConfig& config)
    : config_(config),
      inp_(depth(config, Memory::inp)),
      wgt_(depth(config, Memory::wgt)),
      acc_(depth(config, Memory::acc)) {}

SramAccess& AccessFinder::append(Memory memory, AccessKind kind) {
  SramAccess& access = accesses_[count_++];
  access.memory = memory;
  access.kind = kind;
  access.anywhere = access.possible = false;
  access.runs.clear();
  return access;
}

IndexSet& AccessFinder::set_of(Memory memory) {
  return memory == Memory::inp ? inp_ : memory == Memory::wgt ? wgt_ : acc_;
}

std::span<const SramAccess> AccessFinder::find(const Instruction& instruction,
                                               std::optional<std::span<const Uop>> kernel) {
  count_ = 0;
  const auto transfer = [&](Memory memory, AccessKind kind, std::uint64_t begin, std::uint64_t elements) {
    const std::uint64_t limit = depth(config_, memory);
    const Extent run{std::min(begin, limit), std::min(begin + elements, limit)};
    if (run.begin < run.end) append(memory, kind).runs.push_back(run);
  };
  if (const auto* load = std::get_if<Load>(&instruction.body)) {
    if (spec::is_memory(load->memory) && load->memory != Memory::uop)
      transfer(spec::info(load->memory).buffer, AccessKind::write, load->sram_base, semantics::loaded_elements(*load));
  } else if (const auto* store = std::get_if<Store>(&instruction.body)) {
    transfer(Memory::acc, AccessKind::read, store->sram_base, semantics::stored_elements(*store));
  } else if (const UopLoop* loop = uop_loop(instruction)) {
    const IndexUses uses = index_uses(config_, instruction);
    const Uop* parameters = nullptr;
    if (kernel && !kernel->empty() && has_epilogue(instruction) && uses.count != 0) {
      parameters = &kernel->back();
      kernel = kernel->first(kernel->size() - 1);
    }
    for (const IndexUse& use : uses.all()) {
      const bool of_parameters = parameters != nullptr && use.memory == Memory::wgt;
      if (kernel && !of_parameters && std::ranges::none_of(*kernel, [&](const Uop& uop) { return use.is_of(uop); }))
        continue;
      SramAccess& access = append(use.memory, use.kind);
      if (!kernel) {
        access.anywhere = true;
        access.possible = use.unless_wgt.has_value() && !(use.memory == Memory::wgt && has_epilogue(instruction));
        continue;
      }
      IndexSet& set = set_of(use.memory);
      set.clear();
      for (const Uop& uop : *kernel)
        if (use.is_of(uop)) set.insert(uop.*use.field);
      set.repeat(1, use.span);
      set.repeat(use.factor_in, loop->iter_in);
      set.repeat(use.factor_out, loop->iter_out);
      if (of_parameters) set.insert(parameters->wgt);
      set.runs(access.runs);
    }
    const auto* alu = std::get_if<Alu>(&instruction.body);
    if (alu != nullptr && uses.count != 0 && spec::reads_table(alu->op)) transfer(Memory::tab, AccessKind::read, 0, 1);
    if (config_.table && has_epilogue(instruction) && uses.count != 0) {
      if (parameters == nullptr) {
        SramAccess& access = append(Memory::tab, AccessKind::read);
        access.anywhere = access.possible = true;
      } else if (semantics::looks_up(*parameters)) {
        transfer(Memory::tab, AccessKind::read, 0, 1);
      }
    }
  }
  return {accesses_.data(), count_};
}

}  // namespace dovetail::isa
