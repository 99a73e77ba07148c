// Proof of dovetail_axi_write: bursts go out in order, each beat once and to its address, without a gap, on both channels at once whatever the
// memory accepts first; every response is waited for, and the count of those due never overflows.
//
// The environment makes bursts as dovetail_store does: beats enter one by one, and a burst is announced with its last beat. The memory takes
// addresses and data in any order, and answers as late as it likes.
module dovetail_axi_write_formal #(
  parameter int unsigned AddrWidth = 16,
  parameter int unsigned BusBytes = 1,
  parameter int unsigned Depth = 4,
  parameter int unsigned MaxBeats = 4,
  parameter int unsigned MostBursts = 3
) (
  input logic                  clk_i,
  input logic                  flush_i,
  input logic                  halt_i,
  input logic                  beat_valid_i,
  input logic [8*BusBytes-1:0] beat_data_i,
  input logic [BusBytes-1:0]   beat_strobe_i,
  input logic                  burst_valid_i,
  input logic [AddrWidth-1:0]  burst_addr_i,
  input logic                  awready_i,
  input logic                  wready_i,
  input logic                  bvalid_i,
  input logic [1:0]            bresp_i,
  input logic                  follow_beat_i,
  input logic                  follow_burst_i
);
  localparam int unsigned CountWidth = $clog2((Depth + 2) * MaxBeats + Depth + MostBursts + 1) + 1;  // no sum below overflows
  localparam int unsigned FifoCountWidth = $clog2(Depth + 1);
  localparam int unsigned PtrWidth = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned DueWidth = $clog2(MostBursts + 1);
  localparam int unsigned BurstWidth = AddrWidth + 9;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic                  idle, quiet, error, sent, awvalid, wvalid, wlast, bready;
  logic [3:0]            error_code;
  logic [AddrWidth-1:0]  awaddr;
  logic [7:0]            awlen;
  logic [8*BusBytes-1:0] wdata;
  logic [BusBytes-1:0]   wstrb;
  logic [8:0]            burst_beats;
  dovetail_axi_write #(
    .AddrWidth (AddrWidth),
    .BusBytes  (BusBytes),
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
    .burst_valid_i,
    .burst_addr_i,
    .burst_beats_i(burst_beats),
    .sent_o       (sent),
    .awvalid_o    (awvalid),
    .awready_i,
    .awaddr_o     (awaddr),
    .awlen_o      (awlen),
    .wvalid_o     (wvalid),
    .wready_i,
    .wdata_o      (wdata),
    .wstrb_o      (wstrb),
    .wlast_o      (wlast),
    .bvalid_i,
    .bready_o     (bready),
    .bresp_i
  );

  // The model. Beats: all in the buffer, and those of the burst that is not announced yet. Bursts: announced and not accepted; announced and not all
  // sent; accepted and all sent, and not answered. Of the burst that is offered: whether it is accepted, or all sent; the beats sent.
  logic [CountWidth-1:0] held, open, announced, unsent, due, index, length;
  logic                  addressed, all_sent, accepted, last;
  assign burst_beats = 9'(open + 1'b1);
  assign accepted    = awvalid && awready_i;
  assign last        = sent && wlast;
  // What is followed: a beat, with its number in its burst and the bursts before that; a burst, with the bursts before it.
  logic                  follow_beat, follow_burst;
  logic [CountWidth-1:0] beats_ahead, beat_number, beat_bursts_ahead, bursts_ahead, of_burst;
  logic [9*BusBytes-1:0] beat;
  logic [AddrWidth-1:0]  addr;
  always_ff @(posedge clk_i) begin
    if (!rst_n || flush_i) begin
      held         <= '0;
      open         <= '0;
      announced    <= '0;
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
      announced <= announced + CountWidth'(burst_valid_i) - CountWidth'(accepted);
      unsent    <= unsent + CountWidth'(burst_valid_i) - CountWidth'(last);
      due       <= due + CountWidth'((addressed || accepted) && (all_sent || last)) - CountWidth'(bvalid_i);
      addressed <= (addressed || accepted) && !(all_sent || last);
      all_sent  <= (all_sent || last) && !(addressed || accepted);
      if (sent) index <= last ? '0 : index + 1'b1;
      if (accepted) length <= CountWidth'(awlen) + 1'b1;
      // A beat is followed until it is sent, a burst until it is accepted.
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
        bursts_ahead <= announced - CountWidth'(accepted);
      end
    end
  end

  // What was shown in the cycle before, and whether a burst could begin in it.
  logic                 aw_waited, w_waited, could_begin, is_free;
  logic [AddrWidth+7:0] aw_shown;
  logic [9*BusBytes:0]  w_shown;
  assign is_free = (!awvalid || awready_i) && (!wvalid || last);
  always_ff @(posedge clk_i) begin
    aw_waited   <= rst_n && awvalid && !awready_i;
    aw_shown    <= {awaddr, awlen};
    w_waited    <= rst_n && wvalid && !wready_i;
    w_shown     <= {wstrb, wdata, wlast};
    could_begin <= rst_n && !halt_i && is_free && announced > CountWidth'(awvalid) && due + CountWidth'(awvalid || wvalid) < CountWidth'(MostBursts);
  end

  always_comb begin
    // The rules of those around: a place for each beat, a burst announced with its last beat and of MaxBeats at most, a response only where one is
    // due; all is forgotten only when nothing is on its way, at the beginning of a launch or after an error.
    if (beat_valid_i) assume (held < CountWidth'(Depth) && open < CountWidth'(MaxBeats));
    if (burst_valid_i) assume (beat_valid_i);
    if (beat_valid_i && open == CountWidth'(MaxBeats - 1)) assume (burst_valid_i);
    if (bvalid_i) assume (due != '0);
    if (flush_i) assume (quiet && (halt_i || announced == '0));

    if (rst_n) begin
      // AW and W of a burst are offered at once, and each is held until it is taken; W has no gap.
      if (aw_waited) assert (awvalid && {awaddr, awlen} == aw_shown);
      if (w_waited) assert (wvalid && {wstrb, wdata, wlast} == w_shown);
      assert ((awvalid || addressed) == (wvalid || all_sent));
      assert (!(awvalid && addressed) && !(wvalid && all_sent));
      // As many beats as the address says.
      if (wvalid) assert (wlast == (index + 1'b1 == (addressed ? length : CountWidth'(awlen) + 1'b1)));
      // All its beats are here before a burst is offered.
      if (wvalid) assert (held + index >= (addressed ? length : CountWidth'(awlen) + 1'b1));
      // Bursts in order and unchanged; beats too, each in its burst and at its place there.
      if (awvalid && follow_burst && bursts_ahead == '0) assert (awaddr == addr && CountWidth'(awlen) + 1'b1 == of_burst);
      if (wvalid && follow_beat && beats_ahead == '0) assert ({wstrb, wdata} == beat && beat_bursts_ahead == '0 && index == beat_number);
      // A burst begins when it can, so that none waits for ever.
      if (could_begin) assert (awvalid && wvalid);
      // Responses and rest.
      assert (bready);
      assert (due <= CountWidth'(MostBursts) && due + CountWidth'(awvalid || wvalid) <= CountWidth'(MostBursts));
      assert (quiet == (!awvalid && !wvalid && due == '0));
      assert (idle == (quiet && announced == '0));
      assert (error == (bvalid_i && bresp_i[1]));
    end
  end

  // Inside: the two queues, as in dovetail_fifo_formal, and the lengths of all bursts that have not begun.
  (* hierconn *) logic [FifoCountWidth-1:0]   \u_dut.u_bursts.count_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_bursts.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_bursts.tail_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_bursts.formal_place ;
  (* hierconn *) logic [BurstWidth-1:0]       \u_dut.u_bursts.formal_word ;
  (* hierconn *) logic [Depth*BurstWidth-1:0] \u_dut.u_bursts.formal_words ;
  (* hierconn *) logic [FifoCountWidth-1:0]   \u_dut.u_beats.count_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_beats.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_beats.tail_q ;
  (* hierconn *) logic [PtrWidth-1:0]         \u_dut.u_beats.formal_place ;
  (* hierconn *) logic [9*BusBytes-1:0]       \u_dut.u_beats.formal_word ;
  (* hierconn *) logic [DueWidth-1:0]         \u_dut.unanswered_q ;
  (* hierconn *) logic [8:0]                  \u_dut.beats_q ;
  (* hierconn *) logic [8:0]                  \u_dut.left_q ;
  logic [CountWidth-1:0] waiting, left, before, bursts_last, bursts_place, beats_last, beats_place, place, distance, beats;
  assign waiting      = announced - CountWidth'(awvalid);  // bursts in the queue
  assign left         = wvalid ? CountWidth'(\u_dut.left_q ) : '0;
  assign before       = beat_bursts_ahead - CountWidth'(wvalid);  // of the queue, before the burst of the beat that is followed
  assign bursts_last  = CountWidth'(\u_dut.u_bursts.head_q ) + waiting;
  assign bursts_place = CountWidth'(\u_dut.u_bursts.head_q ) + bursts_ahead - CountWidth'(awvalid);
  assign beats_last   = CountWidth'(\u_dut.u_beats.head_q ) + held;
  assign beats_place  = CountWidth'(\u_dut.u_beats.head_q ) + beats_ahead;
  // Beats of the bursts in the queue: of all, and of those before the beat that is followed; and of its own burst, if that is one of them.
  logic [CountWidth-1:0] all_beats, beats_before, beats_own;
  always_comb begin
    all_beats    = '0;
    beats_before = '0;
    beats_own    = open;
    place        = '0;
    distance     = '0;
    beats        = '0;
    for (int unsigned i = 0; i < Depth; i++) begin
      place    = CountWidth'(i);
      distance = place - CountWidth'(\u_dut.u_bursts.head_q );
      if (place < CountWidth'(\u_dut.u_bursts.head_q )) distance = distance + CountWidth'(Depth);
      beats    = CountWidth'(\u_dut.u_bursts.formal_words [i*BurstWidth+:9]);
      if (distance < waiting) begin
        all_beats = all_beats + beats;
        if (distance < before) beats_before = beats_before + beats;
        if (distance == before) beats_own = beats;
        if (rst_n) assert (\u_dut.u_bursts.formal_words [i*BurstWidth+:9] != '0 && \u_dut.u_bursts.formal_words [i*BurstWidth+:9] <= 9'(MaxBeats));
      end
    end
  end

  always_comb begin
    assume (CountWidth'(\u_dut.u_bursts.formal_place ) < CountWidth'(Depth) && CountWidth'(\u_dut.u_beats.formal_place ) < CountWidth'(Depth));
    if (follow_burst_i) assume (\u_dut.u_bursts.tail_q == \u_dut.u_bursts.formal_place );
    if (follow_beat_i) assume (\u_dut.u_beats.tail_q == \u_dut.u_beats.formal_place );
    if (rst_n) begin
      assert (announced >= CountWidth'(awvalid) && announced <= CountWidth'(Depth + 1) && unsent == waiting + CountWidth'(wvalid));
      assert (CountWidth'(\u_dut.u_bursts.count_q ) == waiting && waiting <= CountWidth'(Depth));
      assert (CountWidth'(\u_dut.u_beats.count_q ) == held && held <= CountWidth'(Depth) && open < CountWidth'(MaxBeats));
      assert (!(addressed && all_sent));
      assert (CountWidth'(\u_dut.unanswered_q ) == due + CountWidth'(awvalid || wvalid));
      assert (held == all_beats + left + open);
      if (awvalid || wvalid) assert (\u_dut.beats_q != '0 && \u_dut.beats_q <= 9'(MaxBeats));
      if (wvalid) assert (\u_dut.left_q != '0 && \u_dut.left_q <= \u_dut.beats_q && index < CountWidth'(MaxBeats) && \u_dut.left_q + 9'(index) == \u_dut.beats_q );
      if (!wvalid) assert (index == '0);
      if (addressed) assert (length == CountWidth'(\u_dut.beats_q ));
      assert (CountWidth'(\u_dut.u_bursts.head_q ) < CountWidth'(Depth) && CountWidth'(\u_dut.u_beats.head_q ) < CountWidth'(Depth));
      assert (CountWidth'(\u_dut.u_bursts.tail_q ) == (bursts_last >= CountWidth'(Depth) ? bursts_last - CountWidth'(Depth) : bursts_last));
      assert (CountWidth'(\u_dut.u_beats.tail_q ) == (beats_last >= CountWidth'(Depth) ? beats_last - CountWidth'(Depth) : beats_last));
      if (follow_burst) begin
        assert (bursts_ahead < announced && of_burst <= CountWidth'(MaxBeats));
        if (!awvalid || bursts_ahead != '0) begin
          assert (CountWidth'(\u_dut.u_bursts.formal_place ) == (bursts_place >= CountWidth'(Depth) ? bursts_place - CountWidth'(Depth) : bursts_place));
          assert (\u_dut.u_bursts.formal_word == {addr, 9'(of_burst)});
        end
      end
      if (follow_beat) begin
        assert (beats_ahead < held && beat_number < CountWidth'(MaxBeats));
        assert (CountWidth'(\u_dut.u_beats.formal_place ) == (beats_place >= CountWidth'(Depth) ? beats_place - CountWidth'(Depth) : beats_place));
        assert (\u_dut.u_beats.formal_word == beat);
        if (wvalid && beat_bursts_ahead == '0) begin
          assert (beats_ahead + index == beat_number && CountWidth'(\u_dut.beats_q ) > beat_number);
        end else begin
          assert (before <= waiting && beats_ahead == left + beats_before + beat_number && beat_number < beats_own);
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && last && held == CountWidth'(Depth));
    cover (rst_n && follow_beat && beats_ahead == '0 && last && beat_number == CountWidth'(MaxBeats - 1) && unsent > CountWidth'(1));
    cover (rst_n && follow_burst && bursts_ahead == '0 && accepted && due == CountWidth'(MostBursts - 1));
    cover (rst_n && due == CountWidth'(MostBursts) && is_free && announced != '0);
    cover (rst_n && aw_waited && all_sent && bvalid_i);
    cover (rst_n && w_waited && addressed);
    cover (rst_n && flush_i && open != '0 && announced != '0);
  end
endmodule
