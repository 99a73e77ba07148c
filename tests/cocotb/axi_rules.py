"""The rules of AXI4 (Arm IHI 0022) that a manager must follow, checked in every cycle at the ports of axi_peer_top.

cocotbext-axi itself checks the 4 KiB boundary of every burst, its size, and WLAST. These checks are independent of both cocotbext-axi and hw/sva.
"""

import collections

import cocotb
from cocotb.triggers import RisingEdge

PAGE_BYTES = 4096
INCR = 1
# What a channel must hold while its VALID waits for READY.
PAYLOAD = {"ar": ("addr", "len", "size", "burst", "id"), "aw": ("addr", "len", "size", "burst", "id"), "w": ("data", "strb", "last")}


class Rules:
    """Raises AssertionError in the cycle in which a rule is broken. `events`: the handshakes of AR, R, AW, W and B so far, by channel."""

    def __init__(self, dut):
        self.dut = dut
        self.bus_bytes = len(dut.mem_wstrb)
        self.events = collections.Counter()
        self.bursts = {"ar": [], "aw": []}  # (address, beats) of each accepted burst; a test may empty the lists
        self.cycles = 0
        self.forget()
        cocotb.start_soon(self.watch())

    def forget(self):
        """All bursts are void: reset."""
        self.offered = {}  # channel: its payload in the last cycle, where it was not accepted
        self.reads = collections.deque()  # of each accepted burst, [beats that it still expects, its length]
        self.lengths = collections.deque()  # beats of the accepted bursts whose data is not complete
        self.data = collections.deque()  # beats of the complete bursts of W whose address is not accepted
        self.beats = 0  # of the burst on W
        self.unanswered = 0  # bursts whose address and data are complete

    def signal(self, name):
        return int(getattr(self.dut, f"mem_{name}").value)

    def is_quiet(self):
        return not (self.reads or self.lengths or self.data or self.beats or self.unanswered or self.offered)

    def state(self):
        """What is in flight, for reports and for choosing the moment of a reset."""
        return {"read": bool(self.reads), "half_read": bool(self.reads) and self.reads[0][0] < self.reads[0][1], "half_written": self.beats != 0,
                "address_without_data": bool(self.lengths), "data_without_address": bool(self.data), "unanswered": self.unanswered != 0,
                "waiting": bool(self.offered)}

    async def watch(self):
        while True:
            await RisingEdge(self.dut.clk)
            self.cycles += 1
            if not int(self.dut.rst_n.value):
                for channel in PAYLOAD:
                    assert self.signal(f"{channel}valid") == 0, f"{channel.upper()}VALID is high in reset (A3.1.2)"
                self.forget()
                continue
            for channel, fields in PAYLOAD.items():
                self.check_stable(channel, fields)
            for channel in ("ar", "aw"):
                if self.signal(f"{channel}valid"):
                    self.check_form(channel)
            self.count()

    def check_stable(self, channel, fields):
        valid, ready = self.signal(f"{channel}valid"), self.signal(f"{channel}ready")
        payload = tuple(self.signal(channel + field) for field in fields) if valid else None
        if channel in self.offered:
            assert payload == self.offered[channel], f"{channel.upper()} changed before it was accepted (A3.2.1)"
        self.offered.pop(channel, None)
        if valid and not ready:
            self.offered[channel] = payload

    def check_form(self, channel):
        address, beats = self.signal(f"{channel}addr"), self.signal(f"{channel}len") + 1
        assert self.signal(f"{channel}burst") == INCR, f"{channel.upper()}BURST is not INCR"
        assert 1 << self.signal(f"{channel}size") == self.bus_bytes, f"{channel.upper()}SIZE is not the width of the port"
        assert address % self.bus_bytes == 0, f"{channel.upper()}ADDR is not aligned"
        assert address % PAGE_BYTES + beats * self.bus_bytes <= PAGE_BYTES, f"a burst of {channel.upper()} crosses 4 KiB (A3.4.1)"

    def count(self):
        taken = {name: self.signal(f"{name}valid") and self.signal(f"{name}ready") for name in ("ar", "r", "aw", "w", "b")}
        for name, happened in taken.items():
            self.events[name] += 1 if happened else 0
        if taken["r"]:
            assert self.reads, "a beat of R without a burst"
            self.reads[0][0] -= 1
            assert self.signal("rlast") == (self.reads[0][0] == 0), "RLAST is not at the end of the burst"
            if self.reads[0][0] == 0:
                self.reads.popleft()
        for channel, bursts in self.bursts.items():
            if taken[channel]:
                bursts.append((self.signal(f"{channel}addr"), self.signal(f"{channel}len") + 1))
        if taken["ar"]:
            beats = self.bursts["ar"][-1][1]
            self.reads.append([beats, beats])
        if taken["aw"]:
            self.lengths.append(self.bursts["aw"][-1][1])
        if taken["w"]:
            self.beats += 1
            assert self.signal("wstrb") != 0, "a beat of W writes nothing"
            if self.signal("wlast"):
                self.data.append(self.beats)
                self.beats = 0
        if taken["b"]:
            assert self.unanswered, "a response without a burst"
            self.unanswered -= 1
        while self.lengths and self.data:
            assert self.lengths[0] == self.data[0], f"WLAST after {self.data[0]} beats of a burst of {self.lengths[0]} (A3.4.1)"
            self.lengths.popleft()
            self.data.popleft()
            self.unanswered += 1
        if self.lengths and self.beats > self.lengths[0]:
            raise AssertionError("more beats of W than AWLEN states (A3.4.1)")
