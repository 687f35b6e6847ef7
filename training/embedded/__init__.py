"""The embedded model: its data, its training and its checks."""
