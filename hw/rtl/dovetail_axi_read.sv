// The read port: one address register, after a fixed-priority arbiter (fetch, compute, load), and
// the routing of the beats to their requesters. All bursts have one AXI ID, so beats arrive in the
// order in which the bursts were accepted. RREADY is always 1: the requesters' buffers have room
// for all requested beats.
module dovetail_axi_read import dovetail_isa_pkg::*; #(
  parameter int unsigned OrderDepth = 384  // bursts that may be outstanding
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       halt_i,  // no new grants
  output logic       idle_o,  // nothing is outstanding
  // Requesters: 0 fetch, 1 compute, 2 load.
  input  burst_t     fetch_i,
  input  burst_t     compute_i,
  input  burst_t     load_i,
  output logic [2:0] grant_o,
  output logic [2:0] beat_valid_o,
  output beat_t      beat_o,
  // AXI4.
  output axi_ax_t    ar_o,
  input  logic       ar_ready_i,
  input  axi_r_t     r_i,
  output logic       r_ready_o
);
  logic                    valid_q;
  logic [ADDRESS_BITS-1:0] addr_q;
  logic [7:0]              len_q;
  logic [2:0]              request;
  logic                    choose;
  logic [1:0]              winner, owner;
  logic                    order_empty, order_full;

  assign request = {load_i.valid, compute_i.valid, fetch_i.valid};
  assign choose  = !halt_i && !order_full && (!valid_q || ar_ready_i);
  always_comb begin
    grant_o = 3'b000;
    winner  = 2'd0;
    if (choose) begin
      if (request[0]) begin
        grant_o = 3'b001;
        winner  = 2'd0;
      end else if (request[1]) begin
        grant_o = 3'b010;
        winner  = 2'd1;
      end else if (request[2]) begin
        grant_o = 3'b100;
        winner  = 2'd2;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (grant_o != 3'b000) valid_q <= 1'b1;
    else if (ar_ready_i) valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (grant_o[0]) begin
      addr_q <= fetch_i.addr;
      len_q  <= fetch_i.len;
    end else if (grant_o[1]) begin
      addr_q <= compute_i.addr;
      len_q  <= compute_i.len;
    end else if (grant_o[2]) begin
      addr_q <= load_i.addr;
      len_q  <= load_i.len;
    end
  end
  assign ar_o.valid = valid_q;
  assign ar_o.addr  = addr_q;
  assign ar_o.len   = len_q;
  assign ar_o.size  = 3'(BUS_BYTES_LOG2);
  assign ar_o.burst = AXI_BURST_INCR;

  // The requester of each burst, from its grant to its last beat. The queue is never full: every
  // burst occupies at least one beat of a requester's buffer.
  dovetail_fifo #(
    .Width(2),
    .Depth(OrderDepth)
  ) u_order (
    .clk_i,
    .rst_ni,
    .flush_i(1'b0),
    .push_i (grant_o != 3'b000),
    .data_i (winner),
    .pop_i  (r_i.valid && r_i.last),
    .data_o (owner),
    .empty_o(order_empty),
    .full_o (order_full)
  );
  assign idle_o       = order_empty && !valid_q;
  assign r_ready_o    = 1'b1;
  assign beat_valid_o = {r_i.valid && owner == 2'd2, r_i.valid && owner == 2'd1,
                         r_i.valid && owner == 2'd0};
  assign beat_o       = {r_i.resp, r_i.data};
endmodule
