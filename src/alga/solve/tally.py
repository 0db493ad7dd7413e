"""The cost of an operation that takes several problems, and the certificates that it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field

from alga.solve.result import Result
from alga.trust.certificate import Certificate


@dataclass
class Tally:
    """The cost of an operation's problems so far, and the certificates they rest on."""

    engine: str = ""
    step_count: int = 0
    rounds: int = 0
    generated_tokens: int = 0
    network_calls: int = 0
    failure: str = ""
    uncertain: str | None = None
    networks: dict[str, str] = field(default_factory=dict)
    certificates: dict[str, Certificate] = field(default_factory=dict)

    def add(self, part: Result) -> None:
        """Count one problem. A network is certified only if it was at each of its problems, by the same certificate."""
        self.engine, self.failure = part.engine, part.failure
        self.step_count += part.step_count
        self.rounds += part.rounds
        self.generated_tokens += part.generated_tokens
        self.network_calls += part.network_calls
        self.uncertain = self.uncertain or part.uncertain
        for name, task in part.networks.items():
            first, certificate = name not in self.networks, part.certificates.get(name)
            self.networks.setdefault(name, task)
            if certificate is not None and (first or self.certificates.get(name) == certificate):
                self.certificates[name] = certificate
            else:
                self.certificates.pop(name, None)
