// The AXI4-Lite registers (isa/spec/registers.h). One access at a time; addresses outside the map
// are answered with SLVERR.
module dovetail_regs import dovetail_isa_pkg::*; (
  input  logic        clk_i,
  input  logic        rst_ni,
  // AXI4-Lite.
  input  axil_ax_t    aw_i,
  output logic        aw_ready_o,
  input  axil_w_t     w_i,
  output logic        w_ready_o,
  output axi_b_t      b_o,
  input  logic        b_ready_i,
  input  axil_ax_t    ar_i,
  output logic        ar_ready_o,
  output axil_r_t     r_o,
  input  logic        r_ready_i,
  output logic        interrupt_o,
  // Control and status of the launch.
  output logic        start_o,
  output logic [63:0] program_base_o,
  output logic [ADDRESS_BITS-1:0] offset_o,  // 0 without the extension
  output logic [31:0] begin_o,
  output logic [31:0] count_o,
  input  logic        busy_i,
  input  logic        done_i,   // the launch is complete
  input  logic        error_i,  // the launch was stopped, or left tokens
  input  error_code_e error_code_i,
  input  logic [31:0] error_index_i,
  input  logic [63:0] cycles_i,
  input  logic [63:0] tokens_i  // tokens in the FIFOs, 16 bits each
);
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlvErr = 2'b10;

  logic [63:0] program_base_q, cycles_q, offset;
  logic [31:0] begin_q, count_q, error_index_q;
  logic [1:0]  enable_q, status_q;
  logic        done_q, error_q, start_q, bvalid_q, rvalid_q;
  error_code_e error_code_q;
  logic [1:0]  bresp_q, rresp_q, rresp;
  logic [31:0] rdata_q, rdata, mask;
  logic        write, read, known_write;

  function [31:0] merge(input logic [31:0] old_value, input logic [31:0] new_value,
                        input logic [31:0] strobes);
    merge = (old_value & ~strobes) | (new_value & strobes);
  endfunction

  assign write      = aw_i.valid && w_i.valid && !bvalid_q;
  assign aw_ready_o = write;
  assign w_ready_o  = write;
  assign b_o        = {bvalid_q, bresp_q};
  assign read       = ar_i.valid && !rvalid_q;
  assign ar_ready_o = read;
  assign r_o        = {rvalid_q, rdata_q, rresp_q};
  assign mask       = {{8{w_i.strb[3]}}, {8{w_i.strb[2]}}, {8{w_i.strb[1]}}, {8{w_i.strb[0]}}};

  always_comb begin
    known_write = 1'b1;
    unique case (aw_i.addr)
      REG_CONTROL_OFFSET, REG_STATUS_OFFSET, REG_ERROR_INSTRUCTION_OFFSET,
      REG_INTERRUPT_ENABLE_OFFSET, REG_INTERRUPT_STATUS_OFFSET, REG_PROGRAM_BASE_LO_OFFSET,
      REG_PROGRAM_BASE_HI_OFFSET, REG_INSTRUCTION_BEGIN_OFFSET, REG_INSTRUCTION_COUNT_OFFSET,
      REG_CYCLES_LO_OFFSET, REG_CYCLES_HI_OFFSET, REG_ID_OFFSET, REG_VERSION_OFFSET,
      REG_CONFIG_OFFSET, REG_TOKENS_LOAD_OFFSET, REG_TOKENS_STORE_OFFSET: ;
      REG_OFFSET_LO_OFFSET, REG_OFFSET_HI_OFFSET: known_write = OFFSET_ENABLED != 0;
      default: known_write = 1'b0;
    endcase
  end

  always_comb begin
    rdata = '0;
    rresp = Okay;
    unique case (ar_i.addr)
      REG_CONTROL_OFFSET: ;
      REG_STATUS_OFFSET: rdata = {24'd0, error_code_q, 1'b0, error_q, done_q, busy_i};
      REG_ERROR_INSTRUCTION_OFFSET: rdata = error_index_q;
      REG_INTERRUPT_ENABLE_OFFSET: rdata = {30'd0, enable_q};
      REG_INTERRUPT_STATUS_OFFSET: rdata = {30'd0, status_q};
      REG_PROGRAM_BASE_LO_OFFSET: rdata = program_base_q[31:0];
      REG_PROGRAM_BASE_HI_OFFSET: rdata = program_base_q[63:32];
      REG_INSTRUCTION_BEGIN_OFFSET: rdata = begin_q;
      REG_INSTRUCTION_COUNT_OFFSET: rdata = count_q;
      REG_CYCLES_LO_OFFSET: rdata = cycles_q[31:0];
      REG_CYCLES_HI_OFFSET: rdata = cycles_q[63:32];
      REG_ID_OFFSET: rdata = REG_ID_RESET;
      REG_VERSION_OFFSET: rdata = REG_VERSION_RESET;
      REG_CONFIG_OFFSET: rdata = REG_CONFIG_RESET;
      REG_TOKENS_LOAD_OFFSET: rdata = tokens_i[31:0];
      REG_TOKENS_STORE_OFFSET: rdata = tokens_i[63:32];
      REG_OFFSET_LO_OFFSET: begin
        rdata = offset[31:0];
        if (OFFSET_ENABLED == 0) rresp = SlvErr;
      end
      REG_OFFSET_HI_OFFSET: begin
        rdata = offset[63:32];
        if (OFFSET_ENABLED == 0) rresp = SlvErr;
      end
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
      error_code_q   <= ERROR_NONE;
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
      if (bvalid_q && b_ready_i) bvalid_q <= 1'b0;
      if (rvalid_q && r_ready_i) rvalid_q <= 1'b0;
      if (read) begin
        rvalid_q <= 1'b1;
        rdata_q  <= rdata;
        rresp_q  <= rresp;
      end
      if (write) begin
        bvalid_q <= 1'b1;
        bresp_q  <= known_write ? Okay : SlvErr;
        unique case (aw_i.addr)
          REG_CONTROL_OFFSET: start_q <= w_i.data[0] && w_i.strb[0] && !busy_i && !start_q;
          REG_INTERRUPT_ENABLE_OFFSET: if (w_i.strb[0]) enable_q <= w_i.data[1:0];
          REG_INTERRUPT_STATUS_OFFSET: if (w_i.strb[0]) status_q <= status_q & ~w_i.data[1:0];
          REG_PROGRAM_BASE_LO_OFFSET:
            program_base_q[31:0] <= merge(program_base_q[31:0], w_i.data, mask);
          REG_PROGRAM_BASE_HI_OFFSET:
            program_base_q[63:32] <= merge(program_base_q[63:32], w_i.data, mask);
          REG_INSTRUCTION_BEGIN_OFFSET: begin_q <= merge(begin_q, w_i.data, mask);
          REG_INSTRUCTION_COUNT_OFFSET: count_q <= merge(count_q, w_i.data, mask);
          default: ;
        endcase
      end
      // An event sets its bit even if software clears it in the same cycle.
      if (start_q) begin
        done_q        <= 1'b0;
        error_q       <= 1'b0;
        error_code_q  <= ERROR_NONE;
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

  // ---- OFFSET -----------------------------------------------------------------------------------
  if (OFFSET_ENABLED != 0) begin : gen_offset
    logic [ADDRESS_BITS-1:0] offset_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) offset_q <= '0;
      else if (write && aw_i.addr == REG_OFFSET_LO_OFFSET)
        offset_q <= ADDRESS_BITS'({offset[63:32], merge(offset[31:0], w_i.data, mask)});
      else if (write && aw_i.addr == REG_OFFSET_HI_OFFSET)
        offset_q <= ADDRESS_BITS'({merge(offset[63:32], w_i.data, mask), offset[31:0]});
    end
    assign offset = 64'(offset_q);
  end else begin : gen_no_offset
    assign offset = '0;
  end
  assign offset_o       = ADDRESS_BITS'(offset);

  assign start_o        = start_q;
  assign program_base_o = program_base_q;
  assign begin_o        = begin_q;
  assign count_o        = count_q;
  assign interrupt_o    = (status_q & enable_q) != 2'b00;
endmodule
