"""Images and labels, their partition among clients, and the marks that clients put on their images."""
