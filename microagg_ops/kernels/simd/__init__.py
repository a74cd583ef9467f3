"""Vector instructions, prefetching and atomics that the compiler does not find by itself."""
