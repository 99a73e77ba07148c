// Proof of dovetail_load's writes, whatever the memory side gives: a LOAD of WGT4 writes each
// weight of 4 bits, widened to int8, in its lane of WGT; LOADs of WGT and INP write their bytes.

// The memory side: any elements at any time.
module dovetail_transfer import dovetail_isa_pkg::*; #(
  parameter bit Operands = 1'b0,
  parameter int unsigned LineBits = 64,
  localparam int unsigned AddrWidth = ADDRESS_BITS,
  localparam int unsigned LaneWidth = BUS_BYTES_LOG2 + 1
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            flush_i,
  input  logic                            halt_i,
  output error_t                          error_o,
  input  logic [AddrWidth-1:0]            offset_i,
  input  logic                            request_start_i,
  input  load_t                           request_instr_i,
  output logic                            requesting_o,
  output burst_t                          request_o,
  input  logic                            grant_i,
  input  logic                            beat_valid_i,
  input  beat_t                           beat_i,
  input  logic                            drain_start_i,
  input  load_t                           drain_instr_i,
  input  logic [31:0]                     drain_index_i,
  output logic                            active_o,
  output logic                            done_o,
  input  logic                            end_i,
  output logic [31:0]                     index_o,
  output logic                            slot_o,
  output logic                            write_o,
  output logic                            pad_o,
  output logic [LOAD_SRAM_BASE_WIDTH-1:0] addr_o,
  output logic [8*BUS_BYTES-1:0]          data_o,
  output logic [LineBits-1:0]             line_o,
  output logic [LaneWidth-1:0]            lane_o,
  output logic [9:0]                      beat_o
);
  (* anyseq *) logic                            requesting, active, done, slot, write, pad;
  (* anyseq *) logic [LOAD_SRAM_BASE_WIDTH-1:0] addr;
  (* anyseq *) logic [8*BUS_BYTES-1:0]          data;
  (* anyseq *) logic [LineBits-1:0]             line;
  (* anyseq *) logic [LaneWidth-1:0]            lane;
  assign error_o      = '0;
  assign requesting_o = requesting;
  assign request_o    = '0;
  assign active_o     = active;
  assign done_o       = done;
  assign index_o      = '0;
  assign slot_o       = slot;
  assign write_o      = write;
  assign pad_o        = pad;
  assign addr_o       = addr;
  assign data_o       = data;
  assign line_o       = line;
  assign lane_o       = lane;
  assign beat_o       = '0;
endmodule

module dovetail_weights4_formal import dovetail_isa_pkg::*; #(
  localparam int unsigned BusBits = 8 * BUS_BYTES,
  localparam int unsigned InpBits = 8 * INP_ELEMENT_BYTES,
  localparam int unsigned WgtBits = 8 * WGT_ELEMENT_BYTES,
  localparam int unsigned Wgt4Bits = WgtBits / 2,
  localparam int unsigned MostBits = InpBits > WgtBits ? InpBits : WgtBits,
  localparam int unsigned LineBits = MostBits > BusBits ? MostBits - BusBits : BusBits,
  localparam int unsigned LaneWidth = BUS_BYTES_LOG2 + 1
) (
  input logic     clk_i,
  input logic     flush_i,
  input logic     halt_i,
  input command_t command_i,
  input tokens_t  tokens_i
);
  (* anyconst *) logic [15:0] byte_of_inp, weight;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic                      inp_we, wgt_we;
  logic [INP_DEPTH_LOG2-1:0] inp_addr;
  logic [WGT_DEPTH_LOG2-1:0] wgt_addr;
  logic [InpBits-1:0]        inp_data;
  logic [WgtBits-1:0]        wgt_data;
  dovetail_load u_dut (
    .clk_i,
    .rst_ni      (rst_n),
    .flush_i,
    .halt_i,
    .idle_o      (),
    .error_o     (),
    .offset_i    ('0),
    .command_i,
    .tokens_i,
    .tokens_o    (),
    .request_o   (),
    .grant_i     (1'b0),
    .beat_valid_i(1'b0),
    .beat_i      ('0),
    .inp_we_o    (inp_we),
    .inp_addr_o  (inp_addr),
    .inp_data_o  (inp_data),
    .wgt_we_o    (wgt_we),
    .wgt_addr_o  (wgt_addr),
    .wgt_data_o  (wgt_data),
    .start_o     (),
    .end_o       (),
    .end_index_o ()
  );

  // ---- The LOAD that is drained, and what the memory side gives ---------------------------------
  (* hierconn *) logic                            \u_dut.drain_start ;
  (* hierconn *) logic [INSTRUCTION_BITS-1:0]     \u_dut.next ;
  (* hierconn *) logic                            \u_dut.write ;
  (* hierconn *) logic                            \u_dut.pad ;
  (* hierconn *) logic [LOAD_SRAM_BASE_WIDTH-1:0] \u_dut.addr ;
  (* hierconn *) logic [BusBits-1:0]              \u_dut.data ;
  (* hierconn *) logic [LineBits-1:0]             \u_dut.line ;
  (* hierconn *) logic [LaneWidth-1:0]            \u_dut.lane ;

  logic       known = 1'b0;
  logic [2:0] memory;
  always_ff @(posedge clk_i) begin
    if (\u_dut.drain_start ) begin
      known  <= 1'b1;
      memory <= \u_dut.next [LOAD_MEMORY_LSB+:LOAD_MEMORY_WIDTH];
    end
  end

  // The first bit of an element of so many bits: in its lane of the beat, or in the beats that end
  // with this one.
  logic [BusBits+LineBits-1:0] stream;
  assign stream = {\u_dut.data , \u_dut.line };
  function [31:0] first_bit(input logic [31:0] bits);
    first_bit = bits < BusBits ? LineBits + 32'(\u_dut.lane ) * bits : BusBits + LineBits - bits;
  endfunction

  logic signed [3:0] nibble;
  logic signed [7:0] widened;
  logic [7:0]        byte_of_wgt, own_byte;
  assign nibble      = stream[first_bit(Wgt4Bits)+32'(weight)*4+:4];
  assign widened     = 8'(nibble);
  assign byte_of_wgt = stream[first_bit(WgtBits)+32'(weight)*8+:8];
  assign own_byte    = stream[first_bit(InpBits)+32'(byte_of_inp)*8+:8];

  logic writes;
  assign writes = rst_n && known && \u_dut.write ;
  always_comb begin
    assume (32'(weight) < WGT_ELEMENT_BYTES);
    assume (32'(byte_of_inp) < INP_ELEMENT_BYTES);
    // dovetail_fetch
    assume (memory == MEMORY_INP || memory == MEMORY_WGT || memory == MEMORY_WGT4);
    // dovetail_drain: the element is in the beat.
    if (memory == MEMORY_INP) assume (first_bit(InpBits) <= BusBits + LineBits - InpBits);
    if (memory == MEMORY_WGT) assume (first_bit(WgtBits) <= BusBits + LineBits - WgtBits);
    if (memory == MEMORY_WGT4) assume (first_bit(Wgt4Bits) <= BusBits + LineBits - Wgt4Bits);
    if (writes) begin
      assert (inp_we == (memory == MEMORY_INP) && wgt_we == !inp_we);
      assert (inp_addr == INP_DEPTH_LOG2'(\u_dut.addr ));
      assert (wgt_addr == WGT_DEPTH_LOG2'(\u_dut.addr ));
      if (\u_dut.pad ) begin
        assert (inp_we ? inp_data == '0 : wgt_data == '0);
      end else if (memory == MEMORY_WGT4) begin
        assert ($signed(wgt_data[weight*8+:8]) == widened);
      end else if (memory == MEMORY_WGT) begin
        assert (wgt_data[weight*8+:8] == byte_of_wgt);
      end else begin
        assert (inp_data[byte_of_inp*8+:8] == own_byte);
      end
    end else if (rst_n && known) begin
      assert (!inp_we && !wgt_we);
    end
  end
  // Internal state.
  (* hierconn *) logic \u_dut.is_wgt_q ;
  (* hierconn *) logic \u_dut.gen_weights4.is_wgt4_q ;
  always_comb begin
    if (known) begin
      assert (\u_dut.is_wgt_q == (memory != MEMORY_INP));
      assert (\u_dut.gen_weights4.is_wgt4_q == (memory == MEMORY_WGT4));
    end
  end
  always_ff @(posedge clk_i) begin
    cover (writes && memory == MEMORY_WGT4 && !\u_dut.pad && wgt_data[7:0] == 8'hf9);
    cover (writes && memory == MEMORY_WGT && !\u_dut.pad && wgt_data[7:0] == 8'h79);
    cover (writes && memory == MEMORY_INP && !\u_dut.pad && inp_data[7:0] == 8'h79);
  end
endmodule
