// The rules of AXI4-Lite at the register port, and of a launch.
module dovetail_regs_sva import dovetail_isa_pkg::*; (
  input logic     clk_i,
  input logic     rst_ni,
  input axil_ax_t aw_i,
  input logic     aw_ready_i,
  input axil_w_t  w_i,
  input logic     w_ready_i,
  input axi_b_t   b_i,
  input logic     b_ready_i,
  input axil_ax_t ar_i,
  input logic     ar_ready_i,
  input axil_r_t  r_i,
  input logic     r_ready_i,
  input logic     start_i,
  input logic     busy_i,
  input logic     done_i,
  input logic     error_i
);
  b_stable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      b_i.valid && !b_ready_i |=> $stable(b_i))
    else $error("register port: B changed while BREADY was low");
  r_stable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      r_i.valid && !r_ready_i |=> $stable(r_i))
    else $error("register port: R changed while RREADY was low");
  b_answers: assert property (@(posedge clk_i) disable iff (!rst_ni)
      aw_i.valid && aw_ready_i |=> b_i.valid)
    else $error("register port: write without a response");
  r_answers: assert property (@(posedge clk_i) disable iff (!rst_ni)
      ar_i.valid && ar_ready_i |=> r_i.valid)
    else $error("register port: read without a response");
  whole_write: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (aw_i.valid && aw_ready_i) == (w_i.valid && w_ready_i))
    else $error("register port: AW accepted without W, or W without AW");
  one_write: assert property (@(posedge clk_i) disable iff (!rst_ni) b_i.valid |-> !aw_ready_i)
    else $error("register port: AW accepted with a response outstanding");
  one_read: assert property (@(posedge clk_i) disable iff (!rst_ni) r_i.valid |-> !ar_ready_i)
    else $error("register port: AR accepted with a response outstanding");
  start_idle: assert property (@(posedge clk_i) disable iff (!rst_ni) start_i |-> !busy_i)
    else $error("launch started while one is running");
  start_pulse: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_i |=> !start_i && busy_i)
    else $error("start longer than a cycle, or not followed by busy");
  one_end: assert property (@(posedge clk_i) disable iff (!rst_ni)
      done_i || error_i |-> busy_i && !(done_i && error_i))
    else $error("done or error without a running launch, or both at once");
endmodule

bind dovetail_regs dovetail_regs_sva u_sva (
  .clk_i,
  .rst_ni,
  .aw_i,
  .aw_ready_i(aw_ready_o),
  .w_i,
  .w_ready_i (w_ready_o),
  .b_i       (b_o),
  .b_ready_i,
  .ar_i,
  .ar_ready_i(ar_ready_o),
  .r_i       (r_o),
  .r_ready_i,
  .start_i   (start_o),
  .busy_i,
  .done_i,
  .error_i
);
