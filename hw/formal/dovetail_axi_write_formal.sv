// Proof of dovetail_axi_write: bursts go out in order, each beat once, without a gap, and each response is waited for.
//
// The environment makes bursts as dovetail_store does: beats enter one by one, and a burst is announced with its last beat.
module dovetail_axi_write_formal #(
  parameter int unsigned AddrWidth = 16,
  parameter int unsigned BusBytes = 1,
  parameter int unsigned Depth = 4,
  parameter int unsigned MaxBeats = 4
) (
  input logic                  clk_i,
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
  input logic                  follow_i
);
  localparam int unsigned CountWidth = 10;

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
    .AddrWidth(AddrWidth),
    .BusBytes (BusBytes),
    .Depth    (Depth)
  ) u_dut (
    .clk_i,
    .rst_ni       (rst_n),
    .flush_i      (1'b0),
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

  // The model. Beats: all in the buffer, and those of the burst that is not announced yet. Bursts: announced and not begun, accepted and not answered.
  logic [CountWidth-1:0] held, open, announced, owed, left, beats_ahead, bursts_ahead, of_burst;
  logic                  begun, in_data, follow_beat, follow_burst;
  logic [9*BusBytes-1:0] beat;
  logic [AddrWidth-1:0]  addr;
  logic                  accepted;
  assign burst_beats = 9'(open + 1'b1);
  assign accepted    = awvalid && awready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      held         <= '0;
      open         <= '0;
      announced    <= '0;
      owed         <= '0;
      in_data      <= 1'b0;
      follow_beat  <= 1'b0;
      follow_burst <= 1'b0;
    end else begin
      held <= held + CountWidth'(beat_valid_i) - CountWidth'(sent);
      open <= burst_valid_i ? '0 : open + CountWidth'(beat_valid_i);
      announced <= announced + CountWidth'(burst_valid_i) - CountWidth'(accepted);
      owed <= owed + CountWidth'(accepted) - CountWidth'(bvalid_i);
      if (accepted) begin
        in_data <= 1'b1;
        left    <= CountWidth'(awlen) + 1'b1;
      end else if (sent) begin
        left <= left - 1'b1;
        if (left == CountWidth'(1)) in_data <= 1'b0;
      end
      // A beat is followed until it is sent, a burst until it is accepted.
      if (follow_beat && sent) begin
        beats_ahead <= beats_ahead - 1'b1;
        if (beats_ahead == '0) follow_beat <= 1'b0;
      end
      if (beat_valid_i && follow_i && !follow_beat) begin
        follow_beat <= 1'b1;
        beat        <= {beat_strobe_i, beat_data_i};
        beats_ahead <= held - CountWidth'(sent);
      end
      if (follow_burst && accepted) begin
        bursts_ahead <= bursts_ahead - 1'b1;
        if (bursts_ahead == '0) follow_burst <= 1'b0;
      end
      if (burst_valid_i && follow_i && !follow_burst) begin
        follow_burst <= 1'b1;
        addr         <= burst_addr_i;
        of_burst     <= CountWidth'(burst_beats);
        bursts_ahead <= announced - CountWidth'(accepted);
      end
    end
  end

  // What was shown in the cycle before.
  logic                  aw_waited, w_waited, w_begun, last_before, aw_before;
  logic [AddrWidth+7:0]  aw_shown;
  logic [9*BusBytes:0]   w_shown;
  always_ff @(posedge clk_i) begin
    aw_waited <= rst_n && awvalid && !awready_i;
    aw_shown  <= {awaddr, awlen};
    w_waited  <= rst_n && wvalid && !wready_i;
    w_shown   <= {wstrb, wdata, wlast};
    w_begun   <= rst_n && accepted;
    last_before <= rst_n && sent && wlast;
  end

  always_comb begin
    // The rules of those around: a place for each beat, a burst announced with its last beat and of MaxBeats at most, a response only where one is due.
    if (beat_valid_i) assume (held < CountWidth'(Depth) && open < CountWidth'(MaxBeats));
    if (burst_valid_i) assume (beat_valid_i);
    if (beat_valid_i && open == CountWidth'(MaxBeats - 1)) assume (burst_valid_i);
    if (bvalid_i) assume (owed > CountWidth'(in_data));

    if (rst_n) begin
      // AW is held until accepted; W begins in the next cycle, has a beat in every cycle to the last, and is held until taken.
      if (aw_waited) assert (awvalid && {awaddr, awlen} == aw_shown);
      if (w_begun) assert (wvalid);
      assert (wvalid == in_data);
      if (w_waited) assert (wvalid && {wstrb, wdata, wlast} == w_shown);
      if (wvalid) assert (wlast == (left == CountWidth'(1)));
      if (wvalid) assert (held != '0);
      assert (!(awvalid && wvalid));
      // All its beats are here before a burst is offered.
      if (awvalid) assert (held >= CountWidth'(awlen) + 1'b1);
      if (wvalid) assert (held >= left);
      // Bursts and beats in order and unchanged.
      if (awvalid && follow_burst && bursts_ahead == '0) assert (awaddr == addr && CountWidth'(awlen) + 1'b1 == of_burst);
      if (wvalid && follow_beat && beats_ahead == '0) assert ({wstrb, wdata} == beat);
      // Responses and rest.
      assert (bready);
      assert (quiet == (!awvalid && !wvalid && owed == '0));
      assert (idle == (quiet && announced == '0));
      assert (error == (bvalid_i && bresp_i[1]));
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && sent && wlast && held == CountWidth'(Depth));
    cover (rst_n && follow_beat && beats_ahead == '0 && sent && left == CountWidth'(1) && announced > CountWidth'(1));
    cover (rst_n && accepted && owed > CountWidth'(1));
    cover (rst_n && aw_waited && bvalid_i);
  end
endmodule
