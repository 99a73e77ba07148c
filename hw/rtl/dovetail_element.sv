// Extracts an element of Bits bits from a beat, or assembles it from a beat and the preceding ones.
module dovetail_element import dovetail_isa_pkg::*; #(
  parameter int unsigned LineBits = 64,
  parameter int unsigned Bits = 128,
  localparam int unsigned BusBits = 8 * BUS_BYTES
) (
  input  logic [BusBits-1:0]      beat_i,
  input  logic [LineBits-1:0]     line_i,  // the preceding beats, the latest on top
  input  logic [BUS_BYTES_LOG2:0] lane_i,
  output logic [Bits-1:0]         element_o
);
  if (Bits < BusBits) begin : gen_lanes
    assign element_o = beat_i[lane_i*Bits+:Bits];
  end else if (Bits == BusBits) begin : gen_beat
    assign element_o = beat_i;
  end else begin : gen_beats
    assign element_o = {beat_i, line_i[LineBits-1-:Bits-BusBits]};
  end
endmodule
