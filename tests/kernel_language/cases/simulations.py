"""Small whole programs: particles, random numbers, equations, prices, calendars."""

from __future__ import annotations

import math

import numpy as np
from cases.case import Case
from scipy.special import ndtr

import portarray as pa
import portarray.kernel_language as kl


@pa.kernel.function
def mixed(x):
    """Return a hash of 32 bits."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


def forces(ax, ay, x, y, mass, softening):
    i = kl.index()
    fx = 0.0
    fy = 0.0
    for j in range(x.shape[0]):
        dx = x[j] - x[i]
        dy = y[j] - y[i]
        d2 = dx * dx + dy * dy + softening
        scale = mass[j] / (d2 * math.sqrt(d2))
        fx += dx * scale
        fy += dy * scale
    ax[i] = fx
    ay[i] = fy


def points_in_circle(hits, seed, tries):
    i = kl.index()
    count = 0
    for k in range(tries):
        a = mixed(kl.uint32(i * tries + k) ^ seed)
        b = mixed(a + 0x9E3779B9)
        x = kl.float32(a >> 8) * 5.9604644775390625e-08
        y = kl.float32(b >> 8) * 5.9604644775390625e-08
        if x * x + y * y < 1.0:
            count += 1
    kl.atomic_add(hits, 0, count)


def random_walk(y, steps):
    i = kl.index()
    state = kl.uint32(i) * 2654435761 + 1
    position = 0
    for _ in range(steps):
        state ^= state << 13
        state ^= state >> 17
        state ^= state << 5
        position += 1 if state & 1 == 1 else -1
    y[i] = position


def option_prices(call, put, spot, strike, years, rate, volatility):
    i = kl.index()
    root = volatility * math.sqrt(years[i])
    up = math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]
    d1 = up / root
    d2 = d1 - root
    discounted = strike[i] * math.exp(-rate * years[i])
    n1 = 0.5 * math.erfc(-d1 * 0.7071067811865476)
    n2 = 0.5 * math.erfc(-d2 * 0.7071067811865476)
    call[i] = spot[i] * n1 - discounted * n2
    put[i] = discounted * (1.0 - n2) - spot[i] * (1.0 - n1)


def newton_roots(y, x):
    i = kl.index()
    guess = x[i]
    steps = 0
    while abs(guess * guess - x[i]) > 1e-12 * x[i] and steps < 60:
        guess = 0.5 * (guess + x[i] / guess)
        steps += 1
    y[i] = guess


def simpson(y, n):
    i = kl.index()
    width = kl.float64(i + 1) / n
    total = kl.float64(0)
    for k in range(n + 1):
        x = k * width
        weight = 1 if k == 0 or k == n else 4 if k % 2 == 1 else 2
        total += weight * math.sin(x)
    y[i] = total * width / 3


def runge_kutta(state, rate, h, steps):
    i = kl.index()
    x, v = state[i, 0], state[i, 1]
    for _ in range(steps):
        a1, b1 = v, -rate * x
        a2, b2 = v + 0.5 * h * b1, -rate * (x + 0.5 * h * a1)
        a3, b3 = v + 0.5 * h * b2, -rate * (x + 0.5 * h * a2)
        a4, b4 = v + h * b3, -rate * (x + h * a3)
        x += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        v += h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    state[i, 0] = x
    state[i, 1] = v


def calendar(year, month, day, days):
    i = kl.index()
    z = days[i] + 719468
    era = z // 146097
    doe = z % 146097
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    m = mp + 3 if mp < 10 else mp - 9
    year[i] = yoe + era * 400 + (1 if m <= 2 else 0)
    month[i] = m
    day[i] = doy - (153 * mp + 2) // 5 + 1


def normal_floats(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def _forces(ax, ay, x, y, mass, softening):
    places = x.astype(np.float64) + 1j * y
    apart = places - places[:, None]
    d2 = abs(apart) ** 2 + softening
    force = (apart * mass / d2**1.5).sum(axis=1)
    return force.real.astype(np.float32), force.imag.astype(np.float32)


def _hash(x):
    x = (x ^ (x >> np.uint64(16))) * np.uint64(0x7FEB352D) % 2**32
    x = (x ^ (x >> np.uint64(15))) * np.uint64(0x846CA68B) % 2**32
    return x ^ (x >> np.uint64(16))


def _circle(hits, seed, tries):
    a = _hash(np.arange(50 * tries, dtype=np.uint64) ^ np.uint64(seed))
    b = _hash((a + np.uint64(0x9E3779B9)) % 2**32)
    x, y = ((v >> np.uint64(8)).astype(np.float32) / np.float32(2**24) for v in (a, b))
    return (hits + np.int32((x * x + y * y < 1).sum()),)


def _walk(y, steps):
    places = []
    for i in range(y.size):
        state, position = (i * 2654435761 + 1) % 2**32, 0
        for _ in range(steps):
            state ^= state * 2**13 % 2**32
            state ^= state // 2**17
            state ^= state * 32 % 2**32
            position += 2 * (state % 2) - 1
        places.append(position)
    return (np.array(places, np.int32),)


def _options(call, put, spot, strike, years, rate, volatility):
    spot, strike, years = (v.astype(np.float64) for v in (spot, strike, years))
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + rate * years) / root + root / 2
    later = strike * np.exp(-rate * years)
    price = spot * ndtr(d1) - later * ndtr(d1 - root)
    return price.astype(np.float32), (price - spot + later).astype(np.float32)


def _oscillation(state, rate, h, steps):
    step = np.array([[0, 1], [-rate, 0]]) * h
    once = np.eye(2)
    term = np.eye(2)
    for k in range(1, 5):  # the series of the exponential as far as the method goes
        term = term @ step / k
        once = once + term
    return (state @ np.linalg.matrix_power(once, steps).T,)


def _calendar(year, month, day, days):
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    return (
        (dates.astype("datetime64[Y]").astype(np.int64) + 1970).astype(np.int32),
        (months.astype(np.int64) % 12 + 1).astype(np.int32),
        ((dates - months).astype(np.int64) + 1).astype(np.int32),
    )


CASES = [
    Case(
        forces,
        lambda rng: (
            np.zeros(40, np.float32),
            np.zeros(40, np.float32),
            normal_floats(rng, 40),
            normal_floats(rng, 40),
            rng.uniform(0.5, 1, 40).astype(np.float32),
            0.01,
        ),
        _forces,
        tolerance=1e-5,
    ),
    Case(
        points_in_circle,
        lambda rng: (np.zeros(1, np.int32), 20240229, 40),
        _circle,
        ndrange=(50,),
    ),
    Case(random_walk, lambda rng: (np.zeros(70, np.int32), 100), _walk),
    Case(
        option_prices,
        lambda rng: (
            np.zeros(50, np.float32),
            np.zeros(50, np.float32),
            rng.uniform(80, 120, 50).astype(np.float32),
            rng.uniform(80, 120, 50).astype(np.float32),
            rng.uniform(0.2, 2, 50).astype(np.float32),
            0.03,
            0.25,
        ),
        _options,
        tolerance=1e-5,
    ),
    Case(
        newton_roots,
        lambda rng: (np.zeros(50), rng.uniform(0.1, 1000, 50)),
        lambda y, x: (np.sqrt(x),),
        tolerance=1e-12,
    ),
    Case(
        simpson,
        lambda rng: (np.zeros(5), 200),
        lambda y, n: (1 - np.cos(np.arange(1.0, 6)),),
        tolerance=1e-7,
    ),
    Case(
        runge_kutta,
        lambda rng: (rng.standard_normal((8, 2)), 2.0, 0.05, 40),
        _oscillation,
        ndrange=(8,),
        tolerance=1e-12,
    ),
    Case(
        calendar,
        lambda rng: (
            np.zeros(100, np.int32),
            np.zeros(100, np.int32),
            np.zeros(100, np.int32),
            rng.integers(-800_000, 800_000, 100).astype(np.int32),
        ),
        _calendar,
    ),
]
