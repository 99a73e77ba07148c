// Proof of the writes of dovetail_soc_arbiter, as dovetail_soc_reads_formal: each address and each beat is offered to
// the memory once, unchanged, and held until it is accepted; data is that of the oldest address; each answer goes to
// the one that asked; bursts of the accelerator and an access of the processor are never open together. With an idle
// processor the accelerator has the port in the cycle in which it asks.
//
// Live, with every memory that AXI4 allows (Arm IHI 0022, A3.3.1): it may wait for the data before it takes the
// address, or for the address before it takes the data. While both are offered it takes one of them within Fair
// cycles, and the other one after it; it answers, and the accelerator offers its data, within Fair cycles. Then
// something moves at least every 3 Fair cycles while anything is open. At most one burst goes before an access of the
// processor that waits, and at most one access before a burst that waits. So each ends.
module dovetail_soc_writes_formal #(
  parameter int unsigned AddressBits = 6,
  parameter int unsigned BusBytes = 8,
  parameter int unsigned Fair = 3,
  localparam int unsigned BusBits = 8 * BusBytes,
  localparam int unsigned LaneBits = $clog2(BusBytes),
  localparam int unsigned Width = 8
) (
  input logic                   clk_i,
  input logic                   a_awvalid_i,
  input logic [AddressBits-1:0] a_awaddr_i,
  input logic [7:0]             a_awlen_i,
  input logic                   a_wvalid_i,
  input logic [BusBits-1:0]     a_wdata_i,
  input logic [BusBytes-1:0]    a_wstrb_i,
  input logic                   a_wlast_i,
  input logic                   c_awvalid_i,
  input logic [AddressBits-1:0] c_awaddr_i,
  input logic                   c_wvalid_i,
  input logic [31:0]            c_wdata_i,
  input logic [3:0]             c_wstrb_i,
  input logic                   m_awready_i,
  input logic                   m_wready_i,
  input logic                   m_bvalid_i
);
  localparam logic [Width-1:0] Most = Width'(Fair);
  localparam logic [Width-1:0] Less1 = {Width{1'b1}};  // -1
  localparam logic [2:0] Size = 3'(LaneBits);
  localparam logic [1:0] Incr = 2'b01;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic                   a_awready, a_wready, a_bvalid, c_awready, c_wready, c_bvalid, m_awvalid, m_wvalid, m_wlast;
  logic [AddressBits-1:0] m_awaddr;
  logic [7:0]             m_awlen;
  logic [2:0]             m_awsize;
  logic [1:0]             m_awburst;
  logic [BusBits-1:0]     m_wdata;
  logic [BusBytes-1:0]    m_wstrb;
  dovetail_soc_arbiter #(
    .AddressBits(AddressBits),
    .BusBytes   (BusBytes)
  ) u_dut (
    .clk_i,
    .rst_ni     (rst_n),
    .a_arvalid_i(1'b0),
    .a_arready_o(),
    .a_araddr_i ('0),
    .a_arlen_i  ('0),
    .a_arsize_i ('0),
    .a_arburst_i('0),
    .a_rvalid_o (),
    .a_awvalid_i,
    .a_awready_o(a_awready),
    .a_awaddr_i,
    .a_awlen_i,
    .a_awsize_i (Size),
    .a_awburst_i(Incr),
    .a_wvalid_i,
    .a_wready_o (a_wready),
    .a_wdata_i,
    .a_wstrb_i,
    .a_wlast_i,
    .a_bvalid_o (a_bvalid),
    .c_arvalid_i(1'b0),
    .c_arready_o(),
    .c_araddr_i ('0),
    .c_rvalid_o (),
    .c_rdata_o  (),
    .c_awvalid_i,
    .c_awready_o(c_awready),
    .c_awaddr_i,
    .c_wvalid_i,
    .c_wready_o (c_wready),
    .c_wdata_i,
    .c_wstrb_i,
    .c_bvalid_o (c_bvalid),
    .m_arvalid_o(),
    .m_arready_i(1'b0),
    .m_araddr_o (),
    .m_arlen_o  (),
    .m_arsize_o (),
    .m_arburst_o(),
    .m_rvalid_i (1'b0),
    .m_rdata_i  ('0),
    .m_rlast_i  (1'b0),
    .m_awvalid_o(m_awvalid),
    .m_awready_i,
    .m_awaddr_o (m_awaddr),
    .m_awlen_o  (m_awlen),
    .m_awsize_o (m_awsize),
    .m_awburst_o(m_awburst),
    .m_wvalid_o (m_wvalid),
    .m_wready_i,
    .m_wdata_o  (m_wdata),
    .m_wstrb_o  (m_wstrb),
    .m_wlast_o  (m_wlast),
    .m_bvalid_i
  );

  // ---- Model: what is open -----------------------------------------------------------------------
  // The accelerator: bursts whose address is accepted, and that are not answered; addresses accepted, less bursts
  // whose data is complete (-1: the data was first). The processor: its parts that are accepted, and those that the
  // memory has.
  logic a_aw, a_w, c_aw, c_w, m_aw, m_w, c_aw_sends, c_w_sends, asked, sent;
  logic aw_got, w_got, aw_sent, w_sent;
  logic [Width-1:0]       bursts, lead;
  logic [AddressBits-1:0] c_addr;
  logic [31:0]            c_data;
  logic [3:0]             c_strb;
  assign a_aw       = a_awvalid_i && a_awready;
  assign a_w        = a_wvalid_i && a_wready;
  assign c_aw       = c_awvalid_i && c_awready;
  assign c_w        = c_wvalid_i && c_wready;
  assign m_aw       = m_awvalid && m_awready_i;
  assign m_w        = m_wvalid && m_wready_i;
  assign c_aw_sends = m_aw && !a_aw;
  assign c_w_sends  = m_w && !a_w;
  assign asked      = aw_got && w_got;
  assign sent       = aw_sent && w_sent;

  // What waits: for the memory to take a part, for its answer, for the accelerator's data.
  logic has_first, has_later, part_due, due, data_due, late, moves, open;
  assign has_first = (m_awvalid && m_wvalid) || (m_awvalid && lead == Less1);
  assign has_later = (m_wvalid && lead != '0 && lead != Less1) || (m_awvalid && w_sent) || (m_wvalid && aw_sent);
  assign part_due  = has_first || has_later;
  assign due       = sent || (bursts != '0 && bursts != lead);
  assign data_due  = (lead != '0 && lead != Less1) || (lead == '0 && a_awvalid_i);
  assign late      = data_due && !a_wvalid_i;
  assign moves     = m_aw || m_w || m_bvalid_i;
  assign open      = asked || a_awvalid_i || a_wvalid_i || bursts != '0;

  logic                   a_aw_waited, a_w_waited, m_aw_waited, m_w_waited, c_aw_waited, c_w_waited;
  logic [AddressBits-1:0] a_addr, m_addr, c_next;
  logic [7:0]             a_len, m_len;
  logic [BusBits-1:0]     a_data, m_data;
  logic [BusBytes-1:0]    a_strb, m_strb;
  logic                   a_last, m_last;
  logic [Width-1:0]       part_waits, b_waits, late_waits, still, passed, turns;
  always_ff @(posedge clk_i) begin
    a_aw_waited <= rst_n && a_awvalid_i && !a_awready;
    a_addr      <= a_awaddr_i;
    a_len       <= a_awlen_i;
    a_w_waited  <= rst_n && a_wvalid_i && !a_wready;
    a_data      <= a_wdata_i;
    a_strb      <= a_wstrb_i;
    a_last      <= a_wlast_i;
    c_aw_waited <= rst_n && c_awvalid_i && !c_awready;
    c_next      <= c_awaddr_i;
    c_w_waited  <= rst_n && c_wvalid_i && !c_wready;
    m_aw_waited <= rst_n && m_awvalid && !m_awready_i;
    m_addr      <= m_awaddr;
    m_len       <= m_awlen;
    m_w_waited  <= rst_n && m_wvalid && !m_wready_i;
    m_data      <= m_wdata;
    m_strb      <= m_wstrb;
    m_last      <= m_wlast;
    if (!rst_n) begin
      bursts     <= '0;
      lead       <= '0;
      aw_got     <= 1'b0;
      w_got      <= 1'b0;
      aw_sent    <= 1'b0;
      w_sent     <= 1'b0;
      part_waits <= '0;
      b_waits    <= '0;
      late_waits <= '0;
      still      <= '0;
      passed     <= '0;
      turns      <= '0;
    end else begin
      bursts  <= bursts + Width'(a_aw) - Width'(a_bvalid);
      lead    <= lead + Width'(a_aw) - Width'(a_w && a_wlast_i);
      aw_got  <= c_aw || (aw_got && !c_bvalid);
      w_got   <= c_w || (w_got && !c_bvalid);
      aw_sent <= (aw_sent || c_aw_sends) && !c_bvalid;
      w_sent  <= (w_sent || c_w_sends) && !c_bvalid;
      if (c_aw) c_addr <= c_awaddr_i;
      if (c_w) begin
        c_data <= c_wdata_i;
        c_strb <= c_wstrb_i;
      end
      part_waits <= moves ? '0 : part_waits + Width'(part_due);
      b_waits <= moves ? '0 : b_waits + Width'(due);
      late_waits <= moves ? '0 : late_waits + Width'(late);
      still      <= open && !moves ? still + 1'b1 : '0;
      passed     <= asked && !aw_sent && !c_aw_sends ? passed + Width'(a_aw) : '0;
      turns      <= a_awvalid_i && !a_awready ? turns + Width'(c_aw_sends) : '0;
    end
  end

  always_comb begin
    // Masters hold what they offer. The accelerator offers data with its address or later, in the order of addresses,
    // and has credits for few bursts.
    if (a_aw_waited) assume (a_awvalid_i && a_awaddr_i == a_addr && a_awlen_i == a_len);
    if (a_w_waited) assume (a_wvalid_i && a_wdata_i == a_data && a_wstrb_i == a_strb && a_wlast_i == a_last);
    if (c_aw_waited) assume (c_awvalid_i && c_awaddr_i == c_next);
    if (c_w_waited) assume (c_wvalid_i);
    if (a_wvalid_i) assume (data_due);
    if (a_awvalid_i) assume (bursts < Width'(100));
    // The memory answers what is complete. Both are fair.
    if (m_bvalid_i) assume (due);
    if (part_waits == Most - 1'b1) assume (moves || !part_due);
    if (b_waits == Most - 1'b1) assume (moves || !due);
    if (late_waits == Most - 1'b1) assume (moves || !late);

    if (rst_n) begin
      // Each part once, unchanged, and held.
      if (a_aw) assert (m_aw && m_awaddr == a_awaddr_i && m_awlen == a_awlen_i);
      if (a_w) assert (m_w && m_wdata == a_wdata_i && m_wstrb == a_wstrb_i && m_wlast == a_wlast_i);
      if (c_aw_sends) begin
        assert (asked && !aw_sent && m_awlen == 8'd0);
        assert (m_awaddr == (c_addr & ~(AddressBits'(BusBytes) - 1'b1)));
      end
      if (c_w_sends) begin
        assert (asked && !w_sent && m_wlast);
        assert (32'(m_wdata >> {c_addr[LaneBits-1:2], 5'd0}) == c_data);
        assert (m_wstrb == BusBytes'(c_strb) << {c_addr[LaneBits-1:2], 2'd0});
      end
      if (m_awvalid) assert (m_awsize == Size && m_awburst == Incr);
      if (m_aw_waited) assert (m_awvalid && m_awaddr == m_addr && m_awlen == m_len);
      if (m_w_waited) assert (m_wvalid && m_wdata == m_data && m_wstrb == m_strb && m_wlast == m_last);
      assert (c_awready == !aw_got && c_wready == !w_got);
      // Answers; nothing is open together.
      if (c_aw_sends || c_w_sends || aw_sent || w_sent) assert (bursts == '0 && lead == '0 && !a_aw && !a_w);
      assert (c_bvalid == (m_bvalid_i && sent));
      assert (a_bvalid == (m_bvalid_i && !sent));
      // The accelerator as if alone: no part waits for the other one.
      if (!asked) begin
        assert (m_awvalid == a_awvalid_i && a_awready == m_awready_i);
        assert (m_wvalid == a_wvalid_i && a_w == m_w);
      end
      if (m_awvalid && asked && bursts == '0 && !a_awvalid_i && !w_sent) assert (m_wvalid);
      // Live.
      assert (still < 3 * Most);
      assert (passed <= Width'(1));
      assert (turns <= Width'(1));
    end
  end

  // ---- Internal state ----------------------------------------------------------------------------
  (* hierconn *) logic                   \u_dut.aw_wants_q ;
  (* hierconn *) logic                   \u_dut.w_wants_q ;
  (* hierconn *) logic                   \u_dut.w_of_cpu_q ;
  (* hierconn *) logic                   \u_dut.aw_sent_q ;
  (* hierconn *) logic                   \u_dut.w_sent_q ;
  (* hierconn *) logic                   \u_dut.aw_shown_q ;
  (* hierconn *) logic                   \u_dut.w_owed_q ;
  (* hierconn *) logic [15:0]            \u_dut.w_count_q ;
  (* hierconn *) logic [15:0]            \u_dut.w_lead_q ;
  (* hierconn *) logic [AddressBits-1:0] \u_dut.w_addr_q ;
  (* hierconn *) logic [31:0]            \u_dut.w_data_q ;
  (* hierconn *) logic [3:0]             \u_dut.w_strb_q ;
  logic of_cpu, shown, goes_first;
  assign of_cpu     = \u_dut.w_of_cpu_q ;
  assign shown      = \u_dut.aw_shown_q ;
  assign goes_first = \u_dut.w_owed_q ;
  always_comb begin
    if (rst_n) begin
      assert (\u_dut.aw_wants_q == aw_got && \u_dut.w_wants_q == w_got);
      assert (\u_dut.aw_sent_q == aw_sent && \u_dut.w_sent_q == w_sent);
      assert (\u_dut.w_count_q == 16'(bursts) && bursts <= Width'(100));
      assert (\u_dut.w_lead_q == {{(16 - Width) {lead[Width-1]}}, lead});
      assert (lead == Less1 || lead <= bursts);
      if (lead == Less1) assert (shown);
      if (aw_got) assert (\u_dut.w_addr_q == c_addr);
      if (w_got) assert (\u_dut.w_data_q == c_data && \u_dut.w_strb_q == c_strb);
      if (of_cpu) assert (asked && bursts == '0 && lead == '0 && !shown && !goes_first);
      if (aw_sent || w_sent) assert (of_cpu);
      if (shown) assert (a_aw_waited && m_aw_waited && a_awvalid_i);
      if (m_aw_waited && !of_cpu) assert (shown && m_addr == a_awaddr_i && m_len == a_awlen_i);
      if (m_aw_waited && of_cpu) assert (m_addr == m_awaddr && m_len == 8'd0 && !aw_sent);
      if (m_w_waited && !of_cpu) begin
        assert (a_w_waited && a_wvalid_i && (lead != '0 || shown));
        assert (m_data == a_wdata_i && m_strb == a_wstrb_i && m_last == a_wlast_i);
      end
      if (m_w_waited && of_cpu) assert (!w_sent && m_data == m_wdata && m_strb == m_wstrb && m_last == m_wlast);
      if (goes_first) assert (a_awvalid_i && a_aw_waited);
      if (turns != '0) assert (a_awvalid_i && (aw_sent || goes_first));
      if (passed != '0) assert (asked && !shown && !goes_first && !of_cpu || of_cpu);
      assert (part_waits < Most && b_waits < Most && late_waits < Most);
      // Each cycle in which nothing moves is one of the waits, but that in which the processor is given the port.
      assert (still <= part_waits + b_waits + late_waits + 1'b1);
      if (open && !part_due && !due && !late) assert (still == '0 && asked && !of_cpu);
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && c_bvalid && a_awvalid_i && bursts == '0);
    cover (rst_n && asked && passed == Width'(1));
    cover (rst_n && lead == Less1 && a_aw && aw_got);
    cover (rst_n && still > Most);
    cover (rst_n && turns == Width'(1) && a_aw);
  end
endmodule
