// Proof of dovetail_read_buffer: it never asks for more than it has room for, asks as soon as it has, and keeps the beats in order.
module dovetail_read_buffer_formal #(
  parameter int unsigned BusBits = 8,
  parameter int unsigned Depth = 8
) (
  input logic               clk_i,
  input logic               flush_i,
  input logic               burst_valid_i,
  input logic [8:0]         burst_beats_i,
  input logic               grant_i,
  input logic               beat_valid_i,
  input logic [BusBits-1:0] beat_data_i,
  input logic [1:0]         beat_resp_i,
  input logic               pop_i,
  input logic               follow_i
);
  localparam int unsigned CreditWidth = $clog2(Depth + 1) > 9 ? $clog2(Depth + 1) : 9;
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  localparam int unsigned PtrWidth = $clog2(Depth);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic               request, valid;
  logic [BusBits-1:0] data;
  logic [1:0]         resp;
  dovetail_read_buffer #(
    .BusBits(BusBits),
    .Depth  (Depth)
  ) u_dut (
    .clk_i,
    .rst_ni   (rst_n),
    .flush_i,
    .burst_valid_i,
    .burst_beats_i,
    .request_o(request),
    .grant_i,
    .beat_valid_i,
    .beat_data_i,
    .beat_resp_i,
    .valid_o  (valid),
    .data_o   (data),
    .resp_o   (resp),
    .pop_i
  );

  // The model: beats on their way, beats here, and the one that is followed.
  logic [CreditWidth:0] away, here, ahead;
  logic                 following;
  logic [BusBits+1:0]   value;
  always_ff @(posedge clk_i) begin
    if (!rst_n || flush_i) begin
      away      <= '0;
      here      <= '0;
      following <= 1'b0;
    end else begin
      away <= away + (grant_i ? (CreditWidth + 1)'(burst_beats_i) : '0) - (CreditWidth + 1)'(beat_valid_i);
      here <= here + (CreditWidth + 1)'(beat_valid_i) - (CreditWidth + 1)'(pop_i);
      if (following && pop_i) begin
        ahead <= ahead - 1'b1;
        if (ahead == '0) following <= 1'b0;
      end
      if (beat_valid_i && follow_i && !following) begin
        following <= 1'b1;
        value     <= {beat_resp_i, beat_data_i};
        ahead     <= here - (CreditWidth + 1)'(pop_i);
      end
    end
  end

  (* hierconn *) logic [CreditWidth-1:0] \u_dut.credit_q ;
  (* hierconn *) logic [CountWidth-1:0]  \u_dut.u_beats.count_q ;
  (* hierconn *) logic [PtrWidth-1:0]    \u_dut.u_beats.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]    \u_dut.u_beats.tail_q ;
  (* hierconn *) logic [PtrWidth-1:0]    \u_dut.u_beats.formal_place ;
  (* hierconn *) logic [BusBits+1:0]     \u_dut.u_beats.formal_word ;
  logic [CreditWidth:0] last, place;
  assign last  = (CreditWidth + 1)'(\u_dut.u_beats.head_q ) + here;
  assign place = (CreditWidth + 1)'(\u_dut.u_beats.head_q ) + ahead;

  always_comb begin
    // The rules of those around. The arbiter grants what is asked for, the memory sends what was granted, the unit takes what is there; all is
    // forgotten only when nothing is on its way (asserted in hw/sva). Bursts are 1 to Depth beats (dovetail_axi_split_formal: at most
    // burst_beats and outstanding_beats).
    if (grant_i) assume (request);
    if (beat_valid_i) assume (away != '0);
    if (pop_i) assume (valid);
    if (flush_i) assume (away == '0 && !grant_i);
    if (burst_valid_i) assume (burst_beats_i != '0 && burst_beats_i <= 9'(Depth));
    if (follow_i) assume (\u_dut.u_beats.tail_q == \u_dut.u_beats.formal_place );

    if (rst_n) begin
      // Room for all that is here or on its way, so that every beat is taken at once.
      assert (away <= (CreditWidth + 1)'(Depth) && here <= (CreditWidth + 1)'(Depth) && away + here <= (CreditWidth + 1)'(Depth));
      if (request) assert (burst_valid_i && away + here + (CreditWidth + 1)'(burst_beats_i) <= (CreditWidth + 1)'(Depth));
      // It asks whenever it may, so it always will: when all that was granted has come and gone, any burst fits.
      if (burst_valid_i && away + here + (CreditWidth + 1)'(burst_beats_i) <= (CreditWidth + 1)'(Depth)) assert (request);
      if (burst_valid_i && away == '0 && here == '0) assert (request);
      assert (valid == (here != '0));
      if (following) begin
        assert (ahead < here);
        if (ahead == '0) assert ({resp, data} == value);
      end
    end

    // Inside.
    if (rst_n) begin
      assert ((CreditWidth + 1)'(\u_dut.credit_q ) == (CreditWidth + 1)'(Depth) - away - here);
      assert ((CreditWidth + 1)'(\u_dut.u_beats.count_q ) == here);
      assert (\u_dut.u_beats.head_q <= PtrWidth'(Depth - 1));
      assert ((CreditWidth + 1)'(\u_dut.u_beats.tail_q ) == (last >= (CreditWidth + 1)'(Depth) ? last - (CreditWidth + 1)'(Depth) : last));
      if (following) begin
        assert ((CreditWidth + 1)'(\u_dut.u_beats.formal_place ) == (place >= (CreditWidth + 1)'(Depth) ? place - (CreditWidth + 1)'(Depth) : place));
        assert (\u_dut.u_beats.formal_word == value);
      end
    end
  end

  logic was_full = 1'b0;
  always_ff @(posedge clk_i) begin
    if (rst_n && here == (CreditWidth + 1)'(Depth)) was_full <= 1'b1;
    cover (rst_n && was_full && here == '0 && away == '0 && request);
    cover (rst_n && burst_valid_i && !request && away == '0);
    cover (rst_n && grant_i && pop_i && beat_valid_i);
    cover (rst_n && following && ahead == '0 && pop_i && was_full);
  end
endmodule
