(** The same network computed in float32, in any order of summation: every run that keeps the bounds of docs/proof.md,
    and greedy decoding of such runs, however ties are broken. *)

From Coq Require Import Reals.
From Alga Require Export Network.
From Alga Require Import Gelu Rounding.
Local Open Scope nat_scope.

(** ** The terms of each sum, over any numbers *)

Section Terms.
Context {T : Type}.
Variable o : operations T.
Variable w : weights T.

Fixpoint products (row v : list T) : list T :=
  match row, v with a :: row, b :: v => mul o a b :: products row v | _, _ => [] end.

Fixpoint in_pairs (a b : list T) : list (list T) :=
  match a, b with x :: a, y :: b => [x; y] :: in_pairs a b | _, _ => [] end.

(** Each component of a place's embedding: a token's, or the sum of a token's and a position's. *)
Definition embedding_terms (p : place) : list (list T) :=
  let token := nth (snd p) (tokens w) [] in
  match nth (fst p) (rows w) None with
  | Some row => in_pairs token (nth row (positions w) [])
  | None => map (fun a => [a]) token
  end.

Fixpoint with_each (v : list T) (sums : list (list T)) : list (list T) :=
  match v, sums with a :: v, l :: sums => (a :: l) :: with_each v sums | _, _ => [] end.

(** Each component of what a place has after attention: its own, and a share of each value. *)
Definition attended_terms (x shares : list T) (vs : list (list T)) : list (list T) :=
  fold_right (fun '(share, v) sums => with_each (map (mul o share) v) sums) (map (fun a => [a]) x) (combine shares vs).
End Terms.

(** ** Runs *)

Section Runs.
Variable w : weights R.
Let o := real_operations.

Definition embedded32 (p : place) (x : list R) : Prop := Forall2 (near 1) (embedding_terms w p) x.

(** A matrix times a vector. *)
Definition applied32 (k : nat) (matrix : list (list R)) (v y : list R) : Prop :=
  Forall2 (fun row a => near k (products o row v) a) matrix y.

Definition exp32 (positions_ : nat) (x y : R) : Prop :=
  (Rabs (y - exp x) <= 8 * INR (positions_ + 1) * u * exp x + omega)%R.

Definition gelu32 (x y : R) : Prop := (Rabs (y - gelu x) <= 13 * u * Rabs x + 4 * omega)%R.

(** What the last layer may hold at the last place. Queries and keys are allowed four roundings more, for their scale.
    The largest score is subtracted; shares are taken before or after the values are mixed. *)
Inductive layer32 (before : list place) (last : place) (y : list R) : Prop :=
| layer32_run xs x q ks vs ss m ds es t shares attended hs gs :
    Forall2 embedded32 before xs -> embedded32 last x ->
    near (length (query w) + 6) (products o (query w) x) q ->
    Forall2 (fun x k => near (length (key_ w) + 6) (products o (key_ w) x) k) (xs ++ [x]) ks ->
    Forall2 (fun x v => applied32 (length x + 2) (values w) x v) (xs ++ [x]) vs ->
    Forall2 (fun k s => near 4 [(q * k)%R] s) ks ss ->
    In m ss -> Forall (fun s => (s <= m)%R) ss ->
    Forall2 (fun s d => near 1 [s; (- m)%R] d) ss ds ->
    Forall2 (exp32 (length es)) ds es ->
    near (length es) es t ->
    Forall2 (fun e a => near 4 [(e / t)%R] a) es shares ->
    Forall2 (near (length es + 4)) (attended_terms o x shares vs) attended ->
    Forall2 (fun rb h => near (length attended + 4) (snd rb :: products o (fst rb) attended) h)
      (combine (hidden w) (bias w)) hs ->
    Forall2 gelu32 hs gs ->
    Forall2 (fun ra a => near (length gs + 4) (snd ra :: products o (fst ra) gs) a) (combine (back w) attended) y ->
    layer32 before last y.

Definition logits32 (ids : list nat) (l : list R) : Prop :=
  exists y, layer32 (removelast (places ids)) (last (places ids) (0, 0)) y /\
    applied32 (length y + 2) (tokens w) y l.
End Runs.

(** ** Greedy decoding of runs: a token with a largest logit, whichever it is if there are several *)

Definition largest (l : list R) (t : nat) : Prop :=
  t < length l /\ forall v, v < length l -> (nth v l 0 <= nth t l 0)%R.

Inductive generates32 (l : list nat -> list R -> Prop) : nat -> list nat -> list nat -> Prop :=
| generates32_stop n ids logits_ : l ids logits_ -> largest logits_ stop -> generates32 l (S n) ids []
| generates32_more n ids t written logits_ : l ids logits_ -> largest logits_ t -> t <> stop ->
    generates32 l n (ids ++ [t]) written -> generates32 l (S n) ids (t :: written).

(** Some run of the network in float32 writes this output for the prompt. *)
Definition writes32 (a : alphabet) (w : weights Z) : answerer := fun prompt output =>
  exists ids written, encoded a prompt = Some ids /\
    generates32 (logits32 (map_weights real_of_bits w)) (output_length a) ids written /\
    written <> [] /\ Forall (fun t => stop < t < start a) written /\
    output = map (fun t => nth t (vocabulary a) x00) written.

(** If every run has one strictly largest logit, and there is a run, then all runs generate the same. *)
Definition surely_best (l : list nat -> list R -> Prop) (ids : list nat) (t : nat) : Prop :=
  (exists x, l ids x) /\ forall x, l ids x -> best x t.

Fixpoint surely_generated (l : list nat -> list R -> Prop) (n : nat) (ids written : list nat) : Prop :=
  match n with
  | O => False
  | S n =>
      match written with
      | [] => surely_best l ids stop
      | t :: written => t <> stop /\ surely_best l ids t /\ surely_generated l n (ids ++ [t]) written
      end
  end.

Lemma best_largest x t v : best x t -> largest x v -> v = t.
Proof.
  intros [T1 T2] [V1 V2]. destruct (Nat.eq_dec v t) as [|N]; [assumption|].
  pose proof (T2 v V1 N). pose proof (V2 t T1). exfalso. eapply Rlt_irrefl, Rlt_le_trans; eassumption.
Qed.

Lemma best_is_largest x t : best x t -> largest x t.
Proof.
  intros [T1 T2]. split; [exact T1|]. intros v V. destruct (Nat.eq_dec v t) as [->|N]; [right; reflexivity|left; auto].
Qed.

Lemma surely_generated_all l n : forall ids written, surely_generated l n ids written ->
  forall t, generates32 l n ids t <-> t = written.
Proof.
  induction n as [|n IH]; intros ids written S t; [contradiction|]. destruct written as [|v written]; simpl in S.
  - destruct S as [(x & X) B]. split; [|intros ->; econstructor; [exact X|]; auto using best_is_largest].
    inversion 1; subst; [reflexivity|]. exfalso. apply H3. eapply best_largest; [|eassumption]. now apply B.
  - destruct S as (N & [(x & X) B] & G). split.
    + inversion 1; subst.
      * exfalso. apply N. symmetry. eapply best_largest; [|eassumption]. now apply B.
      * assert (t0 = v) by (eapply best_largest; [|eassumption]; now apply B). subst t0. f_equal.
        now apply (IH (ids ++ [v]) written G).
    + intros ->. econstructor; eauto using best_is_largest. now apply (IH _ _ G).
Qed.
