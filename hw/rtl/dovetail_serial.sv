// Executes the serial instructions of the compute queue, one at a time: LOADs of UOP, ACC, ACC8 and
// TAB, NOPs and FINISH. docs/reference/timing.md, section 9.
module dovetail_serial import dovetail_isa_pkg::*; #(
  localparam int unsigned Lanes = BATCH * BLOCK_OUT,
  localparam int unsigned AccBits = 32 * Lanes,
  localparam int unsigned Acc8Bits = 8 * Lanes,
  localparam int unsigned BusBits = 8 * BUS_BYTES,
  localparam int unsigned TableWidth = TAB_ELEMENT_BYTES_LOG2 - BUS_BYTES_LOG2
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      flush_i,
  input  logic                      halt_i,
  output error_t                    error_o,
  input  logic [ADDRESS_BITS-1:0]   offset_i,  // the register OFFSET
  // The head of the command queue; start_i: it starts in this cycle.
  input  logic                      start_i,
  input  command_t                  command_i,
  // An instruction is in flight, up to and including the cycle in which it ends.
  output logic                      busy_o,
  output logic                      end_o,
  output logic [31:0]               index_o,
  // Tokens: prev is load, next is store.
  input  logic                      prev_room_i,
  output logic                      prev_push_o,
  input  logic                      next_room_i,
  output logic                      next_push_o,
  // Read port.
  output burst_t                    request_o,
  input  logic                      grant_i,
  input  logic                      beat_valid_i,
  input  beat_t                     beat_i,
  // Write ports of UOP, ACC and the table, the last in beats.
  output logic                      uop_we_o,
  output logic [UOP_DEPTH_LOG2-1:0] uop_waddr_o,
  output logic [UOP_BITS-1:0]       uop_wdata_o,
  output logic                      acc_we_o,
  output logic [ACC_DEPTH_LOG2-1:0] acc_waddr_o,
  output logic [AccBits-1:0]        acc_wdata_o,
  output logic                      table_we_o,
  output logic [TableWidth-1:0]     table_waddr_o,
  output logic [BusBits-1:0]        table_wdata_o
);
  localparam int unsigned MostBits = AccBits > UOP_BITS ? AccBits : UOP_BITS;
  localparam int unsigned LineBits = MostBits > BusBits ? MostBits - BusBits : BusBits;
  localparam int unsigned LaneWidth = BUS_BYTES_LOG2 + 1;

  // ---- Requests and slots -----------------------------------------------------------------------
  load_t                           head;
  logic                            active, done, slot, write, pad;
  logic [LOAD_SRAM_BASE_WIDTH-1:0] addr;
  logic [BusBits-1:0]              data;
  logic [LineBits-1:0]             line;
  logic [LaneWidth-1:0]            lane;
  logic [9:0]                      beat;

  assign head = command_i.instr;

  dovetail_transfer #(
    .Operands(1'b0),
    .LineBits(LineBits)
  ) u_transfer (
    .clk_i,
    .rst_ni,
    .flush_i,
    .halt_i,
    .error_o,
    .offset_i,
    .request_start_i(start_i),
    .request_instr_i(head),
    .requesting_o   (),
    .request_o,
    .grant_i,
    .beat_valid_i,
    .beat_i,
    .drain_start_i  (start_i),
    .drain_instr_i  (head),
    .drain_index_i  (command_i.index),
    .active_o       (active),
    .done_o         (done),
    .end_i          (end_o),
    .index_o,
    .slot_o         (slot),
    .write_o        (write),
    .pad_o          (pad),
    .addr_o         (addr),
    .data_o         (data),
    .line_o         (line),
    .lane_o         (lane),
    .beat_o         (beat)
  );

  // ---- Start and end ----------------------------------------------------------------------------
  logic       busy_q, push_prev_q, push_next_q;
  logic [2:0] memory_q;

  assign busy_o      = busy_q;
  assign end_o       = done && !halt_i && (!push_prev_q || prev_room_i) &&
                       (!push_next_q || next_room_i);
  assign prev_push_o = end_o && push_prev_q;
  assign next_push_o = end_o && push_next_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (flush_i) busy_q <= 1'b0;
    else if (start_i) busy_q <= 1'b1;
    else if (end_o) busy_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      push_prev_q <= head.push_prev;
      push_next_q <= head.push_next;
      memory_q    <= head.memory;
    end
  end

  // ---- Writes -----------------------------------------------------------------------------------
  logic                is_table;
  logic [UOP_BITS-1:0] uop_element;
  logic [AccBits-1:0]  acc_element;
  logic [Acc8Bits-1:0] acc8_element;

  dovetail_element #(
    .LineBits(LineBits),
    .Bits    (UOP_BITS)
  ) u_uop_element (
    .beat_i   (data),
    .line_i   (line),
    .lane_i   (lane),
    .element_o(uop_element)
  );
  dovetail_element #(
    .LineBits(LineBits),
    .Bits    (AccBits)
  ) u_acc_element (
    .beat_i   (data),
    .line_i   (line),
    .lane_i   (lane),
    .element_o(acc_element)
  );
  dovetail_element #(
    .LineBits(LineBits),
    .Bits    (Acc8Bits)
  ) u_acc8_element (
    .beat_i   (data),
    .line_i   (line),
    .lane_i   (lane),
    .element_o(acc8_element)
  );

  assign uop_we_o    = write && memory_q == MEMORY_UOP;
  assign uop_waddr_o = addr[UOP_DEPTH_LOG2-1:0];
  assign uop_wdata_o = pad ? '0 : uop_element;
  assign acc_we_o    = write && memory_q != MEMORY_UOP && !is_table;
  assign acc_waddr_o = addr[ACC_DEPTH_LOG2-1:0];
  always_comb begin
    acc_wdata_o = acc_element;
    if (memory_q == MEMORY_ACC8) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        acc_wdata_o[l*32+:32] = {{24{acc8_element[l*8+7]}}, acc8_element[l*8+:8]};
      end
    end
    if (pad) acc_wdata_o = '0;
  end
  // A LOAD of TAB has no pads.
  assign is_table      = TABLE_ENABLED != 0 && memory_q == MEMORY_TAB;
  assign table_we_o    = slot && is_table;
  assign table_waddr_o = beat[TableWidth-1:0];
  assign table_wdata_o = data;
endmodule
