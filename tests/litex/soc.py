"""The SoC of litex_sim with PicoRV32, the accelerator and on-chip memory, for run.py. It imports the generated dovetail_litex.py from its folder."""

from litex.build.sim.config import SimConfig
from litex.soc.integration.common import get_mem_data
from litex.tools.litex_sim import SimSoC

import dovetail_litex

REGISTERS = 0x90000000
ROM_BYTES, RAM_BYTES = 0x4000, 0x20000


class Soc(SimSoC):
    def __init__(self, rom, ram, sources, bus_standard):
        super().__init__(cpu_type="picorv32", uart_name="sim", bus_standard=bus_standard, integrated_rom_size=ROM_BYTES, integrated_rom_init=rom,
                         integrated_sram_size=0x1000, integrated_main_ram_size=RAM_BYTES, integrated_main_ram_init=ram)
        self.dovetail = dovetail_litex.Dovetail(self.platform, sources, origin=self.bus.regions["main_ram"].origin)
        self.dovetail.add_to(self, registers=REGISTERS)


def words(file):
    return get_mem_data(str(file), endianness="little", data_width=32) if file else [0]


def generate(folder, sources, bus_standard, rom, ram):
    """Writes litex_sim's model of the SoC with the contents of its memories into folder/gateware, with the script build_sim.sh; returns the addresses of its
    registers and memories."""
    soc = Soc(words(rom), words(ram), sources, bus_standard)
    config = SimConfig()
    config.add_clocker("sys_clk", freq_hz=soc.sys_clk_freq)
    config.add_module("serial2console", "serial")
    soc.finalize()
    soc.platform.build(soc, build_dir=str(folder / "gateware"), build_name="sim", sim_config=config, run=False, opt_level="O1")
    csr = {f"{bank}_{register.name}": (soc.csr.regions[bank].origin + 4 * place)
           for bank, region in soc.csr.regions.items() if isinstance(region.obj, list) for place, register in enumerate(region.obj)}
    return csr, {name: region.origin for name, region in soc.bus.regions.items()}
