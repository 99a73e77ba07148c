// Proof of the hazard logic of the compute unit: every value of ACC that a step uses is that of a model that executes
// one step after the other. In the design, steps of one kind overlap, also those of consecutive instructions; stage R
// waits for a result that is neither written nor forwardable, and keeps a source that the next step reads again.
//
// The solver picks one element of ACC and tracks its value. The memory is replaced by that element: a read of it gives
// what was written up to and including the same cycle (dovetail_acc_formal), a read of another element any value. The
// results of ALU are any values, written as docs/reference/timing.md says (asserted in hw/sva/dovetail_timing_sva.sv);
// the matrix pipe is the design's.
module dovetail_hazard_formal import dovetail_isa_pkg::*; #(
  localparam int unsigned AccIndex = ACC_DEPTH_LOG2,
  localparam int unsigned Bits = 32 * BATCH * BLOCK_OUT
) (
  input logic                              clk_i,
  input logic                              valid_i,  // a step in stage X
  input step_t                             step_i,
  input logic                              load_we_i,  // a serial instruction writes ACC
  input logic [AccIndex-1:0]               load_waddr_i,
  input logic [Bits-1:0]                   load_wdata_i,
  input logic [Bits-1:0]                   result_i,  // of the ALU step that is written in this cycle
  input logic [Bits-1:0]                   other_i,   // of a read of another element
  input logic [8*BATCH*BLOCK_IN-1:0]       inp_i,
  input logic [8*BLOCK_OUT*BLOCK_IN-1:0]   wgt_i
);
  localparam logic [15:0] LongOps = ALU_SET_LONG;
  localparam logic [15:0] NextOps = ALU_SET_READS_NEXT;
  (* anyconst *) logic [AccIndex-1:0] place;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic                take, r_gemm, r_alu, alu_re, gemm_re, gemm_we, gemm_last, gemm_requant,
                       gemm_overwrites, gemm_reset;
  step_t               r_step;
  logic [AccIndex-1:0] alu_raddr, gemm_raddr, gemm_waddr;
  logic [Bits-1:0]     rdata, source, next, gemm_wdata, gemm_sum;
  dovetail_operands u_dut (
    .clk_i,
    .rst_ni        (rst_n),
    .flush_i       (1'b0),
    .take_o        (take),
    .valid_i,
    .step_i,
    .serial_start_o(),
    .serial_last_i (1'b0),
    .gemm_o        (r_gemm),
    .alu_o         (r_alu),
    .step_o        (r_step),
    .inp_re_o      (),
    .inp_addr_o    (),
    .wgt_re_o      (),
    .wgt_addr_o    (),
    .acc_re_o      (alu_re),
    .acc_raddr_o   (alu_raddr),
    .acc_rdata_i   (rdata),
    .source_o      (source),
    .next_o        (next)
  );
  dovetail_gemm u_gemm (
    .clk_i,
    .rst_ni     (rst_n),
    .flush_i    (1'b0),
    .valid_i    (gemm_1),
    .step_i     (gemm_step_1),
    .inp_i,
    .wgt_i,
    .acc_re_o   (gemm_re),
    .acc_raddr_o(gemm_raddr),
    .acc_we_o   (gemm_we),
    .acc_waddr_o(gemm_waddr),
    .overwrites_o(gemm_overwrites),
    .reset_o    (gemm_reset),
    .sum_o      (gemm_sum),
    .requant_o  (gemm_requant),
    .last_o     (gemm_last)
  );
  assign gemm_wdata = gemm_reset ? '0 : (gemm_overwrites ? '0 : rdata) + gemm_sum;

  // ---- The pipe of ALU, and the steps of GEMM by age --------------------------------------------
  logic  alu_1, alu_2, alu_3, alu_4, long_1, alu_we;
  step_t alu_step_1, alu_step_2, alu_step_3, alu_step_4, gemm_step_1, gemm_step_2, gemm_step_3,
         gemm_step_4;
  logic  gemm_1, gemm_2, gemm_3, gemm_4;
  assign long_1 = LongOps[alu_step_1.op];
  always_ff @(posedge clk_i) begin
    alu_1       <= rst_n && r_alu;
    alu_2       <= rst_n && alu_1 && long_1;
    alu_3       <= rst_n && alu_2;
    alu_4       <= rst_n && alu_3;
    alu_step_1  <= r_step;
    alu_step_2  <= alu_step_1;
    alu_step_3  <= alu_step_2;
    alu_step_4  <= alu_step_3;
    gemm_1      <= rst_n && r_gemm;
    gemm_2      <= rst_n && gemm_1;
    gemm_3      <= rst_n && gemm_2;
    gemm_4      <= rst_n && gemm_3;
    gemm_step_1 <= r_step;
    gemm_step_2 <= gemm_step_1;
    gemm_step_3 <= gemm_step_2;
    gemm_step_4 <= gemm_step_3;
  end
  logic [AccIndex-1:0] alu_waddr;
  assign alu_we    = alu_4 ? !alu_step_4.empty : alu_1 && !long_1 && !alu_step_1.empty;
  assign alu_waddr = alu_4 ? alu_step_4.dst : alu_step_1.dst;
  // Results of kind alu_long that are not written before the next cycle.
  logic due_1, due_2, due_3;
  assign due_1 = alu_1 && long_1 && !alu_step_1.empty;
  assign due_2 = alu_2 && !alu_step_2.empty;
  assign due_3 = alu_3 && !alu_step_3.empty;

  // ---- The tracked element ----------------------------------------------------------------------
  logic            we, here;
  logic [Bits-1:0] wdata, value, read_q, other_q;
  logic            of_place_q;
  assign we    = gemm_we || alu_we || load_we_i;
  assign here  = (gemm_we && gemm_waddr == place) || (!gemm_we && alu_we && alu_waddr == place) ||
                 (load_we_i && load_waddr_i == place);
  assign wdata = gemm_we ? gemm_wdata : alu_we ? result_i : load_wdata_i;
  assign rdata = of_place_q ? read_q : other_q;
  always_ff @(posedge clk_i) begin
    if (here) value <= wdata;
    if (alu_re || gemm_re) begin
      of_place_q <= (alu_re ? alu_raddr : gemm_raddr) == place;
      read_q     <= here ? wdata : value;
      other_q    <= other_i;
    end
  end

  // ---- The step in R, and what its reads have kept ----------------------------------------------
  logic       r_valid, leaves, vector, next_read, src_read, must_be_first;
  logic [1:0] reads;  // before this cycle, of the step in R
  step_t      last;   // the step that entered R last
  logic       kept_src, kept_next, src_arrives, next_arrives;
  logic [AccIndex-1:0] src, src_next;
  assign leaves    = r_gemm || r_alu;
  assign vector    = !last.gemm && !last.empty && !last.use_imm;
  assign src       = last.src[AccIndex-1:0];
  assign src_next  = src + 1'b1;
  // The last read of a step is that of its destination.
  assign src_read  = alu_re && !leaves && reads == 2'd0;
  assign next_read = alu_re && !leaves && reads == 2'd1;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      r_valid       <= 1'b0;
      reads         <= '0;
      must_be_first <= 1'b1;
      kept_src      <= 1'b0;
      kept_next     <= 1'b0;
      src_arrives   <= 1'b0;
      next_arrives  <= 1'b0;
    end else begin
      if (take && valid_i) begin
        r_valid       <= 1'b1;
        last          <= step_i;
        reads         <= '0;
        must_be_first <= step_i.empty;
      end else begin
        if (leaves) r_valid <= 1'b0;
        if (alu_re) reads <= reads + 1'b1;
        if (load_we_i) must_be_first <= 1'b1;
      end
      src_arrives  <= src_read;
      next_arrives <= next_read;
      if (src_read) kept_src <= alu_raddr == place;
      else if ((leaves && (r_gemm || last.use_imm || last.dst == place)) || load_we_i) kept_src <= 1'b0;
      if (next_read) kept_next <= alu_raddr == place;
      else if ((leaves && (r_gemm || last.use_imm || last.dst == place)) || load_we_i) kept_next <= 1'b0;
    end
  end

  // ---- Assumptions ------------------------------------------------------------------------------
  logic in_flight, same_kind;
  assign in_flight = r_valid || alu_1 || alu_2 || alu_3 || alu_4 || gemm_1 || gemm_2 || gemm_3 || gemm_4;
  assign same_kind = step_i.gemm == last.gemm &&
                     (step_i.gemm || LongOps[step_i.op] == LongOps[last.op]);
  always_comb begin
    // Kinds do not mix: an instruction of another kind starts when all have ended. Serial
    // instructions write while no other is in flight. The steps of an instruction have its fields.
    if (valid_i && in_flight) assume (same_kind);
    if (load_we_i) assume (!in_flight && !valid_i);
    if (valid_i && must_be_first) assume (step_i.first);
    if (valid_i && step_i.empty) assume (step_i.first);
    if (valid_i && !step_i.first) begin
      assume (step_i.gemm == last.gemm && step_i.op == last.op && step_i.use_imm == last.use_imm);
    end
    if (valid_i) begin
      assume (!step_i.parameters && !step_i.window && !step_i.push && !step_i.requant);
      assume (step_i.op < 4'd8);  // without the extension norm
    end
  end

  // ---- What is proven ---------------------------------------------------------------------------
  // The value that the sequential model has for the step in the first cycle after R is the present
  // one: of the earlier steps, those that write an element that it uses have written it.
  logic [AccIndex-1:0] src_1, src_next_1;
  assign src_1      = alu_step_1.src[AccIndex-1:0];
  assign src_next_1 = src_1 + 1'b1;
  always_comb begin
    if (rst_n) begin
      if (alu_1 && !alu_step_1.empty) begin
        if (alu_step_1.dst == place) assert (rdata == value);
        if (!alu_step_1.use_imm && src_1 == place) assert (source == value);
        if (!alu_step_1.use_imm && NextOps[alu_step_1.op] && src_next_1 == place) begin
          assert (next == value);
        end
      end
      // A product adds to what the steps before it have written.
      if (gemm_4 && !gemm_step_4.empty) assert (gemm_we && gemm_waddr == gemm_step_4.dst);
      if (gemm_4 && !gemm_step_4.empty && !gemm_step_4.reset && !gemm_step_4.overwrite &&
          gemm_step_4.dst == place) begin
        assert (rdata == value);
      end
      // No two steps write in one cycle, and no step waits for another pipe.
      assert (!(gemm_we && alu_we) && !(alu_4 && alu_1 && !long_1));
      assert (!(gemm_re && alu_re));
    end
  end

  // ---- Internal state ---------------------------------------------------------------------------
  (* hierconn *) logic       \u_dut.valid_q ;
  (* hierconn *) logic [1:0] \u_dut.phase_q ;
  (* hierconn *) logic [2:0] \u_dut.wait_q ;
  (* hierconn *) logic       \u_dut.due_1_q ;
  (* hierconn *) logic       \u_dut.due_2_q ;
  (* hierconn *) logic [AccIndex-1:0] \u_dut.due_dst_1_q ;
  (* hierconn *) logic [AccIndex-1:0] \u_dut.due_dst_2_q ;
  (* hierconn *) logic       \u_dut.got_src_q ;
  (* hierconn *) logic       \u_dut.got_next_q ;
  logic no_read_yet, reads_place, repeated;
  assign no_read_yet = reads == 2'd0;
  assign repeated    = vector && no_read_yet && \u_dut.phase_q == 2'd2;
  assign reads_place = last.dst == place ||
                       (vector && !repeated && (src == place || (NextOps[last.op] && src_next == place)));
  always_comb begin
    if (rst_n) begin
      assert (\u_dut.valid_q == r_valid);
      assert (\u_dut.got_src_q == src_arrives && \u_dut.got_next_q == next_arrives);
      if (r_valid || !must_be_first) begin
        assert (r_step.dst == last.dst && r_step.src == last.src && r_step.op == last.op);
        assert (r_step.gemm == last.gemm && r_step.empty == last.empty);
        assert (r_step.use_imm == last.use_imm);
      end
      if (r_valid && !last.gemm && !last.empty) begin
        assert (\u_dut.phase_q == (no_read_yet && vector && !repeated ? 2'd0 :
                                   !no_read_yet && NextOps[last.op] && reads == 2'd1 ? 2'd1 : 2'd2));
        assert (reads <= (NextOps[last.op] ? 2'd2 : 2'd1));
        if (!no_read_yet) assert (vector);
      end
      if (r_valid && (last.gemm || last.empty)) assert (no_read_yet);
      if (!must_be_first) assert (!last.empty);
      // What was kept is the element's value, and no earlier step will write it.
      if (kept_src) assert ((src_arrives ? rdata : source) == value);
      if (kept_next) assert ((next_arrives ? rdata : next) == value);
      if (kept_src || kept_next) begin
        assert (!(alu_1 && !alu_step_1.empty && alu_step_1.dst == place));
        assert (!(due_2 && alu_step_2.dst == place) && !(due_3 && alu_step_3.dst == place));
        assert (!(alu_4 && !alu_step_4.empty && alu_step_4.dst == place));
      end
      if (src_arrives || next_arrives) assert (r_valid && vector && !no_read_yet);
      // The step in R has read its source, or it was kept.
      if (r_valid && vector && (!no_read_yet || repeated)) begin
        if (src == place) assert (kept_src);
      end
      if (r_valid && vector && NextOps[last.op] && (reads == 2'd2 || repeated)) begin
        if (src_next == place) assert (kept_next);
      end
      // So has the step before the next one, if that may repeat.
      if (!r_valid && !must_be_first && vector && last.dst != place) begin
        if (src == place) assert (kept_src);
        if (NextOps[last.op] && src_next == place) assert (kept_next);
      end
      // A result that is on its way keeps the step that needs it from reading until it is written.
      assert (\u_dut.due_1_q == due_1 && \u_dut.due_2_q == due_2);
      if (due_1) assert (\u_dut.due_dst_1_q == alu_step_1.dst);
      if (due_2) assert (\u_dut.due_dst_2_q == alu_step_2.dst);
      if (r_valid && !last.empty && !last.gemm) begin
        if (due_1 && reads_place && alu_step_1.dst == place) assert (no_read_yet && &\u_dut.wait_q );
        if (due_2 && reads_place && alu_step_2.dst == place) assert (no_read_yet && &\u_dut.wait_q [1:0]);
        if (due_3 && reads_place && alu_step_3.dst == place) assert (no_read_yet && \u_dut.wait_q [0]);
      end
      // Nor does a step follow one that uses what is not written.
      if (alu_1 && long_1 && !alu_step_1.empty && (alu_step_1.dst == place ||
          (!alu_step_1.use_imm && (src_1 == place || (NextOps[alu_step_1.op] && src_next_1 == place))))) begin
        assert (!(due_2 && alu_step_2.dst == place) && !(due_3 && alu_step_3.dst == place));
        assert (!(alu_4 && !alu_step_4.empty && alu_step_4.dst == place));
      end
      if (alu_1 || alu_2 || alu_3 || alu_4 || gemm_1 || gemm_2 || gemm_3 || gemm_4) begin
        if (alu_1) assert (!(gemm_1 || gemm_2 || gemm_3 || gemm_4) && !alu_step_1.gemm);
        if (alu_2) assert (!(gemm_1 || gemm_2 || gemm_3 || gemm_4) && LongOps[alu_step_2.op]);
        if (alu_3) assert (!(gemm_1 || gemm_2 || gemm_3 || gemm_4) && LongOps[alu_step_3.op]);
        if (alu_4) assert (!(gemm_1 || gemm_2 || gemm_3 || gemm_4) && LongOps[alu_step_4.op]);
      end
      if (r_valid && (alu_1 || alu_2 || alu_3 || alu_4)) assert (!last.gemm);
      if (r_valid && (alu_1 && long_1 || alu_2 || alu_3 || alu_4)) assert (LongOps[last.op]);
      if (r_valid && alu_1 && !long_1) assert (!LongOps[last.op]);
      if (alu_1 && (alu_2 || alu_3 || alu_4)) assert (long_1);
      if (r_valid && (gemm_1 || gemm_2 || gemm_3 || gemm_4)) assert (last.gemm);
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && &\u_dut.wait_q && r_valid && src == place && alu_1 && long_1);
    cover (rst_n && alu_1 && alu_step_1.src == place && !alu_step_1.use_imm && repeated &&
           r_alu && LongOps[last.op]);
    cover (rst_n && alu_1 && !alu_step_1.use_imm && NextOps[alu_step_1.op] && src_next_1 == place);
    cover (rst_n && alu_1 && alu_4 && alu_step_1.first && alu_step_4.last && alu_step_4.dst == place);
    cover (rst_n && gemm_4 && gemm_3 && gemm_step_4.dst == place && gemm_step_3.dst == place);
    cover (rst_n && load_we_i && value == 32'd77);
  end
endmodule
