// On-chip memory with one read and one write port. Reads are synchronous, and the read data is kept
// until the next read; contents are not reset. WriteThrough: a read returns the data of a write to
// the same word in the same cycle. Otherwise that read returns anything, so that block RAM needs no
// logic around it; no legal program depends on it.
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

  if (WriteThrough) begin : gen_write_through
    // The word to write comes late, and the memory is large: it is written a cycle later. A read in
    // between takes it from its register, in which it arrives for one cycle if it is read in the
    // cycle of its write.
    logic                 pending_q, same, same_pending, arrives_q, newer_q;
    logic [AddrWidth-1:0] waddr_q;
    logic [Width-1:0]     wdata_q, newer_data_q;
    assign same         = we_i && waddr_i == raddr_i;
    assign same_pending = pending_q && waddr_q == raddr_i;
    always_ff @(posedge clk_i) begin
      pending_q <= we_i;
      if (we_i) begin
        waddr_q <= waddr_i;
        wdata_q <= wdata_i;
      end
      if (pending_q) mem[waddr_q] <= wdata_q;
      arrives_q <= re_i && same;
      if (re_i) begin
        rdata_q <= same_pending ? 'x : mem[raddr_i];
        newer_q <= same || same_pending;
      end
      if (arrives_q || (re_i && same_pending)) newer_data_q <= wdata_q;
    end
    assign rdata_o = arrives_q ? wdata_q : newer_q ? newer_data_q : rdata_q;
  end else begin : gen_plain
    always_ff @(posedge clk_i) begin
      if (we_i) mem[waddr_i] <= wdata_i;
      if (re_i) rdata_q <= we_i && waddr_i == raddr_i ? 'x : mem[raddr_i];
    end
    assign rdata_o = rdata_q;
  end
endmodule
