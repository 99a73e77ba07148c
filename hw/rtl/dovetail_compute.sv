// Executes the compute queue: LOADs of UOP, ACC and ACC8 one at a time, GEMM and ALU through the stages U and X (dovetail_steps), R and a fixed pipe.
// docs/timing.md, section 9.
module dovetail_compute #(
  localparam int unsigned AddrWidth = dovetail_isa_pkg::ADDRESS_BITS,
  localparam int unsigned BusBits = 8 * dovetail_isa_pkg::BUS_BYTES,
  localparam int unsigned InstrBits = dovetail_isa_pkg::INSTRUCTION_BITS,
  localparam int unsigned UopBits = dovetail_isa_pkg::UOP_BITS,
  localparam int unsigned Lanes = dovetail_isa_pkg::BATCH * dovetail_isa_pkg::BLOCK_OUT,
  localparam int unsigned AccBits = 32 * Lanes,
  localparam int unsigned InpBits = 8 * dovetail_isa_pkg::INP_ELEMENT_BYTES,
  localparam int unsigned WgtBits = 8 * dovetail_isa_pkg::WGT_ELEMENT_BYTES,
  localparam int unsigned UopIndex = dovetail_isa_pkg::UOP_DEPTH_LOG2,
  localparam int unsigned InpIndex = dovetail_isa_pkg::INP_DEPTH_LOG2,
  localparam int unsigned WgtIndex = dovetail_isa_pkg::WGT_DEPTH_LOG2,
  localparam int unsigned AccIndex = dovetail_isa_pkg::ACC_DEPTH_LOG2
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 flush_i,
  input  logic                 halt_i,
  output logic                 idle_o,
  output logic                 error_o,
  output logic [3:0]           error_code_o,
  output logic [31:0]          error_index_o,
  // Command queue.
  input  logic                 head_valid_i,
  input  logic [InstrBits-1:0] head_i,
  input  logic [31:0]          head_index_i,
  output logic                 head_pop_o,
  // Tokens: prev is load, next is store.
  input  logic                 prev_available_i,
  output logic                 prev_pop_o,
  input  logic                 prev_room_i,
  output logic                 prev_push_o,
  input  logic                 next_available_i,
  output logic                 next_pop_o,
  input  logic                 next_room_i,
  output logic                 next_push_o,
  // Read port.
  output logic                 request_o,
  output logic [AddrWidth-1:0] request_addr_o,
  output logic [8:0]           request_beats_o,
  input  logic                 grant_i,
  input  logic                 beat_valid_i,
  input  logic [BusBits-1:0]   beat_data_i,
  input  logic [1:0]           beat_resp_i,
  // INP and WGT.
  output logic                 operand_re_o,
  output logic [InpIndex-1:0]  inp_addr_o,
  input  logic [InpBits-1:0]   inp_data_i,
  output logic [WgtIndex-1:0]  wgt_addr_o,
  input  logic [WgtBits-1:0]   wgt_data_i,
  // Every write of ACC, for its shadow.
  output logic                 acc_we_o,
  output logic [AccIndex-1:0]  acc_waddr_o,
  output logic [AccBits-1:0]   acc_wdata_o,
  // For probes.
  output logic                 start_o,
  output logic                 end_o,
  output logic [31:0]          end_index_o
);
  localparam int unsigned BusLog2 = dovetail_isa_pkg::BUS_BYTES_LOG2;
  localparam int unsigned UopLog2 = dovetail_isa_pkg::UOP_ELEMENT_BYTES_LOG2;
  localparam int unsigned AccLog2 = dovetail_isa_pkg::ACC_ELEMENT_BYTES_LOG2;
  localparam int unsigned Acc8Log2 = dovetail_isa_pkg::ACC8_ELEMENT_BYTES_LOG2;
  localparam int unsigned Acc8Bits = 8 * Lanes;
  localparam int unsigned SizeWidth = dovetail_isa_pkg::LOAD_X_SIZE_WIDTH;
  localparam int unsigned PadWidth = dovetail_isa_pkg::LOAD_X_PAD_0_WIDTH;
  localparam int unsigned SramWidth = dovetail_isa_pkg::LOAD_SRAM_BASE_WIDTH;
  localparam int unsigned DramWidth = dovetail_isa_pkg::LOAD_DRAM_BASE_WIDTH;
  localparam int unsigned StrideWidth = dovetail_isa_pkg::LOAD_X_STRIDE_WIDTH;
  localparam int unsigned MaxBurst = dovetail_isa_pkg::BURST_BEATS < dovetail_isa_pkg::OUTSTANDING_BEATS ?
      dovetail_isa_pkg::BURST_BEATS : dovetail_isa_pkg::OUTSTANDING_BEATS;
  localparam int unsigned LaneWidth = BusLog2 + 1;
  localparam int unsigned UopLanes = UopLog2 < BusLog2 ? 1 << (BusLog2 - UopLog2) : 1;
  localparam int unsigned AccLanes = AccLog2 < BusLog2 ? 1 << (BusLog2 - AccLog2) : 1;
  localparam int unsigned Acc8Lanes = Acc8Log2 < BusLog2 ? 1 << (BusLog2 - Acc8Log2) : 1;
  localparam int unsigned UopBeats = UopLog2 < BusLog2 ? 1 : 1 << (UopLog2 - BusLog2);
  localparam int unsigned AccBeats = AccLog2 < BusLog2 ? 1 : 1 << (AccLog2 - BusLog2);
  localparam int unsigned Acc8Beats = Acc8Log2 < BusLog2 ? 1 : 1 << (Acc8Log2 - BusLog2);
  localparam int unsigned MostBeats = AccBeats > UopBeats ? AccBeats : UopBeats;
  localparam int unsigned LineBits = MostBeats > 1 ? (MostBeats - 1) * BusBits : BusBits;
  localparam int unsigned InFlight = dovetail_isa_pkg::TIMING_COMPUTE_IN_FLIGHT;
  // A micro-op's source serves INP and ACC.
  localparam int unsigned SrcIndex = InpIndex > AccIndex ? InpIndex : AccIndex;

  localparam logic [1:0] KindSerial = 2'd0;
  localparam logic [1:0] KindGemm = 2'd1;
  localparam logic [1:0] KindAlu = 2'd2;
  localparam logic [1:0] KindAluLong = 2'd3;

  // ---- The head of the queue --------------------------------------------------------------------------------------------------------
  logic [2:0] head_opcode, head_alu_op, head_memory;
  logic       head_pop_prev, head_pop_next;
  logic [1:0] head_kind;

  assign head_opcode   = head_i[2:0];
  assign head_memory   = head_i[dovetail_isa_pkg::LOAD_MEMORY_LSB+:3];
  assign head_alu_op   = head_i[dovetail_isa_pkg::ALU_ALU_OPCODE_LSB+:3];
  assign head_pop_prev = head_i[dovetail_isa_pkg::GEMM_POP_PREV_LSB];
  assign head_pop_next = head_i[dovetail_isa_pkg::GEMM_POP_NEXT_LSB];
  always_comb begin
    head_kind = KindSerial;
    if (head_opcode == dovetail_isa_pkg::OPCODE_GEMM) begin
      head_kind = KindGemm;
    end else if (head_opcode == dovetail_isa_pkg::OPCODE_ALU) begin
      head_kind = head_alu_op == dovetail_isa_pkg::ALU_MUL || head_alu_op == dovetail_isa_pkg::ALU_REQUANT ? KindAluLong : KindAlu;
    end
  end

  // ---- Start ------------------------------------------------------------------------------------------------------------------------
  logic       tokens_there, nothing_in_flight, may_overlap, flight_empty, flight_full, serial_q, front_free;
  logic [1:0] kind_q;  // of those in flight

  assign tokens_there      = (!head_pop_prev || prev_available_i) && (!head_pop_next || next_available_i);
  assign nothing_in_flight = flight_empty && !serial_q;
  assign may_overlap       = !serial_q && head_kind != KindSerial && head_kind == kind_q && !flight_full && front_free;
  assign start_o           = head_valid_i && !halt_i && tokens_there && (nothing_in_flight || may_overlap);
  assign head_pop_o        = start_o;
  assign prev_pop_o        = start_o && head_pop_prev;
  assign next_pop_o        = start_o && head_pop_next;

  always_ff @(posedge clk_i) begin
    if (start_o) kind_q <= head_kind;
  end

  // ---- Serial instructions: loads, NOPs, FINISH -----------------------------------------------------------------------------------
  logic [SizeWidth-1:0] head_x_size, head_y_size;
  logic [PadWidth-1:0]  head_y_pad_0, head_y_pad_1;
  logic                 head_moves, head_data, head_uop, head_acc8;
  logic                 serial_done_q, serial_end, serial_push_prev_q, serial_push_next_q;
  logic [31:0]          serial_index_q;
  logic [2:0]           memory_q;

  assign head_x_size  = head_i[dovetail_isa_pkg::LOAD_X_SIZE_LSB+:SizeWidth];
  assign head_y_size  = head_i[dovetail_isa_pkg::LOAD_Y_SIZE_LSB+:SizeWidth];
  assign head_y_pad_0 = head_i[dovetail_isa_pkg::LOAD_Y_PAD_0_LSB+:PadWidth];
  assign head_y_pad_1 = head_i[dovetail_isa_pkg::LOAD_Y_PAD_1_LSB+:PadWidth];
  assign head_uop     = head_memory == dovetail_isa_pkg::MEMORY_UOP;
  assign head_acc8    = head_memory == dovetail_isa_pkg::MEMORY_ACC8;
  assign head_data    = head_opcode == dovetail_isa_pkg::OPCODE_LOAD && head_x_size != '0 && head_y_size != '0;
  assign head_moves   = head_opcode == dovetail_isa_pkg::OPCODE_LOAD && head_x_size != '0 &&
                        (head_y_size != '0 || head_y_pad_0 != '0 || head_y_pad_1 != '0);

  logic [AddrWidth-1:0] head_base, head_row, head_stride, head_addr, head_row_bytes, head_stride_bytes;
  assign head_base   = AddrWidth'(head_i[dovetail_isa_pkg::LOAD_DRAM_BASE_LSB+:DramWidth]);
  assign head_row    = AddrWidth'(head_x_size);
  assign head_stride = AddrWidth'(head_i[dovetail_isa_pkg::LOAD_X_STRIDE_LSB+:StrideWidth]);
  assign head_addr         = head_uop ? head_base << UopLog2 : head_acc8 ? head_base << Acc8Log2 : head_base << AccLog2;
  assign head_row_bytes    = head_uop ? head_row << UopLog2 : head_acc8 ? head_row << Acc8Log2 : head_row << AccLog2;
  assign head_stride_bytes = head_uop ? head_stride << UopLog2 : head_acc8 ? head_stride << Acc8Log2 : head_stride << AccLog2;

  logic               burst_valid, buffer_valid, buffer_pop;
  logic [BusBits-1:0] buffer_data;
  logic [1:0]         buffer_resp;

  dovetail_axi_split #(
    .AddrWidth (AddrWidth),
    .BusBytes  (dovetail_isa_pkg::BUS_BYTES),
    .MaxBeats  (MaxBurst),
    .CountWidth(SizeWidth)
  ) u_split (
    .clk_i,
    .rst_ni,
    .flush_i,
    .start_i      (start_o && head_data),
    .addr_i       (head_addr),
    .row_bytes_i  (head_row_bytes),
    .stride_i     (head_stride_bytes),
    .rows_i       (head_y_size),
    .valid_o      (burst_valid),
    .burst_addr_o (request_addr_o),
    .burst_beats_o(request_beats_o),
    .ready_i      (grant_i)
  );

  dovetail_read_buffer #(
    .BusBits(BusBits),
    .Depth  (dovetail_isa_pkg::OUTSTANDING_BEATS)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .flush_i,
    .burst_valid_i(burst_valid),
    .burst_beats_i(request_beats_o),
    .request_o,
    .grant_i,
    .beat_valid_i,
    .beat_data_i,
    .beat_resp_i,
    .valid_o      (buffer_valid),
    .data_o       (buffer_data),
    .resp_o       (buffer_resp),
    .pop_i        (buffer_pop)
  );

  logic                 drain_active, drain_slot, drain_last, drain_write, drain_pad;
  logic [SramWidth-1:0] drain_addr;
  logic [LaneWidth-1:0] drain_lane, head_lanes;
  logic [LineBits-1:0]  drain_line;

  assign head_lanes = head_uop ? LaneWidth'(UopLanes - 1) : head_acc8 ? LaneWidth'(Acc8Lanes - 1) : LaneWidth'(AccLanes - 1);
  dovetail_drain #(
    .BusBits  (BusBits),
    .LineBits (LineBits),
    .SramWidth(SramWidth),
    .SizeWidth(SizeWidth),
    .PadWidth (PadWidth),
    .LaneWidth(LaneWidth)
  ) u_drain (
    .clk_i,
    .rst_ni,
    .flush_i,
    .take_i      (start_o && head_moves),
    .sram_base_i (head_i[dovetail_isa_pkg::LOAD_SRAM_BASE_LSB+:SramWidth]),
    .lane_i      (LaneWidth'(head_i[dovetail_isa_pkg::LOAD_DRAM_BASE_LSB+:DramWidth]) & head_lanes),
    .lane_step_i (LaneWidth'(head_i[dovetail_isa_pkg::LOAD_X_STRIDE_LSB+:StrideWidth])),
    .lane_last_i (head_lanes),
    .beat_last_i (head_uop ? 10'(UopBeats - 1) : head_acc8 ? 10'(Acc8Beats - 1) : 10'(AccBeats - 1)),
    .x_size_i    (head_x_size),
    .y_size_i    (head_y_size),
    .x_pad_0_i   (head_i[dovetail_isa_pkg::LOAD_X_PAD_0_LSB+:PadWidth]),
    .x_pad_1_i   (head_i[dovetail_isa_pkg::LOAD_X_PAD_1_LSB+:PadWidth]),
    .y_pad_0_i   (head_y_pad_0),
    .y_pad_1_i   (head_y_pad_1),
    .active_o    (drain_active),
    .beat_valid_i(buffer_valid && !halt_i),
    .beat_data_i (buffer_data),
    .beat_pop_o  (buffer_pop),
    .slot_o      (drain_slot),
    .last_o      (drain_last),
    .write_o     (drain_write),
    .pad_o       (drain_pad),
    .addr_o      (drain_addr),
    .lane_o      (drain_lane),
    .line_o      (drain_line)
  );

  assign serial_end = serial_done_q && !halt_i && (!serial_push_prev_q || prev_room_i) && (!serial_push_next_q || next_room_i);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      serial_q      <= 1'b0;
      serial_done_q <= 1'b0;
    end else if (flush_i) begin
      serial_q      <= 1'b0;
      serial_done_q <= 1'b0;
    end else begin
      if (start_o && head_kind == KindSerial) serial_q <= 1'b1;
      else if (serial_end) serial_q <= 1'b0;
      if (start_o && head_kind == KindSerial && !head_moves) serial_done_q <= 1'b1;
      else if (drain_last) serial_done_q <= 1'b1;
      else if (serial_end) serial_done_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_o && head_kind == KindSerial) begin
      serial_index_q     <= head_index_i;
      serial_push_prev_q <= head_i[dovetail_isa_pkg::GEMM_PUSH_PREV_LSB];
      serial_push_next_q <= head_i[dovetail_isa_pkg::GEMM_PUSH_NEXT_LSB];
      memory_q           <= head_memory;
    end
  end
  assign error_o       = buffer_pop && buffer_resp[1];
  assign error_code_o  = buffer_resp[0] ? dovetail_isa_pkg::ERROR_DECODE_ERROR : dovetail_isa_pkg::ERROR_SLAVE_ERROR;
  assign error_index_o = serial_index_q;

  // ---- Stages U and X: the steps of GEMM and ALU ----------------------------------------------------------------------------------
  logic                x_valid, x_empty, x_first, x_last, x_gemm, x_reset, x_overwrite, x_use_imm, r_free;
  logic [2:0]          x_op;
  logic [15:0]         x_imm;
  logic [AccIndex-1:0] x_dst;
  logic [SrcIndex-1:0] x_src;
  logic [WgtIndex-1:0] x_wgt;
  logic [UopBits-1:0]  uop_element;

  dovetail_element #(
    .BusBits  (BusBits),
    .LineBits (LineBits),
    .Bits     (UopBits),
    .LaneWidth(LaneWidth)
  ) u_uop_element (
    .beat_i   (buffer_data),
    .line_i   (drain_line),
    .lane_i   (drain_lane),
    .element_o(uop_element)
  );
  dovetail_steps u_steps (
    .clk_i,
    .rst_ni,
    .flush_i,
    .start_i         (start_o && head_kind != KindSerial),
    .gemm_i          (head_kind == KindGemm),
    .instr_i         (head_i),
    .free_o          (front_free),
    .uop_we_i        (drain_write && memory_q == dovetail_isa_pkg::MEMORY_UOP),
    .uop_waddr_i     (drain_addr[UopIndex-1:0]),
    .uop_wdata_i     (drain_pad ? '0 : uop_element),
    .step_take_i     (r_free),
    .step_valid_o    (x_valid),
    .step_empty_o    (x_empty),
    .step_first_o    (x_first),
    .step_last_o     (x_last),
    .step_gemm_o     (x_gemm),
    .step_reset_o    (x_reset),
    .step_overwrite_o(x_overwrite),
    .step_use_imm_o  (x_use_imm),
    .step_op_o       (x_op),
    .step_imm_o      (x_imm),
    .step_dst_o      (x_dst),
    .step_src_o      (x_src),
    .step_wgt_o      (x_wgt)
  );

  // ---- Stage R: operands ------------------------------------------------------------------------------------------------------------
  localparam logic [1:0] ReadFirst = 2'd0;
  localparam logic [1:0] ReadBias = 2'd1;
  localparam logic [1:0] ReadDst = 2'd2;

  logic                r_valid_q, r_empty_q, r_first_q, r_last_q, r_gemm_q, r_reset_q, r_overwrite_q, r_use_imm_q;
  logic [2:0]          r_op_q;
  logic [15:0]         r_imm_q;
  logic [AccIndex-1:0] r_dst_q;
  logic [SrcIndex-1:0] r_src_q;
  logic [WgtIndex-1:0] r_wgt_q;
  logic [1:0]          r_phase_q;
  logic [AccIndex-1:0] before_dst_q, r_src, first_index, src_next;
  logic [AccIndex-1:0] before_src_q;
  logic                r_requant, r_vector, r_repeated, r_interlock, r_leaves, read_src, read_bias, read_dst;
  logic                pending;
  logic [AccIndex-1:0] pending_dst;

  assign r_src       = r_src_q[AccIndex-1:0];
  assign src_next    = r_src + 1'b1;
  assign r_requant   = r_op_q == dovetail_isa_pkg::ALU_REQUANT;
  assign r_vector    = !r_use_imm_q;
  assign r_repeated  = !r_first_q && before_src_q == r_src && before_dst_q != r_src && !(r_requant && before_dst_q == src_next);
  assign first_index = r_vector && !r_repeated ? r_src : r_dst_q;
  assign r_interlock = r_valid_q && !r_gemm_q && !r_empty_q && r_phase_q == ReadFirst && pending && pending_dst == first_index;

  always_comb begin
    read_src  = 1'b0;
    read_bias = 1'b0;
    read_dst  = 1'b0;
    if (r_valid_q && !r_gemm_q && !r_empty_q) begin
      unique case (r_phase_q)
        ReadFirst: begin
          read_src = !r_interlock && r_vector && !r_repeated;
          read_dst = !r_interlock && !(r_vector && !r_repeated);
        end
        ReadBias: read_bias = 1'b1;
        default: read_dst = 1'b1;
      endcase
    end
  end
  assign r_leaves = r_valid_q && (r_gemm_q || r_empty_q || read_dst);
  assign r_free   = !r_valid_q || r_leaves;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) r_valid_q <= 1'b0;
    else if (flush_i) r_valid_q <= 1'b0;
    else if (r_free) r_valid_q <= x_valid;
  end
  always_ff @(posedge clk_i) begin
    if (r_free && x_valid) begin
      r_empty_q     <= x_empty;
      r_first_q     <= x_first;
      r_last_q      <= x_last;
      r_gemm_q      <= x_gemm;
      r_reset_q     <= x_reset;
      r_overwrite_q <= x_overwrite;
      r_use_imm_q   <= x_use_imm;
      r_op_q        <= x_op;
      r_imm_q       <= x_imm;
      r_dst_q       <= x_dst;
      r_src_q       <= x_src;
      r_wgt_q       <= x_wgt;
      r_phase_q     <= ReadFirst;
    end else if (read_src) begin
      r_phase_q <= r_requant ? ReadBias : ReadDst;
    end else if (read_bias) begin
      r_phase_q <= ReadDst;
    end
    if (r_leaves) begin
      before_dst_q <= r_dst_q;
      before_src_q <= r_src;
    end
  end

  assign operand_re_o = r_valid_q && r_gemm_q && !r_empty_q && !r_reset_q;
  assign inp_addr_o   = r_src_q[InpIndex-1:0];
  assign wgt_addr_o   = r_wgt_q;

  // ---- The pipes and ACC ------------------------------------------------------------------------------------------------------------
  logic                gemm_re, gemm_we, gemm_last, alu_we, alu_last, acc_re, got_src_q, got_bias_q;
  logic [AccIndex-1:0] gemm_raddr, gemm_waddr, alu_waddr, acc_raddr;
  logic [AccBits-1:0]  gemm_wdata, alu_wdata, acc_rdata, source_q, bias_q, acc_element;
  logic [AccBits-1:0]  acc_beats;
  logic [Acc8Bits-1:0] acc8_beats;

  dovetail_gemm u_gemm (
    .clk_i,
    .rst_ni,
    .flush_i,
    .step_i          (r_valid_q && r_gemm_q),
    .step_empty_i    (r_empty_q),
    .step_last_i     (r_last_q),
    .step_reset_i    (r_reset_q),
    .step_overwrite_i(r_overwrite_q),
    .step_dst_i      (r_dst_q),
    .inp_i           (inp_data_i),
    .wgt_i           (wgt_data_i),
    .acc_re_o        (gemm_re),
    .acc_raddr_o     (gemm_raddr),
    .acc_rdata_i     (acc_rdata),
    .acc_we_o        (gemm_we),
    .acc_waddr_o     (gemm_waddr),
    .acc_wdata_o     (gemm_wdata),
    .last_o          (gemm_last)
  );

  dovetail_alu u_alu (
    .clk_i,
    .rst_ni,
    .flush_i,
    .step_i        (r_leaves && !r_gemm_q),
    .step_empty_i  (r_empty_q),
    .step_last_i   (r_last_q),
    .step_op_i     (r_op_q),
    .step_use_imm_i(r_use_imm_q),
    .step_imm_i    (r_imm_q),
    .step_dst_i    (r_dst_q),
    .acc_i         (acc_rdata),
    .source_i      (source_q),
    .bias_i        (bias_q),
    .pending_o     (pending),
    .pending_dst_o (pending_dst),
    .we_o          (alu_we),
    .waddr_o       (alu_waddr),
    .wdata_o       (alu_wdata),
    .last_o        (alu_last)
  );

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
    if (got_src_q) source_q <= acc_rdata;
    if (got_bias_q) bias_q <= acc_rdata;
  end

  dovetail_element #(
    .BusBits  (BusBits),
    .LineBits (LineBits),
    .Bits     (AccBits),
    .LaneWidth(LaneWidth)
  ) u_acc_element (
    .beat_i   (buffer_data),
    .line_i   (drain_line),
    .lane_i   (drain_lane),
    .element_o(acc_beats)
  );
  dovetail_element #(
    .BusBits  (BusBits),
    .LineBits (LineBits),
    .Bits     (Acc8Bits),
    .LaneWidth(LaneWidth)
  ) u_acc8_element (
    .beat_i   (buffer_data),
    .line_i   (drain_line),
    .lane_i   (drain_lane),
    .element_o(acc8_beats)
  );
  always_comb begin
    acc_element = acc_beats;
    if (memory_q == dovetail_isa_pkg::MEMORY_ACC8) begin
      for (int unsigned l = 0; l < Lanes; l++) acc_element[l*32+:32] = {{24{acc8_beats[l*8+7]}}, acc8_beats[l*8+:8]};
    end
  end

  always_comb begin
    acc_re    = gemm_re;
    acc_raddr = gemm_raddr;
    if (read_src || read_bias || read_dst) begin
      acc_re    = 1'b1;
      acc_raddr = read_src ? r_src : read_bias ? src_next : r_dst_q;
    end
    acc_we_o    = 1'b0;
    acc_waddr_o = gemm_waddr;
    acc_wdata_o = gemm_wdata;
    if (gemm_we) begin
      acc_we_o = 1'b1;
    end else if (alu_we) begin
      acc_we_o    = 1'b1;
      acc_waddr_o = alu_waddr;
      acc_wdata_o = alu_wdata;
    end else if (drain_write && memory_q != dovetail_isa_pkg::MEMORY_UOP) begin
      acc_we_o    = 1'b1;
      acc_waddr_o = drain_addr[AccIndex-1:0];
      acc_wdata_o = drain_pad ? '0 : acc_element;
    end
  end

  dovetail_sram #(
    .Width       (AccBits),
    .Depth       (dovetail_isa_pkg::ACC_DEPTH),
    .WriteThrough(1'b1)
  ) u_acc (
    .clk_i,
    .we_i   (acc_we_o),
    .waddr_i(acc_waddr_o),
    .wdata_i(acc_wdata_o),
    .re_i   (acc_re),
    .raddr_i(acc_raddr),
    .rdata_o(acc_rdata)
  );

  // ---- End --------------------------------------------------------------------------------------------------------------------------
  localparam int unsigned FlightWidth = $clog2(InFlight + 1);
  logic [FlightWidth-1:0] complete_q;  // GEMM and ALU instructions that are complete and not ended
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
    .data_i ({head_index_i, head_i[dovetail_isa_pkg::GEMM_PUSH_PREV_LSB], head_i[dovetail_isa_pkg::GEMM_PUSH_NEXT_LSB]}),
    .pop_i  (flight_end),
    .data_o ({flight_index, flight_push_prev, flight_push_next}),
    .empty_o(flight_empty),
    .full_o (flight_full)
  );
  assign flight_end = complete_q != '0 && !halt_i && (!flight_push_prev || prev_room_i) && (!flight_push_next || next_room_i);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) complete_q <= '0;
    else if (flush_i) complete_q <= '0;
    else complete_q <= complete_q + FlightWidth'(gemm_last || alu_last) - FlightWidth'(flight_end);
  end

  assign end_o       = serial_end || flight_end;
  assign end_index_o = serial_end ? serial_index_q : flight_index;
  assign prev_push_o = (serial_end && serial_push_prev_q) || (flight_end && flight_push_prev);
  assign next_push_o = (serial_end && serial_push_next_q) || (flight_end && flight_push_next);
  assign idle_o      = nothing_in_flight;
endmodule
