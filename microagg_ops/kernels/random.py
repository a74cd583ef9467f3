"""A random generator for compiled loops: xoshiro256++, its state an array of (4,) uint64."""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel


@kernel
def seeded(seed, stream):
    """Start a generator; streams of one seed are independent of each other."""
    state = np.empty(4, np.uint64)
    x = np.uint64(seed) + np.uint64(stream) * np.uint64(0xD1342543DE82EF95)
    for i in range(4):
        x += np.uint64(0x9E3779B97F4A7C15)
        z = x
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state[i] = z ^ (z >> np.uint64(31))
    return state


@kernel
def bits(state):
    """Return 64 random bits."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    total = s0 + s3
    result = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    state[1] = s1 ^ s2
    state[0] = s0 ^ s3
    state[2] = s2 ^ shifted
    state[3] = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return result


@kernel
def uniform(state):
    """Return a float64 from [0, 1)."""
    return float(bits(state) >> np.uint64(11)) * 2.0**-53


@kernel
def below(state, n):
    """Return an integer from 0 to n - 1; n is far below 2**53."""
    return int(uniform(state) * n)


@kernel
def shuffle(state, values):
    """Shuffle values in place."""
    for i in range(len(values) - 1, 0, -1):
        j = below(state, i + 1)
        values[i], values[j] = values[j], values[i]
