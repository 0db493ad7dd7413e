(** Numbers one above the other, from the right: their columns have digits only, and add up to the numbers. *)

From Alga Require Export Walk.

Section Rows.
Variable base : Z.
Hypothesis base_range : 2 <= base <= 36.

(** The sum of a column's digits. *)
Definition total (column : text) : Z := fold_right (fun c n => digit c + n) 0 column.

(** The value of a row, its first digit worth least. *)
Definition row_value (row : text) : Z := fold_right (fun c v => digit c + base * v) 0 row.

Definition rows_value (rows : list text) : Z := fold_right (fun row v => row_value row + v) 0 rows.

Lemma value_rev row : value base (rev row) = row_value row.
Proof.
  induction row as [|c row IH]; [reflexivity|]. simpl rev. rewrite value_snoc, IH. simpl. ring.
Qed.

Lemma total_app s t : total (s ++ t) = total s + total t.
Proof. induction s as [|c s IH]; simpl; [reflexivity|]. rewrite IH. ring. Qed.

Definition digit_rows (rows : list text) : Prop := Forall (Forall (is_digit base)) rows.

Lemma digit_rows_tl rows : digit_rows rows -> digit_rows (map (@tl byte) rows).
Proof.
  unfold digit_rows. intros F. apply Forall_map. eapply Forall_impl; [|exact F].
  intros row G. destruct G; [constructor|assumption].
Qed.

Lemma longest_cons row rows : longest (row :: rows) = Nat.max (length row) (longest rows).
Proof. reflexivity. Qed.

Lemma longest_tl rows : longest (map (@tl byte) rows) = pred (longest rows).
Proof.
  induction rows as [|row rows IH]; [reflexivity|]. cbn [map]. rewrite !longest_cons, IH.
  destruct row; cbn [tl length]; lia.
Qed.

Lemma longest_0 rows : longest rows = O -> Forall (fun row => row = []) rows.
Proof.
  induction rows as [|row rows IH]; [constructor|]. rewrite longest_cons. intros H; constructor.
  - destruct row; cbn [length] in H; [reflexivity|lia].
  - apply IH. lia.
Qed.

Variable fill : text.
Hypothesis fill_zero : fill = [] \/ fill = [zero].

Lemma top_row row : row_value row = total (top fill row) + base * row_value (tl row).
Proof. destruct row; simpl; [destruct fill_zero as [->| ->]; simpl; rewrite ?digit_zero; ring|ring]. Qed.

Lemma tops rows :
  rows_value rows = total (flat_map (top fill) rows) + base * rows_value (map (@tl byte) rows).
Proof.
  induction rows as [|row rows IH]; simpl; [ring|]. rewrite total_app, IH, top_row. ring.
Qed.

Lemma rows_value_0 rows : longest rows = O -> rows_value rows = 0.
Proof.
  intros H. apply longest_0 in H. induction H as [|row rows -> _ IH]; simpl; [reflexivity|]. now rewrite IH.
Qed.

Lemma columns_value n : forall rows, n = longest rows ->
  fold_right (fun c v => total c + base * v) 0 (columns_of fill rows n) = rows_value rows.
Proof.
  induction n as [|n IH]; intros rows H; simpl.
  - symmetry. now apply rows_value_0.
  - rewrite IH by (rewrite longest_tl; lia). symmetry. apply tops.
Qed.

(** ** Columns are admissible *)

Lemma top_digits row : Forall (is_digit base) row -> Forall (is_digit base) (top fill row).
Proof.
  intros F. destruct row; simpl.
  - destruct fill_zero as [->| ->]; repeat constructor. now apply zero_is_digit.
  - inversion F; subst. repeat constructor; assumption.
Qed.

Lemma tops_digits rows : digit_rows rows -> Forall (is_digit base) (flat_map (top fill) rows).
Proof.
  induction 1 as [|row rows F _ IH]; simpl; [constructor|]. apply Forall_app. split; [now apply top_digits|assumption].
Qed.

Lemma top_length row : (length (top fill row) <= 1)%nat /\ (row <> [] \/ fill <> [] -> length (top fill row) = 1%nat).
Proof.
  destruct row; simpl; [|auto]. destruct fill_zero as [->| ->]; simpl; split; auto. intros [|]; congruence.
Qed.

Lemma tops_at_most rows : (length (flat_map (top fill) rows) <= length rows)%nat.
Proof.
  induction rows as [|row rows IH]; simpl; [lia|]. rewrite app_length. pose proof (proj1 (top_length row)). lia.
Qed.

Lemma tops_full rows : fill <> [] \/ Forall (fun row => row <> []) rows ->
  length (flat_map (top fill) rows) = length rows.
Proof.
  induction rows as [|row rows IH]; simpl; intros H; [reflexivity|].
  rewrite app_length, (proj2 (top_length row)), IH; [reflexivity| |].
  - destruct H as [H|H]; [now left|right; now inversion H].
  - destruct H as [H|H]; [now right|left; now inversion H].
Qed.

Lemma tops_some rows : longest rows <> O -> (1 <= length (flat_map (top fill) rows))%nat.
Proof.
  induction rows as [|row rows IH]; [cbn; lia|]. rewrite longest_cons. intros H. cbn [flat_map]. rewrite app_length.
  destruct row as [|c row]; cbn [length top] in *; [|lia]. specialize (IH H). lia.
Qed.

(** A column that may follow: digits, one for each row, or fewer where nothing fills the ended rows. *)
Definition column_follows (rows : nat) (column : text) : Prop :=
  Forall (is_digit base) column /\ (1 <= length column <= rows)%nat /\ (fill <> [] -> length column = rows).

Lemma columns_follow n : forall rows, digit_rows rows -> (n <= longest rows)%nat ->
  Forall (column_follows (length rows)) (columns_of fill rows n).
Proof.
  induction n as [|n IH]; intros rows D H; simpl; constructor.
  - repeat split; [now apply tops_digits|apply tops_some; lia|apply tops_at_most|].
    intros N. apply tops_full. now left.
  - specialize (IH (map (@tl byte) rows)). rewrite map_length in IH.
    apply IH; [now apply digit_rows_tl|rewrite longest_tl; lia].
Qed.

Lemma columns_of_empty rows n : n <> O -> columns_of fill rows n <> [].
Proof. destruct n; simpl; congruence. Qed.

(** ** Operands *)

Lemma without_zeros_number t : number base t -> number base (without_zeros t) .
Proof. intros [_ F]. apply (without_zeros_canonical base base_range t F). Qed.

Definition rows_from_right (operands : list text) : list text := map (fun t => rev (without_zeros t)) operands.

Lemma rows_digits operands : Forall (number base) operands -> digit_rows (rows_from_right operands).
Proof.
  intros F. apply Forall_map. eapply Forall_impl; [|exact F]. intros t N. apply Forall_rev.
  apply without_zeros_number, N.
Qed.

Lemma rows_full operands : Forall (number base) operands -> Forall (fun row => row <> []) (rows_from_right operands).
Proof.
  intros F. apply Forall_map. eapply Forall_impl; [|exact F]. intros t N E.
  apply (f_equal (@rev byte)) in E. rewrite rev_involutive in E. simpl in E.
  now apply (proj1 (without_zeros_number t N)) in E.
Qed.

Lemma rows_sum operands : Forall (number base) operands ->
  rows_value (rows_from_right operands) = fold_right (fun t v => value base t + v) 0 operands.
Proof.
  induction 1 as [|t ts N _ IH]; simpl; [reflexivity|]. rewrite IH, <- value_rev, rev_involutive.
  rewrite without_zeros_value by (apply N || assumption). reflexivity.
Qed.

Lemma rows_longest operands : operands <> [] -> Forall (number base) operands
  -> longest (rows_from_right operands) <> O.
Proof.
  intros N F E. apply longest_0 in E. pose proof (rows_full operands F) as G.
  destruct operands; [congruence|]. simpl in *. inversion E; inversion G; subst. congruence.
Qed.

(** The first column is full, the others follow. *)
Lemma columns_admissible operands : operands <> [] -> Forall (number base) operands ->
  exists column later, columns_from_right fill operands = column :: later /\
    (Forall (is_digit base) column /\ length column = length operands) /\
    Forall (column_follows (length operands)) later.
Proof.
  intros N F. unfold columns_from_right. fold (rows_from_right operands).
  pose proof (rows_longest operands N F) as L. pose proof (rows_digits operands F) as D.
  destruct (longest (rows_from_right operands)) as [|n] eqn:E; [congruence|]. simpl.
  eexists; eexists; split; [reflexivity|]. repeat split.
  - now apply tops_digits.
  - rewrite tops_full by (right; now apply rows_full). apply map_length.
  - replace (length operands) with (length (map (@tl byte) (rows_from_right operands)))
      by (unfold rows_from_right; now rewrite !map_length).
    apply columns_follow; [now apply digit_rows_tl|rewrite longest_tl; lia].
Qed.

(** ** Lists of columns, as a layout has them *)

Definition first_columns (rows : nat) : list text := texts_of (digits base) rows.

Fixpoint shorter_columns (rows : nat) : list text :=
  match rows with O => [] | S r => texts_of (digits base) rows ++ shorter_columns r end.

Definition following_columns (rows : nat) : list text :=
  match fill with [] => shorter_columns rows | _ => texts_of (digits base) rows end.

Lemma full_In rows column : Forall (is_digit base) column -> length column = rows -> In column (first_columns rows).
Proof.
  intros F <-. apply texts_of_In. eapply Forall_impl; [|exact F]. intros c H. now apply digits_In.
Qed.

Lemma shorter_In rows column : Forall (is_digit base) column -> (1 <= length column <= rows)%nat ->
  In column (shorter_columns rows).
Proof.
  intros F. induction rows as [|r IH]; [lia|]. intros H. cbn [shorter_columns]. apply in_or_app.
  destruct (Nat.eq_dec (length column) (S r)) as [E|]; [left; now apply full_In|right; apply IH; lia].
Qed.

Lemma follows_In rows column : column_follows rows column -> In column (following_columns rows).
Proof.
  intros (F & L & E). unfold following_columns. destruct fill; [now apply shorter_In|].
  apply full_In; [exact F|]. apply E. discriminate.
Qed.

Lemma total_range column : Forall (is_digit base) column ->
  0 <= total column <= Z.of_nat (length column) * (base - 1).
Proof.
  induction 1 as [|c t H _ IH]; [simpl; lia|]. cbn [total fold_right length]. fold (total t).
  unfold is_digit in H. pose proof (digit_range c). lia.
Qed.

End Rows.
