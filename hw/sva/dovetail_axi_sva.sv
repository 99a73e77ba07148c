// The rules of AXI4 at the memory port, and those that the kit adds (docs/reference/timing.md): the
// guarantees of the design to the memory, and its requirements on the memory. docs/reference/rtl.md
// lists the rules of the standard by the names of Arm's protocol assertions, each with the
// assertion that checks it here.
module dovetail_axi_sva import dovetail_isa_pkg::*; #(
  // Outstanding reads: no requester requests more beats than fit in its buffer.
  localparam int unsigned MaxReads = 3 * OUTSTANDING_BEATS
) (
  input logic    clk_i,
  input logic    rst_ni,
  input logic    busy_i,  // a launch is running
  input axi_ax_t ar_i,
  input logic    ar_ready_i,
  input axi_r_t  r_i,
  input logic    r_ready_i,
  input axi_ax_t aw_i,
  input logic    aw_ready_i,
  input axi_w_t  w_i,
  input logic    w_ready_i,
  input axi_b_t  b_i,
  input logic    b_ready_i
);
  // Reads: the lengths of the accepted bursts with beats outstanding, from the oldest, and the
  // number of beats of the oldest that have arrived.
  logic [7:0]  reads [MaxReads];
  logic [31:0] oldest_q, newest_q, reads_q;
  logic [7:0]  beats_q, oldest_len;
  logic        ar_done, r_done, read_done;
  assign oldest_len = reads[oldest_q];
  assign ar_done    = ar_i.valid && ar_ready_i;
  assign r_done     = r_i.valid && r_ready_i;
  assign read_done  = r_done && r_i.last;
  always_ff @(posedge clk_i) begin
    if (ar_done) reads[newest_q] <= ar_i.len;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      oldest_q <= '0;
      newest_q <= '0;
      reads_q  <= '0;
      beats_q  <= '0;
    end else begin
      if (ar_done) newest_q <= newest_q == MaxReads - 1 ? '0 : newest_q + 32'd1;
      if (read_done) oldest_q <= oldest_q == MaxReads - 1 ? '0 : oldest_q + 32'd1;
      reads_q <= reads_q + 32'(ar_done) - 32'(read_done);
      if (r_done) beats_q <= r_i.last ? '0 : beats_q + 8'd1;
    end
  end

  // Writes: for the burst that is being sent, whether its address is accepted, whether all its
  // beats are, and how many are; the number of outstanding responses.
  logic        addressed_q, sent_q, addressed, sent, aw_done, w_done;
  logic [7:0]  len_q, index_q;
  logic [31:0] due_q;
  assign aw_done   = aw_i.valid && aw_ready_i;
  assign w_done    = w_i.valid && w_ready_i;
  assign addressed = addressed_q || aw_done;
  assign sent      = sent_q || (w_done && w_i.last);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      addressed_q <= 1'b0;
      sent_q      <= 1'b0;
      index_q     <= '0;
      due_q       <= '0;
    end else begin
      addressed_q <= addressed && !sent;
      sent_q      <= sent && !addressed;
      if (w_done) index_q <= w_i.last ? '0 : index_q + 8'd1;
      due_q <= due_q + 32'(addressed && sent) - 32'(b_i.valid && b_ready_i);
    end
  end
  logic was_reset_q;
  always_ff @(posedge clk_i) begin
    if (aw_done) len_q <= aw_i.len;
    was_reset_q <= !rst_ni;
  end

  // INCR, whole aligned beats, at most the longest burst, within 4 KiB.
  function automatic logic well_formed(input axi_ax_t ax);
    well_formed = ax.burst == AXI_BURST_INCR && ax.size == 3'($clog2(BUS_BYTES)) &&
                  (32'(ax.addr[11:0]) & (BUS_BYTES - 32'd1)) == '0 &&
                  32'(ax.len) < LONGEST_BURST_BEATS &&
                  32'(ax.addr[11:0]) + (32'(ax.len) + 32'd1) * BUS_BYTES <= 32'd4096;
  endfunction

  // Nothing is offered in reset, nor before the first clock edge after it.
  reset_quiet: assert property (@(posedge clk_i)
      !rst_ni || was_reset_q |-> !ar_i.valid && !aw_i.valid && !w_i.valid)
    else $error("ARVALID, AWVALID or WVALID high in reset");
  reset_memory: assert property (@(posedge clk_i)
      !rst_ni || was_reset_q |-> !r_i.valid && !b_i.valid)
    else $error("memory: RVALID or BVALID high in reset");
  // Addresses: an offered address is held until it is accepted.
  ar_stable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      ar_i.valid && !ar_ready_i |=> $stable(ar_i))
    else $error("AR changed while ARREADY was low");
  aw_stable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      aw_i.valid && !aw_ready_i |=> $stable(aw_i))
    else $error("AW changed while AWREADY was low");
  ar_form: assert property (@(posedge clk_i) disable iff (!rst_ni) ar_i.valid |-> well_formed(ar_i))
    else $error("AR not INCR, not aligned whole beats, too long, or crossing a 4 KiB boundary");
  aw_form: assert property (@(posedge clk_i) disable iff (!rst_ni) aw_i.valid |-> well_formed(aw_i))
    else $error("AW not INCR, not aligned whole beats, too long, or crossing a 4 KiB boundary");
  // Write data: stable until taken, as many beats as the address states, each of which writes a
  // byte.
  w_stable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      w_i.valid && !w_ready_i |=> $stable(w_i))
    else $error("W changed while WREADY was low");
  w_count: assert property (@(posedge clk_i) disable iff (!rst_ni)
      w_i.valid |-> w_i.last == (index_q == (addressed_q ? len_q : aw_i.len)))
    else $error("WLAST not at the beat that AWLEN gives");
  w_writes: assert property (@(posedge clk_i) disable iff (!rst_ni) w_i.valid |-> w_i.strb != '0)
    else $error("WSTRB is zero");
  // A burst is offered on both channels in the same cycle, whichever the memory accepts first; W
  // has no gap.
  w_with_aw: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (aw_i.valid || addressed_q) == (w_i.valid || sent_q))
    else $error("AW offered before W, W before AW, or WVALID low within a burst");
  w_one_burst: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !(aw_i.valid && addressed_q) && !(w_i.valid && sent_q))
    else $error("AW or W of the next burst offered before the current one is accepted");
  always_ready: assert property (@(posedge clk_i) disable iff (!rst_ni) r_ready_i && b_ready_i)
    else $error("RREADY or BREADY low");
  // The memory's data and responses: only outstanding ones, with the last beat marked, and no
  // response of an exclusive access.
  r_expected: assert property (@(posedge clk_i) disable iff (!rst_ni) r_i.valid |-> reads_q != '0)
    else $error("memory: RVALID without an outstanding read");
  r_count: assert property (@(posedge clk_i) disable iff (!rst_ni)
      r_i.valid |-> r_i.last == (beats_q == oldest_len))
    else $error("memory: RLAST not at the beat that ARLEN gives");
  b_expected: assert property (@(posedge clk_i) disable iff (!rst_ni) b_i.valid |-> due_q != '0)
    else $error("memory: BVALID before AW and the last W are accepted, or without a write");
  not_exclusive: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !(r_i.valid && r_i.resp == 2'b01) && !(b_i.valid && b_i.resp == 2'b01))
    else $error("memory: EXOKAY although no access is exclusive");
  // Nothing is outstanding between launches.
  all_answered: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !busy_i |->
      !ar_i.valid && !aw_i.valid && !w_i.valid && !addressed_q && !sent_q &&
      reads_q == '0 && due_q == '0)
    else $error("launch over with memory accesses outstanding");
endmodule

bind dovetail_top dovetail_axi_sva u_axi_sva (
  .clk_i,
  .rst_ni,
  .busy_i    (busy_q),
  .ar_i      (ar),
  .ar_ready_i(mem_arready_i),
  .r_i       (r),
  .r_ready_i (mem_rready_o),
  .aw_i      (aw),
  .aw_ready_i(mem_awready_i),
  .w_i       (w),
  .w_ready_i (mem_wready_i),
  .b_i       (b),
  .b_ready_i (mem_bready_o)
);
