// The AXI4-Lite registers (isa/spec/registers.h). One access at a time; what lies beside the map is answered with SLVERR.
module dovetail_regs (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // AXI4-Lite
  input  logic                 awvalid_i,
  output logic                 awready_o,
  input  logic [11:0]          awaddr_i,
  input  logic                 wvalid_i,
  output logic                 wready_o,
  input  logic [31:0]          wdata_i,
  input  logic [3:0]           wstrb_i,
  output logic                 bvalid_o,
  input  logic                 bready_i,
  output logic [1:0]           bresp_o,
  input  logic                 arvalid_i,
  output logic                 arready_o,
  input  logic [11:0]          araddr_i,
  output logic                 rvalid_o,
  input  logic                 rready_i,
  output logic [31:0]          rdata_o,
  output logic [1:0]           rresp_o,
  output logic                 interrupt_o,
  // The launch.
  output logic                 start_o,
  output logic [63:0]          program_base_o,
  output logic [31:0]          begin_o,
  output logic [31:0]          count_o,
  input  logic                 busy_i,
  input  logic                 done_i,         // it is complete
  input  logic                 error_i,        // it was stopped, or left tokens
  input  logic [3:0]           error_code_i,
  input  logic [31:0]          error_index_i,
  input  logic [63:0]          cycles_i,
  input  logic [63:0]          tokens_i        // in the FIFOs, 16 bits each
);
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlvErr = 2'b10;

  logic [63:0] program_base_q, cycles_q;
  logic [31:0] begin_q, count_q, error_index_q;
  logic [1:0]  enable_q, status_q;
  logic        done_q, error_q, start_q, bvalid_q, rvalid_q;
  logic [3:0]  error_code_q;
  logic [1:0]  bresp_q, rresp_q, rresp;
  logic [31:0] rdata_q, rdata, mask;
  logic        write, read, known_write;

  function [31:0] merge(input logic [31:0] old_value, input logic [31:0] new_value, input logic [31:0] strobes);
    merge = (old_value & ~strobes) | (new_value & strobes);
  endfunction

  assign write     = awvalid_i && wvalid_i && !bvalid_q;
  assign awready_o = write;
  assign wready_o  = write;
  assign bvalid_o  = bvalid_q;
  assign bresp_o   = bresp_q;
  assign read      = arvalid_i && !rvalid_q;
  assign arready_o = read;
  assign rvalid_o  = rvalid_q;
  assign rdata_o   = rdata_q;
  assign rresp_o   = rresp_q;
  assign mask      = {{8{wstrb_i[3]}}, {8{wstrb_i[2]}}, {8{wstrb_i[1]}}, {8{wstrb_i[0]}}};

  always_comb begin
    known_write = 1'b1;
    unique case (awaddr_i)
      dovetail_isa_pkg::REG_CONTROL_OFFSET, dovetail_isa_pkg::REG_STATUS_OFFSET, dovetail_isa_pkg::REG_ERROR_INSTRUCTION_OFFSET,
      dovetail_isa_pkg::REG_INTERRUPT_ENABLE_OFFSET, dovetail_isa_pkg::REG_INTERRUPT_STATUS_OFFSET,
      dovetail_isa_pkg::REG_PROGRAM_BASE_LO_OFFSET, dovetail_isa_pkg::REG_PROGRAM_BASE_HI_OFFSET,
      dovetail_isa_pkg::REG_INSTRUCTION_BEGIN_OFFSET, dovetail_isa_pkg::REG_INSTRUCTION_COUNT_OFFSET,
      dovetail_isa_pkg::REG_CYCLES_LO_OFFSET, dovetail_isa_pkg::REG_CYCLES_HI_OFFSET, dovetail_isa_pkg::REG_ID_OFFSET,
      dovetail_isa_pkg::REG_VERSION_OFFSET, dovetail_isa_pkg::REG_CONFIG_OFFSET, dovetail_isa_pkg::REG_TOKENS_LOAD_OFFSET,
      dovetail_isa_pkg::REG_TOKENS_STORE_OFFSET: ;
      default: known_write = 1'b0;
    endcase
  end

  always_comb begin
    rdata = '0;
    rresp = Okay;
    unique case (araddr_i)
      dovetail_isa_pkg::REG_CONTROL_OFFSET: ;
      dovetail_isa_pkg::REG_STATUS_OFFSET: rdata = {24'd0, error_code_q, 1'b0, error_q, done_q, busy_i};
      dovetail_isa_pkg::REG_ERROR_INSTRUCTION_OFFSET: rdata = error_index_q;
      dovetail_isa_pkg::REG_INTERRUPT_ENABLE_OFFSET: rdata = {30'd0, enable_q};
      dovetail_isa_pkg::REG_INTERRUPT_STATUS_OFFSET: rdata = {30'd0, status_q};
      dovetail_isa_pkg::REG_PROGRAM_BASE_LO_OFFSET: rdata = program_base_q[31:0];
      dovetail_isa_pkg::REG_PROGRAM_BASE_HI_OFFSET: rdata = program_base_q[63:32];
      dovetail_isa_pkg::REG_INSTRUCTION_BEGIN_OFFSET: rdata = begin_q;
      dovetail_isa_pkg::REG_INSTRUCTION_COUNT_OFFSET: rdata = count_q;
      dovetail_isa_pkg::REG_CYCLES_LO_OFFSET: rdata = cycles_q[31:0];
      dovetail_isa_pkg::REG_CYCLES_HI_OFFSET: rdata = cycles_q[63:32];
      dovetail_isa_pkg::REG_ID_OFFSET: rdata = dovetail_isa_pkg::REG_ID_RESET;
      dovetail_isa_pkg::REG_VERSION_OFFSET: rdata = dovetail_isa_pkg::REG_VERSION_RESET;
      dovetail_isa_pkg::REG_CONFIG_OFFSET: rdata = dovetail_isa_pkg::REG_CONFIG_RESET;
      dovetail_isa_pkg::REG_TOKENS_LOAD_OFFSET: rdata = tokens_i[31:0];
      dovetail_isa_pkg::REG_TOKENS_STORE_OFFSET: rdata = tokens_i[63:32];
      default: rresp = SlvErr;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      program_base_q <= '0;
      begin_q        <= '0;
      count_q        <= '0;
      enable_q       <= '0;
      status_q       <= '0;
      done_q         <= 1'b0;
      error_q        <= 1'b0;
      error_code_q   <= '0;
      error_index_q  <= '0;
      cycles_q       <= '0;
      start_q        <= 1'b0;
      bvalid_q       <= 1'b0;
      bresp_q        <= Okay;
      rvalid_q       <= 1'b0;
      rresp_q        <= Okay;
      rdata_q        <= '0;
    end else begin
      start_q <= 1'b0;
      if (bvalid_q && bready_i) bvalid_q <= 1'b0;
      if (rvalid_q && rready_i) rvalid_q <= 1'b0;
      if (read) begin
        rvalid_q <= 1'b1;
        rdata_q  <= rdata;
        rresp_q  <= rresp;
      end
      if (write) begin
        bvalid_q <= 1'b1;
        bresp_q  <= known_write ? Okay : SlvErr;
        unique case (awaddr_i)
          dovetail_isa_pkg::REG_CONTROL_OFFSET: start_q <= wdata_i[0] && wstrb_i[0] && !busy_i && !start_q;
          dovetail_isa_pkg::REG_INTERRUPT_ENABLE_OFFSET: if (wstrb_i[0]) enable_q <= wdata_i[1:0];
          dovetail_isa_pkg::REG_INTERRUPT_STATUS_OFFSET: if (wstrb_i[0]) status_q <= status_q & ~wdata_i[1:0];
          dovetail_isa_pkg::REG_PROGRAM_BASE_LO_OFFSET: program_base_q[31:0] <= merge(program_base_q[31:0], wdata_i, mask);
          dovetail_isa_pkg::REG_PROGRAM_BASE_HI_OFFSET: program_base_q[63:32] <= merge(program_base_q[63:32], wdata_i, mask);
          dovetail_isa_pkg::REG_INSTRUCTION_BEGIN_OFFSET: begin_q <= merge(begin_q, wdata_i, mask);
          dovetail_isa_pkg::REG_INSTRUCTION_COUNT_OFFSET: count_q <= merge(count_q, wdata_i, mask);
          default: ;
        endcase
      end
      // Events win over the clearing of their bit in the same cycle.
      if (start_q) begin
        done_q        <= 1'b0;
        error_q       <= 1'b0;
        error_code_q  <= '0;
        error_index_q <= '0;
        cycles_q      <= '0;
      end else if (busy_i) begin
        cycles_q <= cycles_i;
      end
      if (done_i) begin
        done_q      <= 1'b1;
        status_q[0] <= 1'b1;
      end
      if (error_i) begin
        error_q       <= 1'b1;
        error_code_q  <= error_code_i;
        error_index_q <= error_index_i;
        status_q[1]   <= 1'b1;
      end
    end
  end

  assign start_o        = start_q;
  assign program_base_o = program_base_q;
  assign begin_o        = begin_q;
  assign count_o        = count_q;
  assign interrupt_o    = (status_q & enable_q) != 2'b00;
endmodule
