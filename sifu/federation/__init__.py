"""FedAvg for many seeds at once: rounds, stop rules, evaluation, what a training leaves behind."""
