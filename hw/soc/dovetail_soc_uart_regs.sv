// The registers of the UART. A byte may be given while the one before is sent.
module dovetail_soc_uart_regs import dovetail_soc_pkg::*; (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Accesses of dovetail_soc_lite: of one cycle, if there is a register.
  input  logic        write_i,
  input  logic [11:0] write_addr_i,
  input  logic [15:0] write_data_i,
  output logic        known_write_o,
  input  logic        read_i,
  input  logic [11:0] read_addr_i,
  output logic [31:0] read_data_o,
  output logic        known_read_o,
  // The line.
  input  logic        rx_i,
  output logic        tx_o
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
    .rx_ready_i(read_i && read_addr_i == UART_DATA),
    .tx_valid_i(pending_q),
    .tx_data_i (data_q),
    .tx_ready_o(tx_ready)
  );

  assign known_write_o = (write_addr_i == UART_DATA && !pending_q) || write_addr_i == UART_DIVIDER;
  always_comb begin
    known_read_o = 1'b1;
    unique case (read_addr_i)
      UART_DATA:    read_data_o = {23'd0, rx_valid, rx_data};
      UART_STATUS:  read_data_o = {30'd0, rx_valid, !pending_q};
      UART_DIVIDER: read_data_o = {16'd0, divider_q};
      default: begin
        read_data_o  = '0;
        known_read_o = 1'b0;
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
      if (write_i && write_addr_i == UART_DATA) begin
        pending_q <= 1'b1;
        data_q    <= write_data_i[7:0];
      end
      if (write_i && write_addr_i == UART_DIVIDER) divider_q <= write_data_i;
    end
  end
endmodule
