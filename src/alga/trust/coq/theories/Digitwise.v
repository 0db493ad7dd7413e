(** A number and one digit: multiplication units first, division from the left. The digit is in every column. *)

From Alga Require Export Rows Carrying.

Definition beside (d c : byte) : text := [c; d].

Definition with_digit (base : Z) (settings_ : list text) (prompt_ step_ : option text -> text -> text) : procedure := {|
  settings := settings_;
  first := fun s => map (beside (hd zero s)) (digits base);
  following := fun s => map (beside (hd zero s)) (digits base);
  prompt := prompt_;
  step := step_
|}.

(** A text that writes a single digit, maybe after zeros. *)
Definition single_digit (base : Z) (t : text) (d : byte) : Prop := number base t /\ without_zeros t = [d].

Lemma with_digit_admissible base settings_ prompt_ step_ d row : base <= 36 ->
  In [d] settings_ -> row <> [] -> Forall (is_digit base) row ->
  admissible (with_digit base settings_ prompt_ step_) (map (beside d) row).
Proof.
  intros B S N F. exists [d]. split; [exact S|].
  assert (G : Forall (fun c => In c (map (beside d) (digits base))) (map (beside d) row)).
  { apply Forall_map. eapply Forall_impl; [|exact F]. intros c H. now apply in_map, digits_In. }
  destruct row; [congruence|]. cbn [map] in *. inversion G; subst. split; assumption.
Qed.

(** ** Times a digit *)

Definition product (column : text) : Z := match column with [x; y] => digit x * digit y | _ => 0 end.

Definition times_step (base : Z) (before : option text) (column : text) : text :=
  short_text base (product column + carry base before).

Definition times (base : Z) (mark : text) : procedure :=
  with_digit base (texts_of (digits base) 1) (marked_prompt mark) (times_step base).

Definition multiplies (base : Z) (mark : text) (answers : answerer) : Prop :=
  forall a b d, number base a -> single_digit base b d ->
  exists answer,
    canonical base answer /\ value base answer = value base a * value base b /\
    forall t, answered (times base mark) answers (map (beside d) (rev (without_zeros a)))
        (fun outputs => without_zeros (read_from_right last_character (fun output => output) outputs)) t
      <-> t = answer.

Section Times.
Variables (base : Z) (mark : text).
Hypothesis base_range : 2 <= base <= 36.

Lemma single_digit_value b d : single_digit base b d -> is_digit base d /\ value base b = digit d.
Proof.
  intros [[_ F] W]. pose proof (without_zeros_canonical base base_range b F) as [[_ G] _].
  rewrite <- (without_zeros_value base base_range b F). rewrite W in *. inversion G; subst. split; [assumption|].
  unfold value; simpl. lia.
Qed.

Lemma products d row : weights base product (map (beside d) row) = row_value base row * digit d.
Proof.
  induction row as [|c row IH]; [reflexivity|]. cbn [map weights fold_right beside product].
  fold (weights base product (map (beside d) row)). rewrite IH.
  change (row_value base (c :: row)) with (digit c + base * row_value base row). ring.
Qed.

Theorem times_multiplies answers :
  closed (times base mark) = true -> right_on_domain (times base mark) answers -> multiplies base mark answers.
Proof.
  intros C R a b d A B. destruct (single_digit_value b d B) as [D V]. rewrite V.
  pose proof (without_zeros_number base base_range a A) as [N F].
  set (row := rev (without_zeros a)).
  assert (G : Forall (is_digit base) row) by now apply Forall_rev.
  assert (M : row <> []).
  { unfold row. intros E. apply (f_equal (@rev byte)) in E. rewrite rev_involutive in E. now apply N. }
  assert (S : forall column, (exists c, is_digit base c /\ column = beside d c) ->
    0 <= product column /\ product column + (base - 2) < base * (base - 2 + 1)).
  { intros column (c & H & ->). cbn. unfold is_digit in *. pose proof (digit_range c). pose proof (digit_range d).
    nia. }
  destruct (carried base base_range (times base mark) product (base - 2)
    (fun column => exists c, is_digit base c /\ column = beside d c)
    ltac:(lia) S ltac:(reflexivity) (map (beside d) row)) as [K W].
  - destruct row; [congruence|discriminate].
  - apply Forall_map. eapply Forall_impl; [|exact G]. intros c H. now exists c.
  - eexists. split; [exact K|]. split.
    + rewrite W, products. unfold row. rewrite <- value_rev, rev_involutive.
      rewrite without_zeros_value by (apply A || assumption). reflexivity.
    + apply answered_exact; auto. apply with_digit_admissible; auto; [lia|].
      cbn [texts_of]. apply in_flat_map. exists d. split; [apply digits_In; (assumption || lia)|now left].
Qed.
End Times.

Theorem table_multiplies base mark table :
  (2 <=? base) && (base <=? 36) && checked (times base mark) table = true -> multiplies base mark (by_table table).
Proof.
  rewrite !andb_true_iff, !Z.leb_le. intros [B [C A]%andb_true_iff]. apply times_multiplies; auto using agrees_right.
Qed.

(** ** Division by a digit: a quotient digit and the remainder, which the next column's digit is brought down to *)

Definition remainder (before : option text) : Z :=
  match before with Some output => digit (last output zero) | None => 0 end.

Definition divide_step (base : Z) (before : option text) (column : text) : text :=
  match column with
  | [x; y] =>
      let brought_down := remainder before * base + digit x in
      [character (brought_down / digit y); character (brought_down mod digit y)]
  | _ => []
  end.

Definition division (base : Z) : procedure :=
  with_digit base (map (fun c => [c]) (tl (digits base))) (marked_prompt []) (divide_step base).

Definition quotient_digit (output : text) : text := [hd zero output].
Definition ending_division (output : text) : text := quotient_digit output ++ (text! " r") ++ last_character output.

Definition divides (base : Z) (answers : answerer) : Prop :=
  forall a b d, number base a -> single_digit base b d -> value base b <> 0 ->
  exists quotient rest,
    canonical base quotient /\ value base quotient = value base a / value base b /\
    is_digit base rest /\ digit rest = value base a mod value base b /\
    forall t, answered (division base) answers (map (beside d) (without_zeros a))
        (fun outputs => without_zeros (read_from_left quotient_digit ending_division outputs)) t
      <-> t = quotient ++ (text! " r") ++ [rest].

Section Division.
Variable base : Z.
Hypothesis base_range : 2 <= base <= 36.
Variable d : byte.
Hypothesis d_range : 0 < digit d < base.

Lemma dividing row : forall before, row <> [] -> Forall (is_digit base) row -> 0 <= remainder before < digit d ->
  exists quotient rest,
    read_from_left quotient_digit ending_division (exact (division base) before (map (beside d) row)) =
      quotient ++ (text! " r") ++ [rest] /\
    Forall (is_digit base) quotient /\ is_digit base rest /\ 0 <= digit rest < digit d /\
    remainder before * base ^ Z.of_nat (length row) + value base row = value base quotient * digit d + digit rest /\
    length quotient = length row.
Proof.
  induction row as [|c row IH]; [congruence|]. intros before _ F R. inversion F as [|? ? C G]; subst.
  cbn [map exact]. set (v := remainder before * base + digit c).
  unfold is_digit in C. pose proof (digit_range c).
  pose proof (Z.mod_pos_bound v (digit d) ltac:(lia)) as M. pose proof (Z.div_mod v (digit d) ltac:(lia)) as DM.
  assert (Q : 0 <= v / digit d < base).
  { split; [apply Z.div_pos; unfold v; nia|apply Z.div_lt_upper_bound; unfold v; nia]. }
  set (o := step (division base) before (beside d c)).
  assert (O : o = [character (v / digit d); character (v mod digit d)]) by reflexivity.
  assert (QD : is_digit base (character (v / digit d))) by (unfold is_digit; rewrite digit_character; lia).
  rewrite value_cons by exact base_range. cbn [length]. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia.
  destruct row as [|c' row].
  - exists [character (v / digit d)], (character (v mod digit d)). cbn [exact map read_from_left]. rewrite O.
    split; [reflexivity|]. split; [repeat constructor; exact QD|].
    unfold is_digit, value; cbn [fold_left length]. rewrite !digit_character by lia. rewrite Z.pow_0_r.
    repeat split; unfold v in *; lia.
  - destruct (IH (Some o) ltac:(discriminate) G) as (quotient & rest & E & D1 & D2 & D3 & V & L).
    { rewrite O. cbn [remainder last]. rewrite digit_character by lia. lia. }
    exists (character (v / digit d) :: quotient), rest. split; [|split; [|split; [|split; [|split]]]].
    + transitivity (quotient_digit o ++ read_from_left quotient_digit ending_division
        (exact (division base) (Some o) (map (beside d) (c' :: row)))); [reflexivity|]. rewrite E, O. reflexivity.
    + now constructor.
    + exact D2.
    + exact D3.
    + rewrite (value_cons base (character (v / digit d)) quotient), L. rewrite O in V. cbn [remainder last] in V.
      rewrite !digit_character in * by lia. set (p := base ^ Z.of_nat (length (c' :: row))) in *. unfold v in *. nia.
    + cbn [length]. now rewrite L.
Qed.

(** Leading zeros of the quotient are dropped, its last digit never. *)
Lemma without_zeros_before_space q t : Forall (is_digit base) q ->
  without_zeros (q ++ space :: t) = without_zeros q ++ space :: t.
Proof.
  intros F. unfold without_zeros.
  assert (E : lstrip (q ++ space :: t) = lstrip q ++ space :: t).
  { clear F. induction q as [|c q IH]; [reflexivity|]. simpl. destruct (Byte.eqb c zero); [exact IH|reflexivity]. }
  rewrite E. pose proof (lstrip_digits base q F) as G. destruct (lstrip q) as [|c s]; [reflexivity|].
  simpl. destruct (byte_eqb_spec c space) as [->|]; [|reflexivity].
  inversion G; subst. now destruct (space_no_digit base base_range).
Qed.
End Division.

Theorem division_divides base answers : 2 <= base <= 36 ->
  closed (division base) = true -> right_on_domain (division base) answers -> divides base answers.
Proof.
  intros base_range C R a b d A B NZ. destruct (single_digit_value base base_range b d B) as [D V]. rewrite V in *.
  pose proof (digit_range d). unfold is_digit in D.
  pose proof (without_zeros_number base base_range a A) as [N F].
  destruct (dividing base base_range d ltac:(lia) (without_zeros a) None N F) as (q & r & E & Q & Rd & Rr & Val & _);
    [simpl; lia|].
  cbn [remainder] in Val. rewrite without_zeros_value in Val by (apply A || assumption).
  exists (without_zeros q), r. split; [now apply without_zeros_canonical|].
  rewrite without_zeros_value by assumption.
  destruct (div_mod_unique (digit d) (value base q) (digit r) (value base a) Rr ltac:(lia)) as [-> ->].
  split; [reflexivity|]. split; [exact Rd|]. split; [reflexivity|]. intros t.
  rewrite answered_exact; auto.
  - rewrite E. change ((text! " r") ++ [r]) with (space :: x72 :: [r]).
    rewrite (without_zeros_before_space base base_range) by exact Q. reflexivity.
  - apply with_digit_admissible; auto; [lia|].
    apply in_map_iff. exists d. split; [reflexivity|].
    assert (I : In d (digits base)) by (apply digits_In; [lia|exact D]).
    assert (Hd : exists rest, digits base = zero :: rest).
    { unfold digits. assert (P : exists n, Z.to_nat base = S n) by (exists (pred (Z.to_nat base)); lia).
      destruct P as (n & ->). assert (W : forall n, exists rest, below (S n) = 0 :: rest).
      { clear. induction n as [|n (rest & IH)]; [now exists []|]. exists (rest ++ [Z.of_nat (S n)]).
        change (below (S (S n))) with (below (S n) ++ [Z.of_nat (S n)]). now rewrite IH. }
      destruct (W n) as (rest & ->). eexists. reflexivity. }
    destruct Hd as (rest & Hd). rewrite Hd in *. destruct I as [<-|I]; [|exact I].
    rewrite digit_zero in NZ. congruence.
Qed.

Theorem table_divides base table :
  (2 <=? base) && (base <=? 36) && checked (division base) table = true -> divides base (by_table table).
Proof.
  rewrite !andb_true_iff, !Z.leb_le. intros [B [C A]%andb_true_iff]. apply division_divides; auto using agrees_right.
Qed.
