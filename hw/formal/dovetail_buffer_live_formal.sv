// Proof that a unit's read path is live: while the memory sends the next beat, and the unit takes the next one, within
// Fair cycles, a burst of any length that may be asked for is requested after a bounded number of cycles, and every
// granted beat reaches the unit.
module dovetail_buffer_live_formal import dovetail_isa_pkg::*; #(
  parameter int unsigned Depth = 8,
  parameter int unsigned Fair = 3,
  localparam int unsigned Width = 12
) (
  input logic       clk_i,
  input logic       burst_valid_i,
  input logic [7:0] row_len_i,
  input logic [7:0] page_len_i,
  input logic       grant_i,
  input logic       beat_valid_i,
  input beat_t      beat_i,
  input logic       pop_i
);
  localparam int unsigned CreditWidth = $clog2(Depth + 1) > 9 ? $clog2(Depth + 1) : 9;
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  localparam int unsigned PtrWidth = $clog2(Depth);
  localparam logic [Width-1:0] Most = Width'(Fair);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic       page_cuts, request, valid;
  logic [8:0] burst_beats;
  beat_t      beat;
  assign page_cuts   = page_len_i < row_len_i;  // as dovetail_axi_split_formal proves
  assign burst_beats = {1'b0, page_cuts ? page_len_i : row_len_i} + 1'b1;
  dovetail_read_buffer #(
    .Depth(Depth)
  ) u_dut (
    .clk_i,
    .rst_ni     (rst_n),
    .flush_i    (1'b0),
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

  // Beats granted and not arrived, and beats in the buffer. Each beat moves twice: its work is 2
  // before it arrives, and 1 before it leaves.
  logic [Width-1:0] outstanding, buffered, work, work_first, waits, still, beat_waits, pop_waits;
  logic             waiting;
  assign work    = outstanding + outstanding + buffered;
  assign waiting = burst_valid_i && !request;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      outstanding <= '0;
      buffered    <= '0;
      waits       <= '0;
      still       <= '0;
      beat_waits  <= '0;
      pop_waits   <= '0;
      work_first  <= '0;
    end else begin
      outstanding <= outstanding + (grant_i ? Width'(burst_beats) : '0) - Width'(beat_valid_i);
      buffered    <= buffered + Width'(beat_valid_i) - Width'(pop_i);
      beat_waits  <= outstanding != '0 && !beat_valid_i ? beat_waits + 1'b1 : '0;
      pop_waits   <= valid && !pop_i ? pop_waits + 1'b1 : '0;
      // Since a burst has waited: cycles, the work at the beginning, cycles without a move.
      waits       <= waiting ? waits + 1'b1 : '0;
      still       <= waiting && !beat_valid_i && !pop_i ? still + 1'b1 : '0;
      if (!waiting || waits == '0) work_first <= work;
    end
  end
  logic [Width-1:0] at_first;
  assign at_first = waits == '0 ? work : work_first;

  (* hierconn *) logic [CreditWidth-1:0] \u_dut.credit_q ;
  (* hierconn *) logic [CountWidth-1:0]  \u_dut.u_beats.count_q ;
  (* hierconn *) logic                   \u_dut.u_beats.empty_q ;
  (* hierconn *) logic [PtrWidth-1:0]    \u_dut.u_beats.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]    \u_dut.u_beats.tail_q ;
  logic [Width-1:0] end_;
  assign end_ = Width'(\u_dut.u_beats.head_q ) + buffered;
  logic [8:0] beats_q;
  logic       waited_q;
  always_ff @(posedge clk_i) begin
    waited_q <= rst_n && waiting;
    beats_q  <= burst_beats;
  end
  always_comb begin
    if (grant_i) assume (request);
    if (beat_valid_i) assume (outstanding != '0);
    if (pop_i) assume (valid);
    if (burst_valid_i) assume (burst_beats <= 9'(Depth));
    // A burst is offered until it is granted.
    if (waited_q) assume (burst_valid_i && burst_beats == beats_q);
    // The memory and the unit are fair.
    if (beat_waits == Most - 1'b1) assume (beat_valid_i || outstanding == '0);
    if (pop_waits == Most - 1'b1) assume (pop_i || !valid);
    if (rst_n) begin
      // Each burst is requested; each beat reaches the unit.
      assert (waits <= Width'(2 * Depth) * Most);
      assert (valid == (buffered != '0));

      assert (Width'(\u_dut.credit_q ) == Width'(Depth) - outstanding - buffered);
      assert (outstanding <= Width'(Depth) && buffered <= Width'(Depth));
      assert (outstanding + buffered <= Width'(Depth));
      assert (Width'(\u_dut.u_beats.count_q ) == buffered);
      assert (\u_dut.u_beats.empty_q == (buffered == '0));
      assert (\u_dut.u_beats.head_q <= PtrWidth'(Depth - 1));
      assert (Width'(\u_dut.u_beats.tail_q ) == (end_ >= Width'(Depth) ? end_ - Width'(Depth) : end_));
      assert (beat_waits < Most && pop_waits < Most);
      if (beat_waits != '0) assert (outstanding != '0);
      if (pop_waits != '0) assert (valid);
      if (waits != '0) begin
        assert (waited_q && work <= work_first && work_first <= Width'(2 * Depth));
        assert (waits <= (work_first - work) * Most + still);
      end
      if (waits == '0) assert (still == '0);
      assert (still <= beat_waits || still <= pop_waits || (still != '0 && outstanding == '0 && buffered == '0));
      if (waiting) assert (work != '0);
      if (still != '0) assert (outstanding != '0 || buffered != '0);
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && waits == Width'(9) && work > Width'(2));
    cover (rst_n && waited_q && request && burst_beats == 9'(Depth));
  end
endmodule
