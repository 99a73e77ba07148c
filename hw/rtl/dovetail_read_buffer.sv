// A unit's side of the read port: requests a burst only when the buffer has room for all its beats,
// and keeps the beats until they are used.
module dovetail_read_buffer import dovetail_isa_pkg::*; #(
  parameter int unsigned Depth = 128  // beats
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       flush_i,
  // From the splitter, to the arbiter.
  input  logic       burst_valid_i,
  input  logic [7:0] row_len_i,    // beats - 1: the burst has the smaller of these two
  input  logic [7:0] page_len_i,
  input  logic       page_cuts_i,  // which is page_len_i
  output logic       request_o,
  input  logic       grant_i,
  // From the read port.
  input  logic       beat_valid_i,
  input  beat_t      beat_i,
  // To the unit.
  output logic       valid_o,
  output beat_t      beat_o,
  input  logic       pop_i
);
  localparam int unsigned CountWidth = $clog2(Depth + 1) > 9 ? $clog2(Depth + 1) : 9;

  // What is left of the credits after a burst of each length, with what this cycle returns. The
  // smaller burst fits if one of the two does; which it is, is known later.
  logic [CountWidth-1:0] credit_q, row_len, page_len, row_left, page_left;
  logic                  empty;

  assign row_len   = CountWidth'(row_len_i);
  assign page_len  = CountWidth'(page_len_i);
  assign row_left  = credit_q + ~row_len + CountWidth'(pop_i);
  assign page_left = credit_q + ~page_len + CountWidth'(pop_i);
  assign request_o = burst_valid_i && (credit_q > row_len || credit_q > page_len);
  assign valid_o   = !empty;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) credit_q <= CountWidth'(Depth);
    else if (flush_i) credit_q <= CountWidth'(Depth);
    else if (grant_i) credit_q <= page_cuts_i ? page_left : row_left;
    else if (pop_i) credit_q <= credit_q + 1'b1;
  end

  dovetail_fifo #(
    .Width(8 * BUS_BYTES + 2),
    .Depth(Depth)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .flush_i,
    .push_i (beat_valid_i),
    .data_i (beat_i),
    .pop_i,
    .data_o (beat_o),
    .empty_o(empty),
    .full_o ()
  );
endmodule
