"""The paper's two traces, to the letter."""

from __future__ import annotations

FIRST = """\
      Autoregressive generation to compute: 65785+8765
       1ª) INPUT: 55    generates three OUTPUTS: 10S
       2ª) INPUT: 10C86 generates three OUTPUTS: 15S
       3ª) INPUT: 15C77 generates three OUTPUTS: 15S
       4ª) INPUT: 15C58 generates three OUTPUTS: 14S
       5ª) INPUT: 14C6  generates two   OUTPUTS: 7S
Read the last digits of each block of outputs from bottom to top
   including all digits of the 5ª line (the last generation)
                      Final answer: 74550"""


# The paper writes "4º" in the last but one line here and "5ª" there above; we write ª in both.
SECOND = """\
      Autoregressive generation to compute: 9582+9261
       1ª) INPUT: 21    generates two   OUTPUTS: 3S
       2ª) INPUT: 3C86  generates three OUTPUTS: 14S
       3ª) INPUT: 14C52 generates two   OUTPUTS: 8S
       4ª) INPUT: 8C99  generates three OUTPUTS: 18S
Read the last digits of each block of outputs from bottom to top
   including all digits of the 4ª line (the last generation)
                      Final answer: 18843"""
