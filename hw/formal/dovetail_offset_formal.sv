// Proof of the register OFFSET: the registers hold what was written to them; a LOAD or STORE with
// the bit `offset` moves its DRAM address by the register, rounded down to whole elements, and both
// the requests and the element's lane in its beat follow from the moved address.

// The parts that receive addresses and lanes: anything may come out.
module dovetail_reader import dovetail_isa_pkg::*; #(
  parameter int unsigned CountWidth = 16
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    flush_i,
  input  logic                    start_i,
  input  logic [ADDRESS_BITS-1:0] addr_i,
  input  logic [ADDRESS_BITS-1:0] row_bytes_i,
  input  logic [ADDRESS_BITS-1:0] stride_i,
  input  logic [CountWidth-1:0]   rows_i,
  output logic                    busy_o,
  output burst_t                  request_o,
  input  logic                    grant_i,
  input  logic                    beat_valid_i,
  input  beat_t                   beat_i,
  output logic                    valid_o,
  output beat_t                   beat_o,
  input  logic                    pop_i
);
  (* anyseq *) logic any;
  assign {busy_o, valid_o} = {any, any};
  assign request_o         = '0;
  assign beat_o            = '0;
endmodule

module dovetail_drain import dovetail_isa_pkg::*; #(
  parameter int unsigned LineBits = 64,
  localparam int unsigned LaneWidth = BUS_BYTES_LOG2 + 1
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            flush_i,
  input  logic                            start_i,
  input  load_t                           instr_i,
  input  logic [LaneWidth-1:0]            first_lane_i,
  input  logic [LaneWidth-1:0]            lane_last_i,
  input  logic [9:0]                      beat_last_i,
  output logic                            active_o,
  input  logic                            beat_valid_i,
  input  logic [8*BUS_BYTES-1:0]          beat_data_i,
  output logic                            beat_pop_o,
  output logic                            slot_o,
  output logic                            last_o,
  output logic                            write_o,
  output logic                            pad_o,
  output logic [LOAD_SRAM_BASE_WIDTH-1:0] addr_o,
  output logic [LaneWidth-1:0]            lane_o,
  output logic [LineBits-1:0]             line_o,
  output logic [9:0]                      beat_o
);
  assign {active_o, beat_pop_o, slot_o, last_o, write_o, pad_o} = '0;
  assign addr_o = '0;
  assign lane_o = '0;
  assign line_o = '0;
  assign beat_o = '0;
endmodule

module dovetail_axi_split #(
  parameter int unsigned AddrWidth = 32,
  parameter int unsigned BusBytes = 8,
  parameter int unsigned MaxBeats = 32,
  parameter int unsigned CountWidth = 24
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  flush_i,
  input  logic                  start_i,
  input  logic [AddrWidth-1:0]  addr_i,
  input  logic [AddrWidth-1:0]  row_bytes_i,
  input  logic [AddrWidth-1:0]  stride_i,
  input  logic [CountWidth-1:0] rows_i,
  output logic                  valid_o,
  output logic [AddrWidth-1:0]  burst_addr_o,
  output logic [7:0]            burst_len_o,
  output logic [7:0]            row_len_o,
  output logic [7:0]            page_len_o,
  output logic                  page_cuts_o,
  input  logic                  ready_i
);
  assign valid_o       = 1'b0;
  assign burst_addr_o  = '0;
  assign burst_len_o   = '0;
  assign row_len_o     = '0;
  assign page_len_o    = '0;
  assign page_cuts_o   = 1'b0;
endmodule

module dovetail_axi_write import dovetail_isa_pkg::*; #(
  parameter int unsigned Depth = 128,
  parameter int unsigned MostBursts = 128
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   flush_i,
  input  logic                   halt_i,
  output logic                   idle_o,
  output logic                   quiet_o,
  output logic                   error_o,
  output error_code_e            error_code_o,
  input  logic                   beat_valid_i,
  input  logic [8*BUS_BYTES-1:0] beat_data_i,
  input  logic [BUS_BYTES-1:0]   beat_strobe_i,
  input  burst_t                 burst_i,
  output logic                   sent_o,
  output axi_ax_t                aw_o,
  input  logic                   aw_ready_i,
  output axi_w_t                 w_o,
  input  logic                   w_ready_i,
  input  axi_b_t                 b_i,
  output logic                   b_ready_o
);
  assign {idle_o, quiet_o, error_o, sent_o, b_ready_o} = '0;
  assign error_code_o = ERROR_NONE;
  assign aw_o         = '0;
  assign w_o          = '0;
endmodule

module dovetail_sram #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 2
) (
  input  logic                     clk_i,
  input  logic                     we_i,
  input  logic [$clog2(Depth)-1:0] waddr_i,
  input  logic [Width-1:0]         wdata_i,
  input  logic                     re_i,
  input  logic [$clog2(Depth)-1:0] raddr_i,
  output logic [Width-1:0]         rdata_o
);
  assign rdata_o = '0;
endmodule

module dovetail_offset_formal import dovetail_isa_pkg::*; #(
  parameter int unsigned Operands = 0,
  localparam int unsigned AddrWidth = ADDRESS_BITS,
  localparam int unsigned LaneWidth = BUS_BYTES_LOG2 + 1
) (
  input logic                        clk_i,
  input logic [INSTRUCTION_BITS-1:0] request_i,
  input logic                        request_start_i,
  input logic [INSTRUCTION_BITS-1:0] drain_i,
  input logic                        drain_start_i,
  input command_t                    store_i,
  input tokens_t                     tokens_i,
  input logic                        halt_i,
  input axil_ax_t                    aw_i,
  input axil_w_t                     w_i,
  input logic                        b_ready_i,
  input axil_ax_t                    ar_i,
  input logic                        r_ready_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // ---- The registers ----------------------------------------------------------------------------
  logic [AddrWidth-1:0] offset;
  logic                 aw_ready, w_ready, ar_ready;
  axi_b_t               b;
  axil_r_t              r;
  dovetail_regs u_regs (
    .clk_i,
    .rst_ni        (rst_n),
    .aw_i,
    .aw_ready_o    (aw_ready),
    .w_i,
    .w_ready_o     (w_ready),
    .b_o           (b),
    .b_ready_i,
    .ar_i,
    .ar_ready_o    (ar_ready),
    .r_o           (r),
    .r_ready_i,
    .interrupt_o   (),
    .start_o       (),
    .program_base_o(),
    .offset_o      (offset),
    .begin_o       (),
    .count_o       (),
    .busy_i        (1'b0),
    .done_i        (1'b0),
    .error_i       (1'b0),
    .error_code_i  (ERROR_NONE),
    .error_index_i ('0),
    .cycles_i      ('0),
    .tokens_i      ('0)
  );

  // One byte of the two registers; bits from ADDRESS_BITS on are 0.
  (* anyconst *) logic [2:0] tracked;
  logic [7:0]  value = '0, mask;
  logic        writes, read_q = 1'b0;
  logic [1:0]  lane;
  logic [11:0] address;
  logic [63:0] held;
  assign lane    = tracked[1:0];
  assign address = tracked[2] ? REG_OFFSET_HI_OFFSET : REG_OFFSET_LO_OFFSET;
  assign writes  = aw_i.valid && aw_ready && w_i.valid && w_ready && aw_i.addr == address &&
                   w_i.strb[lane];
  assign held    = 64'(offset);
  assign mask    = 8'(64'({AddrWidth{1'b1}}) >> (32'(tracked) * 8));
  always_ff @(posedge clk_i) begin
    if (!rst_n) value <= '0;
    else if (writes) value <= w_i.data[32'(lane)*8+:8] & mask;
    read_q <= rst_n && ar_i.valid && ar_ready && ar_i.addr == address;
  end
  logic [7:0] read_value;
  always_ff @(posedge clk_i) read_value <= value;

  // ---- LOAD -------------------------------------------------------------------------------------
  dovetail_transfer #(
    .Operands(Operands != 0),
    .LineBits(64)
  ) u_transfer (
    .clk_i,
    .rst_ni         (rst_n),
    .flush_i        (1'b0),
    .halt_i,
    .error_o        (),
    .offset_i       (offset),
    .request_start_i,
    .request_instr_i(request_i),
    .requesting_o   (),
    .request_o      (),
    .grant_i        (1'b0),
    .beat_valid_i   (1'b0),
    .beat_i         ('0),
    .drain_start_i,
    .drain_instr_i  (drain_i),
    .drain_index_i  ('0),
    .active_o       (),
    .done_o         (),
    .end_i          (1'b0),
    .index_o        (),
    .slot_o         (),
    .write_o        (),
    .pad_o          (),
    .addr_o         (),
    .data_o         (),
    .line_o         (),
    .lane_o         (),
    .beat_o         ()
  );
  (* hierconn *) logic [AddrWidth-1:0] \u_transfer.u_reader.addr_i ;
  (* hierconn *) logic [AddrWidth-1:0] \u_transfer.u_reader.row_bytes_i ;
  (* hierconn *) logic [AddrWidth-1:0] \u_transfer.u_reader.stride_i ;
  (* hierconn *) logic                 \u_transfer.u_reader.start_i ;
  (* hierconn *) logic [LaneWidth-1:0] \u_transfer.u_drain.first_lane_i ;
  (* hierconn *) logic [LaneWidth-1:0] \u_transfer.u_drain.lane_last_i ;
  (* hierconn *) logic [9:0]           \u_transfer.u_drain.beat_last_i ;

  function [AddrWidth-1:0] bytes_of(input logic [2:0] memory);
    case (memory)
      MEMORY_UOP:  bytes_of = AddrWidth'(UOP_ELEMENT_BYTES);
      MEMORY_WGT:  bytes_of = AddrWidth'(WGT_ELEMENT_BYTES);
      MEMORY_INP:  bytes_of = AddrWidth'(INP_ELEMENT_BYTES);
      MEMORY_ACC:  bytes_of = AddrWidth'(ACC_ELEMENT_BYTES);
      MEMORY_ACC8: bytes_of = AddrWidth'(ACC8_ELEMENT_BYTES);
      MEMORY_TAB:  bytes_of = AddrWidth'(TAB_ELEMENT_BYTES);
      default:     bytes_of = AddrWidth'(WGT4_ELEMENT_BYTES);
    endcase
  endfunction
  function is_own(input logic [2:0] memory);  // dovetail_fetch
    is_own = Operands != 0 ? memory == MEMORY_INP || memory == MEMORY_WGT || memory == MEMORY_WGT4 :
                        memory == MEMORY_UOP || memory == MEMORY_ACC || memory == MEMORY_ACC8 ||
                        memory == MEMORY_TAB;
  endfunction
  // The byte address. Elements have powers of two of bytes.
  function [AddrWidth-1:0] place(input logic [31:0] base, input logic moves,
                                 input logic [AddrWidth-1:0] bytes,
                                 input logic [AddrWidth-1:0] register);
    place = AddrWidth'(base) * bytes + (moves ? register - register % bytes : '0);
  endfunction

  logic [2:0]           request_memory, drain_memory;
  logic [AddrWidth-1:0] request_bytes, drain_bytes, drain_place, drain_lane;
  assign request_memory = request_i[LOAD_MEMORY_LSB+:LOAD_MEMORY_WIDTH];
  assign drain_memory   = drain_i[LOAD_MEMORY_LSB+:LOAD_MEMORY_WIDTH];
  assign request_bytes  = bytes_of(request_memory);
  assign drain_bytes    = bytes_of(drain_memory);
  assign drain_place    = place(drain_i[LOAD_DRAM_BASE_LSB+:LOAD_DRAM_BASE_WIDTH],
                                drain_i[LOAD_OFFSET_LSB], drain_bytes, offset);
  assign drain_lane     = AddrWidth'(\u_transfer.u_drain.first_lane_i &
                                     \u_transfer.u_drain.lane_last_i );

  // ---- STORE ------------------------------------------------------------------------------------
  logic start;
  dovetail_store u_store (
    .clk_i,
    .rst_ni     (rst_n),
    .flush_i    (1'b0),
    .halt_i,
    .idle_o     (),
    .quiet_o    (),
    .error_o    (),
    .offset_i   (offset),
    .command_i  (store_i),
    .tokens_i,
    .tokens_o   (),
    .out_we_i   (1'b0),
    .out_waddr_i('0),
    .out_wdata_i('0),
    .aw_o       (),
    .aw_ready_i (1'b0),
    .w_o        (),
    .w_ready_i  (1'b0),
    .b_i        ('0),
    .b_ready_o  (),
    .start_o    (start),
    .end_o      (),
    .end_index_o()
  );
  (* hierconn *) logic [AddrWidth-1:0] \u_store.u_split.addr_i ;
  (* hierconn *) logic [LaneWidth-1:0] \u_store.lane_q ;
  logic [AddrWidth-1:0] store_place, store_place_q;
  logic                 started_q = 1'b0;
  assign store_place = place(store_i.instr[STORE_DRAM_BASE_LSB+:STORE_DRAM_BASE_WIDTH],
                             store_i.instr[STORE_OFFSET_LSB], AddrWidth'(OUT_ELEMENT_BYTES),
                             offset);
  always_ff @(posedge clk_i) begin
    started_q     <= rst_n && start;
    store_place_q <= store_place;
  end

  always_comb begin
    if (request_start_i) assume (is_own(request_memory));
    if (drain_start_i) assume (is_own(drain_memory));
    if (rst_n) begin
      assert (held[32'(tracked)*8+:8] == value);
      if (read_q) assert (r.valid && r.resp == 2'b00 && r.data[32'(lane)*8+:8] == read_value);

      if (request_start_i && \u_transfer.u_reader.start_i ) begin
        assert (\u_transfer.u_reader.addr_i ==
                place(request_i[LOAD_DRAM_BASE_LSB+:LOAD_DRAM_BASE_WIDTH],
                      request_i[LOAD_OFFSET_LSB], request_bytes, offset));
        assert (\u_transfer.u_reader.row_bytes_i ==
                AddrWidth'(request_i[LOAD_X_SIZE_LSB+:LOAD_X_SIZE_WIDTH]) * request_bytes);
        assert (\u_transfer.u_reader.stride_i ==
                AddrWidth'(request_i[LOAD_X_STRIDE_LSB+:LOAD_X_STRIDE_WIDTH]) * request_bytes);
      end
      if (drain_start_i) begin
        assert ((AddrWidth'(\u_transfer.u_drain.beat_last_i ) + 1'b1) * AddrWidth'(BUS_BYTES) ==
                (drain_bytes < AddrWidth'(BUS_BYTES) ? AddrWidth'(BUS_BYTES) : drain_bytes));
        assert ((AddrWidth'(\u_transfer.u_drain.lane_last_i ) + 1'b1) * drain_bytes ==
                (drain_bytes < AddrWidth'(BUS_BYTES) ? AddrWidth'(BUS_BYTES) : drain_bytes));
        if (drain_bytes < AddrWidth'(BUS_BYTES))
          assert (drain_lane * drain_bytes == drain_place % AddrWidth'(BUS_BYTES));
      end
      if (start) assert (\u_store.u_split.addr_i == store_place);
      if (started_q)
        assert (AddrWidth'(\u_store.lane_q ) * AddrWidth'(OUT_ELEMENT_BYTES) ==
                store_place_q % AddrWidth'(BUS_BYTES));
    end
  end
  always_ff @(posedge clk_i) begin
    cover (rst_n && request_start_i && \u_transfer.u_reader.start_i && request_i[LOAD_OFFSET_LSB] &&
           offset > AddrWidth'(BUS_BYTES));
    cover (rst_n && drain_start_i && drain_i[LOAD_OFFSET_LSB] && drain_lane == AddrWidth'(1));
    cover (started_q && store_place_q > AddrWidth'(BUS_BYTES) && offset != '0);
    cover (read_q && read_value == 8'h5a && held[AddrWidth-1]);
  end
endmodule
