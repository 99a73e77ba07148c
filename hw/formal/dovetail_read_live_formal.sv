// Proof that the read port is live: with a memory that takes an address, and sends the next beat, within Fair cycles,
// every burst that is requested is granted and every burst that is granted ends.
//
// The solver picks one granted burst to track. Bounds are stated as sums that grow with each handshake, so that they
// hold by induction: a burst ends Fair cycles after the handshake before, at most, for each beat before its end.
module dovetail_read_live_formal import dovetail_isa_pkg::*; #(
  parameter int unsigned BufferBeats = 2,  // beats in the buffer of each requester
  parameter int unsigned Fair = 3,
  localparam int unsigned Width = 16
) (
  input logic       clk_i,
  input burst_t     fetch_i,
  input burst_t     compute_i,
  input burst_t     load_i,
  input logic       ar_ready_i,
  input axi_r_t     r_i,
  input logic       follow_i,
  input logic [4:0] beats_ahead_i
);
  localparam int unsigned OrderDepth = 3 * BufferBeats + 1;  // same value as in dovetail_top
  localparam int unsigned CountWidth = $clog2(OrderDepth + 1);
  localparam int unsigned PtrWidth = $clog2(OrderDepth);
  localparam int unsigned SumWidth = CountWidth + 1;
  localparam logic [Width-1:0] Most = Width'(Fair);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic       idle, r_ready;
  logic [2:0] grant, beat_valid, request;
  beat_t      beat;
  axi_ax_t    ar;
  dovetail_axi_read #(
    .OrderDepth(OrderDepth)
  ) u_dut (
    .clk_i,
    .rst_ni      (rst_n),
    .halt_i      (1'b0),
    .idle_o      (idle),
    .fetch_i,
    .compute_i,
    .load_i,
    .grant_o     (grant),
    .beat_valid_o(beat_valid),
    .beat_o      (beat),
    .ar_o        (ar),
    .ar_ready_i,
    .r_i,
    .r_ready_o   (r_ready)
  );
  assign request = {load_i.valid, compute_i.valid, fetch_i.valid};

  // Handshakes. A beat arrives only if the port takes it.
  logic taken, accepted, arrives, ends;
  assign taken    = grant != 3'b000;
  assign accepted = ar.valid && ar_ready_i;
  assign arrives  = r_i.valid && r_ready;
  assign ends     = arrives && r_i.last;

  // The memory: bursts granted and not ended, cycles that an address waits, cycles without a beat
  // while an accepted burst is not ended.
  logic [CountWidth-1:0] outstanding;
  logic [Width-1:0]      address_waits, beat_waits;
  logic                  due;  // an accepted burst is not ended
  assign due = outstanding > CountWidth'(ar.valid);
  // The requesters: cycles that each has waited, grants to others meanwhile, cycles without a grant.
  logic [Width-1:0] fetch_waits, compute_waits, load_waits, before_compute, before_load, no_grant;
  // The tracked burst: cycles since its grant, cycles until its address is accepted, bursts and
  // beats before its end, beats of it.
  logic                  following, offered;
  logic [CountWidth-1:0] ahead;
  logic [Width-1:0]      age, address_age, left, left_first;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      outstanding    <= '0;
      address_waits  <= '0;
      beat_waits     <= '0;
      fetch_waits    <= '0;
      compute_waits  <= '0;
      load_waits     <= '0;
      before_compute <= '0;
      before_load    <= '0;
      no_grant       <= '0;
      following      <= 1'b0;
      offered        <= 1'b0;
    end else begin
      outstanding    <= outstanding + CountWidth'(taken) - CountWidth'(ends);
      address_waits  <= ar.valid && !ar_ready_i ? address_waits + 1'b1 : '0;
      beat_waits     <= due && !r_i.valid ? beat_waits + 1'b1 : '0;
      no_grant       <= request != 3'b000 && !taken ? no_grant + 1'b1 : '0;
      fetch_waits    <= request[0] && !grant[0] ? fetch_waits + 1'b1 : '0;
      compute_waits  <= request[1] && !grant[1] ? compute_waits + 1'b1 : '0;
      load_waits     <= request[2] && !grant[2] ? load_waits + 1'b1 : '0;
      before_compute <= request[1] && !grant[1] ? before_compute + Width'(taken) : '0;
      before_load    <= request[2] && !grant[2] ? before_load + Width'(taken) : '0;
      if (following) begin
        age <= age + 1'b1;
        if (offered) address_age <= address_age + 1'b1;
        if (accepted) offered <= 1'b0;
        if (arrives) left <= left - 1'b1;
        if (ends) ahead <= ahead - 1'b1;
        if (ends && ahead == '0) begin
          following <= 1'b0;
          offered   <= 1'b0;
        end
      end else if (taken && follow_i) begin
        following   <= 1'b1;
        offered     <= 1'b1;
        age         <= '0;
        address_age <= '0;
        ahead       <= outstanding - CountWidth'(ends);
        left        <= Width'(beats_ahead_i);
        left_first  <= Width'(beats_ahead_i);
      end
    end
  end

  always_comb begin
    // A requester keeps its request until it is granted, and asks only while there is room
    // (dovetail_axi_read_formal, dovetail_read_buffer_formal).
    if (request != 3'b000) assume (outstanding < CountWidth'(3 * BufferBeats));
    if (no_grant != '0) assume (request != 3'b000);
    if (fetch_waits != '0) assume (request[0]);
    if (compute_waits != '0) assume (request[1]);
    if (load_waits != '0) assume (request[2]);
    // The memory answers only accepted bursts, each with at least one beat, and is fair.
    if (r_i.valid) assume (due);
    if (address_waits == Most - 1'b1) assume (ar_ready_i);
    if (beat_waits == Most - 1'b1) assume (!due || r_i.valid);
    // The beats up to the end of the tracked burst are at least as many as the bursts.
    assume (Width'(beats_ahead_i) > Width'(outstanding));
    if (following && arrives) begin
      assume (left - 1'b1 >= Width'(ahead) + 1'b1 - Width'(ends));
      if (left == Width'(1)) assume (r_i.last);
      if (ahead == '0) assume (r_i.last == (left == Width'(1)));
    end

    if (rst_n) begin
      // Every granted burst ends.
      if (following) assert (age <= (left_first + 2) * Most);
      // Some request is granted within Fair cycles; that of fetch is, that of compute after those of
      // fetch, and that of load after those of both.
      assert (no_grant <= Most);
      assert (fetch_waits <= Most);
      assert (compute_waits <= before_compute * (Most + 1'b1) + Most);
      assert (load_waits <= before_load * (Most + 1'b1) + Most);
      // Beats are always taken.
      assert (r_ready);
    end
  end

  // ---- Internal state, and the sums by which the bounds hold for ever ---------------------------
  (* hierconn *) logic [CountWidth-1:0] \u_dut.u_order.count_q ;
  (* hierconn *) logic                  \u_dut.u_order.empty_q ;
  (* hierconn *) logic                  \u_dut.u_order.full_q ;
  (* hierconn *) logic [PtrWidth-1:0]   \u_dut.u_order.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]   \u_dut.u_order.tail_q ;
  logic [SumWidth-1:0] last, wrapped;
  assign last    = SumWidth'(\u_dut.u_order.head_q ) + SumWidth'(outstanding);
  assign wrapped = last >= SumWidth'(OrderDepth) ? last - SumWidth'(OrderDepth) : last;
  always_comb begin
    if (rst_n) begin
      assert (\u_dut.u_order.count_q == outstanding);
      assert (\u_dut.u_order.empty_q == (outstanding == '0) && !\u_dut.u_order.full_q );
      assert (outstanding < CountWidth'(OrderDepth) && outstanding >= CountWidth'(ar.valid));
      assert (\u_dut.u_order.head_q <= PtrWidth'(OrderDepth - 1));
      assert (SumWidth'(\u_dut.u_order.tail_q ) == wrapped);
      assert (address_waits < Most && beat_waits < Most);
      if (address_waits != '0) assert (ar.valid);
      if (beat_waits != '0) assert (due);
      assert (no_grant <= address_waits);
      assert (fetch_waits <= no_grant);
      assert (compute_waits <= before_compute * (Most + 1'b1) + no_grant);
      assert (load_waits <= before_load * (Most + 1'b1) + no_grant);
      // The bounds of the waits assume that these counters do not overflow.
      assume (before_compute < Width'(1000) && before_load < Width'(1000));
      if (following) begin
        assert (ahead < outstanding && left > Width'(ahead) && left <= left_first);
        assert (left_first <= Width'(31) && (ahead != '0 || left != '0));
        assert (age <= (left_first - left) * Most + beat_waits + address_age);
        assert (address_age <= Most);
        if (offered) begin
          assert (address_age == address_waits && ar.valid && ahead + 1'b1 == outstanding);
        end
        if (!offered) assert (ahead < outstanding - CountWidth'(ar.valid));
      end
      if (!following) assert (!offered);
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && following && ahead == '0 && ends && age > Width'(8));
    cover (rst_n && grant[2] && load_waits > Most);
    cover (rst_n && grant[1] && before_compute == Width'(2));
    cover (rst_n && no_grant == Most - 1'b1);
  end
endmodule
