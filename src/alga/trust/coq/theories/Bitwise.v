(** And, or and exclusive or of the bits of two numbers; the base is a power of two, and no prompt has a context. *)

From Alga Require Export Pairs.

Inductive operation := And | Or | Xor.

Definition bits (op : operation) : Z -> Z -> Z :=
  match op with And => Z.land | Or => Z.lor | Xor => Z.lxor end.

Definition bits_step (op : operation) (before : option text) (column : text) : text :=
  match column with
  | [x; y] => [character (bits op (digit x) (digit y))]
  | _ => []
  end.

Definition bitwise (op : operation) (base : Z) : procedure := on_pairs base (fun _ column => column) (bits_step op).

Definition read_bits (outputs : list text) : text :=
  without_zeros (read_from_right last_character (fun output => output) outputs).

Definition computes_bits (op : operation) (base : Z) (answers : answerer) : Prop :=
  forall a b, number base a -> number base b ->
  exists answer,
    canonical base answer /\ value base answer = bits op (value base a) (value base b) /\
    forall t, answered (bitwise op base) answers (columns_from_right [zero] [a; b]) read_bits t <-> t = answer.

Section Bits.
Variables (op : operation) (k : Z).
Hypothesis k_range : 1 <= k <= 5.
Let base := 2 ^ k.

Let base_range : 2 <= base <= 36.
Proof.
  unfold base. assert (K : k = 1 \/ k = 2 \/ k = 3 \/ k = 4 \/ k = 5) by lia.
  destruct K as [->|[->|[->|[->| ->]]]]; vm_compute; split; discriminate.
Qed.

(** Low bits and high bits are taken apart. *)
Lemma bits_split v w x y : 0 <= x < base -> 0 <= y < base -> 0 <= v -> 0 <= w ->
  bits op (x + base * v) (y + base * w) = bits op x y + base * bits op v w /\ 0 <= bits op x y < base.
Proof.
  intros X Y V W.
  assert (H : forall x v, 0 <= x < base -> x + base * v = Z.lor x (Z.shiftl v k)).
  { intros u z U. rewrite Z.shiftl_mul_pow2 by lia. fold base. rewrite (Z.mul_comm z).
    rewrite <- Z.lxor_lor.
    - apply Z.add_nocarry_lxor. apply Z.bits_inj'. intros n Hn. rewrite Z.land_spec, Z.bits_0.
      destruct (Z.ltb_spec n k).
      + rewrite (Z.mul_comm base). unfold base. rewrite Z.mul_pow2_bits_low by lia. apply andb_false_r.
      + rewrite <- (Z.mod_small u base U). unfold base. rewrite Z.mod_pow2_bits_high by lia. reflexivity.
    - apply Z.bits_inj'. intros n Hn. rewrite Z.land_spec, Z.bits_0.
      destruct (Z.ltb_spec n k).
      + rewrite (Z.mul_comm base). unfold base. rewrite Z.mul_pow2_bits_low by lia. apply andb_false_r.
      + rewrite <- (Z.mod_small u base U). unfold base. rewrite Z.mod_pow2_bits_high by lia. reflexivity. }
  assert (High : forall u n, 0 <= u < base -> k <= n -> Z.testbit u n = false).
  { intros u n U L. rewrite <- (Z.mod_small u base U). unfold base. apply Z.mod_pow2_bits_high. lia. }
  assert (R : 0 <= bits op x y < base).
  { assert (P : 0 <= bits op x y).
    { destruct op; simpl; [apply Z.land_nonneg; lia|apply Z.lor_nonneg; lia|apply Z.lxor_nonneg; lia]. }
    split; [exact P|].
    assert (E : bits op x y = bits op x y mod base).
    { apply Z.bits_inj'. intros n Hn. unfold base. destruct (Z.ltb_spec n k).
      - now rewrite Z.mod_pow2_bits_low.
      - rewrite Z.mod_pow2_bits_high by lia.
        destruct op; simpl; rewrite ?Z.land_spec, ?Z.lor_spec, ?Z.lxor_spec, !High by lia; reflexivity. }
    rewrite E. apply Z.mod_pos_bound. lia. }
  split; [|exact R]. rewrite !H by assumption. apply Z.bits_inj'. intros n Hn.
  rewrite Z.lor_spec, Z.shiftl_spec by lia.
  assert (S : forall u z, Z.testbit (Z.lor u (Z.shiftl z k)) n = Z.testbit u n || Z.testbit z (n - k)).
  { intros u z. now rewrite Z.lor_spec, Z.shiftl_spec by lia. }
  destruct (Z.ltb_spec n k).
  - destruct op; simpl; rewrite ?Z.land_spec, ?Z.lor_spec, ?Z.lxor_spec, ?S, ?(Z.testbit_neg_r _ (n - k)) by lia;
      rewrite ?Z.shiftl_spec, ?(Z.testbit_neg_r _ (n - k)) by lia; rewrite ?orb_false_r; reflexivity.
  - destruct op; simpl; rewrite ?Z.land_spec, ?Z.lor_spec, ?Z.lxor_spec, ?S by lia;
      rewrite ?Z.shiftl_spec, ?(High x n), ?(High y n) by lia; simpl;
      rewrite ?Z.land_spec, ?Z.lor_spec, ?Z.lxor_spec; reflexivity.
Qed.

Lemma row_value_nonneg row : 0 <= row_value base row.
Proof.
  induction row as [|c row IH]; [simpl; lia|].
    change (row_value base (c :: row)) with (digit c + base * row_value base row).
  pose proof (digit_range c). nia.
Qed.

Lemma bits_pairs pairs : forall before, pairs <> [] -> Forall (digit_pair base) pairs ->
  let spelled := read_from_right last_character (fun output => output) (exact (bitwise op base) before (map column_of
    pairs)) in
  value base spelled = bits op (row_value base (map fst pairs)) (row_value base (map snd pairs)) /\
  Forall (is_digit base) spelled.
Proof.
  induction pairs as [|[x y] later IH]; [congruence|]. intros before _ F.
  inversion F as [|? ? [X Y] G]; subst. unfold is_digit in X, Y; simpl in X, Y.
  pose proof (digit_range x). pose proof (digit_range y).
  cbn [map fst snd exact]. set (o := step (bitwise op base) before (column_of (x, y))).
  change (row_value base (x :: ?r)) with (digit x + base * row_value base r).
  change (row_value base (y :: ?r)) with (digit y + base * row_value base r).
  destruct (bits_split (row_value base (map fst later)) (row_value base (map snd later)) (digit x) (digit y))
    as [S R]; try lia; try apply row_value_nonneg.
  rewrite S. set (d := bits op (digit x) (digit y)) in *.
  assert (O : o = [character d]) by reflexivity.
  assert (D : is_digit base (character d)) by (unfold is_digit; rewrite digit_character; lia).
  destruct later as [|pair later].
  - cbn [exact map read_from_right]. rewrite O. split; [|repeat constructor; exact D].
    unfold value; cbn [fold_left]. rewrite digit_character by lia.
    replace (bits op (row_value base []) (row_value base [])) with 0 by (now destruct op). lia.
  - destruct (IH (Some o) ltac:(discriminate) G) as [V Ds].
    assert (E : read_from_right last_character (fun output => output) (o :: exact (bitwise op base) (Some o) (map
      column_of (pair :: later)))
      = read_from_right last_character (fun output => output) (exact (bitwise op base) (Some o) (map column_of (pair
        :: later))) ++ [character d]).
    { rewrite O at 1. reflexivity. }
    cbv zeta. rewrite E, value_snoc, V, digit_character by lia. split; [lia|].
    apply Forall_app. split; [exact Ds|repeat constructor; exact D].
Qed.

Theorem bitwise_right answers :
  closed (bitwise op base) = true -> right_on_domain (bitwise op base) answers -> computes_bits op base answers.
Proof.
  intros C R a b A B.
  destruct (columns_are_pairs base base_range a b A B) as (pairs & E & N & D & Va & Vb).
  exists (read_bits (exact (bitwise op base) None (columns_from_right [zero] [a; b]))). rewrite E.
  destruct (bits_pairs pairs None N D) as [V F]. rewrite Va, Vb in V.
  split; [now apply without_zeros_canonical|]. split.
  - unfold read_bits. rewrite without_zeros_value; assumption.
  - apply answered_exact; auto. now apply on_pairs_admissible.
Qed.
End Bits.

Theorem table_computes_bits op base table :
  existsb (fun k => base =? 2 ^ k) [1; 2; 3; 4; 5] && checked (bitwise op base) table = true ->
  computes_bits op base (by_table table).
Proof.
  rewrite andb_true_iff, existsb_exists. intros [(k & K & ->%Z.eqb_eq) [C A]%andb_true_iff].
  apply bitwise_right; auto using agrees_right.
  repeat (destruct K as [<-|K]; [lia|]). destruct K.
Qed.
