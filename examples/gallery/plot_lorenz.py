"""
The Lorenz attractor and the growth of rounding errors
======================================================

Lorenz's three equations describe the weather, and their solutions never repeat. A Runge-Kutta step
is compiled. Then the example follows solutions that differ only by rounding until they have nothing
in common.
"""

# %%
# The equations and the step
# --------------------------
#
# A Runge-Kutta step calls about forty functions. Compiled, it is one program.

import matplotlib.pyplot as plt

import portarray as pa

DT = 0.01


def slope(state):
    x, y, z = state[0], state[1], state[2]
    return pa.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


@pa.compile
def runge_kutta(state):
    """Return the state after one step."""
    k1 = slope(state)
    k2 = slope(state + DT / 2 * k1)
    k3 = slope(state + DT / 2 * k2)
    k4 = slope(state + DT * k3)
    return state + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def solve(state, steps=2500):
    """Return the states of all steps, as rows."""
    states = []
    for _ in range(steps):
        state = runge_kutta(state)
        states.append(state)
    return pa.stack(states)


# %%
# One solution
# ------------

start = pa.asarray([1.0, 1.0, 1.0], dtype=pa.float64, device="numpy")
butterfly = solve(start)

# %%
# The same solution in float32, on every device
# ---------------------------------------------
#
# Devices usually round alike, but some fuse a product and a sum and round once. A difference in the
# eighth digit grows by a factor of ten in 2.5 units of time. No solution is wrong: each solves the
# equations for an initial state that is indistinguishable from the given one.

time = DT * pa.arange(1, 2501, dtype=pa.float64, device="numpy")
apart = {}
for device in pa.devices():
    single = solve(pa.asarray(start, dtype=pa.float32).to_device(device)).to_device("numpy")
    difference = pa.astype(single, pa.float64) - butterfly
    apart[str(device)] = pa.linalg.vector_norm(difference, axis=1)
    far = time[apart[str(device)] > 1]
    print(f"{device!s:20} is off by 1 at time {float(far[0]):.1f}")

# %%
# The picture
# -----------

figure = plt.figure(figsize=(9, 4.5), layout="constrained")
axes_3d = figure.add_subplot(1, 2, 1, projection="3d")
right = figure.add_subplot(1, 2, 2)
axes_3d.plot(*(butterfly[:, n] for n in range(3)), lw=0.5)
axes_3d.set(xlabel="x", ylabel="y", zlabel="z", title="A solution in float64")
axes_3d.set_box_aspect(None, zoom=0.8)
for n, (name, distance) in enumerate(apart.items()):
    right.semilogy(time, distance, ("-", "--", ":", "-.")[n % 4], label=f"float32 on {name}")
right.set(xlabel="time", ylabel="distance from float64", title="Growth of rounding errors")
right.legend(loc="lower right")
plt.show()
