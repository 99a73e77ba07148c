`ifdef SYNTHESIS
`define DOVETAIL_SYNTHESIS_DOT
`endif

// The dot product of two int8 vectors, two cycles after its operands. Two bodies of equal latency,
// proven equal (hw/formal): one for simulation, which is fast (one expression, then another
// register), and one for synthesis, which maps well (products in registers, then a balanced tree).
module dovetail_dot #(
  parameter int unsigned Length = 16  // a power of two
) (
  input  logic                clk_i,
  input  logic                enable_i,    // operands are valid
  input  logic                enable_2_i,  // operands were valid in the previous cycle
  input  logic [Length*8-1:0] a_i,
  input  logic [Length*8-1:0] b_i,
  // The sum, one cycle after its operands: an intermediate result of the body for simulation. It is
  // a port so that the parent keeps it in an array with those of the other dot products, which the
  // C++ compiler can vectorize. 0 in the body for synthesis.
  output logic signed [31:0]  partial_o,
  output logic signed [31:0]  sum_o
);
`ifdef DOVETAIL_SYNTHESIS_DOT
  localparam int unsigned SumBits = 16 + $clog2(Length);
  logic signed [15:0] product_q [Length];
  for (genvar i = 0; i < Length; i++) begin : gen_product
    always_ff @(posedge clk_i) begin
      if (enable_i) product_q[i] <= $signed(a_i[i*8+:8]) * $signed(b_i[i*8+:8]);
    end
  end
  // Node n > 0 of the tree has the children 2n and 2n + 1; the leaves are Length to 2 Length - 1.
  // This is not a combinational loop, but Verilator treats the array as one signal.
  // verilator lint_off UNOPTFLAT
  logic signed [SumBits-1:0] node [2 * Length];
  // verilator lint_on UNOPTFLAT
  assign node[0] = '0;
  for (genvar n = 1; n < 2 * Length; n++) begin : gen_node
    if (n >= Length) begin : gen_leaf
      logic [15:0] product;
      assign product = product_q[n-Length];
      assign node[n] = {{(SumBits - 15) {product[15]}}, product[14:0]};
    end else begin : gen_sum
      assign node[n] = node[2*n] + node[2*n+1];
    end
  end
  logic [SumBits-1:0] root;
  assign root = node[1];
  always_ff @(posedge clk_i) begin
    if (enable_2_i) sum_o <= {{(33 - SumBits) {root[SumBits-1]}}, root[SumBits-2:0]};
  end
  assign partial_o = '0;
`else
  logic signed [31:0] sum;
  always_comb begin
    sum = '0;
    for (int unsigned i = 0; i < Length; i++) begin
      sum = sum + 32'($signed(a_i[i*8+:8])) * 32'($signed(b_i[i*8+:8]));
    end
  end
  always_ff @(posedge clk_i) begin
    if (enable_i) partial_o <= sum;
    if (enable_2_i) sum_o <= partial_o;
  end
`endif
endmodule
