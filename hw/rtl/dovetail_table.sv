// The table of TABLE and TABLEU in TAB: a copy for each lane, since each reads another entry.
// A write stores a beat of a LOAD in all copies; the entries of a read arrive in the following
// cycle.
module dovetail_table import dovetail_isa_pkg::*; #(
  localparam int unsigned Lanes = BATCH * BLOCK_OUT,
  localparam int unsigned BusBits = 8 * BUS_BYTES,
  localparam int unsigned EntryWidth = BUS_BYTES_LOG2 - 1,  // of an entry's number in a beat
  localparam int unsigned WordWidth = 8 - EntryWidth
) (
  input  logic                 clk_i,
  input  logic                 we_i,
  input  logic [WordWidth-1:0] waddr_i,
  input  logic [BusBits-1:0]   wdata_i,
  input  logic                 re_i,
  input  logic [Lanes*8-1:0]   index_i,
  output logic [Lanes*16-1:0]  entry_o
);
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic [EntryWidth-1:0] entry_q;
    logic [BusBits-1:0]    word;
    dovetail_sram #(
      .Width(BusBits),
      .Depth(1 << WordWidth)
    ) u_copy (
      .clk_i,
      .we_i,
      .waddr_i,
      .wdata_i,
      .re_i,
      .raddr_i(index_i[l*8+EntryWidth+:WordWidth]),
      .rdata_o(word)
    );
    always_ff @(posedge clk_i) begin
      if (re_i) entry_q <= index_i[l*8+:EntryWidth];
    end
    assign entry_o[l*16+:16] = word[entry_q*16+:16];
  end
endmodule
