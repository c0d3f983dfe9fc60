"""What several families of probes drive TorchRL with; nothing here is a probe table."""
