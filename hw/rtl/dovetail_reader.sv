// A unit's read path: splits rows of bytes into bursts, requests each as soon as the buffer has
// room for its beats, and keeps the beats until they are used.
module dovetail_reader import dovetail_isa_pkg::*; #(
  parameter int unsigned CountWidth = 16,  // width of the number of rows
  localparam int unsigned AddrWidth = ADDRESS_BITS
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  flush_i,
  // Rows to read; start only while not busy.
  input  logic                  start_i,
  input  logic [AddrWidth-1:0]  addr_i,
  input  logic [AddrWidth-1:0]  row_bytes_i,
  input  logic [AddrWidth-1:0]  stride_i,
  input  logic [CountWidth-1:0] rows_i,
  output logic                  busy_o,  // bursts remain to be requested
  // Read port.
  output burst_t                request_o,
  input  logic                  grant_i,
  input  logic                  beat_valid_i,
  input  beat_t                 beat_i,
  // Beats, in order.
  output logic                  valid_o,
  output beat_t                 beat_o,
  input  logic                  pop_i
);
  logic                 fits;
  logic [AddrWidth-1:0] addr;
  logic [7:0]           len, row_len, page_len;
  logic                 page_cuts;

  // Assigned as a whole: members of a struct that depend on each other would look like a
  // combinational loop to a simulator.
  assign request_o = {fits, addr, len};

  dovetail_axi_split #(
    .AddrWidth (AddrWidth),
    .BusBytes  (BUS_BYTES),
    .MaxBeats  (LONGEST_BURST_BEATS),
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
    .burst_len_o  (len),
    .row_len_o    (row_len),
    .page_len_o   (page_len),
    .page_cuts_o  (page_cuts),
    .ready_i      (grant_i)
  );
  dovetail_read_buffer #(
    .Depth(OUTSTANDING_BEATS)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .flush_i,
    .burst_valid_i(busy_o),
    .row_len_i    (row_len),
    .page_len_i   (page_len),
    .page_cuts_i  (page_cuts),
    .request_o    (fits),
    .grant_i,
    .beat_valid_i,
    .beat_i,
    .valid_o,
    .beat_o,
    .pop_i
  );
endmodule
