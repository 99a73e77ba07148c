// Proof of dovetail_read_buffer: it never requests more beats than it has room for, requests as
// soon as it has room, and keeps the beats in order.
module dovetail_read_buffer_formal import dovetail_isa_pkg::*; #(
  parameter int unsigned Depth = 8
) (
  input logic       clk_i,
  input logic       flush_i,
  input logic       burst_valid_i,
  input logic [7:0] row_len_i,
  input logic [7:0] page_len_i,
  input logic       grant_i,
  input logic       beat_valid_i,
  input beat_t      beat_i,
  input logic       pop_i,
  input logic       follow_i
);
  localparam int unsigned CreditWidth = $clog2(Depth + 1) > 9 ? $clog2(Depth + 1) : 9;
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  localparam int unsigned PtrWidth = $clog2(Depth);
  localparam int unsigned SumWidth = CreditWidth + 1;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // As dovetail_axi_split_formal proves.
  logic       page_cuts;
  logic [8:0] burst_beats;
  assign page_cuts   = page_len_i < row_len_i;
  assign burst_beats = {1'b0, page_cuts ? page_len_i : row_len_i} + 1'b1;

  logic  request, valid;
  beat_t beat;
  dovetail_read_buffer #(
    .Depth(Depth)
  ) u_dut (
    .clk_i,
    .rst_ni     (rst_n),
    .flush_i,
    .burst_valid_i,
    .row_len_i,
    .page_len_i,
    .page_cuts_i(page_cuts),
    .request_o  (request),
    .grant_i,
    .beat_valid_i,
    .beat_i,
    .valid_o    (valid),
    .beat_o     (beat),
    .pop_i
  );

  // Model: beats outstanding, beats in the buffer, and beats before the tracked one.
  logic [SumWidth-1:0] outstanding, buffered, ahead;
  logic                following;
  beat_t               value;
  always_ff @(posedge clk_i) begin
    if (!rst_n || flush_i) begin
      outstanding <= '0;
      buffered    <= '0;
      following   <= 1'b0;
    end else begin
      outstanding <= outstanding + (grant_i ? SumWidth'(burst_beats) : '0) -
                     SumWidth'(beat_valid_i);
      buffered    <= buffered + SumWidth'(beat_valid_i) - SumWidth'(pop_i);
      if (following && pop_i) begin
        ahead <= ahead - 1'b1;
        if (ahead == '0) following <= 1'b0;
      end
      if (beat_valid_i && follow_i && !following) begin
        following <= 1'b1;
        value     <= beat_i;
        ahead     <= buffered - SumWidth'(pop_i);
      end
    end
  end

  (* hierconn *) logic [CreditWidth-1:0] \u_dut.credit_q ;
  (* hierconn *) logic [CountWidth-1:0]  \u_dut.u_beats.count_q ;
  (* hierconn *) logic [PtrWidth-1:0]    \u_dut.u_beats.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]    \u_dut.u_beats.tail_q ;
  (* hierconn *) logic [PtrWidth-1:0]    \u_dut.u_beats.formal_place ;
  (* hierconn *) logic [8*BUS_BYTES+1:0] \u_dut.u_beats.formal_word ;

  logic [SumWidth-1:0] last, place;
  assign last  = SumWidth'(\u_dut.u_beats.head_q ) + buffered;
  assign place = SumWidth'(\u_dut.u_beats.head_q ) + ahead;
  // Positions count modulo the depth.
  function [SumWidth-1:0] wrapped(input logic [SumWidth-1:0] sum);
    wrapped = sum >= SumWidth'(Depth) ? sum - SumWidth'(Depth) : sum;
  endfunction

  always_comb begin
    // Assumptions about the environment. The arbiter grants what is requested, the memory sends
    // what was granted, the unit takes what is buffered; a flush comes only when nothing is
    // outstanding (asserted in hw/sva). Bursts have 1 to Depth beats (dovetail_axi_split_formal: at
    // most burst_beats and outstanding_beats).
    if (grant_i) assume (request);
    if (beat_valid_i) assume (outstanding != '0);
    if (pop_i) assume (valid);
    if (flush_i) assume (outstanding == '0 && !grant_i);
    if (burst_valid_i) assume (burst_beats <= 9'(Depth));
    if (follow_i) assume (\u_dut.u_beats.tail_q == \u_dut.u_beats.formal_place );

    if (rst_n) begin
      // There is room for all buffered and outstanding beats, so that every beat is taken at once.
      assert (outstanding <= SumWidth'(Depth) && buffered <= SumWidth'(Depth) &&
              outstanding + buffered <= SumWidth'(Depth));
      // A burst is requested exactly when it fits. This is always the case eventually: once all
      // granted beats have arrived and been taken, any burst fits.
      assert (request == (burst_valid_i && outstanding + buffered + SumWidth'(burst_beats) <=
                                           SumWidth'(Depth)));
      if (burst_valid_i && outstanding == '0 && buffered == '0) assert (request);
      assert (valid == (buffered != '0));
      if (following) begin
        assert (ahead < buffered);
        if (ahead == '0) assert (beat == value);
      end
    end

    // Internal state.
    if (rst_n) begin
      assert (SumWidth'(\u_dut.credit_q ) == SumWidth'(Depth) - outstanding - buffered);
      assert (SumWidth'(\u_dut.u_beats.count_q ) == buffered);
      assert (\u_dut.u_beats.head_q <= PtrWidth'(Depth - 1));
      assert (SumWidth'(\u_dut.u_beats.tail_q ) == wrapped(last));
      if (following) begin
        assert (SumWidth'(\u_dut.u_beats.formal_place ) == wrapped(place));
        assert (\u_dut.u_beats.formal_word == value);
      end
    end
  end

  logic was_full = 1'b0;
  always_ff @(posedge clk_i) begin
    if (rst_n && buffered == SumWidth'(Depth)) was_full <= 1'b1;
    cover (rst_n && was_full && buffered == '0 && outstanding == '0 && request);
    cover (rst_n && burst_valid_i && !request && outstanding == '0);
    cover (rst_n && grant_i && pop_i && beat_valid_i);
    cover (rst_n && following && ahead == '0 && pop_i && was_full);
  end
endmodule
