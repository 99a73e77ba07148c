// An AXI4-Lite slave for a few registers: accesses, one at a time each way, become one cycle of
// write_o or read_o. Registers are written as whole words; other writes, and those that known_write_i
// or known_read_i denies, are answered with SLVERR and have no effect. The registers see the addresses
// and the data of the bus.
module dovetail_soc_lite (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        arvalid_i,
  output logic        arready_o,
  output logic        rvalid_o,
  input  logic        rready_i,
  output logic [31:0] rdata_o,
  output logic [1:0]  rresp_o,
  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic        wvalid_i,
  output logic        wready_o,
  input  logic [3:0]  wstrb_i,
  output logic        bvalid_o,
  input  logic        bready_i,
  output logic [1:0]  bresp_o,
  // The registers.
  output logic        write_o,
  input  logic        known_write_i,  // there is a register at the address of the write
  output logic        read_o,
  input  logic [31:0] read_data_i,
  input  logic        known_read_i
);
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlvErr = 2'b10;

  logic        write, read, good, bvalid_q, rvalid_q;
  logic [1:0]  bresp_q, rresp_q;
  logic [31:0] rdata_q;

  assign write     = awvalid_i && wvalid_i && !bvalid_q;
  assign good      = known_write_i && wstrb_i == 4'b1111;
  assign awready_o = write;
  assign wready_o  = write;
  assign write_o   = write && good;
  assign read      = arvalid_i && !rvalid_q;
  assign arready_o = read;
  assign read_o    = read && known_read_i;
  assign bvalid_o  = bvalid_q;
  assign bresp_o   = bresp_q;
  assign rvalid_o  = rvalid_q;
  assign rresp_o   = rresp_q;
  assign rdata_o   = rdata_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      bvalid_q <= 1'b0;
      bresp_q  <= Okay;
      rvalid_q <= 1'b0;
      rresp_q  <= Okay;
      rdata_q  <= '0;
    end else begin
      if (bready_i) bvalid_q <= 1'b0;
      if (rready_i) rvalid_q <= 1'b0;
      if (write) begin
        bvalid_q <= 1'b1;
        bresp_q  <= good ? Okay : SlvErr;
      end
      if (read) begin
        rvalid_q <= 1'b1;
        rresp_q  <= known_read_i ? Okay : SlvErr;
        rdata_q  <= known_read_i ? read_data_i : '0;
      end
    end
  end
endmodule
