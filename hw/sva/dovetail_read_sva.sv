// The rules between the requesters, the arbiter and the read buffers.
module dovetail_axi_split_sva #(
  parameter int unsigned AddrWidth = 32,
  parameter int unsigned BusBytes = 8,
  parameter int unsigned MaxBeats = 32
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 flush_i,
  input logic                 start_i,
  input logic [AddrWidth-1:0] row_bytes_i,
  input logic                 rows_zero_i,
  input logic                 valid_i,
  input logic [AddrWidth-1:0] burst_addr_i,
  input logic [7:0]           burst_len_i,
  input logic                 ready_i
);
  starts_idle: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_i && !flush_i |-> !valid_i && row_bytes_i != '0 && !rows_zero_i)
    else $error("splitter started while busy, or with nothing to transfer");
  form: assert property (@(posedge clk_i) disable iff (!rst_ni)
      valid_i |->
      32'(burst_len_i) < MaxBeats &&
      32'(burst_addr_i[11:0]) + (32'(burst_len_i) + 1) * BusBytes <= 32'd4096)
    else $error("burst of too many beats, or crossing a 4 KiB boundary");
  held: assert property (@(posedge clk_i) disable iff (!rst_ni)
      valid_i && !ready_i && !flush_i |=>
      valid_i && $stable(burst_addr_i) && $stable(burst_len_i))
    else $error("burst of the splitter changed before it was taken");
endmodule

module dovetail_read_buffer_sva (
  input logic clk_i,
  input logic rst_ni,
  input logic flush_i,
  input logic request_i,
  input logic grant_i
);
  held: assert property (@(posedge clk_i) disable iff (!rst_ni)
      request_i && !grant_i && !flush_i |=> request_i)
    else $error("read request withdrawn before its grant");
endmodule

module dovetail_axi_read_sva (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       halt_i,
  input logic [2:0] request_i,
  input logic [2:0] grant_i,
  input logic       arvalid_i,
  input logic       arready_i,
  input logic       rvalid_i,
  input logic       order_empty_i,
  input logic       order_full_i
);
  one_grant: assert property (@(posedge clk_i) disable iff (!rst_ni)
      $onehot0(grant_i) && (grant_i & ~request_i) == '0)
    else $error("two read grants in one cycle, or a grant without a request");
  at_once: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (grant_i != '0) == (!halt_i && request_i != '0 && (!arvalid_i || arready_i)))
    else $error("read grant while halted or while AR is waiting, or no grant although AR is free");
  credits: assert property (@(posedge clk_i) disable iff (!rst_ni) !order_full_i)
    else $error("more outstanding read bursts than credits");
  asked: assert property (@(posedge clk_i) disable iff (!rst_ni) rvalid_i |-> !order_empty_i)
    else $error("read beat without an outstanding burst");
endmodule

bind dovetail_axi_split dovetail_axi_split_sva #(
  .AddrWidth(AddrWidth),
  .BusBytes (BusBytes),
  .MaxBeats (MaxBeats)
) u_sva (
  .clk_i,
  .rst_ni,
  .flush_i,
  .start_i,
  .row_bytes_i,
  .rows_zero_i  (rows_i == '0),
  .valid_i      (valid_o),
  .burst_addr_i (burst_addr_o),
  .burst_len_i  (burst_len_o),
  .ready_i
);
bind dovetail_read_buffer dovetail_read_buffer_sva u_sva (
  .clk_i,
  .rst_ni,
  .flush_i,
  .request_i(request_o),
  .grant_i
);
bind dovetail_axi_read dovetail_axi_read_sva u_sva (
  .clk_i,
  .rst_ni,
  .halt_i,
  .request_i    (request),
  .grant_i      (grant_o),
  .arvalid_i    (ar_o.valid),
  .arready_i    (ar_ready_i),
  .rvalid_i     (r_i.valid),
  .order_empty_i(order_empty),
  .order_full_i (order_full)
);
