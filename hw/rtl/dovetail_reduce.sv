// RMAX and RADD (isa/semantics/norm.h) of one batch row: a tree over its lanes, in two cycles with
// about half of the levels each. Operands are gated while disabled, so that neither gates nor a
// simulator do any work.
module dovetail_reduce import dovetail_isa_pkg::*; #(
  localparam int unsigned Lanes = BLOCK_OUT,
  localparam int unsigned Cut = BLOCK_OUT_LOG2 / 2  // the level that is kept, from the root
) (
  input  logic                clk_i,
  input  logic                enable_i,
  input  logic                maximum_i,
  input  logic [Lanes*32-1:0] value_i,
  input  logic                maximum_2_i,  // in the second cycle
  output logic [31:0]         result_o      // in the second cycle
);
  // One adder for both: the sign of the difference chooses the maximum.
  function automatic [31:0] merged(input logic maximum, input logic [31:0] a, input logic [31:0] b);
    logic [32:0] sum;
    sum    = {a[31], a} + (maximum ? ~{b[31], b} : {b[31], b}) + 33'(maximum);
    merged = !maximum ? sum[31:0] : sum[32] ? b : a;
  endfunction

  // Node 1 is the root, the children of n are 2n and 2n + 1, the lanes are the last nodes. Those
  // of level Cut are kept for the second cycle.
  localparam int unsigned Kept = 1 << Cut;
  logic [2*Lanes*32-1:Kept*32] node;
  logic [2*Kept*32-1:32]       node_2;
  logic [Kept*32-1:0]          kept_q;
  always_comb begin
    node = '0;
    if (enable_i) begin
      node[Lanes*32+:Lanes*32] = value_i;
      for (int unsigned n = Lanes - 1; n >= Kept; n--) begin
        node[n*32+:32] = merged(maximum_i, node[2*n*32+:32], node[(2*n+1)*32+:32]);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (enable_i) kept_q <= node[Kept*32+:Kept*32];
  end
  always_comb begin
    node_2 = '0;
    node_2[Kept*32+:Kept*32] = kept_q;
    for (int unsigned n = Kept - 1; n >= 1; n--) begin
      node_2[n*32+:32] = merged(maximum_2_i, node_2[2*n*32+:32], node_2[(2*n+1)*32+:32]);
    end
  end
  assign result_o = node_2[32+:32];
endmodule
