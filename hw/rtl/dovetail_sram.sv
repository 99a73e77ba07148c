// On-chip memory with one read and one write port. Reads are synchronous, and the read data is kept
// until the next read; contents are not reset. WriteThrough: a read returns the data of a write to
// the same word in the same cycle.
module dovetail_sram #(
  parameter int unsigned Width = 32,
  parameter int unsigned Depth = 16,
  parameter bit WriteThrough = 1'b0,
  localparam int unsigned AddrWidth = $clog2(Depth)
) (
  input  logic                 clk_i,
  input  logic                 we_i,
  input  logic [AddrWidth-1:0] waddr_i,
  input  logic [Width-1:0]     wdata_i,
  input  logic                 re_i,
  input  logic [AddrWidth-1:0] raddr_i,
  output logic [Width-1:0]     rdata_o
);
  logic [Width-1:0] mem [Depth];
  logic [Width-1:0] rdata_q;

  always_ff @(posedge clk_i) begin
    if (we_i) mem[waddr_i] <= wdata_i;
    if (re_i) rdata_q <= mem[raddr_i];
  end

  if (WriteThrough) begin : gen_write_through
    logic [Width-1:0] written_q;
    logic             same_q;
    always_ff @(posedge clk_i) begin
      if (re_i) begin
        same_q <= we_i && waddr_i == raddr_i;
        if (we_i && waddr_i == raddr_i) written_q <= wdata_i;
      end
    end
    assign rdata_o = same_q ? written_q : rdata_q;
  end else begin : gen_plain
    assign rdata_o = rdata_q;
  end
endmodule
