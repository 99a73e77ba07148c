// The registers of the UART. A byte may be given while the one before is sent.
module dovetail_soc_uart_regs import dovetail_soc_pkg::*; (
  input  logic        clk_i,
  input  logic        rst_ni,
  // AXI4-Lite.
  input  logic        arvalid_i,
  output logic        arready_o,
  input  logic [11:0] araddr_i,
  output logic        rvalid_o,
  input  logic        rready_i,
  output logic [31:0] rdata_o,
  output logic [1:0]  rresp_o,
  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic [11:0] awaddr_i,
  input  logic        wvalid_i,
  output logic        wready_o,
  input  logic [31:0] wdata_i,
  input  logic [3:0]  wstrb_i,
  output logic        bvalid_o,
  input  logic        bready_i,
  output logic [1:0]  bresp_o,
  // The line.
  input  logic        rx_i,
  output logic        tx_o
);
  logic        write, read, known_write, known_read;
  logic [11:0] write_addr, read_addr;
  logic [31:0] write_data, read_data;
  dovetail_soc_lite #(
    .AddressBits(12)
  ) u_lite (
    .clk_i,
    .rst_ni,
    .arvalid_i,
    .arready_o,
    .araddr_i,
    .rvalid_o,
    .rready_i,
    .rdata_o,
    .rresp_o,
    .awvalid_i,
    .awready_o,
    .awaddr_i,
    .wvalid_i,
    .wready_o,
    .wdata_i,
    .wstrb_i,
    .bvalid_o,
    .bready_i,
    .bresp_o,
    .write_o      (write),
    .write_addr_o (write_addr),
    .write_data_o (write_data),
    .known_write_i(known_write),
    .read_o       (read),
    .read_addr_o  (read_addr),
    .read_data_i  (read_data),
    .known_read_i (known_read)
  );

  logic [15:0] divider_q;
  logic        pending_q, tx_ready, rx_valid;
  logic [7:0]  data_q, rx_data;

  dovetail_soc_uart u_uart (
    .clk_i,
    .rst_ni,
    .rx_i,
    .tx_o,
    .divider_i (divider_q),
    .rx_valid_o(rx_valid),
    .rx_data_o (rx_data),
    .rx_ready_i(read && read_addr == UART_DATA),
    .tx_valid_i(pending_q),
    .tx_data_i (data_q),
    .tx_ready_o(tx_ready)
  );

  assign known_write = (write_addr == UART_DATA && !pending_q) || write_addr == UART_DIVIDER;
  always_comb begin
    known_read = 1'b1;
    unique case (read_addr)
      UART_DATA:    read_data = {23'd0, rx_valid, rx_data};
      UART_STATUS:  read_data = {30'd0, rx_valid, !pending_q};
      UART_DIVIDER: read_data = {16'd0, divider_q};
      default: begin
        read_data  = '0;
        known_read = 1'b0;
      end
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      divider_q <= '1;
      pending_q <= 1'b0;
      data_q    <= '0;
    end else begin
      if (tx_ready) pending_q <= 1'b0;
      if (write && write_addr == UART_DATA) begin
        pending_q <= 1'b1;
        data_q    <= write_data[7:0];
      end
      if (write && write_addr == UART_DIVIDER) divider_q <= write_data[15:0];
    end
  end
endmodule
