"""How details are measured on an agent that can be told what to do, whatever framework it is of."""
