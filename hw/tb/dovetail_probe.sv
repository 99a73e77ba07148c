// Gathers the signals that traces and counters need from each cycle, bound into the design; it
// drives nothing. docs/reference/timing.md, section 11, defines classes and causes; their numbers
// are those of simulator/trace/trace.h.
module dovetail_probe (
  input logic        rst_ni,
  // Fetch.
  input logic [2:0]  issue_i,
  input logic [31:0] issue_index_i,
  // Indexed by unit: 0 load, 1 compute, 2 store.
  input logic [2:0]  start_i,
  input logic [31:0] load_start_index_i,
  input logic [31:0] compute_start_index_i,
  input logic [31:0] store_start_index_i,
  input logic [2:0]  end_i,
  input logic [31:0] load_end_index_i,
  input logic [31:0] compute_end_index_i,
  input logic [31:0] store_end_index_i,
  input logic [2:0]  head_i,          // the queue has a head
  input logic [2:0]  prev_missing_i,  // the token from the previous queue is missing
  input logic [2:0]  next_missing_i,
  input logic        load_requesting_i,
  input logic        load_full_i,
  input logic        load_active_i,
  input logic        load_slot_i,
  input logic        load_done_i,
  input logic        load_take_i,
  input logic        compute_same_kind_i,
  input logic        compute_front_free_i,
  input logic        compute_flight_full_i,
  input logic        compute_flying_i,
  input logic        compute_active_i,
  input logic        compute_slot_i,
  input logic        compute_step_i,
  input logic        compute_interlock_i,
  input logic        compute_complete_i,
  input logic        store_busy_i,
  input logic        store_slot_i,
  input logic        store_complete_i,
  // Memory port; indexed by reader: 0 fetch, 1 compute, 2 load.
  input logic [2:0]  port_request_i,
  input logic [2:0]  port_grant_i,
  input logic [2:0]  port_pop_i,       // a beat leaves its buffer
  input logic        fetch_wanting_i,  // instructions remain to be fetched
  input logic        fetch_beat_i,     // the beat of its next slot has arrived
  input logic        fetch_slot_i,
  input logic [2:0]  fetch_blocked_i,  // by the full command queue of each unit
  input logic        write_ready_i,    // a complete burst is buffered
  input logic        write_take_i,     // the writer takes a burst
  input logic        write_sent_i,     // a W beat
  input logic [31:0] compute_drain_index_i,
  // Memories: 0 uop, 1 wgt, 2 inp, 3 acc, 4 the shadow of acc, 5 tab.
  input logic [5:0]  sram_read_i,
  input logic [5:0]  sram_write_i,
  // The memory port and its beat buffers; indexed by unit, 3 is fetch.
  input logic [3:0]  beat_i,
  input logic [3:0]  burst_i,  // a read's last beat, a write's address
  input logic [3:0]  buffer_read_i,
  input logic [3:0]  buffer_write_i,
  // Steps.
  input logic        gemm_step_i,  // products are computed
  input logic        gemm_reset_i,
  input logic        window_step_i,  // products are computed
  input logic        window_push_i,  // without products
  input logic [2:0]  epilogue_i,  // a sum is requantized, parameters are read, the table is read
  input logic        alu_step_i,
  input logic [3:0]  alu_op_i
);
  localparam logic [2:0] Work = 3'd0;
  localparam logic [2:0] Interlock = 3'd1;
  localparam logic [2:0] Memory = 3'd2;
  localparam logic [2:0] Push = 3'd3;
  localparam logic [2:0] Pipeline = 3'd4;
  localparam logic [2:0] Token = 3'd5;
  localparam logic [2:0] Fetch = 3'd6;
  localparam logic [2:0] HandOver = 3'd7;

  localparam logic [2:0] None = 3'd0;
  localparam logic [2:0] Unit = 3'd2;
  localparam logic [2:0] Drain = 3'd3;
  localparam logic [2:0] TokenPrev = 3'd4;
  localparam logic [2:0] TokenNext = 3'd5;

  logic [8:0] class_all, cause;  // three bits per unit
  function [2:0] waiting(input logic head, input logic missing);
    waiting = !head ? Fetch : missing ? Token : HandOver;
  endfunction
  function [2:0] token_cause(input logic prev_missing, input logic next_missing);
    token_cause = prev_missing ? TokenPrev : next_missing ? TokenNext : None;
  endfunction

  always_comb begin
    class_all[2:0] = waiting(head_i[0], next_missing_i[0]);
    if (load_slot_i) class_all[2:0] = Work;
    else if (load_active_i) class_all[2:0] = Memory;
    else if (load_done_i && !end_i[0]) class_all[2:0] = Push;
    else if (load_done_i || load_take_i) class_all[2:0] = Pipeline;

    class_all[5:3] = waiting(head_i[1], prev_missing_i[1] || next_missing_i[1]);
    if (compute_slot_i || (compute_step_i && !compute_interlock_i)) class_all[5:3] = Work;
    else if (compute_step_i) class_all[5:3] = Interlock;
    else if (compute_active_i) class_all[5:3] = Memory;
    else if (compute_complete_i && !end_i[1]) class_all[5:3] = Push;
    else if (compute_flying_i || start_i[1]) class_all[5:3] = Pipeline;

    class_all[8:6] = waiting(head_i[2], prev_missing_i[2]);
    if (store_slot_i) class_all[8:6] = Work;
    else if (store_busy_i && !store_complete_i) class_all[8:6] = Memory;
    else if (store_busy_i && !end_i[2]) class_all[8:6] = Push;
    else if (store_busy_i || start_i[2]) class_all[8:6] = Pipeline;

    cause[2:0] = token_cause(prev_missing_i[0], next_missing_i[0]);
    if (load_requesting_i) cause[2:0] = Unit;
    else if (load_full_i) cause[2:0] = Drain;

    cause[5:3] = token_cause(prev_missing_i[1], next_missing_i[1]);
    if (compute_flying_i) begin
      if (compute_same_kind_i && !compute_front_free_i) cause[5:3] = Unit;
      else if (!compute_same_kind_i || compute_flight_full_i) cause[5:3] = Drain;
    end

    cause[8:6] = token_cause(prev_missing_i[2], next_missing_i[2]);
    if (store_busy_i) cause[8:6] = Unit;
  end

  // The test bench reads these in each cycle.
  logic [31:0] word /* verilator public_flat_rd */;
  logic [31:0] issue_index /* verilator public_flat_rd */;
  logic [31:0] load_start_index /* verilator public_flat_rd */;
  logic [31:0] compute_start_index /* verilator public_flat_rd */;
  logic [31:0] store_start_index /* verilator public_flat_rd */;
  logic [31:0] load_end_index /* verilator public_flat_rd */;
  logic [31:0] compute_end_index /* verilator public_flat_rd */;
  logic [31:0] store_end_index /* verilator public_flat_rd */;
  assign word                = {4'd0, rst_ni, cause, class_all, end_i, start_i, issue_i};
  // As simulator/rtl/port_watch.h reads it.
  logic [31:0] port /* verilator public_flat_rd */;
  logic [31:0] compute_drain_index /* verilator public_flat_rd */;
  assign port = {10'd0, write_sent_i, write_take_i, write_ready_i, store_slot_i,
                 class_all[8:6] == Memory, class_all[5:3] == Memory, class_all[2:0] == Memory,
                 fetch_blocked_i, fetch_slot_i, fetch_beat_i, fetch_wanting_i, port_pop_i,
                 port_grant_i, port_request_i};
  // Events, as the test bench counts them.
  logic [63:0] events /* verilator public_flat_rd */;
  assign events = {24'd0, alu_op_i, alu_step_i, epilogue_i, window_push_i, window_step_i, gemm_reset_i,
                   gemm_step_i, buffer_write_i, buffer_read_i, burst_i, beat_i, sram_write_i,
                   sram_read_i};
  assign compute_drain_index = compute_drain_index_i;
  assign issue_index         = issue_index_i;
  assign load_start_index    = load_start_index_i;
  assign compute_start_index = compute_start_index_i;
  assign store_start_index   = store_start_index_i;
  assign load_end_index      = load_end_index_i;
  assign compute_end_index   = compute_end_index_i;
  assign store_end_index     = store_end_index_i;
endmodule

bind dovetail_top dovetail_probe u_probe (
  .rst_ni,
  .issue_i              (queue_push),
  .issue_index_i        (instr_index),
  .start_i              (starts),
  .load_start_index_i   (load_head.index),
  .compute_start_index_i(compute_head.index),
  .store_start_index_i  (store_head.index),
  .end_i                (ends),
  .load_end_index_i     (load_end_index),
  .compute_end_index_i  (compute_end_index),
  .store_end_index_i    (store_end_index),
  .head_i               (~{queue_empty[2], queue_empty[1], queue_empty[0]}),
  .prev_missing_i       ({u_store.head.pop_prev && !token_available[2],
                          u_compute.head.pop_prev && !token_available[0], 1'b0}),
  .next_missing_i       ({1'b0, u_compute.head.pop_next && !token_available[3],
                          u_load.head.pop_next && !token_available[1]}),
  .load_requesting_i    (u_load.requesting),
  .load_full_i          (u_load.waiting_full),
  .load_active_i        (u_load.active),
  .load_slot_i          (u_load.slot),
  .load_done_i          (u_load.done),
  .load_take_i          (u_load.drain_start),
  .compute_same_kind_i  (!u_compute.serial_busy && u_compute.head_kind != 2'd0 &&
                          u_compute.head_kind == u_compute.kind_q),
  .compute_front_free_i (u_compute.front_free),
  .compute_flight_full_i(u_compute.flight_full),
  .compute_flying_i     (!u_compute.nothing_in_flight),
  .compute_active_i     (u_compute.u_serial.active),
  .compute_slot_i       (u_compute.u_serial.slot),
  .compute_step_i       (u_compute.u_operands.valid_q),
  .compute_interlock_i  (u_compute.u_operands.interlock),
  .compute_complete_i   (u_compute.u_serial.done || u_compute.complete_q != '0),
  .store_busy_i         (u_store.busy_q),
  .store_slot_i         (u_store.slot),
  .store_complete_i     (u_store.filled && u_store.writer_idle),
  .port_request_i       ({load_burst.valid, compute_burst.valid, fetch_burst.valid}),
  .port_grant_i         (grant),
  .port_pop_i           ({u_load.u_transfer.beat_pop, u_compute.u_serial.u_transfer.beat_pop,
                          u_fetch.buffer_pop}),
  .fetch_wanting_i      ((u_fetch.start_i && u_fetch.count_i != '0) || u_fetch.left_q != '0),
  .fetch_beat_i         (u_fetch.buffer_valid && u_fetch.left_q != '0),
  .fetch_slot_i         (u_fetch.slot),
  .fetch_blocked_i      (u_fetch.complete ? u_fetch.queue & u_fetch.full_i : 3'b000),
  .write_ready_i        (u_store.u_write.burst_i.valid),
  .write_take_i         (u_store.u_write.take),
  .write_sent_i         (u_store.u_write.sent_o),
  .compute_drain_index_i(u_compute.serial_index),
  .sram_read_i          ({u_compute.u_alu.table_re || u_compute.epilogue_look_up, u_store.u_out.re_i, u_compute.u_acc.re_i, u_inp.re_i, u_wgt.re_i,
                          u_compute.u_steps.u_uop.re_i}),
  .sram_write_i         ({u_compute.table_we, u_store.u_out.we_i, u_compute.u_acc.we_i, u_inp.we_i, u_wgt.we_i,
                          u_compute.u_steps.u_uop.we_i}),
  .beat_i               ({beat_valid[0], mem_wvalid_o && mem_wready_i, beat_valid[1],
                          beat_valid[2]}),
  .burst_i              ({beat_valid[0] && mem_rlast_i, mem_awvalid_o && mem_awready_i,
                          beat_valid[1] && mem_rlast_i, beat_valid[2] && mem_rlast_i}),
  .buffer_read_i        ({u_fetch.u_reader.u_buffer.pop_i,
                          u_store.u_write.u_beats.pop_i,
                          u_compute.u_serial.u_transfer.u_reader.u_buffer.pop_i,
                          u_load.u_transfer.u_reader.u_buffer.pop_i}),
  .buffer_write_i       ({u_fetch.u_reader.u_buffer.u_beats.push_i,
                          u_store.u_write.u_beats.push_i,
                          u_compute.u_serial.u_transfer.u_reader.u_buffer.u_beats.push_i,
                          u_load.u_transfer.u_reader.u_buffer.u_beats.push_i}),
  .gemm_step_i          (u_compute.u_gemm.valid_1_q && u_compute.u_gemm.write_1_q &&
                          !u_compute.u_gemm.reset_1_q && !u_compute.u_gemm.window_1_q),
  .gemm_reset_i         (u_compute.u_gemm.valid_1_q && u_compute.u_gemm.write_1_q &&
                          u_compute.u_gemm.reset_1_q),
  .window_step_i        (u_compute.u_gemm.valid_1_q && u_compute.u_gemm.write_1_q &&
                          u_compute.u_gemm.window_1_q),
  .window_push_i        (u_compute.u_gemm.valid_1_q && u_compute.u_gemm.push_1_q),
  .epilogue_i           ({u_compute.epilogue_look_up,
                          u_compute.u_gemm.valid_1_q && u_compute.u_gemm.parameters_1_q,
                          u_compute.u_gemm.valid_1_q && u_compute.u_gemm.write_1_q &&
                          u_compute.u_gemm.requant_1_q}),
  .alu_step_i           (u_compute.u_alu.valid_1_q && !u_compute.u_alu.empty_1_q),
  .alu_op_i             (u_compute.u_alu.op_1_q)
);
