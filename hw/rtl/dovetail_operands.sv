// Stage R: the operands of a step. GEMM's come from INP and WGT in one cycle; ALU's come from ACC, an index a cycle, the destination last.
// docs/timing.md, section 9.
module dovetail_operands #(
  localparam int unsigned Lanes = dovetail_isa_pkg::BATCH * dovetail_isa_pkg::BLOCK_OUT,
  localparam int unsigned AccBits = 32 * Lanes,
  localparam int unsigned InpIndex = dovetail_isa_pkg::INP_DEPTH_LOG2,
  localparam int unsigned WgtIndex = dovetail_isa_pkg::WGT_DEPTH_LOG2,
  localparam int unsigned AccIndex = dovetail_isa_pkg::ACC_DEPTH_LOG2,
  // A micro-op's source serves INP and ACC.
  localparam int unsigned SrcIndex = InpIndex > AccIndex ? InpIndex : AccIndex
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                flush_i,
  // The step in X.
  output logic                step_take_o,
  input  logic                step_valid_i,
  input  logic                step_empty_i,
  input  logic                step_first_i,
  input  logic                step_last_i,
  input  logic                step_gemm_i,
  input  logic                step_reset_i,
  input  logic                step_overwrite_i,
  input  logic                step_use_imm_i,
  input  logic [2:0]          step_op_i,
  input  logic [15:0]         step_imm_i,
  input  logic [AccIndex-1:0] step_dst_i,
  input  logic [SrcIndex-1:0] step_src_i,
  input  logic [WgtIndex-1:0] step_wgt_i,
  // The destination of ALU's step before, while its result is neither written nor can be forwarded.
  input  logic                pending_i,
  input  logic [AccIndex-1:0] pending_dst_i,
  // The step in R, in its last cycle there: for which pipe, and what it is.
  output logic                gemm_o,
  output logic                alu_o,
  output logic                empty_o,
  output logic                last_o,
  output logic                reset_o,
  output logic                overwrite_o,
  output logic                use_imm_o,
  output logic [2:0]          op_o,
  output logic [15:0]         imm_o,
  output logic [AccIndex-1:0] dst_o,
  // INP and WGT.
  output logic                operand_re_o,
  output logic [InpIndex-1:0] inp_addr_o,
  output logic [WgtIndex-1:0] wgt_addr_o,
  // ACC: what is read arrives in the cycle after. Source and bias are kept until the destination is there.
  output logic                acc_re_o,
  output logic [AccIndex-1:0] acc_raddr_o,
  input  logic [AccBits-1:0]  acc_rdata_i,
  output logic [AccBits-1:0]  source_o,
  output logic [AccBits-1:0]  bias_o
);
  localparam logic [1:0] ReadFirst = 2'd0;
  localparam logic [1:0] ReadBias = 2'd1;
  localparam logic [1:0] ReadDst = 2'd2;

  logic                valid_q, empty_q, first_q, last_q, gemm_q, reset_q, overwrite_q, use_imm_q;
  logic [2:0]          op_q;
  logic [15:0]         imm_q;
  logic [AccIndex-1:0] dst_q;
  logic [SrcIndex-1:0] src_q;
  logic [WgtIndex-1:0] wgt_q;
  logic [1:0]          phase_q;
  logic [AccIndex-1:0] before_dst_q, before_src_q, src, src_next, first_index;
  logic                requant, vector, repeated, interlock, leaves, read_src, read_bias, read_dst;

  assign src         = src_q[AccIndex-1:0];
  assign src_next    = src + 1'b1;
  assign requant     = op_q == dovetail_isa_pkg::ALU_REQUANT;
  assign vector      = !use_imm_q;
  assign repeated    = !first_q && before_src_q == src && before_dst_q != src && !(requant && before_dst_q == src_next);
  assign first_index = vector && !repeated ? src : dst_q;
  assign interlock   = valid_q && !gemm_q && !empty_q && phase_q == ReadFirst && pending_i && pending_dst_i == first_index;

  always_comb begin
    read_src  = 1'b0;
    read_bias = 1'b0;
    read_dst  = 1'b0;
    if (valid_q && !gemm_q && !empty_q) begin
      unique case (phase_q)
        ReadFirst: begin
          read_src = !interlock && vector && !repeated;
          read_dst = !interlock && !(vector && !repeated);
        end
        ReadBias: read_bias = 1'b1;
        default: read_dst = 1'b1;
      endcase
    end
  end
  assign leaves      = valid_q && (gemm_q || empty_q || read_dst);
  assign step_take_o = !valid_q || leaves;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (flush_i) valid_q <= 1'b0;
    else if (step_take_o) valid_q <= step_valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (step_take_o && step_valid_i) begin
      empty_q     <= step_empty_i;
      first_q     <= step_first_i;
      last_q      <= step_last_i;
      gemm_q      <= step_gemm_i;
      reset_q     <= step_reset_i;
      overwrite_q <= step_overwrite_i;
      use_imm_q   <= step_use_imm_i;
      op_q        <= step_op_i;
      imm_q       <= step_imm_i;
      dst_q       <= step_dst_i;
      src_q       <= step_src_i;
      wgt_q       <= step_wgt_i;
      phase_q     <= ReadFirst;
    end else if (read_src) begin
      phase_q <= requant ? ReadBias : ReadDst;
    end else if (read_bias) begin
      phase_q <= ReadDst;
    end
    if (leaves) begin
      before_dst_q <= dst_q;
      before_src_q <= src;
    end
  end

  assign gemm_o      = valid_q && gemm_q;
  assign alu_o       = leaves && !gemm_q;
  assign empty_o     = empty_q;
  assign last_o      = last_q;
  assign reset_o     = reset_q;
  assign overwrite_o = overwrite_q;
  assign use_imm_o   = use_imm_q;
  assign op_o        = op_q;
  assign imm_o       = imm_q;
  assign dst_o       = dst_q;

  assign operand_re_o = gemm_o && !empty_q && !reset_q;
  assign inp_addr_o   = src_q[InpIndex-1:0];
  assign wgt_addr_o   = wgt_q;

  logic               got_src_q, got_bias_q;
  logic [AccBits-1:0] source_q, bias_q;

  assign acc_re_o    = read_src || read_bias || read_dst;
  assign acc_raddr_o = read_src ? src : read_bias ? src_next : dst_q;
  assign source_o    = source_q;
  assign bias_o      = bias_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      got_src_q  <= 1'b0;
      got_bias_q <= 1'b0;
    end else begin
      got_src_q  <= read_src;
      got_bias_q <= read_bias;
    end
  end
  always_ff @(posedge clk_i) begin
    if (got_src_q) source_q <= acc_rdata_i;
    if (got_bias_q) bias_q <= acc_rdata_i;
  end
endmodule
