(** The architecture, written once over any numbers, and greedy decoding of what it computes over the reals.

    One layer, one head, queries and keys of width one, no norms, no output projection, the map to the vocabulary tied
    to the token embedding: the shape of [smallest]. *)

From Coq Require Import Reals.
From Flocq Require Import IEEE754.Binary IEEE754.Bits.
From Alga Require Export Walk.
From Alga Require Import Gelu.
Local Open Scope nat_scope.

(** ** Weights *)

(** All parameters, as numbers of a type; [rows] has the position embedding's row of each position, None for none. *)
Record weights (T : Type) := Weights {
  rows : list (option nat);
  tokens : list (list T);
  positions : list (list T);
  query : list T;
  key_ : list T;
  values : list (list T);
  hidden : list (list T);
  bias : list T;
  back : list (list T)
}.
Arguments Weights {T}. Arguments rows {T}. Arguments tokens {T}. Arguments positions {T}. Arguments query {T}.
Arguments key_ {T}. Arguments values {T}. Arguments hidden {T}. Arguments bias {T}. Arguments back {T}.

Definition map_weights {A B} (f : A -> B) (w : weights A) : weights B := {|
  rows := rows w;
  tokens := map (map f) (tokens w);
  positions := map (map f) (positions w);
  query := map f (query w);
  key_ := map f (key_ w);
  values := map (map f) (values w);
  hidden := map (map f) (hidden w);
  bias := map f (bias w);
  back := map (map f) (back w)
|}.

(** Every row has the right length, and rows that are named exist. *)
Definition shaped {T} (width units : nat) (w : weights T) : bool :=
  let wide (v : list T) := length v =? width in
  forallb wide (tokens w) && forallb wide (positions w) && wide (query w) && wide (key_ w) &&
  (length (values w) =? width) && forallb wide (values w) &&
  (length (hidden w) =? units) && forallb wide (hidden w) && (length (bias w) =? units) &&
  (length (back w) =? width) && forallb (fun v => length v =? units) (back w) &&
  forallb (fun row => match row with Some r => r <? length (positions w) | None => true end) (rows w).

(** ** The forward pass, over any numbers *)

Record operations (T : Type) := Operations {
  nought : T;
  add : T -> T -> T;
  mul : T -> T -> T;
  div : T -> T -> T;
  exponential : T -> T;
  activation : T -> T
}.
Arguments nought {T}. Arguments add {T}. Arguments mul {T}. Arguments div {T}. Arguments exponential {T}.
Arguments activation {T}.

Section Forward.
Context {T : Type}.
Variable o : operations T.
Variable w : weights T.

Fixpoint plus_ (u v : list T) : list T :=
  match u, v with
  | a :: u, b :: v => add o a b :: plus_ u v
  | [], v => v
  | u, [] => u
  end.

Fixpoint dot (u v : list T) : T :=
  match u, v with
  | a :: u, b :: v => add o (mul o a b) (dot u v)
  | _, _ => nought o
  end.

Definition apply (matrix : list (list T)) (v : list T) : list T := map (fun row => dot row v) matrix.

(** A place: a position and the token that stands there. *)
Definition place := (nat * nat)%type.

Definition embedded (p : place) : list T :=
  let token := nth (snd p) (tokens w) [] in
  match nth (fst p) (rows w) None with
  | Some row => plus_ token (nth row (positions w) [])
  | None => token
  end.

(** The exponential of the score with which one place attends to another; and what it then takes from it. *)
Definition raised (from to : place) : T :=
  exponential o (mul o (dot (query w) (embedded from)) (dot (key_ w) (embedded to))).
Definition taken (to : place) : list T := apply (values w) (embedded to).

Definition total_of (l : list T) : T := fold_right (add o) (nought o) l.

(** The logits of the token after the last place; [raised_] and [taken_] are the two above, or tables of them. *)
Definition logits_by (raised_ : place -> place -> T) (taken_ : place -> list T) (before : list place) (last : place)
    : list T :=
  let seen := before ++ [last] in
  let shares := map (raised_ last) seen in
  let total := total_of shares in
  let mixed := fold_right plus_ [] (map (fun '(share, p) => map (mul o (div o share total)) (taken_ p)) (combine
    shares seen)) in
  let attended := plus_ (embedded last) mixed in
  let inner := map (activation o) (plus_ (apply (hidden w) attended) (bias w)) in
  apply (tokens w) (plus_ attended (apply (back w) inner)).

Definition logits_at : list place -> place -> list T := logits_by raised taken.
End Forward.

Definition places (ids : list nat) : list place := combine (seq 0 (length ids)) ids.

Definition logits_with {T} (f : list place -> place -> list T) (ids : list nat) : list T :=
  let all := places ids in f (removelast all) (last all (0, 0)).

(** ** Over the reals *)

Definition real_operations : operations R := {|
  nought := 0%R; add := Rplus; mul := Rmult; div := Rdiv; exponential := exp; activation := gelu
|}.

(** A weight is the real number that a float32 bit pattern stands for: Flocq's reading of IEEE 754. *)
Definition real_of_bits (bits : Z) : R := B2R 24 128 (b32_of_bits bits).

Definition finite_bits (bits : Z) : bool := is_finite 24 128 (b32_of_bits bits).

Definition finite_weights (w : weights Z) : bool :=
  forallb (forallb finite_bits)
    (tokens w ++ positions w ++ [query w; key_ w] ++ values w ++ hidden w ++ [bias w] ++ back w).

Definition logits (w : weights Z) : list nat -> list R :=
  logits_with (logits_at real_operations (map_weights real_of_bits w)).

(** ** Greedy decoding *)

(** The largest logit, larger than every other. *)
Definition best (l : list R) (t : nat) : Prop :=
  t < length l /\ forall u, u < length l -> u <> t -> (nth u l 0 < nth t l 0)%R.

(** Tokens are characters; 0 fills prompts up, 1 stops, symbols follow, then the token that begins an output. *)
Record alphabet := Alphabet {
  vocabulary : text;
  start : nat;
  input_length : nat;
  output_length : nat
}.
Definition stop : nat := 1.

Fixpoint index (c : byte) (t : text) : option nat :=
  match t with
  | [] => None
  | d :: t => if Byte.eqb c d then Some 0 else option_map S (index c t)
  end.

Fixpoint indices (t vocabulary : text) : option (list nat) :=
  match t with
  | [] => Some []
  | c :: t => match index c vocabulary, indices t vocabulary with Some i, Some l => Some (i :: l) | _, _ => None end
  end.

(** What the network reads for a prompt: its tokens, filled up, and the token that begins an output. *)
Definition encoded (a : alphabet) (prompt : text) : option (list nat) :=
  match indices prompt (vocabulary a) with
  | Some ids => if length ids <=? input_length a then Some (ids ++ repeat 0 (input_length a - length ids) ++ [start
    a]) else None
  | None => None
  end.

(** [generates n ids written]: after [ids] the network writes the tokens [written] and stops, with [n] tokens at most.
  *)
Inductive generates (l : list nat -> list R) : nat -> list nat -> list nat -> Prop :=
| generates_stop n ids : best (l ids) stop -> generates l (S n) ids []
| generates_more n ids t written :
    best (l ids) t -> t <> stop -> generates l n (ids ++ [t]) written -> generates l (S n) ids (t :: written).

(** Greedy decoding of a prompt gives an output: symbols and nothing else, before it stops. *)
Definition writes (a : alphabet) (w : weights Z) : answerer := fun prompt output =>
  exists ids written, encoded a prompt = Some ids /\ generates (logits w) (output_length a) ids written /\
    written <> [] /\ Forall (fun t => stop < t < start a) written /\
    output = map (fun t => nth t (vocabulary a) x00) written.

Lemma best_unique l t u : best l t -> best l u -> t = u.
Proof.
  intros [T1 T2] [U1 U2]. destruct (Nat.eq_dec t u) as [|N]; [assumption|].
  pose proof (T2 u U1 ltac:(auto)). pose proof (U2 t T1 N). exfalso. eapply Rlt_asym; eassumption.
Qed.

Lemma generates_unique l n ids s : generates l n ids s -> forall t, generates l n ids t -> s = t.
Proof.
  induction 1 as [n ids B|n ids t s B N G IH]; intros v V; inversion V; subst.
  - reflexivity.
  - exfalso. pose proof (best_unique _ _ _ B H0). congruence.
  - exfalso. apply N. eapply best_unique; eassumption.
  - pose proof (best_unique _ _ _ B H0). subst t0. f_equal. now apply IH.
Qed.

Lemma writes_unique a w p s t : writes a w p s -> writes a w p t -> s = t.
Proof.
  intros (i & u & E & G & _ & _ & ->) (j & v & F & H & _ & _ & ->). rewrite E in F. injection F as <-.
  now rewrite (generates_unique _ _ _ _ G _ H).
Qed.
