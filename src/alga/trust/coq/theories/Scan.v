(** Hillis and Steele's scan on what stretches of columns do to a carry: after each round a place knows twice as many.
  *)

From Alga Require Export Rows.

(** What a column, or a stretch of columns, does to a carry: it kills it, passes it on, or generates one. *)
Inductive status := K | P | G.

(** Two stretches, the later (left) one first. *)
Definition compose (later earlier : status) : status := match later with P => earlier | _ => later end.

Lemma compose_assoc x y z : compose x (compose y z) = compose (compose x y) z.
Proof. now destruct x, y. Qed.

(** What the [m] places that end with place [i] do together. *)
Fixpoint stretch (f : nat -> status) (i m : nat) : status :=
  match m with O => P | S m => compose (f i) (stretch f (i - 1) m) end.

Lemma stretch_add f m : forall i n, stretch f i (m + n) = compose (stretch f i m) (stretch f (i - m) n).
Proof.
  induction m as [|m IH]; intros i n; [cbn; now rewrite Nat.sub_0_r|].
  cbn [stretch Nat.add]. rewrite IH, compose_assoc. f_equal. f_equal. lia.
Qed.

Definition windows (f : nat -> status) (n reach : nat) : list status :=
  map (fun i => stretch f i (Nat.min reach (S i))) (seq 0 n).

Definition prefixes (f : nat -> status) (n : nat) : list status := map (fun i => stretch f i (S i)) (seq 0 n).

Lemma windows_prefixes f n reach : (n <= reach)%nat -> windows f n reach = prefixes f n.
Proof.
  intros H. apply map_ext_in. intros i I. apply in_seq in I. f_equal. lia.
Qed.

Lemma windows_nth f n reach i d : (i < n)%nat -> nth i (windows f n reach) d = stretch f i (Nat.min reach (S i)).
Proof.
  intros H. unfold windows. rewrite (nth_indep _ d (stretch f 0 (Nat.min reach 1)))
    by now rewrite map_length, seq_length.
  rewrite (map_nth (fun i => stretch f i (Nat.min reach (S i))) (seq 0 n) O i). now rewrite seq_nth.
Qed.

Definition composed_round (reach : nat) (places : list status) : list status :=
  map (fun '(later, earlier) => compose later earlier) (combine (skipn reach places) places).

Lemma round_windows f n reach : (1 <= reach < n)%nat ->
  firstn reach (windows f n reach) ++ composed_round reach (windows f n reach) = windows f n (2 * reach).
Proof.
  intros H. set (w := windows f n reach).
    assert (L : length w = n) by (unfold w, windows; now rewrite map_length, seq_length).
  assert (Lc : length (composed_round reach w) = (n - reach)%nat).
  { unfold composed_round. rewrite map_length, combine_length, skipn_length, L. lia. }
  apply (nth_ext _ _ P P).
  { rewrite app_length, firstn_length, L, Lc. unfold windows. rewrite map_length, seq_length. lia. }
  intros i I. rewrite app_length, firstn_length, L, Lc in I.
  rewrite windows_nth by lia. destruct (Nat.ltb_spec i reach) as [A|A].
  - rewrite app_nth1 by (rewrite firstn_length, L; lia).
    transitivity (nth i w P).
    + rewrite <- (firstn_skipn reach w) at 2. rewrite app_nth1 by (rewrite firstn_length, L; lia). reflexivity.
    + unfold w. rewrite windows_nth by lia. f_equal. lia.
  - rewrite app_nth2 by (rewrite firstn_length, L; lia). rewrite firstn_length, L, Nat.min_l by lia.
    unfold composed_round.
    set (both := fun '(later, earlier) => compose later earlier).
    rewrite (nth_indep _ P (both (P, P))) by (rewrite map_length, combine_length, skipn_length, L; lia).
    rewrite (map_nth both). assert (E : nth (i - reach) (combine (skipn reach w) w) (P, P)
      = (nth i w P, nth (i - reach) w P)).
    { assert (T : combine (skipn reach w) w = combine (skipn reach w) (firstn (n - reach) w)).
      { rewrite <- (firstn_skipn (n - reach) w) at 2.
        assert (Q : forall (u v x : list status), length u = length v -> combine u (v ++ x) = combine u v).
        { induction u as [|y u IH]; intros [|z v] x Q; try discriminate; [now destruct x|]. simpl. f_equal. apply IH.
          now injection Q. }
        apply Q. rewrite skipn_length, firstn_length, L. lia. }
      rewrite T, combine_nth by (rewrite skipn_length, firstn_length, L; lia). f_equal.
      - rewrite <- (firstn_skipn reach w) at 2. rewrite app_nth2 by (rewrite firstn_length, L; lia).
        now rewrite firstn_length, L, Nat.min_l by lia.
      - rewrite <- (firstn_skipn (n - reach) w) at 2. rewrite app_nth1 by (rewrite firstn_length, L; lia).
        reflexivity. }
    rewrite E. unfold both, w. rewrite !windows_nth by lia. rewrite Nat.min_l by lia.
    rewrite <- stretch_add. f_equal. lia.
Qed.
