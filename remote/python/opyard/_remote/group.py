"""Sums over the workers of a call that runs on all of them: a ring, in buckets.

    members 0 1 2, a bucket in three chunks         each sends to the next, receives from the last
      step 1    0 ─ c0 ─▶ 1 ─ c1 ─▶ 2 ─ c2 ─▶ 0     and adds
      step 2    0 ─ c2 ─▶ 1 ─ c0 ─▶ 2 ─ c1 ─▶ 0     and adds: each has the sum of one chunk
      step 3, 4 the sums go round the same way, and are copied

Each chunk is summed along the ring once and then copied, so all members have the same bits. Chunks
carry the number of the group, of the sum, of the bucket and of the step; one that arrives twice is
one. Sending never waits for the receiver, whose own thread takes messages in.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from .._C import Tensor
from .._core.ops import ops
from .failures import WorkerLost

BUCKET = 1 << 20  # bytes


class Mailbox:
    """Chunks that came for groups, and workers that have ended."""

    def __init__(self) -> None:
        self._arrived = threading.Condition()
        self._chunks: dict[tuple, Any] = {}
        self._gone: set[int] = set()
        self._done = 0  # groups up to this one are over

    def put(self, key: tuple, chunk: Any) -> None:
        with self._arrived:
            if key[0] > self._done:
                self._chunks[key] = chunk
                self._arrived.notify_all()

    def gone(self, worker: int) -> None:
        with self._arrived:
            self._gone.add(worker)
            self._arrived.notify_all()

    def close_group(self, number: int) -> None:
        """Groups come one after the other: what is left of this one and of those before it goes."""
        with self._arrived:
            self._done = max(self._done, number)
            self._chunks = {k: v for k, v in self._chunks.items() if k[0] > self._done}

    def take(self, key: tuple, members: "Sequence[int]", deadline: float) -> Any:
        """Waits for a chunk. Raises WorkerLost if a member ended meanwhile, and TimeoutError."""
        with self._arrived:
            while key not in self._chunks:
                lost = self._gone.intersection(members)
                if lost:
                    raise WorkerLost(
                        f"all_reduce: worker {min(lost)} of this group has ended; call it again "
                        "on the workers that live"
                    )
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(
                        f"all_reduce: nothing came from worker {key[-1]} in time; every member of "
                        "a group has to call all_reduce equally often, with tensors of the same "
                        "sizes"
                    )
                self._arrived.wait(left)
            return self._chunks.pop(key)


class Group:
    """The workers that run one call together, as one of them sees them."""

    def __init__(
        self,
        number: int,
        members: "Sequence[int]",
        me: int,
        mailbox: Mailbox,
        send: "Callable[[int, tuple], None]",
    ) -> None:
        self.number = number
        self.members = list(members)
        self.me = me
        self.rank = self.members.index(me)
        self._mailbox = mailbox
        self._send = send
        self._sums = 0

    def all_reduce(
        self, tensors: "Sequence[Tensor]", *, bucket: int, timeout: float
    ) -> "list[Tensor]":
        self._sums += 1
        deadline = time.monotonic() + timeout
        if len(self.members) == 1:
            return [tensor.clone() for tensor in tensors]
        sums: list[Tensor | None] = [None] * len(tensors)
        for number, positions in enumerate(_buckets(tensors, bucket)):
            flat = ops.aten.cat([tensors[each].detach().reshape([-1]) for each in positions])
            total = self._sum_bucket(flat, number, deadline)
            start = 0
            for each in positions:
                count = tensors[each].numel()
                part = total[start : start + count]
                sums[each] = part.reshape(tensors[each].shape)
                start += count
        return sums  # type: ignore[return-value]

    def _sum_bucket(self, flat: Tensor, bucket: int, deadline: float) -> Tensor:
        size, rank = len(self.members), self.rank
        after, before = self.members[(rank + 1) % size], self.members[(rank - 1) % size]
        bounds = [flat.numel() * n // size for n in range(size + 1)]
        chunks = [flat[bounds[n] : bounds[n + 1]] for n in range(size)]
        for step in range(2 * (size - 1)):
            out, into = (rank - step) % size, (rank - step - 1) % size
            # The receiver may be this process's neighbour in memory: it gets a copy of its own.
            self._send(after, ("chunk", self._key(bucket, step, self.me), chunks[out].clone()))
            came = self._mailbox.take(self._key(bucket, step, before), self.members, deadline)
            if came.numel() != chunks[into].numel() or came.dtype != chunks[into].dtype:
                raise ValueError(
                    f"all_reduce: worker {before} gave tensors of other sizes or dtypes: a chunk "
                    f"of {came.numel()} {came.dtype} came where {chunks[into].numel()} "
                    f"{chunks[into].dtype} were to be added"
                )
            chunks[into] = came + chunks[into] if step < size - 1 else came
        return ops.aten.cat(chunks)

    def _key(self, bucket: int, step: int, sender: int) -> tuple:
        return (self.number, self._sums, bucket, step, sender)


def _buckets(tensors: "Sequence[Tensor]", size: int) -> "list[list[int]]":
    """The positions of tensors of one dtype, in order, as many together as make up a bucket."""
    made: list[list[int]] = []
    filled: dict[Any, tuple[list[int], int]] = {}
    for position, tensor in enumerate(tensors):
        positions, held = filled.get(tensor.dtype, ([], size))
        if held >= size:
            positions, held = [], 0
            made.append(positions)
        positions.append(position)
        filled[tensor.dtype] = (positions, held + tensor.numel() * tensor.dtype.itemsize)
    return made
