(** The finite check of a network: by intervals, every generated token is the strict argmax, so the network writes
    exactly the outputs of its table. *)

From Coq Require Import Reals Lra.
From Interval Require Import Interval.Interval Interval.Float Real.Xreal.
From Alga Require Export Forward Safetensors.
Local Open Scope nat_scope.

(** ** Values that are computed once *)

Definition tabled {A} (positions_ size : nat) (f : place -> A) : place -> A :=
  let table := map (fun i => map (fun t => f (i, t)) (seq 0 size)) (seq 0 positions_) in
  fun q => match nth_error table (fst q) with
    | Some row => match nth_error row (snd q) with Some v => v | None => f q end
    | None => f q
    end.

Lemma nth_error_map_seq {A} (f : nat -> A) n i v : nth_error (map f (seq 0 n)) i = Some v -> v = f i.
Proof.
  intros H. assert (L : i < n).
  { rewrite <- (seq_length n 0), <- (map_length f). apply nth_error_Some. congruence. }
  rewrite nth_error_map, (nth_error_nth' _ 0) in H by now rewrite seq_length.
  rewrite seq_nth in H by exact L. simpl in H. congruence.
Qed.

Lemma tabled_eq {A} n size (f : place -> A) q : tabled n size f q = f q.
Proof.
  destruct q as [i t]. unfold tabled; simpl fst; simpl snd.
  destruct (nth_error _ i) as [row|] eqn:E; [|reflexivity].
  apply (nth_error_map_seq (fun i => map (fun t => f (i, t)) (seq 0 size))) in E. subst row.
  destruct (nth_error _ t) as [v|] eqn:E; [|reflexivity].
  exact (nth_error_map_seq (fun t => f (i, t)) size t v E).
Qed.

Definition remembered {A} (n size : nat) (needed : place -> bool) (f : place -> place -> A) : place -> place -> A :=
  let table := tabled n size (fun a => if needed a then Some (tabled n size (f a)) else None) in
  fun a b => match table a with Some g => g b | None => f a b end.

(** For so few entries of a table it is not worth it. *)
Definition few : nat := 20.

Lemma remembered_eq {A} n size needed (f : place -> place -> A) a b : remembered n size needed f a b = f a b.
Proof. unfold remembered. rewrite tabled_eq. destruct (needed a); [apply tabled_eq|reflexivity]. Qed.

(** ** The check *)

Section Check.
Variables (a : alphabet) (w : weights Z).

Let read := input_length a + output_length a.   (* positions that are read *)

Variable many : bool.   (* whether many prompts follow *)

(** From the token that begins an output, and from written symbols, the network attends: those are worth keeping. *)
Definition attends (q : place) : bool :=
  many && ((fst q =? input_length a) && (snd q =? start a)) ||
  many && ((input_length a <? fst q) && (stop <? snd q) && (snd q <? start a)).

Definition interval_logits : list nat -> list I.type :=
  let wi := map_weights interval_of_bits w in
  let size := length (vocabulary a) in
  let raised_ := remembered read size attends (raised interval_operations wi) in
  let taken_ := tabled read size (taken interval_operations wi) in
  logits_with (logits_by interval_operations wi raised_ taken_).

Definition surely (l : list I.type) (t : nat) : bool :=
  match nth_error l t with
  | None => false
  | Some x => forallb (fun '(u, y) =>
      (u =? t) || match I.sign_strict (I.sub digits_kept x y) with Xgt => true | _ => false end)
      (combine (seq 0 (length l)) l)
  end.

Fixpoint surely_generates (l : list nat -> list I.type) (n : nat) (ids written : list nat) : bool :=
  match n with
  | O => false
  | S n =>
      match written with
      | [] => surely (l ids) stop
      | t :: written => negb (t =? stop) && surely (l ids) t && surely_generates l n (ids ++ [t]) written
      end
  end.

Definition surely_writes (l : list nat -> list I.type) (entry_ : text * text) : bool :=
  let '(prompt, output) := entry_ in
  match encoded a prompt, indices output (vocabulary a) with
  | Some ids, Some written =>
      (0 <? length written) && forallb (fun t => (stop <? t) && (t <? start a)) written &&
      text_eqb output (map (fun t => nth t (vocabulary a) x00) written) &&
      surely_generates l (output_length a) ids written
  | _, _ => false
  end.

(** ** Why it suffices *)

Lemma interval_logits_enclose ids : all_enclose (interval_logits ids) (logits w ids).
Proof.
  unfold interval_logits, logits, logits_with. apply all_logits.
  - intros b c. apply remembered_eq.
  - intros b. apply tabled_eq.
Qed.

Lemma all_enclose_nth l x t i d : all_enclose l x -> nth_error l t = Some i -> encloses i (nth t x d).
Proof.
  intros H. revert t. induction H as [|j y l x A H IH]; intros [|t] E; simpl in *; try discriminate; [congruence|auto].
Qed.

Lemma surely_best l x t : all_enclose l x -> surely l t = true -> best x t.
Proof.
  unfold surely. intros H. destruct (nth_error l t) as [i|] eqn:E; [|discriminate]. rewrite forallb_forall. intros C.
  assert (L : length l = length x) by (clear - H; induction H; simpl; congruence).
  split; [rewrite <- L; apply nth_error_Some; congruence|]. intros u U N. rewrite <- L in U.
  destruct (nth_error l u) as [j|] eqn:F; [|apply nth_error_None in F; lia].
  assert (M : In (u, j) (combine (seq 0 (length l)) l)).
  { clear - F U. assert (G : forall s, In (s + u, j) (combine (seq s (length l)) l)).
    { revert u F U. induction l as [|y l IH]; intros [|u] F U s; simpl in *; try lia.
      - left. f_equal; [lia|congruence].
      - right. replace (s + S u) with (S s + u) by lia. apply IH; [exact F|lia]. }
    exact (G 0). }
  specialize (C _ M). cbv beta iota in C. apply orb_true_iff in C as [C|C]; [apply Nat.eqb_eq in C; contradiction|].
  destruct (I.sign_strict (I.sub digits_kept i j)) eqn:S; try discriminate.
  pose proof (encloses_sub _ _ _ _ (all_enclose_nth l x t i 0%R H E) (all_enclose_nth l x u j 0%R H F)) as D.
  pose proof (encloses_positive _ _ D S). lra.
Qed.

Lemma surely_generates_right n : forall ids written,
  surely_generates interval_logits n ids written = true -> generates (logits w) n ids written.
Proof.
  induction n as [|n IH]; intros ids written; simpl; [discriminate|]. destruct written as [|t written].
  - intros S. constructor. exact (surely_best _ _ _ (interval_logits_enclose ids) S).
  - intros [[N S]%andb_true_iff G]%andb_true_iff. constructor.
    + exact (surely_best _ _ _ (interval_logits_enclose ids) S).
    + intros ->. rewrite Nat.eqb_refl in N. discriminate.
    + now apply IH.
Qed.

Lemma surely_writes_right p o : surely_writes interval_logits (p, o) = true -> forall t, writes a w p t <-> t = o.
Proof.
  unfold surely_writes. destruct (encoded a p) as [ids|] eqn:E; [|discriminate].
  destruct (indices o (vocabulary a)) as [written|]; [|discriminate].
  intros [[[L B]%andb_true_iff T]%andb_true_iff G]%andb_true_iff.
  assert (W : writes a w p o).
  { exists ids, written. split; [exact E|]. split; [now apply surely_generates_right|]. split.
    - intros ->. discriminate.
    - split; [|revert T; now destruct (text_eqb_spec o (map (fun t => nth t (vocabulary a) x00) written))].
      apply Forall_forall. intros t I. rewrite forallb_forall in B. specialize (B t I).
      apply andb_true_iff in B as [B1 B2]. apply Nat.ltb_lt in B1, B2. lia. }
  intros t. split; [intros V; exact (writes_unique _ _ _ _ _ V W)|now intros ->].
Qed.

End Check.

(** All that is computed for a network: its weights are finite and have one shape, and it writes its table. *)
Definition surely_writes_table (a : alphabet) (w : weights Z) (table : list (text * text)) : bool :=
  let l := interval_logits a w (few <? length table) in
  finite_weights w && shaped (length (query w)) (length (bias w)) w && (length (tokens w) =? length (vocabulary a)) &&
  forallb (surely_writes a l) table.

Section Table.
Variables (a : alphabet) (w : weights Z).

(** The network writes what the table says, and nothing else. *)
Theorem writes_table table : surely_writes_table a w table = true ->
  forall p o, In (p, o) table -> forall t, writes a w p t <-> t = o.
Proof.
  unfold surely_writes_table. intros [_ S]%andb_true_iff p o I. rewrite forallb_forall in S.
  exact (surely_writes_right a w _ p o (S _ I)).
Qed.

Lemma entry_In table p o : entry table p = Some o -> In (p, o) table.
Proof.
  induction table as [|[q u] rest IH]; simpl; [discriminate|].
  destruct (text_eqb_spec p q) as [->|]; [intros [= ->]; now left|right; auto].
Qed.

(** If the table is right on the domain, so is the network. *)
Theorem network_right P table : agrees P table = true -> surely_writes_table a w table = true ->
  right_on_domain P (writes a w).
Proof.
  intros A S p o I. apply (writes_table table S). apply entry_In. now apply (agrees_right P table A p o I).
Qed.
End Table.
