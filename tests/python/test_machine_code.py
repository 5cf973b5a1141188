"""Reads of uniform registers that nothing wrote, in what nvdisasm prints."""

import unittest
from types import SimpleNamespace

from tilescript_worker.machine_code import machine_code, unwritten_reads

ENTRY = '\t.other\tk,@"STO_CUDA_ENTRY STV_DEFAULT"\n'


def section(code: str, name: str = "k", other: str = ENTRY) -> str:
    """The lines as nvdisasm prints a section: instructions at addresses, and labels."""
    lines = [f'\t.section\t.text.{name},"ax",@progbits', f"\t.align\t128\n{other}{name}:", f".text.{name}:"]
    address = 0
    for line in (each.strip() for each in code.strip().split("\n")):
        if line.endswith(":"):
            lines.append(line)
        else:
            lines.append(f"        /*{address:04x}*/{'':19}{line} ;")
            address += 16
    return "\n".join(lines) + "\n"


def reads(code: str) -> list[str]:
    """What is found in a kernel, as ``UR4 at 0x0010``."""
    return [f"{each['register']} at {each['address']}" for each in unwritten_reads(section(code))]


class Instructions(unittest.TestCase):
    def assert_read(self, instruction: str, *registers: str) -> None:
        expected = [f"{register} at 0x0000" for register in registers]
        with self.subTest(instruction):
            self.assertEqual(reads(f"{instruction}\nEXIT"), expected)

    def test_sources(self) -> None:
        self.assert_read("UIADD3 UR8, UP0, UR9, 0x40, URZ", "UR9")
        self.assert_read("UIADD3.X UR9, UR9, -0x7fffffe0, URZ, UP0, !UPT", "UR9")
        self.assert_read("UIADD3 UR4, UPT, UPT, UR15, 0x400, URZ", "UR15")
        self.assert_read("UIADD3.64 UR8, UR8, -UR12, URZ", "UR8", "UR12")
        self.assert_read("UMOV UR10, UR20", "UR20")
        self.assert_read("UIMAD.WIDE UR6, UR15, 0x2, UR6", "UR6", "UR15")
        self.assert_read("UISETP.GE.AND UP0, UPT, UR5, UR23, UPT", "UR5", "UR23")
        self.assert_read("USEL UR4, UR5, URZ, !UP0", "UR5")
        self.assert_read("ULOP3.LUT UR4, URZ, UR7, URZ, 0x33, !UPT", "UR7")
        self.assert_read("ULDC UR4, c[0x0][UR6]", "UR6")
        self.assert_read("MOV R170, UR5", "UR5")
        self.assert_read("IMAD.X R2, RZ, RZ, ~UR5, P1", "UR5")
        self.assert_read("DFMA R14, R10.reuse, R14, -UR6", "UR6")
        self.assert_read("ISETP.LT.AND P4, PT, RZ, UR23, PT", "UR23")
        self.assert_read("ISETP.GE.U32.AND P0, PT, R8, UR4, PT", "UR4")
        self.assert_read("@!UP0 UMOV UR4, UR5", "UR5")

    def test_addresses(self) -> None:
        self.assert_read("@P1 LDG.E.U16 R42, desc[UR6][R28.64]", "UR6")
        self.assert_read("STG.E.128 desc[UR24][R36.64+0x80], R52", "UR24")
        self.assert_read("LDGSTS.E.BYPASS.128 [R57+0x5800], desc[UR24][R58.64], P5", "UR24")
        self.assert_read("LDSM.16.M88.4 R24, [R102+UR4+0x1400]", "UR4")
        self.assert_read("STS [UR15+0x8], R2", "UR15")
        self.assert_read("ATOMS.OR RZ, [UR5+0x18], R4", "UR5")
        self.assert_read("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR15+0x400], RZ", "UR15")
        self.assert_read("SYNCS.EXCH.64 URZ, [UR15+0x400], UR6", "UR6", "UR15")
        self.assert_read("UTMALDG.2D [UR8], [UR4]", "UR4", "UR8")
        self.assert_read("UTMASTG.2D [UR8], [UR4]", "UR4", "UR8")
        self.assert_read("UBLKCP [UR6], [UR4], UR9", "UR4", "UR6", "UR9")
        self.assert_read("LDTM.x128 R4, tmem[UR28]", "UR28")
        self.assert_read("STTM.x128 tmem[UR28], RZ", "UR28")
        self.assert_read("UTCBAR [UR31], URZ", "UR31")

    def test_matrix_descriptors(self) -> None:
        self.assert_read("HGMMA.64x128x16.F32 R24, gdesc[UR20].tnspB, R24, gsb0", "UR20", "UR22")
        # A is in vector registers: its half of the descriptors is not read.
        self.assert_read("HGMMA.64x32x16.F32 R56, R24, gdesc[UR24].tnspB, R56", "UR26")
        self.assert_read("QGMMA.64x64x32.F32.E4M3.E4M3 R24, R60, gdesc[UR12], R24", "UR14")
        self.assert_read(
            "UTCHMMA gdesc[UR20], gdesc[UR22], tmem[UR27], tmem[UR24], idesc[UR25], UPT",
            *("UR20", "UR22", "UR24", "UR25", "UR27"),
        )

    def test_what_may_be_read_for_nothing(self) -> None:
        self.assert_read("UPRMT UR4, UR4, 0x5410, UR5")
        self.assert_read("UP2UR UR4, UPR, UR4, 0x1")
        self.assert_read("UIADD3.X UR4, URZ, URZ, URZ, UP0, !UPT")
        self.assert_read("BRA.DIV UR7, `(.L_x_4)")

    def assert_writes(self, instruction: str, count: int) -> None:
        """It writes UR8 and what follows, ``count`` registers in all."""
        with self.subTest(instruction):
            for place in range(9):
                found = reads(f"{instruction}\nMOV R0, UR{8 + place}\nEXIT")
                self.assertEqual(found, [] if place < count else [f"UR{8 + place} at 0x0010"])

    def test_destinations(self) -> None:
        for instruction in (
            "UMOV UR8, 0x1",
            "ULDC UR8, c[0x0][0x230]",
            "S2UR UR8, SR_CTAID.X",
            "R2UR UR8, R6",
            "@P0 R2UR.BROADCAST UR8, R0",
            "R2UR.OR P0, UR8, R5",
            "VOTEU.ANY UR8, UPT, PT",
            "REDUX.MAX.S32 UR8, R3",
            "@UP1 UMOV UR8, URZ",
            "ULEA UR8, UP0, URZ, URZ, 0x2",
            "UIADD3 UR8, UPT, UPT, URZ, 0x400, URZ",
        ):
            self.assert_writes(instruction, 1)
        for instruction in (
            "ULDC.64 UR8, c[0x0][0x220]",
            "LDCU.64 UR8, c[0x0][0x3a0]",
            "UIADD3.64 UR8, URZ, 0x4, URZ",
            "UIMAD.WIDE UR8, URZ, 0x2, URZ",
        ):
            self.assert_writes(instruction, 2)
        self.assert_writes("LDCU.128 UR8, c[0x0][0x3a0]", 4)
        self.assert_writes("LDCU.256 UR8, c[0x0][0x3a0]", 8)
        # What is not known may write as much as any.
        self.assert_writes("UNEW UR8, 0x1", 8)
        self.assert_writes("UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR8, URZ", 8)
        # An instruction that reads its own destination reads it before.
        self.assertEqual(reads("UIADD3 UR8, UR8, 0x1, URZ\nMOV R0, UR8\nEXIT"), ["UR8 at 0x0000"])
        # UR6 is compared, not written.
        self.assertEqual(reads("UISETP.NE.AND UP0, UPT, UR6, URZ, UPT\nMOV R0, UR6\nEXIT"), ["UR6 at 0x0000"])


class Paths(unittest.TestCase):
    def test_one_arm_that_writes_is_enough(self) -> None:
        code = """
            {}
            @P0 BRA `(.L_x_0)
            {}
            .L_x_0:
            MOV R0, UR4
            EXIT"""
        self.assertEqual(reads(code.format("NOP", "UMOV UR4, 0x1")), [])
        self.assertEqual(reads(code.format("UMOV UR4, 0x1", "NOP")), [])
        self.assertEqual(reads(code.format("NOP", "NOP")), ["UR4 at 0x0030"])

    def test_an_arm_that_goes_elsewhere(self) -> None:
        code = """
            @P0 BRA `(.L_x_0)
            UMOV UR4, 0x1
            {}
            .L_x_0:
            MOV R0, UR4
            EXIT"""
        self.assertEqual(reads(code.format("EXIT")), ["UR4 at 0x0030"])
        self.assertEqual(reads(code.format("@P1 EXIT")), [])

    def test_code_that_jumps_back(self) -> None:
        # The write stands after the read and runs before it.
        code = """
            BRA `(.L_x_1)
            .L_x_0:
            MOV R0, UR4
            EXIT
            .L_x_1:
            UMOV UR4, 0x1
            BRA `(.L_x_0)"""
        self.assertEqual(reads(code), [])
        # The write stands before the read and never runs.
        self.assertEqual(reads("BRA `(.L_x_0)\nUMOV UR4, 0x1\n.L_x_0:\nMOV R0, UR4\nEXIT"), ["UR4 at 0x0020"])

    def test_loops(self) -> None:
        code = """
            {}
            .L_x_0:
            {}
            UIADD3 UR4, UR5, 0x1, URZ
            {}
            @P0 BRA `(.L_x_0)
            EXIT"""
        # The first turn reads what only the turn before would write.
        self.assertEqual(reads(code.format("NOP", "NOP", "UMOV UR5, UR4")), ["UR5 at 0x0020"])
        self.assertEqual(reads(code.format("UMOV UR5, 0x0", "NOP", "UMOV UR5, UR4")), [])
        # A turn may leave the read out and write, and the next one read.
        skips = code.format("NOP", "@P1 BRA `(.L_x_1)", ".L_x_1:\nUMOV UR5, 0x1")
        self.assertEqual(reads(skips), [])

    def test_joins(self) -> None:
        # Threads wait at BSYNC, and go on where BSSY said.
        code = """
            BSSY B0, `(.L_x_1)
            @P0 BRA `(.L_x_0)
            BSYNC B0
            .L_x_0:
            UMOV UR4, 0x1
            BSYNC B0
            EXIT
            .L_x_1:
            MOV R0, UR4
            EXIT"""
        self.assertEqual(reads(code), [])
        self.assertEqual(reads(code.replace("UMOV UR4, 0x1", "NOP")), ["UR4 at 0x0060"])

    def test_calls(self) -> None:
        code = """
            UMOV UR4, 0x1
            CALL.REL.NOINC `({})
            MOV R0, UR5
            EXIT
            $k$helper:
            MOV R1, UR4
            {}
            RET.REL.NODEC R2 `(k)"""
        self.assertEqual(reads(code.format("$k$helper", "UMOV UR5, 0x1")), [])
        self.assertEqual(reads(code.format("$k$helper", "MOV R3, UR6")), ["UR5 at 0x0020", "UR6 at 0x0050"])
        # A function of another section may write anything.
        self.assertEqual(reads(code.format("elsewhere", "NOP")), [])

    def test_jumps_that_name_no_place(self) -> None:
        code = """
            BRX R2 -0x40
            EXIT
            MOV R0, UR4
            EXIT
            {}
            BRA `(.L_x_0)
            .L_x_0:
            EXIT"""
        self.assertEqual(reads(code.format("NOP")), ["UR4 at 0x0020"])
        # It may go to what writes; but from there nothing goes to the read.
        self.assertEqual(reads(code.format("UMOV UR4, 0x1")), ["UR4 at 0x0020"])
        self.assertEqual(reads(code.format("UMOV UR4, 0x1\nBRX R2 -0x80")), [])

    def test_what_never_runs(self) -> None:
        self.assertEqual(reads("EXIT\nMOV R0, UR4\n.L_x_0:\nBRA `(.L_x_0)"), [])


class Sections(unittest.TestCase):
    def test_each_register_is_told_once(self) -> None:
        (found,) = unwritten_reads(section("UIADD3 UR4, UR4, 0x1, URZ\nEXIT"))
        expected = {"register": "UR4", "address": "0x0000", "instruction": "UIADD3 UR4, UR4, 0x1, URZ"}
        self.assertEqual(found, expected)
        self.assertEqual(reads("MOV R0, UR4\nMOV R0, UR4\nEXIT"), ["UR4 at 0x0000"])

    def test_only_kernels(self) -> None:
        helper = section("MOV R0, UR4\nRET.ABS.NODEC R20 0x0", "helper", other='\t.other\thelper,@"STO_CUDA_FUNC"\n')
        self.assertEqual(unwritten_reads(helper + section("EXIT")), [])
        self.assertEqual(len(unwritten_reads(helper + section("MOV R0, UR4\nEXIT"))), 1)
        for other in (helper, section(""), ""):
            self.assertRaisesRegex(RuntimeError, "no instruction of a kernel", unwritten_reads, other)


class Kernels(unittest.TestCase):
    def test_what_nvdisasm_refuses_is_not_checked(self) -> None:
        target = SimpleNamespace(backend="cuda", arch=90)
        kernel = SimpleNamespace(metadata=SimpleNamespace(target=target), asm={"cubin": b"no cubin"})
        found = machine_code(kernel)
        self.assertRegex(found["compiler"], r"^ptxas \d+\.\d+\.\d+$")
        self.assertIn(found["variable"], ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"))
        self.assertRegex(found["unchecked"], r"^nvdisasm gives no disassembly: nvdisasm (fatal|error) .*\w")
        self.assertNotIn("unwritten", found)

    def test_amd_has_no_ptxas(self) -> None:
        target = SimpleNamespace(backend="hip", arch="gfx942")
        self.assertIsNone(machine_code(SimpleNamespace(metadata=SimpleNamespace(target=target))))


if __name__ == "__main__":
    unittest.main()
