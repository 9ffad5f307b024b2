"""
The spectrogram of a sound
==========================

Which frequencies are in a sound, and when? Cut it into short pieces, taper each of them, and
take the Fourier transform of all pieces in one call of :func:`portarray.fft.rfft`. The function
that does this is written against the standard, and runs on every device.
"""

# %%
# The sound
# ---------
#
# Two seconds: a siren that rises from 300 to 3000 Hz, a steady tone with two overtones, and a
# little noise. Random numbers depend on their key alone, and are the same on every device.

import matplotlib.pyplot as plt

import portarray as pa

RATE = 8000  # samples per second

time = pa.arange(2 * RATE, dtype=pa.float32, device="numpy") / RATE
siren = pa.sin(2 * pa.pi * (300 * time + 675 * time**2))
tone = sum(pa.sin(2 * pa.pi * 440 * n * time) / n for n in (1, 2, 3))
noise = pa.random.normal(pa.random.key(0, device="numpy"), time.shape, dtype=pa.float32)
sound = siren + 0.5 * tone + 0.1 * noise

# %%
# The function
# ------------
#
# A window of 512 samples moves by 64. The index array has a row for each piece, so that
# ``sound[places]`` is a matrix of pieces. What is created names its device, that of the sound.


def spectrogram(sound, width=512, hop=64):
    """Return the power of each frequency (rows) at each time (columns), in decibels."""
    xp, device = sound.__array_namespace__(), sound.device
    starts = xp.arange(0, sound.shape[0] - width, hop, device=device)
    places = starts[:, None] + xp.arange(width, device=device)
    turn = xp.arange(width, dtype=sound.dtype, device=device) * (2 * xp.pi / width)
    hann = 0.5 - 0.5 * xp.cos(turn)
    spectrum = xp.fft.rfft(sound[places] * hann, axis=1)
    return 20 * xp.log10(xp.abs(spectrum).T + 1e-3)


# %%
# On every device
# ---------------
#
# The largest difference between two devices is far below what anybody hears.

power = spectrogram(sound)
for device in pa.devices():
    on_device = spectrogram(sound.to_device(device)).to_device("numpy")
    print(f"{device!s:20} differs by {float(pa.max(pa.abs(on_device - power))):.4f} dB at most")

# %%
# The picture
# -----------

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
image = axes.imshow(
    power, origin="lower", aspect="auto", extent=(0, 2, 0, RATE / 2), vmin=-20, cmap="magma"
)
axes.set(xlabel="time [s]", ylabel="frequency [Hz]", title="A siren and three tones")
figure.colorbar(image, label="power [dB]")
plt.show()
