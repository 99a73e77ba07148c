// A system on chip: PicoRV32, RAM for its program, UART, timer, and the accelerator with its
// interrupt. The accelerator's memory is outside: the port mem_*, an AXI4 slave that answers in order
// and with SLVERR where there is no memory. The processor reaches it through the same port; address 0
// of the accelerator is the beginning of its window. Nothing but the accelerator's own bursts uses the
// port while firmware is in RAM and leaves the memory alone.
module dovetail_soc import dovetail_isa_pkg::*, dovetail_soc_pkg::*; #(
  parameter int unsigned RamBytes = 65536,  // a power of two
  localparam int unsigned AddrWidth = ADDRESS_BITS,
  localparam int unsigned BusBytes = BUS_BYTES,
  localparam int unsigned BusBits = 8 * BusBytes
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 uart_rx_i,
  output logic                 uart_tx_o,
  output logic                 trap_o,          // the processor has stopped
  input  logic [31:0]          memory_bytes_i,  // constant: the size of the memory
  // The memory: AXI4 master; no IDs, INCR bursts of whole beats.
  output logic                 mem_arvalid_o,
  input  logic                 mem_arready_i,
  output logic [AddrWidth-1:0] mem_araddr_o,
  output logic [7:0]           mem_arlen_o,
  output logic [2:0]           mem_arsize_o,
  output logic [1:0]           mem_arburst_o,
  input  logic                 mem_rvalid_i,
  output logic                 mem_rready_o,
  input  logic [BusBits-1:0]   mem_rdata_i,
  input  logic [1:0]           mem_rresp_i,
  input  logic                 mem_rlast_i,
  output logic                 mem_awvalid_o,
  input  logic                 mem_awready_i,
  output logic [AddrWidth-1:0] mem_awaddr_o,
  output logic [7:0]           mem_awlen_o,
  output logic [2:0]           mem_awsize_o,
  output logic [1:0]           mem_awburst_o,
  output logic                 mem_wvalid_o,
  input  logic                 mem_wready_i,
  output logic [BusBits-1:0]   mem_wdata_o,
  output logic [BusBytes-1:0]  mem_wstrb_o,
  output logic                 mem_wlast_o,
  input  logic                 mem_bvalid_i,
  output logic                 mem_bready_o,
  input  logic [1:0]           mem_bresp_i
);
  localparam int unsigned MemoryLog2 = AddrWidth < MEMORY_LOG2 ? AddrWidth : MEMORY_LOG2;

  // ---- The processor and its targets ------------------------------------------------------------
  logic        arvalid, arready, rvalid, rready, awvalid, awready, wvalid, wready, bvalid, bready;
  logic [31:0] araddr, rdata, awaddr, wdata, interrupts, fault_addr;
  logic [3:0]  wstrb;
  logic [1:0]  rresp, bresp;
  logic        fault, fault_is_write;
  logic        accelerator_interrupt, timer_interrupt, fault_interrupt;

  always_comb begin
    interrupts = '0;
    interrupts[INTERRUPT_ACCELERATOR] = accelerator_interrupt;
    interrupts[INTERRUPT_TIMER]       = timer_interrupt;
    interrupts[INTERRUPT_FAULT]       = fault_interrupt;
  end

  dovetail_soc_cpu u_cpu (
    .clk_i,
    .rst_ni,
    .interrupts_i    (interrupts),
    .trap_o,
    .arvalid_o       (arvalid),
    .arready_i       (arready),
    .araddr_o        (araddr),
    .rvalid_i        (rvalid),
    .rready_o        (rready),
    .rdata_i         (rdata),
    .rresp_i         (rresp),
    .awvalid_o       (awvalid),
    .awready_i       (awready),
    .awaddr_o        (awaddr),
    .wvalid_o        (wvalid),
    .wready_i        (wready),
    .wdata_o         (wdata),
    .wstrb_o         (wstrb),
    .bvalid_i        (bvalid),
    .bready_o        (bready),
    .bresp_i         (bresp),
    .fault_o         (fault),
    .fault_is_write_o(fault_is_write),
    .fault_addr_o    (fault_addr)
  );

  // Of each target: indexed by window.
  logic [WINDOWS-1:0]    t_arvalid, t_arready, t_rvalid, t_rready, t_awvalid, t_awready, t_wvalid;
  logic [WINDOWS-1:0]    t_wready, t_bvalid, t_bready;
  logic [32*WINDOWS-1:0] t_rdata;
  logic [2*WINDOWS-1:0]  t_rresp, t_bresp;

  dovetail_soc_decode #(
    .MemoryLog2(MemoryLog2)
  ) u_decode (
    .clk_i,
    .rst_ni,
    .arvalid_i  (arvalid),
    .arready_o  (arready),
    .araddr_i   (araddr),
    .rvalid_o   (rvalid),
    .rready_i   (rready),
    .rdata_o    (rdata),
    .rresp_o    (rresp),
    .awvalid_i  (awvalid),
    .awready_o  (awready),
    .awaddr_i   (awaddr),
    .wvalid_i   (wvalid),
    .wready_o   (wready),
    .bvalid_o   (bvalid),
    .bready_i   (bready),
    .bresp_o    (bresp),
    .t_arvalid_o(t_arvalid),
    .t_arready_i(t_arready),
    .t_rvalid_i (t_rvalid),
    .t_rready_o (t_rready),
    .t_rdata_i  (t_rdata),
    .t_rresp_i  (t_rresp),
    .t_awvalid_o(t_awvalid),
    .t_awready_i(t_awready),
    .t_wvalid_o (t_wvalid),
    .t_wready_i (t_wready),
    .t_bvalid_i (t_bvalid),
    .t_bready_o (t_bready),
    .t_bresp_i  (t_bresp)
  );

  // ---- RAM --------------------------------------------------------------------------------------
  logic ram_rlast;

  dovetail_soc_ram #(
    .Bytes      (RamBytes),
    .BusBytes   (4),
    .AddressBits(RAM_LOG2)
  ) u_ram (
    .clk_i,
    .rst_ni,
    .arvalid_i(t_arvalid[WINDOW_RAM]),
    .arready_o(t_arready[WINDOW_RAM]),
    .araddr_i (araddr[RAM_LOG2-1:0]),
    .arlen_i  (8'd0),
    .arsize_i (3'd2),
    .arburst_i(2'b01),
    .rvalid_o (t_rvalid[WINDOW_RAM]),
    .rready_i (t_rready[WINDOW_RAM]),
    .rdata_o  (t_rdata[32*WINDOW_RAM+:32]),
    .rresp_o  (t_rresp[2*WINDOW_RAM+:2]),
    .rlast_o  (ram_rlast),
    .awvalid_i(t_awvalid[WINDOW_RAM]),
    .awready_o(t_awready[WINDOW_RAM]),
    .awaddr_i (awaddr[RAM_LOG2-1:0]),
    .awlen_i  (8'd0),
    .awsize_i (3'd2),
    .awburst_i(2'b01),
    .wvalid_i (t_wvalid[WINDOW_RAM]),
    .wready_o (t_wready[WINDOW_RAM]),
    .wdata_i  (wdata),
    .wstrb_i  (wstrb),
    .wlast_i  (1'b1),
    .bvalid_o (t_bvalid[WINDOW_RAM]),
    .bready_i (t_bready[WINDOW_RAM]),
    .bresp_o  (t_bresp[2*WINDOW_RAM+:2])
  );

  // ---- Registers --------------------------------------------------------------------------------
  // Of the UART and of the system, two windows in a row: indexed by window.
  logic [WINDOW_SYSTEM:WINDOW_UART]          write, known_write, read, known_read;
  logic [32*WINDOW_SYSTEM+31:32*WINDOW_UART] read_data;

  for (genvar w = WINDOW_UART; w <= WINDOW_SYSTEM; w++) begin : gen_registers
    dovetail_soc_lite u_lite (
      .clk_i,
      .rst_ni,
      .arvalid_i    (t_arvalid[w]),
      .arready_o    (t_arready[w]),
      .rvalid_o     (t_rvalid[w]),
      .rready_i     (t_rready[w]),
      .rdata_o      (t_rdata[32*w+:32]),
      .rresp_o      (t_rresp[2*w+:2]),
      .awvalid_i    (t_awvalid[w]),
      .awready_o    (t_awready[w]),
      .wvalid_i     (t_wvalid[w]),
      .wready_o     (t_wready[w]),
      .wstrb_i      (wstrb),
      .bvalid_o     (t_bvalid[w]),
      .bready_i     (t_bready[w]),
      .bresp_o      (t_bresp[2*w+:2]),
      .write_o      (write[w]),
      .known_write_i(known_write[w]),
      .read_o       (read[w]),
      .read_data_i  (read_data[32*w+:32]),
      .known_read_i (known_read[w])
    );
  end
  dovetail_soc_uart_regs u_uart (
    .clk_i,
    .rst_ni,
    .write_i      (write[WINDOW_UART]),
    .write_addr_i (awaddr[11:0]),
    .write_data_i (wdata[15:0]),
    .known_write_o(known_write[WINDOW_UART]),
    .read_i       (read[WINDOW_UART]),
    .read_addr_i  (araddr[11:0]),
    .read_data_o  (read_data[32*WINDOW_UART+:32]),
    .known_read_o (known_read[WINDOW_UART]),
    .rx_i         (uart_rx_i),
    .tx_o         (uart_tx_o)
  );
  dovetail_soc_system u_system (
    .clk_i,
    .rst_ni,
    .write_i          (write[WINDOW_SYSTEM]),
    .write_addr_i     (awaddr[11:0]),
    .write_data_i     (wdata),
    .known_write_o    (known_write[WINDOW_SYSTEM]),
    .read_i           (read[WINDOW_SYSTEM]),
    .read_addr_i      (araddr[11:0]),
    .read_data_o      (read_data[32*WINDOW_SYSTEM+:32]),
    .known_read_o     (known_read[WINDOW_SYSTEM]),
    .memory_bytes_i,
    .fault_i          (fault),
    .fault_is_write_i (fault_is_write),
    .fault_addr_i     (fault_addr),
    .timer_interrupt_o(timer_interrupt),
    .fault_interrupt_o(fault_interrupt)
  );

  // ---- The accelerator --------------------------------------------------------------------------
  logic                 a_arvalid, a_arready, a_rvalid, a_awvalid, a_awready, a_wvalid, a_wready;
  logic                 a_wlast, a_bvalid;
  logic [AddrWidth-1:0] a_araddr, a_awaddr;
  logic [7:0]           a_arlen, a_awlen;
  logic [2:0]           a_arsize, a_awsize;
  logic [1:0]           a_arburst, a_awburst;
  logic [BusBits-1:0]   a_wdata;
  logic [BusBytes-1:0]  a_wstrb;

  dovetail_top u_accelerator (
    .clk_i,
    .rst_ni,
    .interrupt_o  (accelerator_interrupt),
    .mem_arvalid_o(a_arvalid),
    .mem_arready_i(a_arready),
    .mem_araddr_o (a_araddr),
    .mem_arlen_o  (a_arlen),
    .mem_arsize_o (a_arsize),
    .mem_arburst_o(a_arburst),
    .mem_rvalid_i (a_rvalid),
    .mem_rready_o,
    .mem_rdata_i,
    .mem_rresp_i,
    .mem_rlast_i,
    .mem_awvalid_o(a_awvalid),
    .mem_awready_i(a_awready),
    .mem_awaddr_o (a_awaddr),
    .mem_awlen_o  (a_awlen),
    .mem_awsize_o (a_awsize),
    .mem_awburst_o(a_awburst),
    .mem_wvalid_o (a_wvalid),
    .mem_wready_i (a_wready),
    .mem_wdata_o  (a_wdata),
    .mem_wstrb_o  (a_wstrb),
    .mem_wlast_o  (a_wlast),
    .mem_bvalid_i (a_bvalid),
    .mem_bready_o,
    .mem_bresp_i,
    .reg_arvalid_i(t_arvalid[WINDOW_ACCELERATOR]),
    .reg_arready_o(t_arready[WINDOW_ACCELERATOR]),
    .reg_araddr_i (araddr[11:0]),
    .reg_rvalid_o (t_rvalid[WINDOW_ACCELERATOR]),
    .reg_rready_i (t_rready[WINDOW_ACCELERATOR]),
    .reg_rdata_o  (t_rdata[32*WINDOW_ACCELERATOR+:32]),
    .reg_rresp_o  (t_rresp[2*WINDOW_ACCELERATOR+:2]),
    .reg_awvalid_i(t_awvalid[WINDOW_ACCELERATOR]),
    .reg_awready_o(t_awready[WINDOW_ACCELERATOR]),
    .reg_awaddr_i (awaddr[11:0]),
    .reg_wvalid_i (t_wvalid[WINDOW_ACCELERATOR]),
    .reg_wready_o (t_wready[WINDOW_ACCELERATOR]),
    .reg_wdata_i  (wdata),
    .reg_wstrb_i  (wstrb),
    .reg_bvalid_o (t_bvalid[WINDOW_ACCELERATOR]),
    .reg_bready_i (t_bready[WINDOW_ACCELERATOR]),
    .reg_bresp_o  (t_bresp[2*WINDOW_ACCELERATOR+:2])
  );

  // ---- The memory's port ------------------------------------------------------------------------
  // Only the processor's own reads need the data in 32 bits; both masters take all answers at once.
  assign t_rresp[2*WINDOW_MEMORY+:2] = mem_rresp_i;
  assign t_bresp[2*WINDOW_MEMORY+:2] = mem_bresp_i;

  dovetail_soc_arbiter #(
    .AddressBits(AddrWidth),
    .BusBytes   (BusBytes)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .a_arvalid_i(a_arvalid),
    .a_arready_o(a_arready),
    .a_araddr_i (a_araddr),
    .a_arlen_i  (a_arlen),
    .a_arsize_i (a_arsize),
    .a_arburst_i(a_arburst),
    .a_rvalid_o (a_rvalid),
    .a_awvalid_i(a_awvalid),
    .a_awready_o(a_awready),
    .a_awaddr_i (a_awaddr),
    .a_awlen_i  (a_awlen),
    .a_awsize_i (a_awsize),
    .a_awburst_i(a_awburst),
    .a_wvalid_i (a_wvalid),
    .a_wready_o (a_wready),
    .a_wdata_i  (a_wdata),
    .a_wstrb_i  (a_wstrb),
    .a_wlast_i  (a_wlast),
    .a_bvalid_o (a_bvalid),
    .c_arvalid_i(t_arvalid[WINDOW_MEMORY]),
    .c_arready_o(t_arready[WINDOW_MEMORY]),
    .c_araddr_i (AddrWidth'(araddr[MemoryLog2-1:0])),
    .c_rvalid_o (t_rvalid[WINDOW_MEMORY]),
    .c_rdata_o  (t_rdata[32*WINDOW_MEMORY+:32]),
    .c_awvalid_i(t_awvalid[WINDOW_MEMORY]),
    .c_awready_o(t_awready[WINDOW_MEMORY]),
    .c_awaddr_i (AddrWidth'(awaddr[MemoryLog2-1:0])),
    .c_wvalid_i (t_wvalid[WINDOW_MEMORY]),
    .c_wready_o (t_wready[WINDOW_MEMORY]),
    .c_wdata_i  (wdata),
    .c_wstrb_i  (wstrb),
    .c_bvalid_o (t_bvalid[WINDOW_MEMORY]),
    .m_arvalid_o(mem_arvalid_o),
    .m_arready_i(mem_arready_i),
    .m_araddr_o (mem_araddr_o),
    .m_arlen_o  (mem_arlen_o),
    .m_arsize_o (mem_arsize_o),
    .m_arburst_o(mem_arburst_o),
    .m_rvalid_i (mem_rvalid_i),
    .m_rdata_i  (mem_rdata_i),
    .m_rlast_i  (mem_rlast_i),
    .m_awvalid_o(mem_awvalid_o),
    .m_awready_i(mem_awready_i),
    .m_awaddr_o (mem_awaddr_o),
    .m_awlen_o  (mem_awlen_o),
    .m_awsize_o (mem_awsize_o),
    .m_awburst_o(mem_awburst_o),
    .m_wvalid_o (mem_wvalid_o),
    .m_wready_i (mem_wready_i),
    .m_wdata_o  (mem_wdata_o),
    .m_wstrb_o  (mem_wstrb_o),
    .m_wlast_o  (mem_wlast_o),
    .m_bvalid_i (mem_bvalid_i)
  );
endmodule
