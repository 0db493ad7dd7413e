(** Weights from the bytes of a safetensors file: the header says where each tensor begins, as float32
  in 32 bits each. *)

From Alga Require Export Network.
Local Open Scope nat_scope.

(** Bytes from hexadecimal digits. *)
Fixpoint unhex (t : text) : text :=
  match t with
  | c :: d :: t => match Byte.of_N (Z.to_N (16 * digit c + digit d)) with Some b => b :: unhex t | None => [] end
  | _ => []
  end.

(** A number whose first byte is worth least. *)
Fixpoint little_endian (t : text) : Z :=
  match t with [] => 0%Z | c :: t => (Z.of_N (Byte.to_N c) + 256 * little_endian t)%Z end.

Fixpoint words (t : text) : list Z :=
  match t with
  | a :: b :: c :: d :: t => little_endian [a; b; c; d] :: words t
  | _ => []
  end.

(** What follows a text; None if it does not begin with it. *)
Fixpoint after (start_ t : text) : option text :=
  match start_, t with
  | [], _ => Some t
  | c :: s, d :: t => if Byte.eqb c d then after s t else None
  | _, [] => None
  end.

(** What follows the first place where a text stands. *)
Fixpoint beyond (needle t : text) : option text :=
  match after needle t with
  | Some rest => Some rest
  | None => match t with [] => None | _ :: t => beyond needle t end
  end.

(** The decimal number that a text begins with. *)
Fixpoint decimal (v : nat) (t : text) : nat * text :=
  match t with
  | c :: rest => if (digit c <? 10)%Z then decimal (10 * v + Z.to_nat (digit c)) rest else (v, t)
  | [] => (v, t)
  end.

Definition header_size (file : text) : nat := Z.to_nat (little_endian (firstn 8 file)).
Definition header (file : text) : text := firstn (header_size file) (skipn 8 file).
Definition data (file : text) : text := skipn (8 + header_size file) file.

Fixpoint cut {A} (count size : nat) (l : list A) : list (list A) :=
  match count with O => [] | S count => firstn size l :: cut count size (skipn size l) end.

(** A tensor's rows, as bit patterns; the header has its name, its type F32, its shape and where its bytes begin. *)
Definition tensor (file name : text) : list (list Z) :=
  match beyond ((text! """") ++ name ++ (text! """:{""dtype"":""F32"",""shape"":[")) (header file) with
  | None => []
  | Some rest =>
      let '(first_, rest) := decimal 0 rest in
      let '(count, size, rest) :=
        match after (text! ",") rest with
        | Some rest => let '(second, rest) := decimal 0 rest in (first_, second, rest)
        | None => (1, first_, rest)
        end in
      match after (text! "],""data_offsets"":[") rest with
      | None => []
      | Some rest => cut count size (words (firstn (4 * count * size) (skipn (fst (decimal 0 rest)) (data file))))
      end
  end.

(** The weights of a network of one layer, named as alga names them; [rows_] is the setting [positions]. *)
Definition weights_in (rows_ : list (option nat)) (file : text) : weights Z :=
  let projected := tensor file (text! "layers.0.attention.project_in.weight") in
  {|
    rows := rows_;
    tokens := tensor file (text! "token_embedding.weight");
    positions := tensor file (text! "position_embedding.weight");
    query := nth 0 projected [];
    key_ := nth 1 projected [];
    values := skipn 2 projected;
    hidden := tensor file (text! "layers.0.feed_forward.0.weight");
    bias := nth 0 (tensor file (text! "layers.0.feed_forward.0.bias")) [];
    back := tensor file (text! "layers.0.feed_forward.2.weight")
  |}.

(** The setting [positions]: a digit for a row, a point for none. *)
Definition rows_of (t : text) : list (option nat) :=
  map (fun c => if (digit c <? 10)%Z then Some (Z.to_nat (digit c)) else None) t.
