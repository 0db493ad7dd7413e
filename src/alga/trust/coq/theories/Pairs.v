(** Two numbers, the shorter one filled with zeros: every column is a pair of digits. *)

From Alga Require Export Rows.

Definition column_of (pair : byte * byte) : text := [fst pair; snd pair].

Fixpoint pairs_of (n : nat) (r s : text) : list (byte * byte) :=
  match n with
  | O => []
  | S n => (hd zero r, hd zero s) :: pairs_of n (tl r) (tl s)
  end.

Lemma columns_pairs n : forall r s, columns_of [zero] [r; s] n = map column_of (pairs_of n r s).
Proof.
  induction n as [|n IH]; intros r s; [reflexivity|]. cbn [columns_of map pairs_of flat_map]. rewrite IH.
  destruct r, s; reflexivity.
Qed.

Section Pairs.
Variable base : Z.
Hypothesis base_range : 2 <= base <= 36.

Definition digit_pair (pair : byte * byte) : Prop := is_digit base (fst pair) /\ is_digit base (snd pair).

Lemma pairs_digits n : forall r s, Forall (is_digit base) r -> Forall (is_digit base) s ->
  Forall digit_pair (pairs_of n r s).
Proof.
  assert (Z : is_digit base zero) by now apply zero_is_digit.
  induction n as [|n IH]; intros r s R S; constructor.
  - split; simpl; [destruct R|destruct S]; assumption.
  - apply IH; [destruct R|destruct S]; auto; constructor.
Qed.

Lemma pairs_values n : forall r s, (length r <= n)%nat -> (length s <= n)%nat ->
  row_value base (map fst (pairs_of n r s)) = row_value base r /\
  row_value base (map snd (pairs_of n r s)) = row_value base s.
Proof.
  induction n as [|n IH]; intros r s R S.
  - destruct r, s; simpl in *; try lia; auto.
  - destruct (IH (tl r) (tl s)) as [A B]; [destruct r; simpl in *; lia|destruct s; simpl in *; lia|].
    cbn [pairs_of map fst snd row_value fold_right]. fold (row_value base (map fst (pairs_of n (tl r) (tl s)))).
    fold (row_value base (map snd (pairs_of n (tl r) (tl s)))). rewrite A, B.
    destruct r, s; cbn [hd tl row_value fold_right]; rewrite ?digit_zero; auto; split; try reflexivity; lia.
Qed.

(** The columns of two numbers, as pairs of digits; above stands the first number, below the second. *)
Lemma columns_are_pairs a b : number base a -> number base b ->
  exists pairs, columns_from_right [zero] [a; b] = map column_of pairs /\ pairs <> [] /\
    Forall digit_pair pairs /\
    row_value base (map fst pairs) = value base a /\ row_value base (map snd pairs) = value base b.
Proof.
  intros A B. set (r := rev (without_zeros a)). set (s := rev (without_zeros b)).
  exists (pairs_of (longest [r; s]) r s).
  assert (L : (length r <= longest [r; s])%nat /\ (length s <= longest [r; s])%nat /\ longest [r; s] <> O).
  { assert (r <> []).
    { intros E. pose proof (rows_full base base_range [a] ltac:(constructor; [exact A|constructor])) as F.
      inversion F; subst. now apply H1. }
    rewrite !longest_cons. cbn [longest fold_right]. destruct r; [congruence|]. cbn [length]. lia. }
  destruct L as (L1 & L2 & L3).
  split; [apply (columns_pairs (longest [r; s]) r s)|]. split.
  { destruct (longest [r; s]); [congruence|discriminate]. }
  split; [apply pairs_digits; apply Forall_rev; now apply (without_zeros_number base base_range)|].
  destruct (pairs_values (longest [r; s]) r s L1 L2) as [-> ->].
  rewrite <- !value_rev. unfold r, s. rewrite !rev_involutive.
  rewrite !without_zeros_value by (apply A || apply B || exact base_range). auto.
Qed.

Variables (prompt_ : option text -> text -> text) (step_ : option text -> text -> text).

(** A procedure on such columns. *)
Definition on_pairs : procedure := {|
  settings := [[]];
  first := fun _ => first_columns base 2;
  following := fun _ => first_columns base 2;
  prompt := prompt_;
  step := step_
|}.

Lemma on_pairs_admissible pairs : pairs <> [] -> Forall digit_pair pairs -> admissible on_pairs (map column_of pairs).
Proof.
  intros N F. exists []. split; [now left|].
  assert (G : Forall (fun c => In c (first_columns base 2)) (map column_of pairs)).
  { apply Forall_map. eapply Forall_impl; [|exact F]. intros [x y] [X Y].
    apply full_In; [lia|repeat constructor; assumption|reflexivity]. }
  destruct pairs; [congruence|]. inversion G; subst. split; assumption.
Qed.

End Pairs.
