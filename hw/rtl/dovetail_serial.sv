// The serial instructions of the compute queue, one at a time: LOADs of UOP, ACC and ACC8, NOPs, FINISH. docs/reference/timing.md, section 9.
module dovetail_serial #(
  localparam int unsigned AddrWidth = dovetail_isa_pkg::ADDRESS_BITS,
  localparam int unsigned BusBits = 8 * dovetail_isa_pkg::BUS_BYTES,
  localparam int unsigned UopBits = dovetail_isa_pkg::UOP_BITS,
  localparam int unsigned Lanes = dovetail_isa_pkg::BATCH * dovetail_isa_pkg::BLOCK_OUT,
  localparam int unsigned AccBits = 32 * Lanes,
  localparam int unsigned UopIndex = dovetail_isa_pkg::UOP_DEPTH_LOG2,
  localparam int unsigned AccIndex = dovetail_isa_pkg::ACC_DEPTH_LOG2
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       flush_i,
  input  logic                       halt_i,
  output dovetail_isa_pkg::error_t   error_o,
  // The head of the queue, and whether it starts.
  input  logic                       start_i,
  input  dovetail_isa_pkg::command_t command_i,
  // An instruction is in flight, up to and including the cycle in which it ends.
  output logic                       busy_o,
  output logic                       end_o,
  output logic [31:0]                index_o,
  // Tokens: prev is load, next is store.
  input  logic                       prev_room_i,
  output logic                       prev_push_o,
  input  logic                       next_room_i,
  output logic                       next_push_o,
  // Read port.
  output dovetail_isa_pkg::burst_t   request_o,
  input  logic                       grant_i,
  input  logic                       beat_valid_i,
  input  dovetail_isa_pkg::beat_t    beat_i,
  // What it writes.
  output logic                       uop_we_o,
  output logic [UopIndex-1:0]        uop_waddr_o,
  output logic [UopBits-1:0]         uop_wdata_o,
  output logic                       acc_we_o,
  output logic [AccIndex-1:0]        acc_waddr_o,
  output logic [AccBits-1:0]         acc_wdata_o
);
  localparam int unsigned BusLog2 = dovetail_isa_pkg::BUS_BYTES_LOG2;
  localparam int unsigned UopLog2 = dovetail_isa_pkg::UOP_ELEMENT_BYTES_LOG2;
  localparam int unsigned AccLog2 = dovetail_isa_pkg::ACC_ELEMENT_BYTES_LOG2;
  localparam int unsigned Acc8Log2 = dovetail_isa_pkg::ACC8_ELEMENT_BYTES_LOG2;
  localparam int unsigned Acc8Bits = 8 * Lanes;
  localparam int unsigned SizeWidth = dovetail_isa_pkg::LOAD_X_SIZE_WIDTH;
  localparam int unsigned PadWidth = dovetail_isa_pkg::LOAD_X_PAD_0_WIDTH;
  localparam int unsigned SramWidth = dovetail_isa_pkg::LOAD_SRAM_BASE_WIDTH;
  localparam int unsigned DramWidth = dovetail_isa_pkg::LOAD_DRAM_BASE_WIDTH;
  localparam int unsigned StrideWidth = dovetail_isa_pkg::LOAD_X_STRIDE_WIDTH;
  localparam int unsigned LaneWidth = BusLog2 + 1;
  localparam int unsigned UopLanes = UopLog2 < BusLog2 ? 1 << (BusLog2 - UopLog2) : 1;
  localparam int unsigned AccLanes = AccLog2 < BusLog2 ? 1 << (BusLog2 - AccLog2) : 1;
  localparam int unsigned Acc8Lanes = Acc8Log2 < BusLog2 ? 1 << (BusLog2 - Acc8Log2) : 1;
  localparam int unsigned UopBeats = UopLog2 < BusLog2 ? 1 : 1 << (UopLog2 - BusLog2);
  localparam int unsigned AccBeats = AccLog2 < BusLog2 ? 1 : 1 << (AccLog2 - BusLog2);
  localparam int unsigned Acc8Beats = Acc8Log2 < BusLog2 ? 1 : 1 << (Acc8Log2 - BusLog2);
  localparam int unsigned MostBeats = AccBeats > UopBeats ? AccBeats : UopBeats;
  localparam int unsigned LineBits = MostBeats > 1 ? (MostBeats - 1) * BusBits : BusBits;

  // ---- The head of the queue --------------------------------------------------------------------------------------------------------
  logic [SizeWidth-1:0] head_x_size, head_y_size;
  logic [PadWidth-1:0]  head_y_pad_0, head_y_pad_1;
  logic [2:0]           head_opcode, head_memory;
  logic                 head_moves, head_data, head_uop, head_acc8;

  assign head_opcode  = command_i.instr[2:0];
  assign head_memory  = command_i.instr[dovetail_isa_pkg::LOAD_MEMORY_LSB+:3];
  assign head_x_size  = command_i.instr[dovetail_isa_pkg::LOAD_X_SIZE_LSB+:SizeWidth];
  assign head_y_size  = command_i.instr[dovetail_isa_pkg::LOAD_Y_SIZE_LSB+:SizeWidth];
  assign head_y_pad_0 = command_i.instr[dovetail_isa_pkg::LOAD_Y_PAD_0_LSB+:PadWidth];
  assign head_y_pad_1 = command_i.instr[dovetail_isa_pkg::LOAD_Y_PAD_1_LSB+:PadWidth];
  assign head_uop     = head_memory == dovetail_isa_pkg::MEMORY_UOP;
  assign head_acc8    = head_memory == dovetail_isa_pkg::MEMORY_ACC8;
  assign head_data    = head_opcode == dovetail_isa_pkg::OPCODE_LOAD && head_x_size != '0 && head_y_size != '0;
  assign head_moves   = head_opcode == dovetail_isa_pkg::OPCODE_LOAD && head_x_size != '0 &&
                        (head_y_size != '0 || head_y_pad_0 != '0 || head_y_pad_1 != '0);

  logic [AddrWidth-1:0] head_base, head_row, head_stride, head_addr, head_row_bytes, head_stride_bytes;
  assign head_base         = AddrWidth'(command_i.instr[dovetail_isa_pkg::LOAD_DRAM_BASE_LSB+:DramWidth]);
  assign head_row          = AddrWidth'(head_x_size);
  assign head_stride       = AddrWidth'(command_i.instr[dovetail_isa_pkg::LOAD_X_STRIDE_LSB+:StrideWidth]);
  assign head_addr         = head_uop ? head_base << UopLog2 : head_acc8 ? head_base << Acc8Log2 : head_base << AccLog2;
  assign head_row_bytes    = head_uop ? head_row << UopLog2 : head_acc8 ? head_row << Acc8Log2 : head_row << AccLog2;
  assign head_stride_bytes = head_uop ? head_stride << UopLog2 : head_acc8 ? head_stride << Acc8Log2 : head_stride << AccLog2;

  // ---- Requests and beats -----------------------------------------------------------------------------------------------------------
  logic                    buffer_valid, buffer_pop;
  dovetail_isa_pkg::beat_t buffer;

  dovetail_reader #(
    .CountWidth(SizeWidth)
  ) u_reader (
    .clk_i,
    .rst_ni,
    .flush_i,
    .start_i    (start_i && head_data),
    .addr_i     (head_addr),
    .row_bytes_i(head_row_bytes),
    .stride_i   (head_stride_bytes),
    .rows_i     (head_y_size),
    .busy_o     (),
    .request_o,
    .grant_i,
    .beat_valid_i,
    .beat_i,
    .valid_o    (buffer_valid),
    .beat_o     (buffer),
    .pop_i      (buffer_pop)
  );

  // ---- Drain ------------------------------------------------------------------------------------------------------------------------
  logic                 active, slot, last, write, pad;
  logic [SramWidth-1:0] addr;
  logic [LaneWidth-1:0] lane, head_lanes;
  logic [LineBits-1:0]  line;

  assign head_lanes = head_uop ? LaneWidth'(UopLanes - 1) : head_acc8 ? LaneWidth'(Acc8Lanes - 1) : LaneWidth'(AccLanes - 1);
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
    .take_i      (start_i && head_moves),
    .sram_base_i (command_i.instr[dovetail_isa_pkg::LOAD_SRAM_BASE_LSB+:SramWidth]),
    .lane_i      (LaneWidth'(command_i.instr[dovetail_isa_pkg::LOAD_DRAM_BASE_LSB+:DramWidth]) & head_lanes),
    .lane_step_i (LaneWidth'(command_i.instr[dovetail_isa_pkg::LOAD_X_STRIDE_LSB+:StrideWidth])),
    .lane_last_i (head_lanes),
    .beat_last_i (head_uop ? 10'(UopBeats - 1) : head_acc8 ? 10'(Acc8Beats - 1) : 10'(AccBeats - 1)),
    .x_size_i    (head_x_size),
    .y_size_i    (head_y_size),
    .x_pad_0_i   (command_i.instr[dovetail_isa_pkg::LOAD_X_PAD_0_LSB+:PadWidth]),
    .x_pad_1_i   (command_i.instr[dovetail_isa_pkg::LOAD_X_PAD_1_LSB+:PadWidth]),
    .y_pad_0_i   (head_y_pad_0),
    .y_pad_1_i   (head_y_pad_1),
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

  // ---- Start and end ----------------------------------------------------------------------------------------------------------------
  logic        busy_q, done_q, push_prev_q, push_next_q;
  logic [31:0] index_q;
  logic [2:0]  memory_q;
  logic [3:0]  error_code;

  assign busy_o      = busy_q;
  assign index_o     = index_q;
  assign end_o       = done_q && !halt_i && (!push_prev_q || prev_room_i) && (!push_next_q || next_room_i);
  assign prev_push_o = end_o && push_prev_q;
  assign next_push_o = end_o && push_next_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      done_q <= 1'b0;
    end else if (flush_i) begin
      busy_q <= 1'b0;
      done_q <= 1'b0;
    end else begin
      if (start_i) busy_q <= 1'b1;
      else if (end_o) busy_q <= 1'b0;
      if (start_i && !head_moves) done_q <= 1'b1;
      else if (last) done_q <= 1'b1;
      else if (end_o) done_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      index_q     <= command_i.index;
      push_prev_q <= command_i.instr[dovetail_isa_pkg::GEMM_PUSH_PREV_LSB];
      push_next_q <= command_i.instr[dovetail_isa_pkg::GEMM_PUSH_NEXT_LSB];
      memory_q    <= head_memory;
    end
  end
  assign error_code = buffer.resp[0] ? dovetail_isa_pkg::ERROR_DECODE_ERROR : dovetail_isa_pkg::ERROR_SLAVE_ERROR;
  assign error_o    = {buffer_pop && buffer.resp[1], error_code, index_q};

  // ---- What is written --------------------------------------------------------------------------------------------------------------
  logic [UopBits-1:0]  uop_element;
  logic [AccBits-1:0]  acc_element;
  logic [Acc8Bits-1:0] acc8_element;

  dovetail_element #(
    .BusBits  (BusBits),
    .LineBits (LineBits),
    .Bits     (UopBits),
    .LaneWidth(LaneWidth)
  ) u_uop_element (
    .beat_i   (buffer.data),
    .line_i   (line),
    .lane_i   (lane),
    .element_o(uop_element)
  );
  dovetail_element #(
    .BusBits  (BusBits),
    .LineBits (LineBits),
    .Bits     (AccBits),
    .LaneWidth(LaneWidth)
  ) u_acc_element (
    .beat_i   (buffer.data),
    .line_i   (line),
    .lane_i   (lane),
    .element_o(acc_element)
  );
  dovetail_element #(
    .BusBits  (BusBits),
    .LineBits (LineBits),
    .Bits     (Acc8Bits),
    .LaneWidth(LaneWidth)
  ) u_acc8_element (
    .beat_i   (buffer.data),
    .line_i   (line),
    .lane_i   (lane),
    .element_o(acc8_element)
  );

  assign uop_we_o    = write && memory_q == dovetail_isa_pkg::MEMORY_UOP;
  assign uop_waddr_o = addr[UopIndex-1:0];
  assign uop_wdata_o = pad ? '0 : uop_element;
  assign acc_we_o    = write && memory_q != dovetail_isa_pkg::MEMORY_UOP;
  assign acc_waddr_o = addr[AccIndex-1:0];
  always_comb begin
    acc_wdata_o = acc_element;
    if (memory_q == dovetail_isa_pkg::MEMORY_ACC8) begin
      for (int unsigned l = 0; l < Lanes; l++) acc_wdata_o[l*32+:32] = {{24{acc8_element[l*8+7]}}, acc8_element[l*8+:8]};
    end
    if (pad) acc_wdata_o = '0;
  end
endmodule
