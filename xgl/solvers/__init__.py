"""How well a game can be played at all: search for moves with the judge at hand
(docs/specification.md, "Ceilings")."""
