// The accelerator on a board, without what differs between boards: reset synchronizer, on-chip RAM
// at address 0, and a UART over which a host reads and writes RAM and registers.
module dovetail_board import dovetail_isa_pkg::*; #(
  parameter int unsigned RamBytes = 131072,  // a power of two
  parameter logic [15:0] UartDivider = 16'd433  // cycles of a bit, less one; at least 3
) (
  input  logic       clk_i,
  input  logic       rst_ni,  // may be asserted and released at any time
  input  logic       uart_rx_i,
  output logic       uart_tx_o,
  output logic [7:0] led_o    // 0: reads of the accelerator, 1: interrupt, 2: host, 7: heartbeat
);
  localparam int unsigned AddrWidth = ADDRESS_BITS;
  localparam int unsigned BusBytes = BUS_BYTES;
  localparam int unsigned BusBits = 8 * BusBytes;
  localparam int unsigned HeartBit = 24;

  // Asserted at once, released in step with the clock.
  logic [1:0] rst_sync_q;
  logic       rst_n;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rst_sync_q <= '0;
    else rst_sync_q <= {rst_sync_q[0], 1'b1};
  end
  assign rst_n = rst_sync_q[1];

  // ---- The host ---------------------------------------------------------------------------------
  logic       rx_valid, rx_ready, tx_valid, tx_ready;
  logic [7:0] rx_data, tx_data;
  logic       request, registers, write, ack, error;
  logic [31:0] address, wdata, rdata;

  dovetail_soc_uart u_uart (
    .clk_i,
    .rst_ni    (rst_n),
    .rx_i      (uart_rx_i),
    .tx_o      (uart_tx_o),
    .divider_i (UartDivider),
    .rx_valid_o(rx_valid),
    .rx_data_o (rx_data),
    .rx_ready_i(rx_ready),
    .tx_valid_i(tx_valid),
    .tx_data_i (tx_data),
    .tx_ready_o(tx_ready)
  );

  dovetail_board_bridge u_bridge (
    .clk_i,
    .rst_ni     (rst_n),
    .rx_valid_i (rx_valid),
    .rx_data_i  (rx_data),
    .rx_ready_o (rx_ready),
    .tx_valid_o (tx_valid),
    .tx_data_o  (tx_data),
    .tx_ready_i (tx_ready),
    .request_o  (request),
    .registers_o(registers),
    .write_o    (write),
    .address_o  (address),
    .wdata_o    (wdata),
    .ack_i      (ack),
    .error_i    (error),
    .rdata_i    (rdata)
  );

  // ---- Registers --------------------------------------------------------------------------------
  // One access: the address, and the data of a write, are offered until they are taken.
  logic        reg_offer_q, reg_awready, reg_wready, reg_arready, reg_bvalid, reg_rvalid;
  logic        reg_request, reg_ack;
  logic [1:0]  reg_bresp, reg_rresp;
  logic [31:0] reg_rdata;

  assign reg_request = request && registers;
  assign reg_ack     = reg_request && !reg_offer_q && (write ? reg_bvalid : reg_rvalid);
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) reg_offer_q <= 1'b1;
    else if (!reg_request || reg_ack) reg_offer_q <= 1'b1;
    else if (write ? reg_awready && reg_wready : reg_arready) reg_offer_q <= 1'b0;
  end

  // ---- Memory -----------------------------------------------------------------------------------
  logic                 mem_request, mem_ack, mem_error;
  logic [31:0]          mem_word;
  logic                 acc_arvalid, acc_arready, acc_rvalid, acc_rready, acc_awvalid, acc_awready;
  logic                 acc_wvalid, acc_wready, acc_wlast, acc_bvalid, acc_bready, interrupt;
  logic [AddrWidth-1:0] acc_araddr, acc_awaddr, ram_araddr, ram_awaddr;
  logic [7:0]           acc_arlen, acc_awlen, ram_arlen, ram_awlen;
  logic [2:0]           acc_arsize, acc_awsize, ram_arsize, ram_awsize;
  logic [1:0]           acc_arburst, acc_awburst, ram_arburst, ram_awburst, ram_rresp, ram_bresp;
  logic [BusBits-1:0]   acc_wdata, ram_rdata, ram_wdata;
  logic [BusBytes-1:0]  acc_wstrb, ram_wstrb;
  logic                 ram_arvalid, ram_arready, ram_rvalid, ram_rlast, ram_awvalid, ram_awready;
  logic                 ram_wvalid, ram_wready, ram_wlast, ram_bvalid;

  assign mem_request = request && !registers;
  assign ack         = registers ? reg_ack : mem_ack;
  assign error       = !registers ? mem_error : write ? reg_bresp != 2'b00 : reg_rresp != 2'b00;
  assign rdata       = registers ? reg_rdata : mem_word;

  dovetail_board_port #(
    .BusBytes   (BusBytes),
    .AddressBits(AddrWidth)
  ) u_port (
    .clk_i,
    .rst_ni       (rst_n),
    .request_i    (mem_request),
    .write_i      (write),
    .address_i    (address),
    .wdata_i      (wdata),
    .ack_o        (mem_ack),
    .error_o      (mem_error),
    .rdata_o      (mem_word),
    .acc_arvalid_i(acc_arvalid),
    .acc_arready_o(acc_arready),
    .acc_araddr_i (acc_araddr),
    .acc_arlen_i  (acc_arlen),
    .acc_arsize_i (acc_arsize),
    .acc_arburst_i(acc_arburst),
    .acc_rvalid_o (acc_rvalid),
    .acc_awvalid_i(acc_awvalid),
    .acc_awready_o(acc_awready),
    .acc_awaddr_i (acc_awaddr),
    .acc_awlen_i  (acc_awlen),
    .acc_awsize_i (acc_awsize),
    .acc_awburst_i(acc_awburst),
    .acc_wvalid_i (acc_wvalid),
    .acc_wready_o (acc_wready),
    .acc_wdata_i  (acc_wdata),
    .acc_wstrb_i  (acc_wstrb),
    .acc_wlast_i  (acc_wlast),
    .acc_bvalid_o (acc_bvalid),
    .mem_arvalid_o(ram_arvalid),
    .mem_arready_i(ram_arready),
    .mem_araddr_o (ram_araddr),
    .mem_arlen_o  (ram_arlen),
    .mem_arsize_o (ram_arsize),
    .mem_arburst_o(ram_arburst),
    .mem_rvalid_i (ram_rvalid),
    .mem_rdata_i  (ram_rdata),
    .mem_rresp_i  (ram_rresp),
    .mem_rlast_i  (ram_rlast),
    .mem_awvalid_o(ram_awvalid),
    .mem_awready_i(ram_awready),
    .mem_awaddr_o (ram_awaddr),
    .mem_awlen_o  (ram_awlen),
    .mem_awsize_o (ram_awsize),
    .mem_awburst_o(ram_awburst),
    .mem_wvalid_o (ram_wvalid),
    .mem_wready_i (ram_wready),
    .mem_wdata_o  (ram_wdata),
    .mem_wstrb_o  (ram_wstrb),
    .mem_wlast_o  (ram_wlast),
    .mem_bvalid_i (ram_bvalid),
    .mem_bresp_i  (ram_bresp)
  );

  dovetail_soc_ram #(
    .Bytes      (RamBytes),
    .BusBytes   (BusBytes),
    .AddressBits(AddrWidth)
  ) u_ram (
    .clk_i,
    .rst_ni   (rst_n),
    .arvalid_i(ram_arvalid),
    .arready_o(ram_arready),
    .araddr_i (ram_araddr),
    .arlen_i  (ram_arlen),
    .arsize_i (ram_arsize),
    .arburst_i(ram_arburst),
    .rvalid_o (ram_rvalid),
    .rready_i (acc_rready),
    .rdata_o  (ram_rdata),
    .rresp_o  (ram_rresp),
    .rlast_o  (ram_rlast),
    .awvalid_i(ram_awvalid),
    .awready_o(ram_awready),
    .awaddr_i (ram_awaddr),
    .awlen_i  (ram_awlen),
    .awsize_i (ram_awsize),
    .awburst_i(ram_awburst),
    .wvalid_i (ram_wvalid),
    .wready_o (ram_wready),
    .wdata_i  (ram_wdata),
    .wstrb_i  (ram_wstrb),
    .wlast_i  (ram_wlast),
    .bvalid_o (ram_bvalid),
    .bready_i (acc_bready),
    .bresp_o  (ram_bresp)
  );

  dovetail_top u_dovetail (
    .clk_i,
    .rst_ni       (rst_n),
    .interrupt_o  (interrupt),
    .mem_arvalid_o(acc_arvalid),
    .mem_arready_i(acc_arready),
    .mem_araddr_o (acc_araddr),
    .mem_arlen_o  (acc_arlen),
    .mem_arsize_o (acc_arsize),
    .mem_arburst_o(acc_arburst),
    .mem_rvalid_i (acc_rvalid),
    .mem_rready_o (acc_rready),
    .mem_rdata_i  (ram_rdata),
    .mem_rresp_i  (ram_rresp),
    .mem_rlast_i  (ram_rlast),
    .mem_awvalid_o(acc_awvalid),
    .mem_awready_i(acc_awready),
    .mem_awaddr_o (acc_awaddr),
    .mem_awlen_o  (acc_awlen),
    .mem_awsize_o (acc_awsize),
    .mem_awburst_o(acc_awburst),
    .mem_wvalid_o (acc_wvalid),
    .mem_wready_i (acc_wready),
    .mem_wdata_o  (acc_wdata),
    .mem_wstrb_o  (acc_wstrb),
    .mem_wlast_o  (acc_wlast),
    .mem_bvalid_i (acc_bvalid),
    .mem_bready_o (acc_bready),
    .mem_bresp_i  (ram_bresp),
    .reg_awvalid_i(reg_request && write && reg_offer_q),
    .reg_awready_o(reg_awready),
    .reg_awaddr_i (address[11:0]),
    .reg_wvalid_i (reg_request && write && reg_offer_q),
    .reg_wready_o (reg_wready),
    .reg_wdata_i  (wdata),
    .reg_wstrb_i  (4'hf),
    .reg_bvalid_o (reg_bvalid),
    .reg_bready_i (1'b1),
    .reg_bresp_o  (reg_bresp),
    .reg_arvalid_i(reg_request && !write && reg_offer_q),
    .reg_arready_o(reg_arready),
    .reg_araddr_i (address[11:0]),
    .reg_rvalid_o (reg_rvalid),
    .reg_rready_i (1'b1),
    .reg_rdata_o  (reg_rdata),
    .reg_rresp_o  (reg_rresp)
  );

  // ---- Lamps ------------------------------------------------------------------------------------
  logic [HeartBit:0] heart_q;
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) heart_q <= '0;
    else heart_q <= heart_q + 1'b1;
  end
  assign led_o = {heart_q[HeartBit], 4'b0000, request, interrupt, acc_arvalid};
endmodule
