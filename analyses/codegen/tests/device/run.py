#!/usr/bin/env python3
"""Runs the kernels of a file that the test `device_cases` wrote on a GPU, and compares their buffers with the interpreter's.

usage: run.py CASES.json

Needs the CUDA driver alone. A kernel whose original already differs from the interpreter, fails or does not end is told
apart from one that a rewriting changed. A kernel that fails or does not end takes its process with it; the next process
goes on behind it.
"""

import ctypes
import json
import os
import struct
import subprocess
import sys
import time

SECONDS = 3.0
"""For one launch, after which it does not end."""


def checked(driver, name, *arguments):
    code = getattr(driver, name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        driver.cuGetErrorName(code, ctypes.byref(text))
        raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")


def execute(driver, case, text):
    """The buffers after one launch."""
    log = ctypes.create_string_buffer(8192)
    options = (ctypes.c_int * 2)(5, 6)  # the log of errors, and its size
    values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), 8192)
    module = ctypes.c_void_p()
    image = ctypes.create_string_buffer(text.encode())
    try:
        checked(driver, "cuModuleLoadDataEx", ctypes.byref(module), image, 2, options, values)
    except RuntimeError as error:
        told = log.value.decode(errors="replace").replace("\n", " ")[:300]
        raise RuntimeError(f"{error}: {told}") from None
    function = ctypes.c_void_p()
    checked(driver, "cuModuleGetFunction", ctypes.byref(function), module, case["kernel"].encode())
    buffers = []
    for content in case["before"]:
        data = bytes.fromhex(content)
        address = ctypes.c_uint64()
        checked(driver, "cuMemAlloc_v2", ctypes.byref(address), max(len(data), 16))
        checked(driver, "cuMemcpyHtoD_v2", address, data, len(data))
        buffers.append((address, len(data)))
    places = []
    for argument in case["arguments"]:
        if "buffer" in argument:
            number = buffers[argument["buffer"]][0].value + argument["offset"]
        else:
            number = argument["bits"] & (2**64 - 1)
        places.append(ctypes.create_string_buffer(struct.pack("<Q", number), 8))
    pointers = (ctypes.c_void_p * max(len(places), 1))(*[ctypes.addressof(place) for place in places])
    checked(driver, "cuLaunchKernel", function, *case["grid"], *case["block"], 0, None, pointers, None)
    limit = time.monotonic() + SECONDS
    while (code := driver.cuStreamQuery(None)) == 600:  # not ready
        if time.monotonic() > limit:
            raise TimeoutError
        time.sleep(0.0005)
    if code:
        checked(driver, "cuStreamQuery", None)
        raise RuntimeError(f"cuStreamQuery: {code}")
    after = []
    for address, size in buffers:
        data = ctypes.create_string_buffer(size)
        checked(driver, "cuMemcpyDtoH_v2", data, address, size)
        after.append(data.raw[:size].hex())
        checked(driver, "cuMemFree_v2", address)
    checked(driver, "cuModuleUnload", module)
    return after


def work(path, first):
    """Runs the cases from a number on; a line of output each text."""
    driver = ctypes.CDLL("libcuda.so.1")
    checked(driver, "cuInit", 0)
    device = ctypes.c_int()
    checked(driver, "cuDeviceGet", ctypes.byref(device), 0)
    context = ctypes.c_void_p()
    checked(driver, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    checked(driver, "cuCtxSetCurrent", context)
    for number, case in list(enumerate(json.load(open(path))))[first:]:
        original = None
        for text in case["texts"]:
            label = text["label"]
            try:
                after = execute(driver, case, text["text"])
            except (RuntimeError, TimeoutError) as error:
                what = "does not end" if isinstance(error, TimeoutError) else "fails"
                print(json.dumps([number, label, what, str(error)]), flush=True)
                if "ModuleLoad" in str(error):
                    continue
                os._exit(1)
            if label == "original":
                original = after
            what = "agrees" if after == case["after"] else "differs"
            if what == "differs" and after == original and label != "original":
                what = "does as the original, which differs"
            print(json.dumps([number, label, what, ""]), flush=True)


def main():
    path = sys.argv[1]
    if len(sys.argv) > 2:
        return work(path, int(sys.argv[2]))
    total = len(json.load(open(path)))
    counts, told, names = {}, [], {}
    first = 0
    while first < total:
        command = [sys.executable, __file__, path, str(first)]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        last = first
        for line in worker.stdout:
            number, label, what, error = json.loads(line)
            last = number
            names.setdefault(number, {})[label] = what
            # Where the original already comes to another result, a rewriting is no matter.
            settled = names[number].get("original") == "agrees"
            key = (label, what if settled else f"{what} (the original does not agree)")
            counts[key] = counts.get(key, 0) + 1
            if label == "original" and not settled:
                told.append(f"case {number}: the original {what} {error}")
            elif what != "agrees" and settled:
                told.append(f"case {number}, {label}: {what} {error}")
        first = total if worker.wait() == 0 else last + 1
    for (label, what), count in sorted(counts.items()):
        print(f"{label}: {what} {count}")
    print(f"{sum(all(what == 'agrees' for what in own.values()) for own in names.values())} of {total} kernels agree in all forms")
    print("\n".join(told[:40]))


if __name__ == "__main__":
    main()
