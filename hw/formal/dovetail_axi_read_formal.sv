// Proof of dovetail_axi_read: the arbiter's choice, the address channel, and the routing of each
// beat back to the requester of its burst.
//
// The solver picks one granted burst to track. The harness counts the bursts before it: when none
// remains, beats must go to its requester.
module dovetail_axi_read_formal import dovetail_isa_pkg::*; #(
  parameter int unsigned BufferBeats = 2  // beats in the buffer of each requester
) (
  input logic   clk_i,
  input logic   halt_i,
  input burst_t fetch_i,
  input burst_t compute_i,
  input burst_t load_i,
  input logic   ar_ready_i,
  input axi_r_t r_i,
  input logic   follow_i
);
  localparam int unsigned OrderDepth = 3 * BufferBeats + 1;  // same value as in dovetail_top
  localparam int unsigned CountWidth = $clog2(OrderDepth + 1);
  localparam int unsigned PtrWidth = $clog2(OrderDepth);
  localparam int unsigned SumWidth = CountWidth + 1;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic       idle, r_ready;
  logic [2:0] grant, beat_valid;
  beat_t      beat;
  axi_ax_t    ar;
  dovetail_axi_read #(
    .OrderDepth(OrderDepth)
  ) u_dut (
    .clk_i,
    .rst_ni      (rst_n),
    .halt_i,
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

  // Model: the outstanding bursts, from grant to last beat, and those before the tracked burst.
  logic [CountWidth-1:0] outstanding, ahead;
  logic                  taken, ended, following;
  logic [1:0]            owner;
  logic [2:0]            request, owner_bit;
  assign request   = {load_i.valid, compute_i.valid, fetch_i.valid};
  assign taken     = grant != 3'b000;
  assign ended     = r_i.valid && r_i.last;
  assign owner_bit = 3'b001 << owner;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      outstanding <= '0;
      following   <= 1'b0;
    end else begin
      outstanding <= outstanding + CountWidth'(taken) - CountWidth'(ended);
      if (following && ended) begin
        ahead <= ahead - 1'b1;
        if (ahead == '0) following <= 1'b0;
      end
      if (taken && follow_i && !following) begin
        following <= 1'b1;
        owner     <= grant[0] ? 2'd0 : grant[1] ? 2'd1 : 2'd2;
        ahead     <= outstanding - CountWidth'(ended);
      end
    end
  end

  // Signals offered in the previous cycle.
  logic    fetch_waited, compute_waited, load_waited, ar_waited, granted;
  burst_t  fetch, compute, load, granted_burst;
  axi_ax_t waited_ar;
  always_ff @(posedge clk_i) begin
    fetch_waited   <= rst_n && request[0] && !grant[0];
    compute_waited <= rst_n && request[1] && !grant[1];
    load_waited    <= rst_n && request[2] && !grant[2];
    fetch          <= fetch_i;
    compute        <= compute_i;
    load           <= load_i;
    ar_waited      <= rst_n && ar.valid && !ar_ready_i;
    waited_ar      <= ar;
    granted        <= rst_n && taken;
    granted_burst  <= grant[0] ? fetch_i : grant[1] ? compute_i : load_i;
  end

  // Internal state: the order queue, as in dovetail_fifo_formal.
  (* hierconn *) logic [CountWidth-1:0] \u_dut.u_order.count_q ;
  (* hierconn *) logic                  \u_dut.u_order.empty_q ;
  (* hierconn *) logic                  \u_dut.u_order.full_q ;
  (* hierconn *) logic [PtrWidth-1:0]   \u_dut.u_order.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]   \u_dut.u_order.tail_q ;
  (* hierconn *) logic [PtrWidth-1:0]   \u_dut.u_order.formal_place ;
  (* hierconn *) logic [1:0]            \u_dut.u_order.formal_word ;

  // Positions in the queue: its head and end, the tracked burst, the position that the solver
  // picks, and the distance of the latter from the head.
  logic [SumWidth-1:0] head, last, place, chosen, distance;
  assign head     = SumWidth'(\u_dut.u_order.head_q );
  assign last     = head + SumWidth'(outstanding);
  assign place    = head + SumWidth'(ahead);
  assign chosen   = SumWidth'(\u_dut.u_order.formal_place );
  assign distance = chosen >= head ? chosen - head : chosen + SumWidth'(OrderDepth) - head;
  // Positions count modulo the depth.
  function [SumWidth-1:0] wrapped(input logic [SumWidth-1:0] sum);
    wrapped = sum >= SumWidth'(OrderDepth) ? sum - SumWidth'(OrderDepth) : sum;
  endfunction

  always_comb begin
    // Assumptions about the requesters. A request does not change before its grant. A requester
    // asks only while its buffer has room for the burst in addition to all outstanding ones (proven
    // in dovetail_read_buffer_formal), each of which has at least one beat.
    if (fetch_waited) assume (fetch_i == fetch);
    if (compute_waited) assume (compute_i == compute);
    if (load_waited) assume (load_i == load);
    if (request != 3'b000) assume (outstanding < CountWidth'(3 * BufferBeats));
    // The memory answers only accepted bursts.
    if (r_i.valid) assume (outstanding > CountWidth'(ar.valid));

    if (rst_n) begin
      // Arbiter: at most one grant, to a requester that asks, and whenever the address register is
      // free. A requester waits only for one that precedes it in the order fetch, compute, load.
      assert (grant == 3'b000 || grant == 3'b001 || grant == 3'b010 || grant == 3'b100);
      assert ((grant & ~request) == 3'b000);
      if (halt_i) assert (grant == 3'b000);
      if (ar.valid && !ar_ready_i) assert (grant == 3'b000);
      if (!halt_i && (!ar.valid || ar_ready_i)) begin
        assert ((grant != 3'b000) == (request != 3'b000));
      end
      if (grant[1]) assert (!request[0]);
      if (grant[2]) assert (!request[0] && !request[1]);
      // Address channel: a granted burst is offered in the next cycle and held until it is
      // accepted; nothing else is offered.
      if (granted) begin
        assert (ar.valid && ar.addr == granted_burst.addr);
        assert (ar.len == granted_burst.len);
      end
      if (ar_waited) assert (ar == waited_ar);
      if (!granted && !ar_waited) assert (!ar.valid);
      // Routing: each beat goes in the same cycle, unchanged, to the requester of its burst only.
      assert (r_ready);
      assert (beat_valid == 3'b000 || beat_valid == 3'b001 || beat_valid == 3'b010 ||
              beat_valid == 3'b100);
      if (!r_i.valid) assert (beat_valid == 3'b000);
      if (r_i.valid && head == chosen) assert (beat_valid != 3'b000);
      if (r_i.valid) assert (beat.data == r_i.data && beat.resp == r_i.resp);
      if (r_i.valid && following && ahead == '0) assert (beat_valid == owner_bit);
      assert (idle == (outstanding == '0));
    end
  end

  always_comb begin
    assume (\u_dut.u_order.formal_place <= PtrWidth'(OrderDepth - 1));
    if (follow_i) assume (\u_dut.u_order.tail_q == \u_dut.u_order.formal_place );
    if (rst_n) begin
      assert (\u_dut.u_order.count_q == outstanding);
      assert (\u_dut.u_order.empty_q == (outstanding == '0) && !\u_dut.u_order.full_q );
      assert (outstanding < CountWidth'(OrderDepth) && outstanding >= CountWidth'(ar.valid));
      assert (\u_dut.u_order.head_q <= PtrWidth'(OrderDepth - 1));
      assert (SumWidth'(\u_dut.u_order.tail_q ) == wrapped(last));
      if (distance < SumWidth'(outstanding)) assert (\u_dut.u_order.formal_word != 2'd3);
      if (following) begin
        assert (ahead < outstanding);
        assert (chosen == wrapped(place));
        assert (\u_dut.u_order.formal_word == owner && owner != 2'd3);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && ar_waited && request == 3'b111);
    cover (rst_n && grant[2] && outstanding > CountWidth'(1));
    cover (rst_n && following && ahead == '0 && ended && owner == 2'd2 &&
           outstanding > CountWidth'(1));
    cover (rst_n && ar.valid && ar_ready_i && taken);
  end
endmodule
