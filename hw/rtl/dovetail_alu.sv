// The vector pipe, after stage R: operands arrive in the cycle after the destination is read.
// Results of kind alu are written in that cycle, those of kind alu_long three cycles later, which
// is what REQUANT takes. Lint reports an operation without a case.
module dovetail_alu import dovetail_isa_pkg::*; #(
  localparam int unsigned Lanes = BATCH * BLOCK_OUT,
  localparam int unsigned AccWidth = ACC_DEPTH_LOG2,
  localparam int unsigned BusBits = 8 * BUS_BYTES,
  localparam int unsigned TableWidth = TAB_ELEMENT_BYTES_LOG2 - BUS_BYTES_LOG2
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    flush_i,
  // The last cycle of a step in R.
  input  logic                    valid_i,
  input  step_t                   step_i,
  // The following cycle: the destination's value, and the operands read before.
  input  logic [Lanes*32-1:0]     acc_i,
  input  logic [Lanes*32-1:0]     source_i,
  input  logic [Lanes*6-1:0]      shift_i,  // amounts of SHR: left, places
  input  logic [Lanes*32-1:0]     next_i,
  // Write port of the table, in beats.
  input  logic                    table_we_i,
  input  logic [TableWidth-1:0]   table_waddr_i,
  input  logic [BusBits-1:0]      table_wdata_i,
  // The results of RECIP and RSQRT for all batch rows, in the cycle in which their step is written.
  input  logic [BATCH*32-1:0]     recip_i,
  // The epilogue uses the lanes of REQUANT and the table while there is no step.
  input  logic                    epilogue_requant_i,
  input  logic [Lanes*32-1:0]     epilogue_value_i,
  input  logic [BLOCK_OUT*32-1:0] epilogue_bias_i,
  input  logic [BLOCK_OUT*32-1:0] epilogue_scale_i,
  input  logic                    epilogue_requant_2_i,
  input  logic                    epilogue_requant_3_i,
  input  logic [7:0]              epilogue_zero_point_i,  // in the third cycle
  output logic [Lanes*8-1:0]      epilogue_result_o,
  input  logic                    epilogue_look_up_i,
  input  logic [Lanes*8-1:0]      epilogue_index_i,
  output logic [Lanes*8-1:0]      epilogue_entry_o,
  // Writes of ACC, by dovetail_accumulate: a sum, or a word that depends on whether ACC's is less
  // than the source. Both words are idle_wdata_i while there is no step.
  output logic                    we_o,
  output logic [AccWidth-1:0]     waddr_o,
  output logic                    adds_o,
  output logic [Lanes*32-1:0]     if_less_o,
  output logic [Lanes*32-1:0]     if_not_less_o,
  input  logic [Lanes*32-1:0]     idle_wdata_i,
  output logic                    last_o
);
  localparam logic [15:0] LongOps = ALU_SET_LONG;

  // The step in the four cycles after its last one in R.
  logic                valid_1_q, valid_2_q, valid_3_q, valid_4_q;
  logic                empty_1_q, empty_2_q, empty_3_q, empty_4_q;
  logic                last_1_q, last_2_q, last_3_q, last_4_q, long_1;
  alu_op_e             op_1_q, op_2_q, op_3_q, op_4_q;
  logic [15:0]         imm_1_q, imm_2_q, imm_3_q;
  logic [AccWidth-1:0] dst_1_q, dst_2_q, dst_3_q, dst_4_q;

  assign long_1 = LongOps[op_1_q];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_1_q <= 1'b0;
      valid_2_q <= 1'b0;
      valid_3_q <= 1'b0;
      valid_4_q <= 1'b0;
    end else begin
      valid_1_q <= valid_i && !flush_i;
      valid_2_q <= valid_1_q && long_1 && !flush_i;
      valid_3_q <= valid_2_q && !flush_i;
      valid_4_q <= valid_3_q && !flush_i;
    end
  end
  // Modules are synthesized separately, so the fields of a step that belong to an extension are
  // tied off if the extension is off.
  logic [3:0] op_bits;
  alu_code_t  op;
  assign op_bits = step_i.op;
  assign op      = {NORM_ENABLED != 0 && op_bits[3], op_bits[2:0]};

  always_ff @(posedge clk_i) begin
    {empty_1_q, empty_2_q, empty_3_q, empty_4_q} <= {step_i.empty, empty_1_q, empty_2_q, empty_3_q};
    {last_1_q, last_2_q, last_3_q, last_4_q}     <= {step_i.last, last_1_q, last_2_q, last_3_q};
    {dst_1_q, dst_2_q, dst_3_q, dst_4_q}         <= {step_i.dst, dst_1_q, dst_2_q, dst_3_q};
    {imm_1_q, imm_2_q, imm_3_q}                  <= {step_i.imm, imm_1_q, imm_2_q};
    op_1_q <= op.op;
    op_2_q <= op_1_q;
    op_3_q <= op_2_q;
    op_4_q <= op_3_q;
  end

  assign we_o    = valid_4_q ? !empty_4_q : valid_1_q && !long_1 && !empty_1_q;
  assign waddr_o = valid_4_q ? dst_4_q : dst_1_q;
  assign last_o  = valid_4_q ? last_4_q : valid_1_q && !long_1 && last_1_q;

  // Operands are gated while there is no step, so that neither gates nor a simulator do any work.
  // The choice of the result is decoded a cycle ahead.
  logic [Lanes*32-1:0] shifted, rest, product_q, requantized, looked_up, reduced;
  logic [Lanes*32-1:0] second, long_3_q, long_4_q;  // results that are known before they are due
  logic [Lanes*8-1:0]  requantized_8;
  logic signed [31:0]  value;
  logic [63:0]         window;
  logic                adds_1_q, shifts_1_q, compares_1_q, maximum_1_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {adds_1_q, shifts_1_q, compares_1_q} <= '0;
    else begin
      adds_1_q     <= valid_i && op.op == ALU_ADD;
      shifts_1_q   <= valid_i && op.op == ALU_SHR;
      compares_1_q <= valid_i && (op.op == ALU_MIN || op.op == ALU_MAX);
    end
  end
  always_ff @(posedge clk_i) maximum_1_q <= op.op == ALU_MAX;

  always_comb begin
    shifted = acc_i;
    value   = '0;
    window  = '0;
    if (shifts_1_q) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        value             = acc_i[l*32+:32];
        window            = shift_i[l*6+5] ? {value, 32'd0} : {{32{value[31]}}, value};
        shifted[l*32+:32] = 32'(window >> shift_i[l*6+:5]);
      end
    end
  end
  assign adds_o = adds_1_q;

  // MUL and SQADD, which multiplies the operand by itself. Operands are kept for a cycle: they come
  // from the memory late, and results are not due before the fourth cycle.
  logic multiplies_1, multiplies_2, multiplies_3, squares_2;
  assign squares_2    = NORM_ENABLED != 0 && op_2_q == ALU_SQADD;
  assign multiplies_1 = valid_1_q &&
                        (op_1_q == ALU_MUL || (NORM_ENABLED != 0 && op_1_q == ALU_SQADD));
  assign multiplies_2 = valid_2_q && (op_2_q == ALU_MUL || squares_2);
  assign multiplies_3 = op_3_q == ALU_MUL || (NORM_ENABLED != 0 && op_3_q == ALU_SQADD);
  for (genvar l = 0; l < Lanes; l++) begin : gen_multiply
    logic [31:0] value_q, factor_q;
    always_ff @(posedge clk_i) begin
      if (multiplies_1) begin
        value_q  <= acc_i[l*32+:32];
        factor_q <= source_i[l*32+:32];
      end
      if (multiplies_2) begin
        product_q[l*32+:32] <= (squares_2 ? factor_q : value_q) * factor_q +
                               (squares_2 ? value_q : 32'd0);
      end
    end
  end

  assign epilogue_result_o = requantized_8;

  if (REQUANT_ENABLED != 0) begin : gen_requant
    logic        requants_1, requants_2, requants_3;
    logic [15:0] zero_point;
    assign requants_1 = op_1_q == ALU_REQUANT || (NORM_ENABLED != 0 && op_1_q == ALU_REQUANT8);
    assign requants_2 = op_2_q == ALU_REQUANT || (NORM_ENABLED != 0 && op_2_q == ALU_REQUANT8);
    assign requants_3 = op_3_q == ALU_REQUANT || (NORM_ENABLED != 0 && op_3_q == ALU_REQUANT8);
    assign zero_point = EPILOGUE_ENABLED != 0 && epilogue_requant_3_i ?
                        {{8{epilogue_zero_point_i[7]}}, epilogue_zero_point_i} : imm_3_q;
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      localparam int unsigned Column = l % BLOCK_OUT;
      logic        of_epilogue;
      logic [31:0] lane_value, lane_bias, lane_scale;
      assign of_epilogue = EPILOGUE_ENABLED != 0 && epilogue_requant_i;
      assign lane_value = of_epilogue ? epilogue_value_i[l*32+:32] : acc_i[l*32+:32];
      assign lane_bias  = of_epilogue ? epilogue_bias_i[Column*32+:32] : next_i[l*32+:32];
      assign lane_scale = of_epilogue ? epilogue_scale_i[Column*32+:32] : source_i[l*32+:32];
      dovetail_requant #(
        .HasInt8(EPILOGUE_ENABLED != 0 || NORM_ENABLED != 0)
      ) u_requant (
        .clk_i,
        .enable_i    (of_epilogue || (valid_1_q && requants_1)),
        .value_i     (lane_value),
        .bias_i      (lane_bias),
        .scale_i     (lane_scale),
        .enable_2_i  ((EPILOGUE_ENABLED != 0 && epilogue_requant_2_i) ||
                      (valid_2_q && requants_2)),
        .enable_3_i  ((EPILOGUE_ENABLED != 0 && epilogue_requant_3_i) ||
                      (valid_3_q && requants_3)),
        .zero_point_i(zero_point),
        .result_o    (requantized[l*32+:32]),
        .result_8_o  (requantized_8[l*8+:8])
      );
    end
  end else begin : gen_no_requant
    assign requantized   = '0;
    assign requantized_8 = '0;
  end

  logic table_re;
  assign table_re = TABLE_ENABLED != 0 && valid_1_q && !empty_1_q &&
                    (op_1_q == ALU_TABLE || op_1_q == ALU_TABLEU);
  if (TABLE_ENABLED != 0) begin : gen_table
    logic [Lanes*8-1:0]  index;
    logic [Lanes*16-1:0] entry;
    dovetail_table u_table (
      .clk_i,
      .we_i   (table_we_i),
      .waddr_i(table_waddr_i),
      .wdata_i(table_wdata_i),
      .re_i   (table_re || (EPILOGUE_ENABLED != 0 && epilogue_look_up_i)),
      .index_i(index),
      .entry_o(entry)
    );
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      logic [31:0] sum;
      assign sum = acc_i[l*32+:32] + source_i[l*32+:32];
      // The sum clamped to int8, from -128 on.
      assign index[l*8+:8] =
          EPILOGUE_ENABLED != 0 && epilogue_look_up_i ? epilogue_index_i[l*8+:8] :
          &sum[31:7] || !(|sum[31:7]) ? {!sum[7], sum[6:0]} : {8{!sum[31]}};
      assign epilogue_entry_o[l*8+:8] = entry[l*16+:8];
      assign looked_up[l*32+:32] = {{16{op_2_q == ALU_TABLE && entry[l*16+15]}}, entry[l*16+:16]};
    end
  end else begin : gen_no_table
    assign looked_up        = '0;
    assign epilogue_entry_o = '0;
    logic unused;
    assign unused = ^{table_re, table_we_i, table_waddr_i, table_wdata_i};
  end

  if (NORM_ENABLED != 0) begin : gen_reduce
    for (genvar b = 0; b < BATCH; b++) begin : gen_row
      logic [31:0] result;
      dovetail_reduce u_reduce (
        .clk_i,
        .enable_i   (valid_1_q && (op_1_q == ALU_RMAX || op_1_q == ALU_RADD)),
        .maximum_i  (op_1_q == ALU_RMAX),
        .value_i    (acc_i[b*BLOCK_OUT*32+:BLOCK_OUT*32]),
        .maximum_2_i(op_2_q == ALU_RMAX),
        .result_o   (result)
      );
      assign reduced[b*BLOCK_OUT*32+:BLOCK_OUT*32] = {BLOCK_OUT{result}};
    end
  end else begin : gen_no_reduce
    assign reduced = '0;
    logic unused;
    assign unused = ^recip_i;
  end

  always_comb begin
    second = looked_up;
    if (NORM_ENABLED != 0 && (op_2_q == ALU_RMAX || op_2_q == ALU_RADD)) second = reduced;
  end
  always_ff @(posedge clk_i) begin
    if (valid_2_q) long_3_q <= second;
    if (valid_3_q) long_4_q <= multiplies_3 ? product_q : long_3_q;
  end

  always_comb begin
    rest = shifts_1_q ? shifted : idle_wdata_i;
    if (valid_4_q) begin
      rest = long_4_q;
      unique case (op_4_q)
        ALU_REQUANT: rest = requantized;
        ALU_REQUANT8: begin
          if (NORM_ENABLED != 0) begin
            for (int unsigned l = 0; l < Lanes; l++) begin
              rest[l*32+:32] = {{24{requantized_8[l*8+7]}}, requantized_8[l*8+:8]};
            end
          end
        end
        ALU_RECIP, ALU_RSQRT: begin
          if (NORM_ENABLED != 0) begin
            for (int unsigned l = 0; l < Lanes; l++) begin
              rest[l*32+:32] = recip_i[l/BLOCK_OUT*32+:32];
            end
          end
        end
        ALU_MUL, ALU_SQADD, ALU_RMAX, ALU_RADD, ALU_TABLE, ALU_TABLEU: ;  // long_4_q
        ALU_MIN, ALU_MAX, ALU_ADD, ALU_SHR: ;  // alu
      endcase
    end
  end

  always_comb begin
    if_less_o     = rest;
    if_not_less_o = rest;
    if (compares_1_q) begin
      if_less_o     = maximum_1_q ? source_i : acc_i;
      if_not_less_o = maximum_1_q ? acc_i : source_i;
    end
  end

  if (REQUANT_ENABLED == 0) begin : gen_unused
    logic unused;
    assign unused = ^{next_i, imm_3_q};
  end
  if (EPILOGUE_ENABLED == 0) begin : gen_no_epilogue
    logic unused;
    assign unused = ^{epilogue_requant_i, epilogue_value_i, epilogue_bias_i, epilogue_scale_i,
                      epilogue_requant_2_i, epilogue_requant_3_i, epilogue_zero_point_i,
                      epilogue_look_up_i, epilogue_index_i};
  end
endmodule
