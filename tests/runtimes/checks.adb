--  Tasks that meet, and checks that the processor makes: what it finds are exceptions.
with Ada.Text_IO; use Ada.Text_IO;

procedure Checks is
   type Pointer is access Integer;
   Own : exception;

   function Fib (N : Integer) return Integer is (if N < 2 then N else Fib (N - 1) + Fib (N - 2));

   function Value (From : Pointer) return Integer;
   pragma No_Inline (Value);
   function Value (From : Pointer) return Integer is
   begin
      return From.all;
   end Value;

   function Descend (N : Integer) return Integer is
      Room : array (1 .. 100) of Integer := (others => N);
   begin
      return Descend (N + 1) + Room (N mod 100 + 1);
   end Descend;

   protected Sum is
      procedure Add (N : Integer);
      function Get return Integer;
   private
      Value : Integer := 0;
   end Sum;

   protected body Sum is
      procedure Add (N : Integer) is
      begin
         Value := Value + N;
      end Add;
      function Get return Integer is (Value);
   end Sum;

   procedure Run is
      task type Worker (Number : Integer) is
         entry Start (N : Integer);
      end Worker;

      task body Worker is
      begin
         accept Start (N : Integer) do
            Sum.Add (N);
         end Start;
         for Round in 1 .. 50 loop
            begin
               if Round mod 5 = 0 then
                  raise Own;
               end if;
               Sum.Add (Fib (8 + Number));
            exception
               when Own => Sum.Add (1);
            end;
         end loop;
      end Worker;

      First  : Worker (1);
      Second : Worker (2);
   begin
      First.Start (5);
      Second.Start (6);
   end Run;

   Count : Integer := 0;
   Zero  : Integer := 0;
   Null_Pointer : Pointer;
begin
   Run;
   Put_Line (Sum.Get'Image);
   for Round in 1 .. 20 loop
      begin
         Count := Count + Value (Null_Pointer);
      exception
         when Constraint_Error => Count := Count + 1;
      end;
   end loop;
   Put_Line (Count'Image);
   begin
      Zero := 1 / Zero;
   exception
      when Constraint_Error => Put_Line ("division");
   end;
   begin
      Zero := Descend (1);
   exception
      when Storage_Error => Put_Line ("overflow");
   end;
   raise Own;
end Checks;
