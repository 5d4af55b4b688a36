"""Trains a network on handwritten digits with several workers, each on its part of every batch.

python train.py [--engine pipes|ray|dask] [--workers 2] [--epochs 12] [--kill EPOCH]

Needs NumPy. With --kill a worker is killed in the middle of that epoch; the others go on. Ends with
the accuracy on 450 images that were not trained on.
"""

import argparse
import gzip
import os
import signal
from pathlib import Path

import numpy as np

import opyard
import opyard.remote as remote
from opyard import nn

DATA = Path(__file__).resolve().parent.parent / "data" / "digits.csv.gz"
TRAIN, BATCH = 1347, 64


def load(seed):
    with gzip.open(DATA, "rt", encoding="ascii") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    table = table[np.random.default_rng(seed).permutation(len(table))]
    return table[:, :64] / 16, table[:, 64].astype(np.int64)


# What a worker does: one epoch on its part of each batch, from the weights that it is given.
def train_epoch(task):
    state, images, labels, order, rate, dies = task
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    network.load_state_dict(state)
    optimizer = opyard.optim.SGD(network.parameters(), lr=rate, momentum=0.9)
    rank, size, loss = remote.rank(), remote.size(), 0.0
    for start in range(0, len(order), BATCH):
        if dies and start > len(order) / 2:
            os.kill(os.getpid(), signal.SIGKILL)
        batch = order[start : start + BATCH]
        mine = batch[rank::size]
        scores = network(opyard.from_numpy(images[mine]))
        part = nn.CrossEntropyLoss(reduction="sum")(scores, opyard.from_numpy(labels[mine]))
        optimizer.zero_grad()
        (part / len(batch)).backward()
        parameters = list(network.parameters())
        sums = remote.all_reduce([each.grad for each in parameters])
        for parameter, gradient in zip(parameters, sums, strict=True):
            parameter.grad = gradient
        optimizer.step()
        loss += part.item()
    return network.state_dict(), loss


def train(session, state, images, labels, epochs, seed=0, kill_at=-1):
    """The weights after so many epochs. An epoch in which a worker ends is begun again. In the
    epoch `kill_at` the last worker kills itself in the middle."""
    for epoch in range(epochs):
        order = np.random.default_rng((seed, epoch)).permutation(len(images))
        task = (state, images, labels, order, 0.1 * (1 - epoch / epochs))
        tasks = [(*task, False)] * (len(session.workers) - 1) + [(*task, epoch == kill_at)]
        while True:
            try:
                found = session.each(train_epoch, tasks)
                break
            except remote.WorkerLost as lost:
                tasks = [(*task, False)] * len(session.workers)
                ended = f"worker {lost.worker} {lost.how}"
                print(f"epoch {epoch + 1}: {ended}; again on {session.workers}")
        state = found[0][0]
        loss = sum(each[1] for each in found) / len(images)
        print(f"epoch {epoch + 1:2}/{epochs} on {len(found)} workers, loss {loss:.4f}")
    return state


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="pipes", choices=["pipes", "ray", "dask"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--kill", type=int, default=0, metavar="EPOCH")
    options = parser.parse_args()

    images, labels = load(seed=0)
    opyard.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    with remote.session(options.engine, workers=options.workers) as session:
        state = train(
            session,
            network.state_dict(),
            images[:TRAIN],
            labels[:TRAIN],
            options.epochs,
            kill_at=options.kill - 1,
        )
    network.load_state_dict(state)
    found = network(opyard.from_numpy(images[TRAIN:])).argmax(1).numpy()
    accuracy = float((found == labels[TRAIN:]).mean())
    print(f"accuracy {accuracy:.4f} on {len(found)} held-out images")


if __name__ == "__main__":
    main()
