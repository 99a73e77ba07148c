// A lane of what is written to ACC: a sum, or one of two words, of which a comparison decides. A
// separate module, so that a synthesizer puts the choice after the two carries, which come last,
// into one level: elsewhere they would be two of its many inputs.
module dovetail_accumulate (
  input  logic [31:0] value_i,  // ACC's word
  input  logic        sums_i,
  input  logic [31:0] addend_i,
  input  logic [31:0] operand_i,  // compared to the word
  input  logic [31:0] if_less_i,
  input  logic [31:0] if_not_less_i,
  output logic [31:0] result_o
);
  logic [31:0] sum;
  logic        is_less;
  assign sum = value_i + addend_i;
  // Numbers from 2^31 below: the carry of the difference alone decides.
  assign is_less  = {!value_i[31], value_i[30:0]} < {!operand_i[31], operand_i[30:0]};
  assign result_o = sums_i ? sum : is_less ? if_less_i : if_not_less_i;
endmodule
