#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times NCCL and torch's symmetric memory between two GPUs. Run with two processes:

    python3 -m torch.distributed.run --standalone --nproc-per-node 2 peers_torch.py --json out.json

A time is the maximum over the ranks of the rank's median. Forms with "stream" are timed by CUDA
events around operations that were all submitted before the first began; those with "host" by the
host's clock, from the call to the end of the copy. The file is written anew after every cell.
"""

import os

# NVLink multicast takes switch resources that all tenants of a host share, and rendezvous() sets it
# up unasked. The libraries read these when they are loaded.
REQUIRED = {
    "NCCL_NVLS_ENABLE": "0",
    "NVSHMEM_DISABLE_NVLS": "1",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "TORCH_SYMMMEM": "CUDA",
}
# Both ranks are on this host, which may have no other network.
os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
for _name, _value in REQUIRED.items():
    if os.environ.setdefault(_name, _value) != _value:
        raise SystemExit(f"{_name} is {os.environ[_name]}; it has to be {_value} or unset")

import argparse  # noqa: E402
import datetime  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed._symmetric_memory as symm_mem  # noqa: E402

import to_json  # noqa: E402
from nccl_direct import Nccl  # noqa: E402

LAUNCH = "python3 -m torch.distributed.run --standalone --nproc-per-node 2"
WAIT_S = 30
WAIT_MS = WAIT_S * 1000
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
LEAST_SAMPLES, MOST_SAMPLES = 7, 4000
# What the device sleeps for each operation of a sample, so that the host is done submitting before
# the first begins: 40 us at 2 GHz.
HEAD_START_CYCLES = 80000


def batch_of(size):
    """Operations in one sample: a few milliseconds, and fewer than a stream's queue holds."""
    return 100 if size < MIB else max(2, min(32, 512 * MIB // size))


class Bench:
    def __init__(self, options):
        self.options = options
        self.rank = dist.get_rank()
        self.peer = 1 - self.rank
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.words = torch.empty(GIB // 8, dtype=torch.int64, device=self.device)
        self.tiny = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.begin = torch.cuda.Event(enable_timing=True)
        self.end = torch.cuda.Event(enable_timing=True)
        self.seed = 1
        self.records = []
        self.shared = None

    def maximum(self, value):
        tensor = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return tensor.item()

    def broadcast(self, words):
        """Rank 0's list of integers."""
        tensor = torch.tensor(words, dtype=torch.int64, device=self.device)
        dist.broadcast(tensor, 0)
        return tensor.tolist()

    def together(self):
        """Returns when both ranks have come, with nothing left to do on their devices."""
        self.maximum(0.0)

    def wait(self):
        """Waits for what the stream was given; its bound is why it is no synchronize()."""
        self.end.record()
        deadline = time.monotonic() + WAIT_S
        while not self.end.query():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the device is not done after {WAIT_S} s")

    def stream_time(self, count, action):
        """Microseconds of an action, the mean of count of them; the ranks start together."""
        torch.cuda._sleep(HEAD_START_CYCLES * count)
        dist.all_reduce(self.tiny)
        self.begin.record()
        for _ in range(count):
            action()
        self.wait()
        return self.begin.elapsed_time(self.end) * 1e3 / count

    def host_time(self, action):
        begin = time.perf_counter()
        action()
        self.wait()
        return (time.perf_counter() - begin) * 1e6

    def fill(self, tensor, seed):
        """Random words, none of them negative; the same on both GPUs for one seed."""
        tensor.random_(generator=torch.Generator(device=self.device).manual_seed(seed))

    def check(self, op, source, target, action):
        """Runs an action with fresh random data; an action moves rank 0's to rank 1 or back.

        source and target are this rank's, None where the other rank has them.
        """
        self.seed += 1
        if source is not None:
            self.fill(source, self.seed)
        if target is not None:
            target.fill_(-1)
        self.together()
        action()
        self.wait()
        self.together()
        wrong = 0
        if target is not None:
            expected = torch.empty_like(target)
            self.fill(expected, self.seed)
            wrong = int((target != expected).sum())
        if self.maximum(wrong) != 0:
            raise RuntimeError(f"{op}: words that arrived are wrong")

    def sample(self, run):
        """Samples for the time that the options give; rank 0 decides when it is over."""
        for _ in range(2):
            self.together()
            run()
        samples = []
        begin = time.monotonic()
        while True:
            self.together()
            samples.append(run())
            short = time.monotonic() - begin < self.options.seconds
            more = len(samples) < LEAST_SAMPLES or (short and len(samples) < MOST_SAMPLES)
            if self.maximum(more if self.rank == 0 else 0) == 0:
                return samples

    def cell(self, op, form, engine, size, run):
        samples = self.sample(run)
        time_us = self.maximum(statistics.median(samples))
        dtype = "int64" if size else ""
        self.records.append(
            to_json.record(op, form, engine, dtype, size, time_us, len(samples), self.shared))
        if self.rank == 0:
            print(f"{engine:24} {op:12} {form:34} {size:12} B {time_us:11.3f} us", flush=True)
            if self.options.json:
                to_json.write(self.options.json, self.records)


def measure_send_receive(bench, engine, name, send, receive):
    """send and receive take this rank's tensor, and leave the rest to the current stream."""
    for size in (8, 64 * KIB, MIB, 64 * MIB, GIB):
        tensor = bench.words[: size // 8]
        source, target = (tensor, None) if bench.rank == 0 else (None, tensor)

        def one_way(tensor=tensor):
            (send if bench.rank == 0 else receive)(tensor)

        def there_and_back(tensor=tensor):
            one_way(tensor)
            (receive if bench.rank == 0 else send)(tensor)

        count = batch_of(size)
        bench.check(name, source, target, one_way)
        bench.cell("send_recv", f"{name}, stream", engine, size,
                   lambda: bench.stream_time(count, one_way))
        if size <= 64 * KIB:
            bench.cell("send_recv", f"{name}, there and back / 2", engine, size,
                       lambda: bench.stream_time(count, there_and_back) / 2)
        bench.check(name, source, target, one_way)


def measure_nccl(bench, nccl):
    stream = torch.cuda.current_stream().cuda_stream
    engine = "NCCL " + nccl.version()
    measure_send_receive(bench, engine, "ncclSend",
                         lambda tensor: nccl.send(tensor, bench.peer, stream),
                         lambda tensor: nccl.receive(tensor, bench.peer, stream))
    measure_send_receive(bench, engine, "torch dist.send",
                         lambda tensor: dist.send(tensor, bench.peer),
                         lambda tensor: dist.recv(tensor, bench.peer))


def measure_symmetric_copies(bench, symmetric, engine):
    at_peer = symmetric.get_buffer(bench.peer, (GIB // 8,), torch.int64)
    own = symmetric.get_buffer(bench.rank, (GIB // 8,), torch.int64)
    is_first = bench.rank == 0
    for size in (MIB, 64 * MIB, GIB):
        here, there, theirs = (tensor[: size // 8] for tensor in (bench.words, at_peer, own))
        # Rank 0 copies; rank 1 has the symmetric operand.
        copies = {
            "put": (lambda: there.copy_(here), (here, None) if is_first else (None, theirs)),
            "get": (lambda: here.copy_(there), (None, here) if is_first else (theirs, None)),
        }
        for op, (copy, (source, target)) in copies.items():
            def run(copy=copy):
                if is_first:
                    copy()

            count = batch_of(size)
            bench.check(op, source, target, run)
            bench.cell(op, "copy_, host", engine, size, lambda: bench.host_time(run))
            bench.cell(op, f"copy_ x {count}, stream", engine, size,
                       lambda: bench.stream_time(count, run))
            bench.check(op, source, target, run)


def measure_symmetric_signals(bench, symmetric, engine):
    at_peer = symmetric.get_buffer(bench.peer, (8 * KIB,), torch.int64)
    own = symmetric.get_buffer(bench.rank, (8 * KIB,), torch.int64)
    is_first = bench.rank == 0

    def send(words):
        if words:
            at_peer[:words].copy_(bench.words[:words])
        symmetric.put_signal(bench.peer, channel=1, timeout_ms=WAIT_MS)

    def receive():
        symmetric.wait_signal(bench.peer, channel=1, timeout_ms=WAIT_MS)

    for words in (0, 1, 8 * KIB):
        def one_way(words=words):
            send(words) if is_first else receive()

        def there_and_back(words=words):
            send(words) if is_first else receive()
            receive() if is_first else send(words)

        operands = (bench.words[:words], None) if is_first else (None, own[:words])
        op = "put_signal" if words else "signal"
        bench.check(op, *operands, one_way)
        bench.cell(op, "put_signal / wait_signal, stream", engine, 8 * words,
                   lambda: bench.stream_time(100, there_and_back) / 2)
        bench.check(op, *operands, one_way)
    bench.cell("barrier", "handle.barrier(), stream", engine, 0, lambda: bench.stream_time(
        200, lambda: symmetric.barrier(channel=0, timeout_ms=WAIT_MS)))


def measure_symmetric(bench):
    engine = "torch symmetric memory"
    buffer = symm_mem.empty(GIB // 8, dtype=torch.int64, device=bench.device)
    symmetric = symm_mem.rendezvous(buffer, dist.group.WORLD.group_name)
    if symmetric.multicast_ptr != 0:
        raise RuntimeError("torch set up NVLink multicast in spite of its switch")
    measure_symmetric_copies(bench, symmetric, engine)
    measure_symmetric_signals(bench, symmetric, engine)


def run(options):
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local),
                            timeout=datetime.timedelta(seconds=WAIT_S))
    if dist.get_world_size() != 2:
        raise SystemExit("peers_torch.py: needs two processes")
    bench = Bench(options)
    nccl = Nccl(bench.rank, bench.broadcast)
    runtime = f"CUDA {torch.version.cuda}"
    versions = {"torch": torch.__version__, "NCCL": nccl.version(), "runtime": runtime,
                "driver": to_json.kernel_module_version() or "unknown"}
    command = " ".join([LAUNCH, *sys.argv])
    bench.shared = to_json.surroundings(torch.cuda.get_device_name(), torch.cuda.device_count(),
                                        versions, command)
    measure_nccl(bench, nccl)
    measure_symmetric(bench)
    nccl.close()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", default="", help="the file for the records")
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each cell")
    options = parser.parse_args()
    try:
        run(options)
    except Exception:
        # The other rank may never come to a collective again, which an orderly end would wait for.
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    main()
