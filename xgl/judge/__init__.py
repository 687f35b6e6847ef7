"""The judge: scores, truths and the texts of maps (paper §2.2.2, §2.4.3)."""
