// Walks over the elements that a LOAD writes, in destination order, one slot a cycle: a pad element, a beat, or an element within a beat
// (docs/reference/timing.md, section 3). Collects elements of several beats.
module dovetail_drain #(
  parameter int unsigned BusBits = 64,
  parameter int unsigned LineBits = 64,    // of the beats before an element's last; at least BusBits
  parameter int unsigned SramWidth = 16,   // bits of an element index
  parameter int unsigned SizeWidth = 16,
  parameter int unsigned PadWidth = 4,
  parameter int unsigned LaneWidth = 4     // bits of an element's place within a beat
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 flush_i,
  // The transfer.
  input  logic                 take_i,
  input  logic [SramWidth-1:0] sram_base_i,
  input  logic [LaneWidth-1:0] lane_i,       // of the first row's first element; 0 where an element fills beats
  input  logic [LaneWidth-1:0] lane_step_i,  // from row to row
  input  logic [LaneWidth-1:0] lane_last_i,  // elements in a beat - 1
  input  logic [9:0]           beat_last_i,  // beats of an element - 1
  input  logic [SizeWidth-1:0] x_size_i,     // not 0
  input  logic [SizeWidth-1:0] y_size_i,
  input  logic [PadWidth-1:0]  x_pad_0_i,
  input  logic [PadWidth-1:0]  x_pad_1_i,
  input  logic [PadWidth-1:0]  y_pad_0_i,
  input  logic [PadWidth-1:0]  y_pad_1_i,
  output logic                 active_o,
  // Beats.
  input  logic                 beat_valid_i,
  input  logic [BusBits-1:0]   beat_data_i,
  output logic                 beat_pop_o,
  // Slots.
  output logic                 slot_o,
  output logic                 last_o,       // this slot is the last
  output logic                 write_o,      // this slot completes an element
  output logic                 pad_o,        // which is zero
  output logic [SramWidth-1:0] addr_o,
  output logic [LaneWidth-1:0] lane_o,
  output logic [LineBits-1:0]  line_o        // the beats before, the latest on top
);
  localparam int unsigned CountWidth = SizeWidth + 2;

  logic                  active_q;
  logic [SramWidth-1:0]  addr_q;
  logic [LaneWidth-1:0]  lane_q, row_lane_q, lane_step_q, lane_last_q;
  logic [9:0]            beat_q, beat_last_q;
  logic [CountWidth-1:0] x_q, y_q, x_data_q, x_end_q, x_all_q, y_data_q, y_end_q, y_all_q;
  logic [LineBits-1:0]   line_q;
  logic                  x_last, y_last, data, element_done, row_done;

  assign data         = y_q >= y_data_q && y_q < y_end_q && x_q >= x_data_q && x_q < x_end_q;
  assign slot_o       = active_q && (!data || beat_valid_i);
  assign element_done = !data || beat_q == beat_last_q;
  assign row_done     = x_q == x_end_q - 1'b1;
  assign x_last       = x_q == x_all_q - 1'b1;
  assign y_last       = y_q == y_all_q - 1'b1;
  assign last_o       = slot_o && element_done && x_last && y_last;
  assign write_o      = slot_o && element_done;
  assign pad_o        = !data;
  // The last element of a row leaves nothing of its beat to others.
  assign beat_pop_o   = slot_o && data && (lane_q == lane_last_q || row_done);
  assign addr_o       = addr_q;
  assign lane_o       = lane_q;
  assign line_o       = line_q;
  assign active_o     = active_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) active_q <= 1'b0;
    else if (flush_i) active_q <= 1'b0;
    else if (take_i) active_q <= 1'b1;
    else if (last_o) active_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (take_i) begin
      addr_q      <= sram_base_i;
      lane_q      <= lane_i;
      row_lane_q  <= lane_i;
      lane_step_q <= lane_step_i;
      lane_last_q <= lane_last_i;
      beat_q      <= '0;
      beat_last_q <= beat_last_i;
      x_q         <= '0;
      y_q         <= '0;
      x_data_q    <= CountWidth'(x_pad_0_i);
      x_end_q     <= CountWidth'(x_pad_0_i) + CountWidth'(x_size_i);
      x_all_q     <= CountWidth'(x_pad_0_i) + CountWidth'(x_size_i) + CountWidth'(x_pad_1_i);
      y_data_q    <= CountWidth'(y_pad_0_i);
      y_end_q     <= CountWidth'(y_pad_0_i) + CountWidth'(y_size_i);
      y_all_q     <= CountWidth'(y_pad_0_i) + CountWidth'(y_size_i) + CountWidth'(y_pad_1_i);
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
      if (element_done) begin
        addr_q <= addr_q + 1'b1;
        x_q    <= x_last ? '0 : x_q + 1'b1;
        if (x_last) y_q <= y_q + 1'b1;
      end
    end
  end
endmodule
