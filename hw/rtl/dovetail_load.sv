// Executes LOADs of INP and WGT: a requester, which runs ahead, and a drainer, which writes the SRAMs in order. docs/reference/timing.md, section 8.
module dovetail_load #(
  localparam int unsigned AddrWidth = dovetail_isa_pkg::ADDRESS_BITS,
  localparam int unsigned BusBits = 8 * dovetail_isa_pkg::BUS_BYTES,
  localparam int unsigned InstrBits = dovetail_isa_pkg::INSTRUCTION_BITS,
  localparam int unsigned InpBits = 8 * dovetail_isa_pkg::INP_ELEMENT_BYTES,
  localparam int unsigned WgtBits = 8 * dovetail_isa_pkg::WGT_ELEMENT_BYTES
) (
  input  logic                                        clk_i,
  input  logic                                        rst_ni,
  input  logic                                        flush_i,
  input  logic                                        halt_i,
  output logic                                        idle_o,
  output dovetail_isa_pkg::error_t                    error_o,
  // Command queue; its head leaves it when it starts.
  input  dovetail_isa_pkg::command_t                  command_i,
  // Compute, the next queue.
  input  dovetail_isa_pkg::tokens_t                   tokens_i,
  output dovetail_isa_pkg::token_use_t                tokens_o,
  // Read port.
  output dovetail_isa_pkg::burst_t                    request_o,
  input  logic                                        grant_i,
  input  logic                                        beat_valid_i,
  input  dovetail_isa_pkg::beat_t                     beat_i,
  // SRAM.
  output logic                                        inp_we_o,
  output logic [dovetail_isa_pkg::INP_DEPTH_LOG2-1:0] inp_addr_o,
  output logic [InpBits-1:0]                          inp_data_o,
  output logic                                        wgt_we_o,
  output logic [dovetail_isa_pkg::WGT_DEPTH_LOG2-1:0] wgt_addr_o,
  output logic [WgtBits-1:0]                          wgt_data_o,
  // For probes.
  output logic                                        start_o,
  output logic                                        end_o,
  output logic [31:0]                                 end_index_o
);
  localparam int unsigned BusLog2 = dovetail_isa_pkg::BUS_BYTES_LOG2;
  localparam int unsigned InpLog2 = dovetail_isa_pkg::INP_ELEMENT_BYTES_LOG2;
  localparam int unsigned WgtLog2 = dovetail_isa_pkg::WGT_ELEMENT_BYTES_LOG2;
  localparam int unsigned SizeWidth = dovetail_isa_pkg::LOAD_X_SIZE_WIDTH;
  localparam int unsigned PadWidth = dovetail_isa_pkg::LOAD_X_PAD_0_WIDTH;
  localparam int unsigned SramWidth = dovetail_isa_pkg::LOAD_SRAM_BASE_WIDTH;
  localparam int unsigned DramWidth = dovetail_isa_pkg::LOAD_DRAM_BASE_WIDTH;
  localparam int unsigned StrideWidth = dovetail_isa_pkg::LOAD_X_STRIDE_WIDTH;
  localparam int unsigned LaneWidth = BusLog2 + 1;
  // How an element lies in beats: within one (lanes), or in several.
  localparam int unsigned InpLanes = InpLog2 < BusLog2 ? 1 << (BusLog2 - InpLog2) : 1;
  localparam int unsigned WgtLanes = WgtLog2 < BusLog2 ? 1 << (BusLog2 - WgtLog2) : 1;
  localparam int unsigned InpBeats = InpLog2 < BusLog2 ? 1 : 1 << (InpLog2 - BusLog2);
  localparam int unsigned WgtBeats = WgtLog2 < BusLog2 ? 1 : 1 << (WgtLog2 - BusLog2);
  localparam int unsigned MostBeats = InpBeats > WgtBeats ? InpBeats : WgtBeats;
  localparam int unsigned LineBits = MostBeats > 1 ? (MostBeats - 1) * BusBits : BusBits;

  // ---- Start ----------------------------------------------------------------------------------------------------------------------
  logic [SizeWidth-1:0]   head_x_size, head_y_size;
  logic [DramWidth-1:0]   head_dram_base;
  logic [StrideWidth-1:0] head_x_stride;
  logic                   head_wgt, head_pop_next, head_data;
  logic                   split_busy, waiting_full, waiting_empty;

  assign head_wgt       = command_i.instr[dovetail_isa_pkg::LOAD_MEMORY_LSB+:3] == dovetail_isa_pkg::MEMORY_WGT;
  assign head_x_size    = command_i.instr[dovetail_isa_pkg::LOAD_X_SIZE_LSB+:SizeWidth];
  assign head_y_size    = command_i.instr[dovetail_isa_pkg::LOAD_Y_SIZE_LSB+:SizeWidth];
  assign head_dram_base = command_i.instr[dovetail_isa_pkg::LOAD_DRAM_BASE_LSB+:DramWidth];
  assign head_x_stride  = command_i.instr[dovetail_isa_pkg::LOAD_X_STRIDE_LSB+:StrideWidth];
  assign head_pop_next  = command_i.instr[dovetail_isa_pkg::LOAD_POP_NEXT_LSB];
  assign head_data      = head_x_size != '0 && head_y_size != '0;

  assign start_o = command_i.valid && !halt_i && !split_busy && !waiting_full && (!head_pop_next || tokens_i.available);

  logic                 buffer_valid, buffer_pop;
  logic [AddrWidth-1:0] head_addr, head_row_bytes, head_stride;
  dovetail_isa_pkg::beat_t buffer;

  assign head_addr      = head_wgt ? AddrWidth'(AddrWidth'(head_dram_base) << WgtLog2) : AddrWidth'(AddrWidth'(head_dram_base) << InpLog2);
  assign head_row_bytes = head_wgt ? AddrWidth'(AddrWidth'(head_x_size) << WgtLog2) : AddrWidth'(AddrWidth'(head_x_size) << InpLog2);
  assign head_stride    = head_wgt ? AddrWidth'(AddrWidth'(head_x_stride) << WgtLog2) : AddrWidth'(AddrWidth'(head_x_stride) << InpLog2);

  dovetail_reader #(
    .CountWidth(SizeWidth)
  ) u_reader (
    .clk_i,
    .rst_ni,
    .flush_i,
    .start_i    (start_o && head_data),
    .addr_i     (head_addr),
    .row_bytes_i(head_row_bytes),
    .stride_i   (head_stride),
    .rows_i     (head_y_size),
    .busy_o     (split_busy),
    .request_o,
    .grant_i,
    .beat_valid_i,
    .beat_i,
    .valid_o    (buffer_valid),
    .beat_o     (buffer),
    .pop_i      (buffer_pop)
  );

  // ---- Drain ----------------------------------------------------------------------------------------------------------------------
  logic [InstrBits-1:0] next;
  logic [31:0]          next_index, index_q;
  logic [3:0]           error_code;
  logic                 take, next_wgt, next_empty, done_q, wgt_q, push_next_q;
  logic [SizeWidth-1:0] next_x_size, next_y_size;
  logic [PadWidth-1:0]  next_y_pad_0, next_y_pad_1;

  dovetail_fifo #(
    .Width(InstrBits + 32),
    .Depth(dovetail_isa_pkg::TIMING_LOAD_WAITING)
  ) u_waiting (
    .clk_i,
    .rst_ni,
    .flush_i,
    .push_i (start_o),
    .data_i ({command_i.index, command_i.instr}),
    .pop_i  (take),
    .data_o ({next_index, next}),
    .empty_o(waiting_empty),
    .full_o (waiting_full)
  );
  assign next_wgt     = next[dovetail_isa_pkg::LOAD_MEMORY_LSB+:3] == dovetail_isa_pkg::MEMORY_WGT;
  assign next_x_size  = next[dovetail_isa_pkg::LOAD_X_SIZE_LSB+:SizeWidth];
  assign next_y_size  = next[dovetail_isa_pkg::LOAD_Y_SIZE_LSB+:SizeWidth];
  assign next_y_pad_0 = next[dovetail_isa_pkg::LOAD_Y_PAD_0_LSB+:PadWidth];
  assign next_y_pad_1 = next[dovetail_isa_pkg::LOAD_Y_PAD_1_LSB+:PadWidth];
  assign next_empty   = next_x_size == '0 || (next_y_size == '0 && next_y_pad_0 == '0 && next_y_pad_1 == '0);

  logic                 active, slot, last, write, pad;
  logic [SramWidth-1:0] addr;
  logic [LaneWidth-1:0] lane;
  logic [LineBits-1:0]  line;

  assign end_o       = done_q && (!push_next_q || tokens_i.room) && !halt_i;
  assign end_index_o = index_q;
  assign tokens_o    = {start_o && head_pop_next, end_o && push_next_q};
  assign take        = !waiting_empty && !active && (!done_q || end_o) && !halt_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) done_q <= 1'b0;
    else if (flush_i) done_q <= 1'b0;
    else if (take) done_q <= next_empty;
    else if (last) done_q <= 1'b1;
    else if (end_o) done_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      index_q     <= next_index;
      wgt_q       <= next_wgt;
      push_next_q <= next[dovetail_isa_pkg::LOAD_PUSH_NEXT_LSB];
    end
  end

  dovetail_drain #(
    .BusBits  (BusBits),
    .LineBits (LineBits),
    .SramWidth(SramWidth),
    .SizeWidth(SizeWidth),
    .PadWidth (PadWidth),
    .LaneWidth(LaneWidth)
  ) u_drain (
    .clk_i,
    .rst_ni,
    .flush_i,
    .take_i      (take && !next_empty),
    .sram_base_i (next[dovetail_isa_pkg::LOAD_SRAM_BASE_LSB+:SramWidth]),
    .lane_i      (LaneWidth'(next[dovetail_isa_pkg::LOAD_DRAM_BASE_LSB+:DramWidth]) & (next_wgt ? LaneWidth'(WgtLanes - 1) : LaneWidth'(InpLanes - 1))),
    .lane_step_i (LaneWidth'(next[dovetail_isa_pkg::LOAD_X_STRIDE_LSB+:StrideWidth])),
    .lane_last_i (next_wgt ? LaneWidth'(WgtLanes - 1) : LaneWidth'(InpLanes - 1)),
    .beat_last_i (next_wgt ? 10'(WgtBeats - 1) : 10'(InpBeats - 1)),
    .x_size_i    (next_x_size),
    .y_size_i    (next_y_size),
    .x_pad_0_i   (next[dovetail_isa_pkg::LOAD_X_PAD_0_LSB+:PadWidth]),
    .x_pad_1_i   (next[dovetail_isa_pkg::LOAD_X_PAD_1_LSB+:PadWidth]),
    .y_pad_0_i   (next_y_pad_0),
    .y_pad_1_i   (next_y_pad_1),
    .active_o    (active),
    .beat_valid_i(buffer_valid && !halt_i),
    .beat_data_i (buffer.data),
    .beat_pop_o  (buffer_pop),
    .slot_o      (slot),
    .last_o      (last),
    .write_o     (write),
    .pad_o       (pad),
    .addr_o      (addr),
    .lane_o      (lane),
    .line_o      (line)
  );

  assign error_code = buffer.resp[0] ? dovetail_isa_pkg::ERROR_DECODE_ERROR : dovetail_isa_pkg::ERROR_SLAVE_ERROR;
  assign error_o    = {buffer_pop && buffer.resp[1], error_code, index_q};
  assign idle_o     = !active && !done_q && waiting_empty;

  // ---- SRAM -----------------------------------------------------------------------------------------------------------------------
  logic [InpBits-1:0] inp_element;
  logic [WgtBits-1:0] wgt_element;
  dovetail_element #(
    .BusBits  (BusBits),
    .LineBits (LineBits),
    .Bits     (InpBits),
    .LaneWidth(LaneWidth)
  ) u_inp (
    .beat_i   (buffer.data),
    .line_i   (line),
    .lane_i   (lane),
    .element_o(inp_element)
  );
  dovetail_element #(
    .BusBits  (BusBits),
    .LineBits (LineBits),
    .Bits     (WgtBits),
    .LaneWidth(LaneWidth)
  ) u_wgt (
    .beat_i   (buffer.data),
    .line_i   (line),
    .lane_i   (lane),
    .element_o(wgt_element)
  );
  assign inp_we_o   = write && !wgt_q;
  assign wgt_we_o   = write && wgt_q;
  assign inp_addr_o = addr[dovetail_isa_pkg::INP_DEPTH_LOG2-1:0];
  assign wgt_addr_o = addr[dovetail_isa_pkg::WGT_DEPTH_LOG2-1:0];
  assign inp_data_o = pad ? '0 : inp_element;
  assign wgt_data_o = pad ? '0 : wgt_element;
endmodule
