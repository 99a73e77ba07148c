// Executes STOREs, one at a time: assembles beats from the shadow of ACC and passes them to the
// write port. docs/reference/timing.md, section 10.
module dovetail_store import dovetail_isa_pkg::*; #(
  localparam int unsigned AddrWidth = ADDRESS_BITS,
  localparam int unsigned BusBytes = BUS_BYTES,
  localparam int unsigned BusBits = 8 * BusBytes,
  localparam int unsigned Lanes = BATCH * BLOCK_OUT,
  localparam int unsigned AccIndex = ACC_DEPTH_LOG2
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                flush_i,
  input  logic                halt_i,
  output logic                idle_o,
  output logic                quiet_o,
  output error_t              error_o,
  input  logic [AddrWidth-1:0] offset_i,  // the register OFFSET
  // Command queue; an instruction leaves the queue when it starts.
  input  command_t            command_i,
  // Token FIFOs to compute, the previous queue.
  input  tokens_t             tokens_i,
  output token_use_t          tokens_o,
  // Writes of OUT, the shadow of ACC.
  input  logic                out_we_i,
  input  logic [AccIndex-1:0] out_waddr_i,
  input  logic [32*Lanes-1:0] out_wdata_i,
  // AXI4.
  output axi_ax_t             aw_o,
  input  logic                aw_ready_i,
  output axi_w_t              w_o,
  input  logic                w_ready_i,
  input  axi_b_t              b_i,
  output logic                b_ready_o,
  // Events for the probe.
  output logic                start_o,
  output logic                end_o,
  output logic [31:0]         end_index_o
);
  localparam int unsigned BusLog2 = BUS_BYTES_LOG2;
  localparam int unsigned OutLog2 = OUT_ELEMENT_BYTES_LOG2;
  localparam int unsigned OutBits = 8 * Lanes;
  localparam int unsigned SizeWidth = STORE_X_SIZE_WIDTH;
  localparam int unsigned Depth = OUTSTANDING_BEATS;
  localparam int unsigned LaneWidth = BusLog2 + 1;
  localparam int unsigned OutLanes = OutLog2 < BusLog2 ? 1 << (BusLog2 - OutLog2) : 1;
  localparam int unsigned OutBeats = OutLog2 < BusLog2 ? 1 : 1 << (OutLog2 - BusLog2);
  localparam bit Saturate = SATURATE_ENABLED != 0;
  localparam int unsigned ShadowBits = Saturate ? 2 * OutBits : OutBits;
  localparam int unsigned TakenWidth = $clog2(Depth + 1);
  // The maximum number of bursts of a STORE: it moves each element of ACC at most once, and no two
  // bursts share a beat.
  localparam int unsigned MostBursts = ACC_DEPTH * OutBeats;

  // ---- Start ------------------------------------------------------------------------------------
  store_t               head;
  logic [AddrWidth-1:0] head_base, own_base, head_stride, head_row;
  logic                 head_moves, busy_q, filling_q, push_prev_q, saturate_q, filled;
  logic [31:0]          index_q;

  assign head        = command_i.instr;
  assign own_base    = AddrWidth'(head.dram_base);
  assign head_stride = AddrWidth'(head.x_stride);
  assign head_row    = AddrWidth'(head.x_size);
  if (OFFSET_ENABLED != 0) begin : gen_offset
    assign head_base = command_i.instr[STORE_OFFSET_LSB] ? own_base + (offset_i >> OutLog2) : own_base;
  end else begin : gen_fixed
    logic unused;
    assign unused    = ^offset_i;
    assign head_base = own_base;
  end
  assign head_moves  = head.x_size != '0 && head.y_size != '0;

  assign start_o = command_i.valid && !halt_i && !busy_q &&
                   (!head.pop_prev || tokens_i.available);

  // ---- Fill: one slot per cycle -----------------------------------------------------------------
  logic                             burst_due, burst_done, slot, slot_beat_first, slot_beat_last;
  logic                             element_done, row_done, all_done;
  logic [AddrWidth-1:0]             burst_addr;
  logic [7:0]                       burst_len, row_len, page_len, burst_beat_q;
  logic [STORE_SRAM_BASE_WIDTH-1:0] addr_q;
  logic [SizeWidth-1:0]             x_q, y_q, x_last_q, y_last_q;
  logic [LaneWidth-1:0]             lane_q, row_lane_q, lane_step_q;
  logic [9:0]                       beat_q;
  logic [TakenWidth-1:0]            taken_q;  // occupied entries of the write buffer
  logic                             sent, beat_open_q;

  localparam logic [LaneWidth-1:0] LaneLast = LaneWidth'(OutLanes - 1);

  dovetail_axi_split #(
    .AddrWidth (AddrWidth),
    .BusBytes  (BusBytes),
    .MaxBeats  (LONGEST_BURST_BEATS),
    .CountWidth(SizeWidth)
  ) u_split (
    .clk_i,
    .rst_ni,
    .flush_i,
    .start_i      (start_o && head_moves),
    .addr_i       (AddrWidth'(head_base << OutLog2)),
    .row_bytes_i  (AddrWidth'(head_row << OutLog2)),
    .stride_i     (AddrWidth'(head_stride << OutLog2)),
    .rows_i       (head.y_size),
    .valid_o      (burst_due),
    .burst_addr_o (burst_addr),
    .burst_len_o  (burst_len),
    .row_len_o    (row_len),
    .page_len_o   (page_len),
    .page_cuts_o  (),
    .ready_i      (burst_done)
  );

  assign slot_beat_first = !beat_open_q;
  assign slot            = filling_q && (!slot_beat_first || taken_q != TakenWidth'(Depth));
  assign element_done    = beat_q == 10'(OutBeats - 1);
  assign row_done        = element_done && x_q == x_last_q;
  assign all_done        = row_done && y_q == y_last_q;
  assign slot_beat_last  = lane_q == LaneLast || row_done;
  // Beats are counted from 0, so the smaller length is met first.
  assign burst_done      = slot && slot_beat_last &&
                           (burst_beat_q == row_len || burst_beat_q == page_len);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      filling_q   <= 1'b0;
      beat_open_q <= 1'b0;
      taken_q     <= '0;
    end else if (flush_i) begin
      filling_q   <= 1'b0;
      beat_open_q <= 1'b0;
      taken_q     <= '0;
    end else begin
      if (start_o && head_moves) filling_q <= 1'b1;
      else if (slot && all_done) filling_q <= 1'b0;
      if (slot) beat_open_q <= !slot_beat_last;
      taken_q <= taken_q + TakenWidth'(slot && slot_beat_first) - TakenWidth'(sent);
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_o) begin
      addr_q       <= head.sram_base;
      x_q          <= '0;
      y_q          <= '0;
      x_last_q     <= head.x_size - 1'b1;
      y_last_q     <= head.y_size - 1'b1;
      lane_q       <= LaneWidth'(head_base) & LaneLast;
      row_lane_q   <= LaneWidth'(head_base) & LaneLast;
      lane_step_q  <= LaneWidth'(head_stride) & LaneLast;
      beat_q       <= '0;
      burst_beat_q <= '0;
    end else if (slot) begin
      beat_q <= element_done ? '0 : beat_q + 1'b1;
      if (slot_beat_last) burst_beat_q <= burst_done ? '0 : burst_beat_q + 1'b1;
      if (element_done) begin
        addr_q <= addr_q + 1'b1;
        lane_q <= lane_q == LaneLast ? '0 : lane_q + 1'b1;
        x_q    <= x_q + 1'b1;
        if (x_q == x_last_q) begin
          x_q        <= '0;
          y_q        <= y_q + 1'b1;
          lane_q     <= (row_lane_q + lane_step_q) & LaneLast;
          row_lane_q <= (row_lane_q + lane_step_q) & LaneLast;
        end
      end
    end
  end

  // ---- Shadow of ACC: the lanes of ACC that a STORE may need ------------------------------------
  // Written a cycle after out_we_i. A STORE that needs the element cannot read it before: it starts
  // after the end of the instruction that writes it, and its first slot follows.
  logic                  write_q;
  logic [AccIndex-1:0]   waddr_q;
  logic [32*Lanes-1:0]   wdata_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) write_q <= 1'b0;
    else write_q <= out_we_i;
  end
  always_ff @(posedge clk_i) begin
    if (out_we_i) begin
      waddr_q <= out_waddr_i;
      wdata_q <= out_wdata_i;
    end
  end

  logic [ShadowBits-1:0] shadow_in, shadow;
  logic [OutBits-1:0]    element;

  for (genvar l = 0; l < Lanes; l++) begin : gen_narrow
    assign shadow_in[l*8+:8] = wdata_q[l*32+:8];
  end
  if (Saturate) begin : gen_saturate
    logic [OutBits-1:0] clamped;
    logic signed [31:0] value;
    always_comb begin
      clamped = '0;
      value   = '0;
      if (write_q) begin
        for (int unsigned l = 0; l < Lanes; l++) begin
          value           = wdata_q[l*32+:32];
          clamped[l*8+:8] = value > 127 ? 8'h7f : value < -128 ? 8'h80 : value[7:0];
        end
      end
    end
    assign shadow_in[ShadowBits-1-:OutBits] = clamped;
  end
  dovetail_sram #(
    .Width(ShadowBits),
    .Depth(ACC_DEPTH)
  ) u_out (
    .clk_i,
    .we_i   (write_q),
    .waddr_i(waddr_q),
    .wdata_i(shadow_in),
    .re_i   (slot),
    .raddr_i(addr_q[AccIndex-1:0]),
    .rdata_o(shadow)
  );
  if (Saturate) begin : gen_select
    assign element = saturate_q ? shadow[ShadowBits-1-:OutBits] : shadow[OutBits-1:0];
  end else begin : gen_wrap
    assign element = shadow;
  end

  // ---- One cycle later: beats -------------------------------------------------------------------
  logic                 p_valid_q, p_first_q, p_last_q, p_burst_q;
  logic [LaneWidth-1:0] p_lane_q;
  logic [9:0]           p_beat_q;
  logic [AddrWidth-1:0] p_addr_q;
  logic [7:0]           p_len_q;
  logic [BusBits-1:0]   beat_data;
  logic [BusBytes-1:0]  beat_strobe;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) p_valid_q <= 1'b0;
    else p_valid_q <= slot && !flush_i;
  end
  always_ff @(posedge clk_i) begin
    p_first_q <= slot_beat_first;
    p_last_q  <= slot_beat_last;
    p_burst_q <= burst_done;
    p_lane_q  <= lane_q;
    p_beat_q  <= beat_q;
    p_addr_q  <= burst_addr;
    p_len_q   <= burst_len;
  end
  if (OutLog2 < BusLog2) begin : gen_lanes
    logic [BusBits-1:0]  data_q;
    logic [BusBytes-1:0] strobe_q;
    for (genvar e = 0; e < OutLanes; e++) begin : gen_lane
      logic here;
      assign here = p_lane_q == LaneWidth'(e);
      assign beat_data[e*OutBits+:OutBits] = here ? element : data_q[e*OutBits+:OutBits];
      assign beat_strobe[e*Lanes+:Lanes] = here ? '1 : p_first_q ? '0 : strobe_q[e*Lanes+:Lanes];
    end
    always_ff @(posedge clk_i) begin
      if (p_valid_q) begin
        data_q   <= beat_data;
        strobe_q <= beat_strobe;
      end
    end
    logic unused;
    assign unused = ^p_beat_q;
  end else begin : gen_beats
    assign beat_data   = element[p_beat_q*BusBits+:BusBits];
    assign beat_strobe = '1;
    logic unused;
    assign unused = ^{p_lane_q, p_first_q};
  end

  logic        writer_idle, error;
  error_code_e error_code;
  dovetail_axi_write #(
    .Depth     (Depth),
    .MostBursts(MostBursts)
  ) u_write (
    .clk_i,
    .rst_ni,
    .flush_i,
    .halt_i,
    .idle_o       (writer_idle),
    .quiet_o,
    .error_o      (error),
    .error_code_o (error_code),
    .beat_valid_i (p_valid_q && p_last_q),
    .beat_data_i  (beat_data),
    .beat_strobe_i(beat_strobe),
    .burst_i      ({p_valid_q && p_burst_q, p_addr_q, p_len_q}),
    .sent_o       (sent),
    .aw_o,
    .aw_ready_i,
    .w_o,
    .w_ready_i,
    .b_i,
    .b_ready_o
  );
  assign error_o = {error, error_code, index_q};

  // ---- End --------------------------------------------------------------------------------------
  assign filled      = busy_q && !filling_q && !p_valid_q;
  assign end_o       = filled && writer_idle && !halt_i && (!push_prev_q || tokens_i.room);
  assign end_index_o = index_q;
  assign tokens_o    = {start_o && head.pop_prev, end_o && push_prev_q};
  assign idle_o      = !busy_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (flush_i) busy_q <= 1'b0;
    else if (start_o) busy_q <= 1'b1;
    else if (end_o) busy_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (start_o) begin
      index_q     <= command_i.index;
      push_prev_q <= head.push_prev;
      saturate_q  <= Saturate && command_i.instr[STORE_SATURATE_LSB];
    end
  end
endmodule
