// Proof of dovetail_axi_read: the arbiter's choice, the address channel, and the way of each beat back to who asked for it.
//
// One burst is followed, any: chosen when it is granted. Counting the bursts before it, its beats must go to its requester when none is left.
module dovetail_axi_read_formal #(
  parameter int unsigned AddrWidth = 16,
  parameter int unsigned BusBits = 8,
  parameter int unsigned BufferBeats = 2  // of each requester
) (
  input logic                   clk_i,
  input logic                   halt_i,
  input logic [2:0]             request_i,
  input logic [3*AddrWidth-1:0] addr_i,
  input logic [26:0]            beats_i,
  input logic                   arready_i,
  input logic                   rvalid_i,
  input logic [BusBits-1:0]     rdata_i,
  input logic [1:0]             rresp_i,
  input logic                   rlast_i,
  input logic                   follow_i
);
  localparam int unsigned OrderDepth = 3 * BufferBeats + 1;  // as the top has it
  localparam int unsigned CountWidth = $clog2(OrderDepth + 1);
  localparam int unsigned PtrWidth = $clog2(OrderDepth);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic                 idle, arvalid, rready;
  logic [2:0]           grant, beat_valid;
  logic [BusBits-1:0]   beat_data;
  logic [1:0]           beat_resp;
  logic [AddrWidth-1:0] araddr;
  logic [7:0]           arlen;
  dovetail_axi_read #(
    .AddrWidth (AddrWidth),
    .BusBits   (BusBits),
    .OrderDepth(OrderDepth)
  ) u_dut (
    .clk_i,
    .rst_ni      (rst_n),
    .halt_i,
    .idle_o      (idle),
    .request_i,
    .addr_0_i    (addr_i[AddrWidth-1:0]),
    .addr_1_i    (addr_i[2*AddrWidth-1:AddrWidth]),
    .addr_2_i    (addr_i[3*AddrWidth-1:2*AddrWidth]),
    .beats_0_i   (beats_i[8:0]),
    .beats_1_i   (beats_i[17:9]),
    .beats_2_i   (beats_i[26:18]),
    .grant_o     (grant),
    .beat_valid_o(beat_valid),
    .beat_data_o (beat_data),
    .beat_resp_o (beat_resp),
    .arvalid_o   (arvalid),
    .arready_i,
    .araddr_o    (araddr),
    .arlen_o     (arlen),
    .rvalid_i,
    .rready_o    (rready),
    .rdata_i,
    .rresp_i,
    .rlast_i
  );

  // The model: bursts granted and not answered to the end; those before the one that is followed.
  logic [CountWidth-1:0] away, ahead;
  logic                  taken, ended, following;
  logic [1:0]            owner;
  logic [2:0]            owner_bit;
  assign taken     = grant != 3'b000;
  assign ended     = rvalid_i && rlast_i;
  assign owner_bit = 3'b001 << owner;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      away      <= '0;
      following <= 1'b0;
    end else begin
      away <= away + CountWidth'(taken) - CountWidth'(ended);
      if (following && ended) begin
        ahead <= ahead - 1'b1;
        if (ahead == '0) following <= 1'b0;
      end
      if (taken && follow_i && !following) begin
        following <= 1'b1;
        owner     <= grant[0] ? 2'd0 : grant[1] ? 2'd1 : 2'd2;
        ahead     <= away - CountWidth'(ended);
      end
    end
  end

  // What was offered in the cycle before.
  logic                 asked_0, asked_1, asked_2, waited, granted;
  logic [AddrWidth-1:0] addr_0, addr_1, addr_2, waited_addr, granted_addr;
  logic [8:0]           beats_0, beats_1, beats_2, granted_beats;
  logic [7:0]           waited_len;
  always_ff @(posedge clk_i) begin
    asked_0       <= rst_n && request_i[0] && !grant[0];
    asked_1       <= rst_n && request_i[1] && !grant[1];
    asked_2       <= rst_n && request_i[2] && !grant[2];
    addr_0        <= addr_i[AddrWidth-1:0];
    addr_1        <= addr_i[2*AddrWidth-1:AddrWidth];
    addr_2        <= addr_i[3*AddrWidth-1:2*AddrWidth];
    beats_0       <= beats_i[8:0];
    beats_1       <= beats_i[17:9];
    beats_2       <= beats_i[26:18];
    waited        <= rst_n && arvalid && !arready_i;
    waited_addr   <= araddr;
    waited_len    <= arlen;
    granted       <= rst_n && taken;
    granted_addr  <= grant[0] ? addr_i[AddrWidth-1:0] : grant[1] ? addr_i[2*AddrWidth-1:AddrWidth] : addr_i[3*AddrWidth-1:2*AddrWidth];
    granted_beats <= grant[0] ? beats_i[8:0] : grant[1] ? beats_i[17:9] : beats_i[26:18];
  end

  // Inside: the order queue, as in dovetail_fifo_formal.
  (* hierconn *) logic [CountWidth-1:0] \u_dut.u_order.count_q ;
  (* hierconn *) logic [PtrWidth-1:0]   \u_dut.u_order.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]   \u_dut.u_order.tail_q ;
  (* hierconn *) logic [PtrWidth-1:0]   \u_dut.u_order.formal_place ;
  (* hierconn *) logic [1:0]            \u_dut.u_order.formal_word ;
  logic [CountWidth:0] last, place, distance;  // of the solver's place from the head
  assign last   = (CountWidth + 1)'(\u_dut.u_order.head_q ) + (CountWidth + 1)'(away);
  assign place  = (CountWidth + 1)'(\u_dut.u_order.head_q ) + (CountWidth + 1)'(ahead);
  assign distance = \u_dut.u_order.formal_place >= \u_dut.u_order.head_q ?
      (CountWidth + 1)'(\u_dut.u_order.formal_place ) - (CountWidth + 1)'(\u_dut.u_order.head_q ) :
      (CountWidth + 1)'(\u_dut.u_order.formal_place ) + (CountWidth + 1)'(OrderDepth) - (CountWidth + 1)'(\u_dut.u_order.head_q );

  always_comb begin
    // The rules of those around. A request does not change before its grant; a requester asks only
    // while its buffer has room for the burst besides all that are on their way (proven in dovetail_read_buffer_formal), which are of a beat at least.
    if (asked_0) assume (request_i[0] && addr_i[AddrWidth-1:0] == addr_0 && beats_i[8:0] == beats_0);
    if (asked_1) assume (request_i[1] && addr_i[2*AddrWidth-1:AddrWidth] == addr_1 && beats_i[17:9] == beats_1);
    if (asked_2) assume (request_i[2] && addr_i[3*AddrWidth-1:2*AddrWidth] == addr_2 && beats_i[26:18] == beats_2);
    if (request_i[0]) assume (beats_i[8:0] != '0 && beats_i[8:0] <= 9'd256);
    if (request_i[1]) assume (beats_i[17:9] != '0 && beats_i[17:9] <= 9'd256);
    if (request_i[2]) assume (beats_i[26:18] != '0 && beats_i[26:18] <= 9'd256);
    if (request_i != 3'b000) assume (away < CountWidth'(3 * BufferBeats));
    // The memory answers what it has accepted, and nothing else.
    if (rvalid_i) assume (away > CountWidth'(arvalid));

    if (rst_n) begin
      // The arbiter: one at most, of those that ask, and whenever the address register is free one of them: none is passed over but for one before
      // it in the order fetch, compute, load.
      assert (grant == 3'b000 || grant == 3'b001 || grant == 3'b010 || grant == 3'b100);
      assert ((grant & ~request_i) == 3'b000);
      if (halt_i) assert (grant == 3'b000);
      if (arvalid && !arready_i) assert (grant == 3'b000);
      if (!halt_i && (!arvalid || arready_i)) assert ((grant != 3'b000) == (request_i != 3'b000));
      if (grant[1]) assert (!request_i[0]);
      if (grant[2]) assert (!request_i[0] && !request_i[1]);
      // The address channel: the choice shows in the next cycle and is held until it is accepted; nothing else shows.
      if (granted) assert (arvalid && araddr == granted_addr && {1'b0, arlen} + 9'd1 == granted_beats);
      if (waited) assert (arvalid && araddr == waited_addr && arlen == waited_len);
      if (!granted && !waited) assert (!arvalid);
      // The way back: at once, to one, unchanged, to who asked.
      assert (rready);
      assert (beat_valid == 3'b000 || beat_valid == 3'b001 || beat_valid == 3'b010 || beat_valid == 3'b100);
      if (!rvalid_i) assert (beat_valid == 3'b000);
      if (rvalid_i && \u_dut.u_order.head_q == \u_dut.u_order.formal_place ) assert (beat_valid != 3'b000);
      if (rvalid_i) assert (beat_data == rdata_i && beat_resp == rresp_i);
      if (rvalid_i && following && ahead == '0) assert (beat_valid == owner_bit);
      assert (idle == (away == '0));
    end
  end

  always_comb begin
    assume (\u_dut.u_order.formal_place <= PtrWidth'(OrderDepth - 1));
    if (follow_i) assume (\u_dut.u_order.tail_q == \u_dut.u_order.formal_place );
    if (rst_n) begin
      assert (\u_dut.u_order.count_q == away);
      assert (away < CountWidth'(OrderDepth) && away >= CountWidth'(arvalid));
      assert (\u_dut.u_order.head_q <= PtrWidth'(OrderDepth - 1));
      assert ((CountWidth + 1)'(\u_dut.u_order.tail_q ) == (last >= (CountWidth + 1)'(OrderDepth) ? last - (CountWidth + 1)'(OrderDepth) : last));
      if (distance < (CountWidth + 1)'(away)) assert (\u_dut.u_order.formal_word != 2'd3);
      if (following) begin
        assert (ahead < away);
        assert ((CountWidth + 1)'(\u_dut.u_order.formal_place ) == (place >= (CountWidth + 1)'(OrderDepth) ? place - (CountWidth + 1)'(OrderDepth) : place));
        assert (\u_dut.u_order.formal_word == owner && owner != 2'd3);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && waited && request_i == 3'b111);
    cover (rst_n && grant[2] && away > CountWidth'(1));
    cover (rst_n && following && ahead == '0 && ended && owner == 2'd2 && away > CountWidth'(1));
    cover (rst_n && arvalid && arready_i && taken);
  end
endmodule
