// The accelerator: AXI4 memory master, AXI4-Lite registers, interrupt. One clock; reset may be
// asserted at any time and is released synchronously to the clock.
module dovetail_top import dovetail_isa_pkg::*; #(
  localparam int unsigned AddrWidth = ADDRESS_BITS,
  localparam int unsigned BusBytes = BUS_BYTES,
  localparam int unsigned BusBits = 8 * BusBytes
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  output logic                 interrupt_o,
  // AXI4 memory master; one ID, INCR bursts of whole beats.
  output logic                 mem_arvalid_o,
  input  logic                 mem_arready_i,
  output logic [AddrWidth-1:0] mem_araddr_o,
  output logic [7:0]           mem_arlen_o,
  output logic [2:0]           mem_arsize_o,
  output logic [1:0]           mem_arburst_o,
  input  logic                 mem_rvalid_i,
  output logic                 mem_rready_o,
  input  logic [BusBits-1:0]   mem_rdata_i,
  input  logic [1:0]           mem_rresp_i,
  input  logic                 mem_rlast_i,
  output logic                 mem_awvalid_o,
  input  logic                 mem_awready_i,
  output logic [AddrWidth-1:0] mem_awaddr_o,
  output logic [7:0]           mem_awlen_o,
  output logic [2:0]           mem_awsize_o,
  output logic [1:0]           mem_awburst_o,
  output logic                 mem_wvalid_o,
  input  logic                 mem_wready_i,
  output logic [BusBits-1:0]   mem_wdata_o,
  output logic [BusBytes-1:0]  mem_wstrb_o,
  output logic                 mem_wlast_o,
  input  logic                 mem_bvalid_i,
  output logic                 mem_bready_o,
  input  logic [1:0]           mem_bresp_i,
  // AXI4-Lite registers.
  input  logic                 reg_awvalid_i,
  output logic                 reg_awready_o,
  input  logic [11:0]          reg_awaddr_i,
  input  logic                 reg_wvalid_i,
  output logic                 reg_wready_o,
  input  logic [31:0]          reg_wdata_i,
  input  logic [3:0]           reg_wstrb_i,
  output logic                 reg_bvalid_o,
  input  logic                 reg_bready_i,
  output logic [1:0]           reg_bresp_o,
  input  logic                 reg_arvalid_i,
  output logic                 reg_arready_o,
  input  logic [11:0]          reg_araddr_i,
  output logic                 reg_rvalid_o,
  input  logic                 reg_rready_i,
  output logic [31:0]          reg_rdata_o,
  output logic [1:0]           reg_rresp_o
);
  localparam int unsigned InstrBits = INSTRUCTION_BITS;
  localparam int unsigned CommandBits = InstrBits + 32;  // an instruction with its index
  localparam int unsigned AccBits = 32 * BATCH * BLOCK_OUT;
  localparam int unsigned InpBits = 8 * INP_ELEMENT_BYTES;
  localparam int unsigned WgtBits = 8 * WGT_ELEMENT_BYTES;
  localparam int unsigned InpIndex = INP_DEPTH_LOG2;
  localparam int unsigned WgtIndex = WGT_DEPTH_LOG2;
  localparam int unsigned AccIndex = ACC_DEPTH_LOG2;

  // ---- Launch -----------------------------------------------------------------------------------
  logic        start, busy_q, halt_q, halt, flush, finished, left_over, stopped;
  logic [63:0] program_base;
  logic [AddrWidth-1:0] offset;
  logic [31:0] launch_begin, launch_count;
  logic [31:0] instr_index;  // the next to issue; at the end, one past the last
  logic [63:0] cycle_q;
  logic        cycle_carry_q;  // the lower half of cycle_q is all ones
  logic        fetch_idle, load_idle, compute_idle, store_idle, read_idle, write_quiet;
  logic        any_error;
  error_code_e error_code_q;
  logic [31:0] error_index_q;
  logic [2:0]  queue_empty, queue_full, queue_push;
  // Indexed by token FIFO: 0 load to compute, 1 compute to load, 2 compute to store, 3 store to
  // compute.
  logic [3:0]  token_push, token_pop, token_room, token_available;
  logic [63:0] token_counts;
  error_t      fetch_error, load_error, compute_error, store_error, error;

  assign any_error = fetch_error.valid || load_error.valid || compute_error.valid ||
                     store_error.valid;
  // Priority of the errors that occur in the same cycle.
  assign error     = fetch_error.valid   ? fetch_error :
                     compute_error.valid ? compute_error :
                     load_error.valid    ? load_error :
                                           store_error;
  assign finished  = busy_q && !halt_q && !any_error && fetch_idle && queue_empty == 3'b111 &&
                     load_idle && compute_idle && store_idle;
  // A launch must consume all of its tokens: the next one begins with empty FIFOs. Tokens that are
  // left over can be read until then.
  assign left_over = finished && token_available != 4'b0000;
  // After an error no instruction starts and no burst begins; accepted bursts complete. Then the
  // queues and the units are flushed. An error of fetch, which is a register, stops the units at
  // once: its instruction may be in a queue.
  assign halt      = halt_q || fetch_error.valid;
  assign stopped   = busy_q && halt_q && read_idle && write_quiet;
  assign flush     = start || stopped;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q        <= 1'b0;
      halt_q        <= 1'b0;
      error_code_q  <= ERROR_NONE;
      error_index_q <= '0;
      cycle_q       <= '0;
      cycle_carry_q <= 1'b0;
    end else begin
      // Two halves, so that no carry passes more than 32 bits in a cycle.
      cycle_q[31:0]  <= start ? 32'd1 : cycle_q[31:0] + 32'd1;
      cycle_q[63:32] <= start ? 32'd0 : cycle_q[63:32] + 32'(cycle_carry_q);
      cycle_carry_q  <= !start && cycle_q[31:0] == 32'hfffffffe;
      if (start) busy_q <= 1'b1;
      else if (finished || stopped) busy_q <= 1'b0;
      if (start || stopped) halt_q <= 1'b0;
      else if (busy_q && any_error) halt_q <= 1'b1;
      if (busy_q && any_error && !halt_q) begin
        error_code_q  <= error.code;
        error_index_q <= error.index;
      end
    end
  end

  axil_ax_t reg_aw, reg_ar;
  axil_w_t  reg_w;
  axi_b_t   reg_b;
  axil_r_t  reg_r;
  assign reg_aw = {reg_awvalid_i, reg_awaddr_i};
  assign reg_w  = {reg_wvalid_i, reg_wdata_i, reg_wstrb_i};
  assign reg_ar = {reg_arvalid_i, reg_araddr_i};
  assign {reg_bvalid_o, reg_bresp_o} = reg_b;
  assign {reg_rvalid_o, reg_rdata_o, reg_rresp_o} = reg_r;

  dovetail_regs u_regs (
    .clk_i,
    .rst_ni,
    .aw_i          (reg_aw),
    .aw_ready_o    (reg_awready_o),
    .w_i           (reg_w),
    .w_ready_o     (reg_wready_o),
    .b_o           (reg_b),
    .b_ready_i     (reg_bready_i),
    .ar_i          (reg_ar),
    .ar_ready_o    (reg_arready_o),
    .r_o           (reg_r),
    .r_ready_i     (reg_rready_i),
    .interrupt_o,
    .start_o       (start),
    .program_base_o(program_base),
    .offset_o      (offset),
    .begin_o       (launch_begin),
    .count_o       (launch_count),
    .busy_i        (busy_q),
    .done_i        (finished && !left_over),
    .error_i       (stopped || left_over),
    .error_code_i  (left_over ? ERROR_LEFTOVER_TOKENS : error_code_q),
    .error_index_i (left_over ? instr_index : error_index_q),
    .cycles_i      (cycle_q),
    .tokens_i      (token_counts)
  );

  // ---- Memory port ------------------------------------------------------------------------------
  axi_ax_t ar, aw;
  axi_r_t  r;
  axi_w_t  w;
  axi_b_t  b;
  assign {mem_arvalid_o, mem_araddr_o, mem_arlen_o, mem_arsize_o, mem_arburst_o} = ar;
  assign {mem_awvalid_o, mem_awaddr_o, mem_awlen_o, mem_awsize_o, mem_awburst_o} = aw;
  assign {mem_wvalid_o, mem_wdata_o, mem_wstrb_o, mem_wlast_o} = w;
  assign r = {mem_rvalid_i, mem_rdata_i, mem_rresp_i, mem_rlast_i};
  assign b = {mem_bvalid_i, mem_bresp_i};

  burst_t     fetch_burst, compute_burst, load_burst;
  beat_t      beat;
  logic [2:0] grant, beat_valid;

  dovetail_axi_read #(
    .OrderDepth(3 * OUTSTANDING_BEATS + 1)
  ) u_read (
    .clk_i,
    .rst_ni,
    .halt_i      (halt_q),
    .idle_o      (read_idle),
    .fetch_i     (fetch_burst),
    .compute_i   (compute_burst),
    .load_i      (load_burst),
    .grant_o     (grant),
    .beat_valid_o(beat_valid),
    .beat_o      (beat),
    .ar_o        (ar),
    .ar_ready_i  (mem_arready_i),
    .r_i         (r),
    .r_ready_o   (mem_rready_o)
  );

  // ---- Fetch and command queues -----------------------------------------------------------------
  logic [InstrBits-1:0] instr;
  command_t             load_head, compute_head, store_head;

  dovetail_fetch u_fetch (
    .clk_i,
    .rst_ni,
    .flush_i       (stopped),
    .halt_i        (halt),
    .idle_o        (fetch_idle),
    .error_o       (fetch_error),
    .start_i       (start),
    .program_base_i(program_base),
    .begin_i       (launch_begin),
    .count_i       (launch_count),
    .request_o     (fetch_burst),
    .grant_i       (grant[0]),
    .beat_valid_i  (beat_valid[0]),
    .beat_i        (beat),
    .full_i        (queue_full),
    .push_o        (queue_push),
    .instr_o       (instr),
    .index_o       (instr_index)
  );
  // Indexed by unit: 0 load, 1 compute, 2 store. An instruction leaves its queue when it starts.
  logic [2:0]               starts, ends;
  logic [3*CommandBits-1:0] heads;
  assign load_head    = {!queue_empty[0], heads[0*CommandBits+:CommandBits]};
  assign compute_head = {!queue_empty[1], heads[1*CommandBits+:CommandBits]};
  assign store_head   = {!queue_empty[2], heads[2*CommandBits+:CommandBits]};
  for (genvar q = 0; q < 3; q++) begin : gen_queue
    dovetail_fifo #(
      .Width(CommandBits),
      .Depth(COMMAND_QUEUE_DEPTH)
    ) u_queue (
      .clk_i,
      .rst_ni,
      .flush_i(flush),
      .push_i (queue_push[q]),
      .data_i ({instr_index, instr}),
      .pop_i  (starts[q]),
      .data_o (heads[q*CommandBits+:CommandBits]),
      .empty_o(queue_empty[q]),
      .full_o (queue_full[q])
    );
  end

  // ---- Tokens -----------------------------------------------------------------------------------
  for (genvar f = 0; f < 4; f++) begin : gen_tokens
    dovetail_token_fifo #(
      .Depth(TOKEN_QUEUE_DEPTH)
    ) u_tokens (
      .clk_i,
      .rst_ni,
      .flush_i    (flush),
      .push_i     (token_push[f]),
      .pop_i      (token_pop[f]),
      .room_o     (token_room[f]),
      .available_o(token_available[f]),
      .count_o    (token_counts[16*f+:16])
    );
  end

  // ---- Units ------------------------------------------------------------------------------------
  logic                inp_we, wgt_we, inp_re, wgt_re, out_we;
  logic [InpIndex-1:0] inp_waddr, inp_raddr;
  logic [WgtIndex-1:0] wgt_waddr, wgt_raddr;
  logic [AccIndex-1:0] out_waddr;
  logic [InpBits-1:0]  inp_wdata, inp_rdata;
  logic [WgtBits-1:0]  wgt_wdata, wgt_rdata;
  logic [AccBits-1:0]  out_wdata;
  logic [31:0]         load_end_index, compute_end_index, store_end_index;

  dovetail_load u_load (
    .clk_i,
    .rst_ni,
    .flush_i          (flush),
    .halt_i           (halt),
    .idle_o           (load_idle),
    .error_o          (load_error),
    .offset_i         (offset),
    .command_i        (load_head),
    .tokens_i         ({token_available[1], token_room[0]}),
    .tokens_o         ({token_pop[1], token_push[0]}),
    .request_o        (load_burst),
    .grant_i          (grant[2]),
    .beat_valid_i     (beat_valid[2]),
    .beat_i           (beat),
    .inp_we_o         (inp_we),
    .inp_addr_o       (inp_waddr),
    .inp_data_o       (inp_wdata),
    .wgt_we_o         (wgt_we),
    .wgt_addr_o       (wgt_waddr),
    .wgt_data_o       (wgt_wdata),
    .start_o          (starts[0]),
    .end_o            (ends[0]),
    .end_index_o      (load_end_index)
  );
  dovetail_sram #(
    .Width(InpBits),
    .Depth(INP_DEPTH)
  ) u_inp (
    .clk_i,
    .we_i   (inp_we),
    .waddr_i(inp_waddr),
    .wdata_i(inp_wdata),
    .re_i   (inp_re),
    .raddr_i(inp_raddr),
    .rdata_o(inp_rdata)
  );
  dovetail_sram #(
    .Width(WgtBits),
    .Depth(WGT_DEPTH)
  ) u_wgt (
    .clk_i,
    .we_i   (wgt_we),
    .waddr_i(wgt_waddr),
    .wdata_i(wgt_wdata),
    .re_i   (wgt_re),
    .raddr_i(wgt_raddr),
    .rdata_o(wgt_rdata)
  );
  dovetail_compute u_compute (
    .clk_i,
    .rst_ni,
    .flush_i         (flush),
    .halt_i          (halt),
    .idle_o          (compute_idle),
    .error_o         (compute_error),
    .offset_i        (offset),
    .command_i       (compute_head),
    .prev_i          ({token_available[0], token_room[1]}),
    .prev_o          ({token_pop[0], token_push[1]}),
    .next_i          ({token_available[3], token_room[2]}),
    .next_o          ({token_pop[3], token_push[2]}),
    .request_o       (compute_burst),
    .grant_i         (grant[1]),
    .beat_valid_i    (beat_valid[1]),
    .beat_i          (beat),
    .inp_re_o        (inp_re),
    .inp_addr_o      (inp_raddr),
    .inp_data_i      (inp_rdata),
    .wgt_re_o        (wgt_re),
    .wgt_addr_o      (wgt_raddr),
    .wgt_data_i      (wgt_rdata),
    .out_we_o        (out_we),
    .out_waddr_o     (out_waddr),
    .out_wdata_o     (out_wdata),
    .start_o         (starts[1]),
    .end_o           (ends[1]),
    .end_index_o     (compute_end_index)
  );
  dovetail_store u_store (
    .clk_i,
    .rst_ni,
    .flush_i          (flush),
    .halt_i           (halt),
    .idle_o           (store_idle),
    .quiet_o          (write_quiet),
    .error_o          (store_error),
    .offset_i         (offset),
    .command_i        (store_head),
    .tokens_i         ({token_available[2], token_room[3]}),
    .tokens_o         ({token_pop[2], token_push[3]}),
    .out_we_i         (out_we),
    .out_waddr_i      (out_waddr),
    .out_wdata_i      (out_wdata),
    .aw_o             (aw),
    .aw_ready_i       (mem_awready_i),
    .w_o              (w),
    .w_ready_i        (mem_wready_i),
    .b_i              (b),
    .b_ready_o        (mem_bready_o),
    .start_o          (starts[2]),
    .end_o            (ends[2]),
    .end_index_o      (store_end_index)
  );
endmodule
