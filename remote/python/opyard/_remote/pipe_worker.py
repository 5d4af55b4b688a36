"""The program of a worker over pipes. See pipe_engine.py."""

import fcntl
import os
import signal
import socket
import sys
import threading

from . import wire
from .pipe_socket import Channel, Closed
from .worker import Worker


def _end_with(lifeline: int) -> None:
    """Has the kernel kill this process when the other end of a pipe is closed, whatever runs."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    try:
        if os.read(lifeline, 1) == b"":
            os._exit(1)  # it was closed before
    except BlockingIOError:
        pass


def _read_driver(channel: Channel, worker: Worker) -> None:
    try:
        while True:
            worker.receive(channel.receive(), channel.send)
    except Closed:
        os._exit(0)  # the driver has closed the session: what still runs is of no use


def _read_peer(channel: Channel, worker: Worker) -> None:
    try:
        while True:
            worker.deliver(channel.receive())
    except Closed:
        pass  # the driver says who has ended


def main() -> None:
    driver, lifeline, peers, *keeps = sys.argv[1:]
    sys.argv[1:] = []
    _end_with(int(lifeline))
    channels = {}
    for each in filter(None, peers.split(",")):
        number, descriptor = each.split(":")
        channels[int(number)] = Channel(socket.socket(fileno=int(descriptor)))

    def send(to: int, frames: wire.Frames) -> None:
        try:
            channels[to].send(frames)
        except Closed:
            pass

    worker = Worker(send, keeps=bool(keeps))
    for channel in channels.values():
        threading.Thread(target=_read_peer, args=(channel, worker), daemon=True).start()
    ours = Channel(socket.socket(fileno=int(driver)))
    threading.Thread(target=_read_driver, args=(ours, worker), daemon=True).start()
    worker.run()
