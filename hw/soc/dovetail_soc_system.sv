// A timer, and what firmware must know of the system: accesses of the processor that were answered
// with an error, and the size of the memory.
module dovetail_soc_system import dovetail_soc_pkg::*; (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Accesses of dovetail_soc_lite: of one cycle, if there is a register.
  input  logic        write_i,
  input  logic [11:0] write_addr_i,
  input  logic [31:0] write_data_i,
  output logic        known_write_o,
  input  logic        read_i,
  input  logic [11:0] read_addr_i,
  output logic [31:0] read_data_o,
  output logic        known_read_o,
  input  logic [31:0] memory_bytes_i,
  input  logic        fault_i,  // in this cycle, an access ends with an error
  input  logic        fault_is_write_i,
  input  logic [31:0] fault_addr_i,
  output logic        timer_interrupt_o,
  output logic        fault_interrupt_o
);
  logic [63:0] time_q, compare_q;
  logic [31:0] time_hi_q, fault_addr_q;
  logic        enable_q, fault_q, fault_is_write_q;

  always_comb begin
    known_write_o = 1'b0;
    unique case (write_addr_i)
      SYSTEM_COMPARE_LO, SYSTEM_COMPARE_HI, SYSTEM_TIMER_ENABLE, SYSTEM_FAULT: known_write_o = 1'b1;
      default: ;
    endcase
  end
  always_comb begin
    known_read_o = 1'b1;
    unique case (read_addr_i)
      SYSTEM_TIME_LO:       read_data_o = time_q[31:0];
      SYSTEM_TIME_HI:       read_data_o = time_hi_q;
      SYSTEM_COMPARE_LO:    read_data_o = compare_q[31:0];
      SYSTEM_COMPARE_HI:    read_data_o = compare_q[63:32];
      SYSTEM_TIMER_ENABLE:  read_data_o = {31'd0, enable_q};
      SYSTEM_FAULT:         read_data_o = {30'd0, fault_is_write_q, fault_q};
      SYSTEM_FAULT_ADDRESS: read_data_o = fault_addr_q;
      SYSTEM_MEMORY_BYTES:  read_data_o = memory_bytes_i;
      default: begin
        read_data_o  = '0;
        known_read_o = 1'b0;
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
      if (read_i && read_addr_i == SYSTEM_TIME_LO) time_hi_q <= time_q[63:32];
      if (write_i) begin
        unique case (write_addr_i)
          SYSTEM_COMPARE_LO:   compare_q[31:0] <= write_data_i;
          SYSTEM_COMPARE_HI:   compare_q[63:32] <= write_data_i;
          SYSTEM_TIMER_ENABLE: enable_q <= write_data_i[0];
          SYSTEM_FAULT:        fault_q <= fault_q && !write_data_i[0];
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
