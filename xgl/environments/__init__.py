"""Games for other training and evaluation frameworks. The classes of a framework are in the files
that ``archive export`` writes; this package has the code that they share, which needs no
framework."""
