(** For all numbers of any length: every run of the network in float32, in any order of summation, writes their sum. *)

From Alga Require Export NetworkAddition Greedy32.

(** Some run exists, and whatever run answers each prompt, the loop's answer is the sum. *)
Definition network32_adds (base : Z) (rows_ : nat) (fill mark : text) (a : alphabet) (w : weights Z)
    (table : list (text * text)) : Prop :=
  adds base rows_ fill mark (writes32 a w) /\
  forall p o, In (p, o) table -> forall t, writes32 a w p t <-> t = o.

Theorem network32_table_adds base rows_ fill mark a w table :
  addition_fits base rows_ fill && checked (addition base rows_ fill mark) table && surely_writes_table32 a w table
    = true ->
  network32_adds base rows_ fill mark a w table.
Proof.
  intros [[F [C A]%andb_true_iff]%andb_true_iff S]%andb_true_iff. split.
  - apply addition_fits_adds; [exact F|exact C|]. exact (network_right32 a w _ table A S).
  - now apply writes_table32.
Qed.
