// The memory side of LOADs, for dovetail_load and dovetail_serial: requests the rows of one LOAD,
// and iterates over the elements that a LOAD writes on chip, the same one or an earlier one.
// docs/reference/timing.md, sections 3 and 8.
module dovetail_transfer import dovetail_isa_pkg::*; #(
  parameter bit Operands = 1'b0,         // LOADs of INP, WGT and WGT4; otherwise of the others
  parameter int unsigned LineBits = 64,  // beats before an element's last; at least one beat
  localparam int unsigned AddrWidth = ADDRESS_BITS,
  localparam int unsigned LaneWidth = BUS_BYTES_LOG2 + 1
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            flush_i,
  input  logic                            halt_i,
  output error_t                          error_o,
  input  logic [AddrWidth-1:0]            offset_i,  // the register OFFSET; 0 without the extension
  // The instruction whose rows are requested; no rows if it is not a LOAD.
  input  logic                            request_start_i,  // only while not requesting
  input  load_t                           request_instr_i,
  output logic                            requesting_o,
  // Read port.
  output burst_t                          request_o,
  input  logic                            grant_i,
  input  logic                            beat_valid_i,
  input  beat_t                           beat_i,
  // The instruction whose elements are written; no elements if it is not a LOAD.
  input  logic                            drain_start_i,  // only while not draining
  input  load_t                           drain_instr_i,
  input  logic [31:0]                     drain_index_i,
  output logic                            active_o,       // slots remain
  output logic                            done_o,         // no slots remain, the LOAD has not ended
  input  logic                            end_i,          // the LOAD ends
  output logic [31:0]                     index_o,        // its index
  // Slots out.
  output logic                            slot_o,
  output logic                            write_o,  // this slot completes an element
  output logic                            pad_o,    // the element is zero
  output logic [LOAD_SRAM_BASE_WIDTH-1:0] addr_o,
  // For dovetail_element: the beat, the preceding beats, and the element's position in the beat.
  output logic [8*BUS_BYTES-1:0]          data_o,
  output logic [LineBits-1:0]             line_o,
  output logic [LaneWidth-1:0]            lane_o,
  output logic [9:0]                      beat_o  // the beat's number in its element
);
  // ---- Element sizes, by memory -----------------------------------------------------------------
  function is_tab(input logic [2:0] memory);
    is_tab = TABLE_ENABLED != 0 && memory == MEMORY_TAB;
  endfunction
  function is_wgt4(input logic [2:0] memory);
    is_wgt4 = WEIGHTS4_ENABLED != 0 && memory == MEMORY_WGT4;
  endfunction
  function [4:0] element_log2(input logic [2:0] memory);
    if (Operands) begin
      element_log2 = memory == MEMORY_WGT ? 5'(WGT_ELEMENT_BYTES_LOG2) :
                     is_wgt4(memory)      ? 5'(WGT4_ELEMENT_BYTES_LOG2) :
                                            5'(INP_ELEMENT_BYTES_LOG2);
    end else begin
      element_log2 = memory == MEMORY_UOP  ? 5'(UOP_ELEMENT_BYTES_LOG2) :
                     memory == MEMORY_ACC8 ? 5'(ACC8_ELEMENT_BYTES_LOG2) :
                     is_tab(memory)        ? 5'(TAB_ELEMENT_BYTES_LOG2) :
                                             5'(ACC_ELEMENT_BYTES_LOG2);
    end
  endfunction
  // Shifts by constants: a shift by element_log2 would become a barrel shifter.
  function [AddrWidth-1:0] bytes_of(input logic [2:0] memory, input logic [AddrWidth-1:0] elements);
    if (Operands) begin
      bytes_of = memory == MEMORY_WGT ? elements << WGT_ELEMENT_BYTES_LOG2 :
                 is_wgt4(memory)      ? elements << WGT4_ELEMENT_BYTES_LOG2 :
                                        elements << INP_ELEMENT_BYTES_LOG2;
    end else begin
      bytes_of = memory == MEMORY_UOP  ? elements << UOP_ELEMENT_BYTES_LOG2 :
                 memory == MEMORY_ACC8 ? elements << ACC8_ELEMENT_BYTES_LOG2 :
                 is_tab(memory)        ? elements << TAB_ELEMENT_BYTES_LOG2 :
                                         elements << ACC_ELEMENT_BYTES_LOG2;
    end
  endfunction

  // ---- Requests ---------------------------------------------------------------------------------
  logic                 requests, beat_valid, beat_pop;
  logic [AddrWidth-1:0] addr, moved, row_bytes, stride;
  beat_t                beat;

  assign requests  = request_instr_i.opcode == OPCODE_LOAD &&
                     request_instr_i.x_size != '0 && request_instr_i.y_size != '0;
  assign addr      = bytes_of(request_instr_i.memory, AddrWidth'(request_instr_i.dram_base));
  assign row_bytes = bytes_of(request_instr_i.memory, AddrWidth'(request_instr_i.x_size));
  assign stride    = bytes_of(request_instr_i.memory, AddrWidth'(request_instr_i.x_stride));
  if (OFFSET_ENABLED != 0) begin : gen_offset
    logic [INSTRUCTION_BITS-1:0] bits;
    logic [AddrWidth-1:0]        part;  // of an element, which the offset drops
    assign bits  = request_instr_i;
    assign part  = ~({AddrWidth{1'b1}} << element_log2(request_instr_i.memory));
    assign moved = bits[LOAD_OFFSET_LSB] ? addr + (offset_i & ~part) : addr;
  end else begin : gen_fixed
    logic unused;
    assign unused = ^offset_i;
    assign moved  = addr;
  end

  dovetail_reader #(
    .CountWidth(LOAD_Y_SIZE_WIDTH)
  ) u_reader (
    .clk_i,
    .rst_ni,
    .flush_i,
    .start_i    (request_start_i && requests),
    .addr_i     (moved),
    .row_bytes_i(row_bytes),
    .stride_i   (stride),
    .rows_i     (request_instr_i.y_size),
    .busy_o     (requesting_o),
    .request_o,
    .grant_i,
    .beat_valid_i,
    .beat_i,
    .valid_o    (beat_valid),
    .beat_o     (beat),
    .pop_i      (beat_pop)
  );

  // ---- Slots ------------------------------------------------------------------------------------
  logic        drains, last, done_q;
  logic [4:0]  drain_log2;
  logic [LaneWidth-1:0] first_lane;
  logic [31:0] index_q;

  assign drains     = drain_instr_i.opcode == OPCODE_LOAD && drain_instr_i.x_size != '0 &&
                      (drain_instr_i.y_size != '0 || drain_instr_i.y_pad_0 != '0 ||
                       drain_instr_i.y_pad_1 != '0);
  assign drain_log2 = element_log2(drain_instr_i.memory);

  if (OFFSET_ENABLED != 0) begin : gen_first_lane
    logic [INSTRUCTION_BITS-1:0] bits;
    assign bits       = drain_instr_i;
    assign first_lane = LaneWidth'(drain_instr_i.dram_base) +
                        (bits[LOAD_OFFSET_LSB] ? LaneWidth'(offset_i >> drain_log2) : '0);
  end else begin : gen_own_lane
    assign first_lane = LaneWidth'(drain_instr_i.dram_base);
  end

  dovetail_drain #(
    .LineBits(LineBits)
  ) u_drain (
    .clk_i,
    .rst_ni,
    .flush_i,
    .start_i     (drain_start_i && drains),
    .instr_i     (drain_instr_i),
    // One of the two is 0: an element is within a beat, or fills beats.
    .first_lane_i(first_lane),
    .lane_last_i (LaneWidth'((BUS_BYTES - 1) >> drain_log2)),
    .beat_last_i (10'(~(~32'd0 << drain_log2) >> BUS_BYTES_LOG2)),
    .active_o,
    .beat_valid_i(beat_valid && !halt_i),
    .beat_data_i (beat.data),
    .beat_pop_o  (beat_pop),
    .slot_o,
    .last_o      (last),
    .write_o,
    .pad_o,
    .addr_o,
    .lane_o,
    .line_o,
    .beat_o
  );
  assign data_o = beat.data;

  // ---- End --------------------------------------------------------------------------------------
  assign done_o  = done_q;
  assign index_o = index_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) done_q <= 1'b0;
    else if (flush_i) done_q <= 1'b0;
    else if (drain_start_i) done_q <= !drains;
    else if (last) done_q <= 1'b1;
    else if (end_i) done_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (drain_start_i) index_q <= drain_index_i;
  end

  error_code_e error_code;
  assign error_code = beat.resp[0] ? ERROR_DECODE_ERROR : ERROR_SLAVE_ERROR;
  assign error_o    = {beat_pop && beat.resp[1], error_code, index_q};
endmodule
