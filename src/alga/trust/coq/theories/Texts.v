(** Texts, digits and numbers: what the Python package calls text, base and number. *)

From Coq Require Export List ZArith Lia Bool.
From Coq Require Export Init.Byte.
From Coq Require Import Strings.Byte.
Export ListNotations.
Open Scope Z_scope.

(** A text is a list of bytes; [%text] writes one between quotes. *)
Definition text := list byte.

Inductive quoted := Quoted (characters : text).
Definition unquoted (q : quoted) : text := let 'Quoted t := q in t.
Definition characters_of (q : quoted) : list byte := unquoted q.
Declare Scope text_scope.
Delimit Scope text_scope with text.
String Notation quoted Quoted characters_of : text_scope.
Notation "'text!' s" := (unquoted s%text) (at level 1, only parsing).

Fixpoint text_eqb (s t : text) : bool :=
  match s, t with
  | [], [] => true
  | c :: s, d :: t => if Byte.eqb c d then text_eqb s t else false
  | _, _ => false
  end.

Lemma byte_eqb_spec c d : reflect (c = d) (Byte.eqb c d).
Proof.
  destruct (Byte.eqb c d) eqn:E; constructor.
  - now apply byte_dec_bl.
  - intros ->. rewrite byte_dec_lb in E by reflexivity. discriminate.
Qed.

Lemma text_eqb_spec s t : reflect (s = t) (text_eqb s t).
Proof.
  revert t; induction s as [|c s IH]; intros [|d t]; simpl; try (constructor; congruence).
  destruct (byte_eqb_spec c d); [destruct (IH t)|]; constructor; congruence.
Qed.

(** ** Digits: 0-9 and a-z; any other character counts as 36, which is a digit of no base. *)

Definition digit (c : byte) : Z :=
  let n := Z.of_N (Byte.to_N c) in
  if (48 <=? n) && (n <=? 57) then n - 48
  else if (97 <=? n) && (n <=? 122) then n - 87
  else 36.

Definition character (v : Z) : byte :=
  match Byte.of_N (Z.to_N (if v <? 10 then v + 48 else v + 87)) with Some c => c | None => x00 end.

Definition zero : byte := x30.
Definition space : byte := x20.

Fixpoint below (n : nat) : list Z :=
  match n with O => [] | S n => below n ++ [Z.of_nat n] end.

Lemma below_In n v : 0 <= v < Z.of_nat n -> In v (below n).
Proof.
  induction n as [|n IH]; [lia|]; intros H; simpl; apply in_or_app.
  destruct (Z.eq_dec v (Z.of_nat n)) as [->|]; [right; now left|left; apply IH; lia].
Qed.

Lemma digit_character v : 0 <= v < 36 -> digit (character v) = v.
Proof.
  intros H.
  assert (F : forallb (fun v => digit (character v) =? v) (below 36) = true) by (vm_compute; reflexivity).
  rewrite forallb_forall in F. apply Z.eqb_eq, F, below_In, H.
Qed.

Lemma character_digit c : digit c < 36 -> character (digit c) = c.
Proof. destruct c; vm_compute; congruence. Qed.

Lemma digit_range c : 0 <= digit c <= 36.
Proof. destruct c; vm_compute; split; congruence. Qed.

Lemma digit_zero : digit zero = 0.
Proof. reflexivity. Qed.

Lemma digit_is_zero c : digit c = 0 -> c = zero.
Proof. destruct c; vm_compute; congruence. Qed.

(** ** Numbers *)

Definition is_digit (base : Z) (c : byte) : Prop := digit c < base.

(** A number in a base: at least one digit, and nothing else. Leading zeros are allowed. *)
Definition number (base : Z) (t : text) : Prop := t <> [] /\ Forall (is_digit base) t.

(** The value of a text of digits, the first worth most. *)
Definition value (base : Z) (t : text) : Z := fold_left (fun v c => v * base + digit c) t 0.

(** Without leading zeros, or the single digit 0. *)
Definition canonical (base : Z) (t : text) : Prop :=
  number base t /\ (hd_error t = Some zero -> t = [zero]).

(** As Python's [str.lstrip("0")] and [without_zeros]. *)
Fixpoint lstrip (t : text) : text :=
  match t with
  | c :: rest => if Byte.eqb c zero then lstrip rest else t
  | [] => []
  end.

Definition without_zeros (t : text) : text :=
  match lstrip t with
  | [] => [zero]
  | c :: rest => if Byte.eqb c space then zero :: c :: rest else c :: rest
  end.

(** ** Facts about values *)

Section Values.
Variable base : Z.
Hypothesis base_range : 2 <= base <= 36.

Lemma value_from t v : fold_left (fun v c => v * base + digit c) t v = v * base ^ Z.of_nat (length t) + value base t.
Proof.
  unfold value. revert v; induction t as [|c t IH]; intros v; cbn [fold_left length].
  - rewrite Z.pow_0_r. lia.
  - rewrite IH, (IH (0 * base + digit c)). rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. ring.
Qed.

Lemma value_app s t : value base (s ++ t) = value base s * base ^ Z.of_nat (length t) + value base t.
Proof. unfold value at 1. rewrite fold_left_app. apply value_from. Qed.

Lemma value_cons c t : value base (c :: t) = digit c * base ^ Z.of_nat (length t) + value base t.
Proof. change (c :: t) with ([c] ++ t). rewrite value_app. f_equal. Qed.

Lemma value_snoc t c : value base (t ++ [c]) = value base t * base + digit c.
Proof. rewrite value_app. cbn [length]. rewrite Z.pow_1_r. f_equal. Qed.

Lemma value_nonneg t : 0 <= value base t.
Proof.
  induction t as [|c t IH]; [reflexivity|]. rewrite value_cons.
  pose proof (digit_range c). nia.
Qed.

Lemma value_below t : Forall (is_digit base) t -> value base t < base ^ Z.of_nat (length t).
Proof.
  induction 1 as [|c t H _ IH]; [reflexivity|]. rewrite value_cons. cbn [length].
  rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. unfold is_digit in H.
  pose proof (digit_range c). nia.
Qed.

Lemma lstrip_value t : value base (lstrip t) = value base t.
Proof.
  induction t as [|c t IH]; [reflexivity|]. simpl lstrip.
  destruct (byte_eqb_spec c zero) as [->|]; [|reflexivity]. rewrite IH, value_cons, digit_zero. ring.
Qed.

Lemma lstrip_digits t : Forall (is_digit base) t -> Forall (is_digit base) (lstrip t).
Proof.
  induction 1 as [|c t H F IH]; [constructor|]. simpl. destruct (Byte.eqb c zero); [assumption|now constructor].
Qed.

Lemma lstrip_head t : hd_error (lstrip t) <> Some zero.
Proof.
  induction t as [|c t IH]; simpl; [discriminate|].
  destruct (byte_eqb_spec c zero); [assumption|simpl; congruence].
Qed.

Lemma space_no_digit : ~ is_digit base space.
Proof. unfold is_digit. change (digit space) with 36. lia. Qed.

Lemma zero_is_digit : is_digit base zero.
Proof. unfold is_digit. rewrite digit_zero. lia. Qed.

Lemma without_zeros_value t : Forall (is_digit base) t -> value base (without_zeros t) = value base t.
Proof.
  intros F. unfold without_zeros. rewrite <- (lstrip_value t). pose proof (lstrip_digits t F) as G.
  destruct (lstrip t) as [|c s]; [reflexivity|].
  destruct (byte_eqb_spec c space) as [->|]; [|reflexivity]. inversion G; subst. now destruct space_no_digit.
Qed.

Lemma without_zeros_canonical t : Forall (is_digit base) t -> canonical base (without_zeros t).
Proof.
  intros F. unfold without_zeros. pose proof (lstrip_digits t F) as G. pose proof (lstrip_head t) as N.
  destruct (lstrip t) as [|c s].
  - repeat split; [discriminate|repeat constructor; apply zero_is_digit].
  - destruct (byte_eqb_spec c space) as [->|]; [inversion G; subst; now destruct space_no_digit|].
    repeat split; [discriminate|assumption|]. simpl in *. congruence.
Qed.

Lemma number_value_cons c t : canonical base (c :: t) -> t <> [] -> base ^ Z.of_nat (length t) <= value base (c :: t).
Proof.
  intros [[_ F] H] T. rewrite value_cons. inversion F; subst. pose proof (value_nonneg t). pose proof (digit_range c).
  assert (digit c <> 0).
  { intros E. apply digit_is_zero in E; subst c. specialize (H eq_refl). congruence. }
  assert (0 < base ^ Z.of_nat (length t)) by (apply Z.pow_pos_nonneg; lia). nia.
Qed.

(** A canonical number is the only one of its value: so a canonical answer of the right value is the right text. *)
Lemma same_length s t :
  length s = length t -> Forall (is_digit base) s -> Forall (is_digit base) t -> value base s = value base t -> s = t.
Proof.
  revert t; induction s as [|c s IH]; intros [|d t] L F G; try discriminate; [reflexivity|].
  injection L as L. inversion F; inversion G; subst. rewrite !value_cons, L. intros E.
  pose proof (value_below s H2). pose proof (value_below t H6). rewrite L in H.
  pose proof (value_nonneg s). pose proof (value_nonneg t).
  set (p := base ^ Z.of_nat (length t)) in *.
  assert (digit c = digit d) by nia.
  assert (c = d).
  { rewrite <- (character_digit c), <- (character_digit d); unfold is_digit in *; try lia. now f_equal. }
  subst d. f_equal. apply IH; auto. nia.
Qed.

Theorem canonical_unique s t : canonical base s -> canonical base t -> value base s = value base t -> s = t.
Proof.
  assert (W : forall s t, canonical base s -> canonical base t -> value base s = value base t ->
    (length s <= length t)%nat).
  { clear s t. intros [|c s] t Cs Ct E; [simpl; lia|]. destruct s as [|c' s'].
    - destruct t; [destruct Ct as [[[] _] _]; reflexivity|simpl; lia].
    - pose proof (number_value_cons c (c' :: s') Cs ltac:(discriminate)) as L.
      destruct Ct as [[_ G] _]. pose proof (value_below t G) as U. rewrite <- E in U.
      assert (B : base ^ Z.of_nat (length (c' :: s')) < base ^ Z.of_nat (length t)) by lia.
      apply Z.pow_lt_mono_r_iff in B; simpl in *; lia. }
  intros Cs Ct E. apply same_length; [|apply Cs|apply Ct|exact E].
  apply Nat.le_antisymm; apply W; auto.
Qed.

End Values.
