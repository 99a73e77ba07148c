// The write port: sends a burst only when all its beats are buffered, so that the port itself
// causes no gap on W. Address and first beat are offered in the same cycle, and neither waits for
// the other to be accepted. docs/reference/timing.md, section 10.
module dovetail_axi_write import dovetail_isa_pkg::*; #(
  parameter int unsigned Depth = 128,      // beats
  parameter int unsigned MostBursts = 128  // bursts without a response; the next one waits
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   flush_i,
  input  logic                   halt_i,   // no new bursts
  output logic                   idle_o,   // nothing is buffered or outstanding
  output logic                   quiet_o,  // nothing is outstanding
  output logic                   error_o,
  output error_code_e            error_code_o,
  // A beat enters; with the last beat of a burst, so does the burst.
  input  logic                   beat_valid_i,
  input  logic [8*BUS_BYTES-1:0] beat_data_i,
  input  logic [BUS_BYTES-1:0]   beat_strobe_i,
  input  burst_t                 burst_i,
  output logic                   sent_o,  // a beat leaves
  // AXI4.
  output axi_ax_t                aw_o,
  input  logic                   aw_ready_i,
  output axi_w_t                 w_o,
  input  logic                   w_ready_i,
  input  axi_b_t                 b_i,
  output logic                   b_ready_o
);
  localparam int unsigned CountWidth = $clog2(MostBursts + 1);

  // State of the burst that is being sent: address not yet accepted; beats left to send, less 1.
  logic                    addr_valid_q, data_valid_q;
  logic [ADDRESS_BITS-1:0] addr_q, burst_addr;
  logic [7:0]              left_q, len_q, burst_len;
  logic                    bursts_empty, beats_empty, addr_done, data_done, take;
  logic [CountWidth-1:0]   unanswered_q;  // number of bursts without a response

  dovetail_fifo #(
    .Width(ADDRESS_BITS + 8),
    .Depth(Depth)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .flush_i,
    .push_i (burst_i.valid),
    .data_i ({burst_i.addr, burst_i.len}),
    .pop_i  (take),
    .data_o ({burst_addr, burst_len}),
    .empty_o(bursts_empty),
    .full_o ()
  );
  dovetail_fifo #(
    .Width(9 * BUS_BYTES),
    .Depth(Depth)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .flush_i,
    .push_i (beat_valid_i),
    .data_i ({beat_strobe_i, beat_data_i}),
    .pop_i  (sent_o),
    .data_o ({w_o.strb, w_o.data}),
    .empty_o(beats_empty),
    .full_o ()
  );

  assign sent_o     = w_o.valid && w_ready_i;
  assign addr_done  = !addr_valid_q || aw_ready_i;
  assign data_done  = !data_valid_q || (sent_o && w_o.last);
  assign take       = !halt_i && !bursts_empty && addr_done && data_done &&
                      unanswered_q != CountWidth'(MostBursts);
  assign aw_o.valid = addr_valid_q;
  assign aw_o.addr  = addr_q;
  assign aw_o.len   = len_q;
  assign aw_o.size  = 3'(BUS_BYTES_LOG2);
  assign aw_o.burst = AXI_BURST_INCR;
  assign w_o.valid  = data_valid_q;
  assign w_o.last   = left_q == '0;
  assign b_ready_o  = 1'b1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      addr_valid_q <= 1'b0;
      data_valid_q <= 1'b0;
      unanswered_q <= '0;
    end else begin
      addr_valid_q <= take || !addr_done;
      data_valid_q <= take || !data_done;
      unanswered_q <= unanswered_q + CountWidth'(take) - CountWidth'(b_i.valid);
    end
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      addr_q  <= burst_addr;
      len_q   <= burst_len;
      left_q  <= burst_len;
    end else if (sent_o) begin
      left_q <= left_q - 1'b1;
    end
  end

  assign quiet_o      = unanswered_q == '0;
  assign idle_o       = quiet_o && bursts_empty;
  assign error_o      = b_i.valid && b_i.resp[1];
  assign error_code_o = b_i.resp[0] ? ERROR_DECODE_ERROR : ERROR_SLAVE_ERROR;
endmodule
