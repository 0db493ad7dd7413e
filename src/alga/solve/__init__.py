"""From operands to an answer: engines that chain steps, and the calculators that people call."""
