// A timer, and what firmware must know of the system: accesses of the processor that were answered
// with an error, and the size of the memory.
module dovetail_soc_system import dovetail_soc_pkg::*; (
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
  input  logic [31:0] memory_bytes_i,
  input  logic        fault_i,  // in this cycle, an access ends with an error
  input  logic        fault_is_write_i,
  input  logic [31:0] fault_addr_i,
  output logic        timer_interrupt_o,
  output logic        fault_interrupt_o
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

  logic [63:0] time_q, compare_q;
  logic [31:0] time_hi_q, fault_addr_q;
  logic        enable_q, fault_q, fault_is_write_q;

  always_comb begin
    known_write = 1'b0;
    unique case (write_addr)
      SYSTEM_COMPARE_LO, SYSTEM_COMPARE_HI, SYSTEM_TIMER_ENABLE, SYSTEM_FAULT: known_write = 1'b1;
      default: ;
    endcase
  end
  always_comb begin
    known_read = 1'b1;
    unique case (read_addr)
      SYSTEM_TIME_LO:       read_data = time_q[31:0];
      SYSTEM_TIME_HI:       read_data = time_hi_q;
      SYSTEM_COMPARE_LO:    read_data = compare_q[31:0];
      SYSTEM_COMPARE_HI:    read_data = compare_q[63:32];
      SYSTEM_TIMER_ENABLE:  read_data = {31'd0, enable_q};
      SYSTEM_FAULT:         read_data = {30'd0, fault_is_write_q, fault_q};
      SYSTEM_FAULT_ADDRESS: read_data = fault_addr_q;
      SYSTEM_MEMORY_BYTES:  read_data = memory_bytes_i;
      default: begin
        read_data  = '0;
        known_read = 1'b0;
      end
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      time_q           <= '0;
      time_hi_q        <= '0;
      compare_q        <= '1;
      enable_q         <= 1'b0;
      fault_q          <= 1'b0;
      fault_is_write_q <= 1'b0;
      fault_addr_q     <= '0;
    end else begin
      time_q <= time_q + 64'd1;
      if (read && read_addr == SYSTEM_TIME_LO) time_hi_q <= time_q[63:32];
      if (write) begin
        unique case (write_addr)
          SYSTEM_COMPARE_LO:   compare_q[31:0] <= write_data;
          SYSTEM_COMPARE_HI:   compare_q[63:32] <= write_data;
          SYSTEM_TIMER_ENABLE: enable_q <= write_data[0];
          SYSTEM_FAULT:        fault_q <= fault_q && !write_data[0];
          default: ;
        endcase
      end
      // The first of several is kept.
      if (fault_i && !fault_q) begin
        fault_q          <= 1'b1;
        fault_is_write_q <= fault_is_write_i;
        fault_addr_q     <= fault_addr_i;
      end
    end
  end
  assign timer_interrupt_o = enable_q && time_q >= compare_q;
  assign fault_interrupt_o = fault_q;
endmodule
