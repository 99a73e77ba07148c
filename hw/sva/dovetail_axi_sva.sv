// The rules of AXI4 at the memory port, and those that the kit adds (docs/reference/timing.md): what the design promises to the memory, and what it needs of
// it. docs/reference/rtl.md lists the rules of the standard by the names of Arm's protocol assertions, each with the assertion that holds it here.
module dovetail_axi_sva #(
  localparam int unsigned AddrWidth = dovetail_isa_pkg::ADDRESS_BITS,
  localparam int unsigned BusBytes = dovetail_isa_pkg::BUS_BYTES,
  localparam int unsigned MaxBurst = dovetail_isa_pkg::LONGEST_BURST_BEATS,
  // Reads under way: each of the three requesters has asked for no more beats than its buffer holds.
  localparam int unsigned MaxReads = 3 * dovetail_isa_pkg::OUTSTANDING_BEATS
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  busy,  // a launch is under way
  input logic                  arvalid,
  input logic                  arready,
  input logic [AddrWidth-1:0]  araddr,
  input logic [7:0]            arlen,
  input logic [2:0]            arsize,
  input logic [1:0]            arburst,
  input logic                  rvalid,
  input logic                  rready,
  input logic [1:0]            rresp,
  input logic                  rlast,
  input logic                  awvalid,
  input logic                  awready,
  input logic [AddrWidth-1:0]  awaddr,
  input logic [7:0]            awlen,
  input logic [2:0]            awsize,
  input logic [1:0]            awburst,
  input logic                  wvalid,
  input logic                  wready,
  input logic [8*BusBytes-1:0] wdata,
  input logic [BusBytes-1:0]   wstrb,
  input logic                  wlast,
  input logic                  bvalid,
  input logic                  bready,
  input logic [1:0]            bresp
);
  // Reads: the lengths of the accepted bursts that are not all here, from the oldest on, and the beats of the oldest that are.
  logic [7:0]  reads [MaxReads];
  logic [31:0] oldest_q, newest_q, reads_q;
  logic [7:0]  came_q, oldest_length;
  logic        read_done;
  assign oldest_length = reads[oldest_q];
  assign read_done = rvalid && rready && rlast;
  always_ff @(posedge clk_i) begin
    if (arvalid && arready) reads[newest_q] <= arlen;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      oldest_q <= '0;
      newest_q <= '0;
      reads_q  <= '0;
      came_q   <= '0;
    end else begin
      if (arvalid && arready) newest_q <= newest_q == MaxReads - 1 ? '0 : newest_q + 32'd1;
      if (read_done) oldest_q <= oldest_q == MaxReads - 1 ? '0 : oldest_q + 32'd1;
      reads_q <= reads_q + 32'(arvalid && arready) - 32'(read_done);
      if (rvalid && rready) came_q <= rlast ? '0 : came_q + 8'd1;
    end
  end
  // Writes: of the burst that is offered, whether its address is accepted, and how many of its beats are, or all; responses due.
  logic        addressed_q, sent_q, addressed, sent;
  logic [7:0]  length_q, index_q;
  logic [31:0] due_q;
  assign addressed = addressed_q || (awvalid && awready);
  assign sent      = sent_q || (wvalid && wready && wlast);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      addressed_q <= 1'b0;
      sent_q      <= 1'b0;
      index_q     <= '0;
      due_q       <= '0;
    end else begin
      addressed_q <= addressed && !sent;
      sent_q      <= sent && !addressed;
      if (wvalid && wready) index_q <= wlast ? '0 : index_q + 8'd1;
      due_q <= due_q + 32'(addressed && sent) - 32'(bvalid && bready);
    end
  end
  logic was_reset_q;
  always_ff @(posedge clk_i) begin
    if (awvalid && awready) length_q <= awlen;
    was_reset_q <= !rst_ni;
  end

  // Nothing is offered in reset, nor before the first edge after it.
  reset_quiet: assert property (@(posedge clk_i) !rst_ni || was_reset_q |-> !arvalid && !awvalid && !wvalid) else $error("VALID in reset");
  reset_memory: assert property (@(posedge clk_i) !rst_ni || was_reset_q |-> !rvalid && !bvalid) else $error("the memory's VALID in reset");
  // Addresses: what is offered is held until it is accepted.
  ar_stands: assert property (@(posedge clk_i) disable iff (!rst_ni) arvalid && !arready |=> arvalid && $stable({araddr, arlen, arsize, arburst}))
    else $error("AR changed before acceptance");
  aw_stands: assert property (@(posedge clk_i) disable iff (!rst_ni) awvalid && !awready |=> awvalid && $stable({awaddr, awlen, awsize, awburst}))
    else $error("AW changed before acceptance");
  // Bursts: INCR, of whole beats, aligned, not too long, within 4 KiB.
  ar_form: assert property (@(posedge clk_i) disable iff (!rst_ni) arvalid |-> arburst == 2'b01 && arsize == 3'($clog2(BusBytes)) &&
                            (32'(araddr[11:0]) & (BusBytes - 32'd1)) == '0 && 32'(arlen) < MaxBurst &&
                            32'(araddr[11:0]) + (32'(arlen) + 32'd1) * BusBytes <= 32'd4096)
    else $error("AR of a wrong form, too long, or across 4 KiB");
  aw_form: assert property (@(posedge clk_i) disable iff (!rst_ni) awvalid |-> awburst == 2'b01 && awsize == 3'($clog2(BusBytes)) &&
                            (32'(awaddr[11:0]) & (BusBytes - 32'd1)) == '0 && 32'(awlen) < MaxBurst &&
                            32'(awaddr[11:0]) + (32'(awlen) + 32'd1) * BusBytes <= 32'd4096)
    else $error("AW of a wrong form, too long, or across 4 KiB");
  // Write data: stable until taken, as many beats as the address says, each of which writes something.
  w_stands: assert property (@(posedge clk_i) disable iff (!rst_ni) wvalid && !wready |=> wvalid && $stable({wdata, wstrb, wlast}))
    else $error("W changed before it was taken");
  w_count: assert property (@(posedge clk_i) disable iff (!rst_ni) wvalid |-> wlast == (index_q == (addressed_q ? length_q : awlen)))
    else $error("WLAST at another beat than the last");
  w_writes: assert property (@(posedge clk_i) disable iff (!rst_ni) wvalid |-> wstrb != '0) else $error("a beat that writes nothing");
  // A burst is offered on both channels from one cycle on, whatever the memory accepts first; W has no gap.
  w_with_aw: assert property (@(posedge clk_i) disable iff (!rst_ni) (awvalid || addressed_q) == (wvalid || sent_q))
    else $error("AW or W waits for the other to be accepted, or a gap in W");
  w_one_burst: assert property (@(posedge clk_i) disable iff (!rst_ni) !(awvalid && addressed_q) && !(wvalid && sent_q))
    else $error("a burst before the last was accepted");
  // Read data and responses are always welcome.
  welcome: assert property (@(posedge clk_i) disable iff (!rst_ni) rready && bready) else $error("RREADY or BREADY is low");
  // The memory's data and responses: what it owes, the last beat marked, and neither of an exclusive access.
  r_owed: assert property (@(posedge clk_i) disable iff (!rst_ni) rvalid |-> reads_q != '0) else $error("the memory sent a beat that nobody asked for");
  r_count: assert property (@(posedge clk_i) disable iff (!rst_ni) rvalid |-> rlast == (came_q == oldest_length))
    else $error("RLAST at another beat than the last");
  b_owed: assert property (@(posedge clk_i) disable iff (!rst_ni) bvalid |-> due_q != '0)
    else $error("the memory sent a response before the address and the last beat, or one that nobody waits for");
  not_exclusive: assert property (@(posedge clk_i) disable iff (!rst_ni) !(rvalid && rresp == 2'b01) && !(bvalid && bresp == 2'b01))
    else $error("EXOKAY to an access that was not exclusive");
  // Nothing is under way between launches.
  all_answered: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                 !busy |-> !arvalid && !awvalid && !wvalid && !addressed_q && !sent_q && reads_q == '0 && due_q == '0)
    else $error("the launch is over before the memory has answered");
endmodule

bind dovetail_top dovetail_axi_sva u_axi_sva (
  .clk_i,
  .rst_ni,
  .busy   (busy_q),
  .arvalid(mem_arvalid_o),
  .arready(mem_arready_i),
  .araddr (mem_araddr_o),
  .arlen  (mem_arlen_o),
  .arsize (mem_arsize_o),
  .arburst(mem_arburst_o),
  .rvalid (mem_rvalid_i),
  .rready (mem_rready_o),
  .rresp  (mem_rresp_i),
  .rlast  (mem_rlast_i),
  .awvalid(mem_awvalid_o),
  .awready(mem_awready_i),
  .awaddr (mem_awaddr_o),
  .awlen  (mem_awlen_o),
  .awsize (mem_awsize_o),
  .awburst(mem_awburst_o),
  .wvalid (mem_wvalid_o),
  .wready (mem_wready_i),
  .wdata  (mem_wdata_o),
  .wstrb  (mem_wstrb_o),
  .wlast  (mem_wlast_o),
  .bvalid (mem_bvalid_i),
  .bready (mem_bready_o),
  .bresp  (mem_bresp_i)
);
