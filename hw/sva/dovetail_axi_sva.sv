// The rules of AXI4 at the memory port, and those that the kit adds (docs/timing.md): what the design promises to the memory, and what it needs of it.
module dovetail_axi_sva #(
  localparam int unsigned AddrWidth = dovetail_isa_pkg::ADDRESS_BITS,
  localparam int unsigned BusBytes = dovetail_isa_pkg::BUS_BYTES,
  localparam int unsigned MaxBurst = dovetail_isa_pkg::LONGEST_BURST_BEATS
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  arvalid,
  input logic                  arready,
  input logic [AddrWidth-1:0]  araddr,
  input logic [7:0]            arlen,
  input logic [2:0]            arsize,
  input logic [1:0]            arburst,
  input logic                  rvalid,
  input logic                  rready,
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
  input logic                  bready
);
  // Beats that the memory owes; beats of the accepted write burst that are still to go; responses that it owes.
  logic [31:0] reads_q, responses_q;
  logic [8:0]  writes_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reads_q     <= '0;
      writes_q    <= '0;
      responses_q <= '0;
    end else begin
      reads_q     <= reads_q + (arvalid && arready ? 32'(arlen) + 32'd1 : 32'd0) - 32'(rvalid && rready);
      responses_q <= responses_q + 32'(awvalid && awready) - 32'(bvalid && bready);
      if (awvalid && awready) writes_q <= 9'(awlen) + 9'd1;
      else if (wvalid && wready) writes_q <= writes_q - 9'd1;
    end
  end

  // Addresses: what is offered is held until it is accepted.
  ar_stands: assert property (@(posedge clk_i) disable iff (!rst_ni) arvalid && !arready |=> arvalid && $stable(araddr) && $stable(arlen))
    else $error("AR changed before acceptance");
  aw_stands: assert property (@(posedge clk_i) disable iff (!rst_ni) awvalid && !awready |=> awvalid && $stable(awaddr) && $stable(awlen))
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
  // Read data.
  r_owed: assert property (@(posedge clk_i) disable iff (!rst_ni) rvalid |-> reads_q != '0) else $error("the memory sent a beat that nobody asked for");
  r_last: assert property (@(posedge clk_i) disable iff (!rst_ni) rvalid && reads_q == 32'd1 |-> rlast) else $error("the memory's last beat is not the last of its burst");
  // Write data: from the cycle after AW on, without a gap, stable until taken, the last beat marked; the next AW after it.
  w_gap_free: assert property (@(posedge clk_i) disable iff (!rst_ni) wvalid == (writes_q != '0) && (!wvalid || wlast == (writes_q == 9'd1)))
    else $error("a gap in W, a beat too many, or WLAST at another than the last");
  w_stands: assert property (@(posedge clk_i) disable iff (!rst_ni) wvalid && !wready |=> wvalid && $stable(wdata) && $stable(wstrb) && $stable(wlast))
    else $error("W changed before it was taken");
  w_before_aw: assert property (@(posedge clk_i) disable iff (!rst_ni) wvalid |-> !awvalid) else $error("AW while W is under way");
  // Read data and responses are always welcome.
  welcome: assert property (@(posedge clk_i) disable iff (!rst_ni) rready && bready) else $error("RREADY or BREADY is low");
  b_owed: assert property (@(posedge clk_i) disable iff (!rst_ni) bvalid |-> responses_q > 32'(writes_q != '0))
    else $error("the memory sent a response that nobody waits for");
endmodule

bind dovetail_top dovetail_axi_sva u_axi_sva (
  .clk_i,
  .rst_ni,
  .arvalid(mem_arvalid_o),
  .arready(mem_arready_i),
  .araddr (mem_araddr_o),
  .arlen  (mem_arlen_o),
  .arsize (mem_arsize_o),
  .arburst(mem_arburst_o),
  .rvalid (mem_rvalid_i),
  .rready (mem_rready_o),
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
  .bready (mem_bready_o)
);
