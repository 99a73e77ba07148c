// Whether a step of ALU reads one element of ACC: as its destination, its source, or the element
// after its source. A separate module, so that a synthesizer makes the three comparisons at the
// same time.
module dovetail_reads #(
  parameter int unsigned Width = 11
) (
  input  logic             enable_i,
  input  logic [Width-1:0] element_i,
  input  logic [Width-1:0] dst_i,
  input  logic [Width-1:0] src_i,
  input  logic             reads_src_i,
  input  logic             reads_next_i,  // only with reads_src_i
  output logic             reads_o
);
  logic [Width-1:0] less_1;
  assign less_1  = element_i - 1'b1;
  assign reads_o = enable_i && (dst_i == element_i || (reads_src_i && src_i == element_i) ||
                                (reads_src_i && reads_next_i && src_i == less_1));
endmodule
