// The write port: sends a burst only when all its beats are buffered, so that W has no gap of its own. Address and first beat are offered in the
// same cycle, and neither waits for the other to be accepted. docs/reference/timing.md, section 10.
module dovetail_axi_write #(
  parameter int unsigned AddrWidth = 32,
  parameter int unsigned BusBytes = 8,
  parameter int unsigned Depth = 128,      // beats
  parameter int unsigned MostBursts = 128  // begun and not answered; the next one waits
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  flush_i,
  input  logic                  halt_i,     // no new bursts
  output logic                  idle_o,     // nothing is waiting or on its way
  output logic                  quiet_o,    // nothing is on its way
  output logic                  error_o,
  output logic [3:0]            error_code_o,
  // A beat enters, perhaps as the last of its burst.
  input  logic                  beat_valid_i,
  input  logic [8*BusBytes-1:0] beat_data_i,
  input  logic [BusBytes-1:0]   beat_strobe_i,
  input  logic                  burst_valid_i,
  input  logic [AddrWidth-1:0]  burst_addr_i,
  input  logic [8:0]            burst_beats_i,
  output logic                  sent_o,     // a beat leaves
  // AXI4
  output logic                  awvalid_o,
  input  logic                  awready_i,
  output logic [AddrWidth-1:0]  awaddr_o,
  output logic [7:0]            awlen_o,
  output logic                  wvalid_o,
  input  logic                  wready_i,
  output logic [8*BusBytes-1:0] wdata_o,
  output logic [BusBytes-1:0]   wstrb_o,
  output logic                  wlast_o,
  input  logic                  bvalid_i,
  output logic                  bready_o,
  input  logic [1:0]            bresp_i
);
  localparam int unsigned CountWidth = $clog2(MostBursts + 1);

  logic                  addr_valid_q, data_valid_q;  // of the burst that has begun: not accepted; not all sent
  logic [AddrWidth-1:0]  addr_q, burst_addr;
  logic [8:0]            left_q, beats_q, burst_beats;
  logic                  bursts_empty, beats_empty, addr_done, data_done, take;
  logic [CountWidth-1:0] unanswered_q;  // bursts that have begun

  dovetail_fifo #(
    .Width(AddrWidth + 9),
    .Depth(Depth)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .flush_i,
    .push_i (burst_valid_i),
    .data_i ({burst_addr_i, burst_beats_i}),
    .pop_i  (take),
    .data_o ({burst_addr, burst_beats}),
    .empty_o(bursts_empty),
    .full_o ()
  );
  dovetail_fifo #(
    .Width(9 * BusBytes),
    .Depth(Depth)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .flush_i,
    .push_i (beat_valid_i),
    .data_i ({beat_strobe_i, beat_data_i}),
    .pop_i  (sent_o),
    .data_o ({wstrb_o, wdata_o}),
    .empty_o(beats_empty),
    .full_o ()
  );

  assign sent_o    = wvalid_o && wready_i;
  assign addr_done = !addr_valid_q || awready_i;
  assign data_done = !data_valid_q || (sent_o && wlast_o);
  assign take      = !halt_i && !bursts_empty && addr_done && data_done && unanswered_q != CountWidth'(MostBursts);
  assign awvalid_o = addr_valid_q;
  assign awaddr_o  = addr_q;
  assign awlen_o   = 8'(beats_q - 9'd1);
  assign wvalid_o  = data_valid_q;
  assign wlast_o   = left_q == 9'd1;
  assign bready_o  = 1'b1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      addr_valid_q <= 1'b0;
      data_valid_q <= 1'b0;
      unanswered_q <= '0;
    end else begin
      addr_valid_q <= take || !addr_done;
      data_valid_q <= take || !data_done;
      unanswered_q <= unanswered_q + CountWidth'(take) - CountWidth'(bvalid_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      addr_q  <= burst_addr;
      beats_q <= burst_beats;
      left_q  <= burst_beats;
    end else if (sent_o) begin
      left_q <= left_q - 9'd1;
    end
  end

  assign quiet_o      = unanswered_q == '0;
  assign idle_o       = quiet_o && bursts_empty;
  assign error_o      = bvalid_i && bresp_i[1];
  assign error_code_o = bresp_i[0] ? dovetail_isa_pkg::ERROR_DECODE_ERROR : dovetail_isa_pkg::ERROR_SLAVE_ERROR;
endmodule
