// Generated from isa/spec by `dovetail isa --format sv --hw 1x16x16`. Do not edit.
// Yosys takes no array of these structs.
package dovetail_isa_pkg;

  // The design point 1x16x16.
  localparam int unsigned BATCH = 1;  // rows: rows of an INP, ACC and OUT element
  localparam int unsigned BATCH_LOG2 = 0;
  localparam int unsigned BLOCK_IN = 16;  // lanes: lanes of an INP row, and of a WGT row; the length of one dot product
  localparam int unsigned BLOCK_IN_LOG2 = 4;
  localparam int unsigned BLOCK_OUT = 16;  // lanes: lanes of an ACC or OUT row, and rows of a WGT element
  localparam int unsigned BLOCK_OUT_LOG2 = 4;
  localparam int unsigned UOP_BUFFER_BYTES = 32768;  // bytes: micro-op SRAM
  localparam int unsigned UOP_BUFFER_BYTES_LOG2 = 15;
  localparam int unsigned INP_BUFFER_BYTES = 32768;  // bytes: input SRAM
  localparam int unsigned INP_BUFFER_BYTES_LOG2 = 15;
  localparam int unsigned WGT_BUFFER_BYTES = 262144;  // bytes: weight SRAM
  localparam int unsigned WGT_BUFFER_BYTES_LOG2 = 18;
  localparam int unsigned ACC_BUFFER_BYTES = 131072;  // bytes: accumulator SRAM; OUT has as many elements
  localparam int unsigned ACC_BUFFER_BYTES_LOG2 = 17;
  localparam int unsigned COMMAND_QUEUE_DEPTH = 128;  // instructions: entries of each of the load, compute and store command queues
  localparam int unsigned TOKEN_QUEUE_DEPTH = 64;  // tokens: entries of each of the four token FIFOs
  localparam int unsigned ADDRESS_BITS = 32;  // bits: width of a physical byte address
  localparam int unsigned BUS_BYTES = 8;  // bytes: data width of the AXI4 memory port, each way
  localparam int unsigned BUS_BYTES_LOG2 = 3;
  localparam int unsigned BURST_BEATS = 32;  // beats: longest AXI4 burst; none crosses a 4 KiB boundary
  localparam int unsigned OUTSTANDING_BEATS = 128;  // beats: read beats that a unit may have requested and not yet received: its beat buffer
  localparam int unsigned REQUANT_ENABLED = 0;  // ALU operation REQUANT: exact scaling by a binary32 per lane, bias, zero point
  localparam int unsigned SATURATE_ENABLED = 0;  // STORE may clamp to the output width instead of wrapping
  localparam int unsigned OVERWRITE_ENABLED = 0;  // GEMM may write the product instead of adding it: no reset pass
  localparam int unsigned WINDOW_ENABLED = 0;  // instruction WINDOW: depthwise products of the last INP elements; needs block_in = block_out
  localparam int unsigned TABLE_ENABLED = 0;  // memory TAB and ALU operations TABLE and TABLEU: a function of 8 bits as a table of 256 entries of 16 bits
  localparam int unsigned EPILOGUE_ENABLED = 0;  // instruction GEMMQ, and WINDOW with requant: products are requantized on their way to OUT; needs requant and block_in >= 16
  localparam int unsigned NORM_ENABLED = 0;  // ALU operations REQUANT8, SQADD, RMAX, RADD, RECIP and RSQRT: softmax and normalization; needs requant
  localparam int unsigned WEIGHTS4_ENABLED = 0;  // memory WGT4: LOAD reads weights of 4 bits, two a byte, and widens them to int8 in WGT
  localparam int unsigned OFFSET_ENABLED = 0;  // LOAD and STORE may add the register OFFSET to their DRAM address: one program for every place of its data
  localparam int unsigned LONGEST_BURST_BEATS = 32;  // beats: BURST_BEATS, limited to what a beat buffer holds
  localparam int unsigned WIDE_ENCODING = 0;  // 256-bit instructions and 64-bit micro-ops
  localparam int unsigned INSTRUCTION_BITS = 128;
  localparam int unsigned INSTRUCTION_BYTES = 16;
  localparam int unsigned UOP_BITS = 32;
  localparam int unsigned INP_LANE_BITS = 8;
  localparam int unsigned WGT_LANE_BITS = 8;
  localparam int unsigned ACC_LANE_BITS = 32;
  localparam int unsigned OUT_LANE_BITS = 8;
  localparam int unsigned UOP_ELEMENT_BYTES = 4;  // in DRAM: 4 (compact) or 8 (wide)
  localparam int unsigned UOP_ELEMENT_BYTES_LOG2 = 2;
  localparam int unsigned UOP_DEPTH = 8192;  // micro-ops on chip
  localparam int unsigned UOP_DEPTH_LOG2 = 13;
  localparam int unsigned WGT_ELEMENT_BYTES = 256;  // in DRAM: block_out * block_in
  localparam int unsigned WGT_ELEMENT_BYTES_LOG2 = 8;
  localparam int unsigned WGT_DEPTH = 1024;  // weight tiles on chip
  localparam int unsigned WGT_DEPTH_LOG2 = 10;
  localparam int unsigned INP_ELEMENT_BYTES = 16;  // in DRAM: batch * block_in
  localparam int unsigned INP_ELEMENT_BYTES_LOG2 = 4;
  localparam int unsigned INP_DEPTH = 2048;  // input tiles on chip
  localparam int unsigned INP_DEPTH_LOG2 = 11;
  localparam int unsigned ACC_ELEMENT_BYTES = 64;  // in DRAM: batch * block_out * 4
  localparam int unsigned ACC_ELEMENT_BYTES_LOG2 = 6;
  localparam int unsigned ACC_DEPTH = 2048;  // accumulator tiles on chip
  localparam int unsigned ACC_DEPTH_LOG2 = 11;
  localparam int unsigned OUT_ELEMENT_BYTES = 16;  // in DRAM: batch * block_out
  localparam int unsigned OUT_ELEMENT_BYTES_LOG2 = 4;
  localparam int unsigned ACC8_ELEMENT_BYTES = 16;  // in DRAM: batch * block_out
  localparam int unsigned ACC8_ELEMENT_BYTES_LOG2 = 4;
  localparam int unsigned TAB_ELEMENT_BYTES = 512;  // in DRAM: 512
  localparam int unsigned TAB_ELEMENT_BYTES_LOG2 = 9;
  localparam int unsigned TAB_DEPTH = 0;  // the table that TABLE and TABLEU read on chip
  localparam int unsigned TAB_DEPTH_LOG2 = 0;
  localparam int unsigned WGT4_ELEMENT_BYTES = 128;  // in DRAM: block_out * block_in / 2
  localparam int unsigned WGT4_ELEMENT_BYTES_LOG2 = 7;

  // Encodings.
  typedef enum logic [2:0] {
    OPCODE_LOAD = 3'd0,
    OPCODE_STORE = 3'd1,
    OPCODE_GEMM = 3'd2,
    OPCODE_FINISH = 3'd3,
    OPCODE_ALU = 3'd4,
    OPCODE_WINDOW = 3'd5,
    OPCODE_GEMMQ = 3'd6
  } opcode_e;

  typedef enum logic [2:0] {
    MEMORY_UOP = 3'd0,
    MEMORY_WGT = 3'd1,
    MEMORY_INP = 3'd2,
    MEMORY_ACC = 3'd3,
    MEMORY_OUT = 3'd4,
    MEMORY_ACC8 = 3'd5,
    MEMORY_TAB = 3'd6,
    MEMORY_WGT4 = 3'd7
  } memory_e;

  typedef enum logic [3:0] {
    ALU_MIN = 4'd0,
    ALU_MAX = 4'd1,
    ALU_ADD = 4'd2,
    ALU_SHR = 4'd3,
    ALU_MUL = 4'd4,
    ALU_REQUANT = 4'd5,
    ALU_TABLE = 4'd6,
    ALU_TABLEU = 4'd7,
    ALU_REQUANT8 = 4'd8,
    ALU_SQADD = 4'd9,
    ALU_RMAX = 4'd10,
    ALU_RADD = 4'd11,
    ALU_RECIP = 4'd12,
    ALU_RSQRT = 4'd13
  } alu_op_e;

  // Sets of ALU operations: bit k is operation k.
  localparam logic [15:0] ALU_SET_ENABLED = 16'b0000000000011111;  // available at this design point
  localparam logic [15:0] ALU_SET_LONG = 16'b0011111111110000;  // kind alu_long, the others alu
  localparam logic [15:0] ALU_SET_IMMEDIATE = 16'b0000001011011111;  // second operand is imm if use_imm is 1
  localparam logic [15:0] ALU_SET_READS_NEXT = 16'b0000000100100000;  // read acc[src + 1] after acc[src]
  localparam logic [15:0] ALU_SET_ROW = 16'b0011110000000000;  // a result for each batch row of acc[dst]; acc[src] is not read
  localparam logic [15:0] ALU_SET_SERIAL = 16'b0011000000000000;  // computed for one batch row after the other
  // An operation of the two fields of an instruction.
  typedef struct packed {
    alu_op_e op;
  } alu_code_t;

  typedef enum logic [3:0] {
    ERROR_NONE = 4'd0,
    ERROR_SLAVE_ERROR = 4'd1,
    ERROR_DECODE_ERROR = 4'd2,
    ERROR_ILLEGAL = 4'd3,
    ERROR_LEFTOVER_TOKENS = 4'd4,
    ERROR_ADDRESS_SPACE = 4'd5
  } error_code_e;

  // LOAD
  localparam int unsigned LOAD_OPCODE_LSB = 0;  // which instruction
  localparam int unsigned LOAD_OPCODE_WIDTH = 3;
  localparam int unsigned LOAD_POP_PREV_LSB = 3;  // take a token from the previous queue before starting
  localparam int unsigned LOAD_POP_PREV_WIDTH = 1;
  localparam int unsigned LOAD_POP_NEXT_LSB = 4;  // take a token from the next queue before starting
  localparam int unsigned LOAD_POP_NEXT_WIDTH = 1;
  localparam int unsigned LOAD_PUSH_PREV_LSB = 5;  // give a token to the previous queue when done
  localparam int unsigned LOAD_PUSH_PREV_WIDTH = 1;
  localparam int unsigned LOAD_PUSH_NEXT_LSB = 6;  // give a token to the next queue when done
  localparam int unsigned LOAD_PUSH_NEXT_WIDTH = 1;
  localparam int unsigned LOAD_MEMORY_LSB = 7;  // memory id; any value in a NOP (x_size 0)
  localparam int unsigned LOAD_MEMORY_WIDTH = 3;
  localparam int unsigned LOAD_SRAM_BASE_LSB = 10;  // first element on chip
  localparam int unsigned LOAD_SRAM_BASE_WIDTH = 16;
  localparam int unsigned LOAD_DRAM_BASE_LSB = 26;  // physical byte address / element bytes
  localparam int unsigned LOAD_DRAM_BASE_WIDTH = 32;
  localparam int unsigned LOAD_Y_SIZE_LSB = 64;  // rows
  localparam int unsigned LOAD_Y_SIZE_WIDTH = 16;
  localparam int unsigned LOAD_X_SIZE_LSB = 80;  // elements of a row; 0 makes the instruction a NOP
  localparam int unsigned LOAD_X_SIZE_WIDTH = 16;
  localparam int unsigned LOAD_X_STRIDE_LSB = 96;  // elements from row to row in DRAM
  localparam int unsigned LOAD_X_STRIDE_WIDTH = 16;
  localparam int unsigned LOAD_Y_PAD_0_LSB = 112;  // rows of zeros above (LOAD only)
  localparam int unsigned LOAD_Y_PAD_0_WIDTH = 4;
  localparam int unsigned LOAD_Y_PAD_1_LSB = 116;  // rows of zeros below (LOAD only)
  localparam int unsigned LOAD_Y_PAD_1_WIDTH = 4;
  localparam int unsigned LOAD_X_PAD_0_LSB = 120;  // zero elements left of each row (LOAD only)
  localparam int unsigned LOAD_X_PAD_0_WIDTH = 4;
  localparam int unsigned LOAD_X_PAD_1_LSB = 124;  // zero elements right of each row (LOAD only)
  localparam int unsigned LOAD_X_PAD_1_WIDTH = 4;
  localparam int unsigned LOAD_OFFSET_LSB = 63;  // add the register OFFSET to the DRAM address
  localparam int unsigned LOAD_OFFSET_WIDTH = 1;
  localparam int unsigned LOAD_OFFSET_PRESENT = 0;  // 0: the bit is reserved or belongs to another field
  localparam logic [127:0] LOAD_RESERVED = 128'h0000000000000000_fc00000000000000;  // bits that must be 0
  typedef struct packed {
    logic [3:0] x_pad_1;
    logic [3:0] x_pad_0;
    logic [3:0] y_pad_1;
    logic [3:0] y_pad_0;
    logic [15:0] x_stride;
    logic [15:0] x_size;
    logic [15:0] y_size;
    logic [5:0] reserved_0;
    logic [31:0] dram_base;
    logic [15:0] sram_base;
    logic [2:0] memory;
    logic [0:0] push_next;
    logic [0:0] push_prev;
    logic [0:0] pop_next;
    logic [0:0] pop_prev;
    logic [2:0] opcode;
  } load_t;

  // STORE
  localparam int unsigned STORE_OPCODE_LSB = 0;  // which instruction
  localparam int unsigned STORE_OPCODE_WIDTH = 3;
  localparam int unsigned STORE_POP_PREV_LSB = 3;  // take a token from the previous queue before starting
  localparam int unsigned STORE_POP_PREV_WIDTH = 1;
  localparam int unsigned STORE_POP_NEXT_LSB = 4;  // take a token from the next queue before starting
  localparam int unsigned STORE_POP_NEXT_WIDTH = 1;
  localparam int unsigned STORE_PUSH_PREV_LSB = 5;  // give a token to the previous queue when done
  localparam int unsigned STORE_PUSH_PREV_WIDTH = 1;
  localparam int unsigned STORE_PUSH_NEXT_LSB = 6;  // give a token to the next queue when done
  localparam int unsigned STORE_PUSH_NEXT_WIDTH = 1;
  localparam int unsigned STORE_MEMORY_LSB = 7;  // memory id; any value in a NOP (x_size 0)
  localparam int unsigned STORE_MEMORY_WIDTH = 3;
  localparam int unsigned STORE_SRAM_BASE_LSB = 10;  // first element on chip
  localparam int unsigned STORE_SRAM_BASE_WIDTH = 16;
  localparam int unsigned STORE_DRAM_BASE_LSB = 26;  // physical byte address / element bytes
  localparam int unsigned STORE_DRAM_BASE_WIDTH = 32;
  localparam int unsigned STORE_Y_SIZE_LSB = 64;  // rows
  localparam int unsigned STORE_Y_SIZE_WIDTH = 16;
  localparam int unsigned STORE_X_SIZE_LSB = 80;  // elements of a row; 0 makes the instruction a NOP
  localparam int unsigned STORE_X_SIZE_WIDTH = 16;
  localparam int unsigned STORE_X_STRIDE_LSB = 96;  // elements from row to row in DRAM
  localparam int unsigned STORE_X_STRIDE_WIDTH = 16;
  localparam int unsigned STORE_Y_PAD_0_LSB = 112;  // rows of zeros above (LOAD only)
  localparam int unsigned STORE_Y_PAD_0_WIDTH = 4;
  localparam int unsigned STORE_Y_PAD_1_LSB = 116;  // rows of zeros below (LOAD only)
  localparam int unsigned STORE_Y_PAD_1_WIDTH = 4;
  localparam int unsigned STORE_X_PAD_0_LSB = 120;  // zero elements left of each row (LOAD only)
  localparam int unsigned STORE_X_PAD_0_WIDTH = 4;
  localparam int unsigned STORE_X_PAD_1_LSB = 124;  // zero elements right of each row (LOAD only)
  localparam int unsigned STORE_X_PAD_1_WIDTH = 4;
  localparam int unsigned STORE_SATURATE_LSB = 58;  // clamp to the output width instead of keeping the low bits
  localparam int unsigned STORE_SATURATE_WIDTH = 1;
  localparam int unsigned STORE_SATURATE_PRESENT = 0;  // 0: the bit is reserved or belongs to another field
  localparam int unsigned STORE_OFFSET_LSB = 63;  // add the register OFFSET to the DRAM address
  localparam int unsigned STORE_OFFSET_WIDTH = 1;
  localparam int unsigned STORE_OFFSET_PRESENT = 0;  // 0: the bit is reserved or belongs to another field
  localparam logic [127:0] STORE_RESERVED = 128'h0000000000000000_fc00000000000000;  // bits that must be 0
  typedef struct packed {
    logic [3:0] x_pad_1;
    logic [3:0] x_pad_0;
    logic [3:0] y_pad_1;
    logic [3:0] y_pad_0;
    logic [15:0] x_stride;
    logic [15:0] x_size;
    logic [15:0] y_size;
    logic [5:0] reserved_0;
    logic [31:0] dram_base;
    logic [15:0] sram_base;
    logic [2:0] memory;
    logic [0:0] push_next;
    logic [0:0] push_prev;
    logic [0:0] pop_next;
    logic [0:0] pop_prev;
    logic [2:0] opcode;
  } store_t;

  // GEMM
  localparam int unsigned GEMM_OPCODE_LSB = 0;  // which instruction
  localparam int unsigned GEMM_OPCODE_WIDTH = 3;
  localparam int unsigned GEMM_POP_PREV_LSB = 3;  // take a token from the previous queue before starting
  localparam int unsigned GEMM_POP_PREV_WIDTH = 1;
  localparam int unsigned GEMM_POP_NEXT_LSB = 4;  // take a token from the next queue before starting
  localparam int unsigned GEMM_POP_NEXT_WIDTH = 1;
  localparam int unsigned GEMM_PUSH_PREV_LSB = 5;  // give a token to the previous queue when done
  localparam int unsigned GEMM_PUSH_PREV_WIDTH = 1;
  localparam int unsigned GEMM_PUSH_NEXT_LSB = 6;  // give a token to the next queue when done
  localparam int unsigned GEMM_PUSH_NEXT_WIDTH = 1;
  localparam int unsigned GEMM_RESET_LSB = 7;  // acc[dst] = 0; operands are not read
  localparam int unsigned GEMM_RESET_WIDTH = 1;
  localparam int unsigned GEMM_UOP_BEGIN_LSB = 8;  // first micro-op
  localparam int unsigned GEMM_UOP_BEGIN_WIDTH = 13;
  localparam int unsigned GEMM_UOP_END_LSB = 21;  // one past the last micro-op
  localparam int unsigned GEMM_UOP_END_WIDTH = 14;
  localparam int unsigned GEMM_ITER_OUT_LSB = 35;  // trips of the outer loop; 0 does nothing
  localparam int unsigned GEMM_ITER_OUT_WIDTH = 14;
  localparam int unsigned GEMM_ITER_IN_LSB = 49;  // trips of the inner loop; 0 does nothing
  localparam int unsigned GEMM_ITER_IN_WIDTH = 14;
  localparam int unsigned GEMM_DST_FACTOR_OUT_LSB = 64;  // added to dst per outer trip
  localparam int unsigned GEMM_DST_FACTOR_OUT_WIDTH = 11;
  localparam int unsigned GEMM_DST_FACTOR_IN_LSB = 75;  // added to dst per inner trip
  localparam int unsigned GEMM_DST_FACTOR_IN_WIDTH = 11;
  localparam int unsigned GEMM_SRC_FACTOR_OUT_LSB = 86;  // added to src per outer trip
  localparam int unsigned GEMM_SRC_FACTOR_OUT_WIDTH = 11;
  localparam int unsigned GEMM_SRC_FACTOR_IN_LSB = 97;  // added to src per inner trip
  localparam int unsigned GEMM_SRC_FACTOR_IN_WIDTH = 11;
  localparam int unsigned GEMM_WGT_FACTOR_OUT_LSB = 108;  // added to wgt per outer trip
  localparam int unsigned GEMM_WGT_FACTOR_OUT_WIDTH = 10;
  localparam int unsigned GEMM_WGT_FACTOR_IN_LSB = 118;  // added to wgt per inner trip
  localparam int unsigned GEMM_WGT_FACTOR_IN_WIDTH = 10;
  localparam int unsigned GEMM_OVERWRITE_LSB = 63;  // acc[dst] = product instead of += (reset wins)
  localparam int unsigned GEMM_OVERWRITE_WIDTH = 1;
  localparam int unsigned GEMM_OVERWRITE_PRESENT = 0;  // 0: the bit is reserved or belongs to another field
  localparam logic [127:0] GEMM_RESERVED = 128'h0000000000000000_8000000000000000;  // bits that must be 0
  typedef struct packed {
    logic [9:0] wgt_factor_in;
    logic [9:0] wgt_factor_out;
    logic [10:0] src_factor_in;
    logic [10:0] src_factor_out;
    logic [10:0] dst_factor_in;
    logic [10:0] dst_factor_out;
    logic [0:0] reserved_0;
    logic [13:0] iter_in;
    logic [13:0] iter_out;
    logic [13:0] uop_end;
    logic [12:0] uop_begin;
    logic [0:0] reset;
    logic [0:0] push_next;
    logic [0:0] push_prev;
    logic [0:0] pop_next;
    logic [0:0] pop_prev;
    logic [2:0] opcode;
  } gemm_t;

  // FINISH
  localparam int unsigned FINISH_OPCODE_LSB = 0;  // which instruction
  localparam int unsigned FINISH_OPCODE_WIDTH = 3;
  localparam int unsigned FINISH_POP_PREV_LSB = 3;  // take a token from the previous queue before starting
  localparam int unsigned FINISH_POP_PREV_WIDTH = 1;
  localparam int unsigned FINISH_POP_NEXT_LSB = 4;  // take a token from the next queue before starting
  localparam int unsigned FINISH_POP_NEXT_WIDTH = 1;
  localparam int unsigned FINISH_PUSH_PREV_LSB = 5;  // give a token to the previous queue when done
  localparam int unsigned FINISH_PUSH_PREV_WIDTH = 1;
  localparam int unsigned FINISH_PUSH_NEXT_LSB = 6;  // give a token to the next queue when done
  localparam int unsigned FINISH_PUSH_NEXT_WIDTH = 1;
  localparam logic [127:0] FINISH_RESERVED = 128'hffffffffffffffff_ffffffffffffff80;  // bits that must be 0
  typedef struct packed {
    logic [120:0] reserved_0;
    logic [0:0] push_next;
    logic [0:0] push_prev;
    logic [0:0] pop_next;
    logic [0:0] pop_prev;
    logic [2:0] opcode;
  } finish_t;

  // ALU
  localparam int unsigned ALU_OPCODE_LSB = 0;  // which instruction
  localparam int unsigned ALU_OPCODE_WIDTH = 3;
  localparam int unsigned ALU_POP_PREV_LSB = 3;  // take a token from the previous queue before starting
  localparam int unsigned ALU_POP_PREV_WIDTH = 1;
  localparam int unsigned ALU_POP_NEXT_LSB = 4;  // take a token from the next queue before starting
  localparam int unsigned ALU_POP_NEXT_WIDTH = 1;
  localparam int unsigned ALU_PUSH_PREV_LSB = 5;  // give a token to the previous queue when done
  localparam int unsigned ALU_PUSH_PREV_WIDTH = 1;
  localparam int unsigned ALU_PUSH_NEXT_LSB = 6;  // give a token to the next queue when done
  localparam int unsigned ALU_PUSH_NEXT_WIDTH = 1;
  localparam int unsigned ALU_RESET_LSB = 7;  // present as in VTA, no effect
  localparam int unsigned ALU_RESET_WIDTH = 1;
  localparam int unsigned ALU_UOP_BEGIN_LSB = 8;  // first micro-op
  localparam int unsigned ALU_UOP_BEGIN_WIDTH = 13;
  localparam int unsigned ALU_UOP_END_LSB = 21;  // one past the last micro-op
  localparam int unsigned ALU_UOP_END_WIDTH = 14;
  localparam int unsigned ALU_ITER_OUT_LSB = 35;  // trips of the outer loop; 0 does nothing
  localparam int unsigned ALU_ITER_OUT_WIDTH = 14;
  localparam int unsigned ALU_ITER_IN_LSB = 49;  // trips of the inner loop; 0 does nothing
  localparam int unsigned ALU_ITER_IN_WIDTH = 14;
  localparam int unsigned ALU_DST_FACTOR_OUT_LSB = 64;  // added to dst per outer trip
  localparam int unsigned ALU_DST_FACTOR_OUT_WIDTH = 11;
  localparam int unsigned ALU_DST_FACTOR_IN_LSB = 75;  // added to dst per inner trip
  localparam int unsigned ALU_DST_FACTOR_IN_WIDTH = 11;
  localparam int unsigned ALU_SRC_FACTOR_OUT_LSB = 86;  // added to src per outer trip
  localparam int unsigned ALU_SRC_FACTOR_OUT_WIDTH = 11;
  localparam int unsigned ALU_SRC_FACTOR_IN_LSB = 97;  // added to src per inner trip
  localparam int unsigned ALU_SRC_FACTOR_IN_WIDTH = 11;
  localparam int unsigned ALU_ALU_OPCODE_LSB = 108;  // operation, its low bits
  localparam int unsigned ALU_ALU_OPCODE_WIDTH = 3;
  localparam int unsigned ALU_USE_IMM_LSB = 111;  // the second operand is imm, not acc[src]
  localparam int unsigned ALU_USE_IMM_WIDTH = 1;
  localparam int unsigned ALU_IMM_LSB = 112;  // immediate: the second operand where use_imm is 1, or a parameter of the operation
  localparam int unsigned ALU_IMM_WIDTH = 16;
  localparam int unsigned ALU_ALU_OPCODE_HIGH_LSB = 63;  // bit 3 of the operation
  localparam int unsigned ALU_ALU_OPCODE_HIGH_WIDTH = 1;
  localparam int unsigned ALU_ALU_OPCODE_HIGH_PRESENT = 0;  // 0: the bit is reserved or belongs to another field
  localparam logic [127:0] ALU_RESERVED = 128'h0000000000000000_8000000000000000;  // bits that must be 0
  typedef struct packed {
    logic signed [15:0] imm;
    logic [0:0] use_imm;
    logic [2:0] alu_opcode;
    logic [10:0] src_factor_in;
    logic [10:0] src_factor_out;
    logic [10:0] dst_factor_in;
    logic [10:0] dst_factor_out;
    logic [0:0] reserved_0;
    logic [13:0] iter_in;
    logic [13:0] iter_out;
    logic [13:0] uop_end;
    logic [12:0] uop_begin;
    logic [0:0] reset;
    logic [0:0] push_next;
    logic [0:0] push_prev;
    logic [0:0] pop_next;
    logic [0:0] pop_prev;
    logic [2:0] opcode;
  } alu_t;

  // WINDOW
  localparam int unsigned WINDOW_OPCODE_LSB = 0;  // which instruction
  localparam int unsigned WINDOW_OPCODE_WIDTH = 3;
  localparam int unsigned WINDOW_POP_PREV_LSB = 3;  // take a token from the previous queue before starting
  localparam int unsigned WINDOW_POP_PREV_WIDTH = 1;
  localparam int unsigned WINDOW_POP_NEXT_LSB = 4;  // take a token from the next queue before starting
  localparam int unsigned WINDOW_POP_NEXT_WIDTH = 1;
  localparam int unsigned WINDOW_PUSH_PREV_LSB = 5;  // give a token to the previous queue when done
  localparam int unsigned WINDOW_PUSH_PREV_WIDTH = 1;
  localparam int unsigned WINDOW_PUSH_NEXT_LSB = 6;  // give a token to the next queue when done
  localparam int unsigned WINDOW_PUSH_NEXT_WIDTH = 1;
  localparam int unsigned WINDOW_UOP_BEGIN_LSB = 8;  // first micro-op
  localparam int unsigned WINDOW_UOP_BEGIN_WIDTH = 13;
  localparam int unsigned WINDOW_UOP_END_LSB = 21;  // one past the last micro-op
  localparam int unsigned WINDOW_UOP_END_WIDTH = 14;
  localparam int unsigned WINDOW_ITER_OUT_LSB = 35;  // trips of the outer loop; 0 does nothing
  localparam int unsigned WINDOW_ITER_OUT_WIDTH = 14;
  localparam int unsigned WINDOW_ITER_IN_LSB = 49;  // trips of the inner loop; 0 does nothing
  localparam int unsigned WINDOW_ITER_IN_WIDTH = 14;
  localparam int unsigned WINDOW_DST_FACTOR_OUT_LSB = 64;  // added to dst per outer trip
  localparam int unsigned WINDOW_DST_FACTOR_OUT_WIDTH = 11;
  localparam int unsigned WINDOW_DST_FACTOR_IN_LSB = 75;  // added to dst per inner trip
  localparam int unsigned WINDOW_DST_FACTOR_IN_WIDTH = 11;
  localparam int unsigned WINDOW_SRC_FACTOR_OUT_LSB = 86;  // added to src per outer trip
  localparam int unsigned WINDOW_SRC_FACTOR_OUT_WIDTH = 11;
  localparam int unsigned WINDOW_SRC_FACTOR_IN_LSB = 97;  // added to src per inner trip
  localparam int unsigned WINDOW_SRC_FACTOR_IN_WIDTH = 11;
  localparam int unsigned WINDOW_WGT_FACTOR_OUT_LSB = 108;  // added to wgt per outer trip
  localparam int unsigned WINDOW_WGT_FACTOR_OUT_WIDTH = 10;
  localparam int unsigned WINDOW_WGT_FACTOR_IN_LSB = 118;  // added to wgt per inner trip
  localparam int unsigned WINDOW_WGT_FACTOR_IN_WIDTH = 10;
  localparam int unsigned WINDOW_OVERWRITE_LSB = 63;  // acc[dst] = product instead of += (reset wins)
  localparam int unsigned WINDOW_OVERWRITE_WIDTH = 1;
  localparam int unsigned WINDOW_OVERWRITE_PRESENT = 0;  // 0: the bit is reserved or belongs to another field
  localparam int unsigned WINDOW_REQUANT_LSB = 7;  // results are requantized into OUT
  localparam int unsigned WINDOW_REQUANT_WIDTH = 1;
  localparam int unsigned WINDOW_REQUANT_PRESENT = 0;  // 0: the bit is reserved or belongs to another field
  localparam logic [127:0] WINDOW_RESERVED = 128'h0000000000000000_8000000000000080;  // bits that must be 0
  typedef struct packed {
    logic [9:0] wgt_factor_in;
    logic [9:0] wgt_factor_out;
    logic [10:0] src_factor_in;
    logic [10:0] src_factor_out;
    logic [10:0] dst_factor_in;
    logic [10:0] dst_factor_out;
    logic [0:0] reserved_0;
    logic [13:0] iter_in;
    logic [13:0] iter_out;
    logic [13:0] uop_end;
    logic [12:0] uop_begin;
    logic [0:0] reserved_1;
    logic [0:0] push_next;
    logic [0:0] push_prev;
    logic [0:0] pop_next;
    logic [0:0] pop_prev;
    logic [2:0] opcode;
  } window_t;

  // GEMMQ
  localparam int unsigned GEMMQ_OPCODE_LSB = 0;  // which instruction
  localparam int unsigned GEMMQ_OPCODE_WIDTH = 3;
  localparam int unsigned GEMMQ_POP_PREV_LSB = 3;  // take a token from the previous queue before starting
  localparam int unsigned GEMMQ_POP_PREV_WIDTH = 1;
  localparam int unsigned GEMMQ_POP_NEXT_LSB = 4;  // take a token from the next queue before starting
  localparam int unsigned GEMMQ_POP_NEXT_WIDTH = 1;
  localparam int unsigned GEMMQ_PUSH_PREV_LSB = 5;  // give a token to the previous queue when done
  localparam int unsigned GEMMQ_PUSH_PREV_WIDTH = 1;
  localparam int unsigned GEMMQ_PUSH_NEXT_LSB = 6;  // give a token to the next queue when done
  localparam int unsigned GEMMQ_PUSH_NEXT_WIDTH = 1;
  localparam int unsigned GEMMQ_UOP_BEGIN_LSB = 8;  // first micro-op
  localparam int unsigned GEMMQ_UOP_BEGIN_WIDTH = 13;
  localparam int unsigned GEMMQ_UOP_END_LSB = 21;  // one past the last micro-op
  localparam int unsigned GEMMQ_UOP_END_WIDTH = 14;
  localparam int unsigned GEMMQ_ITER_OUT_LSB = 35;  // trips of the outer loop; 0 does nothing
  localparam int unsigned GEMMQ_ITER_OUT_WIDTH = 14;
  localparam int unsigned GEMMQ_ITER_IN_LSB = 49;  // trips of the inner loop; 0 does nothing
  localparam int unsigned GEMMQ_ITER_IN_WIDTH = 14;
  localparam int unsigned GEMMQ_DST_FACTOR_OUT_LSB = 64;  // added to dst per outer trip
  localparam int unsigned GEMMQ_DST_FACTOR_OUT_WIDTH = 11;
  localparam int unsigned GEMMQ_DST_FACTOR_IN_LSB = 75;  // added to dst per inner trip
  localparam int unsigned GEMMQ_DST_FACTOR_IN_WIDTH = 11;
  localparam int unsigned GEMMQ_SRC_FACTOR_OUT_LSB = 86;  // added to src per outer trip
  localparam int unsigned GEMMQ_SRC_FACTOR_OUT_WIDTH = 11;
  localparam int unsigned GEMMQ_SRC_FACTOR_IN_LSB = 97;  // added to src per inner trip
  localparam int unsigned GEMMQ_SRC_FACTOR_IN_WIDTH = 11;
  localparam int unsigned GEMMQ_WGT_FACTOR_OUT_LSB = 108;  // added to wgt per outer trip
  localparam int unsigned GEMMQ_WGT_FACTOR_OUT_WIDTH = 10;
  localparam int unsigned GEMMQ_WGT_FACTOR_IN_LSB = 118;  // added to wgt per inner trip
  localparam int unsigned GEMMQ_WGT_FACTOR_IN_WIDTH = 10;
  localparam int unsigned GEMMQ_OVERWRITE_LSB = 63;  // acc[dst] = product instead of += (reset wins)
  localparam int unsigned GEMMQ_OVERWRITE_WIDTH = 1;
  localparam int unsigned GEMMQ_OVERWRITE_PRESENT = 0;  // 0: the bit is reserved or belongs to another field
  localparam logic [127:0] GEMMQ_RESERVED = 128'h0000000000000000_8000000000000080;  // bits that must be 0
  typedef struct packed {
    logic [9:0] wgt_factor_in;
    logic [9:0] wgt_factor_out;
    logic [10:0] src_factor_in;
    logic [10:0] src_factor_out;
    logic [10:0] dst_factor_in;
    logic [10:0] dst_factor_out;
    logic [0:0] reserved_0;
    logic [13:0] iter_in;
    logic [13:0] iter_out;
    logic [13:0] uop_end;
    logic [12:0] uop_begin;
    logic [0:0] reserved_1;
    logic [0:0] push_next;
    logic [0:0] push_prev;
    logic [0:0] pop_next;
    logic [0:0] pop_prev;
    logic [2:0] opcode;
  } gemmq_t;

  // Micro-op
  localparam int unsigned UOP_DST_LSB = 0;  // ACC element read and written; of an epilogue's parameters, bit 0: results are looked up in the table
  localparam int unsigned UOP_DST_WIDTH = 11;
  localparam int unsigned UOP_SRC_LSB = 11;  // products: INP element; ALU: ACC element
  localparam int unsigned UOP_SRC_WIDTH = 11;
  localparam int unsigned UOP_WGT_LSB = 22;  // products: WGT element (WINDOW: if all bits are 1, the step only pushes); of an epilogue's parameters, their WGT element; ALU: unused
  localparam int unsigned UOP_WGT_WIDTH = 10;
  typedef struct packed {
    logic [9:0] wgt;
    logic [10:0] src;
    logic [10:0] dst;
  } uop_t;

  // A step of GEMM, GEMMQ, WINDOW or ALU, from stage X to the pipes.
  localparam int unsigned SRC_INDEX_BITS =  // of INP or ACC
      INP_DEPTH_LOG2 > ACC_DEPTH_LOG2 ? INP_DEPTH_LOG2 : ACC_DEPTH_LOG2;
  typedef struct packed {
    logic empty;  // the instruction has no steps: it reads and writes nothing
    logic first;  // first step of its instruction
    logic last;
    logic gemm;  // of GEMM, GEMMQ or WINDOW
    logic reset;
    logic overwrite;
    logic window;  // of WINDOW
    logic push;  // of WINDOW, without products
    logic requant;  // of an instruction with an epilogue
    logic parameters;  // reads those of the epilogue
    logic use_imm;  // no operand is read: the second is imm, or there is none
    alu_op_e op;
    logic [15:0] imm;
    logic [ACC_DEPTH_LOG2-1:0] dst;
    logic [SRC_INDEX_BITS-1:0] src;
    logic [WGT_DEPTH_LOG2-1:0] wgt;
  } step_t;

  // A burst that a unit requests from the read port, or hands to the write port.
  typedef struct packed {
    logic valid;
    logic [ADDRESS_BITS-1:0] addr;
    logic [7:0] len;  // beats - 1
  } burst_t;

  // A beat of read data, from the read port to a unit.
  typedef struct packed {
    logic [1:0] resp;
    logic [8*BUS_BYTES-1:0] data;
  } beat_t;

  localparam logic [1:0] AXI_BURST_INCR = 2'b01;

  // The channels of the AXI4 memory port, as their source drives them; READY is a separate port.
  typedef struct packed {  // AR or AW
    logic valid;
    logic [ADDRESS_BITS-1:0] addr;
    logic [7:0] len;
    logic [2:0] size;
    logic [1:0] burst;
  } axi_ax_t;

  typedef struct packed {
    logic valid;
    logic [8*BUS_BYTES-1:0] data;
    logic [1:0] resp;
    logic last;
  } axi_r_t;

  typedef struct packed {
    logic valid;
    logic [8*BUS_BYTES-1:0] data;
    logic [BUS_BYTES-1:0] strb;
    logic last;
  } axi_w_t;

  typedef struct packed {  // AXI4-Lite too
    logic valid;
    logic [1:0] resp;
  } axi_b_t;

  // The channels of the AXI4-Lite register port, likewise.
  typedef struct packed {  // AR or AW
    logic valid;
    logic [11:0] addr;
  } axil_ax_t;

  typedef struct packed {
    logic valid;
    logic [31:0] data;
    logic [1:0] resp;
  } axil_r_t;

  typedef struct packed {
    logic valid;
    logic [31:0] data;
    logic [3:0] strb;
  } axil_w_t;

  // The head of a command queue.
  typedef struct packed {
    logic valid;
    logic [31:0] index;  // index of the instruction in its program
    logic [INSTRUCTION_BITS-1:0] instr;
  } command_t;

  // The token FIFOs between a unit and a neighbor: their state, and the unit's request.
  typedef struct packed {
    logic available;  // a token to pop
    logic room;  // room for a token to push
  } tokens_t;

  typedef struct packed {
    logic pop;
    logic push;
  } token_use_t;

  // An error that stops a launch.
  typedef struct packed {
    logic valid;
    error_code_e code;
    logic [31:0] index;  // index of the instruction that caused it
  } error_t;

  // Timing.
  localparam int unsigned TIMING_GEMM_CYCLES_PER_UOP = 1;  // cycles: one GEMM micro-op, reset and overwrite included
  localparam int unsigned TIMING_EPILOGUE_PARAMETER_CYCLES = 3;  // cycles: the step of an epilogue that reads its parameters: those before are still in use
  localparam int unsigned TIMING_ALU_CYCLES_PER_UOP_IMM = 1;  // cycles: one ALU micro-op with an immediate
  localparam int unsigned TIMING_ALU_CYCLES_PER_UOP_REPEATED = 1;  // cycles: one ALU micro-op whose vector operand has the index of the micro-op before it
  localparam int unsigned TIMING_ALU_CYCLES_PER_UOP_VECTOR = 2;  // cycles: one ALU micro-op with any other vector operand: ACC has one read port
  localparam int unsigned TIMING_ALU_CYCLES_PER_UOP_REQUANT = 3;  // cycles: one REQUANT whose operands are not those of the micro-op before it: scale, bias, destination
  localparam int unsigned TIMING_ALU_CYCLES_PER_UOP_ROW = 1;  // cycles: one RMAX or RADD
  localparam int unsigned TIMING_RECIP_CYCLES_PER_ROW = 28;  // cycles: RECIP, for each batch row: operand, place, 25 bits, rounding
  localparam int unsigned TIMING_RSQRT_CYCLES_PER_ROW = 56;  // cycles: RSQRT, for each batch row: 28 bits of the root more
  localparam int unsigned TIMING_ALU_INTERLOCK_CYCLES = 3;  // cycles: kind alu_long: the longest wait for a result of a micro-op before that is read
  localparam int unsigned TIMING_MAX_BURST_BEATS = 256;  // beats: AXI4's longest INCR burst
  localparam int unsigned TIMING_BURST_BOUNDARY_BYTES = 4096;  // bytes: no AXI4 burst crosses a multiple of this address
  localparam int unsigned TIMING_LAUNCH_TO_REQUEST = 1;  // cycles: cycle 0 of a launch to fetch's first read request
  localparam int unsigned TIMING_GRANT_TO_ADDRESS = 1;  // cycles: grant of a read request to ARVALID
  localparam int unsigned TIMING_BEAT_TO_SLOT = 1;  // cycles: a read beat's handshake to the slot that uses it
  localparam int unsigned TIMING_ISSUE_TO_START = 1;  // cycles: entry into the command queue to start
  localparam int unsigned TIMING_START_TO_REQUEST = 1;  // cycles: start of a load to its first read request
  localparam int unsigned TIMING_START_TO_TAKE = 1;  // cycles: load unit: start to being taken by the drainer
  localparam int unsigned TIMING_TAKE_TO_SLOT = 1;  // cycles: load unit: being taken by the drainer to the first slot, or to the end if there is none
  localparam int unsigned TIMING_SLOT_TO_END = 1;  // cycles: last slot of a load to its end
  localparam int unsigned TIMING_END_TO_START = 1;  // cycles: end of an instruction to the start of one that needs its token, or the unit
  localparam int unsigned TIMING_START_TO_STEP = 1;  // cycles: GEMM, ALU: start to the first step in stage U; compute load: to the first slot
  localparam int unsigned TIMING_STEP_TO_READ = 2;  // cycles: GEMM, ALU: leaving stage U to stage R
  localparam int unsigned TIMING_GEMM_READ_TO_WRITE = 4;  // cycles: GEMM: stage R to the write of ACC
  localparam int unsigned TIMING_ACC_TO_OUT = 4;  // cycles: extension epilogue: products, the write of ACC to that of OUT
  localparam int unsigned TIMING_TABLE_TO_OUT = 1;  // cycles: extensions epilogue and table: more for the table
  localparam int unsigned TIMING_ALU_READ_TO_WRITE = 1;  // cycles: ALU, kind alu: last cycle in stage R to the write of ACC
  localparam int unsigned TIMING_ALU_LONG_READ_TO_WRITE = 4;  // cycles: ALU, kind alu_long: last cycle in stage R to the write of ACC
  localparam int unsigned TIMING_WRITE_TO_END = 1;  // cycles: GEMM, ALU: last write of ACC and OUT to the end
  localparam int unsigned TIMING_FILL_TO_BUFFER = 1;  // cycles: store: the slot that completes a beat to that beat's entry into the write buffer
  localparam int unsigned TIMING_BUFFER_TO_WRITER = 1;  // cycles: store: entry of a burst's last beat to being taken by the writer
  localparam int unsigned TIMING_WRITER_TO_ADDRESS = 1;  // cycles: store: burst taken by the writer to AWVALID
  localparam int unsigned TIMING_ADDRESS_TO_DATA = 1;  // cycles: store: AW handshake to the first W beat
  localparam int unsigned TIMING_RESPONSE_TO_END = 1;  // cycles: store: last write response to the end
  localparam int unsigned TIMING_END_TO_DONE = 1;  // cycles: last end to the completion of the launch
  localparam int unsigned TIMING_LOAD_WAITING = 4;  // instructions: load unit: started, and not yet taken by the drainer
  localparam int unsigned TIMING_COMPUTE_IN_FLIGHT = 8;  // instructions: GEMM or ALU instructions started and not ended

  // AXI4-Lite registers.
  localparam int unsigned REG_WINDOW_BYTES = 4096;
  localparam logic [11:0] REG_CONTROL_OFFSET = 12'h000;  // starts launches
  localparam logic [31:0] REG_CONTROL_RESET = 32'h00000000;
  localparam int unsigned REG_CONTROL_START_LSB = 0;  // W1S: begin a launch; clears STATUS and CYCLES; no effect while busy
  localparam int unsigned REG_CONTROL_START_WIDTH = 1;
  localparam logic [11:0] REG_STATUS_OFFSET = 12'h004;  // state of the launch
  localparam logic [31:0] REG_STATUS_RESET = 32'h00000000;
  localparam int unsigned REG_STATUS_BUSY_LSB = 0;  // RO: a launch is running
  localparam int unsigned REG_STATUS_BUSY_WIDTH = 1;
  localparam int unsigned REG_STATUS_DONE_LSB = 1;  // RO: the last launch completed without an error
  localparam int unsigned REG_STATUS_DONE_WIDTH = 1;
  localparam int unsigned REG_STATUS_ERROR_LSB = 2;  // RO: the last launch was stopped, or left tokens; ERROR_INSTRUCTION says where
  localparam int unsigned REG_STATUS_ERROR_WIDTH = 1;
  localparam int unsigned REG_STATUS_ERROR_CODE_LSB = 4;  // RO: why: see the error codes
  localparam int unsigned REG_STATUS_ERROR_CODE_WIDTH = 4;
  localparam logic [11:0] REG_ERROR_INSTRUCTION_OFFSET = 12'h008;  // where a launch was stopped; valid while STATUS.error
  localparam logic [31:0] REG_ERROR_INSTRUCTION_RESET = 32'h00000000;
  localparam int unsigned REG_ERROR_INSTRUCTION_INDEX_LSB = 0;  // RO: instruction that met the error, counted from PROGRAM_BASE; leftover_tokens: INSTRUCTION_BEGIN + INSTRUCTION_COUNT
  localparam int unsigned REG_ERROR_INSTRUCTION_INDEX_WIDTH = 32;
  localparam logic [11:0] REG_INTERRUPT_ENABLE_OFFSET = 12'h00c;  // which events raise the interrupt line
  localparam logic [31:0] REG_INTERRUPT_ENABLE_RESET = 32'h00000000;
  localparam int unsigned REG_INTERRUPT_ENABLE_DONE_LSB = 0;  // RW: raise the interrupt when a launch completes
  localparam int unsigned REG_INTERRUPT_ENABLE_DONE_WIDTH = 1;
  localparam int unsigned REG_INTERRUPT_ENABLE_ERROR_LSB = 1;  // RW: raise the interrupt when a launch is stopped or leaves tokens
  localparam int unsigned REG_INTERRUPT_ENABLE_ERROR_WIDTH = 1;
  localparam logic [11:0] REG_INTERRUPT_STATUS_OFFSET = 12'h010;  // events so far; the line is high while an enabled one is set
  localparam logic [31:0] REG_INTERRUPT_STATUS_RESET = 32'h00000000;
  localparam int unsigned REG_INTERRUPT_STATUS_DONE_LSB = 0;  // W1C: a launch completed
  localparam int unsigned REG_INTERRUPT_STATUS_DONE_WIDTH = 1;
  localparam int unsigned REG_INTERRUPT_STATUS_ERROR_LSB = 1;  // W1C: a launch was stopped or left tokens
  localparam int unsigned REG_INTERRUPT_STATUS_ERROR_WIDTH = 1;
  localparam logic [11:0] REG_PROGRAM_BASE_LO_OFFSET = 12'h014;  // address of the program
  localparam logic [31:0] REG_PROGRAM_BASE_LO_RESET = 32'h00000000;
  localparam int unsigned REG_PROGRAM_BASE_LO_ADDRESS_LSB = 0;  // RW: bits 0-31 of the physical byte address of instruction 0; a multiple of the instruction size
  localparam int unsigned REG_PROGRAM_BASE_LO_ADDRESS_WIDTH = 32;
  localparam logic [11:0] REG_PROGRAM_BASE_HI_OFFSET = 12'h018;  // address of the program
  localparam logic [31:0] REG_PROGRAM_BASE_HI_RESET = 32'h00000000;
  localparam int unsigned REG_PROGRAM_BASE_HI_ADDRESS_LSB = 0;  // RW: bits 32-63
  localparam int unsigned REG_PROGRAM_BASE_HI_ADDRESS_WIDTH = 32;
  localparam logic [11:0] REG_INSTRUCTION_BEGIN_OFFSET = 12'h01c;  // which part of the program a launch runs
  localparam logic [31:0] REG_INSTRUCTION_BEGIN_RESET = 32'h00000000;
  localparam int unsigned REG_INSTRUCTION_BEGIN_INDEX_LSB = 0;  // RW: first instruction of the launch
  localparam int unsigned REG_INSTRUCTION_BEGIN_INDEX_WIDTH = 32;
  localparam logic [11:0] REG_INSTRUCTION_COUNT_OFFSET = 12'h020;  // which part of the program a launch runs
  localparam logic [31:0] REG_INSTRUCTION_COUNT_RESET = 32'h00000000;
  localparam int unsigned REG_INSTRUCTION_COUNT_COUNT_LSB = 0;  // RW: instructions of the launch; 0 completes at once. They end within 2^address_bits, and are fewer than fill them
  localparam int unsigned REG_INSTRUCTION_COUNT_COUNT_WIDTH = 32;
  localparam logic [11:0] REG_CYCLES_LO_OFFSET = 12'h024;  // clock cycles, from start to completion
  localparam logic [31:0] REG_CYCLES_LO_RESET = 32'h00000000;
  localparam int unsigned REG_CYCLES_LO_CYCLES_LSB = 0;  // RO: bits 0-31 of the cycles of the running or last launch
  localparam int unsigned REG_CYCLES_LO_CYCLES_WIDTH = 32;
  localparam logic [11:0] REG_CYCLES_HI_OFFSET = 12'h028;  // clock cycles, from start to completion
  localparam logic [31:0] REG_CYCLES_HI_RESET = 32'h00000000;
  localparam int unsigned REG_CYCLES_HI_CYCLES_LSB = 0;  // RO: bits 32-63
  localparam int unsigned REG_CYCLES_HI_CYCLES_WIDTH = 32;
  localparam logic [11:0] REG_ID_OFFSET = 12'h02c;  // identifies a Dovetail accelerator
  localparam logic [31:0] REG_ID_RESET = 32'h4c545644;
  localparam int unsigned REG_ID_ID_LSB = 0;  // RO: 0x4c545644: "DVTL"
  localparam int unsigned REG_ID_ID_WIDTH = 32;
  localparam logic [11:0] REG_VERSION_OFFSET = 12'h030;  // register map version
  localparam logic [31:0] REG_VERSION_RESET = 32'h00010001;
  localparam int unsigned REG_VERSION_MINOR_LSB = 0;  // RO: raised when registers are added to every design
  localparam int unsigned REG_VERSION_MINOR_WIDTH = 16;
  localparam int unsigned REG_VERSION_MAJOR_LSB = 16;  // RO: raised when a driver must change
  localparam int unsigned REG_VERSION_MAJOR_WIDTH = 16;
  localparam logic [11:0] REG_CONFIG_OFFSET = 12'h034;  // the design point, for drivers to compare with the program's
  localparam logic [31:0] REG_CONFIG_RESET = 32'h00000440;
  localparam int unsigned REG_CONFIG_BATCH_LOG2_LSB = 0;  // RO: log2 of batch
  localparam int unsigned REG_CONFIG_BATCH_LOG2_WIDTH = 4;
  localparam int unsigned REG_CONFIG_BLOCK_IN_LOG2_LSB = 4;  // RO: log2 of block_in
  localparam int unsigned REG_CONFIG_BLOCK_IN_LOG2_WIDTH = 4;
  localparam int unsigned REG_CONFIG_BLOCK_OUT_LOG2_LSB = 8;  // RO: log2 of block_out
  localparam int unsigned REG_CONFIG_BLOCK_OUT_LOG2_WIDTH = 4;
  localparam int unsigned REG_CONFIG_WIDE_LSB = 12;  // RO: 1: 256-bit instructions and 64-bit micro-ops
  localparam int unsigned REG_CONFIG_WIDE_WIDTH = 1;
  localparam int unsigned REG_CONFIG_REQUANT_LSB = 16;  // RO: extension `requant`
  localparam int unsigned REG_CONFIG_REQUANT_WIDTH = 1;
  localparam int unsigned REG_CONFIG_SATURATE_LSB = 17;  // RO: extension `saturate`
  localparam int unsigned REG_CONFIG_SATURATE_WIDTH = 1;
  localparam int unsigned REG_CONFIG_OVERWRITE_LSB = 18;  // RO: extension `overwrite`
  localparam int unsigned REG_CONFIG_OVERWRITE_WIDTH = 1;
  localparam int unsigned REG_CONFIG_WINDOW_LSB = 19;  // RO: extension `window`
  localparam int unsigned REG_CONFIG_WINDOW_WIDTH = 1;
  localparam int unsigned REG_CONFIG_EPILOGUE_LSB = 20;  // RO: extension `epilogue`
  localparam int unsigned REG_CONFIG_EPILOGUE_WIDTH = 1;
  localparam int unsigned REG_CONFIG_TABLE_LSB = 21;  // RO: extension `table`
  localparam int unsigned REG_CONFIG_TABLE_WIDTH = 1;
  localparam int unsigned REG_CONFIG_NORM_LSB = 22;  // RO: extension `norm`
  localparam int unsigned REG_CONFIG_NORM_WIDTH = 1;
  localparam int unsigned REG_CONFIG_WEIGHTS4_LSB = 23;  // RO: extension `weights4`
  localparam int unsigned REG_CONFIG_WEIGHTS4_WIDTH = 1;
  localparam int unsigned REG_CONFIG_OFFSET_LSB = 24;  // RO: extension `offset`
  localparam int unsigned REG_CONFIG_OFFSET_WIDTH = 1;
  localparam logic [11:0] REG_TOKENS_LOAD_OFFSET = 12'h038;  // what the last launch left over; valid while STATUS reports leftover_tokens
  localparam logic [31:0] REG_TOKENS_LOAD_RESET = 32'h00000000;
  localparam int unsigned REG_TOKENS_LOAD_LOAD_TO_COMPUTE_LSB = 0;  // RO: tokens in the FIFO load -> compute, at most 65535
  localparam int unsigned REG_TOKENS_LOAD_LOAD_TO_COMPUTE_WIDTH = 16;
  localparam int unsigned REG_TOKENS_LOAD_COMPUTE_TO_LOAD_LSB = 16;  // RO: tokens in the FIFO compute -> load
  localparam int unsigned REG_TOKENS_LOAD_COMPUTE_TO_LOAD_WIDTH = 16;
  localparam logic [11:0] REG_TOKENS_STORE_OFFSET = 12'h03c;  // what the last launch left over; valid while STATUS reports leftover_tokens
  localparam logic [31:0] REG_TOKENS_STORE_RESET = 32'h00000000;
  localparam int unsigned REG_TOKENS_STORE_COMPUTE_TO_STORE_LSB = 0;  // RO: tokens in the FIFO compute -> store
  localparam int unsigned REG_TOKENS_STORE_COMPUTE_TO_STORE_WIDTH = 16;
  localparam int unsigned REG_TOKENS_STORE_STORE_TO_COMPUTE_LSB = 16;  // RO: tokens in the FIFO store -> compute
  localparam int unsigned REG_TOKENS_STORE_STORE_TO_COMPUTE_WIDTH = 16;
  localparam logic [11:0] REG_OFFSET_LO_OFFSET = 12'h040;  // added to the addresses of a launch's transfers; change only while not busy
  localparam logic [31:0] REG_OFFSET_LO_RESET = 32'h00000000;
  localparam int unsigned REG_OFFSET_LO_BYTES_LSB = 0;  // RW: bits 0-31 of what a LOAD or STORE with `offset` adds to its address, rounded down to whole elements; bits from address_bits on read as 0
  localparam int unsigned REG_OFFSET_LO_BYTES_WIDTH = 32;
  localparam logic [11:0] REG_OFFSET_HI_OFFSET = 12'h044;  // added to the addresses of a launch's transfers; change only while not busy
  localparam logic [31:0] REG_OFFSET_HI_RESET = 32'h00000000;
  localparam int unsigned REG_OFFSET_HI_BYTES_LSB = 0;  // RW: bits 32-63
  localparam int unsigned REG_OFFSET_HI_BYTES_WIDTH = 32;

endpackage : dovetail_isa_pkg
