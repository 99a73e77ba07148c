// UART: 8 data bits, no parity, one stop bit. A bit takes divider_i + 1 cycles; divider_i must be at
// least 3, and constant while a byte is sent or received. A byte that is received while the previous
// one has not been taken replaces it. A byte with a wrong stop bit is dropped.
module dovetail_soc_uart (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        rx_i,  // asynchronous
  output logic        tx_o,
  input  logic [15:0] divider_i,
  output logic        rx_valid_o,
  output logic [7:0]  rx_data_o,
  input  logic        rx_ready_i,
  input  logic        tx_valid_i,
  input  logic [7:0]  tx_data_i,
  output logic        tx_ready_o
);
  // ---- Transmitter ------------------------------------------------------------------------------
  logic [9:0]  tx_shift_q;  // the start bit, data from its lowest bit, the stop bit
  logic [3:0]  tx_bits_q;   // bits left, 0: idle
  logic [15:0] tx_wait_q;   // cycles left of this bit, less one

  assign tx_ready_o = tx_bits_q == 4'd0;
  assign tx_o       = tx_shift_q[0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tx_shift_q <= '1;
      tx_bits_q  <= '0;
      tx_wait_q  <= '0;
    end else if (tx_ready_o) begin
      if (tx_valid_i) begin
        tx_shift_q <= {1'b1, tx_data_i, 1'b0};
        tx_bits_q  <= 4'd10;
        tx_wait_q  <= divider_i;
      end
    end else if (tx_wait_q != 16'd0) begin
      tx_wait_q <= tx_wait_q - 16'd1;
    end else begin
      tx_shift_q <= {1'b1, tx_shift_q[9:1]};
      tx_bits_q  <= tx_bits_q - 4'd1;
      tx_wait_q  <= divider_i;
    end
  end

  // ---- Receiver ---------------------------------------------------------------------------------
  logic [2:0]  rx_sync_q;  // two flip-flops against metastability, and the value before
  logic [7:0]  rx_shift_q, rx_data_q;
  logic [3:0]  rx_bits_q;  // bits left with start and stop, 0: idle
  logic [15:0] rx_wait_q;
  logic        rx_valid_q, rx_now;

  assign rx_now = rx_sync_q[1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rx_sync_q  <= '1;
      rx_shift_q <= '0;
      rx_data_q  <= '0;
      rx_bits_q  <= '0;
      rx_wait_q  <= '0;
      rx_valid_q <= 1'b0;
    end else begin
      rx_sync_q <= {rx_sync_q[1:0], rx_i};
      if (rx_ready_i) rx_valid_q <= 1'b0;
      if (rx_bits_q == 4'd0) begin
        // A falling edge: the middle of the start bit is half a bit away.
        if (rx_sync_q[2] && !rx_now) begin
          rx_bits_q <= 4'd10;
          rx_wait_q <= {1'b0, divider_i[15:1]};
        end
      end else if (rx_wait_q != 16'd0) begin
        rx_wait_q <= rx_wait_q - 16'd1;
      end else begin
        rx_wait_q <= divider_i;
        rx_bits_q <= rx_bits_q - 4'd1;
        if (rx_bits_q == 4'd10) begin
          if (rx_now) rx_bits_q <= 4'd0;  // a spike
        end else if (rx_bits_q == 4'd1) begin
          if (rx_now) begin
            rx_valid_q <= 1'b1;
            rx_data_q  <= rx_shift_q;
          end
        end else begin
          rx_shift_q <= {rx_now, rx_shift_q[7:1]};
        end
      end
    end
  end
  assign rx_valid_o = rx_valid_q;
  assign rx_data_o  = rx_data_q;
endmodule
