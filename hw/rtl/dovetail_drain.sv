// Iterates over the elements that a LOAD writes, in destination order, one slot per cycle: a pad
// element, a beat, or an element within a beat (docs/reference/timing.md, section 3). Collects the
// beats of elements that span several.
module dovetail_drain import dovetail_isa_pkg::*; #(
  parameter int unsigned LineBits = 64,  // beats before an element's last; at least one beat
  localparam int unsigned BusBits = 8 * BUS_BYTES,
  localparam int unsigned LaneWidth = BUS_BYTES_LOG2 + 1
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            flush_i,
  // The LOAD to drain; its x_size is not 0.
  input  logic                            start_i,
  input  load_t                           instr_i,
  input  logic [LaneWidth-1:0]            first_lane_i,  // the first element in DRAM, modulo a beat
  input  logic [LaneWidth-1:0]            lane_last_i,  // elements in a beat - 1
  input  logic [9:0]                      beat_last_i,  // beats of an element - 1
  output logic                            active_o,
  // Beats in.
  input  logic                            beat_valid_i,
  input  logic [BusBits-1:0]              beat_data_i,
  output logic                            beat_pop_o,
  // Slots out.
  output logic                            slot_o,
  output logic                            last_o,   // this slot is the last
  output logic                            write_o,  // this slot completes an element
  output logic                            pad_o,    // the element is zero
  output logic [LOAD_SRAM_BASE_WIDTH-1:0] addr_o,
  output logic [LaneWidth-1:0]            lane_o,   // the element's lane in the beat
  output logic [LineBits-1:0]             line_o,   // the preceding beats, the latest on top
  output logic [9:0]                      beat_o    // the beat's number in its element
);
  logic                            active_q;
  logic [LOAD_SRAM_BASE_WIDTH-1:0] addr_q;
  logic [LaneWidth-1:0]            lane_q, row_lane_q, lane_step_q, lane_last_q, first_lane;
  logic [9:0]                      beat_q, beat_last_q;
  logic [LineBits-1:0]             line_q;
  logic                            x_data, y_data, x_last, y_last, data, element_done, row_done;

  dovetail_span #(
    .SizeWidth(LOAD_X_SIZE_WIDTH),
    .PadWidth (LOAD_X_PAD_0_WIDTH)
  ) u_x (
    .clk_i,
    .start_i,
    .pad_0_i    (instr_i.x_pad_0),
    .size_i     (instr_i.x_size),
    .pad_1_i    (instr_i.x_pad_1),
    .next_i     (write_o),
    .data_o     (x_data),
    .data_last_o(row_done),
    .last_o     (x_last)
  );
  dovetail_span #(
    .SizeWidth(LOAD_Y_SIZE_WIDTH),
    .PadWidth (LOAD_Y_PAD_0_WIDTH)
  ) u_y (
    .clk_i,
    .start_i,
    .pad_0_i    (instr_i.y_pad_0),
    .size_i     (instr_i.y_size),
    .pad_1_i    (instr_i.y_pad_1),
    .next_i     (write_o && x_last),
    .data_o     (y_data),
    .data_last_o(),
    .last_o     (y_last)
  );

  assign data         = x_data && y_data;
  assign slot_o       = active_q && (!data || beat_valid_i);
  assign element_done = !data || beat_q == beat_last_q;
  assign last_o       = slot_o && element_done && x_last && y_last;
  assign write_o      = slot_o && element_done;
  assign pad_o        = !data;
  // Each row begins with a new beat: the rest of the beat of a row's last element is dropped.
  assign beat_pop_o   = slot_o && data && (lane_q == lane_last_q || row_done);
  assign addr_o       = addr_q;
  assign lane_o       = lane_q;
  assign line_o       = line_q;
  assign beat_o       = beat_q;
  assign active_o     = active_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) active_q <= 1'b0;
    else if (flush_i) active_q <= 1'b0;
    else if (start_i) active_q <= 1'b1;
    else if (last_o) active_q <= 1'b0;
  end

  assign first_lane = first_lane_i & lane_last_i;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      addr_q      <= instr_i.sram_base;
      lane_q      <= first_lane;
      row_lane_q  <= first_lane;
      lane_step_q <= LaneWidth'(instr_i.x_stride);
      lane_last_q <= lane_last_i;
      beat_q      <= '0;
      beat_last_q <= beat_last_i;
    end else if (slot_o) begin
      if (data) begin
        beat_q <= element_done ? '0 : beat_q + 1'b1;
        line_q <= LineBits'({beat_data_i, line_q} >> BusBits);
        if (element_done) lane_q <= lane_q == lane_last_q ? '0 : lane_q + 1'b1;
        if (element_done && row_done) begin
          lane_q     <= (row_lane_q + lane_step_q) & lane_last_q;
          row_lane_q <= (row_lane_q + lane_step_q) & lane_last_q;
        end
      end
      if (element_done) addr_q <= addr_q + 1'b1;
    end
  end
endmodule
