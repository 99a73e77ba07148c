// The memory's port, shared by the accelerator (AXI4) and the processor (AXI4-Lite, 32 bits). The
// accelerator's bursts pass in the cycle in which they are offered, so that with an idle processor it
// has the memory as if alone. An access of the processor waits until all bursts of its direction are
// answered, and holds new ones meanwhile; after it a burst that waits goes first. Each direction has
// its own turns. The memory may answer in order only: there are no IDs.
module dovetail_soc_arbiter #(
  parameter int unsigned AddressBits = 32,
  parameter int unsigned BusBytes = 8,      // a power of two, at least 4
  localparam int unsigned BusBits = 8 * BusBytes
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  // The accelerator. It takes beats and responses at once.
  input  logic                   a_arvalid_i,
  output logic                   a_arready_o,
  input  logic [AddressBits-1:0] a_araddr_i,
  input  logic [7:0]             a_arlen_i,
  input  logic [2:0]             a_arsize_i,
  input  logic [1:0]             a_arburst_i,
  output logic                   a_rvalid_o,
  input  logic                   a_awvalid_i,
  output logic                   a_awready_o,
  input  logic [AddressBits-1:0] a_awaddr_i,
  input  logic [7:0]             a_awlen_i,
  input  logic [2:0]             a_awsize_i,
  input  logic [1:0]             a_awburst_i,
  input  logic                   a_wvalid_i,
  output logic                   a_wready_o,
  input  logic [BusBits-1:0]     a_wdata_i,
  input  logic [BusBytes-1:0]    a_wstrb_i,
  input  logic                   a_wlast_i,
  output logic                   a_bvalid_o,
  // The processor, with one access of each direction at a time. It takes data and responses at once.
  input  logic                   c_arvalid_i,
  output logic                   c_arready_o,
  input  logic [AddressBits-1:0] c_araddr_i,
  output logic                   c_rvalid_o,
  output logic [31:0]            c_rdata_o,
  input  logic                   c_awvalid_i,
  output logic                   c_awready_o,
  input  logic [AddressBits-1:0] c_awaddr_i,
  input  logic                   c_wvalid_i,
  output logic                   c_wready_o,
  input  logic [31:0]            c_wdata_i,
  input  logic [3:0]             c_wstrb_i,
  output logic                   c_bvalid_o,
  // The memory. rdata, rresp, rlast and bresp go from it to both, in the module above.
  output logic                   m_arvalid_o,
  input  logic                   m_arready_i,
  output logic [AddressBits-1:0] m_araddr_o,
  output logic [7:0]             m_arlen_o,
  output logic [2:0]             m_arsize_o,
  output logic [1:0]             m_arburst_o,
  input  logic                   m_rvalid_i,
  input  logic [BusBits-1:0]     m_rdata_i,
  input  logic                   m_rlast_i,
  output logic                   m_awvalid_o,
  input  logic                   m_awready_i,
  output logic [AddressBits-1:0] m_awaddr_o,
  output logic [7:0]             m_awlen_o,
  output logic [2:0]             m_awsize_o,
  output logic [1:0]             m_awburst_o,
  output logic                   m_wvalid_o,
  input  logic                   m_wready_i,
  output logic [BusBits-1:0]     m_wdata_o,
  output logic [BusBytes-1:0]    m_wstrb_o,
  output logic                   m_wlast_o,
  input  logic                   m_bvalid_i
);
  localparam int unsigned LaneBits = $clog2(BusBytes);
  localparam int unsigned Words = BusBytes / 4;
  localparam int unsigned CountBits = 16;  // of bursts in flight
  localparam logic [1:0] Incr = 2'b01;

  function automatic logic [AddressBits-1:0] beat_addr(input logic [AddressBits-1:0] addr);
    beat_addr = {addr[AddressBits-1:LaneBits], LaneBits'(0)};
  endfunction

  // ---- Reads ------------------------------------------------------------------------------------
  logic                   r_wants_q, r_of_cpu_q, ar_sent_q;  // the processor: asks, has the port; its address is taken
  logic [AddressBits-1:0] r_addr_q;
  logic                   ar_shown_q, r_owed_q;  // a burst is offered and must stay; it goes first
  logic [CountBits-1:0]   r_count_q;             // of the accelerator, not answered
  logic                   ar_passes, a_ar, a_r_end;

  assign ar_passes   = !r_of_cpu_q && (!r_wants_q || ar_shown_q || r_owed_q);
  assign m_arvalid_o = r_of_cpu_q ? !ar_sent_q : a_arvalid_i && ar_passes;
  assign m_araddr_o  = r_of_cpu_q ? beat_addr(r_addr_q) : a_araddr_i;
  assign m_arlen_o   = r_of_cpu_q ? 8'd0 : a_arlen_i;
  assign m_arsize_o  = r_of_cpu_q ? 3'(LaneBits) : a_arsize_i;
  assign m_arburst_o = r_of_cpu_q ? Incr : a_arburst_i;
  assign a_arready_o = ar_passes && m_arready_i;
  assign a_rvalid_o  = !r_of_cpu_q && m_rvalid_i;
  assign c_arready_o = !r_wants_q;
  assign c_rvalid_o  = r_of_cpu_q && m_rvalid_i;
  assign a_ar        = a_arvalid_i && a_arready_o;
  assign a_r_end     = a_rvalid_o && m_rlast_i;

  if (Words == 1) begin : gen_read_word
    assign c_rdata_o = m_rdata_i;
  end else begin : gen_read_lane
    assign c_rdata_o = m_rdata_i[32*r_addr_q[LaneBits-1:2]+:32];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      r_wants_q  <= 1'b0;
      r_of_cpu_q <= 1'b0;
      ar_sent_q  <= 1'b0;
      r_addr_q   <= '0;
      ar_shown_q <= 1'b0;
      r_owed_q   <= 1'b0;
      r_count_q  <= '0;
    end else begin
      r_count_q  <= r_count_q + CountBits'(a_ar) - CountBits'(a_r_end);
      ar_shown_q <= !r_of_cpu_q && m_arvalid_o && !m_arready_i;
      if (a_ar || !a_arvalid_i) r_owed_q <= 1'b0;
      if (c_arvalid_i && c_arready_o) begin
        r_wants_q <= 1'b1;
        r_addr_q  <= c_araddr_i;
      end
      if (r_of_cpu_q) begin
        if (m_arvalid_o && m_arready_i) ar_sent_q <= 1'b1;
        if (m_rvalid_i) begin
          r_wants_q  <= 1'b0;
          r_of_cpu_q <= 1'b0;  // its turn ends
          ar_sent_q  <= 1'b0;
          r_owed_q   <= a_arvalid_i;
        end
      end else if (r_wants_q && !ar_shown_q && !r_owed_q && r_count_q == '0) begin
        r_of_cpu_q <= 1'b1;
      end
    end
  end

  // ---- Writes -----------------------------------------------------------------------------------
  logic                   aw_wants_q, w_wants_q, w_of_cpu_q, aw_sent_q, w_sent_q, aw_shown_q, w_owed_q;
  logic [AddressBits-1:0] w_addr_q;
  logic [31:0]            w_data_q;
  logic [3:0]             w_strb_q;
  logic [CountBits-1:0]   w_count_q;  // of the accelerator, not answered
  // Its addresses that are accepted, less its bursts whose data is complete: -1 if the memory took the data first.
  logic signed [CountBits-1:0] w_lead_q;
  logic [BusBytes-1:0]    w_lanes;
  logic                   cpu_wants, aw_passes, w_passes, a_aw, a_w_end;

  assign cpu_wants   = aw_wants_q && w_wants_q;
  assign aw_passes   = !w_of_cpu_q && (!cpu_wants || aw_shown_q || w_owed_q);
  // Data passes with its address or after it: the memory may wait for the data before it takes the address.
  assign w_passes    = !w_of_cpu_q && (w_lead_q > 0 || (w_lead_q == 0 && a_awvalid_i && aw_passes));
  assign m_awvalid_o = w_of_cpu_q ? !aw_sent_q : a_awvalid_i && aw_passes;
  assign m_awaddr_o  = w_of_cpu_q ? beat_addr(w_addr_q) : a_awaddr_i;
  assign m_awlen_o   = w_of_cpu_q ? 8'd0 : a_awlen_i;
  assign m_awsize_o  = w_of_cpu_q ? 3'(LaneBits) : a_awsize_i;
  assign m_awburst_o = w_of_cpu_q ? Incr : a_awburst_i;
  assign m_wvalid_o  = w_of_cpu_q ? !w_sent_q : a_wvalid_i && w_passes;
  assign m_wdata_o   = w_of_cpu_q ? {Words{w_data_q}} : a_wdata_i;
  assign m_wstrb_o   = w_of_cpu_q ? w_lanes : a_wstrb_i;
  assign m_wlast_o   = w_of_cpu_q || a_wlast_i;
  assign a_awready_o = aw_passes && m_awready_i;
  assign a_wready_o  = w_passes && m_wready_i;
  assign a_bvalid_o  = !w_of_cpu_q && m_bvalid_i;
  assign c_awready_o = !aw_wants_q;
  assign c_wready_o  = !w_wants_q;
  assign c_bvalid_o  = w_of_cpu_q && m_bvalid_i;
  assign a_aw        = a_awvalid_i && a_awready_o;
  assign a_w_end     = a_wvalid_i && a_wready_o && a_wlast_i;

  if (Words == 1) begin : gen_write_word
    assign w_lanes = w_strb_q;
  end else begin : gen_write_lane
    assign w_lanes = BusBytes'(w_strb_q) << {w_addr_q[LaneBits-1:2], 2'b00};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_wants_q <= 1'b0;
      w_wants_q  <= 1'b0;
      w_of_cpu_q <= 1'b0;
      aw_sent_q  <= 1'b0;
      w_sent_q   <= 1'b0;
      w_addr_q   <= '0;
      w_data_q   <= '0;
      w_strb_q   <= '0;
      aw_shown_q <= 1'b0;
      w_owed_q   <= 1'b0;
      w_count_q  <= '0;
      w_lead_q   <= '0;
    end else begin
      w_count_q  <= w_count_q + CountBits'(a_aw) - CountBits'(a_bvalid_o);
      w_lead_q   <= $signed(w_lead_q + CountBits'(a_aw) - CountBits'(a_w_end));
      aw_shown_q <= !w_of_cpu_q && m_awvalid_o && !m_awready_i;
      if (a_aw || !a_awvalid_i) w_owed_q <= 1'b0;
      if (c_awvalid_i && c_awready_o) begin
        aw_wants_q <= 1'b1;
        w_addr_q   <= c_awaddr_i;
      end
      if (c_wvalid_i && c_wready_o) begin
        w_wants_q <= 1'b1;
        w_data_q  <= c_wdata_i;
        w_strb_q  <= c_wstrb_i;
      end
      if (w_of_cpu_q) begin
        if (m_awvalid_o && m_awready_i) aw_sent_q <= 1'b1;
        if (m_wvalid_o && m_wready_i) w_sent_q <= 1'b1;
        if (m_bvalid_i) begin
          aw_wants_q <= 1'b0;
          w_wants_q  <= 1'b0;
          w_of_cpu_q <= 1'b0;
          aw_sent_q  <= 1'b0;
          w_sent_q   <= 1'b0;
          w_owed_q   <= a_awvalid_i;
        end
      end else if (cpu_wants && !aw_shown_q && !w_owed_q && w_count_q == '0) begin
        w_of_cpu_q <= 1'b1;
      end
    end
  end
endmodule
