"""Helpers of several families of probes of TorchRL; no module here has probes."""
