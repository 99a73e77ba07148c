// From the processor to its targets (AXI4-Lite), by address: a window of the memory map each. One
// read and one write at a time. Addresses outside all windows are answered with DECERR.
module dovetail_soc_decode import dovetail_soc_pkg::*; #(
  parameter int unsigned MemoryLog2 = MEMORY_LOG2  // at most that: what the memory's port can address
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  arvalid_i,
  output logic                  arready_o,
  input  logic [31:0]           araddr_i,
  output logic                  rvalid_o,
  input  logic                  rready_i,
  output logic [31:0]           rdata_o,
  output logic [1:0]            rresp_o,
  input  logic                  awvalid_i,
  output logic                  awready_o,
  input  logic [31:0]           awaddr_i,
  input  logic                  wvalid_i,
  output logic                  wready_o,
  output logic                  bvalid_o,
  input  logic                  bready_i,
  output logic [1:0]            bresp_o,
  // One bit or word for each target; addresses, data and strobes go to all of them.
  output logic [WINDOWS-1:0]    t_arvalid_o,
  input  logic [WINDOWS-1:0]    t_arready_i,
  input  logic [WINDOWS-1:0]    t_rvalid_i,
  output logic [WINDOWS-1:0]    t_rready_o,
  input  logic [32*WINDOWS-1:0] t_rdata_i,
  input  logic [2*WINDOWS-1:0]  t_rresp_i,
  output logic [WINDOWS-1:0]    t_awvalid_o,
  input  logic [WINDOWS-1:0]    t_awready_i,
  output logic [WINDOWS-1:0]    t_wvalid_o,
  input  logic [WINDOWS-1:0]    t_wready_i,
  input  logic [WINDOWS-1:0]    t_bvalid_i,
  output logic [WINDOWS-1:0]    t_bready_o,
  input  logic [2*WINDOWS-1:0]  t_bresp_i
);
  localparam logic [1:0] DecErr = 2'b11;

  // One bit for each window; none: unmapped.
  function automatic logic [WINDOWS-1:0] target(input logic [31:0] addr);
    target = {addr[31:MemoryLog2] == MEMORY_BASE[31:MemoryLog2],
              addr[31:ACCELERATOR_LOG2] == ACCELERATOR_BASE[31:ACCELERATOR_LOG2],
              addr[31:SYSTEM_LOG2] == SYSTEM_BASE[31:SYSTEM_LOG2],
              addr[31:UART_LOG2] == UART_BASE[31:UART_LOG2],
              addr[31:RAM_LOG2] == RAM_BASE[31:RAM_LOG2]};
  endfunction

  // ---- Reads ------------------------------------------------------------------------------------
  logic               r_busy_q;
  logic [WINDOWS-1:0] r_target_q, ar_target;

  assign ar_target   = target(araddr_i);
  assign t_arvalid_o = arvalid_i && !r_busy_q ? ar_target : '0;
  assign arready_o   = !r_busy_q && (ar_target == '0 || (ar_target & t_arready_i) != '0);
  assign t_rready_o  = r_busy_q && rready_i ? r_target_q : '0;
  assign rvalid_o    = r_busy_q && (r_target_q == '0 || (r_target_q & t_rvalid_i) != '0);

  always_comb begin
    rdata_o = '0;
    rresp_o = r_target_q == '0 ? DecErr : 2'b00;
    for (int unsigned w = 0; w < WINDOWS; w++) begin
      if (r_target_q[w]) begin
        rdata_o = t_rdata_i[32*w+:32];
        rresp_o = t_rresp_i[2*w+:2];
      end
    end
  end

  // ---- Writes -----------------------------------------------------------------------------------
  logic               aw_done_q, w_done_q, w_known;
  logic [WINDOWS-1:0] w_target_q, aw_target, w_target;

  // Data follows its address, in the same cycle or later.
  assign aw_target   = target(awaddr_i);
  assign w_known     = aw_done_q || awvalid_i;
  assign w_target    = aw_done_q ? w_target_q : aw_target;
  assign t_awvalid_o = awvalid_i && !aw_done_q ? aw_target : '0;
  assign awready_o   = !aw_done_q && (aw_target == '0 || (aw_target & t_awready_i) != '0);
  assign t_wvalid_o  = wvalid_i && w_known && !w_done_q ? w_target : '0;
  assign wready_o    = w_known && !w_done_q && (w_target == '0 || (w_target & t_wready_i) != '0);
  assign t_bready_o  = aw_done_q && w_done_q && bready_i ? w_target_q : '0;
  assign bvalid_o    = aw_done_q && w_done_q &&
                       (w_target_q == '0 || (w_target_q & t_bvalid_i) != '0);

  always_comb begin
    bresp_o = w_target_q == '0 ? DecErr : 2'b00;
    for (int unsigned w = 0; w < WINDOWS; w++) begin
      if (w_target_q[w]) bresp_o = t_bresp_i[2*w+:2];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      r_busy_q   <= 1'b0;
      r_target_q <= '0;
      aw_done_q  <= 1'b0;
      w_done_q   <= 1'b0;
      w_target_q <= '0;
    end else begin
      if (arvalid_i && arready_o) begin
        r_busy_q   <= 1'b1;
        r_target_q <= ar_target;
      end else if (rvalid_o && rready_i) begin
        r_busy_q <= 1'b0;
      end
      if (bvalid_o && bready_i) begin
        aw_done_q <= 1'b0;
        w_done_q  <= 1'b0;
      end else begin
        if (awvalid_i && awready_o) begin
          aw_done_q  <= 1'b1;
          w_target_q <= aw_target;
        end
        if (wvalid_i && wready_o) w_done_q <= 1'b1;
      end
    end
  end
endmodule
