"""One program on a multiprocessor: its parts, shared memory, the copy engine and the tensor cores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from triton.experimental.gluon.language._layouts import (
    DotOperandLayout,
    NVMMADistributedLayout,
    NVMMASharedLayout,
    SharedLayout,
)

from .barriers import Barrier, Clock
from .faults import Fault, Unknown
from .memory import GlobalTensor
from .scheduler import Order, Part, Scheduler, Task
from .shared import MOST_BYTES, Access, Block, Shared, SharedBarriers, poison
from .tiles import Tile, torch_dtype

#: Rows that a group of four warps multiplies.
GROUP_ROWS = 64


class Descriptor:
    """A tensor as the copy engine sees it, with the block that the launch set."""

    def __init__(self, tensor: GlobalTensor, block_shape: list[int], layout: Any):
        self.tensor = tensor
        self.dtype = tensor.dtype
        self.block_shape = list(block_shape)
        self.layout = layout
        self.block_type = BlockType(math.prod(block_shape) * tensor.tensor.element_size())


class BlockType:
    def __init__(self, nbytes: int):
        self.nbytes = nbytes


class Product:
    """A product that the tensor cores compute at some time until it is waited for."""

    def __init__(self, part: int, shape: list[int], compute: Callable[[], torch.Tensor], reads: list[Access]):
        self.part = part
        self.shape = shape
        self.compute = compute
        self.reads = reads
        self.values: torch.Tensor | None = None
        self.is_over = False


class Write:
    """A copy from shared memory to a tensor; it reads the block at some time until that is waited for."""

    def __init__(self, act: Callable[[], None], read: Access):
        self.act = act
        self.read = read
        self.is_over = False


class PartState:
    """What a part has begun, and what it knows of others."""

    def __init__(self, index: int, warps: int, clock: Clock):
        self.index = index
        self.warps = warps
        self.clock: Clock = {**clock, index: 1}
        self.products: list[Product] = []
        self.writes: list[Write] = []
        self.unfenced: list[Access] = []


class Machine:
    def __init__(self, order: Order, program: tuple[int, ...], programs: tuple[int, ...], warps: int):
        self.scheduler = Scheduler(order)
        self.program = program
        self.programs = programs
        self.bytes = 0
        self.names = 0
        #: Blocks that copies have filled.
        self.filled: set[Block] = set()
        self.before = PartState(-1, warps, {})
        self.states: dict[int, PartState] = {-1: self.before}
        self.is_split = False

    @property
    def state(self) -> PartState:
        current = self.scheduler.current
        return self.states[current.index if current else -1]

    def pause(self) -> None:
        self.scheduler.pause()

    # ---- parts ----------------------------------------------------------------------------------------------------

    def split(self, functions: list[tuple[Callable[..., None], tuple[Any, ...]]], warps: list[int]) -> None:
        """Runs the parts at once, and goes on when all have ended."""
        if self.is_split:
            raise Unknown("a second warp_specialize")
        self.is_split = True
        if len(warps) != len(functions) - 1:
            raise Fault(f"{len(functions)} parts have the warps of {len(warps)} besides the first")
        each = [self.before.warps, *warps]
        parts = []
        for index, (function, args) in enumerate(functions):
            self.states[index] = PartState(index, each[index], self.before.clock)
            parts.append(Part(index, each[index], lambda run=function, given=args: run(*given)))
        try:
            self.scheduler.run(parts)
        finally:
            self.scheduler.current = None

    def end(self) -> None:
        """The program is over: nothing may still fill or read its shared memory."""
        for state in self.states.values():
            self._check_end(state)
        for block in self.filled:
            if not any(state.clock.get(block.lane, 0) >= block.copies for state in self.states.values()):
                raise Fault(f"the program ends and nobody has waited for the copy that fills {block.name}")
        self.scheduler.do_all()

    def _check_end(self, state: PartState) -> None:
        if any(product.values is None or not product.is_over for product in state.products):
            raise Fault(f"part {state.index} ends while its products run")
        if any(not write.is_over for write in state.writes):
            raise Fault(f"part {state.index} ends while the copy engine reads what it writes from shared memory")

    # ---- shared memory --------------------------------------------------------------------------------------------

    def allocate(self, dtype: Any, shape: list[int], layout: Any) -> Shared:
        if self.is_split:
            raise Unknown("an allocation of one part")
        if not isinstance(layout, SharedLayout):
            raise Fault(f"{layout!r} is no layout of shared memory")
        if isinstance(layout, NVMMASharedLayout) and layout.element_bitwidth != dtype.primitive_bitwidth:
            raise Fault(f"{layout} for {dtype}")
        data = torch.empty([int(each) for each in shape], dtype=torch_dtype(dtype))
        poison(data)
        self._take(data.numel() * data.element_size())
        self.names += 1
        return Shared(self, f"blocks {self.names}", dtype, data, layout, None)

    def allocate_barriers(self, shape: list[int]) -> SharedBarriers:
        if len(shape) != 2 or shape[1] != 1:
            raise Unknown(f"barriers of shape {shape}")
        self._take(8 * int(shape[0]))
        self.names += 1
        return SharedBarriers(f"barriers {self.names}", int(shape[0]))

    def _take(self, count: int) -> None:
        self.bytes += count
        if self.bytes > MOST_BYTES:
            raise Fault(f"shared memory of {self.bytes} bytes; a program has {MOST_BYTES}")

    def load_shared(self, shared: Shared, layout: Any) -> Tile:
        self.pause()
        state, block = self.state, shared.whole()
        block.check_read(state.clock, False, f"part {state.index}")
        self._note_generic(block.reads)
        return Tile(shared.data.clone(), shared.dtype, layout)

    def store_shared(self, shared: Shared, value: Tile) -> None:
        self.pause()
        block = shared.whole()
        if value.shape != shared.shape:
            raise Fault(f"a tile of {value.shape} is stored to a block of {shared.shape}")
        if value.dtype != shared.dtype:
            raise Fault(f"a tile of {value.dtype} is stored to a block of {shared.dtype}")
        block.begin_store(self.state.clock)
        noted: list[Access] = []
        self._note_generic(noted)
        block.write = noted[0]
        shared.data.copy_(value.data)

    def _note_generic(self, into: list[Access]) -> None:
        state = self.state
        access = Access(state.index, state.clock[state.index], True, f"part {state.index}")
        into.append(access)
        state.unfenced.append(access)

    def fence(self) -> None:
        state = self.state
        for access in state.unfenced:
            access.unfenced, access.act = False, state.clock[state.index]
        state.unfenced = []
        self.pause()

    # ---- barriers -------------------------------------------------------------------------------------------------

    def wait(self, barrier: Barrier, parity: int) -> None:
        if parity not in (0, 1):
            raise Fault(f"a wait for parity {parity}")
        self.scheduler.pause(lambda: barrier.passes(parity), f"{barrier.name} of parity {parity}")
        barrier.note_wait(self.state.index, self.state.clock)

    def arrive(self, barrier: Barrier) -> None:
        self.pause()
        barrier.arrive(self.state.index, self._hand_on())

    def expect(self, barrier: Barrier, count: int) -> None:
        self.pause()
        barrier.expect(self.state.index, self._hand_on(), count)

    def _hand_on(self) -> Clock:
        """What others learn of the part by an arrival; what it does from now on, they do not."""
        state = self.state
        known = dict(state.clock)
        state.clock[state.index] += 1
        return known

    # ---- the copy engine ------------------------------------------------------------------------------------------

    def copy_in(self, desc: Descriptor, coord: list[Any], barrier: Barrier, into: Shared) -> None:
        self.pause()
        state, block = self.state, into.whole()
        if into.shape != desc.block_shape or into.dtype != desc.dtype or into.layout != desc.layout:
            raise Fault(f"{into.name} has another shape, dtype or layout than the descriptor's block")
        barrier._check()
        starts = self._starts(desc, coord)
        number = block.begin_copy(state.clock)
        self.filled.add(block)
        # A part that waits for the bytes knows what happened before the copy began.
        clock = dict(state.clock)
        state.clock[state.index] += 1

        def land() -> None:
            found = torch.zeros(desc.block_shape, dtype=into.data.dtype)
            here, there = self._overlap(desc, starts)
            if here is not None:
                found[here] = desc.tensor.tensor[there]
            block.data.copy_(found)
            barrier.land({**clock, block.lane: number}, into.nbytes)

        self.scheduler.tasks.append(Task(land))

    def copy_out(self, desc: Descriptor, coord: list[Any], source: Shared) -> None:
        self.pause()
        state, block = self.state, source.whole()
        if source.shape != desc.block_shape or source.dtype != desc.dtype or source.layout != desc.layout:
            raise Fault(f"{source.name} has another shape, dtype or layout than the descriptor's block")
        block.check_read(state.clock, True, "the copy engine")
        read = Access(state.index, None, False, "the copy engine")
        block.reads.append(read)
        starts = self._starts(desc, coord)

        def write() -> None:
            here, there = self._overlap(desc, starts)
            if here is not None:
                desc.tensor.note_write(desc.tensor.written_as()[there])
                desc.tensor.tensor[there] = source.data[here]
            if desc.tensor.is_read:
                raise Fault("a copy writes a tensor that the kernel loads")

        task = Task(write)
        self.scheduler.tasks.append(task)
        state.writes.append(Write(lambda: self._finish(task), read))

    def wait_for_writes(self, running: int) -> None:
        """Until at most so many of the part's writes still read shared memory."""
        state = self.state
        over = state.writes[: max(0, len(state.writes) - running)]
        for write in over:
            write.act()
            write.is_over = True
            write.read.act = state.clock[state.index]
        state.writes = state.writes[len(over) :]
        self.pause()

    def _finish(self, task: Task) -> None:
        if task in self.scheduler.tasks:
            self.scheduler.tasks.remove(task)
            task.act()

    def _starts(self, desc: Descriptor, coord: list[Any]) -> list[int]:
        starts = [int(each) for each in coord]
        if len(starts) != len(desc.block_shape):
            raise Fault(f"{len(starts)} coordinates for {len(desc.block_shape)} axes")
        if any(not -(2**31) <= each < 2**31 for each in starts):
            raise Fault(f"the coordinates {starts} are no 32-bit numbers")
        return starts

    def _overlap(self, desc: Descriptor, starts: list[int]) -> tuple[Any, Any]:
        """What of the block lies in the tensor, and where."""
        here, there = [], []
        for start, length, size in zip(starts, desc.block_shape, desc.tensor.tensor.shape):
            first, last = max(start, 0), min(start + length, size)
            if first >= last:
                return None, None
            here.append(slice(first - start, last - start))
            there.append(slice(first, last))
        return tuple(here), tuple(there)

    # ---- the tensor cores -----------------------------------------------------------------------------------------

    def multiply(self, a: Any, b: Any, acc: Tile, uses_acc: bool) -> Tile:
        self.pause()
        state = self.state
        layout = acc.layout
        if not isinstance(layout, NVMMADistributedLayout) or list(layout.version) != [3, 0]:
            raise Fault(f"a product is added to a tile of layout {layout}")
        if state.warps != 4 and state.warps != 8:
            raise Fault(f"{state.warps} warps multiply")
        m, n = acc.shape
        if list(a.shape) != [m, b.shape[0]] or b.shape[1] != n:
            raise Fault(f"a product of {a.shape} and {b.shape} is added to {acc.shape}")
        # An instruction takes 32 bytes of each row.
        depth = 256 // a.dtype.primitive_bitwidth
        if layout.instr_shape[2] != depth:
            raise Fault(f"a product of {a.dtype} by instructions of {layout.instr_shape}")
        if m % (GROUP_ROWS * state.warps // 4) or n % 8 or a.shape[1] % depth:
            raise Fault(f"a product of {a.shape} and {b.shape} fits no instruction of {state.warps} warps")
        if n % layout.instr_shape[1]:
            raise Fault(f"a product of {n} columns by instructions of {layout.instr_shape}")
        if a.dtype != b.dtype or str(a.dtype) not in ("fp16", "bf16", "fp8e4nv", "fp8e5"):
            raise Unknown(f"a product of {a.dtype} and {b.dtype}")
        if depth == 32 and (a.data.stride(1) != 1 or b.data.stride(0) != 1):
            raise Fault(f"a product of {a.dtype} whose operands do not lie along the sum")
        if str(acc.dtype) != "fp32":
            raise Unknown(f"a product is added to {acc.dtype}")
        reads: list[Access] = []
        left = self._operand(a, layout, reads)
        if not isinstance(b, Shared):
            raise Fault("the second operand of a product does not lie in shared memory")
        right = self._operand(b, layout, reads)
        # The sum may still be written by the product before, of the same registers.
        sums = acc.running
        start = acc.values

        def compute() -> torch.Tensor:
            found = left().to(torch.float32) @ right().to(torch.float32)
            if not uses_acc:
                return found
            before = sums.values if sums is not None else start
            return found + before

        if sums is not None and sums.part != state.index:
            raise Fault("a product adds to the registers of another part")
        product = Product(state.index, [m, n], compute, reads)
        state.products.append(product)
        self.scheduler.tasks.append(Task(lambda: self._compute_until(state, product)))
        return Tile(None, acc.dtype, layout, product)

    def _operand(self, operand: Any, layout: Any, reads: list[Access]) -> Callable[[], torch.Tensor]:
        state = self.state
        if isinstance(operand, Shared):
            block: Block = operand.whole()
            if not isinstance(operand.layout, NVMMASharedLayout):
                raise Fault(f"the tensor cores read a block of layout {operand.layout}")
            block.check_read(state.clock, True, f"a product of part {state.index}")
            access = Access(state.index, None, False, f"a product of part {state.index}")
            block.reads.append(access)
            reads.append(access)
            return lambda: operand.data
        wanted = DotOperandLayout(0, layout, 32 // operand.dtype.primitive_bitwidth)
        if operand.layout != wanted:
            raise Fault(f"the first operand of a product has the layout {operand.layout}, not {wanted}")
        values = operand.data
        return lambda: values

    def _compute_until(self, state: PartState, last: Product) -> None:
        """Products of a part end in their order."""
        for product in state.products:
            if product.values is None:
                product.values = product.compute()
            if product is last:
                return

    def wait_for_products(self, running: int, deps: tuple[Any, ...]) -> Any:
        state = self.state
        over = state.products[: max(0, len(state.products) - running)]
        if over:
            self._compute_until(state, over[-1])
        for product in over:
            product.is_over = True
            for read in product.reads:
                read.act = state.clock[state.index]
        state.products = state.products[len(over) :]
        found = tuple(self._given_back(each) for each in deps)
        self.pause()
        return found[0] if len(found) == 1 else found

    def _given_back(self, tile: Any) -> Any:
        if not isinstance(tile, Tile):
            raise Unknown("a dependency that is no tile")
        if tile.running is None or not tile.running.is_over:
            return tile
        return Tile(tile.running.values, tile.dtype, tile.layout)
