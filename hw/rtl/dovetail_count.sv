// The counter of a loop, which begins anew after its last value. Whether it is at the last one is a
// register. A separate module, so that a synthesizer puts start_i and step_i, which are known last,
// after the comparison.
module dovetail_count #(
  parameter int unsigned Width = 14,
  parameter bit          FromZero = 1'b1  // first_i is always 0
) (
  input  logic             clk_i,
  // A new loop. value_i is the value until the next step: the first one, or one from which that
  // step goes to the first one, with restart_i.
  input  logic             start_i,
  input  logic [Width-1:0] value_i,
  input  logic [Width-1:0] first_i,
  input  logic [Width-1:0] last_i,
  input  logic             single_i,   // first_i is last_i
  input  logic             step_i,
  input  logic             restart_i,
  output logic [Width-1:0] value_o,
  output logic             ends_o      // it is the last one
);
  logic [Width-1:0] value_q, next, first, last_q;
  logic             single_q, ends_q;

  assign next    = value_q + 1'b1;
  assign value_o = value_q;
  assign ends_o  = ends_q;
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      value_q  <= value_i;
      last_q   <= last_i;
      single_q <= single_i;
      ends_q   <= single_i;
    end else if (step_i) begin
      value_q <= ends_q || restart_i ? first : next;
      ends_q  <= ends_q || restart_i ? single_q : next == last_q;
    end
  end
  if (FromZero) begin : gen_zero
    logic unused;
    assign first  = '0;
    assign unused = ^first_i;
  end else begin : gen_first
    logic [Width-1:0] first_q;
    assign first = first_q;
    always_ff @(posedge clk_i) begin
      if (start_i) first_q <= first_i;
    end
  end
endmodule
