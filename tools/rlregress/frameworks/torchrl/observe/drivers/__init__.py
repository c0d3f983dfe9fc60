"""Drivers: agents of TorchRL's parts that measurements tell what to do."""
