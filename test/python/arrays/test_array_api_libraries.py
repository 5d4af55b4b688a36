"""test_array_api_libraries.py: libraries that take arrays of the array API take tensors.

Suspect the function of opyard.array_api that the traceback names. Each test needs its library;
SciPy and scikit-learn dispatch only if SCIPY_ARRAY_API=1 is set when they are imported.
"""

import pytest

import opyard
import opyard.array_api as xp

pytestmark = pytest.mark.once


def test_array_api_compat():
    compat = pytest.importorskip("array_api_compat")
    x = xp.ones((2, 3))
    assert compat.array_namespace(x, x) is xp and compat.is_array_api_obj(x)
    assert compat.device(x) == opyard.device("cpu") and compat.size(x) == 6
    assert compat.to_device(x, "cpu") is x


def test_scipy(run_program):
    pytest.importorskip("scipy")
    done = run_program(
        """
        import os
        os.environ["SCIPY_ARRAY_API"] = "1"
        import numpy as np, opyard
        import scipy.cluster.vq, scipy.fft, scipy.integrate, scipy.signal, scipy.special
        import scipy.stats
        a = np.random.default_rng(3).random((6, 3))
        x = opyard.tensor(a)
        calls = [
            lambda x: scipy.fft.fft(x),
            lambda x: scipy.fft.rfft(x, axis=0),
            lambda x: scipy.special.logsumexp(x, axis=0),
            lambda x: scipy.special.softmax(x, axis=1),
            lambda x: scipy.special.erf(x),
            lambda x: scipy.stats.skew(x),
            lambda x: scipy.stats.kurtosis(x, axis=1),
            lambda x: scipy.stats.zscore(x),
            lambda x: scipy.stats.ttest_1samp(x, 0.5).pvalue,
            lambda x: scipy.stats.gmean(x),
            lambda x: scipy.cluster.vq.whiten(x),
            lambda x: scipy.integrate.trapezoid(x, dx=0.1),
            lambda x: scipy.signal.detrend(x[:, 0]),
        ]
        for call in calls:
            found, expected = call(x), call(a)
            assert type(found) is opyard.Tensor, call
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)
        print("done")
        """
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_scikit_learn(run_program):
    pytest.importorskip("sklearn")
    done = run_program(
        """
        import os
        os.environ["SCIPY_ARRAY_API"] = "1"
        import numpy as np, opyard, sklearn
        from sklearn.decomposition import PCA
        from sklearn.linear_model import Ridge
        from sklearn.metrics import mean_squared_error, r2_score
        from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
        from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
        a = np.random.default_rng(3).random((6, 3))
        x = opyard.tensor(a)
        calls = [
            lambda x: StandardScaler().fit_transform(x),
            lambda x: MinMaxScaler().fit_transform(x),
            lambda x: MaxAbsScaler().fit_transform(x),
            lambda x: Ridge(solver="svd").fit(x, x[:, 0]).predict(x),
            lambda x: PCA(2, svd_solver="full").fit(x).explained_variance_,
            lambda x: euclidean_distances(x, x),
            lambda x: cosine_similarity(x),
        ]
        with sklearn.config_context(array_api_dispatch=True):
            for call in calls:
                found, expected = call(x), call(a)
                assert type(found) is opyard.Tensor, call
                np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)
            for score in (mean_squared_error, r2_score):
                found, expected = score(x[:, 0], x[:, 1]), score(a[:, 0], a[:, 1])
                assert type(found) is float and abs(found - expected) < 1e-12
        print("done")
        """
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
