// Proof of dovetail_axi_write: bursts are sent in order, each beat once and to its address, without
// a gap, on both channels at once whichever the memory accepts first; every response is awaited,
// and the count of outstanding ones never overflows.
//
// The environment makes bursts as dovetail_store does: beats enter one by one, and a burst enters
// with its last beat. The memory takes addresses and data in any order, and answers at any time.
module dovetail_axi_write_formal import dovetail_isa_pkg::*; #(
  parameter int unsigned Depth = 4,
  parameter int unsigned MaxBeats = 4,
  parameter int unsigned MostBursts = 3
) (
  input logic                    clk_i,
  input logic                    flush_i,
  input logic                    halt_i,
  input logic                    beat_valid_i,
  input logic [8*BUS_BYTES-1:0]  beat_data_i,
  input logic [BUS_BYTES-1:0]    beat_strobe_i,
  input logic                    burst_valid_i,
  input logic [ADDRESS_BITS-1:0] burst_addr_i,
  input logic                    aw_ready_i,
  input logic                    w_ready_i,
  input axi_b_t                  b_i,
  input logic                    follow_beat_i,
  input logic                    follow_burst_i
);
  // Wide enough that no sum below overflows.
  localparam int unsigned CountWidth =
      $clog2((Depth + 2) * MaxBeats + Depth + MostBursts + 1) + 1;
  localparam int unsigned FifoCountWidth = $clog2(Depth + 1);
  localparam int unsigned PtrWidth = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned DueWidth = $clog2(MostBursts + 1);
  localparam int unsigned BeatWidth = 9 * BUS_BYTES;
  localparam int unsigned BurstWidth = ADDRESS_BITS + 8;
  localparam logic [CountWidth-1:0] Places = CountWidth'(Depth);
  localparam logic [CountWidth-1:0] Longest = CountWidth'(MaxBeats);
  localparam logic [CountWidth-1:0] Most = CountWidth'(MostBursts);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic        idle, quiet, error, sent, b_ready;
  error_code_e error_code;
  axi_ax_t     aw;
  axi_w_t      w;
  logic [8:0]  burst_beats;
  dovetail_axi_write #(
    .Depth     (Depth),
    .MostBursts(MostBursts)
  ) u_dut (
    .clk_i,
    .rst_ni       (rst_n),
    .flush_i,
    .halt_i,
    .idle_o       (idle),
    .quiet_o      (quiet),
    .error_o      (error),
    .error_code_o (error_code),
    .beat_valid_i,
    .beat_data_i,
    .beat_strobe_i,
    .burst_i      ({burst_valid_i, burst_addr_i, 8'(open)}),
    .sent_o       (sent),
    .aw_o         (aw),
    .aw_ready_i,
    .w_o          (w),
    .w_ready_i,
    .b_i,
    .b_ready_o    (b_ready)
  );

  // Model. Beats: all beats in the buffer, and those of the burst that has not entered yet. Bursts:
  // entered and not accepted; entered and not fully sent; accepted, fully sent and not answered.
  // For the burst that is being sent: whether its address is accepted, whether all its beats are
  // sent, and how many are.
  logic [CountWidth-1:0] held, open, entered, unsent, due, index, length;
  logic                  addressed, all_sent, accepted, last;
  assign burst_beats = 9'(open + 1'b1);
  assign accepted    = aw.valid && aw_ready_i;
  assign last        = sent && w.last;
  // Tracked: one beat, with its number in its burst and the bursts before that; and one burst, with
  // the bursts before it.
  logic                    follow_beat, follow_burst;
  logic [CountWidth-1:0]   beats_ahead, beat_number, beat_bursts_ahead, bursts_ahead, of_burst;
  logic [BeatWidth-1:0]    beat;
  logic [ADDRESS_BITS-1:0] addr;
  always_ff @(posedge clk_i) begin
    if (!rst_n || flush_i) begin
      held         <= '0;
      open         <= '0;
      entered      <= '0;
      unsent       <= '0;
      due          <= '0;
      index        <= '0;
      addressed    <= 1'b0;
      all_sent     <= 1'b0;
      follow_beat  <= 1'b0;
      follow_burst <= 1'b0;
    end else begin
      held      <= held + CountWidth'(beat_valid_i) - CountWidth'(sent);
      open      <= burst_valid_i ? '0 : open + CountWidth'(beat_valid_i);
      entered   <= entered + CountWidth'(burst_valid_i) - CountWidth'(accepted);
      unsent    <= unsent + CountWidth'(burst_valid_i) - CountWidth'(last);
      due       <= due + CountWidth'((addressed || accepted) && (all_sent || last)) -
                   CountWidth'(b_i.valid);
      addressed <= (addressed || accepted) && !(all_sent || last);
      all_sent  <= (all_sent || last) && !(addressed || accepted);
      if (sent) index <= last ? '0 : index + 1'b1;
      if (accepted) length <= CountWidth'(aw.len) + 1'b1;
      // A beat is tracked until it is sent, a burst until it is accepted.
      if (follow_beat && sent) begin
        beats_ahead <= beats_ahead - 1'b1;
        if (last) beat_bursts_ahead <= beat_bursts_ahead - 1'b1;
        if (beats_ahead == '0) follow_beat <= 1'b0;
      end
      if (beat_valid_i && follow_beat_i && !follow_beat) begin
        follow_beat       <= 1'b1;
        beat              <= {beat_strobe_i, beat_data_i};
        beats_ahead       <= held - CountWidth'(sent);
        beat_number       <= open;
        beat_bursts_ahead <= unsent - CountWidth'(last);
      end
      if (follow_burst && accepted) begin
        bursts_ahead <= bursts_ahead - 1'b1;
        if (bursts_ahead == '0) follow_burst <= 1'b0;
      end
      if (burst_valid_i && follow_burst_i && !follow_burst) begin
        follow_burst <= 1'b1;
        addr         <= burst_addr_i;
        of_burst     <= CountWidth'(burst_beats);
        bursts_ahead <= entered - CountWidth'(accepted);
      end
    end
  end

  // Signals offered in the previous cycle, and whether a burst could begin in it.
  logic    aw_waited, w_waited, could_begin, is_free;
  axi_ax_t aw_offered;
  axi_w_t  w_offered;
  assign is_free = (!aw.valid || aw_ready_i) && (!w.valid || last);
  always_ff @(posedge clk_i) begin
    aw_waited   <= rst_n && aw.valid && !aw_ready_i;
    aw_offered  <= aw;
    w_waited    <= rst_n && w.valid && !w_ready_i;
    w_offered   <= w;
    could_begin <= rst_n && !halt_i && is_free && entered > CountWidth'(aw.valid) &&
                   due + CountWidth'(aw.valid || w.valid) < Most;
  end

  // The number of beats of the burst that is being sent.
  logic [CountWidth-1:0] of_current;
  assign of_current = addressed ? length : CountWidth'(aw.len) + 1'b1;

  always_comb begin
    // Assumptions about the environment: there is room for each beat; a burst enters with its last
    // beat and has at most MaxBeats; a response comes only where one is outstanding; a flush comes
    // only when nothing is outstanding, at the beginning of a launch or after an error.
    if (beat_valid_i) assume (held < Places && open < Longest);
    if (burst_valid_i) assume (beat_valid_i);
    if (beat_valid_i && open == Longest - 1'b1) assume (burst_valid_i);
    if (b_i.valid) assume (due != '0);
    if (flush_i) assume (quiet && (halt_i || entered == '0));

    if (rst_n) begin
      // AW and W of a burst are offered in the same cycle, and each is held until it is taken; W
      // has no gap.
      if (aw_waited) assert (aw == aw_offered);
      if (w_waited) assert (w == w_offered);
      assert ((aw.valid || addressed) == (w.valid || all_sent));
      assert (!(aw.valid && addressed) && !(w.valid && all_sent));
      // The burst has as many beats as its address states.
      if (w.valid) assert (w.last == (index + 1'b1 == of_current));
      // All beats of a burst are buffered before it is offered.
      if (w.valid) assert (held + index >= of_current);
      // Bursts are sent in order and unchanged; so are beats, each at its position in its burst.
      if (aw.valid && follow_burst && bursts_ahead == '0) begin
        assert (aw.addr == addr && CountWidth'(aw.len) + 1'b1 == of_burst);
      end
      if (w.valid && follow_beat && beats_ahead == '0) begin
        assert ({w.strb, w.data} == beat && beat_bursts_ahead == '0 && index == beat_number);
      end
      // Progress: a burst begins as soon as it can.
      if (could_begin) assert (aw.valid && w.valid);
      // Responses and remaining outputs.
      assert (b_ready);
      assert (due <= Most && due + CountWidth'(aw.valid || w.valid) <= Most);
      assert (quiet == (!aw.valid && !w.valid && due == '0));
      assert (idle == (quiet && entered == '0));
      assert (error == (b_i.valid && b_i.resp[1]));
    end
  end

  // Internal state: the two queues, as in dovetail_fifo_formal, and the lengths of all bursts that
  // have not begun.
  (* hierconn *) logic [FifoCountWidth-1:0]   \u_dut.u_bursts.count_q ;
  (* hierconn *) logic                        \u_dut.u_bursts.empty_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_bursts.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_bursts.tail_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_bursts.formal_place ;
  (* hierconn *) logic [BurstWidth-1:0]       \u_dut.u_bursts.formal_word ;
  (* hierconn *) logic [Depth*BurstWidth-1:0] \u_dut.u_bursts.formal_words ;
  (* hierconn *) logic [FifoCountWidth-1:0]   \u_dut.u_beats.count_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_beats.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_beats.tail_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_beats.formal_place ;
  (* hierconn *) logic [BeatWidth-1:0]        \u_dut.u_beats.formal_word ;
  (* hierconn *) logic [DueWidth-1:0]         \u_dut.unanswered_q ;
  (* hierconn *) logic [7:0]                  \u_dut.len_q ;
  (* hierconn *) logic [7:0]                  \u_dut.left_q ;

  logic [CountWidth-1:0] bursts_head, bursts_tail, bursts_chosen;
  logic [CountWidth-1:0] beats_head, beats_tail, beats_chosen;
  logic [CountWidth-1:0] beats, left, waiting, before;
  assign bursts_head   = CountWidth'(\u_dut.u_bursts.head_q );
  assign bursts_tail   = CountWidth'(\u_dut.u_bursts.tail_q );
  assign bursts_chosen = CountWidth'(\u_dut.u_bursts.formal_place );
  assign beats_head    = CountWidth'(\u_dut.u_beats.head_q );
  assign beats_tail    = CountWidth'(\u_dut.u_beats.tail_q );
  assign beats_chosen  = CountWidth'(\u_dut.u_beats.formal_place );
  assign beats         = CountWidth'(\u_dut.len_q ) + 1'b1;
  assign left          = w.valid ? CountWidth'(\u_dut.left_q ) + 1'b1 : '0;
  // Bursts in the queue: all of them, and those before the burst of the tracked beat.
  assign waiting       = entered - CountWidth'(aw.valid);
  assign before        = beat_bursts_ahead - CountWidth'(w.valid);
  // Positions count modulo the depth.
  function [CountWidth-1:0] wrapped(input logic [CountWidth-1:0] sum);
    wrapped = sum >= Places ? sum - Places : sum;
  endfunction

  // Beats of the bursts in the queue: of all bursts, of those before the tracked beat, and of the
  // tracked beat's burst while that has not begun.
  logic [CountWidth-1:0] all_beats, beats_before, beats_own, distance, beats_here;
  always_comb begin
    all_beats    = '0;
    beats_before = '0;
    beats_own    = open;
    distance     = '0;
    beats_here   = '0;
    for (int unsigned i = 0; i < Depth; i++) begin
      distance = CountWidth'(i) - bursts_head;
      if (CountWidth'(i) < bursts_head) distance = distance + Places;
      beats_here = CountWidth'(\u_dut.u_bursts.formal_words [i*BurstWidth+:8]) + 1'b1;
      if (distance < waiting) begin
        all_beats = all_beats + beats_here;
        if (distance < before) beats_before = beats_before + beats_here;
        if (distance == before) beats_own = beats_here;
        if (rst_n) begin
          assert (\u_dut.u_bursts.formal_words [i*BurstWidth+:8] < 8'(MaxBeats));
        end
      end
    end
  end

  always_comb begin
    assume (bursts_chosen < Places && beats_chosen < Places);
    if (follow_burst_i) assume (bursts_tail == bursts_chosen);
    if (follow_beat_i) assume (beats_tail == beats_chosen);
    if (rst_n) begin
      assert (entered >= CountWidth'(aw.valid) && entered <= Places + 1'b1);
      assert (unsent == waiting + CountWidth'(w.valid));
      assert (CountWidth'(\u_dut.u_bursts.count_q ) == waiting && waiting <= Places);
      assert (\u_dut.u_bursts.empty_q == (waiting == '0));
      assert (CountWidth'(\u_dut.u_beats.count_q ) == held && held <= Places && open < Longest);
      assert (!(addressed && all_sent));
      assert (CountWidth'(\u_dut.unanswered_q ) == due + CountWidth'(aw.valid || w.valid));
      assert (held == all_beats + left + open);
      if (aw.valid || w.valid) assert (\u_dut.len_q < 8'(MaxBeats));
      if (w.valid) begin
        assert (\u_dut.left_q <= \u_dut.len_q );
        assert (index < Longest && \u_dut.left_q + 8'(index) == \u_dut.len_q );
      end
      if (!w.valid) assert (index == '0);
      if (addressed) assert (length == beats);
      assert (bursts_head < Places && beats_head < Places);
      assert (bursts_tail == wrapped(bursts_head + waiting));
      assert (beats_tail == wrapped(beats_head + held));
      if (follow_burst) begin
        assert (bursts_ahead < entered && of_burst <= Longest);
        if (!aw.valid || bursts_ahead != '0) begin
          assert (bursts_chosen == wrapped(bursts_head + bursts_ahead - CountWidth'(aw.valid)));
          assert (\u_dut.u_bursts.formal_word == {addr, 8'(of_burst - 1'b1)});
        end
      end
      if (follow_beat) begin
        assert (beats_ahead < held && beat_number < Longest);
        assert (beats_chosen == wrapped(beats_head + beats_ahead));
        assert (\u_dut.u_beats.formal_word == beat);
        if (w.valid && beat_bursts_ahead == '0) begin
          assert (beats_ahead + index == beat_number && beats > beat_number);
        end else begin
          assert (before <= waiting && beat_number < beats_own);
          assert (beats_ahead == left + beats_before + beat_number);
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && last && held == Places);
    cover (rst_n && follow_beat && beats_ahead == '0 && last && beat_number == Longest - 1'b1 &&
           unsent > CountWidth'(1));
    cover (rst_n && follow_burst && bursts_ahead == '0 && accepted && due == Most - 1'b1);
    cover (rst_n && due == Most && is_free && entered != '0);
    cover (rst_n && aw_waited && all_sent && b_i.valid);
    cover (rst_n && w_waited && addressed);
    cover (rst_n && flush_i && open != '0 && entered != '0);
  end
endmodule
