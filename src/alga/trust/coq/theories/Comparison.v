(** Comparison: the output says how the digits so far compare; a later digit, being worth more, overrules them. *)

From Alga Require Export Pairs.

Definition sign_of (c : comparison) : text :=
  match c with Lt => text! "<" | Eq => text! "=" | Gt => text! ">" end.

Definition compare_step (before : option text) (column : text) : text :=
  match column with
  | [x; y] =>
      match digit x ?= digit y with
      | Eq => match before with Some output => output | None => sign_of Eq end
      | c => sign_of c
      end
  | _ => []
  end.

Definition comparing (base : Z) : procedure := on_pairs base (marked_prompt []) compare_step.

(** The last output is the answer. *)
Definition read_comparison (outputs : list text) : text :=
  without_zeros (read_from_right (fun _ => []) (fun output => output) outputs).

Definition compares (base : Z) (answers : answerer) : Prop :=
  forall a b, number base a -> number base b ->
  forall t, answered (comparing base) answers (columns_from_right [zero] [a; b]) read_comparison t
    <-> t = sign_of (value base a ?= value base b).

Section Comparing.
Variable base : Z.
Hypothesis base_range : 2 <= base <= 36.

(** Of two numbers, the higher digits decide unless they are equal. *)
Lemma compare_digits x y v w : is_digit base x -> is_digit base y ->
  (digit x + base * v ?= digit y + base * w) = match v ?= w with Eq => digit x ?= digit y | c => c end.
Proof.
  unfold is_digit. intros X Y. pose proof (digit_range x). pose proof (digit_range y).
  destruct (Z.compare_spec v w) as [->|L|L].
  - destruct (Z.compare_spec (digit x) (digit y));
    [apply Z.compare_eq_iff|apply Z.compare_lt_iff|apply Z.compare_gt_iff]; lia.
  - apply Z.compare_lt_iff. nia.
  - apply Z.compare_gt_iff. nia.
Qed.

Lemma comparing_pairs pairs : forall before known, pairs <> [] -> Forall (digit_pair base) pairs ->
  match before with Some output => output = sign_of known | None => known = Eq end ->
  read_from_right (fun _ => []) (fun output => output) (exact (comparing base) before (map column_of pairs)) =
  sign_of (match row_value base (map fst pairs) ?= row_value base (map snd pairs) with Eq => known | c => c end).
Proof.
  induction pairs as [|[x y] later IH]; [congruence|]. intros before known _ F K.
  inversion F as [|? ? [X Y] G]; subst. simpl in X, Y. cbn [map exact fst snd].
  set (o := step (comparing base) before (column_of (x, y))).
  assert (O : o = sign_of (match digit x ?= digit y with Eq => known | c => c end)).
  { unfold o; cbn. destruct (digit x ?= digit y); try reflexivity. destruct before; [exact K|now rewrite K]. }
  change (row_value base (x :: ?r)) with (digit x + base * row_value base r).
  change (row_value base (y :: ?r)) with (digit y + base * row_value base r).
  rewrite compare_digits by assumption.
  destruct later as [|pair later].
  - cbn [exact map read_from_right]. rewrite O. reflexivity.
  - transitivity (read_from_right (fun _ => []) (fun output => output)
      (exact (comparing base) (Some o) (map column_of (pair :: later)))).
    { cbn. apply app_nil_r. }
    rewrite (IH (Some o) _ ltac:(discriminate) G O).
    destruct (_ ?= row_value base (map snd (pair :: later))); reflexivity.
Qed.

Theorem comparing_compares answers :
  closed (comparing base) = true -> right_on_domain (comparing base) answers -> compares base answers.
Proof.
  intros C R a b A B t.
  destruct (columns_are_pairs base base_range a b A B) as (pairs & E & N & D & Va & Vb). rewrite E.
  rewrite answered_exact; auto; [|now apply on_pairs_admissible].
  unfold read_comparison. rewrite (comparing_pairs pairs None Eq N D eq_refl), Va, Vb.
  destruct (value base a ?= value base b); reflexivity.
Qed.
End Comparing.

Theorem table_compares base table :
  (2 <=? base) && (base <=? 36) && checked (comparing base) table = true -> compares base (by_table table).
Proof.
  rewrite !andb_true_iff, !Z.leb_le. intros [B [C A]%andb_true_iff].
  apply comparing_compares; auto using agrees_right.
Qed.
