(** The finite check of a network in float32: every run, in any order of summation, writes the table. *)

From Coq Require Import Reals Lra.
From Interval Require Import Interval.Interval Interval.Float Real.Xreal.
From Alga Require Import Rounding.
From Alga Require Export Forward32.
Local Open Scope nat_scope.
Local Notation q := digits32.
Local Notation oi := operations32.
Local Notation oR := real_operations.

(** ** The margin: the difference of two logits, taken before their rows are multiplied *)

Section Margin.
Variable w : weights Z.
Let wi := map_weights interval_of_bits w.

Fixpoint gap {T} (o : operations T) (minus : T -> T -> T) (a b y : list T) : T :=
  match a, b, y with
  | x :: a, z :: b, v :: y => add o (mul o (minus x z) v) (gap o minus a b y)
  | _, _, _ => nought o
  end.

Lemma gap_sum a : forall b y, length a = length b ->
  gap oR Rminus a b y = (sum_of (products oR a y) - sum_of (products oR b y))%R.
Proof.
  induction a as [|x a IH]; intros [|z b] y L; try discriminate; [simpl; ring|].
  destruct y as [|v y]; [simpl; ring|]. cbn [gap products]. rewrite IH by now injection L.
  simpl. fold (sum_of (products oR a y)). fold (sum_of (products oR b y)). ring.
Qed.

Lemma gap_encloses a ra : all_enclose a ra -> forall b rb, all_enclose b rb -> forall y ry, all_enclose y ry ->
  encloses (gap oi (I.sub q) a b y) (gap oR Rminus ra rb ry).
Proof.
  induction 1 as [|x r a ra X A IH]; intros b rb B y ry Y; [apply fromZ32|].
  destruct B as [|z s b rb Z B]; [apply fromZ32|]. destruct Y as [|v w' y ry V Y]; [apply fromZ32|].
  cbn [gap]. apply add32; [|now apply IH]. apply mul32; [now apply sub32|exact V].
Qed.

Definition exceeds (y a b : list I.type) : bool :=
  let k := length y + 2 in
  (length a =? length b) &&
  match I.sign_strict (I.sub q (gap oi (I.sub q) a b y)
    (I.add q (error_interval k (products oi a y)) (error_interval k (products oi b y)))) with
  | Xgt => true | _ => false end.

Definition surely32 (y : list I.type) (t : nat) : bool :=
  match nth_error (tokens wi) t with
  | None => false
  | Some a => forallb (fun '(v, b) => (v =? t) || exceeds y a b) (combine (seq 0 (length (tokens wi))) (tokens wi))
  end.

Lemma exceeds_right y ry a ra b rb la lb : all_enclose y ry -> all_enclose a ra -> all_enclose b rb ->
  near (length ry + 2) (products oR ra ry) la -> near (length ry + 2) (products oR rb ry) lb ->
  exceeds y a b = true -> (lb < la)%R.
Proof.
  intros Y A B La Lb. unfold exceeds. cbv zeta. rewrite (Forall2_len _ _ _ Y).
  intros [L S]%andb_true_iff. apply Nat.eqb_eq in L.
  rewrite (Forall2_len _ _ _ A), (Forall2_len _ _ _ B) in L.
  pose proof (error_encloses (length ry + 2) _ _ (products_enclose _ _ A _ _ Y)) as Ea.
  pose proof (error_encloses (length ry + 2) _ _ (products_enclose _ _ B _ _ Y)) as Eb.
  pose proof (sub32 _ _ _ _ (gap_encloses _ _ A _ _ B _ _ Y) (add32 _ _ _ _ Ea Eb)) as D.
  destruct (I.sign_strict _) eqn:E in S; try discriminate.
  pose proof (encloses_positive _ _ D E) as P. rewrite gap_sum in P by exact L. unfold near in La, Lb.
  pose proof (Rle_abs (- (la - sum_of (products oR ra ry)))) as Ha. rewrite Rabs_Ropp in Ha.
  pose proof (Rle_abs (lb - sum_of (products oR rb ry))) as Hb. lra.
Qed.
End Margin.

(** ** The check *)

Lemma surely32_right w t y l : all_enclose y l -> surely32 w y t = true ->
  forall x, applied32 (length l + 2) (tokens (map_weights real_of_bits w)) l x -> best x t.
Proof.
  intros Y. unfold surely32. destruct (nth_error (tokens (map_weights interval_of_bits w)) t) as [a|] eqn:Ea;
    [|discriminate].
  rewrite forallb_forall. intros C x X.
  pose proof (all_rows (tokens w)) as Rows.
  destruct (Forall2_nth_error _ _ _ _ _ Rows Ea) as (ra & Era & A).
  destruct (Forall2_nth_error _ _ _ _ _ X Era) as (la & Ela & La).
  split; [apply nth_error_Some; congruence|]. intros v V N.
  assert (Lx : length x = length (tokens (map_weights interval_of_bits w))).
  { rewrite <- (Forall2_len _ _ _ X). symmetry. exact (Forall2_len _ _ _ Rows). }
  destruct (nth_error (tokens (map_weights interval_of_bits w)) v) as [b|] eqn:Eb; [|apply nth_error_None in Eb; lia].
  destruct (Forall2_nth_error _ _ _ _ _ Rows Eb) as (rb & Erb & B).
  destruct (Forall2_nth_error _ _ _ _ _ X Erb) as (lb & Elb & Lb).
  assert (M : In (v, b) (combine (seq 0 (length (tokens (map_weights interval_of_bits w)))) (tokens (map_weights
    interval_of_bits w)))).
  { revert Eb. generalize (tokens (map_weights interval_of_bits w)). clear. intros rows_ Eb.
    assert (Q : forall s, In (s + v, b) (combine (seq s (length rows_)) rows_)).
    { revert v Eb. induction rows_ as [|c rows_ IH]; intros [|v] E s; simpl in *; try discriminate.
      - injection E as <-. left. f_equal. lia.
      - right. replace (s + S v) with (S s + v) by lia. now apply IH. }
    exact (Q 0). }
  specialize (C _ M). cbv beta iota in C. apply orb_true_iff in C as [C|C]; [apply Nat.eqb_eq in C; contradiction|].
  rewrite (nth_error_nth _ _ _ Elb), (nth_error_nth _ _ _ Ela).
  exact (exceeds_right y l a ra b rb la lb Y A B La Lb C).
Qed.

Section Check.
Variables (a : alphabet) (w : weights Z) (many : bool).

Definition last_layer32 : list nat -> list I.type :=
  let n := input_length a + output_length a in
  let size := length (vocabulary a) in
  let score_ := remembered n size (attends a many) (score32 w) in
  let value_ := tabled n size (value32 w) in
  logits_with (layer_interval w score_ value_).

Fixpoint surely_generates32 (l : list nat -> list I.type) (n : nat) (ids written : list nat) : bool :=
  match n with
  | O => false
  | S n =>
      match written with
      | [] => surely32 w (l ids) stop
      | t :: written => negb (t =? stop) && surely32 w (l ids) t && surely_generates32 l n (ids ++ [t]) written
      end
  end.

Definition surely_writes32 (l : list nat -> list I.type) (entry_ : text * text) : bool :=
  let '(prompt, output) := entry_ in
  match encoded a prompt, indices output (vocabulary a) with
  | Some ids, Some written =>
      (0 <? length written) && forallb (fun t => (stop <? t) && (t <? start a)) written &&
      text_eqb output (map (fun t => nth t (vocabulary a) x00) written) &&
      surely_generates32 l (output_length a) ids written
  | _, _ => false
  end.

Lemma surely_best32 ids t : surely32 w (last_layer32 ids) t = true ->
  surely_best (logits32 (map_weights real_of_bits w)) ids t.
Proof.
  intros S. split; [apply some_logits|]. intros x (y & Y & X). refine (surely32_right w t _ y _ S x X).
  unfold last_layer32, logits_with. apply layer_encloses; [|  |exact Y].
  - intros b c. apply remembered_eq.
  - intros b. apply tabled_eq.
Qed.

Lemma surely_generates32_right n : forall ids written,
  surely_generates32 last_layer32 n ids written = true ->
  surely_generated (logits32 (map_weights real_of_bits w)) n ids written.
Proof.
  induction n as [|n IH]; intros ids written; cbn [surely_generates32 surely_generated]; [discriminate|].
  destruct written as [|t written]; [apply surely_best32|].
  intros [[N S]%andb_true_iff G]%andb_true_iff. split; [|split; [now apply surely_best32|now apply IH]].
  intros ->. rewrite Nat.eqb_refl in N. discriminate.
Qed.

Lemma surely_writes32_right p o : surely_writes32 last_layer32 (p, o) = true -> forall t, writes32 a w p t <-> t = o.
Proof.
  unfold surely_writes32. destruct (encoded a p) as [ids|] eqn:E; [|discriminate].
  destruct (indices o (vocabulary a)) as [written|]; [|discriminate].
  intros [[[L B]%andb_true_iff T]%andb_true_iff G]%andb_true_iff.
  pose proof (surely_generated_all _ _ _ _ (surely_generates32_right _ _ _ G)) as W.
  assert (O : o = map (fun t => nth t (vocabulary a) x00) written)
    by (revert T; now destruct (text_eqb_spec o (map (fun t => nth t (vocabulary a) x00) written))).
  intros t. split.
  - intros (ids' & written' & E' & G' & _ & _ & ->). rewrite E in E'. injection E' as <-. apply W in G' as ->.
    now symmetry.
  - intros ->. exists ids, written. split; [exact E|]. split; [now apply W|]. split; [intros ->; discriminate|].
    split; [|exact O]. apply Forall_forall. intros t I. rewrite forallb_forall in B. specialize (B t I).
    apply andb_true_iff in B as [B1 B2]. apply Nat.ltb_lt in B1, B2. lia.
Qed.
End Check.

(** All that is computed for a network in float32. *)
Definition surely_writes_table32 (a : alphabet) (w : weights Z) (table : list (text * text)) : bool :=
  let l := last_layer32 a w (few <? length table) in
  finite_weights w && shaped (length (query w)) (length (bias w)) w && (length (tokens w) =? length (vocabulary a)) &&
  forallb (surely_writes32 a w l) table.

Section Table.
Variables (a : alphabet) (w : weights Z).

(** Every run in float32 writes what the table says, and nothing else. *)
Theorem writes_table32 table : surely_writes_table32 a w table = true ->
  forall p o, In (p, o) table -> forall t, writes32 a w p t <-> t = o.
Proof.
  unfold surely_writes_table32. intros [_ S]%andb_true_iff p o I. rewrite forallb_forall in S.
  exact (surely_writes32_right a w _ p o (S _ I)).
Qed.

Theorem network_right32 P table : agrees P table = true -> surely_writes_table32 a w table = true ->
  right_on_domain P (writes32 a w).
Proof.
  intros A S p o I. apply (writes_table32 table S). apply entry_In. now apply (agrees_right P table A p o I).
Qed.
End Table.
