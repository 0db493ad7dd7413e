(** Rounded sums in any order: Higham's bound, and that IEEE 754 rounding to nearest keeps it. *)

From Coq Require Import Reals Lra Lia List Permutation.
From Flocq Require Import Core.Core.
From Flocq Require Import Relative.
Import ListNotations.
Local Open Scope R_scope.

(** The unit roundoff of float32 and its least normal number. *)
Definition u : R := / IZR (2 ^ 24).
Definition omega : R := / IZR (2 ^ 126).

(** One operation: the exact result times (1 + d), |d| <= u, or off by at most omega where it underflows. *)
Definition rounded (x y : R) : Prop := Rabs (y - x) <= u * Rabs x + omega.

(** What [k] roundings in a row may change, at most k u / (1 - k u). *)
Definition gamma (k : nat) : R := (1 + u) ^ k - 1.
Definition sum_of (terms : list R) : R := fold_right Rplus 0 terms.
Definition size_of (terms : list R) : R := fold_right (fun x s => Rabs x + s) 0 terms.

(** A computed sum in which no term passes more than [k] roundings. *)
Definition near (k : nat) (terms : list R) (y : R) : Prop :=
  Rabs (y - sum_of terms) <= gamma k * size_of terms + 4 * INR k * omega.

(** ** Summation trees: any order, products rounded or fused *)

Inductive summed : list R -> R -> Prop :=
| summed_term x : summed [x] x
| summed_rounded x y : rounded x y -> summed [x] y
| summed_add l m s t y : summed l s -> summed m t -> rounded (s + t) y -> summed (l ++ m) y
| summed_reordered l m y : Permutation l m -> summed l y -> summed m y.

Lemma at_most_1000 n : (n <= 1000)%nat -> INR n <= 1000.
Proof. intros H. apply le_INR in H. rewrite (INR_IZR_INZ 1000) in H. exact H. Qed.

Lemma u_range : 0 < u < / 10000000.
Proof. unfold u. simpl Z.pow. lra. Qed.

Lemma omega_positive : 0 < omega.
Proof. unfold omega. apply Rinv_0_lt_compat, IZR_lt. reflexivity. Qed.

Lemma sum_of_app l m : sum_of (l ++ m) = sum_of l + sum_of m.
Proof. induction l as [|x l IH]; simpl; [ring|]. unfold sum_of in *. rewrite IH. ring. Qed.

Lemma size_of_app l m : size_of (l ++ m) = size_of l + size_of m.
Proof. induction l as [|x l IH]; simpl; [ring|]. unfold size_of in *. rewrite IH. ring. Qed.

Lemma sum_of_permuted l m : Permutation l m -> sum_of l = sum_of m.
Proof. induction 1; simpl; unfold sum_of in *; try lra. Qed.

Lemma size_of_permuted l m : Permutation l m -> size_of l = size_of m.
Proof. induction 1; simpl; unfold size_of in *; try lra. Qed.

Lemma size_of_nonneg l : 0 <= size_of l.
Proof. induction l as [|x l IH]; simpl; [lra|]. unfold size_of in *. pose proof (Rabs_pos x). lra. Qed.

Lemma sum_of_size l : Rabs (sum_of l) <= size_of l.
Proof.
  induction l as [|x l IH]; simpl; [rewrite Rabs_R0; lra|]. unfold sum_of, size_of in *.
  eapply Rle_trans; [apply Rabs_triang|lra].
Qed.

Lemma summed_length l y : summed l y -> (1 <= length l)%nat.
Proof.
  induction 1; simpl; auto; [rewrite app_length; lia|]. now rewrite <- (Permutation_length H).
Qed.

Lemma power_at_least n : 1 <= (1 + u) ^ n.
Proof. apply pow_R1_Rle. pose proof u_range. lra. Qed.

Lemma power_grows m n : (m <= n)%nat -> (1 + u) ^ m <= (1 + u) ^ n.
Proof. intros H. apply Rle_pow; [pose proof u_range; lra|exact H]. Qed.

Lemma summed_bound l y : summed l y -> (length l <= 1000)%nat ->
  Rabs (y - sum_of l) <= ((1 + u) ^ length l - 1) * size_of l + (2 * INR (length l) - 1) * (2 * omega).
Proof.
  pose proof u_range as U. pose proof omega_positive as O.
  induction 1 as [x|x y R|l m s t y Sl IHs T IHt R|l m y P Sl IH]; intros L.
  - simpl. replace (x - (x + 0)) with 0 by ring. rewrite Rabs_R0. pose proof (Rabs_pos x). nra.
  - unfold rounded in R. simpl. replace (y - (x + 0)) with (y - x) by ring. nra.
  - rewrite app_length in *. pose proof (summed_length l s Sl) as L1. pose proof (summed_length m t T) as L2.
    specialize (IHs ltac:(lia)). specialize (IHt ltac:(lia)). rewrite sum_of_app, size_of_app.
    set (a := length l) in *. set (b := length m) in *.
    pose proof (size_of_nonneg l). pose proof (size_of_nonneg m). pose proof (sum_of_size l).
      pose proof (sum_of_size m).
    assert (Pa : (1 + u) * (1 + u) ^ a <= (1 + u) ^ (a + b)).
    { change ((1 + u) * (1 + u) ^ a) with ((1 + u) ^ S a). apply power_grows. lia. }
    assert (Pb : (1 + u) * (1 + u) ^ b <= (1 + u) ^ (a + b)).
    { change ((1 + u) * (1 + u) ^ b) with ((1 + u) ^ S b). apply power_grows. lia. }
    unfold rounded in R.
    assert (E : y - (sum_of l + sum_of m) = (y - (s + t)) + ((s - sum_of l) + (t - sum_of m))) by ring.
    rewrite E. eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_l, Rabs_triang|].
    assert (Q : Rabs (s + t) <= Rabs (s - sum_of l) + Rabs (t - sum_of m) + size_of l + size_of m).
    { replace (s + t) with ((s - sum_of l) + (t - sum_of m) + (sum_of l + sum_of m)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. pose proof (Rabs_triang (s - sum_of l) (t - sum_of m)).
      pose proof (Rabs_triang (sum_of l) (sum_of m)). lra. }
    set (es := Rabs (s - sum_of l)) in *. set (et := Rabs (t - sum_of m)) in *.
    set (sl := size_of l) in *. set (sm := size_of m) in *. set (pa := (1 + u) ^ a) in *. set (pb := (1 + u) ^ b) in *.
    set (pc := (1 + u) ^ (a + b)) in *.
    assert (La : INR a <= 1000 /\ INR b <= 1000 /\ 1 <= INR a /\ 1 <= INR b).
    { repeat split; try (apply at_most_1000; lia); change 1 with (INR 1); apply le_INR; lia. }
    rewrite plus_INR.
    assert (B1 : u * Rabs (s + t) <= u * (es + et + sl + sm)) by (apply Rmult_le_compat_l; lra).
    assert (B2 : (1 + u) * es <= (1 + u) * ((pa - 1) * sl + (2 * INR a - 1) * (2 * omega)))
      by (apply Rmult_le_compat_l; lra).
    assert (B3 : (1 + u) * et <= (1 + u) * ((pb - 1) * sm + (2 * INR b - 1) * (2 * omega)))
      by (apply Rmult_le_compat_l; lra).
    assert (B4 : (1 + u) * pa * sl <= pc * sl) by (apply Rmult_le_compat_r; lra).
    assert (B5 : (1 + u) * pb * sm <= pc * sm) by (apply Rmult_le_compat_r; lra).
    assert (B6 : u * ((2 * INR a + 2 * INR b - 2) * (2 * omega)) <= omega).
    { assert (u * (2 * INR a + 2 * INR b - 2) <= / 2) by nra. nra. }
    nra.
  - rewrite <- (Permutation_length P), <- (sum_of_permuted l m P), <- (size_of_permuted l m P) in *. auto.
Qed.

(** Higham's bound: whatever the order of summation. *)
Theorem summed_near l y : summed l y -> (length l <= 1000)%nat -> near (length l) l y.
Proof.
  intros S L. pose proof (summed_bound l y S L) as B. pose proof omega_positive. pose proof (pos_INR (length l)).
  unfold near, gamma. nra.
Qed.

Lemma gamma_nonneg k : 0 <= gamma k.
Proof. pose proof (power_at_least k). unfold gamma. lra. Qed.

(** More roundings may be allowed for than there are. *)
Lemma near_more m n terms y : (m <= n)%nat -> near m terms y -> near n terms y.
Proof.
  intros H B. pose proof (power_grows m n H) as G. pose proof (size_of_nonneg terms). pose proof omega_positive.
  assert (INR m <= INR n) by now apply le_INR. unfold near, gamma in *.
  assert (((1 + u) ^ m - 1) * size_of terms <= ((1 + u) ^ n - 1) * size_of terms) by (apply Rmult_le_compat_r; lra).
    nra.
Qed.

(** The exact sum is one that may be computed. *)
Lemma near_exact k terms : near k terms (sum_of terms).
Proof.
  unfold near. replace (sum_of terms - sum_of terms) with 0 by ring. rewrite Rabs_R0.
  pose proof (gamma_nonneg k). pose proof (size_of_nonneg terms). pose proof omega_positive. pose proof (pos_INR k).
  assert (0 <= gamma k * size_of terms) by (apply Rmult_le_pos; lra).
  assert (0 <= 4 * INR k * omega) by (apply Rmult_le_pos; lra). lra.
Qed.

(** Rounding to nearest in float32, subnormals included, is such an operation, however ties are broken. *)
Theorem nearest_rounded choice x : rounded x (round radix2 (FLT_exp (-149) 24) (Znearest choice) x).
Proof.
  destruct (error_N_FLT radix2 (-149) 24 ltac:(lia) choice x) as (e & h & E & H & _ & ->).
  unfold rounded. replace (x * (1 + e) + h - x) with (x * e + h) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rmult_comm u).
  apply Rplus_le_compat.
  - apply Rmult_le_compat_l; [apply Rabs_pos|]. eapply Rle_trans; [exact E|]. right. unfold u. simpl. lra.
  - eapply Rle_trans; [exact H|]. unfold omega. rewrite <- (Rinv_inv (/ 2 * bpow radix2 (-149))).
    apply Rinv_le_contravar; [apply IZR_lt; reflexivity|]. simpl. lra.
Qed.
