// Proof of dovetail_table: the entry that a lane reads is the one last written at its index. The
// tracked entry is any of the 256, of any lane.
module dovetail_table_formal import dovetail_isa_pkg::*; #(
  localparam int unsigned Lanes = BATCH * BLOCK_OUT,
  localparam int unsigned BusBits = 8 * BUS_BYTES,
  localparam int unsigned EntryWidth = BUS_BYTES_LOG2 - 1,
  localparam int unsigned WordWidth = 8 - EntryWidth
) (
  input logic                 clk_i,
  input logic                 we_i,
  input logic [WordWidth-1:0] waddr_i,
  input logic [BusBits-1:0]   wdata_i,
  input logic                 re_i,
  input logic [Lanes*8-1:0]   index_i
);
  (* anyconst *) logic [7:0] tracked;
  (* anyconst *) logic [7:0] lane;

  logic [Lanes*16-1:0] entry;
  dovetail_table u_dut (
    .clk_i,
    .we_i,
    .waddr_i,
    .wdata_i,
    .re_i,
    .index_i,
    .entry_o(entry)
  );

  logic        known = 1'b0;      // the entry was written
  logic        read_it = 1'b0;    // the lane read it in the preceding cycle, when it had been written
  logic [15:0] value, expected;
  logic        reads;
  assign reads = re_i && index_i[lane*8+:8] == tracked;
  always_ff @(posedge clk_i) begin
    if (we_i && waddr_i == tracked[7:EntryWidth]) begin
      known <= 1'b1;
      value <= wdata_i[tracked[EntryWidth-1:0]*16+:16];
    end
    if (re_i) begin
      read_it  <= reads && known;
      expected <= value;
    end
  end

  always_comb begin
    assume (32'(lane) < Lanes);
    assume (!(we_i && re_i));  // LOAD is serial: no step is in the pipe
    if (read_it) assert (entry[lane*16+:16] == expected);
  end
  always_ff @(posedge clk_i) begin
    cover (read_it && !re_i && entry[lane*16+:16] == 16'hbeef);
  end
endmodule
