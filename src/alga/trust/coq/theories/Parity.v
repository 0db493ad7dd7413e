(** Parity of a binary number, from the left: the output is 1 while the ones seen so far are odd in number. *)

From Alga Require Export Rows.

Definition one : byte := x31.

Definition parity_step (before : option text) (column : text) : text :=
  let was := match before with Some output => text_eqb output [one] | None => false end in
  if xorb was (text_eqb column [one]) then [one] else [zero].

Definition parity : procedure := {|
  settings := [[]];
  first := fun _ => first_columns 2 1;
  following := fun _ => first_columns 2 1;
  prompt := marked_prompt [];
  step := parity_step
|}.

Definition ones (t : text) : Z := fold_right (fun c n => digit c + n) 0 t.

Definition finds_parity (answers : answerer) : Prop :=
  forall a, number 2 a ->
  forall t, answered parity answers (map (fun c => [c]) (without_zeros a))
      (fun outputs => without_zeros (read_from_left (fun _ => []) (fun output => output) outputs)) t
    <-> t = if Z.odd (ones a) then [one] else [zero].

Lemma ones_lstrip t : ones (lstrip t) = ones t.
Proof.
  induction t as [|c t IH]; [reflexivity|]. cbn [lstrip]. destruct (byte_eqb_spec c zero) as [->|]; [|reflexivity].
  rewrite IH. reflexivity.
Qed.

Lemma ones_without_zeros t : Forall (is_digit 2) t -> ones (without_zeros t) = ones t.
Proof.
  intros F. unfold without_zeros. rewrite <- (ones_lstrip t). pose proof (lstrip_digits 2 t F) as G.
  destruct (lstrip t) as [|c s]; [reflexivity|]. destruct (byte_eqb_spec c space) as [->|]; [|reflexivity].
  inversion G; subst. now destruct (space_no_digit 2 ltac:(lia)).
Qed.

Lemma walking row : forall (before : option text) was, row <> [] -> Forall (is_digit 2) row ->
  match before with Some output => output = (if was : bool then [one] else [zero]) | None => was = false end ->
  read_from_left (fun _ => []) (fun output => output) (exact parity before (map (fun c => [c]) row)) =
  if xorb was (Z.odd (ones row)) then [one] else [zero].
Proof.
  induction row as [|c row IH]; [congruence|]. intros before was _ F W. inversion F as [|? ? C G]; subst.
  assert (B : c = zero \/ c = one) by (revert C; clear; unfold is_digit; destruct c; vm_compute; auto; discriminate).
  cbn [map exact]. set (o := step parity before [c]).
  assert (O : o = if xorb was (Z.odd (digit c)) then [one] else [zero]).
  { unfold o; cbn [step parity]. unfold parity_step.
    assert (E : match before with Some output => text_eqb output [one] | None => false end = was).
    { destruct before as [t|]; [rewrite W; now destruct was|now rewrite W]. }
    cbv zeta. rewrite E. destruct B as [->| ->]; reflexivity. }
  change (ones (c :: row)) with (digit c + ones row). rewrite Z.odd_add, <- xorb_assoc.
  destruct row as [|c' row].
  - cbn [exact map read_from_left]. rewrite O. cbn [ones fold_right]. change (Z.odd 0) with false.
    now rewrite xorb_false_r.
  - transitivity (read_from_left (fun _ => []) (fun output => output) (exact parity (Some o) (map (fun c => [c]) (c'
    :: row))));
      [reflexivity|]. apply IH; [discriminate|assumption|exact O].
Qed.

Theorem parity_right answers : closed parity = true -> right_on_domain parity answers -> finds_parity answers.
Proof.
  intros C R a A t. pose proof (without_zeros_number 2 ltac:(lia) a A) as [N F].
  rewrite answered_exact; auto.
  - rewrite (walking (without_zeros a) None false N F eq_refl). rewrite ones_without_zeros by apply A.
    rewrite xorb_false_l. destruct (Z.odd (ones a)); reflexivity.
  - exists []. split; [now left|].
    assert (G : Forall (fun c => In c (first_columns 2 1)) (map (fun c => [c]) (without_zeros a))).
    { apply Forall_map. eapply Forall_impl; [|exact F]. intros c H.
      apply full_In; [lia|now repeat constructor|reflexivity]. }
    destruct (without_zeros a); [congruence|]. cbn [map] in *. inversion G; subst. split; assumption.
Qed.

Theorem table_finds_parity table : checked parity table = true -> finds_parity (by_table table).
Proof. intros [C A]%andb_true_iff. apply parity_right; auto using agrees_right. Qed.
