// Proof of dovetail_sram as ACC uses it: a read gives what was written last, up to and including the cycle of the read,
// and keeps it until the next read.
module dovetail_acc_formal #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4,
  localparam int unsigned AddrWidth = $clog2(Depth)
) (
  input logic                 clk_i,
  input logic                 we_i,
  input logic [AddrWidth-1:0] waddr_i,
  input logic [Width-1:0]     wdata_i,
  input logic                 re_i,
  input logic [AddrWidth-1:0] raddr_i
);
  (* anyconst *) logic [AddrWidth-1:0] place;
  logic [Width-1:0] rdata, value, expected;
  logic             known = 1'b0, expects = 1'b0;
  dovetail_sram #(
    .Width       (Width),
    .Depth       (Depth),
    .WriteThrough(1'b1)
  ) u_dut (
    .clk_i,
    .we_i,
    .waddr_i,
    .wdata_i,
    .re_i,
    .raddr_i,
    .rdata_o(rdata)
  );
  logic written;
  assign written = we_i && waddr_i == place;
  always_ff @(posedge clk_i) begin
    if (written) begin
      known <= 1'b1;
      value <= wdata_i;
    end
    if (re_i) begin
      expects  <= raddr_i == place && (known || written);
      expected <= written ? wdata_i : value;
    end
  end
  always_comb begin
    if (expects) assert (rdata == expected);
  end
  logic through = 1'b0, kept = 1'b0;
  always_ff @(posedge clk_i) begin
    through <= re_i && written && raddr_i == place;
    kept    <= expects && written && !re_i;
    cover (through);
    cover (kept && expected != value);
  end
endmodule
