// Splits rows of bytes into AXI bursts: whole beats, at most MaxBeats, none across a 4 KiB
// boundary. Each row starts with a new burst at its first beat.
//
// A burst may be taken in every cycle, so the next one must follow from this one within a cycle. The
// count of beats is therefore kept in a form that needs no long carry chain between the two: counts
// are lengths as AXI has them (beats - 1), in a low part that a burst changes and a high part that
// at most loses 1, and whether a row still has more than MaxBeats beats is kept in a register.
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
  // Its length (beats - 1), and the two whose minimum this is, which are known earlier: what row and
  // MaxBeats allow, and what the page allows.
  output logic [7:0]            burst_len_o,
  output logic [7:0]            row_len_o,
  output logic [7:0]            page_len_o,
  output logic                  page_cuts_o,   // page_len_o is the smaller one
  input  logic                  ready_i        // the burst is taken
);
  localparam int unsigned BusLog2 = $clog2(BusBytes);
  localparam int unsigned BeatWidth = AddrWidth - BusLog2 + 1;
  localparam int unsigned PageBeats = 4096 / BusBytes;
  localparam int unsigned PageWidth = $clog2(PageBeats);
  localparam int unsigned PlaceWidth = PageWidth > 8 ? PageWidth : 8;
  localparam int unsigned LowWidth = MaxBeats > 1 ? $clog2(MaxBeats) : 1;
  localparam int unsigned HighWidth = BeatWidth - LowWidth;
  localparam int unsigned LowBytes = BusLog2 + LowWidth;  // bits of a byte count up to the low part
  localparam logic [LowWidth:0] Longest = (LowWidth + 1)'(MaxBeats);

  logic [AddrWidth-1:0]  row_q, row_next, row_bytes_q, stride_q;
  logic [CountWidth-1:0] rows_q;      // including the current one
  logic                  last_row_q;  // there is one
  logic [BeatWidth-1:0]  beat_q;
  logic                  busy_q;
  // Beats left in the row, less 1: {high_q + more_q - less_q, low_q}; they are MaxBeats or more.
  logic [LowWidth-1:0]   low_q;
  logic [HighWidth-1:0]  high_q;
  logic                  more_q, less_q, large_q;

  // ---- The burst --------------------------------------------------------------------------------
  logic [PageWidth-1:0] in_page;  // beats left in the page, less 1
  logic [PlaceWidth:0]  past, row_end;
  logic [7:0]           row_len, page_len;
  logic                 to_next_page, row_done;

  assign in_page  = ~beat_q[PageWidth-1:0];
  assign row_len  = large_q ? 8'(MaxBeats - 1) : 8'(low_q);
  // MaxBeats is at most 256.
  assign page_len = in_page >> 8 != '0 ? 8'd255 : 8'(in_page);
  // The first beat after a burst of row_len, and its last beat, counted from the page's first.
  assign past         = (PlaceWidth + 1)'(beat_q[PageWidth-1:0]) + (PlaceWidth + 1)'(row_len) + 1'b1;
  assign row_end      = (PlaceWidth + 1)'(beat_q[PageWidth-1:0]) + (PlaceWidth + 1)'(row_len);
  assign to_next_page = past >> PageWidth != '0;
  assign page_cuts_o  = row_end >> PageWidth != '0;
  assign row_done     = !large_q && !page_cuts_o;

  assign valid_o      = busy_q;
  assign row_len_o    = row_len;
  assign page_len_o   = page_len;
  assign burst_len_o  = page_cuts_o ? page_len : row_len;
  assign burst_addr_o = AddrWidth'({beat_q, {BusLog2{1'b0}}});

  // ---- What is left after it, in the row --------------------------------------------------------
  logic [LowWidth:0] low_max, low_page, low_left;
  logic              borrow, high_drops, over_0, over_1, over_2, large_left;
  assign low_max    = {1'b0, low_q} - Longest;
  assign low_page   = {1'b0, low_q} + {1'b1, ~page_len[LowWidth-1:0]};
  assign low_left   = page_cuts_o ? low_page : low_max;
  assign borrow     = low_left[LowWidth];
  assign high_drops = borrow && !more_q;
  assign over_1     = high_q[HighWidth-1:1] != '0;
  assign over_0     = over_1 || high_q[0];
  assign over_2     = over_1 && high_q != HighWidth'(2);
  assign large_left = (high_drops && less_q ? over_2 : high_drops || less_q ? over_1 : over_0) ||
                      (more_q && !borrow) || {1'b0, low_left[LowWidth-1:0]} >= Longest;

  // ---- The first row, and the next --------------------------------------------------------------
  // A row's last byte from its first beat is bytes + place - 1, where place is that of its first byte
  // in the beat. Place - 1 is short, so the sum is: it is more or less than the bytes by 1 at most in
  // the high part. Each row has a separate sum, since start_i is known late.
  logic [LowBytes+1:0] first_last, next_last;
  logic                first_large, next_large;
  function automatic [LowBytes+1:0] last_byte(input logic [LowBytes-1:0] bytes,
                                              input logic [BusLog2-1:0] place);
    logic [BusLog2:0] place_less_1;
    logic             borrows;
    begin
      // Not by a subtraction, which becomes a carry chain before the one of the sum.
      place_less_1 = {1'b0, place};
      borrows      = 1'b1;
      for (int unsigned i = 0; i <= BusLog2; i++) begin
        place_less_1[i] = place_less_1[i] ^ borrows;
        borrows         = borrows && place_less_1[i];
      end
      last_byte    = {2'b00, bytes} +
                     {{(LowBytes + 1 - BusLog2) {place_less_1[BusLog2]}}, place_less_1};
    end
  endfunction
  function is_more(input logic [LowBytes+1:0] last);
    is_more = last[LowBytes+1:LowBytes] == 2'b01;
  endfunction
  function is_large(input logic [AddrWidth-LowBytes-1:0] high, input logic [LowBytes+1:0] last);
    is_large = is_more(last) || high >> 1 != '0 || (high[0] && !last[LowBytes+1]) ||
               {1'b0, last[LowBytes-1:BusLog2]} >= Longest;
  endfunction
  assign row_next    = row_q + stride_q;
  assign first_last  = last_byte(row_bytes_i[LowBytes-1:0], addr_i[BusLog2-1:0]);
  assign first_large = is_large(row_bytes_i[AddrWidth-1:LowBytes], first_last);
  assign next_last   = last_byte(row_bytes_q[LowBytes-1:0], row_next[BusLog2-1:0]);
  assign next_large  = is_large(row_bytes_q[AddrWidth-1:LowBytes], next_last);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (flush_i) busy_q <= 1'b0;
    else if (start_i) busy_q <= 1'b1;
    else if (busy_q && ready_i && row_done && last_row_q) busy_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      row_q       <= addr_i;
      row_bytes_q <= row_bytes_i;
      stride_q    <= stride_i;
      rows_q      <= rows_i;
      last_row_q  <= rows_i == CountWidth'(1);
      beat_q      <= BeatWidth'(addr_i >> BusLog2);
      low_q       <= first_last[LowBytes-1:BusLog2];
      high_q      <= HighWidth'(row_bytes_i >> LowBytes);
      more_q      <= is_more(first_last);
      less_q      <= first_last[LowBytes+1];
      large_q     <= first_large;
    end else if (busy_q && ready_i && row_done) begin
      row_q      <= row_next;
      rows_q     <= rows_q - 1'b1;
      last_row_q <= rows_q == CountWidth'(2);
      beat_q     <= BeatWidth'(row_next >> BusLog2);
      low_q      <= next_last[LowBytes-1:BusLog2];
      high_q     <= HighWidth'(row_bytes_q >> LowBytes);
      more_q     <= is_more(next_last);
      less_q     <= next_last[LowBytes+1];
      large_q    <= next_large;
    end else if (busy_q && ready_i) begin
      // A page ends within the burst or with it, or not.
      beat_q  <= to_next_page ? {beat_q[BeatWidth-1:PageWidth] + 1'b1, {PageWidth{1'b0}}} :
                                {beat_q[BeatWidth-1:PageWidth], past[PageWidth-1:0]};
      low_q   <= low_left[LowWidth-1:0];
      more_q  <= more_q && !borrow;
      large_q <= large_left;
      if (high_drops) high_q <= high_q - 1'b1;
    end
  end
endmodule
