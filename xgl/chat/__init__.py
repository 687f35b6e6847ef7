"""OpenAI-compatible endpoints: settings, one request, many requests with retries, what they cost.

Players (``xgl.players.chat``) request moves with it, meta-samplers games.
"""
