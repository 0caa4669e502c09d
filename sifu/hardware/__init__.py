"""Devices, threads, CUDA graphs and streams, and Triton kernels."""
