// Proof of the reads of dovetail_soc_arbiter: each burst of the accelerator and each access of the processor is
// offered to the memory once, unchanged, and held until it is accepted; each answer goes to the one that asked. An
// access of the processor never has another burst before or after it in flight, so the memory's order is that of the
// answers. With an idle processor the accelerator has the port in the cycle in which it asks.
//
// Live: while the memory accepts an address, and sends the next beat, within Fair cycles, something moves at least
// every Fair + 1 cycles while anything is open. At most one burst goes before an access of the processor that waits,
// and at most one access before a burst that waits; a burst has at most 256 beats. So each ends.
module dovetail_soc_reads_formal #(
  parameter int unsigned AddressBits = 6,
  parameter int unsigned BusBytes = 8,
  parameter int unsigned Fair = 3,
  localparam int unsigned BusBits = 8 * BusBytes,
  localparam int unsigned LaneBits = $clog2(BusBytes),
  localparam int unsigned Width = 8
) (
  input logic                   clk_i,
  input logic                   a_arvalid_i,
  input logic [AddressBits-1:0] a_araddr_i,
  input logic [7:0]             a_arlen_i,
  input logic                   c_arvalid_i,
  input logic [AddressBits-1:0] c_araddr_i,
  input logic                   m_arready_i,
  input logic                   m_rvalid_i,
  input logic [BusBits-1:0]     m_rdata_i,
  input logic                   m_rlast_i
);
  localparam logic [Width-1:0] Most = Width'(Fair);
  localparam logic [2:0] Size = 3'(LaneBits);
  localparam logic [1:0] Incr = 2'b01;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic                   a_arready, a_rvalid, c_arready, c_rvalid, m_arvalid;
  logic [31:0]            c_rdata;
  logic [AddressBits-1:0] m_araddr;
  logic [7:0]             m_arlen;
  logic [2:0]             m_arsize;
  logic [1:0]             m_arburst;
  dovetail_soc_arbiter #(
    .AddressBits(AddressBits),
    .BusBytes   (BusBytes)
  ) u_dut (
    .clk_i,
    .rst_ni     (rst_n),
    .a_arvalid_i,
    .a_arready_o(a_arready),
    .a_araddr_i,
    .a_arlen_i,
    .a_arsize_i (Size),
    .a_arburst_i(Incr),
    .a_rvalid_o (a_rvalid),
    .a_awvalid_i(1'b0),
    .a_awready_o(),
    .a_awaddr_i ('0),
    .a_awlen_i  ('0),
    .a_awsize_i ('0),
    .a_awburst_i('0),
    .a_wvalid_i (1'b0),
    .a_wready_o (),
    .a_wdata_i  ('0),
    .a_wstrb_i  ('0),
    .a_wlast_i  (1'b0),
    .a_bvalid_o (),
    .c_arvalid_i,
    .c_arready_o(c_arready),
    .c_araddr_i,
    .c_rvalid_o (c_rvalid),
    .c_rdata_o  (c_rdata),
    .c_awvalid_i(1'b0),
    .c_awready_o(),
    .c_awaddr_i ('0),
    .c_wvalid_i (1'b0),
    .c_wready_o (),
    .c_wdata_i  ('0),
    .c_wstrb_i  ('0),
    .c_bvalid_o (),
    .m_arvalid_o(m_arvalid),
    .m_arready_i,
    .m_araddr_o (m_araddr),
    .m_arlen_o  (m_arlen),
    .m_arsize_o (m_arsize),
    .m_arburst_o(m_arburst),
    .m_rvalid_i,
    .m_rdata_i,
    .m_rlast_i,
    .m_awvalid_o(),
    .m_awready_i(1'b0),
    .m_awaddr_o (),
    .m_awlen_o  (),
    .m_awsize_o (),
    .m_awburst_o(),
    .m_wvalid_o (),
    .m_wready_i (1'b0),
    .m_wdata_o  (),
    .m_wstrb_o  (),
    .m_wlast_o  (),
    .m_bvalid_i (1'b0)
  );

  // ---- Model: what is open -----------------------------------------------------------------------
  // The processor: asked, and not offered to the memory; accepted by it. The accelerator's bursts.
  logic                   asked, sent, a_takes, m_takes, c_takes, c_sends, open;
  logic [AddressBits-1:0] c_addr;
  logic [Width-1:0]       bursts;
  assign a_takes = a_arvalid_i && a_arready;
  assign c_takes = c_arvalid_i && c_arready;
  assign m_takes = m_arvalid && m_arready_i;
  assign c_sends = m_takes && !a_takes;
  assign open    = asked || sent || a_arvalid_i || bursts != '0;

  logic                   a_waited, m_waited, c_waited;
  logic [AddressBits-1:0] a_addr, m_addr, c_next;
  logic [7:0]             a_len, m_len;
  logic [Width-1:0]       ar_waits, r_waits, still, passed, turns;
  always_ff @(posedge clk_i) begin
    a_waited <= rst_n && a_arvalid_i && !a_arready;
    a_addr   <= a_araddr_i;
    a_len    <= a_arlen_i;
    c_waited <= rst_n && c_arvalid_i && !c_arready;
    c_next   <= c_araddr_i;
    m_waited <= rst_n && m_arvalid && !m_arready_i;
    m_addr   <= m_araddr;
    m_len    <= m_arlen;
    if (!rst_n) begin
      asked    <= 1'b0;
      sent     <= 1'b0;
      bursts   <= '0;
      ar_waits <= '0;
      r_waits  <= '0;
      still    <= '0;
      passed   <= '0;
      turns    <= '0;
    end else begin
      if (c_takes) c_addr <= c_araddr_i;
      asked    <= c_takes || (asked && !c_sends);
      sent     <= c_sends || (sent && !m_rvalid_i);
      bursts   <= bursts + Width'(a_takes) - Width'(a_rvalid && m_rlast_i);
      ar_waits <= m_arvalid && !m_arready_i ? ar_waits + 1'b1 : '0;
      r_waits  <= (sent || bursts != '0) && !m_rvalid_i ? r_waits + 1'b1 : '0;
      still    <= open && !m_takes && !m_rvalid_i ? still + 1'b1 : '0;
      // Bursts that are accepted while the processor waits, and its accesses while a burst waits.
      passed   <= asked && !c_sends ? passed + Width'(a_takes) : '0;
      turns    <= a_arvalid_i && !a_arready ? turns + Width'(c_sends) : '0;
    end
  end

  always_comb begin
    // Both masters hold what they offer. The accelerator has credits for few bursts.
    if (a_waited) assume (a_arvalid_i && a_araddr_i == a_addr && a_arlen_i == a_len);
    if (c_waited) assume (c_arvalid_i && c_araddr_i == c_next);
    if (a_arvalid_i) assume (bursts < Width'(100));
    // The memory answers what it has accepted, in order, and is fair. The processor's answer is one beat.
    if (m_rvalid_i) assume (sent || bursts != '0);
    if (m_rvalid_i && sent) assume (m_rlast_i);
    if (ar_waits == Most - 1'b1) assume (m_arready_i || !m_arvalid);
    if (r_waits == Most - 1'b1) assume (m_rvalid_i || (!sent && bursts == '0));

    if (rst_n) begin
      // Each address once, unchanged, and held.
      if (a_takes) assert (m_takes && m_araddr == a_araddr_i && m_arlen == a_arlen_i);
      if (c_sends) begin
        assert (asked && m_arlen == 8'd0 && m_araddr == (c_addr & ~(AddressBits'(BusBytes) - 1'b1)));
      end
      if (m_arvalid) assert (m_arsize == Size && m_arburst == Incr);
      if (m_waited) assert (m_arvalid && m_araddr == m_addr && m_arlen == m_len);
      assert (c_arready == (!asked && !sent));
      // Answers.
      assert (!(sent && bursts != '0));
      assert (c_rvalid == (m_rvalid_i && sent));
      assert (a_rvalid == (m_rvalid_i && !sent));
      if (c_rvalid) assert (c_rdata == 32'(m_rdata_i >> {c_addr[LaneBits-1:2], 5'd0}));
      // The accelerator as if alone.
      if (!asked && !sent) assert (m_arvalid == a_arvalid_i && a_arready == m_arready_i);
      // Live.
      assert (still <= Most);
      assert (passed <= Width'(1));
      assert (turns <= Width'(1));
    end
  end

  // ---- Internal state ----------------------------------------------------------------------------
  (* hierconn *) logic        \u_dut.r_wants_q ;
  (* hierconn *) logic        \u_dut.r_of_cpu_q ;
  (* hierconn *) logic        \u_dut.ar_sent_q ;
  (* hierconn *) logic        \u_dut.ar_shown_q ;
  (* hierconn *) logic        \u_dut.r_owed_q ;
  (* hierconn *) logic [15:0] \u_dut.r_count_q ;
  (* hierconn *) logic [AddressBits-1:0] \u_dut.r_addr_q ;
  always_comb begin
    if (rst_n) begin
      assert (\u_dut.r_wants_q == (asked || sent) && \u_dut.ar_sent_q == sent && !(asked && sent));
      assert (\u_dut.r_count_q == 16'(bursts) && bursts <= Width'(100));
      if (asked || sent) assert (\u_dut.r_addr_q == c_addr);
      if (\u_dut.r_of_cpu_q ) assert ((asked || sent) && bursts == '0 && !\u_dut.ar_shown_q && !\u_dut.r_owed_q );
      if (sent) assert (\u_dut.r_of_cpu_q );
      if (\u_dut.ar_shown_q ) assert (a_waited && m_waited && a_arvalid_i);
      if (m_waited && !\u_dut.r_of_cpu_q ) assert (\u_dut.ar_shown_q && m_addr == a_araddr_i && m_len == a_arlen_i);
      if (m_waited && \u_dut.r_of_cpu_q ) assert (m_len == 8'd0 && m_addr == m_araddr && asked);
      if (\u_dut.r_owed_q ) assert (a_arvalid_i && a_waited && !sent);
      if (turns != '0) assert (a_arvalid_i && (sent || \u_dut.r_owed_q ));
      if (passed != '0) assert (asked && !\u_dut.ar_shown_q && !\u_dut.r_owed_q );
      assert (ar_waits < Most && r_waits < Most);
      if (ar_waits != '0) assert (m_waited);
      if (r_waits != '0) assert (sent || bursts != '0);
      if (still != '0) begin
        assert (still <= ar_waits + 1'b1 || still <= r_waits + 1'b1);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && c_rvalid && a_arvalid_i);
    cover (rst_n && asked && passed == Width'(1));
    cover (rst_n && turns == Width'(1) && a_takes && asked);
    cover (rst_n && still == Most);
    cover (rst_n && still == Most - 1'b1 && bursts > Width'(1));
  end
endmodule
