(** Intervals that enclose every run of the network in float32; and the finite check of such a network. *)

From Coq Require Import Reals Lra.
From Interval Require Import Float.Specific_ops Interval.Interval Interval.Float Real.Xreal.
From Alga Require Import Gelu Rounding.
From Alga Require Export Greedy Float32.
Local Open Scope R_scope.

(** Fewer digits than for the reals: rounding in float32 errs by far more. GELU keeps its own precision. *)
Definition digits32 := F.PtoP 40%positive.
Local Notation q := digits32.

Section Arithmetic.
Variables (i j : I.type) (x y : R).
Hypotheses (X : encloses i x) (Y : encloses j y).

Lemma add32 : encloses (I.add q i j) (x + y).
Proof. exact (I.add_correct q _ _ (Xreal x) (Xreal y) X Y). Qed.

Lemma mul32 : encloses (I.mul q i j) (x * y).
Proof. exact (I.mul_correct q _ _ (Xreal x) (Xreal y) X Y). Qed.

Lemma div32 : encloses (I.div q i j) (x / y).
Proof.
  pose proof (I.div_correct q _ _ (Xreal x) (Xreal y) X Y) as D. unfold encloses.
  simpl in D. unfold Xdiv' in D. destruct (is_zero y); [now apply contains_nan|exact D].
Qed.

Lemma abs32 : encloses (I.abs i) (Rabs x).
Proof. exact (I.abs_correct _ (Xreal x) X). Qed.
End Arithmetic.

Lemma sub32 i j x y : encloses i x -> encloses j y -> encloses (I.sub q i j) (x - y).
Proof. intros X Y. exact (I.sub_correct q _ _ (Xreal x) (Xreal y) X Y). Qed.

Lemma exp_encloses32 i x : encloses i x -> encloses (I.exp q i) (exp x).
Proof. intros X. exact (I.exp_correct q _ (Xreal x) X). Qed.

Definition operations32 : operations I.type := {|
  nought := I.fromZ q 0; add := I.add q; mul := I.mul q; div := I.div q; exponential := I.exp q;
  activation := gelu_interval
|}.
Local Notation oi := operations32.
Local Notation oR := real_operations.

(** An interval, widened on both sides. *)
Definition blurred (i error : I.type) : I.type := I.add q i (I.mul q unit_ball error).

Lemma blurred_encloses i error x e y : encloses i x -> encloses error e -> Rabs (y - x) <= e
  -> encloses (blurred i error) y.
Proof.
  intros X E B. destruct (Req_dec e 0) as [->|N].
  - assert (y = x) by (apply Rminus_diag_uniq; destruct (Req_dec (y - x) 0) as [|D];
    [assumption|apply Rabs_pos_lt in D; lra]).
    subst y. replace x with (x + 0 * 0) by ring. apply add32; [exact X|]. apply mul32; [|exact E].
    eapply encloses_between; try apply encloses_integer. lra.
  - assert (P : 0 < e) by (pose proof (Rabs_pos (y - x)); lra).
    replace y with (x + (y - x) / e * e) by (field; exact N). apply add32; [exact X|]. apply mul32; [|exact E].
    assert (A : Rabs ((y - x) / e) <= 1).
    { unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq e) by lra.
      apply (Rmult_le_reg_r e); [exact P|]. rewrite Rmult_assoc, Rinv_l by exact N. lra. }
    pose proof (Rle_abs ((y - x) / e)). pose proof (Rle_abs (- ((y - x) / e))) as M. rewrite Rabs_Ropp in M.
    eapply encloses_between; try apply encloses_integer. lra.
Qed.

Definition u_interval := I.div q (I.fromZ q 1) (I.fromZ q (2 ^ 24)).
Definition omega_interval := I.div q (I.fromZ q 1) (I.fromZ q (2 ^ 126)).

Lemma fromZ32 z : encloses (I.fromZ q z) (IZR z).
Proof. apply I.fromZ_correct. Qed.

Lemma u_encloses : encloses u_interval u.
Proof. unfold u. replace (/ IZR (2 ^ 24)) with (1 / IZR (2 ^ 24)) by (unfold Rdiv; ring). apply div32; apply fromZ32.
  Qed.

Lemma omega_encloses : encloses omega_interval omega.
Proof. unfold omega. replace (/ IZR (2 ^ 126)) with (1 / IZR (2 ^ 126)) by (unfold Rdiv; ring).
  apply div32; apply fromZ32. Qed.

Definition natural (n : nat) : I.type := I.fromZ q (Z.of_nat n).
Lemma natural_encloses n : encloses (natural n) (INR n).
Proof. rewrite INR_IZR_INZ. apply fromZ32. Qed.

(** The two parts of a sum's bound, for up to 40 roundings. *)
Fixpoint power_interval (k : nat) : I.type :=
  match k with O => I.fromZ q 1 | S k => I.mul q (I.add q (I.fromZ q 1) u_interval) (power_interval k) end.
Definition gamma_interval (k : nat) : I.type := I.sub q (power_interval k) (I.fromZ q 1).
Definition gammas : list I.type := map gamma_interval (seq 0 40).
Definition underflow (k : nat) : I.type := I.mul q (I.mul q (I.fromZ q 4) (natural k)) omega_interval.
Definition underflows : list I.type := map underflow (seq 0 40).

Lemma gamma_encloses k : encloses (nth k gammas I.nai) (gamma k).
Proof.
  destruct (Nat.ltb_spec k 40) as [L|L].
  - rewrite (nth_indep _ _ (gamma_interval 0)) by (unfold gammas; now rewrite map_length, seq_length).
    unfold gammas. rewrite (map_nth gamma_interval), seq_nth by exact L. simpl Nat.add. unfold gamma.
    apply sub32; [|apply fromZ32]. clear. induction k as [|k IH]; [apply fromZ32|].
    apply mul32; [|exact IH]. apply add32; [apply fromZ32|apply u_encloses].
  - rewrite nth_overflow by (unfold gammas; now rewrite map_length, seq_length).
    unfold encloses. rewrite I.nai_correct. exact Logic.I.
Qed.

Lemma underflow_encloses k : encloses (nth k underflows I.nai) (4 * INR k * omega).
Proof.
  destruct (Nat.ltb_spec k 40) as [L|L].
  - rewrite (nth_indep _ _ (underflow 0)) by (unfold underflows; now rewrite map_length, seq_length).
    unfold underflows. rewrite (map_nth underflow), seq_nth by exact L. simpl Nat.add.
    apply mul32; [apply mul32; [apply fromZ32|apply natural_encloses]|apply omega_encloses].
  - rewrite nth_overflow by (unfold underflows; now rewrite map_length, seq_length).
    unfold encloses. rewrite I.nai_correct. exact Logic.I.
Qed.

Definition sum_interval (terms : list I.type) : I.type := fold_right (I.add q) (I.fromZ q 0) terms.
Definition size_interval (terms : list I.type) : I.type
  := fold_right (fun x s => I.add q (I.abs x) s) (I.fromZ q 0) terms.
Definition error_interval (k : nat) (terms : list I.type) : I.type :=
  I.add q (I.mul q (nth k gammas I.nai) (size_interval terms)) (nth k underflows I.nai).
Definition near_interval (k : nat) (terms : list I.type) : I.type :=
  blurred (sum_interval terms) (error_interval k terms).

Lemma sum_encloses t x : all_enclose t x -> encloses (sum_interval t) (sum_of x).
Proof. induction 1 as [|a y t x A T IH]; [apply fromZ32|]. apply add32; [exact A|exact IH]. Qed.

Lemma size_encloses t x : all_enclose t x -> encloses (size_interval t) (size_of x).
Proof. induction 1 as [|a y t x A T IH]; [apply fromZ32|]. apply add32; [now apply abs32|exact IH]. Qed.

Lemma error_encloses k t x : all_enclose t x ->
  encloses (error_interval k t) (gamma k * size_of x + 4 * INR k * omega).
Proof.
  intros T. apply add32; [|apply underflow_encloses]. apply mul32; [apply gamma_encloses|now apply size_encloses].
Qed.

Lemma near_encloses k t x y : all_enclose t x -> near k x y -> encloses (near_interval k t) y.
Proof. intros T N. exact (blurred_encloses _ _ _ _ _ (sum_encloses t x T) (error_encloses k t x T) N). Qed.

(** ** exp and GELU *)

Definition tiny := I.exp q (I.fromZ q (-60)).
Definition exp_interval (d : I.type) : I.type :=
  match I.sign_large (I.add q d (I.fromZ q 60)) with Xlt => Intervals.between (I.fromZ q 0) tiny | _ => I.exp q d end.

Lemma exp_interval_encloses d x : encloses d x -> encloses (exp_interval d) (exp x).
Proof.
  intros D. assert (N : I.sign_large (I.add q d (I.fromZ q 60)) = Xlt
    -> encloses (Intervals.between (I.fromZ q 0) tiny) (exp x)).
  { intros S. pose proof (encloses_not_positive _ _ (add32 _ _ _ _ D (fromZ32 60)) S).
    eapply encloses_between; [apply fromZ32|apply exp_encloses32, fromZ32|].
    pose proof (exp_pos x). split; [lra|].
    destruct (Rle_lt_or_eq_dec x (-60)) as [L|E]; [lra|left; now apply exp_increasing|right; now rewrite E]. }
  pose proof (exp_encloses32 d x D) as E. revert N. unfold exp_interval.
  generalize (I.sign_large (I.add q d (I.fromZ q 60))). intros [] N; [exact E|exact (N eq_refl)|exact E|exact E].
Qed.

Definition exp32_interval (positions_ : nat) (d : I.type) : I.type :=
  let e := exp_interval d in
  blurred e (I.add q (I.mul q (I.mul q (I.mul q (I.fromZ q 8) (natural (positions_ + 1))) u_interval) e)
    omega_interval).

Lemma exp32_encloses n d x y : encloses d x -> exp32 n x y -> encloses (exp32_interval n d) y.
Proof.
  intros D E. pose proof (exp_interval_encloses d x D) as X. eapply blurred_encloses; [exact X| |exact E].
  apply add32; [|apply omega_encloses]. apply mul32; [|exact X]. apply mul32; [|apply u_encloses].
  apply mul32; [apply fromZ32|apply natural_encloses].
Qed.

(** GELU of an interval that rounding has widened: the integral rises, so its values at both ends enclose it. *)
Definition above (z c : I.type) : bool := match I.sign_large (I.sub q z c) with Xgt => true | _ => false end.

Lemma above_right z x c y : encloses z x -> encloses c y -> above z c = true -> y <= x.
Proof.
  intros Z C. unfold above. destruct (I.sign_large (I.sub q z c)) eqn:S; try discriminate. intros _.
  pose proof (encloses_not_negative _ _ (sub32 _ _ _ _ Z C) S). lra.
Qed.

Definition gauss_wide (z : I.type) : I.type :=
  match I.sign_large (I.sub q z far), I.sign_large (I.add q z far) with
  | Xgt, _ => gauss_beyond
  | _, Xlt => I.neg gauss_beyond
  | _, _ =>
      let l := I.singleton (I.lower z) in
      let r := I.singleton (I.upper z) in
      if above z l && above r z then Intervals.between (gauss_interval l) (gauss_interval r) else I.nai
  end.

Lemma gauss_wide_encloses i z : encloses i z -> encloses (gauss_wide i) (gauss z).
Proof.
  intros Z. unfold gauss_wide. cbv zeta. assert (Fr : encloses far 5) by apply encloses_integer.
  assert (S : encloses (if above i (I.singleton (I.lower i)) && above (I.singleton (I.upper i)) i
    then Intervals.between (gauss_interval (I.singleton (I.lower i))) (gauss_interval (I.singleton (I.upper i))) else
      I.nai)
    (gauss z)).
  { pose proof (I.singleton_correct (I.lower i)) as L. pose proof (I.singleton_correct (I.upper i)) as R.
    revert L R. generalize (I.singleton (I.lower i)) (proj_val (I.convert_bound (I.lower i)))
      (I.singleton (I.upper i)) (proj_val (I.convert_bound (I.upper i))). intros j l k r L R.
    destruct (above i j && above k i) eqn:A; [|unfold encloses; rewrite I.nai_correct; exact Logic.I].
    apply andb_true_iff in A as [A B].
    eapply encloses_between; [exact (encloses_gauss j l L)|exact (encloses_gauss k r R)|].
    split; apply gauss_rising; [exact (above_right _ _ _ _ Z L A)|exact (above_right _ _ _ _ R Z B)]. }
  assert (N : I.sign_large (I.add q i far) = Xlt -> encloses (I.neg gauss_beyond) (gauss z)).
  { intros L. pose proof (encloses_not_positive _ _ (add32 _ _ _ _ Z Fr) L).
    replace (gauss z) with (- gauss (- z)) by (rewrite gauss_opp; ring).
    apply encloses_opp, encloses_gauss_beyond. lra. }
  assert (P : I.sign_large (I.sub q i far) = Xgt -> encloses gauss_beyond (gauss z)).
  { intros L. pose proof (encloses_not_negative _ _ (sub32 _ _ _ _ Z Fr) L). apply encloses_gauss_beyond. lra. }
  revert S N P. generalize (I.sign_large (I.sub q i far)) (I.sign_large (I.add q i far)). intros a b S N P.
  destruct a; [| |exact (P eq_refl)|]; (destruct b; [exact S|exact (N eq_refl)|exact S|exact S]).
Qed.

Definition gelu_wide (x : I.type) : I.type :=
  I.mul q (I.div q x (I.fromZ q 2)) (I.add digits_kept one_ (I.mul digits_kept erf_scale (gauss_wide (I.div q x
    root_of_two)))).

Lemma gelu_wide_encloses i x : encloses i x -> encloses (gelu_wide i) (gelu x).
Proof.
  intros X. apply mul32; [apply div32; [exact X|apply fromZ32]|].
  apply encloses_add; [apply encloses_integer|]. apply encloses_mul.
  - apply encloses_div; [apply encloses_integer|]. apply encloses_root, I.pi_correct.
  - apply gauss_wide_encloses, div32; [exact X|]. apply encloses_root, encloses_integer.
Qed.

Definition gelu32_interval (h : I.type) : I.type :=
  blurred (gelu_wide h)
    (I.add q (I.mul q (I.mul q (I.fromZ q 13) u_interval) (I.abs h)) (I.mul q (I.fromZ q 4) omega_interval)).

Lemma gelu32_encloses h x y : encloses h x -> gelu32 x y -> encloses (gelu32_interval h) y.
Proof.
  intros H G. eapply blurred_encloses; [apply gelu_wide_encloses, H| |exact G].
  apply add32; apply mul32; auto using fromZ32, omega_encloses, abs32. apply mul32; [apply fromZ32|apply u_encloses].
Qed.

(** ** The largest score *)

Fixpoint hull (l : list I.type) : I.type :=
  match l with [] => I.nai | [a] => a | a :: l => I.join a (hull l) end.
Definition largest_interval (l : list I.type) : I.type
  := fold_right (fun a m => I.meet (I.upper_extent a) m) (hull l) l.

Lemma hull_encloses l x m : all_enclose l x -> In m x -> encloses (hull l) m.
Proof.
  induction 1 as [|a y l x A L IH]; [contradiction|]. intros M. destruct L as [|b z l x B L].
  - destruct M as [<-|[]]. exact A.
  - apply I.join_correct. destruct M as [<-|M]; [left; exact A|right; now apply IH].
Qed.

Lemma largest_encloses l x m : all_enclose l x -> In m x -> Forall (fun s => s <= m) x
  -> encloses (largest_interval l) m.
Proof.
  intros L M. unfold largest_interval. pose proof (hull_encloses l x m L M) as H. revert H. generalize (hull l).
    clear M.
  induction L as [|a y l x A L IH]; intros h H F; [exact H|]. inversion F as [|? ? F1 F2]; subst.
  apply I.meet_correct; [|now apply IH]. eapply I.upper_extent_correct; [exact A|exact F1].
Qed.
