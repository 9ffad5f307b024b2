"""
Which step for a derivative? None, with gradients
=================================================

A derivative can be approximated by the difference of two values. A large step is wrong because
the function is not straight, and a small one because its values are rounded. The best step lies
between, and still loses half of the digits. :func:`portarray.grad` needs no step.
"""

# %%
# Differences
# -----------
#
# The function is a composition that nobody likes to differentiate by hand. The reference is its
# gradient in float64.

import matplotlib.pyplot as plt

import portarray as pa


def f(x):
    """Return one number, from one number."""
    return pa.exp(pa.sin(3 * x)) / pa.sqrt(1 + x * x)


exact = float(pa.grad(f)(pa.asarray(1.0, dtype=pa.float64, device="numpy")))
steps = [2.0**-n for n in range(1, 45)]


def difference_errors(device, dtype):
    """Return the error of central differences, for each step."""
    x = pa.asarray(1.0, dtype=dtype, device=device)
    estimates = (float((f(x + h) - f(x - h)) / (2 * h)) for h in steps)
    return [abs(estimate / exact - 1) for estimate in estimates]


# %%
# Gradients
# ---------
#
# Every device has float32; float64 is refused by name where it is missing, as it is on some GPUs.

derivatives = {}
for device in pa.devices():
    for dtype in (pa.float32, pa.float64):
        try:
            x = pa.asarray(1.0, dtype=dtype, device=device)
        except pa.DTypeNotSupportedError as error:
            print(error)
            continue
        error_of_grad = abs(float(pa.grad(f)(x)) / exact - 1)
        derivatives[f"{x.dtype} on {device}"] = error_of_grad, difference_errors(device, dtype)
        print(f"{device!s:20} {x.dtype!s:8} error of the gradient {error_of_grad:.1e}")

# %%
# The picture
# -----------
#
# From the right the error falls with the square of the step. Then rounding takes over, which
# grows as the step shrinks, until both values are equal and the difference is zero. The stars are
# the gradients; an error of zero is drawn at the bottom.

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
for n, (name, (error_of_grad, errors)) in enumerate(derivatives.items()):
    colour = "C0" if name.startswith("float32") else "C1"
    style = ("-", "--", ":", "-.")[n // 2 % 4]
    axes.loglog(steps, errors, style, color=colour, label=f"differences, {name}")
    axes.plot(1e-14, max(error_of_grad, 1e-17), "*", color=colour, mec="black", ms=14)
axes.plot([], [], "k*", ms=10, ls="", label="gradients, without a step")
axes.set(xlabel="step", ylabel="relative error", title="The error of a derivative")
axes.set_ylim(3e-18, 10)
axes.legend(loc="lower right", fontsize=9)
plt.show()
