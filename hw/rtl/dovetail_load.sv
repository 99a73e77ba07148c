// Executes LOADs of INP, WGT and WGT4: requests run ahead; the writes into the SRAMs are in order.
// docs/reference/timing.md, section 8.
module dovetail_load import dovetail_isa_pkg::*; #(
  localparam int unsigned InpBits = 8 * INP_ELEMENT_BYTES,
  localparam int unsigned WgtBits = 8 * WGT_ELEMENT_BYTES
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      flush_i,
  input  logic                      halt_i,
  output logic                      idle_o,
  output error_t                    error_o,
  input  logic [ADDRESS_BITS-1:0]   offset_i,  // the register OFFSET
  // Command queue; an instruction leaves the queue when it starts.
  input  command_t                  command_i,
  // Token FIFOs to compute, the next queue.
  input  tokens_t                   tokens_i,
  output token_use_t                tokens_o,
  // Read port.
  output burst_t                    request_o,
  input  logic                      grant_i,
  input  logic                      beat_valid_i,
  input  beat_t                     beat_i,
  // Write ports of INP and WGT.
  output logic                      inp_we_o,
  output logic [INP_DEPTH_LOG2-1:0] inp_addr_o,
  output logic [InpBits-1:0]        inp_data_o,
  output logic                      wgt_we_o,
  output logic [WGT_DEPTH_LOG2-1:0] wgt_addr_o,
  output logic [WgtBits-1:0]        wgt_data_o,
  // Events for the probe.
  output logic                      start_o,
  output logic                      end_o,
  output logic [31:0]               end_index_o
);
  localparam int unsigned BusBits = 8 * BUS_BYTES;
  localparam int unsigned MostBits = InpBits > WgtBits ? InpBits : WgtBits;
  localparam int unsigned LineBits = MostBits > BusBits ? MostBits - BusBits : BusBits;
  localparam int unsigned LaneWidth = BUS_BYTES_LOG2 + 1;

  // ---- Start ------------------------------------------------------------------------------------
  load_t head;
  logic  requesting, waiting_full, waiting_empty;

  assign head    = command_i.instr;
  assign start_o = command_i.valid && !halt_i && !requesting && !waiting_full &&
                   (!head.pop_next || tokens_i.available);

  // LOADs that have started and are not yet drained.
  load_t       next;
  logic [31:0] next_index;
  logic        drain_start;

  dovetail_fifo #(
    .Width(INSTRUCTION_BITS + 32),
    .Depth(TIMING_LOAD_WAITING)
  ) u_waiting (
    .clk_i,
    .rst_ni,
    .flush_i,
    .push_i (start_o),
    .data_i ({command_i.index, command_i.instr}),
    .pop_i  (drain_start),
    .data_o ({next_index, next}),
    .empty_o(waiting_empty),
    .full_o (waiting_full)
  );

  // ---- Requests and slots -----------------------------------------------------------------------
  logic                            active, done, slot, write, pad;
  logic [LOAD_SRAM_BASE_WIDTH-1:0] addr;
  logic [BusBits-1:0]              data;
  logic [LineBits-1:0]             line;
  logic [LaneWidth-1:0]            lane;

  dovetail_transfer #(
    .Operands(1'b1),
    .LineBits(LineBits)
  ) u_transfer (
    .clk_i,
    .rst_ni,
    .flush_i,
    .halt_i,
    .error_o,
    .offset_i,
    .request_start_i(start_o),
    .request_instr_i(head),
    .requesting_o   (requesting),
    .request_o,
    .grant_i,
    .beat_valid_i,
    .beat_i,
    .drain_start_i  (drain_start),
    .drain_instr_i  (next),
    .drain_index_i  (next_index),
    .active_o       (active),
    .done_o         (done),
    .end_i          (end_o),
    .index_o        (end_index_o),
    .slot_o         (slot),
    .write_o        (write),
    .pad_o          (pad),
    .addr_o         (addr),
    .data_o         (data),
    .line_o         (line),
    .lane_o         (lane),
    .beat_o         ()
  );

  // ---- End --------------------------------------------------------------------------------------
  logic is_wgt_q, push_next_q;

  assign end_o       = done && (!push_next_q || tokens_i.room) && !halt_i;
  assign tokens_o    = {start_o && head.pop_next, end_o && push_next_q};
  assign drain_start = !waiting_empty && !active && (!done || end_o) && !halt_i;
  assign idle_o      = !active && !done && waiting_empty;

  always_ff @(posedge clk_i) begin
    if (drain_start) begin
      is_wgt_q    <= next.memory == MEMORY_WGT ||
                     (WEIGHTS4_ENABLED != 0 && next.memory == MEMORY_WGT4);
      push_next_q <= next.push_next;
    end
  end

  // ---- SRAM -------------------------------------------------------------------------------------
  logic [InpBits-1:0] inp_element;
  logic [WgtBits-1:0] wgt_element, weights;
  dovetail_element #(
    .LineBits(LineBits),
    .Bits    (InpBits)
  ) u_inp (
    .beat_i   (data),
    .line_i   (line),
    .lane_i   (lane),
    .element_o(inp_element)
  );
  dovetail_element #(
    .LineBits(LineBits),
    .Bits    (WgtBits)
  ) u_wgt (
    .beat_i   (data),
    .line_i   (line),
    .lane_i   (lane),
    .element_o(wgt_element)
  );
  if (WEIGHTS4_ENABLED != 0) begin : gen_weights4
    localparam int unsigned Wgt4Bits = WgtBits / 2;
    logic                is_wgt4_q;
    logic [Wgt4Bits-1:0] wgt4_element;
    always_ff @(posedge clk_i) begin
      if (drain_start) is_wgt4_q <= next.memory == MEMORY_WGT4;
    end
    dovetail_element #(
      .LineBits(LineBits),
      .Bits    (Wgt4Bits)
    ) u_wgt4 (
      .beat_i   (data),
      .line_i   (line),
      .lane_i   (lane),
      .element_o(wgt4_element)
    );
    always_comb begin
      weights = wgt_element;
      if (is_wgt4_q) begin
        for (int unsigned l = 0; l < WGT_ELEMENT_BYTES; l++) begin
          weights[l*8+:8] = {{4{wgt4_element[l*4+3]}}, wgt4_element[l*4+:4]};
        end
      end
    end
  end else begin : gen_weights8
    assign weights = wgt_element;
  end
  assign inp_we_o   = write && !is_wgt_q;
  assign wgt_we_o   = write && is_wgt_q;
  assign inp_addr_o = addr[INP_DEPTH_LOG2-1:0];
  assign wgt_addr_o = addr[WGT_DEPTH_LOG2-1:0];
  assign inp_data_o = pad ? '0 : inp_element;
  assign wgt_data_o = pad ? '0 : weights;
endmodule
