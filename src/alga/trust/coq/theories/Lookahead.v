(** Lookahead: all carries of a sum at once, by three small maps and Hillis and Steele's scan (docs/lookahead.md). *)

From Alga Require Export Scan.

(** ** The three maps *)

Definition mark_of (s : status) : text := match s with K => text! "k" | P => text! "p" | G => text! "g" end.

Definition status_of (column : text) : status :=
  if total column =? 9 then P else if 9 <? total column then G else K.

Definition carried_in (s : status) : Z := match s with G => 1 | _ => 0 end.

(** The digit of a column once its carry is known; the empty column is the place after the last. *)
Definition emitted (s : status) (column : text) : text := [character ((total column + carried_in s) mod 10)].

(** ** The engine: rounds of independent prompts *)

Section Engine.
Variable answers : answerer.

(** While there are places further left than [reach], each is composed with the one that far to its right. *)
Inductive scan : nat -> list text -> list text -> Prop :=
| scan_end reach places : (length places <= reach)%nat -> scan reach places places
| scan_round reach places composed final : (reach < length places)%nat ->
    Forall2 answers (map (fun '(later, earlier) => later ++ earlier) (combine (skipn reach places) places)) composed ->
    scan (2 * reach) (firstn reach places ++ composed) final ->
    scan reach places final.

Definition looked_ahead (columns : list text) (answer : text) : Prop :=
  exists statuses scanned digits_,
    Forall2 answers columns statuses /\
    scan 1 ((text! "k") :: statuses) scanned /\
    Forall2 answers (map (fun '(carry, column) => carry ++ column) (combine scanned (columns ++ [[]]))) digits_ /\
    answer = without_zeros (concat (rev digits_)).
End Engine.

Definition adds_ahead (answers : answerer) : Prop :=
  forall a b, number 10 a -> number 10 b ->
  exists answer,
    canonical 10 answer /\ value 10 answer = value 10 a + value 10 b /\
    forall t, looked_ahead answers (columns_from_right [] [a; b]) t <-> t = answer.

(** ** Its finite domain *)

Definition ahead_columns : list text := following_columns 10 [] 2.

Definition ahead_instances : list (text * text) :=
  map (fun column => (column, mark_of (status_of column))) ahead_columns ++
  flat_map (fun x => map (fun y => (mark_of x ++ mark_of y, mark_of (compose x y))) [K; P; G]) [K; P; G] ++
  flat_map (fun x => map (fun column => (mark_of x ++ column, emitted x column)) (ahead_columns ++ [[]])) [K; G].

Definition ahead_right (answers : answerer) : Prop :=
  forall p o, In (p, o) ahead_instances -> forall written, answers p written <-> written = o.

(** ** Why it is right *)

Section Right.
Variable answers : answerer.
Hypothesis right : ahead_right answers.

Lemma composed_right x y t : answers (mark_of x ++ mark_of y) t <-> t = mark_of (compose x y).
Proof.
  apply right. apply in_or_app; right. apply in_or_app; left. apply in_flat_map. exists x.
  split; [destruct x; simpl; tauto|]. apply (in_map (fun y => (mark_of x ++ mark_of y, mark_of (compose x y)))).
  destruct y; simpl; tauto.
Qed.

Lemma round_right later : forall earlier outputs,
  Forall2 answers (map (fun '(l, e) => l ++ e) (combine (map mark_of later) (map mark_of earlier))) outputs <->
  outputs = map mark_of (map (fun '(l, e) => compose l e) (combine later earlier)).
Proof.
  induction later as [|x later IH]; intros earlier outputs; [split; [now inversion 1|intros ->; constructor]|].
  destruct earlier as [|y earlier]; [split; [now inversion 1|intros ->; constructor]|]. cbn [map combine]. split.
  - inversion 1 as [|? o ? os A B]; subst. apply composed_right in A as ->. f_equal. now apply IH.
  - intros ->. constructor; [now apply composed_right|now apply IH].
Qed.

Lemma scan_right f n : forall left reach, (n - reach <= left)%nat -> (1 <= reach)%nat ->
  forall final, scan answers reach (map mark_of (windows f n reach)) final <-> final = map mark_of (prefixes f n).
Proof.
  assert (L : forall reach, length (map mark_of (windows f n reach)) = n)
    by (intros; unfold windows; now rewrite !map_length, seq_length).
  induction left as [|left IH]; intros reach D R final.
  - assert (n <= reach)%nat by lia. rewrite <- (windows_prefixes f n reach) by lia. split.
    + inversion 1; subst; [reflexivity|]. rewrite L in *. lia.
    + intros ->. constructor. rewrite L. lia.
  - destruct (Nat.leb_spec n reach) as [N|N].
    + rewrite <- (windows_prefixes f n reach) by lia. split.
      * inversion 1; subst; [reflexivity|]. rewrite L in *. lia.
      * intros ->. constructor. rewrite L. lia.
    + assert (Q : forall outputs, Forall2 answers
        (map (fun '(l, e) => l ++ e) (combine (skipn reach (map mark_of (windows f n reach))) (map mark_of (windows f
          n reach)))) outputs
        <-> outputs = map mark_of (composed_round reach (windows f n reach))).
      { intros outputs. rewrite skipn_map. apply round_right. }
      assert (W : firstn reach (map mark_of (windows f n reach)) ++ map mark_of (composed_round reach (windows f n
        reach))
        = map mark_of (windows f n (2 * reach))) by (rewrite firstn_map, <- map_app, round_windows; [reflexivity|lia]).
      specialize (IH (2 * reach)%nat ltac:(lia) ltac:(lia) final). split.
      * inversion 1; subst; [rewrite L in *; lia|]. apply Q in H1 as ->. apply IH. now rewrite <- W.
      * intros ->. apply (scan_round answers reach _ (map mark_of (composed_round reach (windows f n reach)))).
        -- rewrite L. lia.
        -- now apply Q.
        -- replace (firstn reach (map mark_of (windows f n reach)) ++ _) with (map mark_of (windows f n (2 * reach)))
             by (symmetry; exact W). now apply IH.
Qed.

(** Running over the columns gives the same carries. *)
Fixpoint running (carry : status) (columns : list text) : list status :=
  match columns with
  | [] => [carry]
  | column :: later => carry :: running (compose (status_of column) carry) later
  end.

Definition place_status (columns : list text) (i : nat) : status := nth i (K :: map status_of columns) P.

Lemma running_length columns : forall carry, length (running carry columns) = S (length columns).
Proof. induction columns; intros; simpl; auto. Qed.

Lemma running_next columns : forall carry i, (i < length columns)%nat ->
  nth (S i) (running carry columns) P = compose (nth i (map status_of columns) P) (nth i (running carry columns) P).
Proof.
  induction columns as [|c cs IH]; intros carry i I; [simpl in I; lia|]. destruct i as [|i].
  - destruct cs; reflexivity.
  - cbn [running map]. change (nth (S i) (running (compose (status_of c) carry) cs) P =
      compose (nth i (map status_of cs) P) (nth i (running (compose (status_of c) carry) cs) P)).
    apply IH. simpl in I. lia.
Qed.

Lemma prefixes_running columns : prefixes (place_status columns) (S (length columns)) = running K columns.
Proof.
  assert (E : forall i, (i <= length columns)%nat -> stretch (place_status columns) i (S i)
    = nth i (running K columns) P).
  { induction i as [|i IH]; intros I; [cbn; destruct columns; reflexivity|].
    rewrite running_next by lia. rewrite <- IH by lia.
    change (stretch (place_status columns) (S i) (S (S i))) with
      (compose (place_status columns (S i)) (stretch (place_status columns) (S i - 1) (S i))).
    replace (S i - 1)%nat with i by lia. reflexivity. }
  apply (nth_ext _ _ P P); [unfold prefixes; now rewrite map_length, seq_length, running_length|].
  intros i I. unfold prefixes in *. rewrite map_length, seq_length in I.
  rewrite (nth_indep _ P (stretch (place_status columns) 0 1)) by (rewrite map_length, seq_length; exact I).
  rewrite (map_nth (fun i => stretch (place_status columns) i (S i)) (seq 0 (S (length columns))) O i), seq_nth
    by exact I.
  apply E. lia.
Qed.

Lemma windows_first columns :
  map mark_of (windows (place_status columns) (S (length columns)) 1)
    = (text! "k") :: map mark_of (map status_of columns).
Proof.
  assert (E : windows (place_status columns) (S (length columns)) 1 = K :: map status_of columns).
  { apply (nth_ext _ _ P P); [unfold windows; simpl; now rewrite !map_length, seq_length|].
    intros i I. unfold windows in I. rewrite map_length, seq_length in I. rewrite windows_nth by exact I.
    rewrite Nat.min_l by lia. cbn [stretch].
      change (nth i (K :: map status_of columns) P) with (place_status columns i).
    now destruct (place_status columns i). }
  now rewrite E.
Qed.

Fixpoint emissions (carry : status) (columns : list text) : list text :=
  match columns with
  | [] => [emitted carry []]
  | column :: later => emitted carry column :: emissions (compose (status_of column) carry) later
  end.

Lemma emitted_right carry column t : carry <> P -> In column (ahead_columns ++ [[]]) ->
  answers (mark_of carry ++ column) t <-> t = emitted carry column.
Proof.
  intros N I. apply right. apply in_or_app; right. apply in_or_app; right. apply in_flat_map. exists carry.
  split; [destruct carry; simpl; tauto|].
    now apply (in_map (fun column => (mark_of carry ++ column, emitted carry column))).
Qed.

Lemma emissions_right columns : forall carry outputs, carry <> P -> Forall (fun c => In c ahead_columns) columns ->
  Forall2 answers (map (fun '(c, column) => c ++ column) (combine (map mark_of (running carry columns)) (columns ++
    [[]]))) outputs
  <-> outputs = emissions carry columns.
Proof.
  induction columns as [|c cs IH]; intros carry outputs N F; cbn [running map app combine emissions].
  - assert (A : forall t, answers (mark_of carry ++ []) t <-> t = emitted carry []).
    { intros t. apply emitted_right; [exact N|]. apply in_or_app; right; now left. }
    split.
    + inversion 1 as [|? o ? os X Y]; subst. inversion Y; subst. apply A in X as ->. reflexivity.
    + intros ->. constructor; [now apply A|constructor].
  - inversion F as [|? ? F1 F2]; subst.
    assert (A : forall t, answers (mark_of carry ++ c) t <-> t = emitted carry c).
    { intros t. apply emitted_right; [exact N|]. apply in_or_app; now left. }
    assert (M : compose (status_of c) carry <> P) by (destruct (status_of c); simpl; congruence).
    split.
    + inversion 1 as [|? o ? os X Y]; subst. apply A in X as ->. f_equal. now apply IH.
    + intros ->. constructor; [now apply A|now apply IH].
Qed.

Lemma emissions_value columns : forall carry, carry <> P ->
  Forall (fun c => 0 <= total c <= 18) columns ->
  value 10 (concat (rev (emissions carry columns)))
    = carried_in carry + fold_right (fun c v => total c + 10 * v) 0 columns /\
  Forall (is_digit 10) (concat (rev (emissions carry columns))).
Proof.
  induction columns as [|c cs IH]; intros carry N F; cbn [emissions rev fold_right].
  - cbn [app concat]. unfold emitted.
    destruct carry; [|congruence|]; vm_compute; split; try reflexivity; repeat constructor.
  - inversion F as [|? ? F1 F2]; subst.
    destruct (IH (compose (status_of c) carry)) as [V D];
      [destruct (status_of c); simpl; congruence|assumption|].
    rewrite concat_app. cbn [concat]. rewrite app_nil_r. unfold emitted.
    assert (C : 0 <= carried_in carry <= 1) by (destruct carry; simpl; lia).
    pose proof (Z.mod_pos_bound (total c + carried_in carry) 10 ltac:(lia)) as M.
    rewrite value_snoc, V, digit_character by lia. split.
    + assert (E : carried_in (compose (status_of c) carry) = (total c + carried_in carry) / 10).
      { unfold status_of. destruct (Z.eqb_spec (total c) 9) as [E|E]; [rewrite E|destruct (Z.ltb_spec 9 (total c))];
        simpl compose.
        - destruct carry; reflexivity || congruence.
        - cbn [carried_in]. apply (Z.div_unique _ 10 1 (total c + carried_in carry - 10)); [left; lia|ring].
        - cbn [carried_in]. symmetry. apply Z.div_small. lia. }
      rewrite E. pose proof (Z.div_mod (total c + carried_in carry) 10 ltac:(lia)). lia.
    + apply Forall_app. split; [exact D|]. repeat constructor. unfold is_digit. rewrite digit_character; lia.
Qed.

Theorem ahead_adds : adds_ahead answers.
Proof.
  intros a b A B.
  assert (F : Forall (number 10) [a; b]) by (constructor; [exact A|constructor; [exact B|constructor]]).
  destruct (columns_admissible 10 ltac:(lia) [] ltac:(now left) [a; b] ltac:(discriminate) F)
    as (column & later & E & [D1 D2] & G).
  assert (Fo : Forall (column_follows 10 [] 2) (columns_from_right [] [a; b])).
  { rewrite E. constructor; [|exact G]. repeat split; [exact D1| | |congruence]; simpl in D2; rewrite D2; auto. }
  set (columns := columns_from_right [] [a; b]) in *.
  assert (In_ : Forall (fun c => In c ahead_columns) columns).
  { eapply Forall_impl; [|exact Fo]. intros c H. apply follows_In; [lia|now left|exact H]. }
  assert (T : Forall (fun c => 0 <= total c <= 18) columns).
  { eapply Forall_impl; [|exact Fo]. intros c (H & L & _). pose proof (total_range 10 c H). lia. }
  destruct (emissions_value columns K ltac:(discriminate) T) as [V Dg].
  exists (without_zeros (concat (rev (emissions K columns)))).
  split; [apply without_zeros_canonical; [lia|exact Dg]|]. split.
  { rewrite without_zeros_value by (lia || exact Dg). rewrite V. cbn [carried_in].
    rewrite Z.add_0_l. unfold columns, columns_from_right. rewrite (columns_value 10) by (auto; now left).
    fold (rows_from_right [a; b]). rewrite (rows_sum 10) by (lia || exact F). cbn [fold_right]. lia. }
  intros t. unfold looked_ahead.
  assert (St : forall statuses, Forall2 answers columns statuses <-> statuses = map mark_of (map status_of columns)).
  { assert (A1 : forall c u, In c ahead_columns -> answers c u <-> u = mark_of (status_of c)).
    { intros c u I. apply right. apply in_or_app; left.
      now apply (in_map (fun column => (column, mark_of (status_of column)))). }
    clearbody columns. clear - In_ A1. induction In_ as [|c cs I _ IH]; intros statuses; cbn [map]; split.
    - now inversion 1.
    - intros ->. constructor.
    - inversion 1 as [|? o ? os X Y]; subst. apply A1 in X as ->; [|exact I]. f_equal. now apply IH.
    - intros ->. constructor; [now apply A1|now apply IH]. }
  assert (W : forall final, scan answers 1 ((text! "k") :: map mark_of (map status_of columns)) final <->
    final = map mark_of (running K columns)).
  { intros final. rewrite <- windows_first, <- prefixes_running.
    apply (scan_right (place_status columns) (S (length columns)) (S (length columns)) 1); lia. }
  split.
  - intros (statuses & scanned & ds & H1 & H2 & H3 & ->). apply St in H1 as ->. apply W in H2 as ->.
    apply emissions_right in H3 as ->; [reflexivity|discriminate|exact In_].
  - intros ->. exists (map mark_of (map status_of columns)), (map mark_of (running K columns)), (emissions K columns).
    split; [now apply St|]. split; [now apply W|]. split; [|reflexivity].
    apply emissions_right; [discriminate|exact In_|reflexivity].
Qed.
End Right.

Definition checked_ahead (table : list (text * text)) : bool :=
  forallb (fun '(p, o) => match entry table p with Some w => text_eqb w o | None => false end) ahead_instances.

Theorem table_adds_ahead table : checked_ahead table = true -> adds_ahead (by_table table).
Proof.
  unfold checked_ahead. rewrite forallb_forall. intros C. apply ahead_adds. intros p o I written.
  specialize (C _ I). cbv beta iota in C. unfold by_table. destruct (entry table p) as [w|]; [|discriminate].
  revert C. destruct (text_eqb_spec w o) as [E|]; [|discriminate]. intros _. subst w. split; [congruence|now intros ->].
Qed.
