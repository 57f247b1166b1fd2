#!/usr/bin/env python3
"""Runs the cases of `device_cases` (the Rust example beside this file) on a GPU and compares what memory holds afterwards
with what Lockstep's reference interpreter left there.

    python3 device_cases.py CASES OUT [--workers 8] [--limit 180] [--timeout 10] [--only TEXT] [--dry]

CASES is the folder that the example wrote, its files plain or with `.gz` behind them; OUT gets `report.json` and the PTX of
what differs. Needs Python 3.10, numpy and the driver (`libcuda.so.1`), and `nvcc` for the cases that call the device
library; these are left out without it. `--dry` needs no GPU: it reads everything, and a stand-in for the device leaves what
the interpreter left.

Each case runs in one of several processes. A fault ends its process, whose place another one takes; a launch that does not
end is killed with its process. Where the driver's compiler takes its process along, the case is run again without
optimisation, and its status says so.

What is compared: integers and exact operations bit by bit; a NaN equals any NaN (counted apart); where the text has
`.approx` or calls the device library, floats agree within a tolerance: that of the case, or 2^-18 relative and 2^-20 absolute
for one operation, 1e-3 relative and 1e-4 absolute for programs. The flag `apart` says that a run asked for the active lanes
of a warp that was divided: which lanes those are PTX leaves open.
"""

import argparse
import collections
import ctypes
import gzip
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

GUARD = 4096
GUARD_BYTE = 0xA5
ARENA = 32 << 20
STACK = 8 << 10


def open_file(folder, name):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        return open(path, "rb")
    return gzip.open(path + ".gz", "rb")


def read_cases(folder):
    with open_file(folder, "cases.jsonl") as file:
        return [json.loads(line) for line in file]


# --------------------------------------------------------------------------------------------------- the driver


class DriverError(Exception):
    def __init__(self, code, what, log=""):
        super().__init__(f"{what}: {code}")
        self.code, self.what, self.log = code, what, log


def load_driver():
    places = ["libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1", "libcuda.so"]
    for place in places:
        try:
            return ctypes.CDLL(place)
        except OSError as failure:
            last = failure
    raise last


class Driver:
    """The CUDA driver API through ctypes."""

    def __init__(self):
        self.lib = load_driver()
        self.check("cuInit", ctypes.c_uint(0))
        device = ctypes.c_int()
        self.check("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        self.device = device
        context = ctypes.c_void_p()
        self.check("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.check("cuCtxSetCurrent", context)

    def check(self, name, *arguments):
        code = getattr(self.lib, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorName(code, ctypes.byref(text))
            known = text.value.decode() if text.value else str(code)
            raise DriverError(known, name)

    def name(self):
        text = ctypes.create_string_buffer(256)
        self.check("cuDeviceGetName", text, ctypes.c_int(256), self.device)
        return text.value.decode()

    def attribute(self, number):
        value = ctypes.c_int()
        self.check("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(number), self.device)
        return value.value

    def limit_stack(self, size):
        self.check("cuCtxSetLimit", ctypes.c_int(0), ctypes.c_size_t(size))

    def allocate(self, size):
        place = ctypes.c_uint64()
        self.check("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(size))
        return place.value

    def write(self, place, data):
        data = np.ascontiguousarray(np.frombuffer(data, np.uint8))
        pointer = data.ctypes.data_as(ctypes.c_void_p)
        self.check("cuMemcpyHtoD_v2", ctypes.c_uint64(place), pointer, ctypes.c_size_t(data.nbytes))

    def read(self, place, size):
        data = np.empty(size, np.uint8)
        pointer = data.ctypes.data_as(ctypes.c_void_p)
        self.check("cuMemcpyDtoH_v2", pointer, ctypes.c_uint64(place), ctypes.c_size_t(size))
        return data

    def options(self, level):
        size = 1 << 14
        info, error = ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)
        pairs = [
            (3, ctypes.cast(info, ctypes.c_void_p).value),
            (4, size),
            (5, ctypes.cast(error, ctypes.c_void_p).value),
            (6, size),
        ]
        if level is not None:
            pairs.append((7, level))
        names = (ctypes.c_int * len(pairs))(*[name for name, _ in pairs])
        values = (ctypes.c_void_p * len(pairs))(*[value for _, value in pairs])
        return len(pairs), names, values, error, info

    def load(self, ptx, level=None):
        count, names, values, error, _keep = self.options(level)
        module = ctypes.c_void_p()
        try:
            self.check(
                "cuModuleLoadDataEx",
                ctypes.byref(module),
                ctypes.c_char_p(ptx.encode() + b"\0"),
                ctypes.c_uint(count),
                names,
                values,
            )
        except DriverError as failure:
            failure.log = error.value.decode(errors="replace")
            raise
        return module

    def link(self, ptx, library, level=None):
        """A module of a text and a cubin that defines what it calls."""
        count, names, values, error, _keep = self.options(level)
        state = ctypes.c_void_p()
        self.check("cuLinkCreate_v2", ctypes.c_uint(count), names, values, ctypes.byref(state))
        try:
            for kind, data, name in [(1, ptx.encode() + b"\0", b"case"), (0, library, b"library")]:
                self.check(
                    "cuLinkAddData_v2",
                    state,
                    ctypes.c_int(kind),
                    ctypes.c_char_p(data),
                    ctypes.c_size_t(len(data)),
                    ctypes.c_char_p(name),
                    ctypes.c_uint(0),
                    None,
                    None,
                )
            image, size = ctypes.c_void_p(), ctypes.c_size_t()
            self.check("cuLinkComplete", state, ctypes.byref(image), ctypes.byref(size))
            module = ctypes.c_void_p()
            self.check("cuModuleLoadData", ctypes.byref(module), image)
            return module
        except DriverError as failure:
            failure.log = error.value.decode(errors="replace")
            raise
        finally:
            self.lib.cuLinkDestroy(state)

    def unload(self, module):
        self.check("cuModuleUnload", module)

    def function(self, module, name):
        function = ctypes.c_void_p()
        self.check("cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(name.encode()))
        return function

    def symbol(self, module, name):
        place, size = ctypes.c_uint64(), ctypes.c_size_t()
        self.check(
            "cuModuleGetGlobal_v2",
            ctypes.byref(place),
            ctypes.byref(size),
            module,
            ctypes.c_char_p(name.encode()),
        )
        return place.value, size.value

    def launch(self, function, grid, block, shared, parameters):
        buffers = [ctypes.create_string_buffer(data, max(len(data), 1)) for data in parameters]
        array = (ctypes.c_void_p * max(len(buffers), 1))(
            *[ctypes.cast(buffer, ctypes.c_void_p).value for buffer in buffers]
        )
        numbers = [ctypes.c_uint(number) for number in [*grid, *block, shared]]
        self.check("cuLaunchKernel", function, *numbers, None, array, None)

    def synchronize(self):
        self.check("cuCtxSynchronize")


# --------------------------------------------------------------------------------------------------- one case


def layout(case):
    """Offsets of the buffers in the arena, with room that nobody may touch before, between and behind them."""
    places, at = [], GUARD
    for buffer in case["buffers"]:
        places.append(at)
        size = buffer["before"][1]
        at = (at + size + GUARD + 255) // 256 * 256
    return places, at


class Runner:
    def __init__(self, folder, library, dry):
        with open_file(folder, "bytes.bin") as file:
            self.bytes = file.read()
        self.dry = dry
        self.loaded = lambda: None
        self.library = open(library, "rb").read() if library else None
        if not dry:
            self.driver = Driver()
            self.driver.limit_stack(STACK)
            self.arena = self.driver.allocate(ARENA)

    def content(self, place):
        return self.bytes[place[0] : place[0] + place[1]]

    def run(self, case, level=None):
        """The bytes of all buffers after the launch, and whether something wrote beside them."""
        places, size = layout(case)
        if size > ARENA:
            raise ValueError("larger than the arena")
        image = np.full(size, GUARD_BYTE, np.uint8)
        for buffer, place in zip(case["buffers"], places):
            data = self.content(buffer["before"])
            image[place : place + len(data)] = np.frombuffer(data, np.uint8)
        parameters = []
        base = 0x7F0000000000 if self.dry else self.arena
        for parameter in case["parameters"]:
            if "buffer" in parameter:
                address = base + places[parameter["buffer"]] + parameter["offset"]
                parameters.append(address.to_bytes(8, "little"))
            else:
                parameters.append(bytes.fromhex(parameter["bytes"]))
        if self.dry:
            return self.pretended(case)
        driver = self.driver
        if "library" in case["flags"]:
            module = driver.link(case["ptx"], self.library, level)
        else:
            module = driver.load(case["ptx"], level)
        driver.write(self.arena, image.tobytes())
        of_symbols = {}
        for symbol in case["symbols"]:
            try:
                place, length = driver.symbol(module, symbol["name"])
            except DriverError:
                # What nobody reads or writes is not there; what is there without a name can't be compared.
                if symbol["how"] == "memory":
                    of_symbols[symbol["buffer"]] = (0, 0)
                continue
            if symbol["how"] == "pointer":
                driver.write(place, (base + places[symbol["buffer"]]).to_bytes(8, "little"))
                continue
            if symbol["write"]:
                driver.write(place, self.content(case["buffers"][symbol["buffer"]]["before"])[:length])
            of_symbols[symbol["buffer"]] = (place, length)
        function = driver.function(module, case["entry"])
        self.loaded()
        driver.launch(function, case["grid"], case["block"], case["shared"], parameters)
        driver.synchronize()
        image = driver.read(self.arena, size)
        found, stray = [], False
        at = 0
        for number, (buffer, place) in enumerate(zip(case["buffers"], places)):
            stray = stray or bool((image[at:place] != GUARD_BYTE).any())
            length = buffer["before"][1]
            at = place + length
            if number in of_symbols:
                symbol, size_there = of_symbols[number]
                size_there = min(size_there, length)
                found.append(driver.read(symbol, size_there) if size_there else np.empty(0, np.uint8))
            else:
                found.append(image[place : place + length])
        stray = stray or bool((image[at:] != GUARD_BYTE).any())
        driver.unload(module)
        return found, stray

    def pretended(self, case):
        """Of a dry run: what the interpreter left; a few cases fail in the ways that a device has."""
        if case["name"] == os.environ.get("DEVICE_CASES_HANG"):
            time.sleep(3600)
        if case["name"] == os.environ.get("DEVICE_CASES_DIE"):
            os._exit(3)
        after = [np.frombuffer(self.content(buffer["after"]), np.uint8) for buffer in case["buffers"]]
        if case["name"] == os.environ.get("DEVICE_CASES_DIFFER"):
            after = [buffer.copy() for buffer in after]
            after[-1][:1] ^= 1
        return after, False


# --------------------------------------------------------------------------------------------------- comparison

SIZES = {1: 2, 2: 2, 3: 4, 4: 8}
NAMES = {0: "bytes", 1: "f16", 2: "bf16", 3: "f32", 4: "f64"}


def floats(data, kind):
    data = np.ascontiguousarray(data)
    if kind == 2:
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return data.view({1: np.float16, 3: np.float32, 4: np.float64}[kind]).astype(np.float64)


def compare(case, number, expected, found):
    """Differences of one buffer as rows, NaNs with other bits, and the worst relative error that was let pass."""
    # Of a symbol that the driver doesn't know, nothing.
    expected = expected[: len(found)]
    wrong = expected != found
    if not wrong.any():
        return [], 0, 0.0
    flags = case["flags"]
    tolerant = "approximate" in flags or "library" in flags
    single = case["source"] in ("operations", "unspecified results")
    usual = (2.0**-18, 2.0**-20) if single else (1e-3, 1e-4)
    relative, absolute = case.get("tolerance") or usual
    rows, nans, worst = [], 0, 0.0
    for start, length, kind in case["buffers"][number]["kinds"]:
        size = SIZES[kind]
        length = min(length, len(expected) - start) // size * size
        part = slice(start, start + length)
        if not wrong[part].any():
            continue
        a, b = floats(expected[part], kind), floats(found[part], kind)
        bad = wrong[part].reshape(-1, size).any(axis=1)
        both = np.isnan(a) & np.isnan(b)
        nans += int((bad & both).sum())
        bad &= ~both
        if tolerant:
            with np.errstate(all="ignore"):
                error = np.abs(a - b)
                near = error <= relative * np.maximum(np.abs(a), np.abs(b)) + absolute
                near &= np.isfinite(a) & np.isfinite(b)
                scaled = error[bad & near] / np.maximum(np.abs(a[bad & near]), absolute)
            if scaled.size:
                worst = max(worst, float(scaled.max()))
            bad &= ~near
        for index in np.nonzero(bad)[0]:
            at = start + int(index) * size
            rows.append(row(number, at, size, kind, expected, found, float(a[index]), float(b[index])))
        wrong[part] = False
    # Integers are shown in the widest unit that a lane's slot suggests: eight bytes where the buffer is made of them.
    size = 8 if single or case["source"] in ("atomics", "operations across lanes") else 4
    seen = set()
    for index in np.nonzero(wrong)[0]:
        at = int(index) // size * size
        if at not in seen:
            seen.add(at)
            rows.append(row(number, at, size, 0, expected, found, None, None))
    rows.sort(key=lambda one: one["offset"])
    return rows, nans, worst


def row(number, at, size, kind, expected, found, a, b):
    out = {
        "buffer": number,
        "offset": at,
        "index": at // size,
        "type": NAMES[kind],
        "expected": bytes(expected[at : at + size])[::-1].hex(),
        "found": bytes(found[at : at + size])[::-1].hex(),
    }
    if a is not None:
        out["expected_value"], out["found_value"] = repr(a), repr(b)
    return out


def inputs_of(runner, case, row):
    """Of one operation: the operands of the lane that differs."""
    if case["source"] not in ("operations", "unspecified results"):
        return None
    at = row["index"] * 8 if row["type"] == "bytes" else row["offset"]
    at = at // 8 * 8
    out = []
    for buffer in case["buffers"][1:]:
        data = runner.content(buffer["before"])
        if len(data) >= at + 8:
            out.append(data[at : at + 8][::-1].hex())
    return out


def judge(runner, case, level=None):
    found, stray = runner.run(case, level)
    rows, nans, worst = [], 0, 0.0
    missing = 0
    for number, (buffer, bytes_found) in enumerate(zip(case["buffers"], found)):
        missing += int(buffer["before"] != buffer["after"] and len(bytes_found) == 0)
        expected = np.frombuffer(runner.content(buffer["after"]), np.uint8)
        more, more_nans, error = compare(case, number, expected, bytes_found)
        rows += more
        nans += more_nans
        worst = max(worst, error)
    out = {"nans": nans, "worst": worst, "stray": stray, "count": len(rows), "missing": missing}
    shown = rows[:12]
    for one in shown:
        operands = inputs_of(runner, case, one)
        if operands:
            one["operands"] = operands
    out["differences"] = shown
    out["status"] = "stray write" if stray else "differ" if rows else "agree"
    if out["status"] == "agree" and worst > 0:
        out["status"] = "agree within tolerance"
    elif out["status"] == "agree" and nans:
        out["status"] = "agree but for NaN bits"
    return out


def worker(arguments):
    cases = read_cases(arguments.cases)
    runner = Runner(arguments.cases, arguments.library, arguments.dry)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        number, *level = line.split()
        case = cases[int(number)]
        level = int(level[0]) if level else None
        start = time.monotonic()
        fatal = False
        try:
            print(json.dumps({"loading": True}), flush=True)
            runner.loaded = lambda: print(json.dumps({"launching": True}), flush=True)
            out = judge(runner, case, level)
            if level is None and out["status"] in ("differ", "stray write") and not arguments.dry:
                # Undefined behaviour often shows as another result without optimisation.
                again = judge(runner, case, 0)
                out["unoptimised"] = again["status"]
                out["unoptimised_differences"] = again["differences"][:3]
        except DriverError as failure:
            loading = failure.what in ("cuModuleLoadDataEx", "cuLinkAddData_v2", "cuLinkComplete", "cuModuleLoadData")
            fatal = not loading or failure.code in (
                "CUDA_ERROR_ILLEGAL_ADDRESS",
                "CUDA_ERROR_LAUNCH_FAILED",
            )
            out = {
                "status": "refused" if not fatal else "fault",
                "error": f"{failure.what}: {failure.code}",
                "log": failure.log[:2000],
            }
        except Exception as failure:  # A broken case must not end the run.
            out = {"status": "runner error", "error": repr(failure)}
        out["seconds"] = round(time.monotonic() - start, 4)
        print(json.dumps(out), flush=True)
        if fatal:
            os._exit(1)


# --------------------------------------------------------------------------------------------------- the device library

C_TYPES = {"b32": "float", "b64": "double"}
# Prototypes are untyped; all operands but these are floats.
INTEGERS = {("ldexp", 1), ("ldexpf", 1)}


def build_library(cases, folder):
    """A cubin that defines what texts call in place of the device library; `None` without a compiler."""
    wanted = {}
    for case in cases:
        if "library" not in case["flags"]:
            continue
        for line in case["ptx"].splitlines():
            known = re.match(r"\.extern \.func (?:\(\.param \.(\w+) \w+\) )?lk_(\w+) \((.*)\);", line)
            if known:
                kinds = re.findall(r"\.param \.(\w+)", known.group(3))
                wanted[known.group(2)] = (known.group(1), kinds)
    if not wanted:
        return None, "nothing is called"
    nvcc = shutil.which("nvcc") or next(
        (path for path in ("/usr/local/cuda/bin/nvcc",) if os.path.exists(path)), None
    )
    if nvcc is None:
        return None, "no nvcc"
    text = ""
    for name, (result, kinds) in sorted(wanted.items()):
        parameters = ", ".join(f"{'int' if (name, n) in INTEGERS else C_TYPES[kind]} a{n}" for n, kind in enumerate(kinds))
        values = ", ".join(f"a{n}" for n in range(len(kinds)))
        text += f'extern "C" __device__ {C_TYPES[result]} lk_{name}({parameters}) {{ return {name}({values}); }}\n'
    source, cubin = os.path.join(folder, "library.cu"), os.path.join(folder, "library.cubin")
    with open(source, "w") as file:
        file.write(text)
    try:
        done = subprocess.run(
            [nvcc, "-arch=sm_90", "-rdc=true", "-cubin", "-o", cubin, source],
            capture_output=True,
            text=True,
            timeout=90,
        )
    except subprocess.TimeoutExpired:
        return None, "nvcc takes too long"
    if done.returncode != 0:
        return None, done.stderr[:1500]
    return cubin, f"{len(wanted)} functions"


# --------------------------------------------------------------------------------------------------- all cases


class Place:
    """A process that runs cases, and the next one where it ended."""

    def __init__(self, command, timeout):
        self.command, self.timeout = command, timeout
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "CUDA_CACHE_DISABLE": "1"},
        )
        ready, _ = self.answer(90)
        if ready is None:
            error = self.process.stderr.read()[-1500:] if self.process.poll() is not None else "no answer"
            self.stop()
            raise RuntimeError(error)

    def answer(self, timeout):
        """A line from the process; `None` where it ended or was killed for its time."""
        late = threading.Event()

        def kill():
            late.set()
            self.process.kill()

        timer = threading.Timer(timeout, kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        return (json.loads(line) if line else None), late.is_set()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, words):
        if self.process is None or self.process.poll() is not None:
            self.stop()
            self.start()
        try:
            self.process.stdin.write(f"{words}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            self.start()
            self.process.stdin.write(f"{words}\n")
            self.process.stdin.flush()
        stage = "starting"
        while True:
            out, late = self.answer(self.timeout)
            if out is None or "status" in out:
                return out, late, stage
            stage = next(iter(out))

    def run(self, number):
        out, late, stage = self.ask(number)
        if out is None and not late and stage == "loading":
            # The compiler of the driver ended the process.
            self.stop()
            out, late, stage = self.ask(f"{number} 0")
            if out is not None:
                out["compiler"] = "ended; again without optimisation"
                out["status"] += " (compiler ended)"
        if out is None:
            self.stop()
            return {"status": "timeout" if late else "fault", "error": "no end" if late else f"the process ended while {stage}"}
        if out["status"].startswith("fault"):
            self.stop()
        return out


def run_all(cases, order, arguments, library):
    command = [sys.executable, os.path.abspath(__file__), arguments.cases, arguments.out, "--worker"]
    if library:
        command += ["--library", library]
    if arguments.dry:
        command.append("--dry")
    todo = queue.SimpleQueue()
    for number in order:
        todo.put(number)
    results, broken = {}, []
    end = time.monotonic() + arguments.limit

    def serve():
        place = Place(command, arguments.timeout)
        try:
            while time.monotonic() < end:
                try:
                    number = todo.get_nowait()
                except queue.Empty:
                    break
                try:
                    results[number] = place.run(number)
                except RuntimeError as failure:
                    broken.append(str(failure))
                    break
        finally:
            place.stop()

    threads = [threading.Thread(target=serve) for _ in range(arguments.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results, broken


ORDER = [
    "agree",
    "agree but for NaN bits",
    "agree within tolerance",
    "differ",
    "stray write",
    "refused",
    "fault",
    "timeout",
    "runner error",
]


def table(title, rows):
    print(f"\n{title}")
    seen = {status for _, counts in rows for status in counts}
    used = [status for status in ORDER if status in seen] + sorted(seen - set(ORDER))
    width = max(len(name) for name, _ in rows)
    print(" " * width, *[f"{status:>24}" for status in used])
    for name, counts in rows:
        print(f"{name:<{width}}", *[f"{counts.get(status, 0):>24}" for status in used])


def summarize(cases, results, arguments, started, notes):
    by_source, by_flag = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    total = collections.Counter()
    for number, out in results.items():
        case = cases[number]
        by_source[case["source"]][out["status"]] += 1
        total[out["status"]] += 1
        by_flag[" ".join(case["flags"]) or "no flag"][out["status"]] += 1
    if results:
        table("By source", [*sorted(by_source.items()), ("all", total)])
        table("By flags", sorted(by_flag.items()))
    missing = sum(1 for out in results.values() if out.get("missing"))
    if missing:
        print(f"\n{missing} cases change memory of a symbol that the driver doesn't know: that is not compared")
    near = [(out["worst"], cases[n]["name"]) for n, out in results.items() if out.get("worst") and cases[n]["source"] == "operations"]
    if near:
        print("\nWorst relative errors within the tolerance, of single operations:")
        print("  " + "; ".join(f"{name} {worst:.1e}" for worst, name in sorted(near, reverse=True)[:30]))
    bad = [n for n, out in sorted(results.items()) if not out["status"].startswith("agree")]
    shown = collections.Counter()
    print(f"\n{len(bad)} cases do not agree; the first of each source:")
    folder = os.path.join(arguments.out, "differing")
    os.makedirs(folder, exist_ok=True)
    for place, number in enumerate(bad):
        case, out = cases[number], results[number]
        if place < 150:
            name = re.sub(r"\W+", "_", case["name"])
            with open(os.path.join(folder, f"{number}_{name}.ptx"), "w") as file:
                file.write(case["ptx"])
        key = (case["source"], out["status"])
        shown[key] += 1
        if shown[key] > arguments.shown:
            continue
        unoptimised = f", without optimisation: {out['unoptimised']}" if "unoptimised" in out else ""
        print(f"  {case['name']} [{case['source']}; {' '.join(case['flags'])}] {out['status']}{unoptimised}"
            + (f", {out['count']} places" if "count" in out else ""))
        for one in out.get("differences", [])[:2]:
            values = f" ({one['expected_value']}, {one['found_value']})" if "expected_value" in one else ""
            operands = f" of {' '.join(one['operands'])}" if "operands" in one else ""
            print(
                f"      buffer {one['buffer']} [{one['index']}] {one['type']}:"
                f" expected {one['expected']}, found {one['found']}{values}{operands}"
            )
        if "error" in out:
            print(f"      {out['error']} {out.get('log', '').strip()[:300]}")
    report = {
        "notes": notes,
        "seconds": round(time.monotonic() - started, 1),
        "total": total,
        "by_source": by_source,
        "by_flag": by_flag,
        "not_run": len(cases) - len(results),
        "cases": [
            {"name": cases[n]["name"], "source": cases[n]["source"], "flags": cases[n]["flags"], **out}
            for n, out in sorted(results.items())
        ],
    }
    with open(os.path.join(arguments.out, "report.json"), "w") as file:
        json.dump(report, file, indent=0)
    print(f"\n{len(results)} of {len(cases)} cases in {report['seconds']} s; report.json and differing/ in {arguments.out}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases")
    parser.add_argument("out")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--limit", type=float, default=180, help="seconds after which no case is begun")
    parser.add_argument("--timeout", type=float, default=10, help="seconds that one case may take")
    parser.add_argument("--shown", type=int, default=12, help="differences printed of each source and kind")
    parser.add_argument("--only", default="", help="cases whose name or source contains this")
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--library", default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments)
        return
    started = time.monotonic()
    os.makedirs(arguments.out, exist_ok=True)
    cases = read_cases(arguments.cases)
    notes = []
    order = [n for n, case in enumerate(cases) if arguments.only in case["name"] or arguments.only in case["source"]]
    # Where time runs out, every source has had its turn.
    random.Random(1).shuffle(order)
    with tempfile.TemporaryDirectory() as folder:
        library = None
        if not arguments.dry:
            library, note = build_library([cases[n] for n in order], folder)
            notes.append(f"device library: {note}")
            print(notes[-1])
            if library is None:
                order = [n for n in order if "library" not in cases[n]["flags"]]
        results, broken = run_all(cases, order, arguments, library)
    for failure in sorted(set(broken)):
        notes.append(f"a process did not start: {failure}")
        print(notes[-1])
    summarize(cases, results, arguments, started, notes)


if __name__ == "__main__":
    main()
