"""Drivers: agents of TorchRL's parts that measurements control."""
