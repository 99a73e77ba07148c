// A unit's way to the memory: cuts rows of bytes into bursts, asks for each as soon as its beats have room, and keeps the beats until they are used.
module dovetail_reader #(
  parameter int unsigned CountWidth = 16,  // of the number of rows
  localparam int unsigned AddrWidth = dovetail_isa_pkg::ADDRESS_BITS
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     flush_i,
  // Rows to read; only while not busy.
  input  logic                     start_i,
  input  logic [AddrWidth-1:0]     addr_i,
  input  logic [AddrWidth-1:0]     row_bytes_i,
  input  logic [AddrWidth-1:0]     stride_i,
  input  logic [CountWidth-1:0]    rows_i,
  output logic                     busy_o,  // there are bursts to ask for
  // Read port.
  output dovetail_isa_pkg::burst_t request_o,
  input  logic                     grant_i,
  input  logic                     beat_valid_i,
  input  dovetail_isa_pkg::beat_t  beat_i,
  // Beats, in order.
  output logic                     valid_o,
  output dovetail_isa_pkg::beat_t  beat_o,
  input  logic                     pop_i
);
  logic                 fits;
  logic [AddrWidth-1:0] addr;
  logic [8:0]           beats;

  // In one piece: bits of a struct that depend on each other look like a loop to a simulator.
  assign request_o = {fits, addr, beats};

  dovetail_axi_split #(
    .AddrWidth (AddrWidth),
    .BusBytes  (dovetail_isa_pkg::BUS_BYTES),
    .MaxBeats  (dovetail_isa_pkg::LONGEST_BURST_BEATS),
    .CountWidth(CountWidth)
  ) u_split (
    .clk_i,
    .rst_ni,
    .flush_i,
    .start_i,
    .addr_i,
    .row_bytes_i,
    .stride_i,
    .rows_i,
    .valid_o      (busy_o),
    .burst_addr_o (addr),
    .burst_beats_o(beats),
    .ready_i      (grant_i)
  );
  dovetail_read_buffer #(
    .BusBits(8 * dovetail_isa_pkg::BUS_BYTES),
    .Depth  (dovetail_isa_pkg::OUTSTANDING_BEATS)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .flush_i,
    .burst_valid_i(busy_o),
    .burst_beats_i(beats),
    .request_o    (fits),
    .grant_i,
    .beat_valid_i,
    .beat_data_i  (beat_i.data),
    .beat_resp_i  (beat_i.resp),
    .valid_o,
    .data_o       (beat_o.data),
    .resp_o       (beat_o.resp),
    .pop_i
  );
endmodule
