(** GELU over the reals, and partial sums of a series that enclose it. *)

From Coq Require Import Reals Lra Lia Factorial.
From Coquelicot Require Import Coquelicot.
Local Open Scope R_scope.

(** The integral of exp(-t²), the error function, and GELU as torch defines it. *)
Definition gauss (z : R) : R := RInt (fun t => exp (- t ^ 2)) 0 z.
Definition erf (z : R) : R := 2 / sqrt PI * gauss z.
Definition gelu (x : R) : R := x / 2 * (1 + erf (x / sqrt 2)).

(** ** Functions that begin at 0 and do not fall *)

Lemma rising f df a :
  (forall x, is_derive f x (df x)) -> (forall x, a <= x -> 0 <= df x) -> forall x, a <= x -> f a <= f x.
Proof.
  intros D P x [H|<-]; [|lra].
  destruct (MVT_gen f a x df) as (c & [C1 C2] & E).
  - intros y _. apply D.
  - intros y _. apply derivable_continuous_pt. exists (df y). now apply is_derive_Reals.
  - rewrite Rmin_left in C1 by lra. rewrite Rmax_right in C2 by lra. pose proof (P c C1). nra.
Qed.

Lemma gauss_derive z : is_derive gauss z (exp (- z ^ 2)).
Proof.
  unfold gauss. apply (is_derive_RInt (fun t => exp (- t ^ 2)) _ 0).
  - exists (mkposreal 1 Rlt_0_1). intros y _. apply (@RInt_correct R_CompleteNormedModule), ex_RInt_continuous.
    intros t _. apply continuous_comp; [apply (continuous_opp (fun t => t ^ 2))|apply continuous_exp].
    apply (ex_derive_continuous (fun t => t ^ 2)). auto_derive. trivial.
  - apply continuous_comp; [apply (continuous_opp (fun t => t ^ 2))|apply continuous_exp].
    apply (ex_derive_continuous (fun t => t ^ 2)). auto_derive. trivial.
Qed.

Lemma gauss_0 : gauss 0 = 0.
Proof. unfold gauss. rewrite RInt_point. reflexivity. Qed.

Lemma gauss_opp z : gauss (- z) = - gauss z.
Proof.
  assert (E : forall z, is_derive (fun z => gauss z + gauss (- z)) z 0).
  { intros x. pose proof (gauss_derive x) as D1. pose proof (gauss_derive (- x)) as D2.
    evar_last.
    - apply (is_derive_plus (fun z => gauss z) (fun z => gauss (- z))); [exact D1|].
      apply (is_derive_comp gauss (fun z => - z)); [exact D2|]. auto_derive; [trivial|reflexivity].
    - unfold plus, scal; simpl. unfold mult; simpl. replace (- x * (- x * 1)) with (x * (x * 1)) by ring. ring. }
  assert (C : gauss z + gauss (- z) = gauss 0 + gauss (- 0)).
  { destruct (Rle_dec 0 z) as [H|H].
    - apply Rle_antisym.
      + apply Ropp_le_cancel. apply (rising (fun z => - (gauss z + gauss (- z))) (fun _ => - 0) 0); auto; [|intros;
        lra].
        intros x. apply (is_derive_opp (fun z => gauss z + gauss (- z))), E.
      + apply (rising (fun z => gauss z + gauss (- z)) (fun _ => 0) 0); auto. intros; lra.
    - apply Rle_antisym.
      + apply (rising (fun z => gauss z + gauss (- z)) (fun _ => 0) z); auto; intros; lra.
      + apply Ropp_le_cancel. apply (rising (fun z => - (gauss z + gauss (- z))) (fun _ => - 0) z); auto; try (intros;
        lra).
        intros x. apply (is_derive_opp (fun z => gauss z + gauss (- z))), E. }
  rewrite Ropp_0, gauss_0 in C. lra.
Qed.

(** ** exp(-u) lies between neighbouring partial sums of its series, for u >= 0 *)

Definition power (u : R) (k : nat) : R := u ^ k / INR (fact k).
Definition exp_sum (u : R) (n : nat) : R := sum_f_R0 (fun k => (-1) ^ k * power u k) n.

Lemma power_derive k u : is_derive (fun u => power u (S k)) u (power u k).
Proof.
  unfold power. auto_derive; [trivial|].
  change (match k with 0%nat => 1 | S _ => INR k + 1 end) with (INR (S k)).
  replace (INR (fact k + k * fact k)) with (INR (S k) * INR (fact k)) by (rewrite <- mult_INR; reflexivity).
  pose proof (INR_fact_neq_0 k). assert (INR (S k) <> 0) by (apply not_0_INR; lia). field. auto.
Qed.

Lemma exp_sum_derive n u : is_derive (fun u => exp_sum u (S n)) u (- exp_sum u n).
Proof.
  induction n as [|n IH].
  - unfold exp_sum, power; simpl. auto_derive; [trivial|]. field.
  - apply (is_derive_ext (fun u => exp_sum u (S n) + (-1) ^ (S (S n)) * power u (S (S n)))); [reflexivity|].
    evar_last.
    + apply (is_derive_plus (fun u => exp_sum u (S n))); [exact IH|].
      apply (is_derive_scal (fun u => power u (S (S n)))), power_derive.
    + unfold plus; simpl. unfold exp_sum; simpl sum_f_R0. change ((-1) ^ S (S n)) with (-1 * (-1) ^ S n). ring.
Qed.

Lemma exp_sum_0 n : exp_sum 0 n = 1.
Proof.
  induction n as [|n IH]; [unfold exp_sum, power; simpl; field|].
  change (exp_sum 0 (S n)) with (exp_sum 0 n + (-1) ^ S n * power 0 (S n)). rewrite IH. unfold power. simpl. 
  rewrite Rmult_0_l. unfold Rdiv. rewrite Rmult_0_l. ring.
Qed.

(** The sign of what is left after [n] terms. *)
Lemma exp_alternates n : forall u, 0 <= u -> 0 <= (-1) ^ S n * (exp (- u) - exp_sum u n).
Proof.
  induction n as [|n IH]; intros u U.
  - assert (H : exp_sum u 0 = 1) by (unfold exp_sum, power; simpl; field). rewrite H.
    assert (exp (- u) <= 1).
    { rewrite <- exp_0. destruct U as [U|<-]; [left; apply exp_increasing; lra|right; f_equal; lra]. }
    simpl. lra.
  - set (f := fun u => (-1) ^ S (S n) * (exp (- u) - exp_sum u (S n))).
    assert (Z : f 0 = 0) by (unfold f; rewrite exp_sum_0, Ropp_0, exp_0; ring).
    change (0 <= f u). rewrite <- Z.
    apply (rising f (fun u => (-1) ^ S n * (exp (- u) - exp_sum u n)) 0); auto.
    intros x. unfold f. evar_last.
    + apply (is_derive_scal (fun u => exp (- u) - exp_sum u (S n))).
      apply (is_derive_minus (fun u => exp (- u)) (fun u => exp_sum u (S n))); [|apply exp_sum_derive].
      auto_derive; [trivial|reflexivity].
    + unfold minus, plus, opp; simpl. ring.
Qed.

(** ** The same for the integral *)

Definition gauss_term (z : R) (k : nat) : R := z ^ (2 * k + 1) / (INR (fact k) * INR (2 * k + 1)).
Definition gauss_sum (z : R) (n : nat) : R := sum_f_R0 (fun k => (-1) ^ k * gauss_term z k) n.

Lemma gauss_term_derive k z : is_derive (fun z => gauss_term z k) z (power (z ^ 2) k).
Proof.
  unfold gauss_term, power. auto_derive; [trivial|].
  replace (Nat.pred (k + (k + 0) + 1)) with (2 * k)%nat by lia. rewrite <- pow_mult.
  change (k + (k + 0) + 1)%nat with (2 * k + 1)%nat.
  pose proof (INR_fact_neq_0 k). assert (INR (2 * k + 1) <> 0) by (apply not_0_INR; lia). field. auto.
Qed.

Lemma gauss_sum_derive n z : is_derive (fun z => gauss_sum z n) z (exp_sum (z ^ 2) n).
Proof.
  induction n as [|n IH].
  - apply (is_derive_scal (fun z => gauss_term z 0)), gauss_term_derive.
  - apply (is_derive_plus (fun z => gauss_sum z n)); [exact IH|].
    apply (is_derive_scal (fun z => gauss_term z (S n))), gauss_term_derive.
Qed.

Lemma gauss_sum_0 n : gauss_sum 0 n = 0.
Proof.
  induction n as [|n IH]; unfold gauss_sum in *; simpl sum_f_R0; rewrite ?IH; unfold gauss_term;
    rewrite pow_i by lia; unfold Rdiv; rewrite ?Rmult_0_l; ring.
Qed.

Lemma gauss_alternates n z : 0 <= z -> 0 <= (-1) ^ S n * (gauss z - gauss_sum z n).
Proof.
  intros H. set (f := fun z => (-1) ^ S n * (gauss z - gauss_sum z n)).
  assert (Z : f 0 = 0) by (unfold f; rewrite gauss_0, gauss_sum_0; ring).
  change (0 <= f z). rewrite <- Z.
  apply (rising f (fun z => (-1) ^ S n * (exp (- z ^ 2) - exp_sum (z ^ 2) n)) 0); auto.
  - intros x. unfold f.
    apply (is_derive_scal (fun z => gauss z - gauss_sum z n)).
    apply (is_derive_minus gauss (fun z => gauss_sum z n)); [apply gauss_derive|apply gauss_sum_derive].
  - intros x _. apply exp_alternates. nra.
Qed.

Lemma minus_one_twice n : (-1) ^ n * (-1) ^ n = 1.
Proof. rewrite <- Rpow_mult_distr. replace (-1 * -1) with 1 by ring. apply pow1. Qed.

(** What is left is at most the next term. *)
Theorem gauss_near n z : Rabs (gauss z - gauss_sum z n) <= Rabs (gauss_term z (S n)).
Proof.
  assert (W : forall z, 0 <= z -> Rabs (gauss z - gauss_sum z n) <= gauss_term z (S n)).
  { clear z. intros z H. pose proof (gauss_alternates n z H) as A. pose proof (gauss_alternates (S n) z H) as B.
    change (gauss_sum z (S n)) with (gauss_sum z n + (-1) ^ S n * gauss_term z (S n)) in B.
    change ((-1) ^ S (S n)) with (-1 * (-1) ^ S n) in B. pose proof (minus_one_twice (S n)) as M.
    set (s := (-1) ^ S n) in *. set (d := gauss z - gauss_sum z n) in *.
    assert (E : -1 * s * (gauss z - (gauss_sum z n + s * gauss_term z (S n))) = - (s * d) + s * s * gauss_term z (S n))
      by (unfold d; ring). rewrite E, M in B.
    assert (Rabs d = Rabs (s * d)).
    { rewrite Rabs_mult. replace (Rabs s) with 1; [ring|]. unfold s. rewrite <- RPow_abs.
      replace (Rabs (-1)) with 1; [now rewrite pow1|]. rewrite Rabs_left; lra. }
    rewrite H0, Rabs_pos_eq by exact A. lra. }
  destruct (Rle_dec 0 z) as [H|H].
  - eapply Rle_trans; [now apply W|apply Rle_abs].
  - assert (O : forall k, gauss_term (- z) k = - gauss_term z k).
    { intros k. unfold gauss_term. replace (- z) with (-1 * z) by ring. rewrite Rpow_mult_distr, pow_add, pow_mult.
      replace ((-1) ^ 2) with 1 by ring. rewrite pow1. unfold Rdiv. ring. }
    assert (P : forall m, gauss_sum (- z) m = - gauss_sum z m).
    { unfold gauss_sum. induction m as [|m IH]; simpl sum_f_R0; rewrite O, ?IH; ring. }
    specialize (W (- z) ltac:(lra)). rewrite gauss_opp, P, O in W.
    replace (- gauss z - - gauss_sum z n) with (- (gauss z - gauss_sum z n)) in W by ring.
    rewrite Rabs_Ropp in W. rewrite <- (Rabs_Ropp (gauss_term z (S n))). eapply Rle_trans; [exact W|apply Rle_abs].
Qed.

(** The sum in Horner's form, with a share [t] of the next term: [u] is the square, [k] the index of the first term. *)
Fixpoint horner (t u : R) (k n : nat) : R :=
  match n with
  | O => / INR (2 * k + 1) + t * (u * / INR (k + 1) * / INR (2 * k + 3))
  | S n => / INR (2 * k + 1) - u * / INR (k + 1) * horner t u (k + 1) n
  end.

Fixpoint gauss_sum_from (z : R) (k n : nat) : R :=
  match n with
  | O => (-1) ^ k * gauss_term z k
  | S n => (-1) ^ k * gauss_term z k + gauss_sum_from z (k + 1) n
  end.

Lemma gauss_sum_from_last z n : forall k,
  gauss_sum_from z k (S n) = gauss_sum_from z k n + (-1) ^ (k + S n) * gauss_term z (k + S n).
Proof.
  induction n as [|n IH]; intros k; [reflexivity|].
  change (gauss_sum_from z k (S (S n))) with ((-1) ^ k * gauss_term z k + gauss_sum_from z (k + 1) (S n)).
  rewrite IH. replace (k + 1 + S n)%nat with (k + S (S n))%nat by lia. cbn [gauss_sum_from]. ring.
Qed.

Lemma gauss_sum_from_0 z n : gauss_sum_from z 0 n = gauss_sum z n.
Proof.
  induction n as [|n IH]; [reflexivity|]. rewrite gauss_sum_from_last, IH. reflexivity.
Qed.

Lemma horner_sum t z n : forall k,
  (-1) ^ k * (z ^ (2 * k + 1) / INR (fact k)) * horner t (z ^ 2) k n =
  gauss_sum_from z k n + t * (-1) ^ (k + n) * gauss_term z (k + n + 1).
Proof.
  induction n as [|n IH]; intros k.
  - cbn [horner gauss_sum_from]. rewrite Nat.add_0_r. unfold gauss_term.
    replace (2 * (k + 1) + 1)%nat with (2 * k + 1 + 2)%nat by lia. rewrite (pow_add z (2 * k + 1) 2).
    replace (fact (k + 1)) with ((k + 1) * fact k)%nat by (rewrite Nat.add_1_r; reflexivity).
    replace (2 * k + 3)%nat with (2 * k + 1 + 2)%nat by lia. rewrite mult_INR.
    pose proof (INR_fact_neq_0 k). assert (INR (2 * k + 1) <> 0) by (apply not_0_INR; lia).
    assert (INR (2 * k + 1 + 2) <> 0) by (apply not_0_INR; lia). assert (INR (k + 1) <> 0) by (apply not_0_INR; lia).
    field. auto.
  - cbn [horner gauss_sum_from]. replace (k + S n)%nat with (k + 1 + n)%nat by lia.
    rewrite Rplus_assoc, <- IH.
    unfold gauss_term.
    replace (2 * (k + 1) + 1)%nat with (2 * k + 1 + 2)%nat by lia. rewrite (pow_add z (2 * k + 1) 2).
    replace (fact (k + 1)) with ((k + 1) * fact k)%nat by (rewrite Nat.add_1_r; reflexivity). rewrite mult_INR.
    replace ((-1) ^ (k + 1)) with (-1 * (-1) ^ k) by (rewrite Nat.add_1_r; reflexivity).
    pose proof (INR_fact_neq_0 k). assert (INR (2 * k + 1) <> 0) by (apply not_0_INR; lia).
    assert (INR (k + 1) <> 0) by (apply not_0_INR; lia). field. auto.
Qed.

(** With some share between -1 and 1 the form is exact. *)
Theorem gauss_horner n z : exists t, -1 <= t <= 1 /\ gauss z = z * horner t (z ^ 2) 0 n.
Proof.
  pose proof (gauss_near n z) as N. set (d := gauss z - gauss_sum z n) in *. set (x := gauss_term z (S n)) in *.
  pose proof (minus_one_twice n) as M. set (s := (-1) ^ n) in *.
  assert (S1 : Rabs s = 1).
  { unfold s. rewrite <- RPow_abs. replace (Rabs (-1)) with 1; [now rewrite pow1|]. rewrite Rabs_left; lra. }
  assert (H : forall t, z * horner t (z ^ 2) 0 n = gauss_sum z n + t * s * x).
  { intros t. pose proof (horner_sum t z n 0) as E. rewrite gauss_sum_from_0 in E. simpl (0 + n)%nat in E.
    rewrite (Nat.add_1_r n) in E. fold s in E. fold x in E. rewrite <- E. simpl. field. }
  destruct (Req_dec x 0) as [X|X].
  - exists 0. split; [lra|]. rewrite H, X. rewrite X, Rabs_R0 in N.
    assert (d = 0) by (destruct (Req_dec d 0) as [|D]; [assumption|apply Rabs_pos_lt in D; lra]). unfold d in *. lra.
  - exists (s * d / x). split.
    + apply Rabs_le_between. unfold Rdiv. rewrite !Rabs_mult, S1, Rabs_inv, Rmult_1_l.
      apply Rabs_pos_lt in X. apply (Rmult_le_reg_r (Rabs x)); [exact X|]. field_simplify; lra.
    + rewrite H. replace (s * d / x * s * x) with (s * s * d) by (field; exact X). rewrite M. unfold d. ring.
Qed.

(** Far out the integral is flat: beyond [b] it grows by less than exp(-b²) / b. *)
Theorem gauss_flat b z : 0 < b -> b <= z -> gauss b <= gauss z <= gauss b + exp (- b ^ 2) / b.
Proof.
  intros B H. split.
  - apply (rising gauss (fun z => exp (- z ^ 2)) b); auto; [apply gauss_derive|]. intros x _. left. apply exp_pos.
  - set (f := fun z => - exp (- b * z) / b - gauss z).
    assert (K : f b <= f z).
    { apply (rising f (fun z => exp (- b * z) - exp (- z ^ 2)) b); auto.
      - intros x. unfold f.
        apply (is_derive_minus (fun z => - exp (- b * z) / b) gauss); [|apply gauss_derive].
        auto_derive; [lra|]. field. lra.
      - intros x X. assert (exp (- x ^ 2) <= exp (- b * x)); [|lra].
        destruct (Rle_lt_or_eq_dec (- x ^ 2) (- b * x)) as [L|E]; [nra|left; now apply exp_increasing|].
        right. now rewrite E. }
    unfold f in K. replace (- b * b) with (- b ^ 2) in K by ring.
    pose proof (exp_pos (- b * z)). assert (0 < / b) by now apply Rinv_0_lt_compat.
    unfold Rdiv in *. nra.
Qed.

Theorem gauss_rising x y : x <= y -> gauss x <= gauss y.
Proof.
  intros H. apply (rising gauss (fun z => exp (- z ^ 2)) x); auto; [apply gauss_derive|]. intros z _. left.
    apply exp_pos.
Qed.
