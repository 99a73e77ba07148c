// A core of LiteX: a Python module with the registers as an AXI4-Lite slave, the memory port as an AXI4 master, and the
// interrupt as an event.
#include <fmt/format.h>

#include "isa/emit/emit.h"
#include "isa/emit/tables.h"
#include "isa/spec/registers.h"

namespace dovetail::isa {

namespace {

constexpr std::string_view kLitexHead =
    R"("""The accelerator `@NAME@` as a core of LiteX. Generated from isa/spec by `dovetail isa --format litex --hw @NAME@`. Do not edit.

    self.dovetail = Dovetail(platform, Dovetail.sources("dovetail_isa_pkg.sv", "hw/rtl"), origin=self.bus.regions["main_ram"].origin)
    self.dovetail.add_to(self, registers=0x90000000)

dovetail_isa_pkg.sv is the package of this design point (`dovetail isa --format sv --hw @NAME@`), hw/rtl the design. The registers are not CSRs of LiteX
but a window of the bus: firmware uses the driver examples/driver/dovetail_driver.c with the header of `dovetail isa --format c`.
"""

import pathlib

from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import axi
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
from migen import ClockSignal, Instance, ResetSignal, Signal

NAME = "@NAME@"
ADDRESS_BITS = @ADDRESS_BITS@  # the accelerator addresses 2^ADDRESS_BITS bytes from `origin` on
BUS_BYTES = @BUS_BYTES@  # of a beat of the memory port
WINDOW_BYTES = @WINDOW_BYTES@  # of the registers
CONFIG = @CONFIG@  # what the register CONFIG reads as
REGISTERS = {  # offset, value after reset
)";

// The channels of both ports: fields that the core drives, and fields that it receives.
constexpr std::string_view kLitexBody = R"(}


class Dovetail(LiteXModule):
    """The accelerator. `bus`: its registers, an AXI4-Lite slave; `dma`: its memory port, an AXI4 master; `ev.launch`: its interrupt."""

    def __init__(self, platform=None, sources=(), origin=0):
        """origin: the address of the bus that is address 0 of the accelerator's programs. sources: files that are added to the platform."""
        self.bus = axi.AXILiteInterface(data_width=32, address_width=32)
        self.dma = axi.AXIInterface(data_width=8 * BUS_BYTES, address_width=max(32, ADDRESS_BITS), id_width=1)
        self.interrupt = Signal()
        self.ev = EventManager()
        self.ev.launch = EventSourceLevel(description="A launch has ended; it stays until INTERRUPT_STATUS is cleared.")
        self.ev.finalize()

        read_address, write_address = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
        self.comb += [
            self.ev.launch.trigger.eq(self.interrupt),
            self.dma.ar.addr.eq(origin + read_address),
            self.dma.aw.addr.eq(origin + write_address),
            self.dma.ar.cache.eq(0b0011),  # normal memory, bufferable
            self.dma.aw.cache.eq(0b0011),
        ]
        ports = {"i_clk_i": ClockSignal("sys"), "i_rst_ni": ~ResetSignal("sys"), "o_interrupt_o": self.interrupt,
                 "o_mem_araddr_o": read_address, "o_mem_awaddr_o": write_address}

        def connect(prefix, interface, master, **fields_of):
            for channel, fields in fields_of.items():
                stream = getattr(interface, channel)
                # Requests go from the master, responses to it.
                driven = (channel in ("ar", "aw", "w")) == master
                forward, backward = (("o", "_o"), ("i", "_i")) if driven else (("i", "_i"), ("o", "_o"))
                ports[f"{forward[0]}_{prefix}_{channel}valid{forward[1]}"] = stream.valid
                ports[f"{backward[0]}_{prefix}_{channel}ready{backward[1]}"] = stream.ready
                for field in fields:
                    signal = getattr(stream, field)
                    ports[f"{forward[0]}_{prefix}_{channel}{field}{forward[1]}"] = signal[:12] if field == "addr" else signal

        connect("mem", self.dma, True, ar=("len", "size", "burst"), aw=("len", "size", "burst"), w=("data", "strb", "last"), r=("data", "resp", "last"), b=("resp",))
        connect("reg", self.bus, False, ar=("addr",), aw=("addr",), w=("data", "strb"), r=("data", "resp"), b=("resp",))
        self.specials += Instance("dovetail_top", name="dovetail_top", **ports)
        for source in sources:
            platform.add_source(str(source))

    @staticmethod
    def sources(package, design):
        """The files of the core: the package of the design point, and those of the design's folder."""
        return [pathlib.Path(package), *sorted(pathlib.Path(design).glob("*.sv"))]

    def add_to(self, soc, registers, name="dovetail"):
        """Connects the core to the bus of a SoC, with its registers at an address, and to the interrupts if the SoC has them. Call it for
        an attribute of the SoC of this name."""
        soc.bus.add_slave(name, self.bus, SoCRegion(origin=registers, size=WINDOW_BYTES, cached=False))
        soc.bus.add_master(f"{name}_dma", master=self.dma)
        if soc.irq.enabled:
            soc.irq.add(name, use_loc_if_exists=True)
)";

}  // namespace

std::string emit_litex(const HardwareConfig& config) {
  std::string text = emit::fill(kLitexHead, {{"NAME", config.name},
                                             {"ADDRESS_BITS", std::to_string(config.address_bits)},
                                             {"BUS_BYTES", std::to_string(config.bus_bytes)},
                                             {"WINDOW_BYTES", std::to_string(spec::kRegisterWindowBytes)},
                                             {"CONFIG", fmt::format("{:#010x}", spec::config_register(config))}});
  for (const spec::Register& row : spec::kRegisters)
    if (is_enabled(row, config))
      text += fmt::format("    \"{}\": ({:#05x}, {:#010x}),  # {}\n", row.name, row.offset, row.reset(config), row.doc);
  return text + std::string(kLitexBody);
}

}  // namespace dovetail::isa
