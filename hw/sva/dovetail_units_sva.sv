// The rules inside and between the units.
module dovetail_top_sva (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       flush_i,
  input logic       busy_i,
  input logic       halt_i,
  input logic       read_idle_i,
  input logic       write_quiet_i,
  input logic [2:0] queue_push_i,
  input logic [2:0] queue_full_i,
  input logic [2:0] queue_empty_i,
  input logic [2:0] start_i,
  input logic [3:0] token_push_i,
  input logic [3:0] token_pop_i,
  input logic       done_i
);
  // A beat that arrived after a flush would be routed to the wrong requester.
  quiet_flush: assert property (@(posedge clk_i) disable iff (!rst_ni)
      flush_i |-> read_idle_i && write_quiet_i)
    else $error("flush with outstanding memory responses");
  one_issue: assert property (@(posedge clk_i) disable iff (!rst_ni)
      $onehot0(queue_push_i) && (queue_push_i & queue_full_i) == '0)
    else $error("instruction pushed into two command queues, or into a full one");
  start_of_head: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (start_i & queue_empty_i) == '0)
    else $error("unit started with its command queue empty");
  halted: assert property (@(posedge clk_i) disable iff (!rst_ni)
      halt_i |-> start_i == '0 && queue_push_i == '0 && token_push_i == '0)
    else $error("instruction issued, started or ended while halted by an error");
  idle: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !busy_i |-> start_i == '0 && queue_push_i == '0 && token_push_i == '0 && token_pop_i == '0)
    else $error("instruction issued, started or ended while no launch is running");
  done_empty: assert property (@(posedge clk_i) disable iff (!rst_ni)
      done_i |-> queue_empty_i == '1 && read_idle_i && write_quiet_i)
    else $error("launch done with commands queued or memory responses outstanding");
endmodule

module dovetail_compute_sva (
  input logic clk_i,
  input logic rst_ni,
  input logic gemm_we_i,
  input logic alu_we_i,
  input logic load_we_i,
  input logic gemm_re_i,
  input logic alu_re_i,
  input logic slot_i,
  input logic active_i,
  input logic serial_end_i,
  input logic flight_end_i
);
  one_writer: assert property (@(posedge clk_i) disable iff (!rst_ni)
      $onehot0({gemm_we_i, alu_we_i, load_we_i}))
    else $error("two writes of ACC in one cycle");
  one_reader: assert property (@(posedge clk_i) disable iff (!rst_ni)
      $onehot0({gemm_re_i, alu_re_i}))
    else $error("two reads of ACC in one cycle");
  slot_of_transfer: assert property (@(posedge clk_i) disable iff (!rst_ni) slot_i |-> active_i)
    else $error("slot of a LOAD while no LOAD is drained");
  one_end: assert property (@(posedge clk_i) disable iff (!rst_ni) !(serial_end_i && flight_end_i))
    else $error("two instructions of the compute queue ended in one cycle");
endmodule

module dovetail_alu_sva (
  input logic clk_i,
  input logic rst_ni,
  input logic short_i,
  input logic long_i
);
  one_result: assert property (@(posedge clk_i) disable iff (!rst_ni) !(short_i && long_i))
    else $error("ALU results of kinds alu and alu_long in one cycle");
endmodule

module dovetail_store_sva (
  input logic clk_i,
  input logic rst_ni,
  input logic slot_i,
  input logic burst_due_i
);
  slot_of_burst: assert property (@(posedge clk_i) disable iff (!rst_ni) slot_i |-> burst_due_i)
    else $error("slot of a STORE without a burst for its data");
endmodule

module dovetail_axi_write_sva (
  input logic clk_i,
  input logic rst_ni,
  input logic wvalid_i,
  input logic beats_empty_i,
  input logic bvalid_i,
  input logic quiet_i
);
  data_there: assert property (@(posedge clk_i) disable iff (!rst_ni) wvalid_i |-> !beats_empty_i)
    else $error("WVALID with the write buffer empty");
  counted: assert property (@(posedge clk_i) disable iff (!rst_ni) bvalid_i |-> !quiet_i)
    else $error("write response without an outstanding burst");
endmodule

bind dovetail_top dovetail_top_sva u_sva (
  .clk_i,
  .rst_ni,
  .flush_i      (flush),
  .busy_i       (busy_q),
  .halt_i       (halt_q),
  .read_idle_i  (read_idle),
  .write_quiet_i(write_quiet),
  .queue_push_i (queue_push),
  .queue_full_i (queue_full),
  .queue_empty_i(queue_empty),
  .start_i      (starts),
  .token_push_i (token_push),
  .token_pop_i  (token_pop),
  .done_i       (finished)
);
bind dovetail_compute dovetail_compute_sva u_sva (
  .clk_i,
  .rst_ni,
  .gemm_we_i   (gemm_we),
  .alu_we_i    (alu_we),
  .load_we_i   (load_we),
  .gemm_re_i   (gemm_re),
  .alu_re_i    (alu_re),
  .slot_i      (u_serial.slot),
  .active_i    (u_serial.active),
  .serial_end_i(serial_end),
  .flight_end_i(flight_end)
);
bind dovetail_alu dovetail_alu_sva u_sva (
  .clk_i,
  .rst_ni,
  .short_i(valid_1_q && !long_1),
  .long_i (valid_2_q)
);
bind dovetail_store dovetail_store_sva u_sva (
  .clk_i,
  .rst_ni,
  .slot_i     (slot),
  .burst_due_i(burst_due)
);
bind dovetail_axi_write dovetail_axi_write_sva u_sva (
  .clk_i,
  .rst_ni,
  .wvalid_i     (w_o.valid),
  .beats_empty_i(beats_empty),
  .bvalid_i     (b_i.valid),
  .quiet_i      (quiet_o)
);
