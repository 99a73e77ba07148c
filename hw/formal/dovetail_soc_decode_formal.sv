// Proof of dovetail_soc_decode: an access of the processor reaches the target of its window and no other, and is
// answered exactly once, by that target, or with DECERR outside of all windows. While each target accepts an access
// and answers it within Fair cycles, and the processor takes the answer within Fair cycles, every access ends within
// a few times Fair.
module dovetail_soc_decode_formal import dovetail_soc_pkg::*; #(
  parameter int unsigned MemoryLog2 = MEMORY_LOG2,
  parameter int unsigned Fair = 3,
  localparam int unsigned Width = 8
) (
  input logic                  clk_i,
  input logic                  arvalid_i,
  input logic [31:0]           araddr_i,
  input logic                  rready_i,
  input logic                  awvalid_i,
  input logic [31:0]           awaddr_i,
  input logic                  wvalid_i,
  input logic                  bready_i,
  input logic [WINDOWS-1:0]    t_arready_i,
  input logic [WINDOWS-1:0]    t_rvalid_i,
  input logic [32*WINDOWS-1:0] t_rdata_i,
  input logic [2*WINDOWS-1:0]  t_rresp_i,
  input logic [WINDOWS-1:0]    t_awready_i,
  input logic [WINDOWS-1:0]    t_wready_i,
  input logic [WINDOWS-1:0]    t_bvalid_i,
  input logic [2*WINDOWS-1:0]  t_bresp_i
);
  localparam logic [Width-1:0] Most = Width'(Fair);
  localparam logic [1:0] DecErr = 2'b11;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic               arready, rvalid, awready, wready, bvalid;
  logic [31:0]        rdata;
  logic [1:0]         rresp, bresp;
  logic [WINDOWS-1:0] t_arvalid, t_rready, t_awvalid, t_wvalid, t_bready;
  dovetail_soc_decode #(
    .MemoryLog2(MemoryLog2)
  ) u_dut (
    .clk_i,
    .rst_ni     (rst_n),
    .arvalid_i,
    .arready_o  (arready),
    .araddr_i,
    .rvalid_o   (rvalid),
    .rready_i,
    .rdata_o    (rdata),
    .rresp_o    (rresp),
    .awvalid_i,
    .awready_o  (awready),
    .awaddr_i,
    .wvalid_i,
    .wready_o   (wready),
    .bvalid_o   (bvalid),
    .bready_i,
    .bresp_o    (bresp),
    .t_arvalid_o(t_arvalid),
    .t_arready_i,
    .t_rvalid_i,
    .t_rready_o (t_rready),
    .t_rdata_i,
    .t_rresp_i,
    .t_awvalid_o(t_awvalid),
    .t_awready_i,
    .t_wvalid_o (t_wvalid),
    .t_wready_i,
    .t_bvalid_i,
    .t_bready_o (t_bready),
    .t_bresp_i
  );

  // The memory map: one bit for the window that has the address.
  function [WINDOWS-1:0] owner(input logic [31:0] addr);
    owner                     = '0;
    owner[WINDOW_RAM]         = addr - RAM_BASE < 32'd1 << RAM_LOG2;
    owner[WINDOW_UART]        = addr - UART_BASE < 32'd1 << UART_LOG2;
    owner[WINDOW_SYSTEM]      = addr - SYSTEM_BASE < 32'd1 << SYSTEM_LOG2;
    owner[WINDOW_ACCELERATOR] = addr - ACCELERATOR_BASE < 32'd1 << ACCELERATOR_LOG2;
    owner[WINDOW_MEMORY]      = addr - MEMORY_BASE < 32'd1 << MemoryLog2;
  endfunction

  // ---- Reads: the access that is accepted and not answered, and waits of its parts ----------------
  logic               r_open, ar_taken, r_ends;
  logic [WINDOWS-1:0] r_owner;
  logic [31:0]        r_found;
  logic [1:0]         r_code;
  logic [Width-1:0]   ar_waits, ar_age, r_waits, r_held, r_age;
  assign ar_taken = arvalid_i && arready;
  assign r_ends   = rvalid && rready_i;

  always_comb begin
    r_found = '0;
    r_code  = DecErr;
    for (int unsigned w = 0; w < WINDOWS; w++) begin
      if (r_owner[w]) begin
        r_found = t_rdata_i[32*w+:32];
        r_code  = t_rresp_i[2*w+:2];
      end
    end
  end

  // What was offered in the cycle before, and must stay.
  logic               ar_waited, r_waited;
  logic [31:0]        ar_addr;
  logic [WINDOWS-1:0] r_given;
  assign r_given = r_open ? r_owner & t_rvalid_i : '0;

  always_ff @(posedge clk_i) begin
    ar_waited <= rst_n && arvalid_i && !arready;
    ar_addr   <= araddr_i;
    r_waited  <= rst_n && r_given != '0 && !rready_i;
    if (!rst_n) begin
      r_open   <= 1'b0;
      r_owner  <= '0;
      ar_waits <= '0;
      ar_age   <= '0;
      r_waits  <= '0;
      r_held   <= '0;
      r_age    <= '0;
    end else begin
      if (ar_taken) r_owner <= owner(araddr_i);
      r_open   <= ar_taken || (r_open && !r_ends);
      ar_waits <= t_arvalid != '0 && (t_arvalid & t_arready_i) == '0 ? ar_waits + 1'b1 : '0;
      ar_age   <= arvalid_i && !arready ? ar_age + 1'b1 : '0;
      r_waits  <= r_open && !r_ends && r_owner != '0 && !rvalid ? r_waits + 1'b1 : r_open && !r_ends ? r_waits : '0;
      r_held   <= rvalid && !rready_i ? r_held + 1'b1 : '0;
      r_age    <= r_open && !r_ends ? r_age + 1'b1 : '0;
    end
  end

  always_comb begin
    // The processor holds what it offers; so does a target. Both are fair.
    if (ar_waited) assume (arvalid_i && araddr_i == ar_addr);
    if (r_waited) assume (r_given != '0);
    if (ar_waits == Most - 1'b1) assume ((t_arvalid & t_arready_i) != '0 || t_arvalid == '0);
    if (r_waits == Most - 1'b1) assume (r_given != '0 || r_owner == '0);
    if (r_held == Most - 1'b1) assume (rready_i);

    if (rst_n) begin
      // One access at a time; it is offered to the target of its window alone, and is accepted in the
      // cycle in which the target takes it.
      assert ((t_arvalid & (t_arvalid - 1'b1)) == '0);
      assert (t_arvalid == (arvalid_i && !r_open ? owner(araddr_i) : '0));
      if (ar_taken) assert (!r_open && (t_arvalid & t_arready_i) == owner(araddr_i));
      if ((t_arvalid & t_arready_i) != '0) assert (ar_taken);
      // One answer: of its target, or DECERR at once.
      assert (rvalid == (r_open && (r_owner == '0 || r_given != '0)));
      if (rvalid) assert (rdata == r_found && rresp == r_code);
      assert (t_rready == (r_open && rready_i ? r_owner : '0));
      // It ends: an access that is accepted, and one that is offered.
      assert (r_age <= Most + Most);
      assert (ar_age <= Most + Most + Most);

      // Internal state.
      assert (r_age == r_waits + r_held && r_waits < Most && r_held < Most && ar_waits < Most);
      if (!r_open) assert (r_age == '0);
      if (r_held != '0) assert (r_waited || r_owner == '0);
      if (r_owner == '0) assert (r_waits == '0);
      if (r_waited) assert (r_open && r_held != '0);
      if (r_open) assert (ar_age <= r_age && ar_waits == '0);
      if (!r_open) assert (ar_age <= Most + Most + ar_waits);
    end
  end
  (* hierconn *) logic               \u_dut.r_busy_q ;
  (* hierconn *) logic [WINDOWS-1:0] \u_dut.r_target_q ;
  always_comb begin
    if (rst_n) begin
      assert (\u_dut.r_busy_q == r_open && \u_dut.r_target_q == r_owner);
      assert ((r_owner & (r_owner - 1'b1)) == '0);
    end
  end

  // ---- Writes: parts of the access that are accepted, until it is answered ------------------------
  logic               aw_open, w_open, aw_taken, w_taken, b_ends, complete;
  logic [WINDOWS-1:0] w_owner, aw_owner, b_given;
  logic [1:0]         b_code;
  logic [Width-1:0]   aw_waits, w_waits, w_late, b_waits, b_held, b_age;
  assign aw_taken = awvalid_i && awready;
  assign w_taken  = wvalid_i && wready;
  assign b_ends   = bvalid && bready_i;
  assign complete = aw_open && w_open;
  assign aw_owner = aw_open ? w_owner : owner(awaddr_i);
  assign b_given  = complete ? w_owner & t_bvalid_i : '0;

  always_comb begin
    b_code = DecErr;
    for (int unsigned w = 0; w < WINDOWS; w++) begin
      if (w_owner[w]) b_code = t_bresp_i[2*w+:2];
    end
  end

  logic        aw_waited, w_waited, b_waited;
  logic [31:0] aw_addr;
  always_ff @(posedge clk_i) begin
    aw_waited <= rst_n && awvalid_i && !awready;
    w_waited  <= rst_n && wvalid_i && !wready;
    aw_addr   <= awaddr_i;
    b_waited  <= rst_n && b_given != '0 && !bready_i;
    if (!rst_n) begin
      aw_open  <= 1'b0;
      w_open   <= 1'b0;
      w_owner  <= '0;
      aw_waits <= '0;
      w_waits  <= '0;
      w_late   <= '0;
      b_waits  <= '0;
      b_held   <= '0;
      b_age    <= '0;
    end else begin
      if (aw_taken) w_owner <= owner(awaddr_i);
      aw_open  <= aw_taken || (aw_open && !b_ends);
      w_open   <= w_taken || (w_open && !b_ends);
      // Waits of one access, which are kept until it ends.
      if (b_ends) begin
        aw_waits <= '0;
        w_waits  <= '0;
        w_late   <= '0;
        b_waits  <= '0;
        b_held   <= '0;
        b_age    <= '0;
      end else begin
        if (awvalid_i && !aw_open && !aw_taken && (wvalid_i || w_open)) aw_waits <= aw_waits + 1'b1;
        if (aw_open && wvalid_i && !w_open && !w_taken) w_waits <= w_waits + 1'b1;
        if (aw_open && !wvalid_i && !w_open) w_late <= w_late + 1'b1;
        if (complete && !bvalid) b_waits <= b_waits + 1'b1;
        if (complete && bvalid) b_held <= b_held + 1'b1;
        if (aw_open || w_open) b_age <= b_age + 1'b1;
      end
    end
  end

  always_comb begin
    if (aw_waited) assume (awvalid_i && awaddr_i == aw_addr);
    if (w_waited) assume (wvalid_i);
    if (b_waited) assume (b_given != '0);
    // The processor sends the data of an address, and takes answers, in time. A target may wait for the
    // data before it takes the address.
    if (aw_waits == Most - 1'b1) assume (awready || !awvalid_i || aw_open);
    if (w_waits == Most - 1'b1) assume ((t_wvalid & t_wready_i) != '0 || t_wvalid == '0);
    if (w_late == Most - 1'b1) assume (wvalid_i || !aw_open || w_open);
    if (b_waits == Most - 1'b1) assume (b_given != '0 || w_owner == '0 || !complete);
    if (b_held == Most - 1'b1) assume (bready_i || !bvalid);

    if (rst_n) begin
      assert ((t_awvalid & (t_awvalid - 1'b1)) == '0);
      assert (t_awvalid == (awvalid_i && !aw_open ? owner(awaddr_i) : '0));
      if (aw_taken) assert (!aw_open && (t_awvalid & t_awready_i) == owner(awaddr_i));
      if ((t_awvalid & t_awready_i) != '0) assert (aw_taken);
      // Data goes where its address goes.
      assert (t_wvalid == (wvalid_i && !w_open && (aw_open || awvalid_i) ? aw_owner : '0));
      if (w_taken) assert (!w_open && (aw_open || awvalid_i) && (t_wvalid & t_wready_i) == aw_owner);
      if ((t_wvalid & t_wready_i) != '0) assert (w_taken);
      // One answer, after both.
      assert (bvalid == (complete && (w_owner == '0 || b_given != '0)));
      if (bvalid) assert (bresp == b_code);
      assert (t_bready == (complete && bready_i ? w_owner : '0));
      assert (b_age <= 5 * Most);

      // Each cycle is one of the waits, but that in which the second part is accepted.
      assert (b_age <= aw_waits + w_waits + w_late + b_waits + b_held + Width'(complete));
      assert (aw_waits < Most && w_waits < Most && w_late < Most && b_waits < Most && b_held < Most);
      if (w_open && !aw_open) assert (aw_waited);
      if (b_waited) assert (complete && b_held != '0);
      if (b_held != '0) assert (b_waited || (complete && w_owner == '0));
      if (complete && w_owner == '0) assert (b_waits == '0);
      if (b_waits != '0) assert (complete);
      if (w_waits != '0 || w_late != '0) assert (aw_open);
      if (aw_waits != '0) assert (awvalid_i || aw_open);
      if (!aw_open && !w_open) assert (b_age == '0);
    end
  end
  (* hierconn *) logic               \u_dut.aw_done_q ;
  (* hierconn *) logic               \u_dut.w_done_q ;
  (* hierconn *) logic [WINDOWS-1:0] \u_dut.w_target_q ;
  always_comb begin
    if (rst_n) begin
      assert (\u_dut.aw_done_q == aw_open && \u_dut.w_done_q == w_open);
      assert (\u_dut.w_target_q == w_owner && (w_owner & (w_owner - 1'b1)) == '0);
    end
  end

  always_ff @(posedge clk_i) begin
    cover (rst_n && r_ends && rresp == DecErr && r_owner == '0 && ar_age != '0);
    cover (rst_n && r_ends && r_owner[WINDOW_MEMORY] && r_age == Most + Most - 2'd2);
    cover (rst_n && b_ends && w_owner == '0);
    cover (rst_n && b_ends && w_owner[WINDOW_ACCELERATOR] && b_age > Most + Most);
    cover (rst_n && w_open && !aw_open && aw_taken);
  end
endmodule
