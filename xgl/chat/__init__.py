"""OpenAI-compatible endpoints: settings, one request, many requests with retries, what they cost.

Who asks for what is another's business: players (``xgl.players.chat``) ask for moves,
meta-samplers for games.
"""
