"""Models: scikit-learn's predict on every device, and PyTorch's make a round trip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import portarray as pa

_rng = np.random.default_rng(3)
SAMPLES = _rng.normal(size=(60, 5))
TARGET = SAMPLES @ np.arange(1.0, 6)
LABELS = (TARGET > 0).astype(np.int64)


def fitted(name: str) -> tuple[Any, str]:
    """Return a pipeline fitted on NumPy arrays, and the name of its prediction method."""
    pytest.importorskip("sklearn")
    from sklearn import decomposition, linear_model, pipeline, preprocessing

    first = preprocessing.StandardScaler(), decomposition.PCA(3, svd_solver="full")
    last, target, method = {
        "ridge": (linear_model.Ridge(solver="svd"), TARGET, "predict"),
        "logistic": (linear_model.LogisticRegression(), LABELS, "predict_proba"),
        "classes": (linear_model.LogisticRegression(), LABELS, "predict"),
        "names": (linear_model.LogisticRegression(), np.asarray(["no", "yes"])[LABELS], "predict"),
    }[name]
    return pipeline.make_pipeline(*first, last).fit(SAMPLES, target), method


@pytest.mark.parametrize("name", ["ridge", "logistic", "classes", "names"])
def test_a_fitted_model_predicts_on_every_device(name: str, device: str) -> None:
    model, method = fitted(name)
    from sklearn import config_context

    expected = getattr(model, method)(SAMPLES)
    moved = pa.to_device(model, device, native=False, narrow=True)
    rows = pa.asarray(SAMPLES, device=device, narrow=True)
    with config_context(array_api_dispatch=True):
        answer = getattr(moved, method)(rows)
    if name == "names":  # names are no numbers: they stay NumPy's
        np.testing.assert_array_equal(answer, expected)
    else:
        assert type(answer) is pa.Array
        assert str(answer.device) == device
        result = np.asarray(answer.to_device("numpy").native)
        tolerance = float(np.finfo(str(rows.dtype)).eps) * 64
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)
    # What was fitted is as it was.
    np.testing.assert_array_equal(getattr(model, method)(SAMPLES), expected)
    assert type(model[-1].coef_) is np.ndarray


def test_the_state_of_a_model_to_numpy_and_back() -> None:
    torch = pytest.importorskip("torch")
    if not pa.functional("torch"):
        pytest.skip("PyTorch is not functional here")

    class Tied(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(7, 4)
            self.norm = torch.nn.BatchNorm1d(4)
            self.head = torch.nn.Linear(4, 7, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, x: Any) -> Any:
            return self.head(self.norm(self.embed(x)))

    model = Tied().eval()
    state = model.state_dict(keep_vars=False)
    state["head.weight"] = state["embed.weight"]  # PyTorch makes two tensors of one parameter
    values = pa.to_device(state, "numpy")
    assert type(values) is type(state)
    assert list(values) == list(state)
    assert {type(x) for x in values.values()} == {np.ndarray}
    assert values["head.weight"] is values["embed.weight"]
    # What PyTorch notes on it goes along: the versions of the modules.
    assert values._metadata == state._metadata
    back = pa.to_device(values, "torch")
    assert back["head.weight"] is back["embed.weight"]
    assert all(torch.equal(back[name], state[name]) for name in state)
    restored = Tied().eval()
    restored.load_state_dict(back)
    tokens = torch.arange(7)
    assert torch.equal(restored(tokens), model(tokens))
    assert restored.head.weight is restored.embed.weight


def test_the_state_of_a_model_on_every_device(device: str) -> None:
    torch = pytest.importorskip("torch")
    if not pa.functional("torch"):
        pytest.skip("PyTorch is not functional here")
    layer = torch.nn.Linear(3, 2)
    state = layer.state_dict()
    moved = pa.to_device(state, device, native=False, narrow=True)
    x = pa.asarray(np.ones((4, 3), np.float32), device=device)
    answer = x @ moved["weight"].mT + moved["bias"]
    expected = layer(torch.ones(4, 3)).detach().numpy()
    np.testing.assert_allclose(
        np.asarray(answer.to_device("numpy").native), expected, rtol=1e-5, atol=1e-6
    )
    back = pa.to_device(moved, "torch", native=True)
    assert all(torch.equal(back[name], state[name]) for name in state)
