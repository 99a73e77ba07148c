// On-chip RAM as an AXI4 slave with one ID: INCR bursts of whole beats, and single beats of any size.
// One beat a cycle each way. A burst of another form, and each beat outside the RAM, is answered with
// SLVERR and writes nothing. Contents are not reset.
module dovetail_soc_ram #(
  parameter int unsigned Bytes = 65536,  // a power of two
  parameter int unsigned BusBytes = 4,   // a power of two
  parameter int unsigned AddressBits = 32,
  localparam int unsigned BusBits = 8 * BusBytes
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   arvalid_i,
  output logic                   arready_o,
  input  logic [AddressBits-1:0] araddr_i,
  input  logic [7:0]             arlen_i,
  input  logic [2:0]             arsize_i,
  input  logic [1:0]             arburst_i,
  output logic                   rvalid_o,
  input  logic                   rready_i,
  output logic [BusBits-1:0]     rdata_o,
  output logic [1:0]             rresp_o,
  output logic                   rlast_o,
  input  logic                   awvalid_i,
  output logic                   awready_o,
  input  logic [AddressBits-1:0] awaddr_i,
  input  logic [7:0]             awlen_i,
  input  logic [2:0]             awsize_i,
  input  logic [1:0]             awburst_i,
  input  logic                   wvalid_i,
  output logic                   wready_o,
  input  logic [BusBits-1:0]     wdata_i,
  input  logic [BusBytes-1:0]    wstrb_i,
  input  logic                   wlast_i,
  output logic                   bvalid_o,
  input  logic                   bready_i,
  output logic [1:0]             bresp_o
);
  localparam int unsigned Words = Bytes / BusBytes;
  localparam int unsigned LaneBits = $clog2(BusBytes);
  localparam int unsigned WordBits = AddressBits - LaneBits;
  localparam int unsigned IndexBits = $clog2(Words);
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlvErr = 2'b10;
  localparam logic [1:0] Incr = 2'b01;

  logic [BusBits-1:0]  mem [Words];

  // ---- Reads ------------------------------------------------------------------------------------
  // A beat is read into rdata_q when that is free or taken in the same cycle, the first one of a burst
  // in the cycle of its address.
  logic                r_busy_q, r_form_q, rvalid_q, rlast_q, r_free, r_read, r_form, r_last, r_good;
  logic [WordBits-1:0] r_word_q, r_word;
  logic [7:0]          r_left_q, r_left;  // beats after this one
  logic [1:0]          rresp_q;
  logic [BusBits-1:0]  rdata_q;

  assign r_free    = !rvalid_q || rready_i;
  assign arready_o = !r_busy_q && r_free;
  assign r_read    = (r_busy_q || arvalid_i) && r_free;
  assign r_word    = r_busy_q ? r_word_q : araddr_i[AddressBits-1:LaneBits];
  assign r_left    = r_busy_q ? r_left_q : arlen_i;
  assign r_form    = r_busy_q ? r_form_q
                              : arlen_i == 8'd0 || (arburst_i == Incr && arsize_i == 3'(LaneBits));
  assign r_last    = r_left == 8'd0;

  if (WordBits > IndexBits) begin : gen_read_bound
    assign r_good = r_form && r_word[WordBits-1:IndexBits] == '0;
  end else begin : gen_read_all
    assign r_good = r_form;
  end

  always_ff @(posedge clk_i) begin
    if (r_read) rdata_q <= mem[r_word[IndexBits-1:0]];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      r_busy_q <= 1'b0;
      r_form_q <= 1'b0;
      r_word_q <= '0;
      r_left_q <= '0;
      rvalid_q <= 1'b0;
      rlast_q  <= 1'b0;
      rresp_q  <= Okay;
    end else begin
      if (rready_i) rvalid_q <= 1'b0;
      if (r_read) begin
        rvalid_q <= 1'b1;
        rlast_q  <= r_last;
        rresp_q  <= r_good ? Okay : SlvErr;
        r_busy_q <= !r_last;
        r_form_q <= r_form;
        r_word_q <= r_word + WordBits'(1);
        r_left_q <= r_left - 8'd1;
      end
    end
  end
  assign rvalid_o = rvalid_q;
  assign rlast_o  = rlast_q;
  assign rresp_o  = rresp_q;
  assign rdata_o  = rdata_q;

  // ---- Writes -----------------------------------------------------------------------------------
  logic                w_busy_q, w_form_q, w_failed_q, bvalid_q, w_take, w_good, aw_good;
  logic [WordBits-1:0] w_word_q;
  logic [1:0]          bresp_q;

  assign aw_good   = awlen_i == 8'd0 || (awburst_i == Incr && awsize_i == 3'(LaneBits));
  assign awready_o = !w_busy_q && (!bvalid_q || bready_i);
  assign wready_o  = w_busy_q;
  assign w_take    = w_busy_q && wvalid_i;

  if (WordBits > IndexBits) begin : gen_write_bound
    assign w_good = w_form_q && w_word_q[WordBits-1:IndexBits] == '0;
  end else begin : gen_write_all
    assign w_good = w_form_q;
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned lane = 0; lane < BusBytes; lane++) begin
      if (w_take && w_good && wstrb_i[lane])
        mem[w_word_q[IndexBits-1:0]][8*lane+:8] <= wdata_i[8*lane+:8];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_busy_q   <= 1'b0;
      w_form_q   <= 1'b0;
      w_failed_q <= 1'b0;
      w_word_q   <= '0;
      bvalid_q   <= 1'b0;
      bresp_q    <= Okay;
    end else begin
      if (bready_i) bvalid_q <= 1'b0;
      if (awvalid_i && awready_o) begin
        w_busy_q   <= 1'b1;
        w_form_q   <= aw_good;
        w_failed_q <= 1'b0;
        w_word_q   <= awaddr_i[AddressBits-1:LaneBits];
      end
      if (w_take) begin
        w_word_q   <= w_word_q + WordBits'(1);
        w_failed_q <= w_failed_q || !w_good;
        if (wlast_i) begin
          w_busy_q <= 1'b0;
          bvalid_q <= 1'b1;
          bresp_q  <= w_failed_q || !w_good ? SlvErr : Okay;
        end
      end
    end
  end
  assign bvalid_o = bvalid_q;
  assign bresp_o  = bresp_q;
endmodule
