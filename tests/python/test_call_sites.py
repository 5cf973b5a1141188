"""What a script writes where it launches a kernel, read from its text."""

import linecache
import sys
import unittest

from tilescript_worker.call_sites import call_site, sites_in_file

PARAMS = ["x_ptr", "n", "m", "BLOCK"]


class Kernel:
    """Notes where it is launched."""

    def __getitem__(self, grid):
        def launch(*args, **kwargs):
            self.site = call_site(sys._getframe(1), PARAMS)

        return launch


class Tensor:
    shape = (4, 8)

    def size(self, axis):
        return self.shape[axis]


def site_in(script: str):
    kernel = Kernel()
    linecache.cache["script"] = (len(script), None, script.splitlines(keepends=True), "script")
    exec(compile(script, "script", "exec"), {"kernel": kernel, "x": Tensor(), "cdiv": None, "B": 64})
    return kernel.site


FILE = """
def first(x, n):
    kernel[lambda meta: (cdiv(n, meta["BLOCK"]),)](x, n, 1, BLOCK=64)
    other[(n,)](x)
    def inner(m):
        kernel[lambda meta: (m,)](x, 2, m)
"""
N, M, BLOCK = {"param": "n"}, {"param": "m"}, {"param": "BLOCK"}
CDIV = {"op": "cdiv", "of": [N, BLOCK]}


class Grids(unittest.TestCase):
    def expect(self, script: str, grid):
        self.assertEqual(site_in(script).grid(), grid, script)

    def test_should_be_expressions_of_the_parameters(self):
        self.expect("n = 5\nkernel[lambda meta: (cdiv(n, meta['BLOCK']),)](x, n, 1, BLOCK=64)", [CDIV])
        self.expect(
            "n = 5\ngrid = lambda meta: (cdiv(n, meta['BLOCK']), 2)\nkernel[grid](x, n, 1)", [CDIV, {"value": 2}]
        )
        self.expect(
            "def grid(meta):\n    return (cdiv(x.shape[0], meta['BLOCK']),)\nkernel[grid](x, x.size(0), 1)", [CDIV]
        )
        self.expect("def f(x):\n    rows, columns = x.shape\n    kernel[(rows,)](x, columns, m=x.size(0))\nf(x)", [M])
        self.expect("n, b = 5, 64\nblocks = cdiv\ncount = 3\nkernel[(n, count)](x, n, 1)", [N, {"value": 3}])

    def test_should_know_single_axes(self):
        self.assertEqual(site_in("n = 5\nkernel[(n, n * B)](x, n, 1)").sizes(), [N, None])
        self.assertEqual(site_in("kernel[x.shape](x, 3, 1)").sizes(), [])
        # The arguments after a starred one have no known position.
        self.assertEqual(site_in("def f(n):\n    kernel[(n, 7)](x, *[n], 1)\nf(5)").sizes(), [None, {"value": 7}])

    def test_should_be_found_in_the_text_of_a_file(self):
        linecache.cache["file"] = (0, None, FILE.splitlines(keepends=True), "file")
        self.assertEqual([each.grid() for each in sites_in_file("file", "kernel", PARAMS)], [[CDIV], [M]])
        self.assertEqual(sites_in_file("file", "absent", PARAMS), [])

    def test_should_refuse_what_no_parameter_is(self):
        self.expect("n, m = 5, 6\nkernel[(n * B,)](x, n, m)", None)
        # A name that has several values is none of them.
        self.expect("n = 5\nn = n + 1\nb = n\nb += 1\nkernel[(b,)](x, 4, 1)", None)
        self.expect("def f(n):\n    n = n + 1\n    kernel[(n + 1,)](x, 3, 1)\nf(2)", None)

    def test_should_say_what_constants_are(self):
        site = site_in("n = 5\nblock = cdiv(n, 2) * 2 if False else 3\nkernel[(1,)](x, n, 1, BLOCK=min(64, n))")
        self.assertEqual(site.argument("BLOCK"), {"op": "minimum", "of": [{"value": 64}, N]})
        self.assertEqual(site.location, "script:3")
        site = site_in("kernel[(1,)](x, 1, 2, BLOCK=len(str(B)))")
        self.assertIsNone(site.argument("BLOCK"))
        self.assertEqual(site.argument_text("BLOCK"), "len(str(B))")

    def test_should_know_only_a_single_launch(self):
        self.assertIsNone(site_in("kernel[(1,)](x, 1, 2), kernel[(2,)](x, 1, 2)"))


if __name__ == "__main__":
    unittest.main()
