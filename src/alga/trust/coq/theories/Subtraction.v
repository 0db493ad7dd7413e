(** Subtraction of a number that is no larger: a digit, with a [-] before it where the step had to borrow. *)

From Alga Require Export Pairs.

Definition minus : byte := x2d.

Definition borrow (before : option text) : Z :=
  match before with
  | Some (c :: _) => if Byte.eqb c minus then 1 else 0
  | _ => 0
  end.

Definition subtract_step (base : Z) (before : option text) (column : text) : text :=
  match column with
  | [x; y] =>
      let difference := digit x - digit y - borrow before in
      let d := character (difference mod base) in
      if difference <? 0 then [minus; d] else [d]
  | _ => []
  end.

Definition subtraction (base : Z) (mark : text) : procedure :=
  on_pairs base (marked_prompt mark) (subtract_step base).

Definition read_subtraction (outputs : list text) : text :=
  without_zeros (read_from_right last_character last_character outputs).

Definition subtracts (base : Z) (mark : text) (answers : answerer) : Prop :=
  forall a b, number base a -> number base b -> value base b <= value base a ->
  exists answer,
    canonical base answer /\ value base answer = value base a - value base b /\
    forall t, answered (subtraction base mark) answers (columns_from_right [zero] [a; b]) read_subtraction t
      <-> t = answer.

Section Subtracting.
Variables (base : Z) (mark : text).
Hypothesis base_range : 2 <= base <= 36.

Let P := subtraction base mark.
Let read := read_from_right last_character last_character.

(** The digits spell the difference, up to the borrow that the last step leaves. *)
Lemma subtracting pairs : forall before, pairs <> [] -> Forall (digit_pair base) pairs ->
  exists left, 0 <= left <= 1 /\
    value base (read (exact P before (map column_of pairs))) =
      row_value base (map fst pairs) - row_value base (map snd pairs) - borrow before
      + left * base ^ Z.of_nat (length pairs) /\
    Forall (is_digit base) (read (exact P before (map column_of pairs))) /\
    length (read (exact P before (map column_of pairs))) = length pairs.
Proof.
  induction pairs as [|[x y] later IH]; [congruence|]. intros before _ F. inversion F as [|? ? [X Y] G]; subst.
  cbn [map exact]. set (o := step P before (column_of (x, y))).
  set (d := digit x - digit y - borrow before).
  assert (B : 0 <= borrow before <= 1) by (destruct before as [[|c o']|]; simpl; try destruct (Byte.eqb c minus); lia).
  unfold is_digit in X, Y; simpl in X, Y. pose proof (digit_range x). pose proof (digit_range y).
  pose proof (Z.mod_pos_bound d base ltac:(lia)) as M.
  assert (O : digit (last o zero) = d mod base /\ d = d mod base - borrow (Some o) * base /\ 0 <= borrow (Some o) <= 1).
  { unfold o; cbn [step P subtraction on_pairs subtract_step column_of fst snd]. fold d.
    destruct (Z.ltb_spec d 0); cbn [last borrow].
    - change (Byte.eqb minus minus) with true. cbv iota. rewrite digit_character by lia. repeat split; try lia.
      rewrite <- (Z.mod_unique d base (-1) (d + base)); lia.
    - replace (Byte.eqb (character (d mod base)) minus) with false.
      + rewrite digit_character by lia. repeat split; try lia. rewrite Z.mod_small; lia.
      + symmetry. destruct (byte_eqb_spec (character (d mod base)) minus) as [E|]; [|reflexivity].
        apply (f_equal digit) in E. rewrite digit_character in E by lia. change (digit minus) with 36 in E. lia. }
  destruct O as (O1 & O2 & O3).
  destruct later as [|pair later].
  - exists (borrow (Some o)). cbn [exact map read read_from_right length last_character row_value fold_right fst snd].
    unfold last_character, value; cbn [fold_left]. rewrite O1. split; [exact O3|]. split; [rewrite Z.pow_1_r; lia|].
    split; [|reflexivity]. repeat constructor. unfold is_digit. lia.
  - destruct (IH (Some o)) as (left & L & V & D & N); [discriminate|assumption|].
    exists left. split; [exact L|].
    assert (E : read (o :: exact P (Some o) (map column_of (pair :: later))) =
      read (exact P (Some o) (map column_of (pair :: later))) ++ last_character o) by reflexivity.
    rewrite E. unfold last_character. rewrite value_snoc, V, O1. split; [|split].
    + cbn [length]. rewrite !Nat2Z.inj_succ. rewrite (Z.pow_succ_r base (Z.succ (Z.of_nat (length later)))) by lia.
      cbn [map fst snd]. change (row_value base (x :: ?r)) with (digit x + base * row_value base r).
      change (row_value base (y :: ?r)) with (digit y + base * row_value base r).
      unfold d in *. cbn [length] in V. rewrite Nat2Z.inj_succ in V. 
      set (p := base ^ Z.succ (Z.of_nat (length later))) in *. cbn [map] in *. nia.
    + apply Forall_app. split; [exact D|]. repeat constructor. unfold is_digit. lia.
    + rewrite app_length, N. cbn [length]. lia.
Qed.

Theorem subtraction_subtracts answers :
  closed P = true -> right_on_domain P answers -> subtracts base mark answers.
Proof.
  intros C R a b A B Le.
  destruct (columns_are_pairs base base_range a b A B) as (pairs & E & N & D & Va & Vb).
  exists (read_subtraction (exact P None (columns_from_right [zero] [a; b]))).
  destruct (subtracting pairs None N D) as (left & L & V & F & Len). rewrite <- E in *.
  rewrite Va, Vb in V. cbn [borrow] in V.
  assert (left = 0).
  { pose proof (value_below base base_range _ F) as U. rewrite Len in U.
    assert (0 < base ^ Z.of_nat (length pairs)) by (apply Z.pow_pos_nonneg; lia). nia. }
  subst left. unfold read_subtraction. fold read. split; [now apply without_zeros_canonical|]. split.
  - rewrite without_zeros_value by assumption. lia.
  - apply answered_exact; auto. rewrite E. now apply on_pairs_admissible.
Qed.
End Subtracting.

Theorem table_subtracts base mark table :
  (2 <=? base) && (base <=? 36) && checked (subtraction base mark) table = true ->
  subtracts base mark (by_table table).
Proof.
  rewrite !andb_true_iff, !Z.leb_le. intros [B [C A]%andb_true_iff].
  apply subtraction_subtracts; auto using agrees_right.
Qed.
