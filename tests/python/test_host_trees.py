"""What the host computes for a launch, as trees; and what is refused because it is no arithmetic of the parameters."""

import unittest

from tilescript_worker.host_trees import evaluate, heuristic_tree, is_consistent, unresolved_heuristic

PARAMS = ["N", "BLOCK", "EVEN"]


def cdiv(x, y):
    return -(x // -y)


def even(args):
    return args["N"] % args["BLOCK"] == 0


def divides(divisor, n):
    return n % divisor == 0


def endless(n):
    return endless(n)


def in_two_steps(args):
    n = args["N"]
    return n % 2 == 0


N, BLOCK = {"param": "N"}, {"param": "BLOCK"}


class Heuristics(unittest.TestCase):
    def test_should_be_trees_of_the_parameters(self):
        self.assertEqual(
            heuristic_tree(even, PARAMS), {"op": "eq", "of": [{"op": "mod", "of": [N, BLOCK]}, {"value": 0}]}
        )
        pair = (lambda args: cdiv(args["N"], 2), lambda args: args["N"] > 4 and not args["BLOCK"] == 2)
        self.assertEqual(heuristic_tree(pair[0], PARAMS), {"op": "cdiv", "of": [N, {"value": 2}]})
        self.assertEqual(heuristic_tree(pair[1], PARAMS)["op"], "and")

    def test_should_expand_functions_that_only_return_an_expression(self):
        mod = {"op": "mod", "of": [N, BLOCK]}
        tree = heuristic_tree(lambda args: divides(args["BLOCK"], args["N"]), PARAMS)
        self.assertEqual(tree, {"op": "eq", "of": [mod, {"value": 0}]})
        for function in (
            lambda args: divides(args["BLOCK"], n=args["N"]),
            lambda args: in_two_steps(args),
            lambda args: endless(args["N"]),
        ):
            self.assertIsNone(heuristic_tree(function, PARAMS))

    def test_should_read_whole_floats(self):
        self.assertEqual(heuristic_tree(lambda args: args["N"] > 0.0, PARAMS), {"op": "gt", "of": [N, {"value": 0}]})
        self.assertIsNone(heuristic_tree(lambda args: args["N"] > 0.5, PARAMS))

    def test_should_name_the_parameter_that_must_be_given(self):
        given = unresolved_heuristic(lambda args: args["N"] is not None, PARAMS)
        self.assertEqual(given, {"text": "args['N'] is not None", "given": "N"})
        for function in (lambda args: args["N"] is None, lambda args: args["M"] is not None, in_two_steps):
            self.assertNotIn("given", unresolved_heuristic(function, PARAMS))

    def test_should_refuse_what_is_no_arithmetic(self):
        other = 3
        for function in (
            in_two_steps,
            lambda args: args["N"] % other == 0,
            lambda args: args["M"] == 0,
            lambda args: args["N"] is not None,
            lambda args, more: args["N"] == more,
            len,
        ):
            self.assertIsNone(heuristic_tree(function, PARAMS))


class Values(unittest.TestCase):
    def test_should_be_pythons(self):
        function = lambda args: max(cdiv(args["N"], args["BLOCK"]) * 2 - 1, args["N"] // 3)  # noqa: E731
        tree = heuristic_tree(function, PARAMS)
        for n, block in ((7, 2), (1000, 64), (0, 16)):
            values = {"N": n, "BLOCK": block}
            self.assertEqual(evaluate(tree, values), function(values))

    def test_should_hold_only_if_each_case_agrees(self):
        tree = {"op": "cdiv", "of": [N, BLOCK]}
        self.assertTrue(is_consistent(tree, [({"N": 10, "BLOCK": 4}, 3), ({"N": 8, "BLOCK": 4}, 2)]))
        self.assertFalse(is_consistent(tree, [({"N": 10, "BLOCK": 4}, 3), ({"N": 8, "BLOCK": 4}, 3)]))
        self.assertFalse(is_consistent(tree, [({"N": 10}, 3)]))
        self.assertFalse(is_consistent(tree, [({"N": 10, "BLOCK": 0}, 3)]))


if __name__ == "__main__":
    unittest.main()
