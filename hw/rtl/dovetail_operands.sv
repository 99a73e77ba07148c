// Stage R: reads the operands of a step. Those of GEMM come from INP and WGT in one cycle; those of
// ALU come from ACC, one index a cycle, the destination last. docs/reference/timing.md, section 9.
module dovetail_operands import dovetail_isa_pkg::*; #(
  localparam int unsigned Lanes = BATCH * BLOCK_OUT,
  localparam int unsigned AccBits = 32 * Lanes,
  localparam int unsigned InpIndex = INP_DEPTH_LOG2,
  localparam int unsigned WgtIndex = WGT_DEPTH_LOG2,
  localparam int unsigned AccIndex = ACC_DEPTH_LOG2
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                flush_i,
  // The step in X.
  output logic                take_o,
  input  logic                valid_i,
  input  step_t               step_i,
  // For RECIP and RSQRT: the destination is being read; the last cycle of the step.
  output logic                serial_start_o,
  input  logic                serial_last_i,
  // The step in R, in its last cycle there: which pipe takes it, and its fields.
  output logic                gemm_o,
  output logic                alu_o,
  output step_t               step_o,
  // Read port of INP and WGT.
  output logic                inp_re_o,
  output logic [InpIndex-1:0] inp_addr_o,
  output logic                wgt_re_o,
  output logic [WgtIndex-1:0] wgt_addr_o,
  // Read port of ACC: data arrives in the following cycle. Sources are kept until the destination
  // arrives. The immediate takes the place of the first source in all lanes if it is the operand.
  output logic                acc_re_o,
  output logic [AccIndex-1:0] acc_raddr_o,
  input  logic [AccBits-1:0]  acc_rdata_i,
  output logic [AccBits-1:0]  source_o,
  output logic [Lanes*6-1:0]  shift_o,  // for SHR: left; the places of the shifter in dovetail_alu
  output logic [AccBits-1:0]  next_o
);
  localparam logic [1:0] ReadFirst = 2'd0;
  localparam logic [1:0] ReadNext = 2'd1;
  localparam logic [1:0] ReadDst = 2'd2;
  localparam logic [1:0] Serial = 2'd3;
  // The phase of a step that reads parameters, counted from 0: they replace the earlier parameters.
  localparam logic [1:0] ReadParameters = 2'(TIMING_EPILOGUE_PARAMETER_CYCLES - 1);

  localparam logic [15:0] NextOps = ALU_SET_READS_NEXT;
  localparam logic [15:0] SerialOps = ALU_SET_SERIAL;
  localparam logic [15:0] LongOps = ALU_SET_LONG;

  logic                valid_q;
  step_t               step_q;
  logic [1:0]          phase_q;
  logic [AccIndex-1:0] src, src_next;
  logic [2:0]          wait_q;  // the step waits for a result: as many cycles as there are ones
  logic                reads_next, interlock, leaves, reads;
  logic                read_src, read_next, read_dst, gemm, waits, serial;

  assign src        = step_q.src[AccIndex-1:0];
  assign src_next   = src + 1'b1;
  assign reads_next = NextOps[step_q.op];
  assign interlock  = valid_q && wait_q[0];

  assign reads     = valid_q && !step_q.gemm && !step_q.empty && !interlock;
  assign read_src  = reads && phase_q == ReadFirst;
  assign read_next = reads && phase_q == ReadNext;
  assign read_dst  = reads && phase_q == ReadDst;
  assign gemm   = valid_q && step_q.gemm;
  assign waits  = gemm && step_q.parameters && phase_q != ReadParameters;
  assign serial = NORM_ENABLED != 0 && SerialOps[step_q.op];
  assign leaves = valid_q && ((step_q.gemm && !waits) || step_q.empty || (read_dst && !serial) ||
                              (phase_q == Serial && serial_last_i));
  assign serial_start_o = read_dst && serial;
  assign take_o = !valid_q || leaves;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (flush_i) valid_q <= 1'b0;
    else if (take_o) valid_q <= valid_i;
  end
  // Modules are synthesized separately, so the fields of a step that belong to an extension are
  // tied off if the extension is off.
  step_t      step;
  logic [3:0] op_bits;
  alu_code_t  op;
  assign op_bits = step_i.op;
  assign op      = {NORM_ENABLED != 0 && op_bits[3], op_bits[2:0]};
  always_comb begin
    step            = step_i;
    step.op         = op.op;
    step.window     = WINDOW_ENABLED != 0 && step_i.window;
    step.push       = WINDOW_ENABLED != 0 && step_i.push;
    step.requant    = EPILOGUE_ENABLED != 0 && step_i.requant;
    step.parameters = EPILOGUE_ENABLED != 0 && step_i.parameters;
  end
  // What depends on the steps before is decided while the step enters R: step_q is then still the
  // step before, in R or already out of it. A repeated operand is not read again: the step begins
  // with its destination, as one with an immediate does.
  logic [AccIndex-1:0] step_src, before_dst_less_1;
  logic                src_is_dst, repeats;
  assign step_src          = step.src[AccIndex-1:0];
  assign before_dst_less_1 = step_q.dst - 1'b1;
  assign src_is_dst        = step_src == step_q.dst;
  assign repeats           = !step.first && step_src == src && !src_is_dst &&
                             !(NextOps[step.op] && step_src == before_dst_less_1);
  // Results of kind alu_long that are not written in the first cycle in R: of a step that leaves R
  // in this cycle, in the previous one and in the one before. A step waits for those that it reads.
  // (A repeated operand is not read again, but is not one of these results either: the step that
  // read it has waited for them.)
  logic                due_0, due_1_q, due_2_q;
  logic [AccIndex-1:0] due_dst_1_q, due_dst_2_q;
  logic                step_vector, step_next, enters, awaits_0, awaits_1, awaits_2;
  assign due_0       = leaves && !step_q.gemm && !step_q.empty && LongOps[step_q.op];
  assign step_vector = !step.use_imm;
  assign step_next   = NextOps[step.op];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {due_1_q, due_2_q} <= '0;
    else {due_1_q, due_2_q} <= flush_i ? '0 : {due_0, due_1_q};
  end
  always_ff @(posedge clk_i) begin
    due_dst_1_q <= step_q.dst;
    due_dst_2_q <= due_dst_1_q;
  end
  // Only a step that enters R is given waits, and those of the step before have passed.
  assign enters = take_o && valid_i && !step.gemm && !step.empty;
  dovetail_reads #(
    .Width(AccIndex)
  ) u_reads_0 (
    .enable_i    (enters && due_0),
    .element_i   (step_q.dst),
    .dst_i       (step.dst),
    .src_i       (step_src),
    .reads_src_i (step_vector),
    .reads_next_i(step_next),
    .reads_o     (awaits_0)
  );
  dovetail_reads #(
    .Width(AccIndex)
  ) u_reads_1 (
    .enable_i    (enters && due_1_q),
    .element_i   (due_dst_1_q),
    .dst_i       (step.dst),
    .src_i       (step_src),
    .reads_src_i (step_vector),
    .reads_next_i(step_next),
    .reads_o     (awaits_1)
  );
  dovetail_reads #(
    .Width(AccIndex)
  ) u_reads_2 (
    .enable_i    (enters && due_2_q),
    .element_i   (due_dst_2_q),
    .dst_i       (step.dst),
    .src_i       (step_src),
    .reads_src_i (step_vector),
    .reads_next_i(step_next),
    .reads_o     (awaits_2)
  );
  always_ff @(posedge clk_i) begin
    wait_q <= wait_q >> 1 | {awaits_0, awaits_0 || awaits_1, awaits_0 || awaits_1 || awaits_2};
    if (take_o && valid_i) begin
      step_q  <= step;
      phase_q <= step.gemm || !(step.use_imm || repeats) ? ReadFirst : ReadDst;
    end else if (read_src) begin
      phase_q <= reads_next ? ReadNext : ReadDst;
    end else if (read_next) begin
      phase_q <= ReadDst;
    end else if (serial_start_o) begin
      phase_q <= Serial;
    end else if (waits) begin
      phase_q <= phase_q + 1'b1;
    end
  end

  assign gemm_o = gemm && !waits;
  assign alu_o  = leaves && !step_q.gemm;
  assign step_o = step_q;

  assign inp_re_o   = gemm_o && !step_q.empty && !step_q.reset && !step_q.parameters;
  assign inp_addr_o = step_q.src[InpIndex-1:0];
  assign wgt_re_o   = (inp_re_o && !step_q.push) || (gemm_o && step_q.parameters);
  assign wgt_addr_o = step_q.wgt;

  logic               got_src_q, got_next_q;
  logic [AccBits-1:0] source_q, source, next_q;
  logic [Lanes*6-1:0] shift_q, shift;

  assign acc_re_o    = read_src || read_next || read_dst;
  assign acc_raddr_o = read_src ? src : read_next ? src_next : step_q.dst;
  assign source_o    = source_q;
  assign shift_o     = shift_q;
  assign next_o      = next_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      got_src_q  <= 1'b0;
      got_next_q <= 1'b0;
    end else begin
      got_src_q  <= read_src;
      got_next_q <= read_next;
    end
  end
  // All amounts of SHR are defined: 31 and above shift by 31, negative amounts shift left. One
  // shifter does both: a shift left by n is a shift right by 32 - n, out of the upper half; for n
  // from 1 to 31, the low bits of the amount -n are 32 - n.
  function [5:0] shift_of(input logic [31:0] amount);
    if (amount[31]) shift_of = {1'b1, &amount[30:5] && amount[4:0] != 5'd0 ? amount[4:0] : 5'd1};
    else shift_of = {1'b0, |amount[30:5] ? 5'd31 : amount[4:0]};
  endfunction
  logic takes_imm;
  assign takes_imm = alu_o && step_q.use_imm;
  assign source    = got_src_q ? acc_rdata_i : {Lanes{{16{step_q.imm[15]}}, step_q.imm}};
  always_comb begin
    shift = '0;
    if (got_src_q || takes_imm) begin
      for (int unsigned l = 0; l < Lanes; l++) shift[l*6+:6] = shift_of(source[l*32+:32]);
    end
  end
  always_ff @(posedge clk_i) begin
    if (got_src_q || takes_imm) begin
      source_q <= source;
      shift_q  <= shift;
    end
    if (got_next_q) next_q <= acc_rdata_i;
  end
endmodule
