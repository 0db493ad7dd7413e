(** Steps that write the whole total of a column, units first, and carry all but its last digit: sums and multiples. *)

From Alga Require Export Walk.

Lemma div_mod_unique b q r v : 0 <= r < b -> v = b * q + r -> v / b = q /\ v mod b = r.
Proof. intros H E. split; [symmetry; now apply (Z.div_unique v b q r); [left|]|symmetry;
  now apply (Z.mod_unique v b q r); [left|]]. Qed.

(** A number below [base * base] in digits, without leading zeros. *)
Definition short_text (base v : Z) : text :=
  if v <? base then [character v] else [character (v / base); character (v mod base)].

(** What the previous output, if there is one, carries: the number without its last digit. *)
Definition carry (base : Z) (before : option text) : Z :=
  match before with Some output => value base (removelast output) | None => 0 end.

Section Carrying.
Variable base : Z.
Hypothesis base_range : 2 <= base <= 36.

Section ShortTexts.
Variable v : Z.
Hypothesis v_range : 0 <= v < base * base.

Let quotient_range : 0 <= v / base < base.
Proof. split; [apply Z.div_pos; lia|apply Z.div_lt_upper_bound; lia]. Qed.

Let remainder_range : 0 <= v mod base < base.
Proof. apply Z.mod_pos_bound; lia. Qed.

Lemma short_text_value : value base (short_text base v) = v.
Proof.
  unfold short_text. destruct (Z.ltb_spec v base).
  - unfold value; simpl. rewrite digit_character by lia. lia.
  - unfold value; simpl. rewrite !digit_character by lia. pose proof (Z.div_mod v base). lia.
Qed.

Lemma short_text_digits : Forall (is_digit base) (short_text base v).
Proof.
  unfold short_text, is_digit. destruct (Z.ltb_spec v base); repeat constructor; rewrite digit_character; lia.
Qed.

Lemma short_text_carry : carry base (Some (short_text base v)) = v / base.
Proof.
  unfold short_text, carry. destruct (Z.ltb_spec v base); cbn [removelast].
  - symmetry. apply Z.div_small. lia.
  - unfold value; simpl. rewrite digit_character by lia. lia.
Qed.

Lemma short_text_last : digit (last (short_text base v) zero) = v mod base.
Proof.
  unfold short_text. destruct (Z.ltb_spec v base); cbn [last]; rewrite digit_character by lia; [|reflexivity].
  symmetry. apply Z.mod_small. lia.
Qed.
End ShortTexts.

Variable P : procedure.
Variable weight : text -> Z.
Variable most : Z.   (* the largest carry *)
Variable good : text -> Prop.
Hypothesis most_range : 0 <= most < base.
Hypothesis weights_range : forall column, good column -> 0 <= weight column /\ weight column + most < base * (most + 1).
Hypothesis steps : forall before column, step P before column = short_text base (weight column + carry base before).

(** The value of columns, the first worth least. *)
Definition weights (columns : list text) : Z := fold_right (fun c v => weight c + base * v) 0 columns.

Definition read_sum : list text -> text := read_from_right last_character (fun output => output).

Lemma carrying columns : forall before,
  columns <> [] -> Forall good columns -> 0 <= carry base before <= most ->
  value base (read_sum (exact P before columns)) = carry base before + weights columns /\
  Forall (is_digit base) (read_sum (exact P before columns)).
Proof.
  induction columns as [|column later IH]; [congruence|]. intros before _ G K.
  inversion G as [|? ? G1 G2]; subst. destruct (weights_range column G1) as [W1 W2].
  cbn [exact weights fold_right]. rewrite steps. set (v := weight column + carry base before).
  assert (V : 0 <= v < base * base) by (unfold v; nia).
  assert (Q : 0 <= v / base <= most).
  { split; [apply Z.div_pos; lia|]. apply Z.lt_succ_r, Z.div_lt_upper_bound; unfold v; nia. }
  destruct later as [|c cs].
  - cbn [exact]. unfold read_sum; cbn [read_from_right]. split; [|now apply short_text_digits].
    rewrite short_text_value by exact V. cbn. unfold v; lia.
  - assert (E : read_sum (short_text base v :: exact P (Some (short_text base v)) (c :: cs)) =
      read_sum (exact P (Some (short_text base v)) (c :: cs)) ++ last_character (short_text base v)) by reflexivity.
    rewrite E. destruct (IH (Some (short_text base v))) as [IV ID];
      [discriminate|assumption|now rewrite short_text_carry|].
    unfold last_character. rewrite value_snoc, IV, short_text_carry, short_text_last by (assumption || lia).
    split.
    + fold (weights (c :: cs)). pose proof (Z.div_mod v base). unfold v in *. nia.
    + apply Forall_app. split; [exact ID|]. constructor; [|constructor]. unfold is_digit.
      rewrite short_text_last by exact V. apply Z.mod_pos_bound. lia.
Qed.

(** What is read off the exact outputs, without leading zeros, is canonical and has the columns' value. *)
Theorem carried columns : columns <> [] -> Forall good columns ->
  let answer := without_zeros (read_sum (exact P None columns)) in
  canonical base answer /\ value base answer = weights columns.
Proof.
  intros N G answer. destruct (carrying columns None N G) as [V D]; [cbn; lia|]. unfold answer.
  rewrite without_zeros_value by assumption. rewrite V. split; [now apply without_zeros_canonical|cbn; lia].
Qed.

End Carrying.
