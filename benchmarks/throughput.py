"""How fast the sequential engine adds many sums side by side, against the plain procedure.

The plain procedure is the paper's: one problem at a time, batch 1, everything recomputed for each generated token, in
inference mode. It runs on one thread and on as many as the engine may use, before and after the engine, and its best
figure counts. Both give the same answers.

    make bench-throughput
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from alga import evaluation
from alga.calculator import Calculator, load
from alga.tokens import START, STOP_ID


@torch.inference_mode()
def plainly(calculator: Calculator, *operands: str) -> str:
    """Add by the plain procedure."""
    task, tokens, model = calculator.task, calculator.run.config.tokens, calculator.run.model
    outputs: list[str] = []
    for column in task.columns(*operands):
        prompt = task.prompt(outputs[-1] if outputs else None, column)
        ids = [*tokens.prompts([prompt])[0], tokens.ids[START]]
        written: list[int] = []
        while STOP_ID not in written and len(written) < tokens.output_length:
            logits = model(torch.tensor([ids + written]))
            written.append(int(logits[0, -1].argmax()))
        outputs.append(tokens.output(tokens.text(written)) or "")
    return task.read(outputs)


def main() -> None:
    parser = argparse.ArgumentParser(description="The sequential engine over a batch against the plain procedure.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--max-digits", type=int, default=1000)
    parser.add_argument("--plain-digits", type=int, default=2000, help="digits that the plain procedure adds")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    calculator = load()
    problems = evaluation.draw(
        calculator.task, count=options.count, max_digits=options.max_digits, families=["uniform"]
    )
    plainly(calculator, "123", "456")  # warm
    some, digits = [], 0
    for problem in problems:
        some.append(problem)
        digits += problem.digits
        if digits >= options.plain_digits:
            break
    threads = torch.get_num_threads()
    rates: list[float] = []

    def time_plain() -> list[str]:
        answers: list[str] = []
        for count in (1, threads):
            torch.set_num_threads(count)
            began = time.perf_counter()
            answers = [plainly(calculator, *problem.operands) for problem in some]
            rates.append(digits / (time.perf_counter() - began))
        return answers

    time_plain()
    began = time.perf_counter()
    result = evaluation.evaluate(calculator, problems, engine="sequential")
    batched = sum(problem.digits for problem in problems) / (time.perf_counter() - began)
    plain_answers = time_plain()
    plain = max(rates)
    assert plain_answers == [outcome.answer.answer for outcome in result.outcomes[: len(some)]]
    figures = {
        "problems": len(problems),
        "accuracy": result.as_dict()["accuracy"],
        "plain_digits_per_second": round(plain),
        "plain_runs": [round(rate) for rate in rates],
        "sequential_digits_per_second": round(batched),
        "ratio": round(batched / plain, 1),
        "threads": threads,
    }
    print(json.dumps(figures, indent=2))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
