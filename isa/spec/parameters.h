// The list of the parameters of the accelerator, one row each: the name (member of HardwareConfig, key in JSON and in
// `.config` lines), the default, the range, whether it is a power of two, the unit, the what-if analysis's label for an
// increase, for example "a wider bus" ("": not analyzed), and the documentation. The members of HardwareConfig,
// reading, writing, validation, what-if, docs/gen/isa.md, docs/schema/gen/hardware.json, the draws of tests and the
// constants of the generated packages derive from these rows.
#pragma once

// clang-format off
#define DOVETAIL_PARAMETERS(ROW) \
  ROW(batch, 1, 1, 1024, true, "rows", "", "rows of an INP, ACC and OUT element") \
  ROW(block_in, 16, 1, 4096, true, "lanes", "", "lanes of an INP row, and of a WGT row; the length of one dot product") \
  ROW(block_out, 16, 1, 1024, true, "lanes", "", "lanes of an ACC or OUT row, and rows of a WGT element") \
  ROW(uop_buffer_bytes, 32 << 10, 16, std::int64_t{1} << 27, true, "bytes", "", "micro-op SRAM") \
  ROW(inp_buffer_bytes, 32 << 10, 4, std::int64_t{1} << 33, true, "bytes", "", "input SRAM") \
  ROW(wgt_buffer_bytes, 256 << 10, 4, std::int64_t{1} << 33, true, "bytes", "", "weight SRAM") \
  ROW(acc_buffer_bytes, 128 << 10, 16, std::int64_t{1} << 33, true, "bytes", "", "accumulator SRAM; OUT has as many elements") \
  ROW(command_queue_depth, 128, 1, 65536, false, "instructions", "command queues of {}", \
      "entries of each of the load, compute and store command queues") \
  ROW(token_queue_depth, 64, 1, 65536, false, "tokens", "token queues of {}", "entries of each of the four token FIFOs") \
  ROW(address_bits, 32, 16, 56, false, "bits", "", "width of a physical byte address") \
  ROW(bus_bytes, 8, 4, 128, true, "bytes", "", "data width of the AXI4 memory port, each way") \
  ROW(burst_beats, 32, 1, 256, false, "beats", "", "longest AXI4 burst; none crosses a 4 KiB boundary") \
  ROW(outstanding_beats, 128, 1, 65536, false, "beats", "beat buffers of {}", \
      "read beats that a unit may have requested and not yet received: its beat buffer")

// The extensions: the name, and the documentation. All are off by default.
#define DOVETAIL_EXTENSIONS(ROW) \
  ROW(requant, "ALU operation REQUANT: exact scaling by a binary32 per lane, bias, zero point") \
  ROW(saturate, "STORE may clamp to the output width instead of wrapping") \
  ROW(overwrite, "GEMM may write the product instead of adding it: no reset pass") \
  ROW(window, "instruction WINDOW: depthwise products of the last INP elements; needs block_in = block_out") \
  ROW(table, "memory TAB and ALU operations TABLE and TABLEU: a function of 8 bits as a table of 256 entries of 16 bits") \
  ROW(epilogue, "instruction GEMMQ, and WINDOW with requant: products are requantized on their way to OUT; needs requant and block_in >= 16") \
  ROW(norm, "ALU operations REQUANT8, SQADD, RMAX, RADD, RECIP and RSQRT: softmax and normalization; needs requant") \
  ROW(weights4, "memory WGT4: LOAD reads weights of 4 bits, two a byte, and widens them to int8 in WGT") \
  ROW(offset, "LOAD and STORE may add the register OFFSET to their DRAM address: one program for every place of its data")
// clang-format on
