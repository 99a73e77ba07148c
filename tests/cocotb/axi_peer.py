"""Tests of the accelerator with the memory and the register master of cocotbext-axi. run.py starts them, with the programs and the bytes that the
functional simulator gives for them."""

import dataclasses
import itertools
import json
import logging
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiResp

from axi_rules import Rules

CASE = json.loads(open(os.environ["DOVETAIL_PEER_CASE"]).read())
SEED = int(os.environ.get("DOVETAIL_PEER_SEED", "1"))
LOG = logging.getLogger("cocotb.peer")
CHANNELS = ("ar", "r", "aw", "w", "b")
REGISTERS, CODES = CASE["registers"], CASE["error_codes"]
BUSY, DONE, ERROR = 1, 2, 4
# Far above the cycles of a launch with the slowest memory.
MOST_CYCLES = 200_000
# A reset comes up to this many cycles after the first in which its moment is there.
MOST_WAIT = 12


def pauses(rng, percent):
    """For each cycle, whether a channel of the memory pauses: in `percent` of the cycles on average, in runs."""
    while True:
        run = rng.randint(1, 12)
        pause = rng.random() * 100 < percent
        yield from itertools.repeat(pause, run)


@dataclasses.dataclass
class Spoiled:
    """One response of the memory that is an error: of the burst with this number among those of its channel since the start of the launch."""

    channel: str
    number: int
    beat: int  # modulo the beats of the burst
    response: AxiResp
    bytes: range = range(0)  # that the response belongs to, when it has been sent

    def names(self, channel, number):
        return (self.channel, self.number) == (channel, number)


class Program:
    def __init__(self, row):
        self.name, self.base, self.instructions = row["name"], row["base"], row["instructions"]
        self.program_base, self.launches, self.owners = row["program_base"], row["launches"], row.get("owners", [])
        self.instruction_bytes = CASE["instruction_bytes"]
        self.image, self.program, self.expected = (open(row[name], "rb").read() for name in ("image", "program", "expected"))

    def movers(self, addresses):
        """The instructions that may move bytes at these addresses, or that are there themselves."""
        found = {(address - self.program_base) // self.instruction_bytes for address in addresses if self.is_program(address)}
        for row in self.owners:
            if row["from"] < addresses.stop and addresses.start < row["to"]:
                found.update(row["instructions"])
        return found

    def is_program(self, address):
        return self.program_base <= address < self.program_base + len(self.program)


PROGRAMS = {row["name"]: Program(row) for row in CASE["programs"]}


class System:
    """The design with its peers."""

    def __init__(self, dut):
        self.dut = dut
        logging.getLogger("cocotb.axi_peer_top").setLevel(logging.WARNING)
        cocotb.start_soon(Clock(dut.clk, 2, "ns").start())
        dut.rst_n.value = 0
        self.ram = AxiRam(AxiBus.from_prefix(dut, "mem"), dut.clk, dut.rst_n, reset_active_level=False, size=CASE["memory_bytes"])
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "reg"), dut.clk, dut.rst_n, reset_active_level=False)
        self.rules = Rules(dut)
        self.spoiled = None  # the error to come
        self.spoil_reads()
        self.spoil_writes()

    def spoil_reads(self):
        """The beat that `spoiled` names gets its response instead of the memory's."""
        channel = self.ram.read_if.r_channel
        send = channel.send
        self.sent_bursts, self.sent_beats = {"ar": 0, "aw": 0}, 0

        async def sent(transaction):
            if self.spoiled and self.spoiled.names("ar", self.sent_bursts["ar"]):
                address, beats = self.rules.bursts["ar"][self.sent_bursts["ar"]]
                if self.sent_beats == self.spoiled.beat % beats:
                    transaction.rresp = self.spoiled.response
                    self.spoiled.bytes = range(address + self.sent_beats * self.rules.bus_bytes, address + (self.sent_beats + 1) * self.rules.bus_bytes)
            self.sent_beats += 1
            if transaction.rlast:
                self.sent_beats = 0
                self.sent_bursts["ar"] += 1
            await send(transaction)

        channel.send = sent

    def spoil_writes(self):
        channel = self.ram.write_if.b_channel
        send = channel.send

        async def sent(transaction):
            if self.spoiled and self.spoiled.names("aw", self.sent_bursts["aw"]):
                address, beats = self.rules.bursts["aw"][self.sent_bursts["aw"]]
                transaction.bresp = self.spoiled.response
                self.spoiled.bytes = range(address, address + beats * self.rules.bus_bytes)
            self.sent_bursts["aw"] += 1
            await send(transaction)

        channel.send = sent

    def count_bursts_anew(self):
        self.rules.bursts.update(ar=[], aw=[])
        self.sent_bursts.update(ar=0, aw=0)
        self.sent_beats = 0

    def pause(self, seed, percent):
        """Pauses in each channel of the memory: READY of AR, AW and W, VALID of R and B."""
        rng = random.Random(seed)
        interfaces = {"ar": self.ram.read_if, "r": self.ram.read_if, "aw": self.ram.write_if, "w": self.ram.write_if, "b": self.ram.write_if}
        for name in CHANNELS:
            channel = getattr(interfaces[name], f"{name}_channel")
            if percent:
                channel.set_pause_generator(pauses(random.Random(rng.random()), percent))
            else:
                channel.clear_pause_generator()
                channel.pause = False

    async def reset(self, cycles=4):
        self.dut.rst_n.value = 0
        await ClockCycles(self.dut.clk, cycles)
        self.dut.rst_n.value = 1
        await RisingEdge(self.dut.clk)

    async def write(self, register, value):
        done = await self.registers.write(REGISTERS[register], value.to_bytes(4, "little"))
        assert done.resp == AxiResp.OKAY, f"{register}: {done.resp!r}"

    async def read(self, register):
        done = await self.registers.read(REGISTERS[register], 4)
        assert done.resp == AxiResp.OKAY, f"{register}: {done.resp!r}"
        return int.from_bytes(done.data, "little")

    def place(self, program):
        """The image and the program in memory; everything else has a value that no test expects."""
        self.ram.write(0, b"\xa5" * CASE["memory_bytes"])
        self.ram.write(program.base, program.image)
        self.ram.write(program.program_base, program.program)

    async def start(self, program, launch):
        await self.write("PROGRAM_BASE_LO", program.program_base)
        await self.write("INSTRUCTION_BEGIN", launch["begin"])
        await self.write("INSTRUCTION_COUNT", launch["count"])
        await self.write("INTERRUPT_ENABLE", 3)
        self.count_bursts_anew()
        await self.write("CONTROL", 1)

    async def finish(self):
        """Waits for the interrupt, and returns STATUS."""
        if not int(self.dut.interrupt.value):
            late = ClockCycles(self.dut.clk, MOST_CYCLES)
            assert await First(RisingEdge(self.dut.interrupt), late) is not late, f"no interrupt in {MOST_CYCLES} cycles: {self.rules.state()}"
        status = await self.read("STATUS")
        assert await self.read("INTERRUPT_STATUS") == (2 if status & ERROR else 1)
        await self.write("INTERRUPT_STATUS", 3)
        assert not status & BUSY
        assert self.rules.is_quiet(), f"bursts remain after the launch: {self.rules.state()}"
        return status

    async def run_right(self, program):
        """Runs all launches and compares every byte of the memory with the functional simulator's."""
        self.place(program)
        for launch in program.launches:
            await self.start(program, launch)
            status = await self.finish()
            assert status == DONE, f"{program.name}: STATUS {status:#x}, instruction {await self.read('ERROR_INSTRUCTION')}"
        got = self.ram.read(program.base, len(program.expected))
        wrong = [place for place, (is_, should) in enumerate(zip(got, program.expected)) if is_ != should]
        assert not wrong, f"{program.name}: {len(wrong)} wrong bytes, the first at {program.base + wrong[0]:#x}"
        around = self.ram.read(0, CASE["memory_bytes"])
        used = [(program.base, len(program.expected)), (program.program_base, len(program.program))]
        for address, length in used:
            around = around[:address] + b"\xa5" * length + around[address + length:]
        assert not around.strip(b"\xa5"), f"{program.name}: bytes outside the image are changed"


async def begin(dut):
    system = System(dut)
    await system.reset()
    return system


@cocotb.test()
@cocotb.parametrize(program=list(PROGRAMS), percent=CASE["pauses"])
async def right_program(dut, program, percent):
    """The bytes are those of the functional simulator, however long each channel pauses."""
    system = await begin(dut)
    system.pause(SEED * 1000 + percent, percent)
    await system.run_right(PROGRAMS[program])
    LOG.info("%s, pauses %d %%: %d cycles, %s", program, percent, system.rules.cycles, dict(system.rules.events))


@cocotb.test()
@cocotb.parametrize(percent=CASE["error_pauses"])
async def bus_errors(dut, percent):
    """SLVERR and DECERR at a beat of every burst: the launch ends with the code, the instruction is one that moves this beat, and the next launch is
    right, without a reset."""
    program = PROGRAMS["peer"]
    system = await begin(dut)
    rng = random.Random(SEED * 7 + percent)
    await system.run_right(program)
    bursts = [(channel, number) for channel, all_ in system.rules.bursts.items() for number in range(len(all_))]
    assert len(bursts) > 20
    for tried, (channel, number) in enumerate(bursts):
        for response, code in ((AxiResp.SLVERR, CODES["slave_error"]), (AxiResp.DECERR, CODES["decode_error"])):
            system.pause(rng.random(), percent)
            system.spoiled = Spoiled(channel, number, rng.randrange(64), response)
            system.place(program)
            await system.start(program, program.launches[0])
            status = await system.finish()
            where = f"{system.spoiled}"
            assert status & 0xf == ERROR and status >> 4 == code, f"{where}: STATUS {status:#x}"
            index, movers = await system.read("ERROR_INSTRUCTION"), program.movers(system.spoiled.bytes)
            assert index in movers, f"{where}: ERROR_INSTRUCTION {index}, and not one of {movers}"
            system.spoiled = None
        if tried % CASE["right_every"] == 0:
            await system.run_right(program)
    await system.run_right(program)
    LOG.info("pauses %d %%: %d launches with an error, %d cycles", percent, 2 * len(bursts), system.rules.cycles)




# The moments of a reset, by what is in flight (Rules.state).
MOMENTS = ("half_read", "read", "half_written", "address_without_data", "data_without_address", "unanswered", "waiting")


@cocotb.test()
@cocotb.parametrize(moment=MOMENTS)
async def reset_in_burst(dut, moment):
    """A reset in the middle of a burst leaves nothing: the port is quiet at once, and the next launch is right."""
    program = PROGRAMS["peer"]
    system = await begin(dut)
    rng = random.Random(f"{SEED} {moment}")
    reached = 0
    for _ in range(CASE["resets"]):
        system.pause(rng.random(), rng.choice((20, 50, 80)))
        system.place(program)
        await system.start(program, program.launches[0])
        wait = rng.randrange(MOST_WAIT)
        for _ in range(MOST_CYCLES):
            await RisingEdge(dut.clk)
            if system.rules.state()[moment]:
                wait -= 1
                if wait < 0:
                    break
            if int(dut.interrupt.value):
                break
        reached += system.rules.state()[moment]
        await system.reset(rng.randint(1, 4))
        for channel in ("ar", "aw", "w"):
            assert system.rules.signal(f"{channel}valid") == 0
        assert await system.read("STATUS") == 0
        await system.run_right(program)
    assert reached >= CASE["resets"] // 4, f"only {reached} of {CASE['resets']} resets came at the moment {moment}"
    LOG.info("%s: %d of %d resets at this moment, %d cycles", moment, reached, CASE["resets"], system.rules.cycles)


@cocotb.test()
@cocotb.parametrize(percent=CASE["error_pauses"])
async def registers(dut, percent):
    """Every register under random pauses of the register port: reset values, writes of one to four bytes, and SLVERR outside of the map."""
    system = await begin(dut)
    rng = random.Random(SEED * 3 + percent)
    master = system.registers
    if percent:
        for channel in (master.write_if.aw_channel, master.write_if.w_channel, master.write_if.b_channel, master.read_if.ar_channel, master.read_if.r_channel):
            channel.set_pause_generator(pauses(random.Random(rng.random()), percent))
    for name, reset in CASE["reset_values"].items():
        assert await system.read(name) == reset, name
    values = dict(CASE["writable"])
    for name in values:
        values[name] = 0
    for _ in range(CASE["register_writes"]):
        name = rng.choice(list(values))
        first = rng.randrange(4)
        data = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4 - first)))
        # The master's AWADDR is that of the first byte. Only that of a whole register is in the map: other addresses have no effect.
        done = await master.write(REGISTERS[name] + first, data)
        assert done.resp == (AxiResp.SLVERR if first else AxiResp.OKAY), f"{name} from byte {first}: {done.resp!r}"
        if not first:
            old = bytearray(values[name].to_bytes(4, "little"))
            old[:len(data)] = data
            values[name] = int.from_bytes(old, "little") & CASE["writable"][name]
        asked = rng.choice(list(values))
        assert await system.read(asked) == values[asked], asked
    known = set(REGISTERS.values())
    for offset in rng.sample([offset for offset in range(0, CASE["window_bytes"], 4) if offset not in known], 20):
        assert (await master.read(offset, 4)).resp == AxiResp.SLVERR, f"read of {offset:#x}"
        assert (await master.write(offset, b"\xff\xff\xff\xff")).resp == AxiResp.SLVERR, f"write of {offset:#x}"
    for name, value in values.items():
        assert await system.read(name) == value, name
