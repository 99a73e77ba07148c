#!/usr/bin/env python3
"""Commands on boards over bad networks and with failing ends: `dovetail queue`, `serve` and `run --on` through a proxy that delays, stalls, cuts
and resets connections; kill -9 of each end in each phase; peers with other certificates and protocols.

usage: run.py --cli DOVETAIL [--case NAME]... [--rounds N]

Every case ends with the right cause, and then no process, folder or descriptor is left. `./dev network` runs all cases.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODEL = SOURCE / "examples/digits/digits_int8.onnx"
LIMIT_S = 90
ENDLESS = ["run", str(MODEL), "--target", "cpu", "--cpu", "interpreter", "--repeat", "1000000"]
SHORT = ["run", str(MODEL), "--target", "accel,cpu", "--cpu", "interpreter", "--hw", "1x16x16-ext", "--check"]


class Proxy:
    """Passes connections on to a port of this machine. `mode`: what it does to their bytes."""

    def __init__(self, port, mode="pass", draw=None):
        self.port_of_queue, self.mode, self.draw = port, mode, draw or random.Random(1)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs, self.recorded = [], []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                here, _ = self.listener.accept()
                there = socket.create_connection(("127.0.0.1", self.port_of_queue))
            except OSError:
                return
            for each in (here, there):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            record = bytearray()
            self.pairs.append((here, there))
            self.recorded.append(record)
            left = self.draw.randrange(2000, 60000)
            for source, sink, keeps in ((here, there, record), (there, here, None)):
                threading.Thread(target=self.pump, args=(source, sink, keeps, left), daemon=True).start()

    def pump(self, source, sink, record, left):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if record is not None:
                    record += data
                if self.mode == "delay":
                    time.sleep(0.2)
                while self.mode == "stall":
                    time.sleep(0.05)
                if self.mode == "bytes":
                    for byte in data:
                        sink.sendall(bytes([byte]))
                    continue
                if self.mode in ("truncate", "reset"):
                    left -= len(data)
                    if left < 0:
                        sink.sendall(data[:len(data) // 2])
                        self.cut(source, sink, self.mode == "reset")
                        return
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    @staticmethod
    def cut(*sockets_and_reset):
        *sockets, resets = sockets_and_reset
        for each in sockets:
            with contextlib.suppress(OSError):
                if resets:  # closing sends RST
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def cut_all(self):
        for here, there in self.pairs:
            self.cut(here, there, True)
        self.pairs = []


class Process:
    def __init__(self, command, log):
        self.log = pathlib.Path(log)
        self.started = subprocess.Popen([str(word) for word in command], stdout=self.log.open("wb"), stderr=subprocess.STDOUT)
        self.pid = self.started.pid

    def output(self):
        return self.log.read_text(errors="replace")

    def says(self, part, limit=LIMIT_S):
        until = time.monotonic() + limit
        while part not in self.output():
            if time.monotonic() > until:
                raise AssertionError(f"{part!r} is not in:\n{self.output()}")
            time.sleep(0.01)

    def wait(self, limit=LIMIT_S):
        return self.started.wait(limit)

    def kill(self, number=signal.SIGKILL):
        self.started.send_signal(number)
        return self.wait()


class Farm:
    """A queue and boards on the loopback, with certificates."""

    def __init__(self, cli, folder):
        self.cli, self.folder = cli, pathlib.Path(folder)
        self.certificates = self.folder / "farm"
        subprocess.run([cli, "certificates", self.certificates, "--queue", "127.0.0.1", "--board", "a", "--board", "b", "--client",
                        "alice:run-code,admin", "--client", "bob:measure"], check=True, capture_output=True)
        self.processes, self.boards, self.port = [], {}, 0
        self.queue = None
        self.start_queue()

    def start(self, command, name):
        process = Process(command, self.folder / f"{name}-{len(self.processes)}.log")
        self.processes.append(process)
        return process

    def start_queue(self):
        self.queue = self.start([self.cli, "queue", f"127.0.0.1:{self.port}", "--certificates", self.certificates / "queue", "--revoked",
                                 self.certificates / "revoked.txt"], "queue")
        self.queue.says("listening     ")
        self.port = int(self.queue.output().split("listening     ")[1].split()[0].split(":")[-1])

    def serve(self, name="a", port=None):
        self.boards[name] = self.start([self.cli, "serve", f"127.0.0.1:{port or self.port}", "--certificates", self.certificates / name, "--name",
                                        name, "--folder", self.folder / f"board-{name}"], name)
        self.boards[name].says("connected to ")
        return self.boards[name]

    def client(self, command, port=None, who="alice", label=""):
        return self.start([self.cli, *command, "--on", f"queue:127.0.0.1:{port or self.port}/{label}", "--certificates",
                           self.certificates / who], "client")

    def status(self):
        made = subprocess.run([self.cli, "queue", f"127.0.0.1:{self.port}", "--status", "--json", "--certificates", self.certificates / "alice"],
                              capture_output=True, text=True, check=True)
        return json.loads(made.stdout)

    def check_idle(self, name="a"):
        """Nothing is left of earlier commands."""
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            rows = [row for row in self.status()["boards"] if row["name"] == name and "lease" not in row]
            left = list((self.folder / f"board-{name}/jobs").iterdir())
            if rows and not left and not children(self.boards[name].pid):
                return
            time.sleep(0.05)
        raise AssertionError(f"board {name} is not idle: {self.status()}, {left}, {children(self.boards[name].pid)}\n{self.boards[name].output()}")

    def check_works(self):
        process = self.client(SHORT)
        code = process.wait()
        assert code == 0 and "all equal" in process.output(), process.output()

    def end(self):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.started.kill()
            process.started.wait()


def children(pid):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


# Each case gets a farm with a queue.


def slow_networks(farm, _):
    for mode in ("delay", "bytes"):
        proxy = Proxy(farm.port, mode)
        board = farm.serve("a", proxy.port)
        process = farm.client(SHORT, proxy.port)
        assert process.wait() == 0 and "all equal" in process.output(), f"{mode}: {process.output()}"
        farm.check_idle()
        board.kill(signal.SIGTERM)


def cut_connections(farm, rounds):
    """Whatever is cut, and where: the command is right, or the client names a cause; and the next command is right."""
    draw = random.Random(7)
    farm.serve("a")
    for mode in ("truncate", "reset"):
        for _ in range(rounds):
            proxy = Proxy(farm.port, mode, draw)
            process = farm.client(SHORT, proxy.port)
            code = process.wait()
            assert (code == 0 and "all equal" in process.output()) or (code in (1, 2) and "error" in process.output()), process.output()
            farm.check_idle()
    farm.check_works()


def stalls(farm, _):
    """A connection that passes nothing on: both ends notice by the heartbeats."""
    farm.serve("a")
    proxy = Proxy(farm.port)
    process = farm.client(ENDLESS, proxy.port)
    process.says("board         a")
    proxy.mode = "stall"
    assert process.wait() == 1, process.output()
    assert "silent" in process.output() or "takes too long" in process.output(), process.output()  # a lease may just have begun
    farm.check_idle()
    farm.check_works()


def lost_board_connection(farm, _):
    proxy = Proxy(farm.port)
    farm.serve("a", proxy.port)
    process = farm.client(ENDLESS)
    process.says("board         a")
    proxy.cut_all()
    assert process.wait() == 1 and "board_lost" in process.output(), process.output()
    farm.check_idle()
    farm.check_works()


def killed_ends(farm, rounds):
    """kill -9 of client, board and queue, at times from the connection to the end of the command."""
    draw = random.Random(11)
    farm.serve("a")
    for which in ("client", "board", "queue"):
        for _ in range(rounds):
            process = farm.client(ENDLESS)
            if draw.random() < 0.5:
                process.says("board         a")
            time.sleep(draw.uniform(0, 0.3))
            if which == "client":
                process.kill()
            elif which == "board":
                farm.boards["a"].kill()
                assert not children(farm.boards["a"].pid)
                farm.serve("a")
                if process.started.poll() is None:
                    process.kill(signal.SIGINT)  # it waits for the board that is there again, or has failed
            else:
                farm.queue.kill()
                assert process.wait() == 1, process.output()
                farm.start_queue()
                farm.boards["a"].says("connected to ")
            farm.check_idle()
    farm.check_works()


def interrupted_uploads(farm, _):
    """What a board has received stays, and the next client sends the rest."""
    large = farm.folder / "large.npy"
    large.write_bytes(os.urandom(60 << 20))
    farm.serve("a")
    command = ["run", str(MODEL), "--target", "cpu", "--cpu", "interpreter", "--input", f"image={large}"]
    process = farm.client(command)
    store = farm.folder / "board-a/store"
    until = time.monotonic() + LIMIT_S
    while not any(path.stat().st_size > 1 << 20 for path in store.glob("*/partial/*") if path.exists()):
        assert time.monotonic() < until and process.started.poll() is None, process.output()
        time.sleep(0.001)
    process.kill()
    farm.check_idle()
    before = sum(path.stat().st_size for path in store.glob("*/partial/*"))
    assert before > 1 << 20
    proxy = Proxy(farm.port)
    process = farm.client(command, proxy.port)
    assert process.wait() == 2, process.output()  # an error: the file has no array
    sent = sum(len(record) for record in proxy.recorded)
    assert sent < (60 << 20) - before / 2, (sent, before)
    farm.check_idle()


def foreign_peers(farm, _):
    """Refused in the handshake: no certificate, that of another farm, of an expired one, TLS 1.2; and replayed bytes."""
    farm.serve("a")
    other = farm.folder / "other"
    subprocess.run([farm.cli, "certificates", other, "--queue", "127.0.0.1", "--client", "alice:run-code"], check=True, capture_output=True)

    def dial(certificate=None, version=ssl.TLSVersion.TLSv1_3):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(farm.certificates / "queue/authority.pem")
        context.minimum_version = context.maximum_version = version
        if certificate:
            context.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
        with socket.create_connection(("127.0.0.1", farm.port), timeout=10) as raw, context.wrap_socket(raw) as tls:
            tls.settimeout(10)
            return tls.recv(100)

    assert len(dial(farm.certificates / "alice")) > 4  # the queue's first message
    for certificate, version in ((None, ssl.TLSVersion.TLSv1_3), (other / "alice", ssl.TLSVersion.TLSv1_3),
                                 (farm.certificates / "alice", ssl.TLSVersion.TLSv1_2)):
        try:
            answer = dial(certificate, version)
        except (ssl.SSLError, ConnectionError):
            continue
        assert answer == b"", answer
    process = farm.start([farm.cli, *SHORT, "--on", f"queue:127.0.0.1:{farm.port}/", "--certificates", other / "alice"], "client")
    assert process.wait() in (1, 2) and "board         a" not in process.output(), process.output()

    proxy = Proxy(farm.port)
    assert farm.client(SHORT, proxy.port).wait() == 0
    before = len(farm.status()["orders"]), farm.queue.output().count("lease ")
    for record in list(proxy.recorded):
        # The queue may end the connection at any byte.
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", farm.port), timeout=10) as raw:
            raw.sendall(bytes(record))
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(65536):
                pass
    time.sleep(0.5)
    assert (len(farm.status()["orders"]), farm.queue.output().count("lease ")) == before
    farm.check_works()


def wrong_messages(farm, _):
    """A verified peer that sends anything else than the protocol: its connection ends, and nothing else."""
    farm.serve("a")
    draw = random.Random(3)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(farm.certificates / "queue/authority.pem")
    context.load_cert_chain(farm.certificates / "bob/certificate.pem", farm.certificates / "bob/key.pem")
    hello = bytes([0x0A, 2, 0x08, 1])

    def frame(data):
        return struct.pack("<I", len(data)) + data

    sent = [b"GET / HTTP/1.1\r\n\r\n", struct.pack("<I", 0xFFFFFFFF), frame(b""), frame(hello) + struct.pack("<I", 3 << 20), frame(hello)[:-1],
            frame(hello) + frame(bytes([0x12, 0])), *(frame(hello) + frame(draw.randbytes(draw.randrange(1, 400))) for _ in range(60)),
            *(draw.randbytes(draw.randrange(1, 4000)) for _ in range(60))]
    for data in sent:
        with contextlib.suppress(OSError), \
                socket.create_connection(("127.0.0.1", farm.port), timeout=10) as raw, context.wrap_socket(raw) as tls:
            tls.settimeout(2)
            tls.sendall(data)
            tls.shutdown(socket.SHUT_WR)
            while tls.recv(65536):
                pass
    farm.check_works()


def roles(farm, _):
    """A client sees and ends its own work alone, an administrator all; a client without run-code runs no machine code."""
    farm.serve("a")

    def ask(who, *options):
        made = subprocess.run([farm.cli, "queue", f"127.0.0.1:{farm.port}", *options, "--certificates", farm.certificates / who],
                              capture_output=True, text=True, check=False)
        return made.returncode, made.stdout + made.stderr

    process = farm.client(ENDLESS)
    process.says("board         a")
    assert "alice" in ask("alice", "--status")[1] and "digits" in ask("alice", "--status")[1]
    code, text = ask("bob", "--status")
    assert code == 0 and "busy" in text and "alice" not in text and "digits" not in text, text
    code, text = ask("bob", "--end", "1")
    assert code == 2 and "no role admin" in text and process.started.poll() is None, text
    assert ask("alice", "--end", "99")[0] == 2
    assert ask("alice", "--end", "1")[0] == 0
    assert process.wait() == 1 and "canceled" in process.output(), process.output()
    own = farm.client(ENDLESS, who="bob")
    own.says("board         a")
    assert ask("bob", "--end", "2")[0] == 0
    assert own.wait() == 1
    refused = farm.client(["run", str(MODEL), "--target", "cpu"], who="bob")
    assert refused.wait() in (1, 2) and "run-code" in refused.output(), refused.output()
    farm.check_idle()


def many_connections(farm, rounds):
    """Connections that say nothing do not keep others out for long, and leave no descriptor."""
    farm.serve("a")
    farm.check_works()
    farm.check_idle()
    before = descriptors(farm.queue), descriptors(farm.boards["a"])
    silent = []
    for _ in range(200):
        with contextlib.suppress(OSError):
            silent.append(socket.create_connection(("127.0.0.1", farm.port), timeout=1))
    until = time.monotonic() + LIMIT_S
    while descriptors(farm.queue) > before[0] + 2:
        assert time.monotonic() < until, "the connections stay"
        time.sleep(0.2)
    for each in silent:
        each.close()
    for _ in range(rounds):
        farm.check_works()
    farm.check_idle()
    assert descriptors(farm.queue) <= before[0] and descriptors(farm.boards["a"]) <= before[1]


def many_orders(farm, rounds):
    """Orders of one board are done in the order of their priorities."""
    farm.serve("a")
    holder = farm.client(ENDLESS)
    holder.says("board         a")
    count = 4 * rounds
    priorities = [random.Random(5).randrange(4) for _ in range(count)]
    clients = []
    for number, priority in enumerate(priorities):
        clients.append(farm.client([*SHORT, "--priority", str(priority)]))
        clients[-1].says("waiting ")
        assert len(farm.status()["orders"]) == number + 1
    holder.kill()
    ends = {}
    while len(ends) < count:
        for number, process in enumerate(clients):
            if number not in ends and process.started.poll() is not None:
                assert process.started.returncode == 0, process.output()
                ends[number] = None
        time.sleep(0.005)
    order = [number for number in ends]
    assert [priorities[number] for number in order] == sorted(priorities, reverse=True), (priorities, order)


CASES = [slow_networks, cut_connections, stalls, lost_board_connection, killed_ends, interrupted_uploads, foreign_peers, wrong_messages,
         roles, many_connections, many_orders]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", required=True)
    parser.add_argument("--case", action="append", choices=[case.__name__ for case in CASES])
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    failed = 0
    for case in CASES:
        if arguments.case and case.__name__ not in arguments.case:
            continue
        folder = tempfile.mkdtemp(prefix="dovetail-network-")
        farm = Farm(os.path.abspath(arguments.cli), folder)
        begun = time.monotonic()
        try:
            case(farm, arguments.rounds)
            print(f"{case.__name__}: as expected, {time.monotonic() - begun:.0f} s", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"{case.__name__}: {error}\n{farm.queue.output()}", flush=True)
        farm.end()
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
