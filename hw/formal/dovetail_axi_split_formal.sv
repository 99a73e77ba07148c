// Proof of dovetail_axi_split: the bursts of a transfer are exactly its rows, in order, each as
// long as the rules allow.
//
// A model next to the splitter keeps, in full precision, the next row and the next beat.
module dovetail_axi_split_formal #(
  parameter int unsigned AddrWidth = 32,
  parameter int unsigned BusBytes = 8,
  parameter int unsigned MaxBeats = 32,
  parameter int unsigned CountWidth = 16
) (
  input logic                  clk_i,
  input logic                  flush_i,
  input logic                  start_i,
  input logic [AddrWidth-1:0]  addr_i,
  input logic [AddrWidth-1:0]  row_bytes_i,
  input logic [AddrWidth-1:0]  stride_i,
  input logic [CountWidth-1:0] rows_i,
  input logic                  ready_i
);
  localparam int unsigned BusLog2 = $clog2(BusBytes);
  localparam int unsigned BeatWidth = AddrWidth - BusLog2 + 1;
  localparam int unsigned PageBeats = 4096 / BusBytes;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic                 valid;
  logic [AddrWidth-1:0] burst_addr;
  logic [8:0]           burst_beats;
  logic [7:0]           burst_len, row_len, page_len;
  logic                 page_cuts;
  assign burst_beats = {1'b0, burst_len} + 1'b1;
  dovetail_axi_split #(
    .AddrWidth (AddrWidth),
    .BusBytes  (BusBytes),
    .MaxBeats  (MaxBeats),
    .CountWidth(CountWidth)
  ) u_dut (
    .clk_i,
    .rst_ni       (rst_n),
    .flush_i,
    .start_i,
    .addr_i,
    .row_bytes_i,
    .stride_i,
    .rows_i,
    .valid_o      (valid),
    .burst_addr_o (burst_addr),
    .burst_len_o  (burst_len),
    .row_len_o    (row_len),
    .page_len_o   (page_len),
    .page_cuts_o  (page_cuts),
    .ready_i
  );

  // Model: the rows from `row` on; `beat` is the next beat and `last` is the row's last beat.
  logic                  busy;
  logic [AddrWidth:0]    row, bytes, row_end, next_row_end;
  logic [AddrWidth-1:0]  stride, next_row;
  logic [CountWidth-1:0] rows;
  logic [BeatWidth-1:0]  beat, last, due, in_page;
  logic                  row_done;
  assign row_end      = row + bytes - 1'b1;
  assign last         = BeatWidth'(row_end >> BusLog2);
  assign due          = last - beat + 1'b1;
  assign in_page      = BeatWidth'(PageBeats) - (beat & BeatWidth'(PageBeats - 1));
  assign row_done     = BeatWidth'(burst_beats) == due;
  assign next_row     = row[AddrWidth-1:0] + stride;
  assign next_row_end = {1'b0, next_row} + bytes - 1'b1;
  always_ff @(posedge clk_i) begin
    if (!rst_n || flush_i) begin
      busy <= 1'b0;
    end else if (start_i) begin
      busy   <= 1'b1;
      row    <= {1'b0, addr_i};
      bytes  <= {1'b0, row_bytes_i};
      stride <= stride_i;
      rows   <= rows_i;
      beat   <= BeatWidth'(addr_i >> BusLog2);
    end else if (busy && ready_i) begin
      if (!row_done) begin
        beat <= beat + BeatWidth'(burst_beats);
      end else if (rows == CountWidth'(1)) begin
        busy <= 1'b0;
      end else begin
        row  <= {1'b0, next_row};
        rows <= rows - 1'b1;
        beat <= BeatWidth'(next_row >> BusLog2);
      end
    end
  end

  always_comb begin
    // Assumptions about the user: it starts a transfer only while idle, and the transfer is not
    // empty; no row exceeds the address space.
    if (start_i) begin
      assume (!valid);
      assume (row_bytes_i != '0 && rows_i != '0);
      assume ({1'b0, addr_i} + {1'b0, row_bytes_i} <= {1'b1, {AddrWidth{1'b0}}});
    end
    if (busy && rows != CountWidth'(1)) assume (!next_row_end[AddrWidth]);

    if (rst_n) begin
      assert (valid == busy);
      if (valid) begin
        // Rules of AXI4 and of the configuration.
        assert (burst_beats != '0);
        assert (burst_beats <= 9'(MaxBeats) && burst_beats <= 9'd256);
        assert (burst_addr[BusLog2-1:0] == '0);
        assert ({1'b0, burst_addr[11:0]} + 13'(burst_beats) * 13'(BusBytes) <= 13'd4096);
        // The bursts cover the row from its first byte to its last, without gap or overlap, and no
        // more.
        assert (burst_addr == AddrWidth'({beat, {BusLog2{1'b0}}}));
        assert (BeatWidth'(burst_beats) <= due);
        // A burst is never shorter than it must be.
        assert (BeatWidth'(burst_beats) == due || burst_beats == 9'(MaxBeats) ||
                BeatWidth'(burst_beats) == in_page);
        // The length is the smaller of the two that it is made of.
        assert (page_cuts == (page_len < row_len));
        assert (burst_len == (page_cuts ? page_len : row_len));
        // Progress: beats remain in the row, and rows in the transfer.
        assert (due != '0 && beat <= last && rows != '0);
      end
    end
  end

  // An offered burst is held until it is taken.
  logic                 waited;
  logic [AddrWidth-1:0] waited_addr;
  logic [8:0]           waited_beats;
  always_ff @(posedge clk_i) begin
    waited       <= rst_n && valid && !ready_i && !flush_i;
    waited_addr  <= burst_addr;
    waited_beats <= burst_beats;
  end
  always_comb begin
    if (rst_n && waited) assert (valid && burst_addr == waited_addr && burst_beats == waited_beats);
  end

  // Internal state.
  (* hierconn *) logic [AddrWidth-1:0]  \u_dut.row_q ;
  (* hierconn *) logic [AddrWidth-1:0]  \u_dut.row_bytes_q ;
  (* hierconn *) logic [AddrWidth-1:0]  \u_dut.stride_q ;
  (* hierconn *) logic [CountWidth-1:0] \u_dut.rows_q ;
  (* hierconn *) logic [BeatWidth-1:0]  \u_dut.beat_q ;
  localparam int unsigned LowWidth = MaxBeats > 1 ? $clog2(MaxBeats) : 1;
  (* hierconn *) logic [LowWidth-1:0]           \u_dut.low_q ;
  (* hierconn *) logic [BeatWidth-LowWidth-1:0] \u_dut.high_q ;
  (* hierconn *) logic                          \u_dut.more_q ;
  (* hierconn *) logic                          \u_dut.less_q ;
  (* hierconn *) logic                          \u_dut.large_q ;
  (* hierconn *) logic                          \u_dut.last_row_q ;
  logic [BeatWidth-1:0] left;  // beats left in the row, less 1
  assign left = {\u_dut.high_q , \u_dut.low_q } +
                (BeatWidth'(\u_dut.more_q ) << LowWidth) -
                (BeatWidth'(\u_dut.less_q ) << LowWidth);
  always_comb begin
    if (rst_n && busy) begin
      assert ({1'b0, \u_dut.row_q } == row && {1'b0, \u_dut.row_bytes_q } == bytes);
      assert (\u_dut.stride_q == stride && \u_dut.rows_q == rows);
      assert (\u_dut.last_row_q == (rows == CountWidth'(1)));
      assert (\u_dut.beat_q == beat && left + 1'b1 == due);
      // The sum stays in the high part.
      assert (!(\u_dut.more_q && \u_dut.less_q ));
      if (\u_dut.more_q ) assert (\u_dut.high_q != '1);
      if (\u_dut.less_q ) assert (\u_dut.high_q != '0);
      assert (\u_dut.large_q == (left >= BeatWidth'(MaxBeats)));
      assert (bytes != '0 && !row_end[AddrWidth] && beat >= BeatWidth'(row >> BusLog2));
    end
  end

  logic second_row = 1'b0;
  always_ff @(posedge clk_i) begin
    if (rst_n && busy && ready_i && row_done) second_row <= 1'b1;
    cover (rst_n && busy && BeatWidth'(burst_beats) == in_page && burst_beats < 9'(MaxBeats) &&
           !row_done);
    cover (rst_n && busy && burst_beats == 9'(MaxBeats) && !row_done && second_row);
    cover (rst_n && busy && row[BusLog2-1:0] != '0 && rows == CountWidth'(1) && second_row &&
           row_done);
    cover (rst_n && !busy && second_row);
  end
endmodule
