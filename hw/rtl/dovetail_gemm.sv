// The matrix pipe: dot products, then the accumulator. It takes a step in the cycle after R, r + 1,
// which writes ACC in r + gemm_read_to_write.
//
//   r + 2  operands arrive, products
//   r + 3  sums; ACC is read
//   r + 4  ACC arrives, dovetail_accumulate adds the sum, ACC is written
//
// A step of WINDOW multiplies, in place of lane t of the input, lane o of the input pushed t steps
// before, for each column o.
module dovetail_gemm import dovetail_isa_pkg::*; #(
  localparam int unsigned Batch = BATCH,
  localparam int unsigned BlockIn = BLOCK_IN,
  localparam int unsigned BlockOut = BLOCK_OUT,
  localparam int unsigned Lanes = Batch * BlockOut,
  localparam int unsigned AccWidth = ACC_DEPTH_LOG2
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          flush_i,
  // The step after stage R.
  input  logic                          valid_i,
  input  step_t                         step_i,
  // Operands, in the following cycle.
  input  logic [Batch*BlockIn*8-1:0]    inp_i,
  input  logic [BlockOut*BlockIn*8-1:0] wgt_i,
  // Read and write port of ACC.
  output logic                          acc_re_o,
  output logic [AccWidth-1:0]           acc_raddr_o,
  output logic                          acc_we_o,
  output logic [AccWidth-1:0]           acc_waddr_o,
  // The sum is added to the word that was read, or written in its place; or that is reset to 0.
  output logic                          overwrites_o,
  output logic                          reset_o,
  output logic [Lanes*32-1:0]           sum_o,
  output logic                          requant_o,  // the written sum is to be requantized
  output logic                          last_o  // the written step is the last of its instruction
);
  logic                valid_1_q, valid_2_q, valid_3_q;  // there is a step
  logic                last_1_q, last_2_q, last_3_q;
  logic                write_1_q, write_2_q, write_3_q;  // it is not empty; 3: and there is one
  logic                reset_1_q, reset_2_q, reset_3_q;
  logic                over_1_q, over_2_q, over_3_q;
  logic                requant_1_q, requant_2_q, requant_3_q;
  logic                first_1_q, window_1_q, push_1_q, parameters_1_q;
  logic [AccWidth-1:0] dst_1_q, dst_2_q, dst_3_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_1_q <= 1'b0;
      valid_2_q <= 1'b0;
      valid_3_q <= 1'b0;
      write_3_q <= 1'b0;
    end else begin
      valid_1_q <= valid_i && !flush_i;
      valid_2_q <= valid_1_q && !flush_i;
      valid_3_q <= valid_2_q && !flush_i;
      write_3_q <= valid_2_q && write_2_q && !flush_i;
    end
  end
  always_ff @(posedge clk_i) begin
    last_1_q  <= step_i.last;
    last_2_q  <= last_1_q;
    last_3_q  <= last_2_q;
    write_1_q <= !step_i.empty && !step_i.push && !step_i.parameters;
    write_2_q <= write_1_q;
    reset_1_q <= step_i.reset;
    reset_2_q <= reset_1_q;
    reset_3_q <= reset_2_q;
    over_1_q  <= step_i.overwrite;
    over_2_q  <= over_1_q;
    over_3_q  <= over_2_q;
    requant_1_q <= EPILOGUE_ENABLED != 0 && step_i.requant;
    requant_2_q <= requant_1_q;
    requant_3_q <= requant_2_q;
    first_1_q <= step_i.first;
    window_1_q <= WINDOW_ENABLED != 0 && step_i.window && !step_i.parameters;
    push_1_q  <= WINDOW_ENABLED != 0 && step_i.push;
    parameters_1_q <= EPILOGUE_ENABLED != 0 && step_i.parameters;
    dst_1_q   <= step_i.dst;
    dst_2_q   <= dst_1_q;
    dst_3_q   <= dst_2_q;
  end

  // ---- The window -------------------------------------------------------------------------------
  // Columns of the input tile as the dot products read it: [batch][column][lane].
  logic [Lanes*BlockIn*8-1:0] operand;
  if (WINDOW_ENABLED != 0) begin : gen_window
    localparam int unsigned Element = Batch * BlockIn * 8;
    logic [(BlockIn-1)*Element-1:0] window_q;  // the inputs before this one, the newest lowest
    logic [BlockIn*Element-1:0]     window;    // with this one; cleared by the first step
    assign window = {first_1_q ? '0 : window_q, inp_i};
    always_ff @(posedge clk_i) begin
      if (valid_1_q && window_1_q) window_q <= window[(BlockIn-1)*Element-1:0];
    end
    for (genvar b = 0; b < Batch; b++) begin : gen_operand_row
      for (genvar o = 0; o < BlockOut; o++) begin : gen_operand_column
        for (genvar t = 0; t < BlockIn; t++) begin : gen_operand_lane
          assign operand[((b*BlockOut+o)*BlockIn+t)*8+:8] =
              window_1_q ? window[t*Element+(b*BlockIn+o)*8+:8] : inp_i[(b*BlockIn+t)*8+:8];
        end
      end
    end
  end else begin : gen_no_window
    logic unused;
    assign unused = ^{first_1_q, window_1_q};
    for (genvar b = 0; b < Batch; b++) begin : gen_operand_row
      for (genvar o = 0; o < BlockOut; o++) begin : gen_operand_column
        assign operand[(b*BlockOut+o)*BlockIn*8+:BlockIn*8] = inp_i[b*BlockIn*8+:BlockIn*8];
      end
    end
  end

  // ---- Products ---------------------------------------------------------------------------------
  logic signed [31:0] partial_2_q [Lanes];
  logic signed [31:0] sum_3_q [Lanes];

  for (genvar b = 0; b < Batch; b++) begin : gen_row
    for (genvar o = 0; o < BlockOut; o++) begin : gen_column
      dovetail_dot #(
        .Length(BlockIn)
      ) u_dot (
        .clk_i,
        .enable_i  (valid_1_q && !reset_1_q && !push_1_q && !parameters_1_q),
        .enable_2_i(valid_2_q && !reset_2_q),
        .a_i       (operand[(b*BlockOut+o)*BlockIn*8+:BlockIn*8]),
        .b_i       (wgt_i[o*BlockIn*8+:BlockIn*8]),
        .partial_o (partial_2_q[b*BlockOut+o]),
        .sum_o     (sum_3_q[b*BlockOut+o])
      );
    end
  end

  always_comb begin
    for (int unsigned l = 0; l < Lanes; l++) sum_o[l*32+:32] = sum_3_q[l];
  end

  assign acc_re_o     = valid_2_q && write_2_q;
  assign acc_raddr_o  = dst_2_q;
  assign acc_we_o     = write_3_q;
  assign acc_waddr_o  = dst_3_q;
  assign overwrites_o = over_3_q;
  assign reset_o      = reset_3_q;
  assign requant_o    = requant_3_q;
  assign last_o       = valid_3_q && last_3_q;
endmodule
