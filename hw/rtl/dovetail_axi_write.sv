// The write port: sends a burst only when all its beats are buffered, so that W has no gap of its own. docs/timing.md, section 10.
module dovetail_axi_write #(
  parameter int unsigned AddrWidth = 32,
  parameter int unsigned BusBytes = 8,
  parameter int unsigned Depth = 128  // beats
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
  localparam int unsigned CountWidth = $clog2(Depth + 1) + 1;
  localparam logic [1:0] Idle = 2'd0;
  localparam logic [1:0] Addr = 2'd1;
  localparam logic [1:0] Data = 2'd2;

  logic [1:0]            state_q;
  logic [AddrWidth-1:0]  addr_q, burst_addr;
  logic [8:0]            left_q, beats_q, burst_beats;
  logic                  bursts_empty, take, last_sent, beats_empty;
  logic [CountWidth-1:0] responses_q;  // due

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
  assign last_sent = sent_o && wlast_o;
  assign take      = !halt_i && !bursts_empty && (state_q == Idle || last_sent);
  assign awvalid_o = state_q == Addr;
  assign awaddr_o  = addr_q;
  assign awlen_o   = 8'(beats_q - 9'd1);
  assign wvalid_o  = state_q == Data;
  assign wlast_o   = left_q == 9'd1;
  assign bready_o  = 1'b1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= Idle;
    else if (take) state_q <= Addr;
    else if (state_q == Addr && awready_i) state_q <= Data;
    else if (last_sent) state_q <= Idle;
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

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) responses_q <= '0;
    else responses_q <= responses_q + CountWidth'(awvalid_o && awready_i) - CountWidth'(bvalid_i);
  end
  assign quiet_o      = state_q == Idle && responses_q == '0;
  assign idle_o       = quiet_o && bursts_empty;
  assign error_o      = bvalid_i && bresp_i[1];
  assign error_code_o = bresp_i[0] ? dovetail_isa_pkg::ERROR_DECODE_ERROR : dovetail_isa_pkg::ERROR_SLAVE_ERROR;
endmodule
