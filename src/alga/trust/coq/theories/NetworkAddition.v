(** For all numbers of any length: the network's greedy decoding, through the loop, writes their sum. *)

From Alga Require Export Addition Greedy.

(** The network adds, and on every prompt of the table it writes the table's output and nothing else. *)
Definition network_adds (base : Z) (rows_ : nat) (fill mark : text) (a : alphabet) (w : weights Z)
    (table : list (text * text)) : Prop :=
  adds base rows_ fill mark (writes a w) /\
  forall p o, In (p, o) table -> forall t, writes a w p t <-> t = o.

Theorem network_table_adds base rows_ fill mark a w table :
  addition_fits base rows_ fill && checked (addition base rows_ fill mark) table && surely_writes_table a w table
    = true ->
  network_adds base rows_ fill mark a w table.
Proof.
  intros [[F [C A]%andb_true_iff]%andb_true_iff S]%andb_true_iff. split.
  - apply addition_fits_adds; [exact F|exact C|]. exact (network_right a w _ table A S).
  - now apply writes_table.
Qed.
