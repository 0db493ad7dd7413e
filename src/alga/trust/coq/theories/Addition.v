(** Addition of two numbers or more, in any base; past a shorter number's end a column is shorter, or filled with 0. *)

From Alga Require Export Rows Carrying.

(** The output of a step is the column's whole total, with the carry that the previous total left. *)
Definition add_step (base : Z) (before : option text) (column : text) : text :=
  short_text base (total column + carry base before).

Definition addition (base : Z) (rows : nat) (fill mark : text) : procedure := {|
  settings := [[]];
  first := fun _ => first_columns base rows;
  following := fun _ => following_columns base fill rows;
  prompt := marked_prompt mark;
  step := add_step base
|}.

(** The last digits of the outputs from the last to the first, and all of the last output; no leading zeros. *)
Definition read_addition (outputs : list text) : text :=
  without_zeros (read_from_right last_character (fun output => output) outputs).

Definition sum (base : Z) (operands : list text) : Z := fold_right (fun t v => value base t + v) 0 operands.

(** [answers] adds: for all numbers of any length the loop ends, and the one text that can be read off it is canonical
    and has the value of their sum. *)
Definition adds (base : Z) (rows : nat) (fill mark : text) (answers : answerer) : Prop :=
  forall operands, length operands = rows -> Forall (number base) operands ->
  exists answer,
    canonical base answer /\ value base answer = sum base operands /\
    forall t, answered (addition base rows fill mark) answers (columns_from_right fill operands) read_addition t
      <-> t = answer.

Section Adding.
Variables (base : Z) (rows : nat) (fill mark : text).
Hypothesis base_range : 2 <= base <= 36.
Hypothesis rows_range : (1 <= rows)%nat /\ Z.of_nat rows <= base.
Hypothesis fill_zero : fill = [] \/ fill = [zero].

Theorem addition_adds answers :
  closed (addition base rows fill mark) = true ->
  right_on_domain (addition base rows fill mark) answers ->
  adds base rows fill mark answers.
Proof.
  intros C R operands L F.
  assert (N : operands <> []) by (intros ->; simpl in L; lia).
  destruct (columns_admissible base base_range fill fill_zero operands N F) as (column & later & E & [D1 D2] & G).
  rewrite L in *.
  assert (A : admissible (addition base rows fill mark) (columns_from_right fill operands)).
  { exists []. split; [now left|]. rewrite E. simpl. split; [apply full_In; (assumption || lia)|].
    eapply Forall_impl; [|exact G]. intros c H. apply follows_In; (assumption || lia). }
  exists (read_addition (exact (addition base rows fill mark) None (columns_from_right fill operands))).
  assert (S : forall column, Forall (is_digit base) column /\ (length column <= rows)%nat ->
    0 <= total column /\ total column + (Z.of_nat rows - 1) < base * (Z.of_nat rows - 1 + 1)).
  { intros c [H K]. pose proof (total_range base c H). nia. }
  destruct (carried base base_range (addition base rows fill mark) total (Z.of_nat rows - 1)
    (fun column => Forall (is_digit base) column /\ (length column <= rows)%nat)
    ltac:(lia) S ltac:(reflexivity) (columns_from_right fill operands)) as [K V].
  - rewrite E. discriminate.
  - rewrite E. constructor; [split; [exact D1|lia]|]. eapply Forall_impl; [|exact G]. intros c (H1 & H2 & _).
    split; [exact H1|lia].
  - split; [exact K|]. split.
    + transitivity (weights base total (columns_from_right fill operands)); [exact V|].
      unfold sum. rewrite <- (rows_sum base base_range) by exact F.
      unfold weights, columns_from_right. now apply columns_value.
    + now apply answered_exact.
Qed.

End Adding.

(** What the kernel computes for a table. *)
Definition addition_fits (base : Z) (rows : nat) (fill : text) : bool :=
  (2 <=? base) && (base <=? 36) && (1 <=? rows)%nat && (Z.of_nat rows <=? base) &&
  (text_eqb fill [] || text_eqb fill [zero]).

Lemma addition_fits_adds base rows fill mark answers :
  addition_fits base rows fill = true ->
  closed (addition base rows fill mark) = true ->
  right_on_domain (addition base rows fill mark) answers ->
  adds base rows fill mark answers.
Proof.
  unfold addition_fits. rewrite !andb_true_iff, orb_true_iff, !Z.leb_le, Nat.leb_le.
  intros ((((H1 & H2) & H3) & H4) & H5). apply addition_adds; [lia|lia|].
  destruct H5 as [H|H]; [left|right]; revert H.
  - now destruct (text_eqb_spec fill []).
  - now destruct (text_eqb_spec fill [zero]).
Qed.

Theorem table_adds base rows fill mark table :
  addition_fits base rows fill && checked (addition base rows fill mark) table = true ->
  adds base rows fill mark (by_table table).
Proof.
  intros [F [C A]%andb_true_iff]%andb_true_iff. apply addition_fits_adds; auto using agrees_right.
Qed.
