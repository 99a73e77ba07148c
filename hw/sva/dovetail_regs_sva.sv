// The rules of AXI4-Lite at the register port, and of a launch.
module dovetail_regs_sva (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        awvalid_i,
  input logic        awready_i,
  input logic        wvalid_i,
  input logic        wready_i,
  input logic        bvalid_i,
  input logic        bready_i,
  input logic [1:0]  bresp_i,
  input logic        arvalid_i,
  input logic        arready_i,
  input logic        rvalid_i,
  input logic        rready_i,
  input logic [31:0] rdata_i,
  input logic [1:0]  rresp_i,
  input logic        start_i,
  input logic        busy_i,
  input logic        done_i,
  input logic        error_i
);
  b_stands: assert property (@(posedge clk_i) disable iff (!rst_ni) bvalid_i && !bready_i |=> bvalid_i && $stable(bresp_i))
    else $error("B changed before it was taken");
  r_stands: assert property (@(posedge clk_i) disable iff (!rst_ni) rvalid_i && !rready_i |=> rvalid_i && $stable(rdata_i) && $stable(rresp_i))
    else $error("R changed before it was taken");
  b_answers: assert property (@(posedge clk_i) disable iff (!rst_ni) awvalid_i && awready_i |=> bvalid_i) else $error("a write without a response");
  r_answers: assert property (@(posedge clk_i) disable iff (!rst_ni) arvalid_i && arready_i |=> rvalid_i) else $error("a read without an answer");
  whole_write: assert property (@(posedge clk_i) disable iff (!rst_ni) (awvalid_i && awready_i) == (wvalid_i && wready_i)) else $error("half a write was taken");
  one_write: assert property (@(posedge clk_i) disable iff (!rst_ni) bvalid_i |-> !awready_i) else $error("a write before the last was answered");
  one_read: assert property (@(posedge clk_i) disable iff (!rst_ni) rvalid_i |-> !arready_i) else $error("a read before the last was answered");
  start_idle: assert property (@(posedge clk_i) disable iff (!rst_ni) start_i |-> !busy_i) else $error("start while busy");
  start_pulse: assert property (@(posedge clk_i) disable iff (!rst_ni) start_i |=> !start_i && busy_i) else $error("a start that is no pulse, or starts nothing");
  one_end: assert property (@(posedge clk_i) disable iff (!rst_ni) done_i || error_i |-> busy_i && !(done_i && error_i)) else $error("an end without a launch");
endmodule

bind dovetail_regs dovetail_regs_sva u_sva (
  .clk_i,
  .rst_ni,
  .awvalid_i,
  .awready_i(awready_o),
  .wvalid_i,
  .wready_i (wready_o),
  .bvalid_i (bvalid_o),
  .bready_i,
  .bresp_i  (bresp_o),
  .arvalid_i,
  .arready_i(arready_o),
  .rvalid_i (rvalid_o),
  .rready_i,
  .rdata_i  (rdata_o),
  .rresp_i  (rresp_o),
  .start_i  (start_o),
  .busy_i,
  .done_i,
  .error_i
);
