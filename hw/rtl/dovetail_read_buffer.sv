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
  input  logic [8:0] burst_beats_i,
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

  logic [CountWidth-1:0] credit_q;
  logic                  empty;

  assign request_o = burst_valid_i && credit_q >= CountWidth'(burst_beats_i);
  assign valid_o   = !empty;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) credit_q <= CountWidth'(Depth);
    else if (flush_i) credit_q <= CountWidth'(Depth);
    else begin
      credit_q <= credit_q + CountWidth'(pop_i) - (grant_i ? CountWidth'(burst_beats_i) : '0);
    end
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
