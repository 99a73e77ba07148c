// Proof that the write port is live: with a memory that takes an address and a beat, and answers a complete burst, within
// Fair cycles, something moves at least every Fair + 1 cycles while a burst is buffered or not answered. Bursts are sent
// and answered in order (dovetail_axi_write_formal), each has at most 256 beats, so each ends.
module dovetail_write_live_formal import dovetail_isa_pkg::*; #(
  parameter int unsigned Depth = 4,
  parameter int unsigned MostBursts = 3,
  parameter int unsigned Fair = 3
) (
  input logic                    clk_i,
  input logic                    beat_valid_i,
  input logic [8*BUS_BYTES-1:0]  beat_data_i,
  input logic [BUS_BYTES-1:0]    beat_strobe_i,
  input logic                    burst_valid_i,
  input logic [ADDRESS_BITS-1:0] burst_addr_i,
  input logic [7:0]              burst_len_i,
  input logic                    aw_ready_i,
  input logic                    w_ready_i,
  input axi_b_t                  b_i
);
  localparam int unsigned CountWidth = $clog2(Depth + MostBursts + 2) + 1;
  localparam int unsigned FifoCountWidth = $clog2(Depth + 1);
  localparam int unsigned PtrWidth = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned DueWidth = $clog2(MostBursts + 1);
  localparam logic [7:0] Most = 8'(Fair);
  localparam logic [CountWidth-1:0] Places = CountWidth'(Depth);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic        idle, quiet, error, sent, b_ready;
  error_code_e error_code;
  axi_ax_t     aw;
  axi_w_t      w;
  dovetail_axi_write #(
    .Depth     (Depth),
    .MostBursts(MostBursts)
  ) u_dut (
    .clk_i,
    .rst_ni       (rst_n),
    .flush_i      (1'b0),
    .halt_i       (1'b0),
    .idle_o       (idle),
    .quiet_o      (quiet),
    .error_o      (error),
    .error_code_o (error_code),
    .beat_valid_i,
    .beat_data_i,
    .beat_strobe_i,
    .burst_i      ({burst_valid_i, burst_addr_i, burst_len_i}),
    .sent_o       (sent),
    .aw_o         (aw),
    .aw_ready_i,
    .w_o          (w),
    .w_ready_i,
    .b_i,
    .b_ready_o    (b_ready)
  );

  // Handshakes; bursts that have entered and are not offered; offered parts; complete bursts that
  // are not answered; beats that the current burst has sent.
  logic accepted, last, answered, begins, pending, moves;
  logic [CountWidth-1:0] waiting, due;
  logic                  addressed, all_sent;
  logic [8:0]            index;
  assign accepted = aw.valid && aw_ready_i;
  assign last     = sent && w.last;
  assign answered = b_i.valid && b_ready;
  logic offered_q;  // a burst was offered in the previous cycle and is not complete
  assign begins   = (aw.valid || w.valid) && !offered_q;
  assign pending  = waiting != '0 || aw.valid || w.valid || due != '0;
  assign moves    = accepted || sent || answered || begins;
  logic [7:0] still, aw_waits, w_waits, b_waits;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      waiting   <= '0;
      due       <= '0;
      addressed <= 1'b0;
      all_sent  <= 1'b0;
      offered_q <= 1'b0;
      index     <= '0;
      still     <= '0;
      aw_waits  <= '0;
      w_waits   <= '0;
      b_waits   <= '0;
    end else begin
      waiting   <= waiting + CountWidth'(burst_valid_i) - CountWidth'(begins);
      due       <= due + CountWidth'((addressed || accepted) && (all_sent || last)) -
                   CountWidth'(answered);
      addressed <= (addressed || accepted) && !(all_sent || last);
      all_sent  <= (all_sent || last) && !(addressed || accepted);
      offered_q <= (aw.valid && !accepted) || (w.valid && !last);
      if (sent) index <= last ? '0 : index + 1'b1;
      still     <= pending && !moves ? still + 1'b1 : '0;
      aw_waits  <= aw.valid && !aw_ready_i ? aw_waits + 1'b1 : '0;
      w_waits   <= w.valid && !w_ready_i ? w_waits + 1'b1 : '0;
      b_waits   <= due != '0 && !b_i.valid ? b_waits + 1'b1 : '0;
    end
  end

  (* hierconn *) logic [FifoCountWidth-1:0] \u_dut.u_bursts.count_q ;
  (* hierconn *) logic                      \u_dut.u_bursts.empty_q ;
  (* hierconn *) logic [PtrWidth-1:0]       \u_dut.u_bursts.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]       \u_dut.u_bursts.tail_q ;
  (* hierconn *) logic [DueWidth-1:0]       \u_dut.unanswered_q ;
  (* hierconn *) logic [7:0]                \u_dut.len_q ;
  (* hierconn *) logic [7:0]                \u_dut.left_q ;
  // The queue counts a burst until the cycle before it is offered.
  logic [CountWidth-1:0] queued, end_;
  assign queued = waiting - CountWidth'(begins);
  assign end_   = CountWidth'(\u_dut.u_bursts.head_q ) + queued;
  always_comb begin
    // There is room for each burst; the memory answers complete bursts alone, and is fair.
    if (burst_valid_i) assume (queued < Places);
    if (b_i.valid) assume (due != '0);
    if (aw_waits == Most - 1'b1) assume (aw_ready_i);
    if (w_waits == Most - 1'b1) assume (w_ready_i);
    if (b_waits == Most - 1'b1) assume (b_i.valid || due == '0);
    if (rst_n) begin
      // Something moves; a burst has at most 256 beats, the last of which is marked.
      assert (still <= Most);
      if (w.valid) assert (w.last == (index == {1'b0, \u_dut.len_q }));
      assert (index <= 9'd255);
      assert (b_ready);
      // Nothing is lost: the port is idle only when nothing is pending.
      if (pending) assert (!idle);

      // Internal state.
      assert (CountWidth'(\u_dut.u_bursts.count_q ) == queued && queued <= Places);
      assert (\u_dut.u_bursts.empty_q == (queued == '0) && waiting >= CountWidth'(begins));
      assert (\u_dut.u_bursts.head_q <= PtrWidth'(Depth - 1));
      assert (CountWidth'(\u_dut.u_bursts.tail_q ) == (end_ >= Places ? end_ - Places : end_));
      assert (CountWidth'(\u_dut.unanswered_q ) == due + CountWidth'(aw.valid || w.valid));
      assert (due <= CountWidth'(MostBursts) && queued <= Places);
      assert (due + CountWidth'(aw.valid || w.valid) <= CountWidth'(MostBursts));
      assert ((aw.valid || addressed) == (w.valid || all_sent));
      assert (!(aw.valid && addressed) && !(w.valid && all_sent) && !(addressed && all_sent));
      if (begins) assert (aw.valid && w.valid && index == '0);
      if (offered_q) assert (aw.valid || w.valid);
      if (addressed || all_sent) assert (offered_q);
      if (w.valid) assert ({1'b0, \u_dut.left_q } + index == {1'b0, \u_dut.len_q });
      if (!w.valid) assert (index == '0);
      assert (aw_waits < Most && w_waits < Most && b_waits < Most);
      if (aw_waits != '0) assert (aw.valid);
      if (w_waits != '0) assert (w.valid);
      if (b_waits != '0) assert (due != '0);
      // The cycles of stillness are those that an offered part, or an answer, waits, and one before
      // a burst is offered.
      if (pending) begin
        assert ((aw.valid && still <= aw_waits + 1'b1) || (w.valid && still <= w_waits + 1'b1) ||
                (due != '0 && still <= b_waits + 1'b1) || still == '0);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && still == Most - 1'b1 && waiting == Places);
    cover (rst_n && answered && due == CountWidth'(MostBursts));
    cover (rst_n && last && index == 9'd3);
    cover (rst_n && due == CountWidth'(MostBursts) && waiting != '0 && !aw.valid);
  end
endmodule
