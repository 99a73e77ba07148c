// Executes the compute queue: serial instructions one at a time (dovetail_serial), GEMM and ALU
// through the stages U and X (dovetail_steps), R (dovetail_operands) and a fixed pipe.
// docs/reference/timing.md, section 9.
module dovetail_compute import dovetail_isa_pkg::*; #(
  localparam int unsigned UopBits = UOP_BITS,
  localparam int unsigned Lanes = BATCH * BLOCK_OUT,
  localparam int unsigned AccBits = 32 * Lanes,
  localparam int unsigned InpBits = 8 * INP_ELEMENT_BYTES,
  localparam int unsigned WgtBits = 8 * WGT_ELEMENT_BYTES,
  localparam int unsigned UopIndex = UOP_DEPTH_LOG2,
  localparam int unsigned InpIndex = INP_DEPTH_LOG2,
  localparam int unsigned WgtIndex = WGT_DEPTH_LOG2,
  localparam int unsigned AccIndex = ACC_DEPTH_LOG2,
  localparam int unsigned TableIndex = TAB_ELEMENT_BYTES_LOG2 - BUS_BYTES_LOG2
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                flush_i,
  input  logic                halt_i,
  output logic                idle_o,
  output error_t              error_o,
  input  logic [ADDRESS_BITS-1:0] offset_i,  // the register OFFSET
  // Command queue; an instruction leaves the queue when it starts.
  input  command_t            command_i,
  // Token FIFOs to load (the previous queue) and store (the next).
  input  tokens_t             prev_i,
  output token_use_t          prev_o,
  input  tokens_t             next_i,
  output token_use_t          next_o,
  // Read port.
  output burst_t              request_o,
  input  logic                grant_i,
  input  logic                beat_valid_i,
  input  beat_t               beat_i,
  // Read port of INP and WGT.
  output logic                inp_re_o,
  output logic [InpIndex-1:0] inp_addr_o,
  input  logic [InpBits-1:0]  inp_data_i,
  output logic                wgt_re_o,
  output logic [WgtIndex-1:0] wgt_addr_o,
  input  logic [WgtBits-1:0]  wgt_data_i,
  // Writes of OUT, the shadow of ACC in dovetail_store.
  output logic                out_we_o,
  output logic [AccIndex-1:0] out_waddr_o,
  output logic [AccBits-1:0]  out_wdata_o,
  // Events for the probe.
  output logic                start_o,
  output logic                end_o,
  output logic [31:0]         end_index_o
);
  localparam int unsigned InFlight = TIMING_COMPUTE_IN_FLIGHT;

  localparam logic [1:0] KindSerial = 2'd0;
  localparam logic [1:0] KindGemm = 2'd1;
  localparam logic [1:0] KindAlu = 2'd2;
  localparam logic [1:0] KindAluLong = 2'd3;
  localparam logic [15:0] LongOps = ALU_SET_LONG;

  // ---- The head of the queue --------------------------------------------------------------------
  alu_t       head;  // tokens and opcode have the same bit positions in all instructions
  alu_code_t  head_op;
  logic [1:0] head_kind;

  assign head    = command_i.instr;
  assign head_op = {NORM_ENABLED != 0 && command_i.instr[ALU_ALU_OPCODE_HIGH_LSB], head.alu_opcode};
  always_comb begin
    head_kind = KindSerial;
    if (head.opcode == OPCODE_GEMM || (WINDOW_ENABLED != 0 && head.opcode == OPCODE_WINDOW) ||
        (EPILOGUE_ENABLED != 0 && head.opcode == OPCODE_GEMMQ)) begin
      head_kind = KindGemm;
    end else if (head.opcode == OPCODE_ALU) begin
      head_kind = LongOps[head_op.op] ? KindAluLong : KindAlu;
    end
  end

  // ---- Start ------------------------------------------------------------------------------------
  logic       tokens_there, nothing_in_flight, may_overlap, flight_empty, flight_full, serial_busy;
  logic       front_free;
  logic [1:0] kind_q;  // kind of the instructions in flight

  assign tokens_there      = (!head.pop_prev || prev_i.available) &&
                             (!head.pop_next || next_i.available);
  assign nothing_in_flight = flight_empty && !serial_busy;
  assign may_overlap       = !serial_busy && head_kind != KindSerial && head_kind == kind_q &&
                             !flight_full && front_free;
  assign start_o           = command_i.valid && !halt_i && tokens_there &&
                             (nothing_in_flight || may_overlap);

  always_ff @(posedge clk_i) begin
    if (start_o) kind_q <= head_kind;
  end

  // ---- Serial instructions ----------------------------------------------------------------------
  logic                serial_end, serial_push_prev, serial_push_next, uop_we, load_we;
  logic [31:0]         serial_index;
  logic [UopIndex-1:0] uop_waddr;
  logic [UopBits-1:0]  uop_wdata;
  logic [AccIndex-1:0] load_waddr;
  logic [AccBits-1:0]  load_wdata;
  // Beats of a table.
  logic                   table_we;
  logic [TableIndex-1:0]  table_waddr;
  logic [8*BUS_BYTES-1:0] table_wdata;

  dovetail_serial u_serial (
    .clk_i,
    .rst_ni,
    .flush_i,
    .halt_i,
    .error_o,
    .offset_i,
    .start_i    (start_o && head_kind == KindSerial),
    .command_i,
    .busy_o     (serial_busy),
    .end_o      (serial_end),
    .index_o    (serial_index),
    .prev_room_i(prev_i.room),
    .prev_push_o(serial_push_prev),
    .next_room_i(next_i.room),
    .next_push_o(serial_push_next),
    .request_o,
    .grant_i,
    .beat_valid_i,
    .beat_i,
    .uop_we_o   (uop_we),
    .uop_waddr_o(uop_waddr),
    .uop_wdata_o(uop_wdata),
    .acc_we_o   (load_we),
    .acc_waddr_o(load_waddr),
    .acc_wdata_o(load_wdata),
    .table_we_o   (table_we),
    .table_waddr_o(table_waddr),
    .table_wdata_o(table_wdata)
  );

  // ---- The steps of GEMM and ALU: stages U, X and R ---------------------------------------------
  logic                x_take, x_valid, r_gemm, r_alu, alu_re, recip_start, recip_last;
  step_t               x_step, r_step;
  logic [AccIndex-1:0] alu_raddr;
  logic [AccBits-1:0]  acc_rdata, source, source_next;
  logic [Lanes*6-1:0]  shift;

  dovetail_steps u_steps (
    .clk_i,
    .rst_ni,
    .flush_i,
    .start_i     (start_o && head_kind != KindSerial),
    .gemm_i      (head_kind == KindGemm),
    .instr_i     (command_i.instr),
    .free_o      (front_free),
    .uop_we_i    (uop_we),
    .uop_waddr_i (uop_waddr),
    .uop_wdata_i (uop_wdata),
    .step_take_i (x_take),
    .step_valid_o(x_valid),
    .step_o      (x_step)
  );
  dovetail_operands u_operands (
    .clk_i,
    .rst_ni,
    .flush_i,
    .take_o       (x_take),
    .valid_i      (x_valid),
    .step_i       (x_step),
    .serial_start_o(recip_start),
    .serial_last_i(recip_last),
    .gemm_o       (r_gemm),
    .alu_o        (r_alu),
    .step_o       (r_step),
    .inp_re_o,
    .inp_addr_o,
    .wgt_re_o,
    .wgt_addr_o,
    .acc_re_o     (alu_re),
    .acc_raddr_o  (alu_raddr),
    .acc_rdata_i  (acc_rdata),
    .source_o     (source),
    .shift_o      (shift),
    .next_o       (source_next)
  );

  // ---- The pipes and ACC ------------------------------------------------------------------------
  logic                gemm_re, gemm_we, gemm_requant, gemm_last, out_last, alu_we, alu_last;
  logic                acc_we;
  logic [AccIndex-1:0] acc_waddr;
  logic [AccBits-1:0]  acc_wdata;
  logic [AccIndex-1:0] gemm_raddr, gemm_waddr, alu_waddr;
  logic [AccBits-1:0]  gemm_sum, idle_wdata, alu_if_less, alu_if_not_less;
  logic                gemm_overwrites, gemm_reset, alu_adds, sums;

  // Operands of the matrix pipe come from block RAM, late and from all over the design: they have
  // a cycle to arrive, and so has their step.
  logic               m_gemm_q;
  step_t              m_step_q;
  logic [InpBits-1:0] m_inp_q;
  logic [WgtBits-1:0] m_wgt_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) m_gemm_q <= 1'b0;
    else m_gemm_q <= r_gemm && !flush_i;
  end
  always_ff @(posedge clk_i) begin
    if (r_gemm) m_step_q <= r_step;
    if (m_gemm_q) begin
      m_inp_q <= inp_data_i;
      m_wgt_q <= wgt_data_i;
    end
  end

  dovetail_gemm u_gemm (
    .clk_i,
    .rst_ni,
    .flush_i,
    .valid_i    (m_gemm_q),
    .step_i     (m_step_q),
    .inp_i      (m_inp_q),
    .wgt_i      (m_wgt_q),
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

  logic                    epilogue_requant, epilogue_requant_2, epilogue_requant_3;
  logic                    epilogue_look_up;
  logic [AccBits-1:0]      epilogue_value;
  logic [BLOCK_OUT*32-1:0] epilogue_bias, epilogue_scale;
  logic [7:0]              epilogue_zero_point;
  logic [Lanes*8-1:0]      epilogue_result, epilogue_index, epilogue_entry;

  dovetail_epilogue u_epilogue (
    .clk_i,
    .rst_ni,
    .flush_i,
    .valid_i       (m_gemm_q),
    .step_i        (m_step_q),
    .wgt_i         (m_wgt_q),
    .gemm_we_i     (gemm_we),
    .gemm_requant_i(gemm_requant),
    .gemm_last_i   (gemm_last),
    .acc_we_i      (acc_we),
    .acc_waddr_i   (acc_waddr),
    .acc_wdata_i   (acc_wdata),
    .requant_o     (epilogue_requant),
    .value_o       (epilogue_value),
    .bias_o        (epilogue_bias),
    .scale_o       (epilogue_scale),
    .requant_2_o   (epilogue_requant_2),
    .requant_3_o   (epilogue_requant_3),
    .zero_point_o  (epilogue_zero_point),
    .result_i      (epilogue_result),
    .look_up_o     (epilogue_look_up),
    .index_o       (epilogue_index),
    .entry_i       (epilogue_entry),
    .out_we_o,
    .out_waddr_o,
    .out_wdata_o,
    .last_o        (out_last)
  );

  logic [BATCH*32-1:0] recip;
  if (NORM_ENABLED != 0) begin : gen_recip
    dovetail_recip u_recip (
      .clk_i,
      .rst_ni,
      .flush_i,
      .start_i   (recip_start),
      .rsqrt_i   (r_step.op == ALU_RSQRT),
      .exponent_i(r_step.imm),
      .acc_i     (acc_rdata),
      .last_o    (recip_last),
      .result_o  (recip)
    );
  end else begin : gen_no_recip
    assign recip      = '0;
    assign recip_last = 1'b0;
  end

  dovetail_alu u_alu (
    .clk_i,
    .rst_ni,
    .flush_i,
    .valid_i      (r_alu),
    .step_i       (r_step),
    .acc_i        (acc_rdata),
    .source_i     (source),
    .shift_i      (shift),
    .next_i       (source_next),
    .table_we_i   (table_we),
    .table_waddr_i(table_waddr),
    .table_wdata_i(table_wdata),
    .recip_i      (recip),
    .epilogue_requant_i   (epilogue_requant),
    .epilogue_value_i     (epilogue_value),
    .epilogue_bias_i      (epilogue_bias),
    .epilogue_scale_i     (epilogue_scale),
    .epilogue_requant_2_i (epilogue_requant_2),
    .epilogue_requant_3_i (epilogue_requant_3),
    .epilogue_zero_point_i(epilogue_zero_point),
    .epilogue_result_o    (epilogue_result),
    .epilogue_look_up_i   (epilogue_look_up),
    .epilogue_index_i     (epilogue_index),
    .epilogue_entry_o     (epilogue_entry),
    .we_o         (alu_we),
    .waddr_o      (alu_waddr),
    .adds_o       (alu_adds),
    .if_less_o    (alu_if_less),
    .if_not_less_o(alu_if_not_less),
    .idle_wdata_i (idle_wdata),
    .last_o       (alu_last)
  );

  always_comb begin
    acc_we    = gemm_we || alu_we || load_we;
    acc_waddr = gemm_waddr;
    if (!gemm_we && alu_we) acc_waddr = alu_waddr;
    else if (!gemm_we && load_we) acc_waddr = load_waddr;
  end
  // GEMM and ADD share an adder: ACC's word comes late.
  assign sums       = (gemm_we && !gemm_overwrites && !gemm_reset) || alu_adds;
  assign idle_wdata = !gemm_we ? load_wdata : gemm_reset ? '0 : gemm_sum;
  for (genvar l = 0; l < Lanes; l++) begin : gen_accumulate
    logic [31:0] addend;
    always_comb begin
      addend = alu_adds ? source[l*32+:32] : 32'd0;
      if (gemm_we) addend = gemm_sum[l*32+:32];
    end
    dovetail_accumulate u_accumulate (
      .value_i      (acc_rdata[l*32+:32]),
      .sums_i       (sums),
      .addend_i     (addend),
      .operand_i    (source[l*32+:32]),
      .if_less_i    (alu_if_less[l*32+:32]),
      .if_not_less_i(alu_if_not_less[l*32+:32]),
      .result_o     (acc_wdata[l*32+:32])
    );
  end

  dovetail_sram #(
    .Width       (AccBits),
    .Depth       (ACC_DEPTH),
    .WriteThrough(1'b1)
  ) u_acc (
    .clk_i,
    .we_i   (acc_we),
    .waddr_i(acc_waddr),
    .wdata_i(acc_wdata),
    .re_i   (gemm_re || alu_re),
    .raddr_i(alu_re ? alu_raddr : gemm_raddr),
    .rdata_o(acc_rdata)
  );

  // ---- End --------------------------------------------------------------------------------------
  localparam int unsigned FlightWidth = $clog2(InFlight + 1);
  logic [FlightWidth-1:0] complete_q;  // GEMM and ALU instructions that are complete, not ended
  logic [31:0]            flight_index;
  logic                   flight_push_prev, flight_push_next, flight_end;

  dovetail_fifo #(
    .Width(34),
    .Depth(InFlight)
  ) u_flight (
    .clk_i,
    .rst_ni,
    .flush_i,
    .push_i (start_o && head_kind != KindSerial),
    .data_i ({command_i.index, head.push_prev, head.push_next}),
    .pop_i  (flight_end),
    .data_o ({flight_index, flight_push_prev, flight_push_next}),
    .empty_o(flight_empty),
    .full_o (flight_full)
  );
  assign flight_end = complete_q != '0 && !halt_i && (!flight_push_prev || prev_i.room) &&
                      (!flight_push_next || next_i.room);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) complete_q <= '0;
    else if (flush_i) complete_q <= '0;
    else complete_q <= complete_q + FlightWidth'(out_last || alu_last) - FlightWidth'(flight_end);
  end

  assign end_o       = serial_end || flight_end;
  assign end_index_o = serial_end ? serial_index : flight_index;
  assign prev_o      = {start_o && head.pop_prev,
                        serial_push_prev || (flight_end && flight_push_prev)};
  assign next_o      = {start_o && head.pop_next,
                        serial_push_next || (flight_end && flight_push_next)};
  assign idle_o      = nothing_in_flight;
endmodule
