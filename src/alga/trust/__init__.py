"""Evidence that a network is right: its table of outputs, the certificate, rounding proofs and their verification."""
