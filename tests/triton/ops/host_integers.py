"""What Python gives for operators on integers: {"op", "x", "y"}, the numbers as text."""

import json
import operator
import sys

FUNCTIONS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floorDiv": operator.floordiv,
    "mod": operator.mod,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
    "cdiv": lambda x, y: (x + y - 1) // y,
    "minimum": min,
    "maximum": max,
    "eq": operator.eq,
    "lt": operator.lt,
    "neg": lambda x, _: -x,
    "not": lambda x, _: ~x,
    "bitLength": lambda x, _: x.bit_length(),
}

if __name__ == "__main__":
    with open(sys.argv[1]) as asked, open(sys.argv[2], "w") as answers:
        cases = map(json.loads, asked)
        json.dump([str(FUNCTIONS[case["op"]](int(case["x"]), int(case["y"]))) for case in cases], answers)
