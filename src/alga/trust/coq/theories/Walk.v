(** The loop around a step, and why a finite check of the step carries to problems of any length. *)

From Coq Require Import FMapPositive.
From Alga Require Export Texts.

(** ** The loop, as Python runs it: one step per column; each prompt shows the previous output *)

(** Who answers prompts, a table or a network: [answers p o] says that for the prompt [p] it writes [o]. *)
Definition answerer := text -> text -> Prop.

(** How a problem is walked. [step] is the exact step; a [setting] is what stays the same through a problem. *)
Record procedure := Procedure {
  settings : list text;
  first : text -> list text;                (* the columns that a problem may begin with *)
  following : text -> list text;            (* the columns that may follow *)
  prompt : option text -> text -> text;     (* of the previous output, none at first, and a column *)
  step : option text -> text -> text
}.

(** The usual prompt: the column alone, or the output before, [C] and the column. A mark says which of several
    procedures is meant; it is empty where a network has one. *)
Definition marked_prompt (mark : text) (before : option text) (column : text) : text :=
  match before with
  | None => mark ++ column
  | Some output => output ++ (text! "C") ++ mark ++ column
  end.

Section Loop.
Variable P : procedure.
Variable answers : answerer.

Inductive walk : option text -> list text -> list text -> Prop :=
| walk_end before : walk before [] []
| walk_step before column columns output outputs :
    answers (prompt P before column) output ->
    walk (Some output) columns outputs ->
    walk before (column :: columns) (output :: outputs).
End Loop.

(** The answer is read off the outputs: what each step writes, and what the last one adds. *)
Fixpoint read_from_right (written ending : text -> text) (outputs : list text) : text :=
  match outputs with
  | [] => []
  | [last] => ending last
  | output :: later => read_from_right written ending later ++ written output
  end.

Fixpoint read_from_left (written ending : text -> text) (outputs : list text) : text :=
  match outputs with
  | [] => []
  | [last] => ending last
  | output :: later => written output ++ read_from_left written ending later
  end.

(** The last character of an output: what a step writes unless its procedure says otherwise. *)
Definition last_character (output : text) : text := [last output zero].

(** [answered P answers columns read t]: the loop over the columns ends, and [t] is read off its outputs. *)
Definition answered (P : procedure) (answers : answerer) (columns : list text) (read : list text -> text) (t : text) :=
  exists outputs, walk P answers None columns outputs /\ t = read outputs.

(** ** Columns: characters one above the other in rows that begin at the same end, as [zip_longest] pairs them *)

Definition top (fill : text) (row : text) : text := match row with [] => fill | c :: _ => [c] end.

Fixpoint columns_of (fill : text) (rows : list text) (n : nat) : list text :=
  match n with
  | O => []
  | S n => flat_map (top fill) rows :: columns_of fill (map (@tl byte) rows) n
  end.

Definition longest (rows : list text) : nat := fold_right (fun row n => Nat.max (length row) n) O rows.

(** Columns of numbers from the right: without leading zeros, reversed, one above the other. *)
Definition columns_from_right (fill : text) (operands : list text) : list text :=
  let rows := map (fun t => rev (without_zeros t)) operands in
  columns_of fill rows (longest rows).

(** ** The exact outputs, and the finite domain of all prompts *)

Fixpoint exact (P : procedure) (before : option text) (columns : list text) : list text :=
  match columns with
  | [] => []
  | column :: later => let output := step P before column in output :: exact P (Some output) later
  end.

(** Sets and maps of texts, to look up fast. *)
Definition put (bit : bool) (p : positive) : positive := if bit then xI p else xO p.

Definition eight (c : byte) (p : positive) : positive :=
  let '(a, (b, (d, (e, (f, (g, (h, i))))))) := Byte.to_bits c in
  put a (put b (put d (put e (put f (put g (put h (put i p))))))).

Fixpoint key (t : text) : positive :=
  match t with [] => xH | c :: t => eight c (key t) end.

Lemma key_injective s t : key s = key t -> s = t.
Proof.
  assert (Q : forall x y p q, put x p = put y q -> x = y /\ p = q).
  { intros [] [] p q H; try discriminate H; injection H as ->; auto. }
  assert (E : forall c d p q, eight c p = eight d q -> c = d /\ p = q).
  { intros c d p q H. unfold eight in H.
    destruct (Byte.to_bits c) as (a, (b, (x, (e, (f, (g, (h, i))))))) eqn:Ec.
    destruct (Byte.to_bits d) as (a', (b', (x', (e', (f', (g', (h', i'))))))) eqn:Ed.
    repeat (apply Q in H as [? H]). subst. split; [|reflexivity].
    rewrite <- (Byte.of_bits_to_bits c), <- (Byte.of_bits_to_bits d). congruence. }
  assert (N : forall c p, eight c p <> xH).
  { intros c p. unfold eight. destruct (Byte.to_bits c) as ([], (b, (x, (e, (f, (g, (h, i))))))); discriminate. }
  revert t; induction s as [|c s IH]; intros [|d t] H; simpl in H; auto.
  - symmetry in H. now apply N in H.
  - now apply N in H.
  - apply E in H as [-> H]. f_equal. now apply IH.
Qed.

Definition tree := PositiveMap.t text.

Fixpoint tree_of (table : list (text * text)) : tree :=
  match table with
  | [] => PositiveMap.empty text
  | (p, o) :: rest => PositiveMap.add (key p) o (tree_of rest)
  end.

(** What a table says: the first entry counts. *)
Fixpoint entry (table : list (text * text)) (p : text) : option text :=
  match table with
  | [] => None
  | (q, o) :: rest => if text_eqb p q then Some o else entry rest p
  end.

Lemma tree_entry table p : PositiveMap.find (key p) (tree_of table) = entry table p.
Proof.
  induction table as [|[q o] rest IH]; simpl; [apply PositiveMap.gempty|].
  destruct (text_eqb_spec p q) as [->|N]; [apply PositiveMap.gss|].
  rewrite PositiveMap.gso; [exact IH|]. intros E. now apply N, key_injective.
Qed.

Definition set_of (texts : list text) : tree := tree_of (map (fun t => (t, t)) texts).
Definition member (t : text) (s : tree) : bool := PositiveMap.mem (key t) s.

Lemma member_In t texts : member t (set_of texts) = true -> In t texts.
Proof.
  unfold member, set_of. rewrite PositiveMap.mem_find, tree_entry.
  induction texts as [|u rest IH]; simpl; [discriminate|].
  destruct (text_eqb_spec t u) as [->|]; auto.
Qed.

Fixpoint distinct (texts : list text) (seen : tree) : list text :=
  match texts with
  | [] => []
  | t :: rest => if member t seen then distinct rest seen else t :: distinct rest (PositiveMap.add (key t) t seen)
  end.

Section Domain.
Variable P : procedure.

Definition begin (s : text) : list text := map (step P None) (first P s).
Definition next (s : text) (contexts : list text) : list text :=
  flat_map (fun context => map (step P (Some context)) (following P s)) contexts.

Fixpoint explored (s : text) (rounds : nat) (contexts : list text) : list text :=
  match rounds with
  | O => contexts
  | S rounds =>
      let more := distinct (contexts ++ next s contexts) (PositiveMap.empty text) in
      if Nat.eqb (length more) (length contexts) then contexts else explored s rounds more
  end.

(** Every output that can come before a column, found by following every column; at most 20 rounds. *)
Definition contexts (s : text) : list text := explored s 20 (distinct (begin s) (PositiveMap.empty text)).

(** Whether exploring has reached its end: checked, not assumed. *)
Definition closed_under (s : text) (known : list text) : bool :=
  let set := set_of known in
  forallb (fun t => member t set) (begin s) && forallb (fun t => member t set) (next s known).

Definition closed : bool := forallb (fun s => closed_under s (contexts s)) (settings P).

(** Every prompt with its exact output. *)
Definition instances_of (s : text) (known : list text) : list (text * text) :=
  map (fun column => (prompt P None column, step P None column)) (first P s) ++
  flat_map (fun context =>
    map (fun column => (prompt P (Some context) column, step P (Some context) column)) (following P s)) known.

Definition instances : list (text * text) := flat_map (fun s => instances_of s (contexts s)) (settings P).

(** Whoever answers writes the exact output for every prompt of the domain, and nothing else. *)
Definition right_on_domain (answers : answerer) : Prop :=
  forall p o, In (p, o) instances -> forall written, answers p written <-> written = o.

(** The columns of a problem: one setting throughout. *)
Definition admissible (columns : list text) : Prop :=
  exists s, In s (settings P) /\
    match columns with
    | [] => False
    | column :: later => In column (first P s) /\ Forall (fun c => In c (following P s)) later
    end.

(** The induction over the columns. *)
Theorem walk_exact answers columns :
  closed = true -> right_on_domain answers -> admissible columns ->
  forall outputs, walk P answers None columns outputs <-> outputs = exact P None columns.
Proof.
  intros C R (s & S & A). destruct columns as [|column later]; [contradiction|]. destruct A as [A B].
  unfold closed in C. rewrite forallb_forall in C. specialize (C s S).
  unfold closed_under in C. apply andb_true_iff in C as [C1 C2]. rewrite forallb_forall in C1, C2.
  assert (I1 : forall c, In c (first P s) -> In (prompt P None c, step P None c) instances).
  { intros c H. apply in_flat_map. exists s. split; [exact S|]. apply in_or_app; left.
    apply (in_map (fun column => (prompt P None column, step P None column))), H. }
  assert (I2 : forall x c, In x (contexts s) -> In c (following P s) ->
    In (prompt P (Some x) c, step P (Some x) c) instances).
  { intros x c X H. apply in_flat_map. exists s. split; [exact S|]. apply in_or_app; right.
    apply in_flat_map. exists x. split; [exact X|].
    apply (in_map (fun column => (prompt P (Some x) column, step P (Some x) column))), H. }
  assert (K1 : forall c, In c (first P s) -> In (step P None c) (contexts s)).
  { intros c H. apply member_In, C1, in_map, H. }
  assert (K2 : forall x c, In x (contexts s) -> In c (following P s) -> In (step P (Some x) c) (contexts s)).
  { intros x c X H. apply member_In, C2, in_flat_map. exists x. split; [exact X|]. now apply in_map. }
  assert (L : forall later x, In x (contexts s) -> Forall (fun c => In c (following P s)) later ->
    forall outputs, walk P answers (Some x) later outputs <-> outputs = exact P (Some x) later).
  { induction later0 as [|c cs IH]; intros x X F outputs; simpl.
    - split; [now inversion 1|intros ->; constructor].
    - inversion F; subst. split.
      + intros W; inversion W as [|? ? ? ? ? W1 W2]; subst. apply (R _ _ (I2 x c X H1)) in W1 as ->. f_equal.
        apply IH; auto.
      + intros ->. constructor; [now apply (R _ _ (I2 x c X H1))|apply IH; auto]. }
  intros outputs; simpl. split.
  - intros W; inversion W as [|? ? ? ? ? W1 W2]; subst. apply (R _ _ (I1 column A)) in W1 as ->. f_equal. apply L; auto.
  - intros ->. constructor; [now apply (R _ _ (I1 column A))|apply L; auto].
Qed.

Corollary answered_exact answers columns read :
  closed = true -> right_on_domain answers -> admissible columns ->
  forall t, answered P answers columns read t <-> t = read (exact P None columns).
Proof.
  intros C R A t. unfold answered. split.
  - intros (outputs & W & ->). apply walk_exact in W; auto. now subst.
  - intros ->. exists (exact P None columns). split; [|reflexivity]. now apply walk_exact.
Qed.

(** ** The finite check of a table *)

Definition by_table (table : list (text * text)) : answerer := fun p o => entry table p = Some o.

Definition agrees (table : list (text * text)) : bool :=
  let tree := tree_of table in
  forallb (fun '(p, o) => match PositiveMap.find (key p) tree
    with Some w => text_eqb w o | None => false end) instances.

Theorem agrees_right table : agrees table = true -> right_on_domain (by_table table).
Proof.
  unfold agrees. rewrite forallb_forall. intros A p o I written. specialize (A _ I). cbv beta iota in A.
  rewrite tree_entry in A. unfold by_table. destruct (entry table p) as [w|]; [|discriminate].
  revert A. destruct (text_eqb_spec w o) as [E|]; [|discriminate]. intros _. subst w. split; [congruence|now intros ->].
Qed.

(** All that is computed: true for a table that is the exact step's on every prompt. *)
Definition checked (table : list (text * text)) : bool := closed && agrees table.

Theorem checked_answered table columns read :
  checked table = true -> admissible columns ->
  forall t, answered P (by_table table) columns read t <-> t = read (exact P None columns).
Proof.
  intros C. apply andb_true_iff in C as [C A]. apply answered_exact; auto. now apply agrees_right.
Qed.

End Domain.

Definition table_of (entries : list (quoted * quoted)) : list (text * text) :=
  map (fun '(p, o) => (unquoted p, unquoted o)) entries.

(** All texts of [n] characters. *)
Fixpoint texts_of (symbols : text) (n : nat) : list text :=
  match n with
  | O => [[]]
  | S n => flat_map (fun c => map (cons c) (texts_of symbols n)) symbols
  end.

Lemma texts_of_In symbols t : Forall (fun c => In c symbols) t -> In t (texts_of symbols (length t)).
Proof.
  induction 1 as [|c t H F IH]; simpl; [now left|]. apply in_flat_map. exists c. split; [exact H|]. now apply in_map.
Qed.

(** The digits of a base. *)
Definition digits (base : Z) : text := map character (below (Z.to_nat base)).

Lemma digits_In base c : base <= 36 -> is_digit base c -> In c (digits base).
Proof.
  unfold is_digit. intros B H. unfold digits. rewrite <- (character_digit c) by lia.
  apply in_map, below_In. pose proof (digit_range c). lia.
Qed.
