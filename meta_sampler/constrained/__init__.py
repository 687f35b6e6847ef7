"""Language models that write in the grammar of XGL, and the sampler ``local``."""
