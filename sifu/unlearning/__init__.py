"""Sequential unlearning: requests, the history, the server, and the interface of a method."""
