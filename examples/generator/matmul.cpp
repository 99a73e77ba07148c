// Writes the program of examples/assembly/matmul.s for any number of rows and blocks of the default hardware:
//   generate_matmul ROWS BLOCKS PROGRAM.bin UOPS.bin
#include <cstdio>
#include <cstdlib>

#include "base/file.h"
#include "isa/codec.h"

using namespace dovetail;
using namespace dovetail::isa;

int main(int argc, char** argv) {
  if (argc != 5) return std::fputs("usage: generate_matmul ROWS BLOCKS PROGRAM.bin UOPS.bin\n", stderr), 2;
  const HardwareConfig config;  // 1x16x16; load_config("1x16x16-ext") has the others
  const Codec codec(config);
  const auto rows = static_cast<std::uint32_t>(std::atoi(argv[1]));
  const auto blocks = static_cast<std::uint32_t>(std::atoi(argv[2]));

  // Addresses in memory, in bytes, each a multiple of the largest element; `dram` counts elements.
  const std::uint64_t uops = 0x1000, x = 0x1100, w = x + (rows * blocks * 16 + 255) / 256 * 256,
                      bias = w + blocks * 256, y = bias + 256;
  const auto dram = [&](Memory memory, std::uint64_t address) {
    return address / static_cast<std::uint64_t>(config.element_bytes(memory));
  };
  const UopLoop over_rows{.uop_begin = 0, .uop_end = 1, .iter_out = 1, .iter_in = rows, .dst_factor_in = 1};
  const auto alu = [&](AluOp op, int imm) { return Alu{over_rows, false, op, true, imm}; };

  std::vector<Instruction> program;
  program.push_back({{}, Load{{Memory::uop, 0, dram(Memory::uop, uops), 1, blocks, blocks}}});
  program.push_back({{}, Load{{Memory::acc, 0, dram(Memory::acc, bias), rows, 1, 0}}});
  std::vector<std::byte> kernel;
  for (std::uint32_t k = 0; k < blocks; ++k) {
    if (!codec.encode(Uop{0, k * rows, k}, kernel).ok()) return 1;
    Gemm gemm{over_rows};
    gemm.uop_begin = k, gemm.uop_end = k + 1, gemm.src_factor_in = 1;
    program.push_back({{}, Load{{Memory::inp, k * rows, dram(Memory::inp, x) + k, rows, 1, blocks}}});
    program.push_back({{.push_next = true}, Load{{Memory::wgt, k, dram(Memory::wgt, w) + k, 1, 1, 1}}});
    program.push_back({{.pop_prev = true}, gemm});
  }
  program.push_back({{}, alu(AluOp::shr, 4)});
  program.push_back({{}, alu(AluOp::max, -128)});
  program.push_back({{.push_next = true}, alu(AluOp::min, 127)});
  program.push_back(
      {{.pop_prev = true, .push_prev = true}, Store{{Memory::out, 0, dram(Memory::out, y), 1, rows, rows}}});
  program.push_back({{.pop_next = true}, Finish{}});

  // A value that does not fit its field is an error that names the field.
  const auto bytes = codec.encode_program(program);
  if (!bytes.ok()) return std::fprintf(stderr, "%s\n", to_string(bytes.errors()).c_str()), 1;
  if (!write_file(argv[3], *bytes).ok() || !write_file(argv[4], kernel).ok()) return 1;
  std::printf("%zu instructions; uops at 0x%llx, x at 0x%llx, w at 0x%llx, bias at 0x%llx, y at 0x%llx\n",
              program.size(), 0ULL + uops, 0ULL + x, 0ULL + w, 0ULL + bias, 0ULL + y);
}
