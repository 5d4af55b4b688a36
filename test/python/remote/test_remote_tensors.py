"""test_remote_tensors.py: calls on tensors of workers, recorded, sent as blocks, failed (X35).

Suspect remote/src for what is recorded and when a block ends, remote/python/opyard/_remote/ for
the rest: tensors.py for what is sent, block_runs.py for what a worker makes of it.
"""

import gc
import threading
import time

import pytest
import remote_functions as functions
from processes import run, volume

import opyard
import opyard.remote

aten = opyard.ops.aten


def recorder(session, worker=0):
    return session._tensors.of(worker).recorder


def calls_of(session, worker=0):
    return session._connections[worker].statistics.calls


def matrix(rows=2, columns=3):
    return opyard.arange(rows * columns, dtype=opyard.float32).reshape([rows, columns])


def test_X35_a_tensor_goes_to_a_worker_and_comes_back(pipes):
    x = matrix()
    there = x.to("remote:0")
    assert str(there.device) == "remote:0" and there.shape == (2, 3)
    assert there.dtype is opyard.float32
    assert there.tolist() == x.tolist()
    assert there.to("cpu").tolist() == x.tolist()
    assert x.to("remote:1").to("cpu", opyard.int64).tolist() == x.to(opyard.int64).tolist()
    assert there.to("remote:1").device.index == 1
    assert there.to("remote:1").tolist() == x.tolist()
    assert "remote:0" in repr(there)
    with pytest.raises(ValueError, match="device 'remote' names no worker"):
        x.to("remote")
    with pytest.raises(ValueError, match="there is no worker 7; there are"):
        x.to("remote:7")


def test_X35_calls_are_recorded_and_sent_when_a_value_is_read(pipes):
    x = matrix().to("remote:0")
    pipes.flush()
    before, ended = calls_of(pipes), recorder(pipes).ended
    y = x
    for _ in range(20):
        y = aten.tanh(y * 0.5 + 1.0)
    assert y.shape == (2, 3)
    expected = matrix()
    for _ in range(20):
        expected = aten.tanh(expected * 0.5 + 1.0)
    assert aten.allclose(y.to("cpu"), expected)
    assert recorder(pipes).ended == ended
    # 60 calls; more than one message only if the program paused meanwhile.
    assert calls_of(pipes) - before <= 60 // 2


def test_X35_a_block_has_64_calls_at_most(pipes):
    x = opyard.ones(3).to("remote:0")
    assert x.tolist() == [1.0] * 3
    y = x
    for _ in range(200):
        y = y + 1
    assert y.tolist() == [201.0] * 3


def test_X35_numbers_are_inputs_so_that_a_block_travels_once(pipes):
    x = opyard.ones(3).to("remote:0")
    x.tolist()
    known = pipes._tensors.of(0)._things
    (x * 2.0 + 1).tolist()
    count = len(known)
    for n in range(20):
        assert (x * float(n) + n).tolist() == [2.0 * n] * 3
    # A pause of this process may cut one of them in two.
    assert len(known) <= count + 4


def test_X35_every_way_of_reading_sends_the_block(pipes):
    numpy = pytest.importorskip("numpy")
    x = matrix().to("remote:0")
    assert (x + 1).numpy().tolist() == (matrix() + 1).tolist()
    assert numpy.asarray(x * 2).tolist() == (matrix() * 2).tolist()
    assert (x.sum() + 1).item() == 16.0
    assert float(x.sum()) == 15.0 and bool(x.sum() > 1) and int(x[0, 2]) == 2
    assert (x + x).tolist() == (matrix() * 2).tolist()


def test_X35_flush_and_pauses_send_without_a_reader(pipes):
    x = opyard.ones(4).to("remote:0")
    x.tolist()
    for send in (pipes.flush, lambda: None):
        before = calls_of(pipes)
        y = x + 1
        send()
        deadline = time.monotonic() + 20.0
        while calls_of(pipes) == before and time.monotonic() < deadline:
            time.sleep(0.001)
        assert calls_of(pipes) > before
        assert y.tolist() == [2.0] * 4


def test_X35_views_share_memory_also_when_they_are_written(pipes):
    for n in range(2):
        x = matrix().to("remote:0")
        if n:
            x.tolist()  # from here on it is a value of an earlier block
        view = x.t()[1:]
        assert view.shape == (2, 2) and view.tolist() == matrix().t()[1:].tolist()
        view.add_(10)
        x[0].mul_(2)
        here = matrix()
        here.t()[1:].add_(10)
        here[0].mul_(2)
        assert x.tolist() == here.tolist()
        assert x.reshape([6]).tolist() == here.reshape([6]).tolist()
        assert view.tolist() == here.t()[1:].tolist()


def test_X35_a_tensor_is_itself_after_a_write(pipes):
    x = opyard.zeros(3).to("remote:0")
    assert x.add_(1) is x
    x += 1
    assert x.tolist() == [2.0] * 3
    x.copy_(opyard.tensor([1.0, 2.0, 3.0]))
    here = opyard.zeros(3)
    here.copy_(x)
    assert here.tolist() == [1.0, 2.0, 3.0]
    aten.add.out(x, x, out=x)
    assert x.tolist() == [2.0, 4.0, 6.0]


def test_X35_tensors_are_made_on_workers(pipes):
    made = aten.zeros([2, 2], device="remote:1")
    assert made.device.index == 1
    assert (made + aten.ones([2], device="remote:1")).tolist() == [[1.0, 1.0]] * 2
    assert aten.full_like(made, 3.0).tolist() == [[3.0, 3.0]] * 2
    assert aten.rand([100], device="remote:1").max().item() <= 1.0
    with pytest.raises(ValueError, match="there is no worker 9"):
        aten.zeros([2], device="remote:9")


def test_X35_lists_of_tensors(pipes):
    x = matrix().to("remote:0")
    joined = aten.cat([x, x + 1, x * 2], 1)
    assert joined.tolist() == aten.cat([matrix(), matrix() + 1, matrix() * 2], 1).tolist()
    parts = aten.split(joined, 3, 1)
    assert [each.tolist() for each in parts] == [
        matrix().tolist(),
        (matrix() + 1).tolist(),
        (matrix() * 2).tolist(),
    ]
    values, places = x.max(1)
    assert values.tolist() == [2.0, 5.0] and places.tolist() == [2, 2]
    assert x[[1, 0]].tolist() == matrix()[[1, 0]].tolist()


def test_X35_an_operator_without_sizes_ends_the_block(pipes):
    x = matrix().to("remote:0")
    ended = recorder(pipes).ended
    found = aten.nonzero(x + 0 > 2)
    assert recorder(pipes).ended == ended + 1
    assert str(found.device) == "remote:0" and found.tolist() == [[1, 0], [1, 1], [1, 2]]
    assert (found + 1).tolist() == [[2, 1], [2, 2], [2, 3]]
    chosen = aten.masked_select(x, x > 3)
    assert (chosen * 2).tolist() == [8.0, 10.0]
    says = pipes.explain(aten.nonzero)
    assert "ends the block and is called there by itself" in says
    assert "recorded into a block" in pipes.explain(aten.mul.Tensor)


def test_X35_operators_of_python_without_a_meta_kernel(pipes):
    functions.define_operators()
    for worker in pipes.workers:
        pipes.call(functions.define_operators, worker=worker)
    x = matrix().to("remote:0")
    doubled = opyard.ops.remote_test.doubled(x + 1)
    assert str(doubled.device) == "remote:0" and doubled.tolist() == ((matrix() + 1) * 2).tolist()
    kept = opyard.ops.remote_test.doubled_(x)
    assert kept is x and x.tolist() == (matrix() * 2).tolist()
    pair, count = opyard.ops.remote_test.pair_and_count(x)
    assert [each.tolist() for each in pair] == [x.tolist(), (x + 1).tolist()] and count == 6
    assert "no kernel at Meta" in pipes.explain(opyard.ops.remote_test.doubled)


def test_X35_gradients_go_through_calls_on_workers(pipes):
    def loss(x, w, b):
        return ((aten.relu(x @ w) * 2 + b) ** 2).sum()

    x, w, b = matrix(), matrix(3, 2) - 2, opyard.ones(2)
    for each in (w, b):
        each.requires_grad_()
    loss(x, w, b).backward()
    expected = w.grad.tolist(), b.grad.tolist()
    w.grad = b.grad = None
    there = loss(x.to("remote:0"), w.to("remote:0"), b.to("remote:0"))
    assert str(there.device) == "remote:0"
    there.backward()
    assert str(w.grad.device) == "cpu"
    assert (w.grad.tolist(), b.grad.tolist()) == expected
    leaf = w.detach().to("remote:0").requires_grad_()
    loss(x.to("remote:0"), leaf, b.detach().to("remote:0")).backward()
    assert str(leaf.grad.device) == "remote:0" and leaf.grad.tolist() == expected[0]


def test_X35_a_network_is_trained_on_a_worker(pipes):
    def train(device):
        network = opyard.nn.Sequential(
            opyard.nn.Linear(3, 4), opyard.nn.ReLU(), opyard.nn.Linear(4, 1)
        )
        for n, each in enumerate(network.parameters()):
            numbers = opyard.arange(each.numel(), dtype=opyard.float32) * 0.1 - 0.3 * n
            with opyard.no_grad():
                each.copy_(numbers.reshape(each.shape))
        network.to(device)
        optimizer = opyard.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
        data = matrix(4, 3).to(device)
        wanted = opyard.ones(4, 1).to(device)
        for _ in range(5):
            optimizer.zero_grad()
            ((network(data) - wanted) ** 2).mean().backward()
            optimizer.step()
        return [each.detach().to("cpu") for each in network.parameters()]

    for here, there in zip(train("cpu"), train("remote:0"), strict=True):
        assert aten.allclose(here, there)


def test_X35_tensors_of_several_places_are_refused(pipes):
    x, other = matrix().to("remote:0"), matrix().to("remote:1")
    with pytest.raises(
        NotImplementedError,
        match="aten::add.Tensor: 'other' is float32.* on cpu, and the call is one on remote:0",
    ):
        x + matrix()
    with pytest.raises(
        NotImplementedError, match="'other' is .* on remote:1, and the call is one on"
    ):
        x + other
    with pytest.raises(
        NotImplementedError, match="'device' is cpu, and the call is one on remote:0"
    ):
        aten.zeros_like(x, device="cpu")
    assert (1.0 / (x + 1)).tolist() == (1.0 / (matrix() + 1)).tolist()  # a number is no tensor
    assert (x * opyard.tensor(2.0)).tolist() == (matrix() * 2).tolist()
    with opyard.remote.session(workers=1) as second:
        y = matrix().to("remote:0")
        assert recorder(second) is not recorder(pipes)
        with pytest.raises(NotImplementedError, match="on remote:0 of another session"):
            x + y
    assert matrix().to("remote:0").tolist() == x.tolist()  # the outer session is current again
    with pytest.raises(opyard.remote.SessionClosed, match="of this tensor on remote:0 has ended"):
        y + 1
    with pytest.raises(opyard.remote.SessionClosed):
        y.tolist()


def test_X35_no_session_is_said():
    script = """if True:
        import opyard, opyard.remote
        with opyard.remote.session(workers=1):
            x = opyard.ones(2).to("remote:0")
        try:
            opyard.ones(2).to("remote:0")
        except RuntimeError as error:
            print(error)
    """
    ended = run(script, limit=60.0)
    assert "and none is open: open one with opyard.remote.session()" in ended.stdout, ended


def test_X35_wrong_arguments_are_refused_at_once(pipes):
    x = matrix().to("remote:0")
    with pytest.raises(ValueError, match="aten::matmul: self is"):
        x @ x
    with pytest.raises(ValueError, match="does not fit out"):
        aten.add.out(x, x, out=aten.zeros([1], device="remote:0"))
    assert (x + 1).tolist() == (matrix() + 1).tolist()


def test_X35_an_error_reaches_what_depends_on_it_and_nothing_else(pipes):
    x = matrix().to("remote:0")
    far = opyard.tensor([0, 9]).to("remote:0")
    before = x + 1
    failed = aten.index_select(x, 0, far)
    depends = failed * 2
    behind = x * 3
    written = aten.zeros([2, 3], device="remote:0")
    view = written[0]
    written.copy_(depends)
    for tensor in (failed, depends, failed.t() + 1, written, view):
        with pytest.raises(IndexError) as caught:
            tensor.tolist()
        assert caught.value.remote.worker == 0
        assert caught.value.remote.operator == "aten::index_select"
        assert "index_select" in caught.value.remote.traceback
    assert before.tolist() == (matrix() + 1).tolist()
    assert behind.tolist() == (matrix() * 3).tolist()
    later = x + failed  # in a block behind
    with pytest.raises(IndexError):
        later.tolist()
    assert (x + 2).tolist() == (matrix() + 2).tolist()


def test_X35_kernels_that_do_not_agree_are_refused(pipes):
    functions.define_operators()
    for worker in pipes.workers:
        pipes.call(functions.define_operators, worker=worker)
    x = matrix().to("remote:0")
    wrong = opyard.ops.remote_test.wrong_sizes(x)
    assert wrong.shape == (1,)
    with pytest.raises(RuntimeError, match="the two kernels have to agree"):
        wrong.tolist()
    assert (x + 1).tolist() == (matrix() + 1).tolist()


def test_X35_values_end_with_their_tensors(pipes):
    gc.collect()

    def held():
        pipes.call(functions.count_values, worker=0)
        return pipes.call(functions.count_values, worker=0)

    base = held()
    x = matrix().to("remote:0")
    for n in range(volume(2000, 200)):
        y = x * n + 1
        if n % 50 == 0:
            assert y.shape == (2, 3)
    assert y.tolist() == (matrix() * n + 1).tolist()
    del x, y
    gc.collect()
    deadline = time.monotonic() + 20.0
    while held() > base and time.monotonic() < deadline:
        time.sleep(0.05)
    assert held() <= base
    assert len(pipes.counts) == 0 or time.sleep(0.6) is None


def test_X35_threads_record_side_by_side(pipes):
    x = matrix().to("remote:0")
    x.tolist()
    results = {}

    def run(number):
        y = x
        for _ in range(volume(200, 40)):
            y = y * 0.5 + number
        results[number] = y.to("cpu")

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for number, result in results.items():
        assert aten.allclose(result, opyard.full([2, 3], 2.0 * number), atol=1e-4)


def test_X35_a_worker_that_ends_takes_its_tensors_with_it():
    with opyard.remote.session(workers=2, timeout=60.0) as session:
        x, other = matrix().to("remote:0"), matrix().to("remote:1")
        y = x + 1
        assert y.tolist() == (matrix() + 1).tolist()
        with pytest.raises(opyard.remote.WorkerLost):
            session.call(functions.end, worker=0)
        for _ in range(2):
            with pytest.raises(opyard.remote.WorkerLost, match="worker 0"):
                (y * 2).tolist()
        with pytest.raises(opyard.remote.WorkerLost):
            matrix().to("remote:0")
        assert (other + 1).tolist() == (matrix() + 1).tolist()


def test_X35_graphs_that_differ_do_not_add_up(pipes, monkeypatch):
    from opyard._remote import tensors

    monkeypatch.setattr(tensors, "_MOST_BLOCKS", 4)
    x = matrix().to("remote:0")
    for n in range(12):
        assert aten.sum(x.reshape([6]), [0], dtype=opyard.float64).item() == 15.0
        for _ in range(n):
            x = x + 0
        assert x.tolist() == matrix().tolist()
    assert len(pipes._tensors.of(0)._things) <= 4
