// Whether two numbers are equal. A separate module, so that a synthesizer puts the signals that are
// known late after the comparison.
module dovetail_equal #(
  parameter int unsigned Width = 8
) (
  input  logic [Width-1:0] a_i,
  input  logic [Width-1:0] b_i,
  output logic             equal_o
);
  assign equal_o = a_i == b_i;
endmodule
