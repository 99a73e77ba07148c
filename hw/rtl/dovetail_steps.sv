// The steps of GEMM and ALU instructions, in the order of their loop nest: stage U reads the micro-op, stage X adds its indices to those of the
// loops. docs/timing.md, section 9.
module dovetail_steps #(
  localparam int unsigned InstrBits = dovetail_isa_pkg::INSTRUCTION_BITS,
  localparam int unsigned UopBits = dovetail_isa_pkg::UOP_BITS,
  localparam int unsigned UopIndex = dovetail_isa_pkg::UOP_DEPTH_LOG2,
  localparam int unsigned InpIndex = dovetail_isa_pkg::INP_DEPTH_LOG2,
  localparam int unsigned WgtIndex = dovetail_isa_pkg::WGT_DEPTH_LOG2,
  localparam int unsigned AccIndex = dovetail_isa_pkg::ACC_DEPTH_LOG2,
  // A micro-op's source serves INP and ACC.
  localparam int unsigned SrcIndex = InpIndex > AccIndex ? InpIndex : AccIndex
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 flush_i,
  // An instruction, and whether it is GEMM. It may start in cycles in which the front end is free.
  input  logic                 start_i,
  input  logic                 gemm_i,
  input  logic [InstrBits-1:0] instr_i,
  output logic                 free_o,
  // Micro-ops as they are loaded.
  input  logic                 uop_we_i,
  input  logic [UopIndex-1:0]  uop_waddr_i,
  input  logic [UopBits-1:0]   uop_wdata_i,
  // The step in X. An instruction without steps has one empty step.
  input  logic                 step_take_i,
  output logic                 step_valid_o,
  output logic                 step_empty_o,
  output logic                 step_first_o,
  output logic                 step_last_o,
  output logic                 step_gemm_o,
  output logic                 step_reset_o,
  output logic                 step_overwrite_o,
  output logic                 step_use_imm_o,
  output logic [2:0]           step_op_o,
  output logic [15:0]          step_imm_o,
  output logic [AccIndex-1:0]  step_dst_o,
  output logic [SrcIndex-1:0]  step_src_o,
  output logic [WgtIndex-1:0]  step_wgt_o
);
  localparam int unsigned IterWidth = dovetail_isa_pkg::GEMM_ITER_OUT_WIDTH;

  // ---- Stage U ----------------------------------------------------------------------------------------------------------------------
  logic                 fe_busy_q, fe_empty_q, fe_first_q, fe_gemm_q, fe_reset_q, fe_overwrite_q, fe_use_imm_q;
  logic [2:0]           fe_op_q;
  logic [15:0]          fe_imm_q;
  logic [UopIndex-1:0]  fe_uop_q, fe_uop_begin_q, fe_uop_last_q;
  logic [IterWidth-1:0] fe_x_q, fe_y_q, fe_x_last_q, fe_y_last_q;
  logic [AccIndex-1:0]  fe_dst_q, fe_dst_row_q, fe_dst_in_q, fe_dst_out_q;
  logic [SrcIndex-1:0]  fe_src_q, fe_src_row_q, fe_src_in_q, fe_src_out_q;
  logic [WgtIndex-1:0]  fe_wgt_q, fe_wgt_row_q, fe_wgt_in_q, fe_wgt_out_q;
  logic                 fe_last, u_leaves, x_free, no_steps;
  logic [UopIndex:0]    uop_end;
  logic [UopIndex-1:0]  uop_begin;
  logic [IterWidth-1:0] iter_out, iter_in;
  logic [AccIndex-1:0]  dst_row_next;
  logic [SrcIndex-1:0]  src_row_next;
  logic [WgtIndex-1:0]  wgt_row_next;

  assign uop_begin = gemm_i ? UopIndex'(instr_i[dovetail_isa_pkg::GEMM_UOP_BEGIN_LSB+:dovetail_isa_pkg::GEMM_UOP_BEGIN_WIDTH]) :
                              UopIndex'(instr_i[dovetail_isa_pkg::ALU_UOP_BEGIN_LSB+:dovetail_isa_pkg::ALU_UOP_BEGIN_WIDTH]);
  assign uop_end   = gemm_i ? (UopIndex + 1)'(instr_i[dovetail_isa_pkg::GEMM_UOP_END_LSB+:dovetail_isa_pkg::GEMM_UOP_END_WIDTH]) :
                              (UopIndex + 1)'(instr_i[dovetail_isa_pkg::ALU_UOP_END_LSB+:dovetail_isa_pkg::ALU_UOP_END_WIDTH]);
  assign iter_out  = gemm_i ? IterWidth'(instr_i[dovetail_isa_pkg::GEMM_ITER_OUT_LSB+:dovetail_isa_pkg::GEMM_ITER_OUT_WIDTH]) :
                              IterWidth'(instr_i[dovetail_isa_pkg::ALU_ITER_OUT_LSB+:dovetail_isa_pkg::ALU_ITER_OUT_WIDTH]);
  assign iter_in   = gemm_i ? IterWidth'(instr_i[dovetail_isa_pkg::GEMM_ITER_IN_LSB+:dovetail_isa_pkg::GEMM_ITER_IN_WIDTH]) :
                              IterWidth'(instr_i[dovetail_isa_pkg::ALU_ITER_IN_LSB+:dovetail_isa_pkg::ALU_ITER_IN_WIDTH]);
  assign no_steps  = iter_out == '0 || iter_in == '0 || uop_end <= {1'b0, uop_begin};

  assign fe_last  = fe_empty_q || (fe_uop_q == fe_uop_last_q && fe_x_q == fe_x_last_q && fe_y_q == fe_y_last_q);
  assign u_leaves = fe_busy_q && x_free;
  assign free_o   = !fe_busy_q || (u_leaves && fe_last);

  assign dst_row_next = fe_dst_row_q + fe_dst_out_q;
  assign src_row_next = fe_src_row_q + fe_src_out_q;
  assign wgt_row_next = fe_wgt_row_q + fe_wgt_out_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fe_busy_q <= 1'b0;
    else if (flush_i) fe_busy_q <= 1'b0;
    else if (start_i) fe_busy_q <= 1'b1;
    else if (u_leaves && fe_last) fe_busy_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      fe_empty_q     <= no_steps;
      fe_first_q     <= 1'b1;
      fe_gemm_q      <= gemm_i;
      fe_reset_q     <= instr_i[dovetail_isa_pkg::GEMM_RESET_LSB];
      fe_overwrite_q <= dovetail_isa_pkg::OVERWRITE_ENABLED != 0 && instr_i[dovetail_isa_pkg::GEMM_OVERWRITE_LSB];
      fe_op_q        <= instr_i[dovetail_isa_pkg::ALU_ALU_OPCODE_LSB+:3];
      fe_use_imm_q   <= instr_i[dovetail_isa_pkg::ALU_USE_IMM_LSB] && instr_i[dovetail_isa_pkg::ALU_ALU_OPCODE_LSB+:3] != dovetail_isa_pkg::ALU_REQUANT;
      fe_imm_q       <= instr_i[dovetail_isa_pkg::ALU_IMM_LSB+:16];
      fe_uop_q       <= uop_begin;
      fe_uop_begin_q <= uop_begin;
      fe_uop_last_q  <= UopIndex'(uop_end - 1'b1);
      fe_x_q         <= '0;
      fe_y_q         <= '0;
      fe_x_last_q    <= iter_in - 1'b1;
      fe_y_last_q    <= iter_out - 1'b1;
      fe_dst_q       <= '0;
      fe_dst_row_q   <= '0;
      fe_dst_in_q    <= gemm_i ? AccIndex'(instr_i[dovetail_isa_pkg::GEMM_DST_FACTOR_IN_LSB+:dovetail_isa_pkg::GEMM_DST_FACTOR_IN_WIDTH]) :
                                 AccIndex'(instr_i[dovetail_isa_pkg::ALU_DST_FACTOR_IN_LSB+:dovetail_isa_pkg::ALU_DST_FACTOR_IN_WIDTH]);
      fe_dst_out_q   <= gemm_i ? AccIndex'(instr_i[dovetail_isa_pkg::GEMM_DST_FACTOR_OUT_LSB+:dovetail_isa_pkg::GEMM_DST_FACTOR_OUT_WIDTH]) :
                                 AccIndex'(instr_i[dovetail_isa_pkg::ALU_DST_FACTOR_OUT_LSB+:dovetail_isa_pkg::ALU_DST_FACTOR_OUT_WIDTH]);
      fe_src_q       <= '0;
      fe_src_row_q   <= '0;
      fe_src_in_q    <= gemm_i ? SrcIndex'(instr_i[dovetail_isa_pkg::GEMM_SRC_FACTOR_IN_LSB+:dovetail_isa_pkg::GEMM_SRC_FACTOR_IN_WIDTH]) :
                                 SrcIndex'(instr_i[dovetail_isa_pkg::ALU_SRC_FACTOR_IN_LSB+:dovetail_isa_pkg::ALU_SRC_FACTOR_IN_WIDTH]);
      fe_src_out_q   <= gemm_i ? SrcIndex'(instr_i[dovetail_isa_pkg::GEMM_SRC_FACTOR_OUT_LSB+:dovetail_isa_pkg::GEMM_SRC_FACTOR_OUT_WIDTH]) :
                                 SrcIndex'(instr_i[dovetail_isa_pkg::ALU_SRC_FACTOR_OUT_LSB+:dovetail_isa_pkg::ALU_SRC_FACTOR_OUT_WIDTH]);
      fe_wgt_q       <= '0;
      fe_wgt_row_q   <= '0;
      fe_wgt_in_q    <= WgtIndex'(instr_i[dovetail_isa_pkg::GEMM_WGT_FACTOR_IN_LSB+:dovetail_isa_pkg::GEMM_WGT_FACTOR_IN_WIDTH]);
      fe_wgt_out_q   <= WgtIndex'(instr_i[dovetail_isa_pkg::GEMM_WGT_FACTOR_OUT_LSB+:dovetail_isa_pkg::GEMM_WGT_FACTOR_OUT_WIDTH]);
    end else if (u_leaves) begin
      fe_first_q <= 1'b0;
      fe_uop_q   <= fe_uop_q + 1'b1;
      if (fe_uop_q == fe_uop_last_q) begin
        fe_uop_q <= fe_uop_begin_q;
        fe_x_q   <= fe_x_q + 1'b1;
        fe_dst_q <= fe_dst_q + fe_dst_in_q;
        fe_src_q <= fe_src_q + fe_src_in_q;
        fe_wgt_q <= fe_wgt_q + fe_wgt_in_q;
        if (fe_x_q == fe_x_last_q) begin
          fe_x_q       <= '0;
          fe_y_q       <= fe_y_q + 1'b1;
          fe_dst_q     <= dst_row_next;
          fe_src_q     <= src_row_next;
          fe_wgt_q     <= wgt_row_next;
          fe_dst_row_q <= dst_row_next;
          fe_src_row_q <= src_row_next;
          fe_wgt_row_q <= wgt_row_next;
        end
      end
    end
  end

  logic [UopBits-1:0] uop;
  dovetail_sram #(
    .Width(UopBits),
    .Depth(dovetail_isa_pkg::UOP_DEPTH)
  ) u_uop (
    .clk_i,
    .we_i   (uop_we_i),
    .waddr_i(uop_waddr_i),
    .wdata_i(uop_wdata_i),
    .re_i   (u_leaves),
    .raddr_i(fe_uop_q),
    .rdata_o(uop)
  );

  // ---- Stage X ----------------------------------------------------------------------------------------------------------------------
  logic                x_valid_q, x_empty_q, x_first_q, x_last_q, x_gemm_q, x_reset_q, x_overwrite_q, x_use_imm_q;
  logic [2:0]          x_op_q;
  logic [15:0]         x_imm_q;
  logic [AccIndex-1:0] x_dst_q;
  logic [SrcIndex-1:0] x_src_q;
  logic [WgtIndex-1:0] x_wgt_q;

  assign x_free = !x_valid_q || step_take_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) x_valid_q <= 1'b0;
    else if (flush_i) x_valid_q <= 1'b0;
    else if (x_free) x_valid_q <= fe_busy_q;
  end
  always_ff @(posedge clk_i) begin
    if (u_leaves) begin
      x_empty_q     <= fe_empty_q;
      x_first_q     <= fe_first_q;
      x_last_q      <= fe_last;
      x_gemm_q      <= fe_gemm_q;
      x_reset_q     <= fe_reset_q;
      x_overwrite_q <= fe_overwrite_q;
      x_use_imm_q   <= fe_use_imm_q;
      x_op_q        <= fe_op_q;
      x_imm_q       <= fe_imm_q;
      x_dst_q       <= fe_dst_q;
      x_src_q       <= fe_src_q;
      x_wgt_q       <= fe_wgt_q;
    end
  end

  assign step_valid_o     = x_valid_q;
  assign step_empty_o     = x_empty_q;
  assign step_first_o     = x_first_q;
  assign step_last_o      = x_last_q;
  assign step_gemm_o      = x_gemm_q;
  assign step_reset_o     = x_reset_q;
  assign step_overwrite_o = x_overwrite_q;
  assign step_use_imm_o   = x_use_imm_q;
  assign step_op_o        = x_op_q;
  assign step_imm_o       = x_imm_q;
  assign step_dst_o       = x_dst_q + AccIndex'(uop[dovetail_isa_pkg::UOP_DST_LSB+:dovetail_isa_pkg::UOP_DST_WIDTH]);
  assign step_src_o       = x_src_q + SrcIndex'(uop[dovetail_isa_pkg::UOP_SRC_LSB+:dovetail_isa_pkg::UOP_SRC_WIDTH]);
  assign step_wgt_o       = x_wgt_q + WgtIndex'(uop[dovetail_isa_pkg::UOP_WGT_LSB+:dovetail_isa_pkg::UOP_WGT_WIDTH]);
endmodule
