(** The same forward pass over intervals, which enclose what it is over the reals. *)

From Coq Require Import Reals.
From Alga Require Import Gelu.
From Alga Require Export Intervals.
Local Open Scope R_scope.
Local Notation p := digits_kept.

Definition interval_operations : operations I.type := {|
  nought := I.fromZ p 0; add := I.add p; mul := I.mul p; div := I.div p; exponential := I.exp p;
  activation := gelu_interval
|}.
Local Notation oi := interval_operations.
Local Notation oR := real_operations.

Definition all_enclose : list I.type -> list R -> Prop := Forall2 encloses.

Lemma all_plus u x : all_enclose u x -> forall v y, all_enclose v y -> all_enclose (plus_ oi u v) (plus_ oR x y).
Proof.
  induction 1 as [|a r u x A U IH]; intros v y V; [exact V|]. destruct V as [|b s v y B V]; cbn [plus_].
  - now constructor.
  - constructor; [now apply encloses_add|now apply IH].
Qed.

Lemma encloses_dot u x : all_enclose u x -> forall v y, all_enclose v y -> encloses (dot oi u v) (dot oR x y).
Proof.
  induction 1 as [|a r u x A U IH]; intros v y V; [apply encloses_integer|].
  destruct V as [|b s v y B V]; [apply encloses_integer|]. cbn [dot].
  apply encloses_add; [now apply encloses_mul|now apply IH].
Qed.

Lemma all_apply m n v y : Forall2 all_enclose m n -> all_enclose v y -> all_enclose (apply oi m v) (apply oR n y).
Proof. intros M V. induction M; constructor; auto. now apply encloses_dot. Qed.

Lemma all_total u x : all_enclose u x -> encloses (total_of oi u) (total_of oR x).
Proof. induction 1; [apply encloses_integer|]. now apply encloses_add. Qed.

Lemma all_nth m n k : Forall2 all_enclose m n -> all_enclose (nth k m []) (nth k n []).
Proof.
  intros M. revert k. induction M as [|u x m n U M IH]; intros [|k]; simpl; try constructor; auto.
Qed.

Lemma all_bits l : all_enclose (map interval_of_bits l) (map real_of_bits l).
Proof. induction l; constructor; auto using encloses_bits. Qed.

Lemma all_rows l : Forall2 all_enclose (map (map interval_of_bits) l) (map (map real_of_bits) l).
Proof. induction l; constructor; auto using all_bits. Qed.

Section Forward.
Variable w : weights Z.
Let wi := map_weights interval_of_bits w.
Let wr := map_weights real_of_bits w.

Lemma all_embedded q : all_enclose (embedded oi wi q) (embedded oR wr q).
Proof.
  unfold embedded, wi, wr; simpl. destruct (nth (fst q) (rows w) None); [apply all_plus|]; apply all_nth, all_rows.
Qed.

Lemma encloses_raised a b : encloses (raised oi wi a b) (raised oR wr a b).
Proof.
  apply encloses_exp, encloses_mul; apply encloses_dot; try apply all_embedded; apply all_bits.
Qed.

Lemma all_taken q : all_enclose (taken oi wi q) (taken oR wr q).
Proof. apply all_apply; [apply all_rows|apply all_embedded]. Qed.

Lemma all_logits raised_ taken_ :
  (forall a b, raised_ a b = raised oi wi a b) -> (forall q, taken_ q = taken oi wi q) ->
  forall before last, all_enclose (logits_by oi wi raised_ taken_ before last) (logits_at oR wr before last).
Proof.
  intros R T before last. unfold logits_at, logits_by.
  assert (S : all_enclose (map (raised_ last) (before ++ [last])) (map (raised oR wr last) (before ++ [last]))).
  { induction (before ++ [last]); constructor; auto. rewrite R. apply encloses_raised. }
  set (si := map (raised_ last) (before ++ [last])) in *. set (sr := map (raised oR wr last) (before ++ [last])) in *.
  assert (M : forall l, all_enclose
    (fold_right (plus_ oi) [] (map (fun '(share, p) => map (mul oi (div oi share (total_of oi si))) (taken_ p))
      (combine si l)))
    (fold_right (plus_ oR) [] (map (fun '(share, p) => map (mul oR (div oR share (total_of oR sr))) (taken oR wr p))
      (combine sr l)))).
  { pose proof (all_total _ _ S) as Tot. revert Tot. generalize (total_of oi si) (total_of oR sr). intros ti tr Tot.
    induction S as [|a r si' sr' A S IH]; intros l; [constructor|]. destruct l as [|q l]; [constructor|]. simpl.
    apply all_plus; [|apply IH]. rewrite T. pose proof (all_taken q) as K.
    induction K; constructor; auto. apply encloses_mul; [|assumption]. now apply encloses_div. }
  specialize (M (before ++ [last])). cbv zeta.
  pose proof (all_plus _ _ (all_embedded last) _ _ M) as A.
  apply all_apply; [apply all_rows|]. apply all_plus; [exact A|]. apply all_apply; [apply all_rows|].
  assert (G : forall u x, all_enclose u x -> all_enclose (map (activation oi) u) (map (activation oR) x)).
  { induction 1; constructor; auto. now apply encloses_gelu. }
  apply G, all_plus; [|apply all_bits]. apply all_apply; [apply all_rows|exact A].
Qed.
End Forward.
