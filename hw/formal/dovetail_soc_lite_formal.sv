// Proof of dovetail_soc_lite: each access is answered once, in the cycle after it is accepted, and the answer is held
// until it is taken. A register is written, or read, in the one cycle in which its access is accepted, and only if
// the access is one of a whole word of a register that exists; then the answer is OKAY, else SLVERR. An access that
// is offered is accepted as soon as the answer before it is taken, a write with both of its parts.
module dovetail_soc_lite_formal (
  input logic        clk_i,
  input logic        arvalid_i,
  input logic        rready_i,
  input logic        awvalid_i,
  input logic        wvalid_i,
  input logic [3:0]  wstrb_i,
  input logic        bready_i,
  input logic        known_write_i,
  input logic [31:0] read_data_i,
  input logic        known_read_i
);
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlvErr = 2'b10;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic        arready, rvalid, awready, wready, bvalid, write, read;
  logic [1:0]  rresp, bresp;
  logic [31:0] rdata;
  dovetail_soc_lite u_dut (
    .clk_i,
    .rst_ni       (rst_n),
    .arvalid_i,
    .arready_o    (arready),
    .rvalid_o     (rvalid),
    .rready_i,
    .rdata_o      (rdata),
    .rresp_o      (rresp),
    .awvalid_i,
    .awready_o    (awready),
    .wvalid_i,
    .wready_o     (wready),
    .wstrb_i,
    .bvalid_o     (bvalid),
    .bready_i,
    .bresp_o      (bresp),
    .write_o      (write),
    .known_write_i,
    .read_o       (read),
    .read_data_i,
    .known_read_i
  );

  // The answers that are due.
  logic        r_open, b_open;
  logic [1:0]  r_code, b_code;
  logic [31:0] r_data;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      r_open <= 1'b0;
      b_open <= 1'b0;
    end else begin
      r_open <= (arvalid_i && arready) || (r_open && !rready_i);
      b_open <= (awvalid_i && awready) || (b_open && !bready_i);
      if (arvalid_i && arready) begin
        r_code <= known_read_i ? Okay : SlvErr;
        r_data <= known_read_i ? read_data_i : '0;
      end
      if (awvalid_i && awready) b_code <= known_write_i && wstrb_i == 4'b1111 ? Okay : SlvErr;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (rvalid == r_open);
      if (r_open) assert (rresp == r_code && rdata == r_data);
      assert (arready == (arvalid_i && !r_open));
      assert (read == (arvalid_i && arready && known_read_i));
      assert (bvalid == b_open);
      if (b_open) assert (bresp == b_code);
      assert (awready == wready && awready == (awvalid_i && wvalid_i && !b_open));
      assert (write == (awready && known_write_i && wstrb_i == 4'b1111));
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && r_open && !rready_i && arvalid_i);
    cover (rst_n && b_open && bresp == SlvErr && bready_i);
  end
endmodule
