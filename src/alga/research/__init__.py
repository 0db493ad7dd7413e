"""Experiments: sweeps, studies of the paper's open questions, benchmarks, published baselines."""
