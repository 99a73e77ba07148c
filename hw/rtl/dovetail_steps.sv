// Generates the steps of GEMM and ALU instructions, in the order of their loop nest: stage U reads
// the micro-op, stage X adds its indices to those of the loops. docs/reference/timing.md, section
// 9.
module dovetail_steps import dovetail_isa_pkg::*; #(
  localparam int unsigned InstrBits = INSTRUCTION_BITS,
  localparam int unsigned UopBits = UOP_BITS,
  localparam int unsigned UopIndex = UOP_DEPTH_LOG2,
  localparam int unsigned WgtIndex = WGT_DEPTH_LOG2,
  localparam int unsigned AccIndex = ACC_DEPTH_LOG2,
  localparam int unsigned SrcIndex = SRC_INDEX_BITS
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 flush_i,
  // An instruction, and whether it is a GEMM, GEMMQ or WINDOW, which have the same fields. It may
  // start in any cycle in which the front end is free.
  input  logic                 start_i,
  input  logic                 gemm_i,
  input  logic [InstrBits-1:0] instr_i,
  output logic                 free_o,
  // Write port of UOP.
  input  logic                 uop_we_i,
  input  logic [UopIndex-1:0]  uop_waddr_i,
  input  logic [UopBits-1:0]   uop_wdata_i,
  // The step in X. An instruction without steps yields one empty step; one with an epilogue reads
  // its parameters first, by the micro-op after those of the loop.
  input  logic                 step_take_i,
  output logic                 step_valid_o,
  output step_t                step_o
);
  localparam int unsigned IterWidth = GEMM_ITER_OUT_WIDTH;

  localparam logic [15:0] ImmediateOps = ALU_SET_IMMEDIATE;
  localparam logic [15:0] RowOps = ALU_SET_ROW;

  gemm_t gemm;
  alu_t  alu;
  alu_code_t alu_op;

  // ---- Stage U ----------------------------------------------------------------------------------
  step_t                fe_step_q;  // the loops' part of its indices; the micro-op's is added in X
  logic                 fe_busy_q;
  logic [UopIndex-1:0]  fe_uop;
  logic [AccIndex-1:0]  fe_dst_row_q, fe_dst_in_q, fe_dst_out_q;
  logic [SrcIndex-1:0]  fe_src_row_q, fe_src_in_q, fe_src_out_q;
  logic [WgtIndex-1:0]  fe_wgt_row_q, fe_wgt_in_q, fe_wgt_out_q;
  logic                 uop_ends, x_ends, y_ends;  // the loops are at their last values
  logic                 uop_wraps, x_wraps;        // and begin anew
  logic                 fe_last, u_leaves, x_free, no_steps, requant;
  logic [UopIndex:0]    uop_end;
  logic [UopIndex-1:0]  uop_begin;
  logic [IterWidth-1:0] iter_out, iter_in;
  logic [AccIndex-1:0]  dst_factor_out, dst_factor_in;
  logic [SrcIndex-1:0]  src_factor_out, src_factor_in;
  logic [AccIndex-1:0]  dst_row_next;
  logic [SrcIndex-1:0]  src_row_next;
  logic [WgtIndex-1:0]  wgt_row_next;

  assign gemm = instr_i;
  assign alu  = instr_i;
  assign alu_op = {NORM_ENABLED != 0 && instr_i[ALU_ALU_OPCODE_HIGH_LSB], alu.alu_opcode};

  always_comb begin
    if (gemm_i) begin
      uop_begin      = UopIndex'(gemm.uop_begin);
      uop_end        = (UopIndex + 1)'(gemm.uop_end);
      iter_out       = IterWidth'(gemm.iter_out);
      iter_in        = IterWidth'(gemm.iter_in);
      dst_factor_out = AccIndex'(gemm.dst_factor_out);
      dst_factor_in  = AccIndex'(gemm.dst_factor_in);
      src_factor_out = SrcIndex'(gemm.src_factor_out);
      src_factor_in  = SrcIndex'(gemm.src_factor_in);
    end else begin
      uop_begin      = UopIndex'(alu.uop_begin);
      uop_end        = (UopIndex + 1)'(alu.uop_end);
      iter_out       = IterWidth'(alu.iter_out);
      iter_in        = IterWidth'(alu.iter_in);
      dst_factor_out = AccIndex'(alu.dst_factor_out);
      dst_factor_in  = AccIndex'(alu.dst_factor_in);
      src_factor_out = SrcIndex'(alu.src_factor_out);
      src_factor_in  = SrcIndex'(alu.src_factor_in);
    end
  end
  assign no_steps = iter_out == '0 || iter_in == '0 || uop_end <= {1'b0, uop_begin};

  assign requant  = EPILOGUE_ENABLED != 0 &&
                    (gemm.opcode == OPCODE_GEMMQ ||
                     (WINDOW_ENABLED != 0 && gemm.opcode == OPCODE_WINDOW &&
                      instr_i[WINDOW_REQUANT_LSB]));
  assign fe_last  = fe_step_q.empty ||
                    (!fe_step_q.parameters && uop_ends && x_ends && y_ends);
  assign u_leaves = fe_busy_q && x_free;
  assign free_o   = !fe_busy_q || (u_leaves && fe_last);

  assign uop_wraps = u_leaves && !fe_step_q.parameters && uop_ends;
  assign x_wraps   = uop_wraps && x_ends;
  dovetail_count #(
    .Width   (UopIndex),
    .FromZero(1'b0)
  ) u_uop_loop (
    .clk_i,
    .start_i,
    .value_i  (requant ? uop_end[UopIndex-1:0] : uop_begin),
    .first_i  (uop_begin),
    .last_i   (UopIndex'(uop_end - 1'b1)),
    .single_i (uop_end == (UopIndex + 1)'(uop_begin) + 1'b1),
    .step_i   (u_leaves),
    .restart_i(fe_step_q.parameters),
    .value_o  (fe_uop),
    .ends_o   (uop_ends)
  );
  dovetail_count #(
    .Width(IterWidth)
  ) u_x_loop (
    .clk_i,
    .start_i,
    .value_i  ('0),
    .first_i  ('0),
    .last_i   (iter_in - 1'b1),
    .single_i (iter_in == IterWidth'(1)),
    .step_i   (uop_wraps),
    .restart_i(1'b0),
    .value_o  (),
    .ends_o   (x_ends)
  );
  dovetail_count #(
    .Width(IterWidth)
  ) u_y_loop (
    .clk_i,
    .start_i,
    .value_i  ('0),
    .first_i  ('0),
    .last_i   (iter_out - 1'b1),
    .single_i (iter_out == IterWidth'(1)),
    .step_i   (x_wraps),
    .restart_i(1'b0),
    .value_o  (),
    .ends_o   (y_ends)
  );

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
      fe_step_q.empty     <= no_steps;
      fe_step_q.first     <= 1'b1;
      fe_step_q.last      <= 1'b0;
      fe_step_q.gemm      <= gemm_i;
      fe_step_q.reset     <= gemm.reset && (EPILOGUE_ENABLED == 0 || gemm.opcode == OPCODE_GEMM);
      fe_step_q.overwrite <= OVERWRITE_ENABLED != 0 && instr_i[GEMM_OVERWRITE_LSB];
      fe_step_q.window    <= WINDOW_ENABLED != 0 && gemm.opcode == OPCODE_WINDOW;
      fe_step_q.push      <= 1'b0;
      fe_step_q.requant   <= requant;
      fe_step_q.parameters <= requant && !no_steps;
      fe_step_q.op        <= alu_op.op;
      fe_step_q.use_imm   <= (alu.use_imm && ImmediateOps[alu_op.op]) ||
                             (NORM_ENABLED != 0 && RowOps[alu_op.op]);
      fe_step_q.imm       <= alu.imm;
      fe_step_q.dst       <= '0;
      fe_dst_row_q        <= '0;
      fe_dst_in_q         <= dst_factor_in;
      fe_dst_out_q        <= dst_factor_out;
      fe_step_q.src       <= '0;
      fe_src_row_q        <= '0;
      fe_src_in_q         <= src_factor_in;
      fe_src_out_q        <= src_factor_out;
      fe_step_q.wgt       <= '0;
      fe_wgt_row_q        <= '0;
      fe_wgt_in_q         <= WgtIndex'(gemm.wgt_factor_in);
      fe_wgt_out_q        <= WgtIndex'(gemm.wgt_factor_out);
    end else if (u_leaves && fe_step_q.parameters) begin
      fe_step_q.parameters <= 1'b0;
    end else if (u_leaves) begin
      fe_step_q.first <= 1'b0;
      if (uop_ends) begin
        fe_step_q.dst <= x_ends ? dst_row_next : fe_step_q.dst + fe_dst_in_q;
        fe_step_q.src <= x_ends ? src_row_next : fe_step_q.src + fe_src_in_q;
        fe_step_q.wgt <= x_ends ? wgt_row_next : fe_step_q.wgt + fe_wgt_in_q;
      end
      if (uop_ends && x_ends) begin
        fe_dst_row_q <= dst_row_next;
        fe_src_row_q <= src_row_next;
        fe_wgt_row_q <= wgt_row_next;
      end
    end
  end

  uop_t uop;
  dovetail_sram #(
    .Width(UopBits),
    .Depth(UOP_DEPTH)
  ) u_uop (
    .clk_i,
    .we_i   (uop_we_i),
    .waddr_i(uop_waddr_i),
    .wdata_i(uop_wdata_i),
    .re_i   (u_leaves && !fe_step_q.empty),
    .raddr_i(fe_uop),
    .rdata_o(uop)
  );

  // ---- Stage X ----------------------------------------------------------------------------------
  logic  x_valid_q;
  step_t x_step_q;

  assign x_free = !x_valid_q || step_take_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) x_valid_q <= 1'b0;
    else if (flush_i) x_valid_q <= 1'b0;
    else if (x_free) x_valid_q <= fe_busy_q;
  end
  always_ff @(posedge clk_i) begin
    if (u_leaves) begin
      x_step_q      <= fe_step_q;
      x_step_q.last <= fe_last;
    end
  end

  assign step_valid_o = x_valid_q;
  always_comb begin
    step_o     = x_step_q;
    step_o.dst = x_step_q.dst + AccIndex'(uop.dst);
    step_o.src = x_step_q.src + SrcIndex'(uop.src);
    step_o.wgt = x_step_q.wgt + WgtIndex'(uop.wgt);
    step_o.push = x_step_q.window && !x_step_q.empty && !x_step_q.parameters && &uop.wgt;
  end
endmodule
