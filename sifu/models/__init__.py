"""Networks for one batch of images, and their weights as flat rows."""
