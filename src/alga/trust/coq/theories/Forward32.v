(** The forward pass over intervals encloses every run in float32, and there is a run. *)

From Coq Require Import Reals Lra.
From Interval Require Import Interval.Interval Interval.Float Real.Xreal.
From Alga Require Import Gelu Rounding.
From Alga Require Export Intervals32.
Local Open Scope nat_scope.
Local Notation q := digits32.
Local Notation oi := operations32.
Local Notation oR := real_operations.

(** ** Lists *)

Lemma Forall2_len {A B} (P : A -> B -> Prop) l m : Forall2 P l m -> length l = length m.
Proof. induction 1; simpl; congruence. Qed.

Lemma Forall2_through {A B C} (P : A -> B -> Prop) (Q : B -> C -> Prop) (S : A -> C -> Prop) l m n :
  (forall a b c, P a b -> Q b c -> S a c) -> Forall2 P l m -> Forall2 Q m n -> Forall2 S l n.
Proof.
  intros H F. revert n. induction F; intros n G; inversion G; subst; constructor; eauto.
Qed.

Lemma Forall2_map_left {A B C} (f : A -> B) (P : B -> C -> Prop) l m : Forall2 (fun a => P (f a)) l m
  -> Forall2 P (map f l) m.
Proof. induction 1; constructor; auto. Qed.

Lemma Forall2_chosen {A B} (P : A -> B -> Prop) (f : A -> B) l : (forall a, P a (f a)) -> Forall2 P l (map f l).
Proof. intros H. induction l; constructor; auto. Qed.

Lemma Forall2_nth_error {A B} (P : A -> B -> Prop) l m i a :
  Forall2 P l m -> nth_error l i = Some a -> exists b, nth_error m i = Some b /\ P a b.
Proof.
  intros F. revert i. induction F as [|x y l m X F IH]; intros [|i] E; simpl in *; try discriminate; eauto.
  injection E as <-. eauto.
Qed.

Definition both_enclose (a : list I.type * I.type) (b : list R * R) : Prop :=
  all_enclose (fst a) (fst b) /\ encloses (snd a) (snd b).

Lemma combine_enclose m n u x : Forall2 all_enclose m n -> all_enclose u x
  -> Forall2 both_enclose (combine m u) (combine n x).
Proof.
  intros M. revert u x. induction M as [|a b m n A M IH]; intros u x U; [constructor|].
  destruct U as [|c r u x C U]; [constructor|]. simpl. constructor; [now split|now apply IH].
Qed.

Lemma products_enclose u x : all_enclose u x -> forall v y, all_enclose v y
  -> all_enclose (products oi u v) (products oR x y).
Proof.
  induction 1 as [|a r u x A U IH]; intros v y V; [constructor|]. destruct V; [constructor|].
  constructor; [now apply mul32|now apply IH].
Qed.

Lemma near_all k t x y : Forall2 all_enclose t x -> Forall2 (near k) x y -> all_enclose (map (near_interval k) t) y.
Proof.
  intros T N. apply Forall2_map_left. eapply Forall2_through; [|exact T|exact N].
  intros a b c A B. exact (near_encloses k a b c A B).
Qed.

Lemma with_each_enclose u x : all_enclose u x -> forall s t, Forall2 all_enclose s t ->
  Forall2 all_enclose (with_each u s) (with_each x t).
Proof.
  induction 1 as [|a r u x A U IH]; intros s t S; [constructor|]. destruct S; [constructor|].
  constructor; [now constructor|now apply IH].
Qed.

Lemma singles_enclose u x : all_enclose u x -> Forall2 all_enclose (map (fun a => [a]) u) (map (fun a => [a]) x).
Proof. induction 1; constructor; auto. now repeat constructor. Qed.

Lemma attended_enclose v x s t m n : all_enclose v x -> all_enclose s t -> Forall2 all_enclose m n ->
  Forall2 all_enclose (attended_terms oi v s m) (attended_terms oR x t n).
Proof.
  intros V S. revert m n. unfold attended_terms.
    induction S as [|a r s t A S IH]; intros m n M; [now apply singles_enclose|].
  destruct M as [|b c m n B M]; [now apply singles_enclose|]. cbn [combine fold_right].
  apply with_each_enclose; [|now apply IH]. clear - A B. induction B; constructor; auto. now apply mul32.
Qed.

(** ** The forward pass over intervals *)

Section Forward.
Variable w : weights Z.
Let wi := map_weights interval_of_bits w.
Let wr := map_weights real_of_bits w.

Definition embed32 (p : place) : list I.type := map (near_interval 1) (embedding_terms wi p).
Definition score32 (from to : place) : I.type :=
  let query_ := near_interval (length (query wi) + 6) (products oi (query wi) (embed32 from)) in
  let key := near_interval (length (key_ wi) + 6) (products oi (key_ wi) (embed32 to)) in
  near_interval 4 [I.mul q query_ key].
Definition value32 (p : place) : list I.type :=
  let x := embed32 p in map (fun row => near_interval (length x + 2) (products oi row x)) (values wi).

Definition layer_interval (score_ : place -> place -> I.type) (value_ : place -> list I.type) (before : list place)
    (last : place) : list I.type :=
  let seen := before ++ [last] in
  let ss := map (score_ last) seen in
  let n := length ss in
  let m := I.neg (largest_interval ss) in
  let es := map (fun s => exp32_interval n (near_interval 1 [s; m])) ss in
  let t := near_interval n es in
  let shares := map (fun e => near_interval 4 [I.div q e t]) es in
  let attended := map (near_interval (n + 4)) (attended_terms oi (embed32 last) shares (map value_ seen)) in
  let hs := map (fun rb => near_interval (length attended + 4) (snd rb :: products oi (fst rb) attended))
    (combine (hidden wi) (bias wi)) in
  let gs := map gelu32_interval hs in
  map (fun ra => near_interval (length gs + 4) (snd ra :: products oi (fst ra) gs)) (combine (back wi) attended).

Lemma embed32_encloses p x : embedded32 wr p x -> all_enclose (embed32 p) x.
Proof.
  intros E. refine (near_all 1 _ _ _ _ E). unfold embedding_terms, wi, wr; simpl.
  pose proof (all_nth _ _ (snd p) (all_rows (tokens w))) as T.
  destruct (nth (fst p) (rows w) None) as [row|]; [|now apply singles_enclose].
  pose proof (all_nth _ _ row (all_rows (positions w))) as P. revert P.
  generalize (nth row (map (map interval_of_bits) (positions w)) []) (nth row (map (map real_of_bits) (positions w))
    []).
  induction T as [|a r u z A U IH]; intros v y V; [constructor|]. destruct V; [constructor|].
  constructor; [now repeat constructor|now apply IH].
Qed.

Lemma layer_encloses score_ value_ :
  (forall a b, score_ a b = score32 a b) -> (forall p, value_ p = value32 p) ->
  forall before last y, layer32 wr before last y -> all_enclose (layer_interval score_ value_ before last) y.
Proof.
  intros Es Ev before last y [xs x qr ks vs ss m ds es t shares attended hs gs X0 X Q Ks Vs Ss M1 M2 Ds Ee T Sh At Hs
    Gs Y].
  assert (X1 : Forall2 (fun p x => all_enclose (embed32 p) x) (before ++ [last]) (xs ++ [x])).
  { apply Forall2_app; [|constructor; [now apply embed32_encloses|constructor]].
    clear - X0. induction X0; constructor; auto. now apply embed32_encloses. }
  assert (X2 : all_enclose (embed32 last) x) by now apply embed32_encloses.
  assert (Lq : length (query wi) = length (query wr)) by (unfold wi, wr; simpl; now rewrite !map_length).
  assert (Lk : length (key_ wi) = length (key_ wr)) by (unfold wi, wr; simpl; now rewrite !map_length).
  assert (Qi : encloses (near_interval (length (query wi) + 6) (products oi (query wi) (embed32 last))) qr).
  { rewrite Lq. refine (near_encloses _ _ _ _ _ Q). apply products_enclose; [apply all_bits|exact X2]. }
  assert (Si : all_enclose (map (score_ last) (before ++ [last])) ss).
  { assert (KS : Forall2 (fun z s => exists k, near (length (key_ wr) + 6) (products oR (key_ wr) z) k /\
      near 4 [(qr * k)%R] s) (xs ++ [x]) ss).
    { eapply Forall2_through; [|exact Ks|exact Ss]. intros z k s K S. exists k. split; [exact K|exact S]. }
    apply Forall2_map_left. eapply Forall2_through; [|exact X1|exact KS].
    intros p z s Z (k & K & S). rewrite Es. unfold score32. cbv zeta. refine (near_encloses _ _ _ _ _ S).
    constructor; [|constructor]. apply mul32; [exact Qi|].
    rewrite Lk. refine (near_encloses _ _ _ _ _ K). apply products_enclose; [apply all_bits|exact Z]. }
  assert (Vi : Forall2 all_enclose (map value_ (before ++ [last])) vs).
  { apply Forall2_map_left. eapply Forall2_through; [|exact X1|exact Vs].
    intros p z v Z V. rewrite Ev. unfold value32. cbv zeta. rewrite (Forall2_len _ _ _ Z). unfold applied32 in V.
    apply Forall2_map_left. eapply Forall2_through; [|apply (all_rows (values w))|exact V].
    intros r rr a R A. refine (near_encloses _ _ _ _ _ A). now apply products_enclose. }
  unfold layer_interval. cbv zeta. revert Si Vi.
  generalize (map (score_ last) (before ++ [last])) (map value_ (before ++ [last])). intros si vi Si Vi.
  assert (Ls : length si = length es).
  { rewrite (Forall2_len _ _ _ Si), (Forall2_len _ _ _ Ds). exact (Forall2_len _ _ _ Ee). }
  pose proof (largest_encloses si ss m Si M1 M2) as Mi.
  assert (Ei : all_enclose (map (fun s => exp32_interval (length si) (near_interval 1 [s;
    I.neg (largest_interval si)])) si) es).
  { assert (DE : Forall2 (fun s e => exists d, near 1 [s; (- m)%R] d /\ exp32 (length es) d e) ss es).
    { eapply Forall2_through; [|exact Ds|exact Ee]. intros s d e D E. exists d. split; [exact D|exact E]. }
    rewrite Ls. apply Forall2_map_left. eapply Forall2_through; [|exact Si|exact DE].
    intros i s e S (d & D & E). refine (exp32_encloses _ _ _ _ _ E). refine (near_encloses _ _ _ _ _ D).
    constructor; [exact S|]. constructor; [|constructor]. now apply encloses_opp. }
  revert Ei. generalize (map (fun s => exp32_interval (length si) (near_interval 1 [s;
    I.neg (largest_interval si)])) si).
  intros ei Ei. rewrite Ls.
  pose proof (near_encloses (length es) ei es t Ei T) as Ti. revert Ti. generalize (near_interval (length es) ei).
    intros ti Ti.
  assert (Hi : all_enclose (map (fun e => near_interval 4 [I.div q e ti]) ei) shares).
  { apply Forall2_map_left. eapply Forall2_through; [|exact Ei|exact Sh]. intros i e a E A.
    refine (near_encloses _ _ _ _ _ A). constructor; [|constructor]. now apply div32. }
  pose proof (near_all _ _ _ _ (attended_enclose _ _ _ _ _ _ X2 Hi Vi) At) as Ai. revert Ai.
  generalize (map (near_interval (length es + 4)) (attended_terms oi (embed32 last)
    (map (fun e => near_interval 4 [I.div q e ti]) ei) vi)). intros ai Ai.
  assert (Hh : all_enclose (map (fun rb => near_interval (length ai + 4) (snd rb :: products oi (fst rb) ai))
    (combine (hidden wi) (bias wi))) hs).
  { rewrite (Forall2_len _ _ _ Ai). apply Forall2_map_left.
    eapply Forall2_through; [|exact (combine_enclose _ _ _ _ (all_rows (hidden w)) (all_bits (bias w)))|exact Hs].
    intros a b h [A B] H. refine (near_encloses _ _ _ _ _ H). constructor; [exact B|]. now apply products_enclose. }
  assert (Gi : all_enclose (map gelu32_interval (map (fun rb => near_interval (length ai + 4) (snd rb :: products oi
    (fst rb) ai))
    (combine (hidden wi) (bias wi)))) gs).
  { apply Forall2_map_left. eapply Forall2_through; [|exact Hh|exact Gs]. intros i h g. apply gelu32_encloses. }
  revert Gi. generalize (map gelu32_interval (map (fun rb => near_interval (length ai + 4) (snd rb :: products oi (fst
    rb) ai))
    (combine (hidden wi) (bias wi)))). intros gi Gi. rewrite (Forall2_len _ _ _ Gi). apply Forall2_map_left.
  eapply Forall2_through; [|exact (combine_enclose _ _ _ _ (all_rows (back w)) Ai)|exact Y].
  intros a b z [A B] Z. refine (near_encloses _ _ _ _ _ Z). constructor; [exact B|]. now apply products_enclose.
Qed.

(** ** There is a run: the exact one *)

Lemma some_largest (l : list R) : l <> [] -> exists m, In m l /\ Forall (fun s => (s <= m)%R) l.
Proof.
  induction l as [|a l IH]; [congruence|]. intros _. destruct l as [|b l].
  - exists a. split; [now left|]. constructor; [right; reflexivity|constructor].
  - destruct IH as (m & M & F); [discriminate|]. destruct (Rle_dec m a) as [L|L].
    + exists a. split; [now left|]. constructor; [right; reflexivity|]. eapply Forall_impl; [|exact F]. intros s S. lra.
    + exists m. split; [now right|]. constructor; [lra|exact F].
Qed.

Lemma some_layer before last : exists y, layer32 wr before last y.
Proof.
  set (x := fun p => map sum_of (embedding_terms wr p)).
  assert (E : forall p, embedded32 wr p (x p)) by (intros p; apply Forall2_chosen; intros; apply near_exact).
  set (xs := map x before ++ [x last]).
  set (qr := sum_of (products oR (query wr) (x last))).
  set (ks := map (fun z => sum_of (products oR (key_ wr) z)) xs).
  set (vs := map (fun z => map (fun row => sum_of (products oR row z)) (values wr)) xs).
  set (ss := map (fun k => sum_of [(qr * k)%R]) ks).
  destruct (some_largest ss) as (m & M1 & M2).
  { unfold ss, ks, xs. rewrite !map_app. destruct (map _ (map _ _)); discriminate. }
  set (ds := map (fun s => sum_of [s; (- m)%R]) ss). set (es := map exp ds). set (t := sum_of es).
  set (shares := map (fun e => sum_of [(e / t)%R]) es).
  set (attended := map sum_of (attended_terms oR (x last) shares vs)).
  set (hs := map (fun rb => sum_of (snd rb :: products oR (fst rb) attended)) (combine (hidden wr) (bias wr))).
  set (gs := map gelu hs).
  exists (map (fun ra => sum_of (snd ra :: products oR (fst ra) gs)) (combine (back wr) attended)).
  pose proof u_range as U. pose proof omega_positive as O.
  apply (layer32_run wr before last _ (map x before) (x last) qr ks vs ss m ds es t shares attended hs gs); auto;
    try (apply Forall2_chosen; intros; apply near_exact); try apply near_exact.
  - apply Forall2_chosen. exact E.
  - apply Forall2_chosen. intros z. apply Forall2_chosen. intros; apply near_exact.
  - apply Forall2_chosen. intros d. unfold exp32. replace (exp d - exp d)%R with 0%R by ring. rewrite Rabs_R0.
    pose proof (exp_pos d). pose proof (pos_INR (length es + 1)).
    assert (0 <= 8 * INR (length es + 1) * u * exp d)%R by (repeat apply Rmult_le_pos; lra). lra.
  - apply Forall2_chosen. intros h. unfold gelu32. replace (gelu h - gelu h)%R with 0%R by ring. rewrite Rabs_R0.
    pose proof (Rabs_pos h). assert (0 <= 13 * u * Rabs h)%R by (repeat apply Rmult_le_pos; lra). lra.
Qed.

Lemma some_logits ids : exists l, logits32 wr ids l.
Proof.
  destruct (some_layer (removelast (places ids)) (last (places ids) (0, 0))) as (y & Y).
  exists (map (fun row => sum_of (products oR row y)) (tokens wr)). exists y. split; [exact Y|].
  apply Forall2_chosen. intros; apply near_exact.
Qed.
End Forward.
