// Proof that the two bodies of dovetail_dot are equal: the one that simulates fast and the one that
// maps well.
//
// With Hold the enables are free; without it, operands are valid in every cycle, so that the solver
// can identify both sums at any length.
module dovetail_dot_formal #(
  parameter int unsigned Length = 4,
  parameter bit Hold = 1'b1
) (
  input logic                clk_i,
  input logic                enable_i,
  input logic                enable_2_i,
  input logic [Length*8-1:0] a_i,
  input logic [Length*8-1:0] b_i
);
  logic               enable, enable_2;
  logic signed [31:0] partial, unused_partial, simulated, synthesized;
  assign enable   = enable_i || !Hold;
  assign enable_2 = enable_2_i || !Hold;
  dot_simulation u_simulation (
    .clk_i,
    .enable_i  (enable),
    .enable_2_i(enable_2),
    .a_i,
    .b_i,
    .partial_o (partial),
    .sum_o     (simulated)
  );
  dot_synthesis u_synthesis (
    .clk_i,
    .enable_i  (enable),
    .enable_2_i(enable_2),
    .a_i,
    .b_i,
    .partial_o (unused_partial),
    .sum_o     (synthesized)
  );

  // Without a reset, registers have arbitrary values until operands arrive.
  logic first = 1'b0, second = 1'b0;
  always_ff @(posedge clk_i) begin
    if (enable) first <= 1'b1;
    if (enable_2 && first) second <= 1'b1;
  end

  // Internal state: the root of the tree equals the register of the other body.
  (* hierconn *) logic signed [15+$clog2(Length):0] \u_synthesis.node[1] ;
  always_comb begin
    if (first) assert (partial == \u_synthesis.node[1] );
    if (second) assert (first && simulated == synthesized);
  end

  always_ff @(posedge clk_i) begin
    cover (second && simulated < 0);
    cover (second && simulated == 32'sd16384 * 32'(Length));
  end
endmodule
