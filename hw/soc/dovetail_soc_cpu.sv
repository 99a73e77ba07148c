// PicoRV32 as an AXI4-Lite master with one access at a time: RV32IM, and interrupts by PicoRV32's own
// instructions. An access that is answered with an error ends like any other, and is reported.
module dovetail_soc_cpu import dovetail_soc_pkg::*; (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [31:0] interrupts_i,  // levels
  output logic        trap_o,        // stopped at an instruction that it does not know
  output logic        arvalid_o,
  input  logic        arready_i,
  output logic [31:0] araddr_o,
  input  logic        rvalid_i,
  output logic        rready_o,
  input  logic [31:0] rdata_i,
  input  logic [1:0]  rresp_i,
  output logic        awvalid_o,
  input  logic        awready_i,
  output logic [31:0] awaddr_o,
  output logic        wvalid_o,
  input  logic        wready_i,
  output logic [31:0] wdata_o,
  output logic [3:0]  wstrb_o,
  input  logic        bvalid_i,
  output logic        bready_o,
  input  logic [1:0]  bresp_i,
  output logic        fault_o,  // in this cycle, an access ends with an error
  output logic        fault_is_write_o,
  output logic [31:0] fault_addr_o
);
  logic        valid, ready, writes, la_read;
  logic [31:0] addr, la_addr, wdata;
  logic [3:0]  wstrb;
  logic        ar_done_q, aw_done_q, w_done_q;

  picorv32 #(
    .BARREL_SHIFTER  (1'b1),
    .ENABLE_FAST_MUL (1'b1),
    .ENABLE_DIV      (1'b1),
    .ENABLE_IRQ      (1'b1),
    .ENABLE_IRQ_TIMER(1'b0),
    .LATCHED_IRQ     (32'h0000_0007),  // those of PicoRV32 itself
    .PROGADDR_RESET  (RAM_BASE),
    .PROGADDR_IRQ    (RAM_BASE + 32'h10)
  ) u_core (
    .clk         (clk_i),
    .resetn      (rst_ni),
    .trap        (trap_o),
    .mem_valid   (valid),
    .mem_instr   (),
    .mem_ready   (ready),
    .mem_addr    (addr),
    .mem_wdata   (wdata),
    .mem_wstrb   (wstrb),
    .mem_rdata   (rdata_i),
    .mem_la_read (la_read),
    .mem_la_write(),
    .mem_la_addr (la_addr),
    .mem_la_wdata(),
    .mem_la_wstrb(),
    .pcpi_valid  (),
    .pcpi_insn   (),
    .pcpi_rs1    (),
    .pcpi_rs2    (),
    .pcpi_wr     (1'b0),
    .pcpi_rd     (32'd0),
    .pcpi_wait   (1'b0),
    .pcpi_ready  (1'b0),
    .irq         (interrupts_i),
    .eoi         (),
    .trace_valid (),
    .trace_data  ()
  );

  assign writes    = wstrb != 4'd0;
  // A read is announced a cycle before it is valid, and stays.
  assign arvalid_o = la_read || (valid && !writes && !ar_done_q);
  assign awvalid_o = valid && writes && !aw_done_q;
  assign wvalid_o  = valid && writes && !w_done_q;
  assign araddr_o  = la_read ? la_addr : addr;
  assign awaddr_o  = addr;
  assign wdata_o   = wdata;
  assign wstrb_o   = wstrb;
  assign rready_o  = 1'b1;
  assign bready_o  = 1'b1;
  assign ready     = valid && (writes ? bvalid_i : rvalid_i);

  assign fault_o          = ready && (writes ? bresp_i : rresp_i) != 2'b00;
  assign fault_is_write_o = writes;
  assign fault_addr_o     = addr;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ar_done_q <= 1'b0;
      aw_done_q <= 1'b0;
      w_done_q  <= 1'b0;
    end else if (ready) begin
      ar_done_q <= 1'b0;
      aw_done_q <= 1'b0;
      w_done_q  <= 1'b0;
    end else begin
      if (arvalid_o && arready_i) ar_done_q <= 1'b1;
      if (awvalid_o && awready_i) aw_done_q <= 1'b1;
      if (wvalid_o && wready_i) w_done_q <= 1'b1;
    end
  end
endmodule
