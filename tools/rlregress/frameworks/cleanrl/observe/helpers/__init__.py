"""What several families of probes drive CleanRL's scripts with; nothing here is a probe table."""
