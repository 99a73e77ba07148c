// DRAM standards: organization and timing, in DRAM clocks. docs/reference/memory-models.md describes the use of the
// numbers and their sources.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dovetail::simulator {

struct DramStandard {
  std::string_view name;
  std::int64_t clock_ps;
  std::int64_t access_bytes;   // one column command of one channel
  std::int64_t access_clocks;  // its time on the data bus
  std::int64_t channels, ranks, bank_groups, banks_per_group;
  std::int64_t row_bytes;  // of one bank
  std::int64_t cl, cwl, rcd, rp, ras;
  std::int64_t ccd_s, ccd_l, rrd_s, rrd_l, faw;
  std::int64_t wr, rtp, wtr_s, wtr_l;
  std::int64_t rtrs;  // between data of two ranks
  std::int64_t rfc, refi;
  bool operator==(const DramStandard&) const = default;
};

// Timing by the device files of DRAMsim3, except where noted. Sizes are powers of two.
inline constexpr std::array kDramStandards{
    // 8 Gb x8, one 64-bit rank (DDR4_8Gb_x8_2400.ini).
    DramStandard{.name = "ddr4-2400",
                 .clock_ps = 833,
                 .access_bytes = 64,
                 .access_clocks = 4,
                 .channels = 1,
                 .ranks = 1,
                 .bank_groups = 4,
                 .banks_per_group = 4,
                 .row_bytes = 8192,
                 .cl = 17,
                 .cwl = 12,
                 .rcd = 17,
                 .rp = 17,
                 .ras = 39,
                 .ccd_s = 4,
                 .ccd_l = 6,
                 .rrd_s = 4,
                 .rrd_l = 6,
                 .faw = 26,
                 .wr = 18,
                 .rtp = 9,
                 .wtr_s = 3,
                 .wtr_l = 9,
                 .rtrs = 2,
                 .rfc = 420,
                 .refi = 9360},
    // Two channels of 8 Gb x16, by JESD209-4 at 2400 MT/s (tests/unit/simulator/memory/bank.cpp has its times): eight
    // banks without groups, bursts of 16, refresh every 3.9 us. DRAMsim3's LPDDR4_8Gb_x16_2400.ini has the bank groups
    // and tCCD of DDR4, and times that no device meets.
    DramStandard{.name = "lpddr4",
                 .clock_ps = 833,
                 .access_bytes = 32,
                 .access_clocks = 8,
                 .channels = 2,
                 .ranks = 1,
                 .bank_groups = 1,
                 .banks_per_group = 8,
                 .row_bytes = 2048,
                 .cl = 24,
                 .cwl = 12,
                 .rcd = 22,
                 .rp = 22,
                 .ras = 51,
                 .ccd_s = 8,
                 .ccd_l = 8,
                 .rrd_s = 12,
                 .rrd_l = 12,
                 .faw = 48,
                 .wr = 22,
                 .rtp = 9,
                 .wtr_s = 12,
                 .wtr_l = 12,
                 .rtrs = 2,
                 .rfc = 336,
                 .refi = 4680},
    // One stack of eight 128-bit channels in legacy mode (HBM2_8Gb_x128.ini).
    DramStandard{.name = "hbm2",
                 .clock_ps = 1000,
                 .access_bytes = 64,
                 .access_clocks = 2,
                 .channels = 8,
                 .ranks = 1,
                 .bank_groups = 4,
                 .banks_per_group = 4,
                 .row_bytes = 2048,
                 .cl = 14,
                 .cwl = 4,
                 .rcd = 14,
                 .rp = 14,
                 .ras = 34,
                 .ccd_s = 1,
                 .ccd_l = 2,
                 .rrd_s = 4,
                 .rrd_l = 6,
                 .faw = 30,
                 .wr = 16,
                 .rtp = 6,
                 .wtr_s = 6,
                 .wtr_l = 8,
                 .rtrs = 2,
                 .rfc = 260,
                 .refi = 3900},
};

}  // namespace dovetail::simulator
