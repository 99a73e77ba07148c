// Writes OUT from ACC. Without the extension, OUT is written together with ACC. With it, the sums
// of the matrix pipe are requantized if their instruction has an epilogue, and delayed equally
// otherwise; a sum that is written to ACC in cycle w reaches OUT in w + acc_to_out, and one more
// with the table. docs/reference/timing.md, section 9.
//
//   w + 1  the lanes of dovetail_alu scale the sum
//   w + 2  they shift and round it
//   w + 3  they add the zero point and clamp to int8
//   w + 4  bounds; OUT is written, or the table is read
//   w + 5  with the table: OUT is written
//
// Words of OUT have the form of ACC's: dovetail_store takes their low bytes, or clamps them.
module dovetail_epilogue import dovetail_isa_pkg::*; #(
  localparam int unsigned BlockIn = BLOCK_IN,
  localparam int unsigned BlockOut = BLOCK_OUT,
  localparam int unsigned Lanes = BATCH * BLOCK_OUT,
  localparam int unsigned AccWidth = ACC_DEPTH_LOG2
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          flush_i,
  // The step of the matrix pipe in stage R; the parameters arrive in the following cycle.
  input  logic                          valid_i,
  // Only a part of the step is read.
  // verilator lint_off UNUSEDSIGNAL
  input  step_t                         step_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic [BlockOut*BlockIn*8-1:0] wgt_i,
  // Writes of ACC: of the matrix pipe, and the others, which exclude it.
  input  logic                          gemm_we_i,
  input  logic                          gemm_requant_i,
  input  logic                          gemm_last_i,
  input  logic                          acc_we_i,
  input  logic [AccWidth-1:0]           acc_waddr_i,
  input  logic [Lanes*32-1:0]           acc_wdata_i,
  // The lanes of REQUANT: operands of the first cycle, those of the third, and the result after it.
  output logic                          requant_o,
  output logic [Lanes*32-1:0]           value_o,
  output logic [BlockOut*32-1:0]        bias_o,
  output logic [BlockOut*32-1:0]        scale_o,
  output logic                          requant_2_o,
  output logic                          requant_3_o,
  output logic [7:0]                    zero_point_o,
  input  logic [Lanes*8-1:0]            result_i,
  // The table: entries arrive in the following cycle.
  output logic                          look_up_o,
  output logic [Lanes*8-1:0]            index_o,
  input  logic [Lanes*8-1:0]            entry_i,
  // Write port of OUT.
  output logic                          out_we_o,
  output logic [AccWidth-1:0]           out_waddr_o,
  output logic [Lanes*32-1:0]           out_wdata_o,
  output logic                          last_o  // all writes of an instruction are done
);
  if (EPILOGUE_ENABLED == 0) begin : gen_off
    assign requant_o    = 1'b0;
    assign value_o      = '0;
    assign bias_o       = '0;
    assign scale_o      = '0;
    assign requant_2_o  = 1'b0;
    assign requant_3_o  = 1'b0;
    assign zero_point_o = '0;
    assign look_up_o    = 1'b0;
    assign index_o      = '0;
    assign out_we_o     = acc_we_i;
    assign out_waddr_o  = acc_waddr_i;
    assign out_wdata_o  = acc_wdata_i;
    assign last_o       = gemm_last_i;
    logic unused;
    assign unused = ^{clk_i, rst_ni, flush_i, valid_i, step_i, wgt_i, gemm_we_i, gemm_requant_i,
                      result_i, entry_i};
  end else begin : gen_on
    // ---- Parameters -----------------------------------------------------------------------------
    localparam int unsigned RowBits = 8 * BlockIn;
    logic                   read_1_q, look_up_q;
    logic [BlockOut*32-1:0] bias_q, scale_q;
    logic [7:0]             zero_point_q, least_q, most_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) read_1_q <= 1'b0;
      else read_1_q <= valid_i && step_i.parameters && !flush_i;
    end
    logic looks_up_1_q;
    always_ff @(posedge clk_i) begin
      looks_up_1_q <= step_i.dst[0];
      if (read_1_q) begin
        for (int unsigned o = 0; o < BlockOut; o++) begin
          bias_q[o*32+:32]  <= wgt_i[o*RowBits+:32];
          scale_q[o*32+:32] <= wgt_i[o*RowBits+32+:32];
        end
        zero_point_q <= wgt_i[RowBits-24+:8];
        least_q      <= wgt_i[RowBits-16+:8];
        most_q       <= wgt_i[RowBits-8+:8];
        look_up_q    <= TABLE_ENABLED != 0 && looks_up_1_q;
      end
    end

    // ---- The pipe -------------------------------------------------------------------------------
    // A word as its sign, bit 8 and low byte: bit 8 differs from the sign if the word exceeds int8.
    localparam int unsigned Word = 10;
    logic                  valid_1_q, valid_2_q, valid_3_q, valid_4_q;  // there is a sum
    logic                  last_1_q, last_2_q, last_3_q, last_4_q;
    logic                  requant_1_q, requant_2_q, requant_3_q, requant_4_q;
    logic                  look_up_2_q, look_up_3_q, look_up_4_q;
    logic [AccWidth-1:0]   addr_1_q, addr_2_q, addr_3_q, addr_4_q;
    logic [Lanes*32-1:0]   sum_1_q;
    logic [Lanes*Word-1:0] word_2_q, word_3_q, word_4_q, word_4;
    logic [7:0]            zero_point_2_q, zero_point_3_q;
    logic [7:0]            least_2_q, least_3_q, least_4_q, most_2_q, most_3_q, most_4_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        {valid_1_q, valid_2_q, valid_3_q, valid_4_q} <= '0;
        {last_1_q, last_2_q, last_3_q, last_4_q}     <= '0;
      end else begin
        {valid_1_q, valid_2_q, valid_3_q, valid_4_q} <=
            flush_i ? '0 : {gemm_we_i, valid_1_q, valid_2_q, valid_3_q};
        {last_1_q, last_2_q, last_3_q, last_4_q} <=
            flush_i ? '0 : {gemm_last_i, last_1_q, last_2_q, last_3_q};
      end
    end
    always_ff @(posedge clk_i) begin
      {requant_1_q, requant_2_q, requant_3_q, requant_4_q} <=
          {gemm_requant_i, requant_1_q, requant_2_q, requant_3_q};
      {addr_1_q, addr_2_q, addr_3_q, addr_4_q} <= {acc_waddr_i, addr_1_q, addr_2_q, addr_3_q};
      zero_point_2_q <= zero_point_q;
      zero_point_3_q <= zero_point_2_q;
      least_2_q      <= least_q;
      least_3_q      <= least_2_q;
      least_4_q      <= least_3_q;
      most_2_q       <= most_q;
      most_3_q       <= most_2_q;
      most_4_q       <= most_3_q;
      look_up_2_q    <= look_up_q;
      look_up_3_q    <= look_up_2_q;
      look_up_4_q    <= look_up_3_q;
      if (gemm_we_i) sum_1_q <= acc_wdata_i;
      if (valid_1_q && !requant_1_q) begin
        for (int unsigned l = 0; l < Lanes; l++) begin
          word_2_q[l*Word+:Word] <= {
            sum_1_q[l*32+31],
            sum_1_q[l*32+7+:25] == {25{sum_1_q[l*32+31]}} ? sum_1_q[l*32+31] : !sum_1_q[l*32+31],
            sum_1_q[l*32+:8]
          };
        end
      end
      if (valid_2_q && !requant_2_q) word_3_q <= word_2_q;
      if (valid_3_q && !requant_3_q) word_4_q <= word_3_q;
    end
    assign requant_o    = valid_1_q && requant_1_q;
    assign value_o      = sum_1_q;
    assign bias_o       = bias_q;
    assign scale_o      = scale_q;
    assign requant_2_o  = valid_2_q && requant_2_q;
    assign requant_3_o  = valid_3_q && requant_3_q;
    assign zero_point_o = zero_point_3_q;

    logic signed [7:0] result, least, most;
    always_comb begin
      result  = '0;
      least   = least_4_q;
      most    = most_4_q;
      index_o = '0;
      word_4  = word_4_q;
      if (requant_4_q) begin
        for (int unsigned l = 0; l < Lanes; l++) begin
          result = result_i[l*8+:8];
          if (result < least) result = least;
          if (result > most) result = most;
          index_o[l*8+:8]      = {!result[7], result[6:0]};
          word_4[l*Word+:Word] = {{2{result[7]}}, result};
        end
      end
    end
    assign look_up_o = valid_4_q && requant_4_q && look_up_4_q;

    // ---- OUT ------------------------------------------------------------------------------------
    logic                  we;
    logic [AccWidth-1:0]   addr;
    logic [Lanes*Word-1:0] word;
    if (TABLE_ENABLED != 0) begin : gen_table
      logic                  valid_5_q, last_5_q, look_up_5_q;
      logic [AccWidth-1:0]   addr_5_q;
      logic [Lanes*Word-1:0] word_5_q;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) {valid_5_q, last_5_q} <= '0;
        else {valid_5_q, last_5_q} <= flush_i ? '0 : {valid_4_q, last_4_q};
      end
      always_ff @(posedge clk_i) begin
        look_up_5_q <= requant_4_q && look_up_4_q;
        addr_5_q    <= addr_4_q;
        if (valid_4_q) word_5_q <= word_4;
      end
      always_comb begin
        word = word_5_q;
        if (look_up_5_q) begin
          for (int unsigned l = 0; l < Lanes; l++) begin
            word[l*Word+:Word] = {{2{entry_i[l*8+7]}}, entry_i[l*8+:8]};
          end
        end
      end
      assign we     = valid_5_q;
      assign addr   = addr_5_q;
      assign last_o = last_5_q;
    end else begin : gen_no_table
      assign we     = valid_4_q;
      assign addr   = addr_4_q;
      assign word   = word_4;
      assign last_o = last_4_q;
      logic unused;
      assign unused = ^entry_i;
    end

    always_comb begin
      out_we_o    = we || (acc_we_i && !gemm_we_i);
      out_waddr_o = we ? addr : acc_waddr_i;
      out_wdata_o = acc_wdata_i;
      if (we) begin
        for (int unsigned l = 0; l < Lanes; l++) begin
          out_wdata_o[l*32+:32] = {{23{word[l*Word+9]}}, word[l*Word+:9]};
        end
      end
    end
  end
endmodule
