(** What the theorems say: every definition that a statement rests on, printed. *)

From Alga Require Import NetworkAddition32 Rounding.

Print digit. Print number. Print value. Print canonical. Print without_zeros.
Print procedure. Print marked_prompt. Print walk. Print answered.
Print columns_of. Print columns_from_right. Print read_from_right. Print read_addition.
Print entry. Print by_table.
Print adds.
Print gauss. Print erf. Print gelu.
Print weights. Print embedded. Print raised. Print taken. Print logits_by. Print logits.
Print real_of_bits. Print weights_in.
Print best. Print encoded. Print generates. Print writes.
Print network_adds.
Print rounded. Print gamma. Print near. Print summed. Check summed_near. Check nearest_rounded.
Print embedding_terms. Print attended_terms. Print exp32. Print gelu32. Print layer32. Print logits32.
Print largest. Print generates32. Print writes32.
Print network32_adds.
