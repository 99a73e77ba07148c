// The memory port of a board: the accelerator's AXI4 master, and single words of the host. A word
// waits until no burst of the accelerator is in flight, and holds new bursts back until it is done;
// without words the port adds no cycle.
module dovetail_board_port #(
  parameter int unsigned BusBytes = 8,  // at least 4
  parameter int unsigned AddressBits = 32,
  localparam int unsigned BusBits = 8 * BusBytes
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  // Words of the host.
  input  logic                   request_i,
  input  logic                   write_i,
  input  logic [31:0]            address_i,
  input  logic [31:0]            wdata_i,
  output logic                   ack_o,
  output logic                   error_o,
  output logic [31:0]            rdata_o,
  // The accelerator.
  input  logic                   acc_arvalid_i,
  output logic                   acc_arready_o,
  input  logic [AddressBits-1:0] acc_araddr_i,
  input  logic [7:0]             acc_arlen_i,
  input  logic [2:0]             acc_arsize_i,
  input  logic [1:0]             acc_arburst_i,
  output logic                   acc_rvalid_o,
  input  logic                   acc_awvalid_i,
  output logic                   acc_awready_o,
  input  logic [AddressBits-1:0] acc_awaddr_i,
  input  logic [7:0]             acc_awlen_i,
  input  logic [2:0]             acc_awsize_i,
  input  logic [1:0]             acc_awburst_i,
  input  logic                   acc_wvalid_i,
  output logic                   acc_wready_o,
  input  logic [BusBits-1:0]     acc_wdata_i,
  input  logic [BusBytes-1:0]    acc_wstrb_i,
  input  logic                   acc_wlast_i,
  output logic                   acc_bvalid_o,
  // The memory. Its R and B go to both; they are always taken.
  output logic                   mem_arvalid_o,
  input  logic                   mem_arready_i,
  output logic [AddressBits-1:0] mem_araddr_o,
  output logic [7:0]             mem_arlen_o,
  output logic [2:0]             mem_arsize_o,
  output logic [1:0]             mem_arburst_o,
  input  logic                   mem_rvalid_i,
  input  logic [BusBits-1:0]     mem_rdata_i,
  input  logic [1:0]             mem_rresp_i,
  input  logic                   mem_rlast_i,
  output logic                   mem_awvalid_o,
  input  logic                   mem_awready_i,
  output logic [AddressBits-1:0] mem_awaddr_o,
  output logic [7:0]             mem_awlen_o,
  output logic [2:0]             mem_awsize_o,
  output logic [1:0]             mem_awburst_o,
  output logic                   mem_wvalid_o,
  input  logic                   mem_wready_i,
  output logic [BusBits-1:0]     mem_wdata_o,
  output logic [BusBytes-1:0]    mem_wstrb_o,
  output logic                   mem_wlast_o,
  input  logic                   mem_bvalid_i,
  input  logic [1:0]             mem_bresp_i
);
  localparam int unsigned Words = BusBytes / 4;
  localparam logic [1:0] Incr = 2'b01;
  localparam logic [2:0] SizeOfWord = 3'd2;

  typedef enum logic [1:0] {
    StAccelerator,  // the port is the accelerator's
    StAddress,      // the word's address, and its data, are offered
    StResponse      // the answer is awaited
  } state_e;
  state_e      state_d, state_q;
  logic        host, a_done_d, a_done_q, w_done_d, w_done_q;
  // Bursts of the accelerator whose last response has not come.
  logic [15:0] reads_q, writes_q, reads_d, writes_d;
  logic        quiet;
  logic [31:0] rdata;

  assign host  = state_q != StAccelerator;
  assign quiet = reads_q == '0 && writes_q == '0 && !acc_arvalid_i && !acc_awvalid_i &&
                 !acc_wvalid_i;

  always_comb begin
    reads_d  = reads_q;
    writes_d = writes_q;
    if (acc_arvalid_i && acc_arready_o) reads_d = reads_d + 16'd1;
    if (acc_rvalid_o && mem_rlast_i) reads_d = reads_d - 16'd1;
    if (acc_awvalid_i && acc_awready_o) writes_d = writes_d + 16'd1;
    if (acc_bvalid_o) writes_d = writes_d - 16'd1;
  end

  always_comb begin
    state_d  = state_q;
    a_done_d = a_done_q;
    w_done_d = w_done_q;
    ack_o    = 1'b0;
    error_o  = write_i ? mem_bresp_i != 2'b00 : mem_rresp_i != 2'b00;
    unique case (state_q)
      StAccelerator: begin
        a_done_d = 1'b0;
        w_done_d = !write_i;
        if (request_i && quiet) state_d = StAddress;
      end
      StAddress: begin
        if (write_i ? mem_awready_i : mem_arready_i) a_done_d = 1'b1;
        if (mem_wready_i) w_done_d = 1'b1;
        if (a_done_d && w_done_d) state_d = StResponse;
      end
      StResponse: begin
        ack_o = write_i ? mem_bvalid_i : mem_rvalid_i;
        if (ack_o) state_d = StAccelerator;
      end
      default: state_d = StAccelerator;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= StAccelerator;
      a_done_q <= 1'b0;
      w_done_q <= 1'b0;
      reads_q  <= '0;
      writes_q <= '0;
    end else begin
      state_q  <= state_d;
      a_done_q <= a_done_d;
      w_done_q <= w_done_d;
      reads_q  <= reads_d;
      writes_q <= writes_d;
    end
  end

  // The word's place in a beat.
  always_comb begin
    rdata = '0;
    for (int unsigned word = 0; word < Words; word++) begin
      if (address_i % BusBytes / 4 == word) rdata = mem_rdata_i[32*word+:32];
    end
  end
  assign rdata_o = rdata;

  always_comb begin
    mem_wdata_o = acc_wdata_i;
    mem_wstrb_o = acc_wstrb_i;
    if (host) begin
      mem_wdata_o = {Words{wdata_i}};
      for (int unsigned word = 0; word < Words; word++) begin
        mem_wstrb_o[4*word+:4] = {4{address_i % BusBytes / 4 == word}};
      end
    end
  end

  assign mem_arvalid_o = host ? state_q == StAddress && !write_i && !a_done_q : acc_arvalid_i;
  assign mem_araddr_o  = host ? AddressBits'(address_i) : acc_araddr_i;
  assign mem_arlen_o   = host ? 8'd0 : acc_arlen_i;
  assign mem_arsize_o  = host ? SizeOfWord : acc_arsize_i;
  assign mem_arburst_o = host ? Incr : acc_arburst_i;
  assign mem_awvalid_o = host ? state_q == StAddress && write_i && !a_done_q : acc_awvalid_i;
  assign mem_awaddr_o  = host ? AddressBits'(address_i) : acc_awaddr_i;
  assign mem_awlen_o   = host ? 8'd0 : acc_awlen_i;
  assign mem_awsize_o  = host ? SizeOfWord : acc_awsize_i;
  assign mem_awburst_o = host ? Incr : acc_awburst_i;
  assign mem_wvalid_o  = host ? state_q == StAddress && !w_done_q : acc_wvalid_i;
  assign mem_wlast_o   = host || acc_wlast_i;

  assign acc_arready_o = mem_arready_i && !host;
  assign acc_awready_o = mem_awready_i && !host;
  assign acc_wready_o  = mem_wready_i && !host;
  assign acc_rvalid_o  = mem_rvalid_i && !host;
  assign acc_bvalid_o  = mem_bvalid_i && !host;
endmodule
