(** Intervals that enclose real numbers: arithmetic, float32 weights and GELU. This is what the kernel computes with. *)

From Coq Require Import Reals Lra.
From Flocq Require Import Core.Core IEEE754.Binary IEEE754.Bits.
From Interval Require Import Float.Specific_stdz Float.Specific_ops Float.Basic Interval.Interval Interval.Float
  Interval.Float_full Real.Xreal.
From Alga Require Import Gelu.
From Alga Require Export Network.

Local Open Scope R_scope.

Module F := SpecificFloat StdZRadix2.
Module I := FloatIntervalFull F.
Definition digits_kept := F.PtoP 64%positive.
Local Notation p := digits_kept.

(** [encloses i x]: the interval [i] contains the real [x]. *)
Definition encloses (i : I.type) (x : R) : Prop := contains (I.convert i) (Xreal x).

(** ** Arithmetic *)

Lemma contains_nan i v : contains i Xnan -> contains i v.
Proof. destruct i; simpl; tauto. Qed.

Lemma encloses_integer z : encloses (I.fromZ p z) (IZR z).
Proof. apply I.fromZ_correct. Qed.

Section Arithmetic.
Variables (i j : I.type) (x y : R).
Hypotheses (X : encloses i x) (Y : encloses j y).

Lemma encloses_add : encloses (I.add p i j) (x + y).
Proof. exact (I.add_correct p _ _ (Xreal x) (Xreal y) X Y). Qed.

Lemma encloses_sub : encloses (I.sub p i j) (x - y).
Proof. exact (I.sub_correct p _ _ (Xreal x) (Xreal y) X Y). Qed.

Lemma encloses_mul : encloses (I.mul p i j) (x * y).
Proof. exact (I.mul_correct p _ _ (Xreal x) (Xreal y) X Y). Qed.

Lemma encloses_div : encloses (I.div p i j) (x / y).
Proof.
  pose proof (I.div_correct p _ _ (Xreal x) (Xreal y) X Y) as D. unfold encloses.
  simpl in D. unfold Xdiv' in D. destruct (is_zero y); [now apply contains_nan|exact D].
Qed.

Lemma encloses_opp : encloses (I.neg i) (- x).
Proof. exact (I.neg_correct _ (Xreal x) X). Qed.

Lemma encloses_exp : encloses (I.exp p i) (exp x).
Proof. exact (I.exp_correct p _ (Xreal x) X). Qed.

Lemma encloses_square : encloses (I.sqr p i) (x ^ 2).
Proof. replace (x ^ 2) with (x * x) by ring. exact (I.sqr_correct p _ (Xreal x) X). Qed.

Lemma encloses_root : encloses (I.sqrt p i) (sqrt x).
Proof.
  pose proof (I.sqrt_correct p _ (Xreal x) X) as D. unfold encloses. simpl in D.
  unfold Xsqrt' in D. destruct (is_negative x); [now apply contains_nan|exact D] || exact D.
Qed.

(** Between the two. *)
Definition between : I.type := I.meet (I.upper_extent i) (I.lower_extent j).

Lemma encloses_between z : x <= z <= y -> encloses between z.
Proof.
  intros [A B]. apply I.meet_correct.
  - eapply I.upper_extent_correct; [exact X|exact A].
  - eapply I.lower_extent_correct; [exact Y|exact B].
Qed.

Lemma encloses_positive : I.sign_strict i = Xgt -> 0 < x.
Proof. intros S. pose proof (I.sign_strict_correct i) as C. rewrite S in C. now destruct (C (Xreal x) X). Qed.

Lemma encloses_not_negative : I.sign_large i = Xgt -> 0 <= x.
Proof. intros S. pose proof (I.sign_large_correct i) as C. rewrite S in C. now destruct (C (Xreal x) X). Qed.

Lemma encloses_not_positive : I.sign_large i = Xlt -> x <= 0.
Proof. intros S. pose proof (I.sign_large_correct i) as C. rewrite S in C. now destruct (C (Xreal x) X). Qed.
End Arithmetic.

(** ** Weights: the interval of a float32 bit pattern *)

Definition interval_of_bits (bits : Z) : I.type :=
  match b32_of_bits bits with
  | B754_zero _ => I.fromZ p 0
  | B754_finite s m e _ =>
      let n := cond_Zopp s (Zpos m) in
      if (0 <=? e)%Z then I.fromZ p (n * 2 ^ e) else I.div p (I.fromZ p n) (I.fromZ p (2 ^ (- e)))
  | _ => I.nai
  end.

Lemma encloses_bits bits : encloses (interval_of_bits bits) (real_of_bits bits).
Proof.
  unfold interval_of_bits, real_of_bits. destruct (b32_of_bits bits) as [s|s|s pl H|s m e H]; simpl B2R.
  - apply encloses_integer.
  - unfold encloses. rewrite I.nai_correct. exact Logic.I.
  - unfold encloses. rewrite I.nai_correct. exact Logic.I.
  - unfold F2R; simpl Fnum; simpl Fexp. set (n := cond_Zopp s (Zpos m)). destruct (Z.leb_spec 0 e) as [E|E].
    + rewrite <- (IZR_Zpower radix2) by lia. change (radix2 ^ e)%Z with (2 ^ e)%Z. rewrite <- mult_IZR.
      apply encloses_integer.
    + replace (bpow radix2 e) with (/ IZR (2 ^ (- e))).
      * apply encloses_div; apply encloses_integer.
      * change (2 ^ (- e))%Z with (radix2 ^ (- e))%Z. rewrite IZR_Zpower by lia.
        rewrite <- bpow_opp, Z.opp_involutive. reflexivity.
Qed.

(** ** GELU *)

Definition one_ := I.fromZ p 1.
Definition unit_ball : I.type := between (I.fromZ p (-1)) one_.

(** 1 / (2k+1) and 1 / (k+1) for each index from [k] on. *)
Fixpoint coefficients (k n : nat) : list (I.type * I.type) :=
  match n with
  | O => []
  | S n => (I.div p one_ (I.fromZ p (Z.of_nat (2 * k + 1))), I.div p one_ (I.fromZ p (Z.of_nat (k + 1)))) ::
    coefficients (k + 1) n
  end.

Fixpoint horner_interval (u : I.type) (l : list (I.type * I.type)) : I.type :=
  match l with
  | [] => I.nai
  | [(a, b)] => I.add p a (I.mul p unit_ball (I.mul p u b))
  | (a, b) :: l => I.sub p a (I.mul p (I.mul p u b) (horner_interval u l))
  end.

Lemma encloses_inverse n : encloses (I.div p one_ (I.fromZ p (Z.of_nat n))) (/ INR n).
Proof.
  replace (/ INR n) with (1 / INR n) by (unfold Rdiv; ring). rewrite INR_IZR_INZ.
  apply encloses_div; apply encloses_integer.
Qed.

Lemma encloses_horner u x t n : encloses u x -> -1 <= t <= 1 ->
  forall k, encloses (horner_interval u (coefficients k (S n))) (horner t x k n).
Proof.
  intros U T. induction n as [|n IH]; intros k.
  - cbn [coefficients horner_interval horner]. apply encloses_add; [apply encloses_inverse|].
    replace (t * (x * / INR (k + 1) * / INR (2 * k + 3))) with ((t * / INR (2 * k + 3)) * (x * / INR (k + 1))) by ring.
    apply encloses_mul.
    + eapply encloses_between; try apply encloses_integer.
      assert (P : 0 < / INR (2 * k + 3) <= 1).
      { assert (H : 1 <= INR (2 * k + 3)) by (change 1 with (INR 1); apply le_INR; lia).
        split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
      nra.
    + apply encloses_mul; [exact U|apply encloses_inverse].
  - specialize (IH (k + 1)%nat). revert IH. cbn [coefficients]. set (l := coefficients (k + 1 + 1) n).
    intros IH. cbn [horner_interval horner]. apply encloses_sub; [apply encloses_inverse|].
    apply encloses_mul; [|exact IH]. apply encloses_mul; [exact U|apply encloses_inverse].
Qed.

Lemma encloses_gauss_horner i z n : encloses i z ->
  encloses (I.mul p i (horner_interval (I.sqr p i) (coefficients 0 (S n)))) (gauss z).
Proof.
  intros Z. destruct (gauss_horner n z) as (t & T & ->).
  apply encloses_mul; [exact Z|]. apply encloses_horner; [now apply encloses_square|exact T].
Qed.

(** Where the integral counts as flat, and what it is there. *)
Definition far := I.fromZ p 5.
Definition short_series := coefficients 0 35.
Definition long_series := coefficients 0 100.
Definition gauss_far := I.mul p far (horner_interval (I.sqr p far) long_series).
Definition gauss_beyond : I.type :=
  between gauss_far (I.add p gauss_far (I.div p (I.exp p (I.neg (I.sqr p far))) far)).

Definition gauss_interval (z : I.type) : I.type :=
  match I.sign_large (I.sub p z far), I.sign_large (I.add p z far) with
  | Xgt, _ => gauss_beyond
  | _, Xlt => I.neg gauss_beyond
  | _, _ =>
      let u := I.sqr p z in
      I.mul p z (horner_interval u (match I.sign_large (I.sub p u (I.fromZ p 4))
        with Xlt => short_series | _ => long_series end))
  end.

Lemma encloses_gauss_beyond z : 5 <= z -> encloses gauss_beyond (gauss z).
Proof.
  intros Z. assert (G : encloses gauss_far (gauss 5)) by (apply (encloses_gauss_horner _ _ 99), encloses_integer).
  pose proof (gauss_flat 5 z ltac:(lra) Z) as H.
  eapply encloses_between; [exact G| |exact H]. apply encloses_add; [exact G|].
  apply encloses_div; [|apply encloses_integer].
  apply encloses_exp, encloses_opp, encloses_square, encloses_integer.
Qed.

Lemma encloses_gauss i z : encloses i z -> encloses (gauss_interval i) (gauss z).
Proof.
  intros Z. unfold gauss_interval.
  assert (Fr : encloses far 5) by apply encloses_integer.
  assert (S : encloses (I.mul p i (horner_interval (I.sqr p i)
    (match I.sign_large (I.sub p (I.sqr p i) (I.fromZ p 4))
      with Xlt => short_series | _ => long_series end))) (gauss z)).
  { destruct (I.sign_large (I.sub p (I.sqr p i) (I.fromZ p 4)));
      [apply (encloses_gauss_horner i z 99)|apply (encloses_gauss_horner i z 34)|apply (encloses_gauss_horner i z 99)
      |apply (encloses_gauss_horner i z 99)]; exact Z. }
  assert (N : I.sign_large (I.add p i far) = Xlt -> encloses (I.neg gauss_beyond) (gauss z)).
  { intros L. pose proof (encloses_not_positive _ _ (encloses_add _ _ _ _ Z Fr) L).
    replace (gauss z) with (- gauss (- z)) by (rewrite gauss_opp; ring).
    apply encloses_opp, encloses_gauss_beyond. lra. }
  assert (P : I.sign_large (I.sub p i far) = Xgt -> encloses gauss_beyond (gauss z)).
  { intros L. pose proof (encloses_not_negative _ _ (encloses_sub _ _ _ _ Z Fr) L).
    apply encloses_gauss_beyond. lra. }
  revert S N P. generalize (I.sign_large (I.sub p i far)) (I.sign_large (I.add p i far)).
  cbv zeta. intros a b S N P.
  destruct a; [| |exact (P eq_refl)|]; (destruct b; [exact S|exact (N eq_refl)|exact S|exact S]).
Qed.

Definition root_of_two := I.sqrt p (I.fromZ p 2).
Definition erf_scale := I.div p (I.fromZ p 2) (I.sqrt p (I.pi p)).

Definition gelu_interval (x : I.type) : I.type :=
  I.mul p (I.div p x (I.fromZ p 2)) (I.add p one_ (I.mul p erf_scale (gauss_interval (I.div p x root_of_two)))).

Lemma encloses_gelu i x : encloses i x -> encloses (gelu_interval i) (gelu x).
Proof.
  intros X. apply encloses_mul; [apply encloses_div; [exact X|apply encloses_integer]|].
  apply encloses_add; [apply encloses_integer|]. apply encloses_mul.
  - apply encloses_div; [apply encloses_integer|]. apply encloses_root, I.pi_correct.
  - apply encloses_gauss, encloses_div; [exact X|]. apply encloses_root, encloses_integer.
Qed.
