// The constants of isa/spec/timing.h that the structure of stage R and of the pipes implies: the
// number of cycles of a step, and the cycle of its write. docs/reference/timing.md, section 9.
module dovetail_operands_timing_sva import dovetail_isa_pkg::*; (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic leaves_i,
  input logic gemm_i,
  input logic parameters_i,
  input logic empty_i,
  input logic vector_i,
  input logic reads_dst_i,
  input logic reads_next_i,
  input logic serial_i,
  input logic [3:0] op_i,
  input logic interlock_i
);
  logic [15:0] cycles_q;  // cycles and waits of the step in R, before this cycle
  logic [3:0]  waits_q;
  logic        began_q, repeated;  // it began with its destination; it reads nothing else
  int unsigned cost;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cycles_q <= '0;
      waits_q  <= '0;
    end else begin
      cycles_q <= !valid_i || leaves_i ? '0 : cycles_q + 16'(!interlock_i);
      waits_q  <= !valid_i || leaves_i ? '0 : waits_q + 4'(interlock_i);
      if (cycles_q == '0) began_q <= reads_dst_i;
    end
  end
  assign repeated = cycles_q == '0 ? reads_dst_i : began_q;
  always_comb begin
    cost = 1;
    if (gemm_i && parameters_i) cost = TIMING_EPILOGUE_PARAMETER_CYCLES;
    else if (gemm_i) cost = TIMING_GEMM_CYCLES_PER_UOP;
    else if (empty_i) cost = 1;
    else if (serial_i && op_i == ALU_RSQRT) cost = BATCH * TIMING_RSQRT_CYCLES_PER_ROW;
    else if (serial_i) cost = BATCH * TIMING_RECIP_CYCLES_PER_ROW;
    else if (!vector_i) cost = TIMING_ALU_CYCLES_PER_UOP_IMM;
    else if (repeated) cost = TIMING_ALU_CYCLES_PER_UOP_REPEATED;
    else if (reads_next_i) cost = TIMING_ALU_CYCLES_PER_UOP_REQUANT;
    else cost = TIMING_ALU_CYCLES_PER_UOP_VECTOR;
  end
  cost_of_step: assert property (@(posedge clk_i) disable iff (!rst_ni)
      leaves_i |-> 32'(cycles_q) + 1 == cost)
    else $error("step in stage R for another number of cycles than isa/spec/timing.h says");
  interlock: assert property (@(posedge clk_i) disable iff (!rst_ni)
      interlock_i |-> 32'(waits_q) < TIMING_ALU_INTERLOCK_CYCLES)
    else $error("interlock longer than isa/spec/timing.h says");
endmodule

// Every write is a fixed number of cycles after the last cycle of its step in R.
module dovetail_write_timing_sva #(
  parameter int unsigned Cycles = 1,
  parameter int unsigned LongCycles = Cycles
) (
  input logic clk_i,
  input logic rst_ni,
  input logic flush_i,
  input logic read_i,       // a step that writes leaves R
  input logic read_long_i,  // the same, of kind alu_long
  input logic write_i
);
  logic [Cycles-1:0]     due_q;
  logic [LongCycles-1:0] due_long_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      due_q      <= '0;
      due_long_q <= '0;
    end else begin
      due_q      <= flush_i ? '0 : Cycles'({due_q, read_i});
      due_long_q <= flush_i ? '0 : LongCycles'({due_long_q, read_long_i});
    end
  end
  write_when_due: assert property (@(posedge clk_i) disable iff (!rst_ni)
      write_i == (due_q[Cycles-1] || due_long_q[LongCycles-1]))
    else $error("write of ACC missing or in another cycle than isa/spec/timing.h says");
endmodule

bind dovetail_operands dovetail_operands_timing_sva u_timing_sva (
  .clk_i,
  .rst_ni,
  .valid_i     (valid_q),
  .leaves_i    (leaves),
  .gemm_i      (step_q.gemm),
  .parameters_i(step_q.parameters),
  .empty_i     (step_q.empty),
  .vector_i    (!step_q.use_imm),
  .reads_dst_i (phase_q == ReadDst),
  .reads_next_i(reads_next),
  .serial_i    (serial),
  .op_i        (step_q.op),
  .interlock_i (interlock)
);
bind dovetail_gemm dovetail_write_timing_sva #(
  .Cycles(dovetail_isa_pkg::TIMING_GEMM_READ_TO_WRITE - 1)  // from the cycle after R
) u_timing_sva (
  .clk_i,
  .rst_ni,
  .flush_i,
  .read_i     (valid_i && !step_i.empty && !step_i.push && !step_i.parameters),
  .read_long_i(1'b0),
  .write_i    (acc_we_o)
);
// Writes of OUT by the matrix pipe. The others come with those of ACC.
bind dovetail_epilogue dovetail_write_timing_sva #(
  .Cycles(EPILOGUE_ENABLED == 0 ? 1 :
          dovetail_isa_pkg::TIMING_ACC_TO_OUT +
          (TABLE_ENABLED == 0 ? 0 : dovetail_isa_pkg::TIMING_TABLE_TO_OUT))
) u_timing_sva (
  .clk_i,
  .rst_ni,
  .flush_i,
  .read_i     (EPILOGUE_ENABLED != 0 && gemm_we_i),
  .read_long_i(1'b0),
  .write_i    (EPILOGUE_ENABLED != 0 && out_we_o && (!acc_we_i || gemm_we_i))
);
bind dovetail_alu dovetail_write_timing_sva #(
  .Cycles    (dovetail_isa_pkg::TIMING_ALU_READ_TO_WRITE),
  .LongCycles(dovetail_isa_pkg::TIMING_ALU_LONG_READ_TO_WRITE)
) u_timing_sva (
  .clk_i,
  .rst_ni,
  .flush_i,
  .read_i     (valid_i && !step_i.empty && !LongOps[step_i.op]),
  .read_long_i(valid_i && !step_i.empty && LongOps[step_i.op]),
  .write_i    (we_o)
);
