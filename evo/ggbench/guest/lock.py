"""The lock of the box: resource limits and a seccomp allowlist, set before a game is read.

The kernel enforces the boundary, not Python: everything that is not on the list (opening a file, a
socket, a new process or thread, executable memory, signals to others) fails with EPERM for the rest
of this process's life. seccomp(2), prctl(2), Linux audit architectures.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import resource
import signal
import struct
import sys

NOBODY = 65534
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2
PROT_EXEC = 4
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | 1
"""What the filter answers; REFUSE is an error with EPERM."""
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Classic BPF: load a word, three comparisons with a constant, return a constant."""
NUMBER, PLATFORM, THIRD_ARGUMENT = 0, 4, 32
"""Offsets in ``struct seccomp_data``; of the argument, the low half on a little-endian machine."""
FOREIGN = 0x40000000
"""Numbers of system calls from here on are of another interface (x32)."""

MACHINE, ARCHITECTURE = "x86_64", 0xC000003E
"""The machine that the numbers below are of, and its audit architecture."""
_NUMBERS = (
    "read 0 write 1 close 3 fstat 5 poll 7 lseek 8 mmap 9 mprotect 10 munmap 11 brk 12 "
    "rt_sigaction 13 rt_sigprocmask 14 rt_sigreturn 15 mremap 25 madvise 28 nanosleep 35 exit 60 "
    "gettimeofday 96 sigaltstack 131 time 201 futex 202 restart_syscall 219 clock_gettime 228 "
    "clock_getres 229 clock_nanosleep 230 exit_group 231 ppoll 271 getrandom 318"
)
ALLOWED = {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", _NUMBERS)}
"""System calls by name."""


class LockError(Exception):
    """The kernel offers no such lock; the message says what it refused."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def instructions() -> list[tuple[int, int, int, int]]:
    """The filter as (code, jump if true, jump if false, constant)."""
    program = [
        (LOAD, 0, 0, PLATFORM),
        (EQUAL, 1, 0, ARCHITECTURE),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, FOREIGN),
        (RETURN, 0, 0, KILL),
    ]
    for name, number in ALLOWED.items():
        if name in ("mmap", "mprotect"):  # never executable
            program += [(EQUAL, 0, 4, number), (LOAD, 0, 0, THIRD_ARGUMENT)]
            program += [(ANY_BIT, 0, 1, PROT_EXEC), (RETURN, 0, 0, REFUSE)]
        else:
            program += [(EQUAL, 0, 1, number)]
        program += [(RETURN, 0, 0, ALLOW)]
    return [*program, (RETURN, 0, 0, REFUSE)]


def limit(memory: int, cpu_seconds: int) -> None:
    """Limit the resources of this process, ``memory`` in bytes of address space; a process of root
    becomes user nobody. Raises :class:`LockError`."""
    bounds = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 3,
        resource.RLIMIT_CORE: 0,
    }
    try:
        for kind, bound in bounds.items():
            resource.setrlimit(kind, (bound, bound))
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
    except (OSError, ValueError) as error:
        raise LockError(f"a limit was refused ({error})") from None


def lock() -> None:
    """Allow only the listed system calls, for ever. Raises :class:`LockError`."""
    if not sys.platform.startswith("linux") or platform.machine() != MACHINE:
        raise LockError(f"no table of system calls for {sys.platform} on {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
    code = b"".join(struct.pack("=HBBI", *each) for each in instructions())
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    # A change of user clears the signal that ends this process with its parent: so it comes after.
    for option, value, pointer in (
        (PR_SET_PDEATHSIG, signal.SIGKILL, 0),
        (PR_SET_DUMPABLE, 0, 0),
        (PR_SET_NO_NEW_PRIVS, 1, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program)),
    ):
        if libc.prctl(option, value, pointer, 0, 0):
            raise LockError(f"prctl {option}: {os.strerror(ctypes.get_errno())}")
    try:  # trust nothing: a lock that holds opens no folder
        os.close(os.open("/", os.O_RDONLY))
    except PermissionError:
        return
    except OSError as error:
        raise LockError(f"the lock does not hold ({error})") from None
    raise LockError("the lock does not hold: a folder could be opened")
