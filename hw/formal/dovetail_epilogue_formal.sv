// Proof of dovetail_epilogue for one lane: each write of ACC is followed by a write of OUT after a
// fixed number of cycles, with the sum as STORE sees it, or the result of REQUANT within the bounds
// (looked up in the table if requested); and each sum is combined with the parameters that were
// read before its step.
module dovetail_epilogue_formal import dovetail_isa_pkg::*; #(
  localparam int unsigned Lanes = BATCH * BLOCK_OUT,
  localparam int unsigned AccWidth = ACC_DEPTH_LOG2,
  localparam int unsigned ToAcc = TIMING_GEMM_READ_TO_WRITE - 1,  // the step comes a cycle after R
  localparam int unsigned ToOut = TIMING_ACC_TO_OUT + (TABLE_ENABLED != 0 ? TIMING_TABLE_TO_OUT : 0)
) (
  input logic                            clk_i,
  input logic                            valid_i,
  input step_t                           step_i,
  input logic                            write_i,    // the step in R will write ACC
  input logic                            requant_i,  // and ends with the epilogue
  input logic                            last_i,
  input logic [BLOCK_OUT*BLOCK_IN*8-1:0] wgt_i,
  input logic                            other_we_i,
  input logic [AccWidth-1:0]             acc_waddr_i,
  input logic [Lanes*32-1:0]             acc_wdata_i,
  input logic [Lanes*8-1:0]              result_i,
  input logic [Lanes*8-1:0]              entry_i
);
  localparam int unsigned RowBits = 8 * BLOCK_IN;
  (* anyconst *) logic [7:0] lane;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // ---- Parameters of the step in R: those read last, which arrive a cycle after their step ------
  logic        known = 1'b0;  // some were read
  logic        reads, read_q = 1'b0, looks_up_q, arrived_look_up, look_up_q;
  logic [31:0] bias, scale, bias_q, scale_q;
  logic [7:0]  zero_point, least, most, zero_point_q, least_q, most_q;
  assign reads           = valid_i && step_i.parameters;
  assign bias            = read_q ? wgt_i[lane*RowBits+:32] : bias_q;
  assign scale           = read_q ? wgt_i[lane*RowBits+32+:32] : scale_q;
  assign zero_point      = read_q ? wgt_i[RowBits-24+:8] : zero_point_q;
  assign least           = read_q ? wgt_i[RowBits-16+:8] : least_q;
  assign most            = read_q ? wgt_i[RowBits-8+:8] : most_q;
  assign arrived_look_up = TABLE_ENABLED != 0 && (read_q ? looks_up_q : look_up_q);
  always_ff @(posedge clk_i) begin
    known        <= known || read_q;
    read_q       <= rst_n && reads;
    looks_up_q   <= step_i.dst[0];
    bias_q       <= bias;
    scale_q      <= scale;
    zero_point_q <= zero_point;
    least_q      <= least;
    most_q       <= most;
    look_up_q    <= arrived_look_up;
  end

  // ---- The steps, 1 to ToAcc + ToOut cycles after R ---------------------------------------------
  logic [ToAcc+ToOut:1]         write_q = '0, last_q = '0, requant_q, step_look_up_q;
  logic [ToAcc+ToOut:0]         write, last, requant, look_up;
  logic [32*(ToAcc+1):1]        biases_q, scales_q;  // by age
  logic [8*(ToAcc+ToOut)-1:0]   zero_points_q, leasts_q, mosts_q;
  assign write   = {write_q, write_i && rst_n};
  assign last    = {last_q, last_i && rst_n};
  assign requant = {requant_q, requant_i};
  assign look_up = {step_look_up_q, arrived_look_up};
  always_ff @(posedge clk_i) begin
    write_q        <= write[ToAcc+ToOut-1:0];
    last_q         <= last[ToAcc+ToOut-1:0];
    requant_q      <= requant[ToAcc+ToOut-1:0];
    step_look_up_q <= look_up[ToAcc+ToOut-1:0];
    biases_q       <= {biases_q[32*ToAcc:1], bias};
    scales_q       <= {scales_q[32*ToAcc:1], scale};
    zero_points_q  <= {zero_points_q[8*(ToAcc+ToOut-1)-1:0], zero_point};
    leasts_q       <= {leasts_q[8*(ToAcc+ToOut-1)-1:0], least};
    mosts_q        <= {mosts_q[8*(ToAcc+ToOut-1)-1:0], most};
  end

  // What was written to ACC, 1 to ToOut cycles ago.
  logic [AccWidth*ToOut-1:0] addresses_q;
  logic [32*ToOut-1:0]       sums_q;
  always_ff @(posedge clk_i) begin
    addresses_q <= {addresses_q[AccWidth*(ToOut-1)-1:0], acc_waddr_i};
    sums_q      <= {sums_q[32*(ToOut-1)-1:0], acc_wdata_i[lane*32+:32]};
  end

  logic                    requant_1, requant_2, requant_3, look_up_4, out_we, out_last;
  logic [Lanes*32-1:0]     value, out_wdata;
  logic [BLOCK_OUT*32-1:0] bias_1, scale_1;
  logic [7:0]              zero_point_3;
  logic [Lanes*8-1:0]      index_4;
  logic [AccWidth-1:0]     out_waddr;
  dovetail_epilogue u_dut (
    .clk_i,
    .rst_ni        (rst_n),
    .flush_i       (1'b0),
    .valid_i,
    .step_i,
    .wgt_i,
    .gemm_we_i     (write[ToAcc]),
    .gemm_requant_i(requant[ToAcc]),
    .gemm_last_i   (last[ToAcc]),
    .acc_we_i      (write[ToAcc] || other_we_i),
    .acc_waddr_i,
    .acc_wdata_i,
    .requant_o     (requant_1),
    .value_o       (value),
    .bias_o        (bias_1),
    .scale_o       (scale_1),
    .requant_2_o   (requant_2),
    .requant_3_o   (requant_3),
    .zero_point_o  (zero_point_3),
    .result_i,
    .look_up_o     (look_up_4),
    .index_o       (index_4),
    .entry_i,
    .out_we_o      (out_we),
    .out_waddr_o   (out_waddr),
    .out_wdata_o   (out_wdata),
    .last_o        (out_last)
  );

  // The result within its bounds: in the cycle in which it reaches OUT, or the table.
  localparam int unsigned Fourth = ToAcc + TIMING_ACC_TO_OUT;
  logic signed [7:0]  bounded, bounded_q, expected;
  logic signed [31:0] out, sum;
  always_comb begin
    bounded = result_i[lane*8+:8];
    if (bounded < $signed(leasts_q[8*(Fourth-1)+:8])) bounded = leasts_q[8*(Fourth-1)+:8];
    if (bounded > $signed(mosts_q[8*(Fourth-1)+:8])) bounded = mosts_q[8*(Fourth-1)+:8];
  end
  always_ff @(posedge clk_i) bounded_q <= bounded;
  assign out      = out_wdata[lane*32+:32];
  assign sum      = sums_q[32*(ToOut-1)+:32];
  assign expected = TABLE_ENABLED == 0       ? bounded :
                    look_up[ToAcc+ToOut]     ? entry_i[lane*8+:8] : bounded_q;

  always_comb begin
    // A step that reads parameters takes the cycles before it in R, too; it writes nothing.
    assume (32'(lane) < Lanes);
    if (reads) assume (write[TIMING_EPILOGUE_PARAMETER_CYCLES-1:0] == '0);
    if (write_i && requant_i) assume (known || read_q);
    // Others write when no product is in the pipe.
    if (other_we_i) assume (write[ToAcc+ToOut:1] == '0);
    if (rst_n) begin
      assert (out_we == (write[ToAcc+ToOut] || other_we_i));
      assert (out_last == last[ToAcc+ToOut]);
      if (other_we_i) begin
        assert (out_waddr == acc_waddr_i);
        assert (out_wdata == acc_wdata_i);
      end
      if (write[ToAcc+ToOut]) begin
        assert (out_waddr == addresses_q[AccWidth*(ToOut-1)+:AccWidth]);
        if (requant[ToAcc+ToOut]) begin
          assert (out == 32'(expected));
        end else begin
          assert (out[7:0] == sum[7:0]);
          assert ((out > 127) == (sum > 127) && (out < -128) == (sum < -128));
        end
      end
      assert (requant_1 == (write[ToAcc+1] && requant[ToAcc+1]));
      if (requant_1) begin
        assert (value[lane*32+:32] == sums_q[31:0]);
        assert (bias_1[lane*32+:32] == biases_q[32*ToAcc+1+:32]);
        assert (scale_1[lane*32+:32] == scales_q[32*ToAcc+1+:32]);
      end
      assert (requant_2 == (write[ToAcc+2] && requant[ToAcc+2]));
      assert (requant_3 == (write[ToAcc+3] && requant[ToAcc+3]));
      if (requant_3) assert (zero_point_3 == zero_points_q[8*(ToAcc+2)+:8]);
      assert (look_up_4 == (write[Fourth] && requant[Fourth] && look_up[Fourth]));
      if (look_up_4) assert (index_4[lane*8+:8] == 8'(bounded + 8'sd128));
    end
  end
  // Internal state.
  (* hierconn *) logic                    \u_dut.gen_on.look_up_q ;
  (* hierconn *) logic [BLOCK_OUT*32-1:0] \u_dut.gen_on.bias_q ;
  (* hierconn *) logic [BLOCK_OUT*32-1:0] \u_dut.gen_on.scale_q ;
  (* hierconn *) logic [7:0]              \u_dut.gen_on.zero_point_q ;
  (* hierconn *) logic [7:0]              \u_dut.gen_on.least_q ;
  (* hierconn *) logic [7:0]              \u_dut.gen_on.most_q ;
  always_comb begin
    if (rst_n && known) begin
      assert (\u_dut.gen_on.look_up_q == look_up_q);
      assert (\u_dut.gen_on.bias_q [lane*32+:32] == bias_q);
      assert (\u_dut.gen_on.scale_q [lane*32+:32] == scale_q);
      assert (\u_dut.gen_on.zero_point_q == zero_point_q);
      assert (\u_dut.gen_on.least_q == least_q);
      assert (\u_dut.gen_on.most_q == most_q);
    end
  end
  always_ff @(posedge clk_i) begin
    cover (rst_n && write[ToAcc+ToOut] && requant[ToAcc+ToOut] && out == 32'sd77);
    cover (rst_n && write[ToAcc+ToOut] && !requant[ToAcc+ToOut] && out == -32'sd77);
  end
endmodule
