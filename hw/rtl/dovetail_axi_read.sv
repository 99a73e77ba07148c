// The read port: one address register behind a fixed-priority arbiter (fetch, compute, load), and the way back for the beats. All bursts have one AXI
// ID, so beats come in the order of acceptance. RREADY is always 1: buffers have room for what was asked for.
module dovetail_axi_read #(
  parameter int unsigned AddrWidth = 32,
  parameter int unsigned BusBits = 64,
  parameter int unsigned OrderDepth = 384  // bursts that may be on their way
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 halt_i,      // no new choices
  output logic                 idle_o,      // nothing is on its way
  // Requests of 0 fetch, 1 compute, 2 load.
  input  logic [2:0]           request_i,
  input  logic [AddrWidth-1:0] addr_0_i,
  input  logic [AddrWidth-1:0] addr_1_i,
  input  logic [AddrWidth-1:0] addr_2_i,
  input  logic [8:0]           beats_0_i,
  input  logic [8:0]           beats_1_i,
  input  logic [8:0]           beats_2_i,
  output logic [2:0]           grant_o,
  output logic [2:0]           beat_valid_o,
  output logic [BusBits-1:0]   beat_data_o,
  output logic [1:0]           beat_resp_o,
  // AXI4
  output logic                 arvalid_o,
  input  logic                 arready_i,
  output logic [AddrWidth-1:0] araddr_o,
  output logic [7:0]           arlen_o,
  input  logic                 rvalid_i,
  output logic                 rready_o,
  input  logic [BusBits-1:0]   rdata_i,
  input  logic [1:0]           rresp_i,
  input  logic                 rlast_i
);
  logic                 valid_q;
  logic [AddrWidth-1:0] addr_q;
  logic [7:0]           len_q;
  logic                 choose;
  logic [1:0]           winner, owner;
  logic                 order_empty, order_full;

  assign choose = !halt_i && !order_full && (!valid_q || arready_i);
  always_comb begin
    grant_o = 3'b000;
    winner  = 2'd0;
    if (choose) begin
      if (request_i[0]) begin
        grant_o = 3'b001;
        winner  = 2'd0;
      end else if (request_i[1]) begin
        grant_o = 3'b010;
        winner  = 2'd1;
      end else if (request_i[2]) begin
        grant_o = 3'b100;
        winner  = 2'd2;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (grant_o != 3'b000) valid_q <= 1'b1;
    else if (arready_i) valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (grant_o[0]) begin
      addr_q <= addr_0_i;
      len_q  <= 8'(beats_0_i - 9'd1);
    end else if (grant_o[1]) begin
      addr_q <= addr_1_i;
      len_q  <= 8'(beats_1_i - 9'd1);
    end else if (grant_o[2]) begin
      addr_q <= addr_2_i;
      len_q  <= 8'(beats_2_i - 9'd1);
    end
  end
  assign arvalid_o = valid_q;
  assign araddr_o  = addr_q;
  assign arlen_o   = len_q;

  // Whose the bursts are, from choice to last beat. Never full: every burst holds a credit of a beat at least.
  dovetail_fifo #(
    .Width(2),
    .Depth(OrderDepth)
  ) u_order (
    .clk_i,
    .rst_ni,
    .flush_i(1'b0),
    .push_i (grant_o != 3'b000),
    .data_i (winner),
    .pop_i  (rvalid_i && rlast_i),
    .data_o (owner),
    .empty_o(order_empty),
    .full_o (order_full)
  );
  assign idle_o       = order_empty && !valid_q;
  assign rready_o     = 1'b1;
  assign beat_valid_o = {rvalid_i && owner == 2'd2, rvalid_i && owner == 2'd1, rvalid_i && owner == 2'd0};
  assign beat_data_o  = rdata_i;
  assign beat_resp_o  = rresp_i;
endmodule
