// Splits rows of bytes into AXI bursts: whole beats, at most MaxBeats, none across a 4 KiB
// boundary. Each row starts with a new burst at its first beat.
module dovetail_axi_split #(
  parameter int unsigned AddrWidth = 32,
  parameter int unsigned BusBytes = 8,
  parameter int unsigned MaxBeats = 32,
  parameter int unsigned CountWidth = 24
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  flush_i,
  input  logic                  start_i,       // only while idle; rows and bytes are not 0
  input  logic [AddrWidth-1:0]  addr_i,        // address of the first row's first byte
  input  logic [AddrWidth-1:0]  row_bytes_i,
  input  logic [AddrWidth-1:0]  stride_i,      // bytes from row to row
  input  logic [CountWidth-1:0] rows_i,
  output logic                  valid_o,       // a burst is offered
  output logic [AddrWidth-1:0]  burst_addr_o,  // address of the burst's first beat
  output logic [8:0]            burst_beats_o,
  input  logic                  ready_i        // the burst is taken
);
  localparam int unsigned BusLog2 = $clog2(BusBytes);
  localparam int unsigned BeatWidth = AddrWidth - BusLog2 + 1;
  localparam int unsigned PageBeats = 4096 / BusBytes;
  localparam int unsigned PageWidth = $clog2(PageBeats);

  // The number of beats that a row touches.
  function [BeatWidth-1:0] beats_of(input logic [AddrWidth-1:0] addr,
                                    input logic [AddrWidth-1:0] bytes);
    logic [AddrWidth:0] last;
    begin
      last = {1'b0, addr} + {1'b0, bytes} - 1'b1;
      beats_of = BeatWidth'(last >> BusLog2) - BeatWidth'(addr >> BusLog2) + 1'b1;
    end
  endfunction

  logic [AddrWidth-1:0]  row_q, row_next, row_bytes_q, stride_q;
  logic [CountWidth-1:0] rows_q;  // including the current one
  logic [BeatWidth-1:0]  beat_q, left_q;
  logic                  busy_q;
  logic [PageWidth:0]    page_left;
  logic [BeatWidth-1:0]  burst;

  assign page_left = (PageWidth + 1)'(PageBeats) - {1'b0, beat_q[PageWidth-1:0]};
  always_comb begin
    burst = left_q;
    if (burst > BeatWidth'(MaxBeats)) burst = BeatWidth'(MaxBeats);
    if (burst > BeatWidth'(page_left)) burst = BeatWidth'(page_left);
  end
  assign valid_o       = busy_q;
  assign burst_beats_o = 9'(burst);
  assign burst_addr_o  = AddrWidth'({beat_q, {BusLog2{1'b0}}});
  assign row_next      = row_q + stride_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (flush_i) busy_q <= 1'b0;
    else if (start_i) busy_q <= 1'b1;
    else if (busy_q && ready_i && burst == left_q && rows_q == CountWidth'(1)) busy_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      row_q       <= addr_i;
      row_bytes_q <= row_bytes_i;
      stride_q    <= stride_i;
      rows_q      <= rows_i;
      beat_q      <= BeatWidth'(addr_i >> BusLog2);
      left_q      <= beats_of(addr_i, row_bytes_i);
    end else if (busy_q && ready_i) begin
      if (burst == left_q) begin
        row_q  <= row_next;
        rows_q <= rows_q - 1'b1;
        beat_q <= BeatWidth'(row_next >> BusLog2);
        left_q <= beats_of(row_next, row_bytes_q);
      end else begin
        beat_q <= beat_q + burst;
        left_q <= left_q - burst;
      end
    end
  end
endmodule
