"""What every sampler asks of a candidate before it is proposed."""
