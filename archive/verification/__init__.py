"""Does an archive fit together? Hashes, references, and scopes and decisions taken again."""

from archive.verification.findings import Finding, Verification
from archive.verification.whole import verify

__all__ = ["Finding", "Verification", "verify"]
