"""Games for other people's training and evaluation frameworks. The classes of a framework are in
what ``archive export`` writes; here is what they share, which needs none of them."""
