"""The paper's toy model (§6.1.2): games are vectors of skills, transfer values are exact."""
