(** What the theorems say: every definition that a statement rests on, printed. *)

From Alga Require Import NetworkAddition.

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
