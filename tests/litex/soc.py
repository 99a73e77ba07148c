"""A SoC of LiteX with PicoRV32, the accelerator and on-chip memory, for run.py. It imports the generated dovetail_litex.py from its folder."""

from litex.build.generic_platform import Pins, Subsignal
from litex.build.sim import SimPlatform
from litex.gen import LiteXModule
from litex.soc.integration.builder import Builder
from litex.soc.integration.common import get_mem_data
from litex.soc.integration.soc_core import SoCCore
from migen import ClockDomain

import dovetail_litex

IO = [("sys_clk", 0, Pins(1)), ("sys_rst", 0, Pins(1)),
      ("serial", 0, *(Subsignal(name, Pins(bits)) for name, bits in (("source_valid", 1), ("source_ready", 1), ("source_data", 8),
                                                                   ("sink_valid", 1), ("sink_ready", 1), ("sink_data", 8))))]
REGISTERS = 0x90000000
ROM_BYTES, RAM_BYTES = 0x4000, 0x20000


class ClockAndReset(LiteXModule):
    def __init__(self, platform):
        self.cd_sys = ClockDomain()
        self.comb += [self.cd_sys.clk.eq(platform.request("sys_clk")), self.cd_sys.rst.eq(platform.request("sys_rst"))]


class Soc(SoCCore):
    def __init__(self, rom, ram, sources, bus_standard):
        platform = SimPlatform("SIM", IO)
        self.crg = ClockAndReset(platform)
        super().__init__(platform, clk_freq=1_000_000, cpu_type="picorv32", uart_name="sim", bus_standard=bus_standard, ident="",
                         integrated_rom_size=ROM_BYTES, integrated_rom_init=rom, integrated_sram_size=0x1000,
                         integrated_main_ram_size=RAM_BYTES, integrated_main_ram_init=ram)
        self.dovetail = dovetail_litex.Dovetail(platform, sources, origin=self.bus.regions["main_ram"].origin)
        self.dovetail.add_to(self, registers=REGISTERS)


def words(file):
    return get_mem_data(str(file), endianness="little", data_width=32) if file else [0]


def generate(folder, sources, bus_standard="wishbone", rom=None, ram=None):
    """Writes sim.v with the contents of its memories into the folder; returns the addresses of its registers and memories."""
    soc = Soc(words(rom), words(ram), sources, bus_standard)
    Builder(soc, output_dir=str(folder), compile_software=False, compile_gateware=False)
    soc.finalize()
    soc.platform.get_verilog(soc, name="sim").write(str(folder / "sim.v"))
    csr = {f"{bank}_{register.name}": (soc.csr.regions[bank].origin + 4 * place)
           for bank, region in soc.csr.regions.items() if isinstance(region.obj, list) for place, register in enumerate(region.obj)}
    return csr, {name: region.origin for name, region in soc.bus.regions.items()}
