"""Images and labels, who holds which of them, and the marks that clients put on them."""
