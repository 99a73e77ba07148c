// MIN and MAX of one lane, or another result while it is disabled. A separate module, so that a
// synthesizer puts the choice after the comparison into one level: in dovetail_alu, the comparison
// would be one of many inputs of the choice of the result, and not known to be the last one.
module dovetail_extreme (
  input  logic        enable_i,
  input  logic        maximum_i,
  input  logic [31:0] value_i,
  input  logic [31:0] operand_i,
  input  logic [31:0] other_i,
  output logic [31:0] result_o
);
  // Numbers from 2^31 below: the carry of the difference alone decides.
  logic is_less;
  assign is_less  = {!value_i[31], value_i[30:0]} < {!operand_i[31], operand_i[30:0]};
  assign result_o = !enable_i ? other_i : is_less == maximum_i ? operand_i : value_i;
endmodule
