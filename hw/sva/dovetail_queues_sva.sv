// The rules of queues: nothing enters a full queue or leaves an empty one. Bound to every FIFO and
// every token FIFO of the design, hence also to the command queues and the beat buffers. The
// properties that follow from the rules (no more words than the depth, none after a flush, order)
// are proven in hw/formal.
module dovetail_fifo_sva (
  input logic clk_i,
  input logic rst_ni,
  input logic flush_i,
  input logic push_i,
  input logic pop_i,
  input logic empty_i,
  input logic full_i
);
  in_bounds: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (push_i || pop_i) && !flush_i |-> !(push_i && full_i) && !(pop_i && empty_i))
    else $error("FIFO pushed while full, or popped while empty");
endmodule

module dovetail_token_fifo_sva (
  input logic clk_i,
  input logic rst_ni,
  input logic flush_i,
  input logic push_i,
  input logic pop_i,
  input logic room_i,
  input logic available_i
);
  in_bounds: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (push_i || pop_i) && !flush_i |-> !(push_i && !room_i) && !(pop_i && !available_i))
    else $error("token FIFO pushed while full, or popped while empty");
endmodule

bind dovetail_fifo dovetail_fifo_sva u_sva (
  .clk_i,
  .rst_ni,
  .flush_i,
  .push_i,
  .pop_i,
  .empty_i(empty_o),
  .full_i (full_o)
);
bind dovetail_token_fifo dovetail_token_fifo_sva u_sva (
  .clk_i,
  .rst_ni,
  .flush_i,
  .push_i,
  .pop_i,
  .room_i     (room_o),
  .available_i(available_o)
);
