# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ncclSend and ncclRecv without the layers that torch.distributed puts above them.

The functions and the numbers of the data types are those of NCCL's nccl.h, version 2.
"""

import ctypes

INT64 = 4  # ncclInt64
UNIQUE_ID_BYTES = 128


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * UNIQUE_ID_BYTES)]


class Nccl:
    """A communicator of two ranks on the caller's current device.

    share(words) is to return rank 0's list of 128 integers on every rank.
    """

    def __init__(self, rank, share):
        # torch has loaded it: the loader finds it by this name wherever it lies.
        self._library = ctypes.CDLL("libnccl.so.2")
        self._library.ncclGetErrorString.restype = ctypes.c_char_p
        unique = UniqueId()
        if rank == 0:
            self._call("ncclGetUniqueId", ctypes.byref(unique))
        unique.internal[:] = share(list(unique.internal))
        self._communicator = ctypes.c_void_p()
        self._call("ncclCommInitRank", ctypes.byref(self._communicator), ctypes.c_int(2), unique,
                   ctypes.c_int(rank))

    def _call(self, name, *arguments):
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            text = self._library.ncclGetErrorString(status).decode()
            raise RuntimeError(f"{name}: {text}")

    def version(self):
        number = ctypes.c_int()
        self._call("ncclGetVersion", ctypes.byref(number))
        return f"{number.value // 10000}.{number.value // 100 % 100}.{number.value % 100}"

    def _transfer(self, name, tensor, peer, stream):
        self._call(name, ctypes.c_void_p(tensor.data_ptr()), ctypes.c_size_t(tensor.numel()),
                   ctypes.c_int(INT64), ctypes.c_int(peer), self._communicator,
                   ctypes.c_void_p(stream))

    def send(self, tensor, peer, stream):
        """tensor: contiguous, int64; stream: the handle of a CUDA stream."""
        self._transfer("ncclSend", tensor, peer, stream)

    def receive(self, tensor, peer, stream):
        self._transfer("ncclRecv", tensor, peer, stream)

    def close(self):
        self._call("ncclCommDestroy", self._communicator)
