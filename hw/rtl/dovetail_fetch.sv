// Prefetches a launch's instructions, checks them, and pushes each into its command queue.
// docs/reference/timing.md, section 6.
module dovetail_fetch import dovetail_isa_pkg::*; #(
  localparam int unsigned AddrWidth = ADDRESS_BITS,
  localparam int unsigned BusBits = 8 * BUS_BYTES,
  localparam int unsigned InstrBits = INSTRUCTION_BITS
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 flush_i,
  input  logic                 halt_i,
  output logic                 idle_o,
  output error_t               error_o,
  // The launch to run.
  input  logic                 start_i,
  input  logic [63:0]          program_base_i,
  input  logic [31:0]          begin_i,
  input  logic [31:0]          count_i,
  // Read port.
  output burst_t               request_o,
  input  logic                 grant_i,
  input  logic                 beat_valid_i,
  input  beat_t                beat_i,
  // Command queues: 0 load, 1 compute, 2 store.
  input  logic [2:0]           full_i,
  output logic [2:0]           push_o,
  output logic [InstrBits-1:0] instr_o,
  output logic [31:0]          index_o
);
  localparam int unsigned BusLog2 = BUS_BYTES_LOG2;
  localparam int unsigned InstrBytes = INSTRUCTION_BYTES;
  localparam int unsigned InstrLog2 = $clog2(InstrBytes);
  localparam int unsigned Lanes = InstrLog2 < BusLog2 ? 1 << (BusLog2 - InstrLog2) : 1;
  localparam int unsigned Beats = InstrLog2 < BusLog2 ? 1 : 1 << (InstrLog2 - BusLog2);
  localparam int unsigned LineBits = Beats > 1 ? (Beats - 1) * BusBits : BusBits;
  localparam int unsigned LaneWidth = BusLog2 + 1;
  localparam logic [15:0] AluOps = ALU_SET_ENABLED;
  // By memory id: all but OUT, and those of extensions that are on.
  localparam logic [7:0] Loadable = {WEIGHTS4_ENABLED != 0, TABLE_ENABLED != 0, 6'b101111};

  logic                 buffer_valid, buffer_pop, complete, bad_resp, illegal, slot;
  logic                 wrong_q;  // in the previous cycle, no instruction was at the head
  beat_t                buffer;
  logic [LaneWidth-1:0] lane_q;
  logic [9:0]           beat_q;
  logic [LineBits-1:0]  line_q;
  logic [31:0]          left_q, index_q;
  logic                 idle_q, last_q;        // left_q is 0; it is 1
  logic                 bad_q, bad_decode_q;  // an earlier beat had an error response; DECERR
  error_code_e          error_code, wrong_code, wrong_code_q;
  logic [31:0]          wrong_index_q;
  logic [2:0]           queue;

  // ---- Addresses of the launch ------------------------------------------------------------------
  // In full precision, since the registers have more bits than an address. A launch that ends
  // outside the address space is rejected before anything is fetched; so is a launch that fills it,
  // since its length in bytes would not fit an address.
  //
  // The sums take two cycles after the registers of the launch are written. No access of the
  // registers can start the launch earlier: dovetail_regs answers a write before it takes the next
  // one, and then raises start_i a cycle later.
  localparam int unsigned BytesWidth = 33 + InstrLog2;
  localparam int unsigned HighWidth = BytesWidth > AddrWidth ? BytesWidth - AddrWidth : 1;
  logic [BytesWidth-1:0] launch_bytes, bytes_to_end;
  logic [32:0]           end_index_q;
  logic [AddrWidth-1:0]  first_addr_q;
  logic [HighWidth-1:0]  end_high;  // bytes_to_end beyond an address
  logic [AddrWidth:0]    end_low_q;
  // The launch has instructions; its program begins outside; it fills the address space; it ends at
  // 2^AddrWidth or later whatever its program's base is, and beyond 2^(AddrWidth + 1).
  logic                  some_q, base_outside_q, fills_q, end_outside_q, end_far_q;
  logic                  outside, refused_q;

  assign launch_bytes = BytesWidth'(count_i) << InstrLog2;
  assign bytes_to_end = BytesWidth'(end_index_q) << InstrLog2;
  assign end_high     = HighWidth'(bytes_to_end >> AddrWidth);
  always_ff @(posedge clk_i) begin
    end_index_q    <= 33'(begin_i) + 33'(count_i);
    first_addr_q   <= program_base_i[AddrWidth-1:0] +
                      AddrWidth'(AddrWidth'(begin_i) << InstrLog2);
    some_q         <= count_i != '0;
    base_outside_q <= program_base_i >> AddrWidth != '0;
    fills_q        <= launch_bytes >> AddrWidth != '0;
    // One cycle later.
    end_low_q      <= {1'b0, program_base_i[AddrWidth-1:0]} +
                      {1'b0, AddrWidth'(bytes_to_end)};
    end_outside_q  <= end_high != '0;
    end_far_q      <= end_high >> 1 != '0;
  end
  assign outside      = some_q &&
                        (base_outside_q || fills_q || end_far_q ||
                         (end_outside_q && end_low_q != '0) ||
                         (end_low_q[AddrWidth] && end_low_q[AddrWidth-1:0] != '0));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) refused_q <= 1'b0;
    else if (flush_i) refused_q <= 1'b0;
    else if (start_i) refused_q <= outside;
  end

  dovetail_reader #(
    .CountWidth(2)
  ) u_reader (
    .clk_i,
    .rst_ni,
    .flush_i,
    .start_i    (start_i && some_q && !outside),
    .addr_i     (first_addr_q),
    .row_bytes_i(AddrWidth'(AddrWidth'(count_i) << InstrLog2)),
    .stride_i   ('0),
    .rows_i     (2'd1),
    .busy_o     (),
    .request_o,
    .grant_i,
    .beat_valid_i,
    .beat_i,
    .valid_o    (buffer_valid),
    .beat_o     (buffer),
    .pop_i      (buffer_pop)
  );
  dovetail_element #(
    .LineBits(LineBits),
    .Bits    (InstrBits)
  ) u_instr (
    .beat_i   (buffer.data),
    .line_i   (line_q),
    .lane_i   (lane_q),
    .element_o(instr_o)
  );

  // ---- Decode -----------------------------------------------------------------------------------
  load_t load;  // or a STORE, whose memory and size have the same bit positions
  alu_t      alu;
  alu_code_t alu_op;
  logic  nop, operand_load;

  assign load         = instr_o;
  assign alu          = instr_o;
  assign alu_op       = {NORM_ENABLED != 0 && instr_o[ALU_ALU_OPCODE_HIGH_LSB], alu.alu_opcode};
  assign nop          = load.x_size == '0;
  assign operand_load = load.memory == MEMORY_INP || load.memory == MEMORY_WGT ||
                        (WEIGHTS4_ENABLED != 0 && load.memory == MEMORY_WGT4 && !nop);
  always_comb begin
    queue   = 3'b010;
    illegal = 1'b0;
    unique case (load.opcode)
      OPCODE_LOAD: begin
        if (operand_load) queue = 3'b001;
        illegal = (instr_o & LOAD_RESERVED) != '0 ||
                  (!nop && !Loadable[load.memory]);
      end
      OPCODE_STORE: begin
        queue   = 3'b100;
        illegal = (instr_o & STORE_RESERVED) != '0 || (!nop && load.memory != MEMORY_OUT);
      end
      OPCODE_GEMM: illegal = (instr_o & GEMM_RESERVED) != '0;
      OPCODE_FINISH: illegal = (instr_o & FINISH_RESERVED) != '0;
      OPCODE_ALU:
        illegal = (instr_o & ALU_RESERVED) != '0 || !AluOps[alu_op.op];
      OPCODE_WINDOW: illegal = WINDOW_ENABLED == 0 || (instr_o & WINDOW_RESERVED) != '0;
      OPCODE_GEMMQ: illegal = EPILOGUE_ENABLED == 0 || (instr_o & GEMMQ_RESERVED) != '0;
      default: illegal = 1'b1;
    endcase
  end

  // ---- Issue ------------------------------------------------------------------------------------
  assign complete   = beat_q == 10'(Beats - 1);
  assign bad_resp   = buffer.resp[1] || bad_q;
  // Whether the instruction is a correct one takes as long as the cycle, so it is issued before
  // that is known. The units start nothing in the following cycle, the first in which it could
  // start, if it is not. Nor does it need room: one that waits for its queue is found in the same
  // way.
  assign slot       = buffer_valid && !idle_q && !halt_i &&
                      (!complete || (queue & full_i) == 3'b000);
  assign buffer_pop = slot && (lane_q == LaneWidth'(Lanes - 1) || last_q || Beats > 1);
  assign push_o     = slot && complete ? queue : 3'b000;
  assign index_o    = index_q;
  always_comb begin
    wrong_code = ERROR_ILLEGAL;
    if (buffer.resp[1]) wrong_code = buffer.resp[0] ? ERROR_DECODE_ERROR : ERROR_SLAVE_ERROR;
    else if (bad_q) wrong_code = bad_decode_q ? ERROR_DECODE_ERROR : ERROR_SLAVE_ERROR;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) wrong_q <= 1'b0;
    else wrong_q <= buffer_valid && !idle_q && !halt_i && !flush_i && complete &&
                    (illegal || bad_resp);
  end
  always_ff @(posedge clk_i) begin
    wrong_code_q  <= wrong_code;
    wrong_index_q <= index_q;
  end
  assign error_code = refused_q ? ERROR_ADDRESS_SPACE : wrong_code_q;
  assign error_o    = {refused_q || wrong_q, error_code, refused_q ? index_q : wrong_index_q};
  assign idle_o     = idle_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q <= '0;
      idle_q <= 1'b1;
      last_q <= 1'b0;
    end else if (flush_i) begin
      left_q <= '0;
      idle_q <= 1'b1;
      last_q <= 1'b0;
    end else if (start_i) begin
      left_q <= count_i;
      idle_q <= !some_q;
      last_q <= count_i == 32'd1;
    end else if (slot && complete) begin
      left_q <= left_q - 32'd1;
      idle_q <= last_q;
      last_q <= left_q == 32'd2;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      index_q      <= begin_i;
      lane_q       <= LaneWidth'(first_addr_q >> InstrLog2) & LaneWidth'(Lanes - 1);
      beat_q       <= '0;
      bad_q        <= 1'b0;
      bad_decode_q <= 1'b0;
    end else if (slot) begin
      line_q <= LineBits'({buffer.data, line_q} >> BusBits);
      beat_q <= complete ? '0 : beat_q + 1'b1;
      if (!complete && buffer.resp[1] && !bad_q) begin
        bad_q        <= 1'b1;
        bad_decode_q <= buffer.resp[0];
      end
      if (complete) begin
        bad_q   <= 1'b0;
        index_q <= index_q + 32'd1;
        lane_q  <= lane_q == LaneWidth'(Lanes - 1) ? '0 : lane_q + 1'b1;
      end
    end
  end
endmodule
