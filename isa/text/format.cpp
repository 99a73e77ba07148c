#include <iterator>

#include <fmt/format.h>

#include "isa/spec/instructions.h"
#include "isa/text.h"
#include "isa/text/grammar.h"

namespace dovetail::isa {

namespace {

using Text = fmt::memory_buffer;

template <typename... Values>
void put(Text& text, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
}

std::string_view memory_name(Memory memory) {
  return text::kMemoryNames[static_cast<std::size_t>(memory) % text::kMemoryNames.size()];
}

void put_transfer(Text& text, std::string_view mnemonic, const Transfer& transfer) {
  put(text, "{}.{} sram={} dram={:#x} size={}x{} stride={}", mnemonic, memory_name(transfer.memory), transfer.sram_base,
      transfer.dram_base, transfer.y_size, transfer.x_size, transfer.x_stride);
  if (transfer.y_pad_0 != 0 || transfer.y_pad_1 != 0 || transfer.x_pad_0 != 0 || transfer.x_pad_1 != 0)
    put(text, " pad={},{},{},{}", transfer.y_pad_0, transfer.y_pad_1, transfer.x_pad_0, transfer.x_pad_1);
  if (transfer.offset) put(text, " offset");
}

void put_factors(Text& text, std::string_view name, std::uint32_t out, std::uint32_t in) {
  if (out != 0 || in != 0) put(text, " {}={},{}", name, out, in);
}

void put_loop(Text& text, const UopLoop& loop) {
  put(text, " uop={}:{} iter={}x{}", loop.uop_begin, loop.uop_end, loop.iter_out, loop.iter_in);
  put_factors(text, "dst", loop.dst_factor_out, loop.dst_factor_in);
  put_factors(text, "src", loop.src_factor_out, loop.src_factor_in);
}

void put_products(Text& text, std::string_view mnemonic, const ProductLoop& loop) {
  put(text, "{}", mnemonic);
  put_loop(text, loop);
  put_factors(text, "wgt", loop.wgt_factor_out, loop.wgt_factor_in);
}

struct Printer {
  Text& text;

  void operator()(const Load& load) const {
    Load nop;
    nop.memory = load.memory;
    if (load == nop && load.memory != Memory::out) put(text, "nop.{}", memory_name(load.memory));
    else put_transfer(text, "load", load);
  }
  void operator()(const Store& store) const {
    Store nop;
    nop.memory = Memory::out;
    if (store == nop) return put(text, "nop.out");
    put_transfer(text, "store", store);
    if (store.saturate) put(text, " saturate");
  }
  void operator()(const Gemm& gemm) const {
    put_products(text, "gemm", gemm);
    if (gemm.reset) put(text, " reset");
    if (gemm.overwrite) put(text, " overwrite");
  }
  void operator()(const GemmQ& gemmq) const {
    put_products(text, "gemmq", gemmq);
    if (gemmq.overwrite) put(text, " overwrite");
  }
  void operator()(const Window& window) const {
    put_products(text, "window", window);
    if (window.overwrite) put(text, " overwrite");
    if (window.requant) put(text, " requant");
  }
  void operator()(const Finish&) const { put(text, "finish"); }
  void operator()(const Alu& alu) const {
    if (spec::is_alu_op(alu.op)) put(text, "alu.{}", spec::info(alu.op).name);
    else put(text, "alu.op{}", static_cast<int>(alu.op));  // only in messages: no operation has this number
    put_loop(text, alu);
    if (alu.use_imm) put(text, " imm={}", alu.imm);
    else if (alu.imm != 0) put(text, " {}={}", text::word_without_use_imm(alu.op), alu.imm);
    if (alu.reset) put(text, " reset");
  }
};

}  // namespace

std::string format_instruction(const Instruction& instruction) {
  Text text;
  std::visit(Printer{text}, instruction.body);
  std::apply(
      [&](const auto&... flag) { ((instruction.flags.*flag.member ? put(text, " {}", flag.spec.name) : void()), ...); },
      spec::kFlagFields);
  return fmt::to_string(text);
}

std::string format_config_line(const HardwareConfig& config) {
  const HardwareConfig defaults;
  std::string line = ".config";
  for (const spec::Parameter& row : spec::kParameters)
    if (config.*row.member != defaults.*row.member) line += fmt::format(" {}={}", row.key, config.*row.member);
  for (const spec::Extension& row : spec::kExtensions)
    if (config.*row.member != defaults.*row.member) line += fmt::format(" {}={}", row.key, config.*row.member);
  return line;
}

std::string format_assembly(const HardwareConfig& config, std::span<const Instruction> program) {
  std::string text = format_config_line(config) + "\n";
  for (const Instruction& instruction : program) text += format_instruction(instruction) + "\n";
  return text;
}

std::string format_assembly(const Assembly& assembly) {
  std::string text = format_config_line(assembly.config) + "\n";
  for (const Uop& uop : assembly.uops) text += fmt::format(".uop {}, {}, {}\n", uop.dst, uop.src, uop.wgt);
  for (const Instruction& instruction : assembly.program) text += format_instruction(instruction) + "\n";
  return text;
}

}  // namespace dovetail::isa
