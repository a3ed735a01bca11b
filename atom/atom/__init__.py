"""The reference plugin: ATOM's entry points, switches and module paths, without its kernels."""
